"""A bundle that appears whole or not at all, and what is left of those that never did.

Everything is written into a staging directory beside the target, from which the bundle then takes its name. While its
process lives it holds a lock on it, which nobody else can reach; a staging directory without one is what a killed
process left, and the next release removes it. A bundle that was being replaced when its process died is put back.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gridveil.errors import ReleaseError
from gridveil.files import by_umask, sync_directory, write_whole
from gridveil.process.system import exchange

if sys.platform != "win32":  # nothing is locked there, and so nothing is removed
    import fcntl

PREFIX = ".gridveil."
OLD = "old"
"""Within a staging directory: where a bundle waits that is being replaced."""


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A directory beside the target that takes its name when everything in it is written, and vanishes otherwise."""
    parent = target.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    try:
        with _held(parent) as staging, _held(parent) as retired:
            new = staging / "new"
            new.mkdir()
            yield new
            for file in new.iterdir():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
            sync_directory(new)
            new.chmod(by_umask(0o777))
            if not (target.exists() and exchange(new, target)):  # at any moment one of the two is in place
                _replace(new, target, retired)
            sync_directory(parent)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error


def write_staged(target: Path, data: bytes) -> None:
    """One file, likewise."""
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with _held(target.absolute().parent) as staging:
            new = staging / "new"
            write_whole(new, data)
            new.replace(target)
            sync_directory(target.absolute().parent)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error


def _replace(new: Path, target: Path, retired: Path) -> None:
    """In two steps, where the system cannot exchange; a failure between them that leaves us running is undone."""
    old = retired / OLD / target.name
    if target.exists():
        old.parent.mkdir()
        target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise


@contextmanager
def _held(parent: Path) -> Iterator[Path]:
    """A fresh directory with a lock on it, removed at the end."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        try:
            handle = _lock(folder)
        except FileNotFoundError:  # somebody has tidied between its making and its lock, or is about to
            continue
        break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def tidy(parent: Path) -> None:
    """Remove what dead processes left here; what they were replacing is put back if nothing has taken its place."""
    for folder in parent.glob(f"{PREFIX}*"):
        if not folder.is_dir() or folder.is_symlink():
            continue
        try:
            handle = _lock(folder)
        except OSError:  # its process lives, another one tidies, or it is another user's
            continue
        if handle is None:
            continue
        try:
            with suppress(OSError):
                for kept in (folder / OLD).iterdir():
                    if not (parent / kept.name).exists():
                        kept.rename(parent / kept.name)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)


def try_out(parent: Path) -> None:
    """Make a directory here and remove it, or raise what keeps us from it."""
    with _held(parent):
        pass


def _lock(folder: Path) -> int | None:
    """A handle that holds the directory; `None` where nothing can be held, and so nothing counts as left behind.

    `FileNotFoundError` if another process holds it, or has removed it.
    """
    if sys.platform == "win32":
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(folder.stat(), os.fstat(handle)):
            return handle
    except BlockingIOError:
        os.close(handle)
        raise FileNotFoundError(folder) from None
    except OSError as error:
        os.close(handle)
        if isinstance(error, FileNotFoundError):
            raise
        return None
    os.close(handle)
    raise FileNotFoundError(folder)
