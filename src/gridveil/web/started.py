"""When a process began: a number by which it is known again, since the system gives numbers of processes anew."""

from __future__ import annotations

import subprocess
from pathlib import Path


def started(pid: int) -> str | None:
    """A text that only this process has among all of its number; `None` if it is not there, or ended already."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _asked(pid)
    after = text.rpartition(")")[2].split()
    return None if after[0] in "ZX" else f"{boot} {after[19]}"


def _asked(pid: int) -> str | None:
    """Where there is no /proc."""
    try:
        done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
