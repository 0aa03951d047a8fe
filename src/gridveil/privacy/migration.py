"""Taking over the ledger of an earlier version."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gridveil.errors import LedgerError
from gridveil.files import sync_directory
from gridveil.privacy import database
from gridveil.privacy.chain import Chain
from gridveil.privacy.composition import Charge
from gridveil.privacy.keyfile import KeyFile, key_bytes
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.limit import DEFAULT_LIMIT

_UNITS = {"relative (0.1 means ten per cent)": "relative", "per unit of conductance": "conductance"}
"""Units as entries of the first version have them."""


EARLIER = "optimal dispatch cost, declared or published by an earlier version"
"""What releases of the first version were conditional on: they all stated a cost, and the ledger did not keep it."""


class Known(NamedTuple):
    """A network for `migrate`: its name, what the first version knew it by, and the identities of its assets."""

    name: str
    shape: bytes
    identities: tuple[str, ...]


def migrate(old: Path, new: Path, networks: Iterable[Known]) -> int:
    """A new ledger with the charges and limits of one of the first version, which knew networks by their buses.

    Every network that it has charges of must be given; the number of entries that were taken over.
    """
    key, entries = _former(old)
    by_name = {hmac.new(key, b"network" + one.shape, hashlib.sha256).hexdigest()[:32]: one for one in networks}
    unknown = {entry["network"]: None for entry in entries if entry["network"] not in by_name}
    if unknown:
        raise LedgerError(
            f"{len(unknown)} networks of {old} are not among the cases given (their fingerprints: "
            f"{', '.join(name[:12] for name in unknown)}); give the case files of all that it has entries of"
        )
    if Ledger.exists(new):
        raise LedgerError(f"{new} exists, or its key does; give another name for the new ledger")
    try:
        new.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{new.name}.", dir=new.parent) as folder:
            made = Path(folder) / new.name
            _take_over(Ledger.init(made, DEFAULT_LIMIT), entries, by_name)
            with database.writing(made) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")  # all of it stands in the one file
            _put(made, new)
        sync_directory(new.parent)
    except OSError as error:
        raise LedgerError(f"{new} could not be written ({error}); {old} is as it was, give another place") from error
    return len(entries)


def _put(made: Path, new: Path) -> None:
    """Give both files their names, replacing nothing that came meanwhile; the key last: without it, it is no ledger."""
    try:
        os.link(made, new)
        try:
            os.link(KeyFile.beside(made), KeyFile.beside(new))
        except BaseException:
            new.unlink()
            raise
    except FileExistsError as error:
        raise LedgerError(f"{new} exists, or its key does; give another name for the new ledger") from error


def _former(path: Path) -> tuple[bytes, list[dict[str, Any]]]:
    """The key and the entries of a ledger of the first version."""
    try:
        key = bytes.fromhex(key_bytes(KeyFile.beside(path)).decode("ascii").strip())
        with database.reading(path) as connection:
            return key, [json.loads(body) for _, body, _ in Chain(path, key).linked(connection)]
    except ValueError as error:
        raise LedgerError(f"{path} cannot be read as a ledger of an earlier version") from error


def _take_over(book: Ledger, entries: Sequence[dict[str, Any]], by_name: Mapping[str, Known]) -> None:
    """Write charges and limits again; charges count whatever the limits say."""
    for entry in entries:
        known, said = by_name[entry["network"]], entry["details"]
        assets = book.assets(known.name, known.identities)
        if entry["kind"] == "limit":
            book.set_limit(assets, said["limit"])
            continue
        unit = _UNITS.get(said["unit"], said["unit"])
        charge = Charge(entry["loss"], said["alpha"], unit, said["mechanism"], {"lines": said["alpha"]})
        unsaid = [] if said["mechanism"] == "cost" else [EARLIER]
        book.charge(assets, charge, {"given": said.get("given", unsaid), "taken_over": entry["time"]}, binding=False)
