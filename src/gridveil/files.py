"""Files written whole or not at all: a file appears under its name only when it is complete and on disk."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path


def write_whole(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Write a file, text as UTF-8, or leave what was there. Who may read it says the umask, or `mode`."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, by_umask(0o666) if mode is None else mode)
        os.replace(temporary, path)
        sync_directory(path.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def require_room(folder: Path, size: int) -> None:
    """Raise what a full disk would raise, if there is not so much room left."""
    if shutil.disk_usage(folder).free < size:
        raise OSError(errno.ENOSPC, f"less than {size / 2**20:.0f} MB are free")


def sync_directory(path: Path) -> None:
    """Have a new name survive a power cut, where the system can promise that."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_file(path: Path) -> None:
    """Have a file that is written be on disk. Windows does that only for who may write into it."""
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def by_umask(mode: int) -> int:
    """What the user's umask leaves of a mode."""
    mask = os.umask(0)
    os.umask(mask)
    return mode & ~mask
