"""Keeping a ledger: backups of it, and restoring one.

A copy is made under another name, and takes its own when it is complete. The anchor is moved last: until then whatever
stands in the ledger's place is refused, and restoring can be done again.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

from gridveil.errors import LedgerError
from gridveil.files import sync_directory, sync_file
from gridveil.privacy.chain import Chain, Entry
from gridveil.privacy.composition import USUAL_REACH, Lost
from gridveil.privacy.database import LOG, SHARED, Unavailable, there
from gridveil.privacy.history import History
from gridveil.privacy.keyfile import Anchor, KeyFile
from gridveil.privacy.ledger import Ledger, refuse_anchor
from gridveil.privacy.place import real

if sys.platform != "win32":
    import fcntl

UNKNOWN = "whatever releases were conditional on whose entries the ledger has lost"
MOST_LOST = 1e6
"""Beyond it nothing is protected anyway, and sums of losses stay numbers."""


def backup(ledger: Ledger, target: Path) -> int:
    """Copy a ledger, as it is at one moment, and its key beside it, marked as a backup's; the number of entries.

    It can be made without an anchor that stands elsewhere: how much a backup lacks is found when it is restored.
    """
    key = KeyFile.beside(target)
    own = KeyFile.alone(KeyFile.beside(ledger.path))
    anchor = own.anchor if own.anchor_path is None or own.backup else own.apart()  # before it is read: not younger
    if there(target) or (there(key) and not _left_by_a_backup(key, own)):
        raise LedgerError(f"{target} exists, or its key does; give another name for the backup")
    chain = Chain(ledger.path, own.key)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with chain.reading() as source, _copied(source, target) as copy:
            with Chain(copy, own.key).reading() as connection:
                entries = Chain(copy, own.key).checked(connection, anchor)
            last = Anchor(len(entries), entries[-1].hash if entries else chain.start)
            replace(own, path=key, backup=True).advance(last)
            os.replace(copy, target)
        sync_directory(target.parent)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"the backup {target} could not be written ({error}); give another place") from error
    return len(entries)


def _left_by_a_backup(key: Path, own: KeyFile) -> bool:
    """Is a key without its database what a backup of this ledger left that was killed?"""
    found = KeyFile.alone(key)
    return found.backup and found.key == own.key


def restore(source: Path, path: Path, lost: float | None = None, anchor: Path | None = None) -> int | None:
    """As `_restore`, one at a time: what one has looked at, another must not have mended meanwhile."""
    with _alone(real(path)):
        return _restore(source, path, lost, anchor)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Refuse to restore a ledger that another process restores."""
    if sys.platform == "win32" or not place.parent.is_dir():
        yield
        return
    lock = place.with_name(f".{place.name}.restoring")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
        lock.unlink(missing_ok=True)
    except BlockingIOError:
        raise LedgerError(f"{place} is being restored by another process; look at it when that has ended") from None
    finally:
        os.close(handle)


def _restore(source: Path, path: Path, lost: float | None, anchor: Path | None) -> int | None:
    """Mend a ledger with the help of a backup; how many entries are gone, `None` if unknown.

    A database in place that goes on from the backup's entries is kept, and only its key or anchor is mended; else the
    backup takes its place. The anchor, in the key that is in place or where the key or the backup knows it to be,
    tells how many entries there were. If some of them are gone, or there is no anchor, the operator has to say what
    the `lost` ones came to; that is charged to every asset, known or not. An anchor that stood elsewhere and is not
    there is made anew where the operator says (`anchor`), be it in the key file.
    """
    if lost is not None and not 0 <= lost <= MOST_LOST:
        raise LedgerError(f"what was lost is a finite number, 0 or more, and at most {MOST_LOST:g}")
    place = real(path)
    known = _last_known(source, place)
    entries = _entries(source, known)
    origin, data = source, Path(os.path.realpath(place))  # a link stays one
    if kept := _kept(data, known, entries):
        origin, entries = data, kept
        _refuse_whole(place)
    apart = _anchor_place(place, known, anchor)
    had = known.anchor.count if known.anchor else 0
    missing = max(0, had - len(entries)) if known.certain else None
    if missing != 0 and lost is None:
        raise LedgerError(_demand(origin, place, entries, known))
    charge = _charge(entries, known.own, lost or 0.0 if missing != 0 else 0.0)
    try:
        data.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if origin == data and not missing and not charge.loss:
            last = _end(data, known.own.key)
        else:
            last = _put(origin, data, known.own.key, charge, missing)
        before = sum(one.details["loss"] for one in entries if one.kind == "lost")
        said = replace(known.own, path=KeyFile.beside(place), anchor_path=apart, backup=False)
        replace(said, lost=before + charge.loss, reach=charge.reach).renew(last)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{place} could not be restored ({error}); try again, the backup is as it was") from error
    return missing


class _Known(NamedTuple):
    """The key to go on with, the last anchor that is known, and whether it is the ledger's own, not just a backup's."""

    own: KeyFile
    anchor: Anchor | None
    certain: bool


def _last_known(source: Path, place: Path) -> _Known:
    key, kept = KeyFile.beside(place), KeyFile.beside(source)
    in_place = there(key)
    if not in_place and not there(kept):
        raise LedgerError(f"neither {key} nor {kept} is there; without a key nothing can be restored")
    own = KeyFile.alone(key if in_place else kept)
    if other := replace(own, path=key).anchored_elsewhere():
        raise LedgerError(
            f"the anchor {own.anchor_path} is that of the ledger with the key {other}, which is there: a second one "
            "would spend twice. Restore in its place, or move it away first"
        )
    apart = own.apart()
    if apart is not None:
        return _Known(own, apart, True)
    if own.anchor_path is not None and not own.backup:
        return _Known(own, None, False)
    return _Known(own, own.anchor, in_place and not own.backup)


def _entries(source: Path, known: _Known) -> Sequence[Entry]:
    """What a backup has, if the anchor is that of the same history."""
    entries = _linked(source, known.own.key)
    if not _fits(source, entries, known):
        raise LedgerError(f"{source} is not a backup of the ledger that the anchor is of: their entries differ")
    return entries


def _linked(path: Path, key: bytes) -> Sequence[Entry]:
    chain = Chain(path, key)
    with chain.reading() as connection:
        return chain.checked(connection, None)


def _fits(path: Path, entries: Sequence[Entry], known: _Known) -> bool:
    """Is the anchor that of these entries, or of more?"""
    links = [Chain(path, known.own.key).start, *(entry.hash for entry in entries)]
    anchor = known.anchor
    return anchor is None or anchor.count >= len(links) or links[anchor.count] == anchor.head


def _kept(data: Path, known: _Known, entries: Sequence[Entry]) -> Sequence[Entry] | None:
    """The entries in place, if they go on from the backup's: nothing of them is lost with a key or an anchor."""
    try:
        found = _linked(data, known.own.key)
        if len(found) == len(entries):
            Chain(data, known.own.key).papers(found)  # what is damaged there, the backup has
    except Unavailable:
        raise
    except LedgerError:
        return None
    both = min(len(found), len(entries))
    same = both == 0 or found[both - 1].hash == entries[both - 1].hash
    if not same and not known.certain:
        raise LedgerError(f"{data} has entries that the backup does not have, and the reverse; move one of them away")
    return found if same and len(found) >= len(entries) and _fits(data, found, known) else None


def _refuse_whole(place: Path) -> None:
    """With its key and anchor, there is nothing to mend."""
    try:
        book = Ledger.read(place)
        found = 0 if book.is_backup else len(book.entries())
    except Unavailable:
        raise
    except LedgerError:
        return
    if found:
        raise LedgerError(f"{place} is whole, with {found} entries: there is nothing to restore")


def _anchor_place(place: Path, known: _Known, given: Path | None) -> Path | None:
    """Where the anchor will stand; `None` is the key file. It does not move there in silence."""
    before, key = known.own.anchor_path, KeyFile.beside(place)
    if given is None:
        if before is not None and known.own.apart() is None:
            raise LedgerError(
                f"the anchor {before} is not there; connect its disk, or put it back. If it is gone for good, say with "
                f"--anchor FILE where a new one is to stand (--anchor {key} for the key file itself)"
            )
        return before
    if os.path.realpath(given) == os.path.realpath(key):
        return None
    if given.absolute() != before:
        refuse_anchor(place, given)
    return given.absolute()


def _charge(entries: Sequence[Entry], own: KeyFile, lost: float) -> Lost:
    """What is to be charged, with what an earlier restoration charged that these entries do not have."""
    before = sum(one.details["loss"] for one in entries if one.kind == "lost")
    carried, reach = max(0.0, own.lost - before), History(entries).reach
    if before + carried + lost > MOST_LOST:
        raise LedgerError(f"what was lost comes to more than {MOST_LOST:g} with earlier losses; use another ledger")
    if carried:  # it was said for the reaches of then: the smaller ones grow more
        earlier = USUAL_REACH | dict(own.reach)
        reach = {unit: min(alpha, earlier.get(unit, alpha)) for unit, alpha in reach.items()}
    return Lost(carried + lost, reach)


def _demand(origin: Path, place: Path, entries: Sequence[Entry], known: _Known) -> str:
    """What has to be said before a ledger goes on that lacks entries, or may."""
    has, reach = len(entries), reach_of(History(entries).reach)
    say = (
        f"say with --lost what the missing ones came to at most for changes up to {reach}, one at a smaller alpha "
        "counted in proportion; that is then charged to every line, known or not"
    )
    if not known.certain:
        return (
            f"{origin} has {has} entries, which are kept, but neither the key of {place} nor its anchor is there: how "
            f"many were lost cannot be known. If one of them can be found, put it back; or {say} (--lost 0 if there "
            "were none)"
        )
    had = known.anchor.count if known.anchor else 0
    return f"{origin} has {has} entries, but {place} had {had}. Restore a newer backup; or {say}"


def reach_of(reach: Mapping[str, float]) -> str:
    """Up to which changes a loss is said."""
    return ", ".join(f"{alpha:g} ({unit})" for unit, alpha in sorted(reach.items()))


def _put(origin: Path, data: Path, key: bytes, charge: Lost, missing: int | None) -> Anchor:
    """A copy takes the database's name when it is complete, with what was lost in it.

    A database that is kept never leaves its place before that: a kill in between must not have the next try take an
    older backup for the best that there is.
    """
    if origin == data:
        with closing(sqlite3.connect(data)) as own:
            own.execute("PRAGMA journal_mode = DELETE")  # all of it in one file, which one rename replaces
    with Chain(origin, key).reading() as connection, _copied(connection, data) as copy:
        if missing != 0 or charge.loss:
            _write_lost(copy, key, charge, missing)
        last = _end(copy, key)
        _set_aside(data, copied=origin == data)
        os.replace(copy, data)
    sync_directory(data.parent)
    return last


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


def _write_lost(copy: Path, key: bytes, charge: Lost, missing: int | None) -> None:
    """Say in the copy what was lost, before it takes the ledger's name."""
    details = {"loss": charge.loss, "missing": missing, "given": [UNKNOWN] if charge.loss > 0 else []}
    with closing(sqlite3.connect(copy)) as connection, connection:
        Chain(copy, key).append(connection, "lost", details | {"reach": dict(charge.reach)})


def _end(copy: Path, key: bytes) -> Anchor:
    """The anchor of a copy, which is on disk now."""
    sync_file(copy)
    chain = Chain(copy, key)
    with chain.reading() as connection:
        links = chain.linked(connection)
    return Anchor(len(links), links[-1][2] if links else chain.start)


def _set_aside(path: Path, *, copied: bool) -> None:
    """Keep what is there under another name, or a copy of it, with its log, and what was kept before."""
    ends = ("", LOG, SHARED)
    names = (f"{path.name}.replaced" + (f".{number}" if number > 1 else "") for number in count(1))
    free = next(name for name in names if not any(path.with_name(name + end).exists() for end in ends))
    for end in ends:
        if (there := path.with_name(path.name + end)).exists():
            (shutil.copy2 if copied else os.replace)(there, path.with_name(free + end))
