"""A directory that appears whole or not at all, and what is left of those that never did.

Everything is written into a staging directory beside the target, which then takes its name. While its process lives it
holds a lock on it; a staging directory without one is what a killed process left, and the next release removes it. A
bundle that was being replaced when its process died is put back.
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
from gridveil.files import sync_directory
from gridveil.process.system import exchange

if sys.platform != "win32":  # nothing is locked there, and so nothing is removed
    import fcntl

PREFIX = ".gridveil."


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
            new.chmod(0o755)
            if not (target.exists() and exchange(new, target)):  # at any moment one of the two is in place
                _replace(new, target, retired)
            sync_directory(parent)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error


def _replace(new: Path, target: Path, retired: Path) -> None:
    """In two steps, where the system cannot exchange; a failure between them that leaves us running is undone."""
    if target.exists():
        target.rename(retired / target.name)
    try:
        new.rename(target)
    except BaseException:
        if (retired / target.name).exists() and not target.exists():
            (retired / target.name).rename(target)
        raise


@contextmanager
def _held(parent: Path) -> Iterator[Path]:
    """A fresh directory with a lock on it, removed at the end."""
    with _alone(parent):  # nobody tidies between its making and its lock
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        handle = _lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def tidy(parent: Path) -> None:
    """Remove what dead processes left here; what they were replacing is put back if nothing has taken its place."""
    with _alone(parent):
        for folder in parent.glob(f"{PREFIX}*"):
            if not folder.is_dir() or folder.is_symlink():
                continue
            handle = _lock(folder)
            if handle is None:  # its process lives
                continue
            try:
                with suppress(OSError):
                    for kept in folder.iterdir():
                        if kept.name != "new" and not (parent / kept.name).exists():
                            kept.rename(parent / kept.name)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def try_out(parent: Path) -> None:
    """Make a directory here and remove it, or raise what keeps us from it."""
    with _held(parent):
        pass


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """One process at a time makes or tidies staging directories here."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: there nothing counts as left behind either
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lock(folder: Path) -> int | None:
    """A handle that holds the directory, or `None` if another process does."""
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # gone meanwhile
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
