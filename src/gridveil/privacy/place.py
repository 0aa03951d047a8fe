"""Where a ledger is: what links lead to, what is there, and whether the file system keeps others from it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from stat import S_IRWXG, S_IRWXO

from gridveil.errors import LedgerError
from gridveil.privacy.database import there
from gridveil.privacy.keyfile import KeyFile


def real(path: Path) -> Path:
    """Where links lead, so that the key's anchor is that of the one database; unless the key is the link's own."""
    target = Path(os.path.realpath(path))  # a loop is left as it is
    own = there(KeyFile.beside(path)) and not there(KeyFile.beside(target))
    return path if own else target


def refuse_dangling(path: Path) -> None:
    """A link that leads nowhere led to a ledger once, on a disk that is not there now: none is begun in silence."""
    for one in (path.absolute(), *path.absolute().parents):
        if one.is_symlink() and not there(one):
            raise LedgerError(
                f"{one} is a link to {os.path.realpath(one)}, which is not there; connect its disk. If there never was "
                f"a ledger, make it with 'gridveil ledger init --ledger {path}'"
            )


def shared(files: list[Path]) -> list[Path]:
    """Those that others than their owner may read or write."""
    return [file for file in files if os.name == "posix" and file.stat().st_mode & (S_IRWXG | S_IRWXO)]


def modeless(folder: Path) -> bool:
    """Does the file system give files modes of its own (vfat, CIFS)? A fresh one for its owner alone tells."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".gridveil-", dir=folder) as probe:
            return bool(shared([Path(probe.name)]))
    except OSError:
        return False
