"""A bundle that appears whole or not at all, and what is left of those that never did.

Everything is written into a staging directory beside the target, from which the bundle then takes its name. While its
process lives it holds a lock on it, which nobody else can reach; a staging directory without one is what a killed
process left, and the next release removes it. A bundle that was being replaced when its process died is put back.

What is removed or moved is only what such a process can have left: of its name, its owner and its mode, with nothing in
it but what is staged there, and no links.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gridveil.errors import ReleaseError
from gridveil.files import by_umask, sync_directory, sync_file, write_whole
from gridveil.process.system import exchange

if sys.platform != "win32":  # nothing is locked there, and so nothing is removed
    import fcntl

PREFIX = ".gridveil."
NEW, OLD = "new", "old"
"""Within a staging directory: what is written, and where a bundle waits that is being replaced."""


class Taken(ReleaseError):
    """Something else has the name meanwhile."""


@contextmanager
def staged(target: Path, *, force: bool = False) -> Iterator[Path]:
    """A directory beside the target that takes its name when everything in it is written, and vanishes otherwise.

    What has that name already is replaced by `force` alone, at whatever moment it came.
    """
    parent = target.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    try:
        with _held(parent) as staging, _held(parent) as retired:
            new = staging / NEW
            new.mkdir()
            yield new
            for file in new.iterdir():
                sync_file(file)
            sync_directory(new)
            new.chmod(by_umask(0o777))
            if not force:
                _take(target, lambda: new.rename(target))  # which replaces no directory with anything in it
            elif not (target.exists() and exchange(new, target)):  # at any moment one of the two is in place
                _replace(new, target, retired)
            sync_directory(parent)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error


def write_staged(target: Path, data: bytes, *, force: bool = False) -> None:
    """One file, likewise."""
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with _held(target.absolute().parent) as staging:
            new = staging / NEW
            write_whole(new, data)
            if force:
                new.replace(target)
            else:
                _take(target, lambda: _named(new, target))
            sync_directory(target.absolute().parent)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error


def _named(new: Path, target: Path) -> None:
    """Give a file a name that nobody has; where there are no links, the name is made first and then replaced."""
    try:
        os.link(new, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EINVAL):
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        new.replace(target)


def _take(target: Path, take: Callable[[], object]) -> None:
    """Take a name that nobody has, or raise `Taken`."""
    if target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise Taken(f"{target} exists")
    try:
        if sys.platform == "win32" and target.is_dir():  # there a rename replaces not even an empty directory
            target.rmdir()
        take()
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise Taken(f"{target} exists") from None
        raise


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
        if not is_staging(folder.name):
            continue
        try:
            handle = _lock(folder, left=True)
        except OSError:  # its process lives, another one tidies, or it is another user's
            continue
        if handle is None:
            continue
        try:
            if not {one.name for one in folder.iterdir()} <= {NEW, OLD}:
                continue
            _put_back(folder / OLD, parent)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
        finally:
            os.close(handle)


def _put_back(old: Path, parent: Path) -> None:
    """What was being replaced, and nothing else: a bundle."""
    if old.is_symlink() or not old.is_dir():
        return
    for kept in old.iterdir():
        if not kept.is_symlink() and kept.is_dir() and not (parent / kept.name).exists():
            kept.rename(parent / kept.name)


def is_staging(name: str) -> bool:
    """Whether a directory could be a staging one by its name; bundles may not be called so."""
    return re.fullmatch(re.escape(PREFIX) + "[a-z0-9_]{8}", name) is not None


def try_out(parent: Path) -> None:
    """Make a directory here and remove it, or raise what keeps us from it."""
    with _held(parent):
        pass


def _lock(folder: Path, *, left: bool = False) -> int | None:
    """A handle that holds the directory; `None` where nothing can be held, and so nothing counts as left behind.

    `FileNotFoundError` if another process holds it, or has removed it; `PermissionError` if one that was
    `left` is not ours alone.
    """
    if sys.platform == "win32":
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        found = os.fstat(handle)
        if left and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
            raise PermissionError(errno.EPERM, "it is not ours alone")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(folder.lstat(), found):
            raise FileNotFoundError(folder)
    except BlockingIOError:
        os.close(handle)
        raise FileNotFoundError(folder) from None
    except (FileNotFoundError, PermissionError):
        os.close(handle)
        raise
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle
