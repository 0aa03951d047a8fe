"""Keeping a ledger: backups of it, and restoring one.

A copy is made under another name, and takes its own when it is complete. The anchor is moved last: until then whatever
stands in the ledger's place is refused, and restoring can be done again.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from math import isfinite
from pathlib import Path

from gridveil.errors import LedgerError
from gridveil.files import sync_directory
from gridveil.privacy.chain import Chain, Entry
from gridveil.privacy.database import LOG, SHARED, Unavailable
from gridveil.privacy.keyfile import Anchor, KeyFile
from gridveil.privacy.ledger import Ledger

UNKNOWN = "whatever releases were conditional on whose entries the ledger has lost"


def backup(ledger: Ledger, target: Path) -> int:
    """Copy a ledger, as it is at one moment, and its key beside it, marked as a backup's; the number of entries."""
    key = KeyFile.beside(target)
    if target.exists() or (key.exists() and not KeyFile.alone(key).backup):  # which one that was killed leaves
        raise LedgerError(f"{target} exists, or its key does; give another name for the backup")
    own = KeyFile.read(KeyFile.beside(ledger.path))  # first: its anchor must not be younger
    chain = Chain(ledger.path, own.key)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with chain.reading() as source, _copied(source, target) as copy:
            with Chain(copy, own.key).reading() as connection:
                entries = Chain(copy, own.key).checked(connection, own.anchor)
            last = Anchor(len(entries), entries[-1].hash if entries else chain.start)
            replace(own, path=key, backup=True).advance(last)
            os.replace(copy, target)
        sync_directory(target.parent)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"the backup {target} could not be written ({error}); give another place") from error
    return len(entries)


def restore(source: Path, path: Path, lost: float | None = None) -> int | None:
    """Put a backup in the place of a ledger that is missing or damaged; how many entries are gone, `None` if unknown.

    The anchor, in the key that is in place or where the backup knows it to be, tells how many entries there were. If
    the backup lacks some of them, or there is no anchor, the operator has to say what the `lost` ones came to; that
    is charged to every asset, known or not.
    """
    path = Path(os.path.realpath(path))
    if lost is not None and not (isfinite(lost) and lost >= 0):
        raise LedgerError("what was lost is a finite number, 0 or more")
    own, anchor, certain = _last_known(source, path)
    entries = _entries(source, own.key, anchor)
    _refuse_whole(path)
    missing = max(0, (anchor.count if anchor else 0) - len(entries)) if certain else None
    if missing != 0 and lost is None:
        raise LedgerError(_demand(source, path, len(entries), anchor if certain else None))
    before = sum(one.details["loss"] for one in entries if one.kind == "lost")
    after = max(before, own.lost) + (lost or 0.0 if missing != 0 else 0.0)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with Chain(source, own.key).reading() as connection, _copied(connection, path) as copy:
            if missing != 0:
                _write_lost(copy, own.key, after - before, missing)
            last = _end(copy, own.key)
            _set_aside(path)
            os.replace(copy, path)
        sync_directory(path.parent)
        apart = own.anchor_path if own.apart() is not None else None
        place = KeyFile.beside(path)
        replace(own, path=place, anchor=None, anchor_path=apart, lost=after, backup=False).advance(last)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{path} could not be restored ({error}); try again, the backup is as it was") from error
    return missing


def _refuse_whole(path: Path) -> None:
    """A ledger that is whole has everything that a backup has, and perhaps more."""
    try:
        found = len(Ledger.read(path).verify())
    except Unavailable:
        raise
    except LedgerError:
        return
    raise LedgerError(f"{path} is whole, with {found} entries: there is nothing to restore")


def _last_known(source: Path, path: Path) -> tuple[KeyFile, Anchor | None, bool]:
    """The key to go on with, the last anchor that is known, and whether it is the ledger's own, not just a backup's."""
    place, kept = KeyFile.beside(path), KeyFile.beside(source)
    in_place = place.exists()
    if not in_place and not kept.exists():
        raise LedgerError(f"neither {place} nor {kept} is there; without a key nothing can be restored")
    own = KeyFile.alone(place if in_place else kept)
    apart = own.apart()
    if apart is not None:
        return own, apart, True
    if own.anchor_path is not None and not own.backup:
        return own, None, False
    return own, own.anchor, in_place and not own.backup


def _entries(source: Path, key: bytes, anchor: Anchor | None) -> Sequence[Entry]:
    """What a backup has, if the anchor is that of the same history."""
    chain = Chain(source, key)
    with chain.reading() as connection:
        entries = chain.checked(connection, None)
    links = [chain.start, *(entry.hash for entry in entries)]
    if anchor is not None and anchor.count < len(links) and links[anchor.count] != anchor.head:
        raise LedgerError(f"{source} is not a backup of the ledger that the anchor is of: their entries differ")
    return entries


def _demand(source: Path, path: Path, has: int, anchor: Anchor | None) -> str:
    """What has to be said before a backup is restored that lacks entries, or may."""
    say = "say with --lost what the missing ones came to at most, which is then charged to every line, known or not"
    if anchor is None:
        return (
            f"{source} has {has} entries, but neither the key of {path} nor its anchor is there: how many were lost "
            f"cannot be known. If one of them can be found, put it back; or {say} (--lost 0 if there were none)"
        )
    return f"{source} has {has} entries, but {path} had {anchor.count}. Restore a newer backup; or {say}"


@contextmanager
def _copied(source: sqlite3.Connection, target: Path) -> Iterator[Path]:
    """A copy beside the target, complete and on disk; removed if it does not get the target's name."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # for its owner alone
    os.close(handle)
    copy = Path(name)
    try:
        with closing(sqlite3.connect(copy)) as destination:
            source.backup(destination)
            destination.execute("PRAGMA journal_mode = DELETE")
        yield copy
    finally:
        for end in ("", LOG, SHARED, "-journal"):
            copy.with_name(copy.name + end).unlink(missing_ok=True)


def _write_lost(copy: Path, key: bytes, loss: float, missing: int | None) -> None:
    """Say in the copy what was lost, before it takes the ledger's name."""
    given = [UNKNOWN] if loss > 0 else []
    with closing(sqlite3.connect(copy)) as connection, connection:
        Chain(copy, key).append(connection, "lost", {"loss": loss, "missing": missing, "given": given})


def _end(copy: Path, key: bytes) -> Anchor:
    """The anchor of a copy, which is on disk now."""
    with copy.open("rb") as stream:
        os.fsync(stream.fileno())
    chain = Chain(copy, key)
    with chain.reading() as connection:
        links = chain.linked(connection)
    return Anchor(len(links), links[-1][2] if links else chain.start)


def _set_aside(path: Path) -> None:
    """Keep what is there under another name, with its log, and what was kept before."""
    ends = ("", LOG, SHARED)
    names = (f"{path.name}.replaced" + (f".{number}" if number > 1 else "") for number in count(1))
    free = next(name for name in names if not any(path.with_name(name + end).exists() for end in ends))
    for end in ends:
        if (there := path.with_name(path.name + end)).exists():
            os.replace(there, path.with_name(free + end))
