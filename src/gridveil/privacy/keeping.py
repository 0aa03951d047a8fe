"""Keeping a ledger: backups of it, restoring one, and taking over the ledger of an earlier version."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gridveil.errors import LedgerError
from gridveil.files import sync_directory
from gridveil.privacy.chain import Chain, prepare_connection
from gridveil.privacy.composition import Assets, Charge, reaches
from gridveil.privacy.keyfile import PRIVATE, Anchor, KeyFile
from gridveil.privacy.ledger import Ledger

_UNITS = {"relative (0.1 means ten per cent)": "relative", "per unit of conductance": "conductance"}
"""Units as entries of the first version have them."""


EARLIER = "optimal dispatch cost, declared or published by an earlier version"
"""What releases of the first version were conditional on: they all stated a cost, and the ledger did not keep it."""


class Known(NamedTuple):
    """A network for `migrate`: its name, what the first version knew it by, and the identities of its assets."""

    name: str
    shape: bytes
    identities: tuple[str, ...]


def backup(ledger: Ledger, target: Path) -> int:
    """Copy a ledger, as it is at one moment, and its key beside it; the number of entries."""
    key = KeyFile.beside(target)
    if target.exists() or key.exists():
        raise LedgerError(f"{target} exists, or its key does; give another name for the backup")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".gridveil.", dir=target.parent) as folder:
            copy = Path(folder) / target.name
            own = KeyFile.read(KeyFile.beside(ledger.path))  # first: its anchor must not be younger
            if own.anchor is not None:  # which a backup has with it, wherever the ledger keeps it
                KeyFile(KeyFile.beside(copy), own.key, own.anchor).advance(own.anchor)
            os.close(os.open(copy, os.O_RDWR | os.O_CREAT, PRIVATE))
            with closing(sqlite3.connect(ledger.path)) as source, closing(sqlite3.connect(copy)) as destination:
                prepare_connection(source)
                source.backup(destination)
                destination.execute("PRAGMA journal_mode = DELETE")
            count = len(_links(copy, own.key)) - 1
            os.replace(KeyFile.beside(copy), key)
            os.replace(copy, target)
        sync_directory(target.parent)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"the backup {target} could not be written ({error}); give another place") from error
    return count


def restore(source: Path, path: Path, lost: float | None = None) -> int:
    """Put a backup in the place of a ledger that is missing or damaged; how many entries are gone for good.

    The key that is in place, with its anchor, stays: it knows how many entries there were. A backup that lacks some of
    them is refused, unless the operator says what the `lost` ones came to; that is charged to every asset then.
    """
    place = KeyFile.beside(path)
    own = KeyFile.read(place if place.exists() else KeyFile.beside(source))
    links = _links(source, own.key)
    had = own.anchor.count if own.anchor is not None else 0
    if own.anchor is not None and had < len(links) and links[had] != own.anchor.head:
        raise LedgerError(f"{source} is not a backup of {path}: their entries differ")
    missing = max(0, had - (len(links) - 1))
    if missing and lost is None:
        raise LedgerError(
            f"{source} has {len(links) - 1} entries, but {path} had {had}. Restore a newer backup; or say with --lost "
            "what the missing ones came to at most, which is then charged to every line that the ledger knows"
        )
    if lost is not None and not 0 <= lost < float("inf"):
        raise LedgerError("what was lost is a finite number, 0 or more")
    try:
        _put(source, path)
        KeyFile(place, own.key, own.anchor, own.anchor_path).advance(Anchor(len(links) - 1, links[-1]))
    except OSError as error:
        raise LedgerError(f"{path} could not be restored ({error}); try again, the backup is as it was") from error
    if missing and lost:
        _charge_all(Ledger.open(path), lost)
    return missing


def migrate(old: Path, new: Path, networks: Iterable[Known]) -> int:
    """A new ledger with the charges and limits of one of the first version, which knew networks by their buses.

    Every network that it has charges of must be given; the number of entries that were taken over.
    """
    try:
        key = bytes.fromhex(KeyFile.beside(old).read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise LedgerError(f"the key of {old} cannot be read; is it a ledger of an earlier version?") from error
    with _reading(old) as connection:
        entries = [json.loads(body) for _, body, _ in Chain(old, key).linked(connection)]
    by_name = {hmac.new(key, b"network" + one.shape, hashlib.sha256).hexdigest()[:32]: one for one in networks}
    unknown = {entry["network"]: None for entry in entries if entry["network"] not in by_name}
    if unknown:
        raise LedgerError(
            f"{len(unknown)} networks of {old} are not among the cases given (their fingerprints: "
            f"{', '.join(name[:12] for name in unknown)}); give the case files of all that it has entries of"
        )
    book = Ledger.init(new, limit=None)
    for entry in entries:
        assets = book.assets(by_name[entry["network"]].name, by_name[entry["network"]].identities)
        said: dict[str, Any] = entry["details"]
        if entry["kind"] == "limit":
            book.set_limit(assets, said["limit"])
        else:
            unit = _UNITS.get(said["unit"], said["unit"])
            charge = Charge(entry["loss"], said["alpha"], unit, said["mechanism"])
            unsaid = [] if said["mechanism"] == "cost" else [EARLIER]
            book.charge(
                assets, charge, {"given": said.get("given", unsaid), "taken_over": entry["time"]}, binding=False
            )
    return len(entries)


def _charge_all(ledger: Ledger, lost: float) -> None:
    """Charge every asset that the ledger knows, in the unit of its first charge."""
    history = ledger.history()
    charges = [charge for _, charge in history.charges]
    if not charges:
        raise LedgerError("the backup knows no release, so that nothing can be charged; set limits by hand")
    keys = tuple(dict.fromkeys(key for one in history.networks.values() for key in one.keys))
    within = next(one for one in reaches(charges) if one.unit == charges[0].unit)
    charge = Charge(lost, within.alpha, within.unit, within.mechanism)
    ledger.charge(Assets("lost entries", keys), charge, {"given": []}, binding=False)


def _put(source: Path, path: Path) -> None:
    """Copy a backup into place; what was there is kept under another name, its log too, which belongs to it alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "wb") as stream, source.open("rb") as content:
        shutil.copyfileobj(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        if (there := path.with_name(name)).exists():
            os.replace(there, path.with_name(f"{name}.replaced"))
    os.replace(temporary, path)
    sync_directory(path.parent)


def _links(path: Path, key: bytes) -> list[str]:
    """The hashes of a backup's chain, from before its first entry on."""
    chain = Chain(path, key)
    with _reading(path) as connection:
        return [chain.start, *(link for _, _, link in chain.linked(connection))]


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A database that stays as it is."""
    if not path.is_file():
        raise LedgerError(f"{path} is not there; name a backup or a ledger")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
        raise LedgerError(f"{path} cannot be read as a ledger ({error})") from error
