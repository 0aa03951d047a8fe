"""One process at a time writes into a directory of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridveil.errors import StudyError

try:
    import fcntl
except ImportError:  # not on Windows: there two runs in one directory are the user's to avoid
    fcntl = None  # type: ignore[assignment]


def locked(folder: Path, doing: str) -> Any:
    """Hold a directory for this process, as long as it lives; the system lets go when it dies."""
    stream = (folder / "_lock").open("w")
    if fcntl is not None:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            raise StudyError(f"another process is {doing} in {folder}; wait for it, or choose another --out") from None
    return stream
