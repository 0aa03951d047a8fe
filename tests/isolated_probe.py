"""What a process that is started apart sees of itself: run by test_isolation.py, not a test."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path


def main() -> None:
    """Say it on stdout; then, if the input is not closed, do nothing for long, without looking at it."""
    limits = {
        name: resource.getrlimit(getattr(resource, name))[0] for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE")
    }
    record = {
        "environment": dict(os.environ),
        "flags": [sys.flags.isolated, sys.flags.safe_path, sys.flags.utf8_mode, sys.flags.dont_write_bytecode],
        "limits": limits,
        "here": [str(one) for one in Path().iterdir()],
        "session": os.getsid(0) == os.getpid(),
        "pid": os.getpid(),
    }
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
    signal.pause()
