"""The ledger: what has been spent on which network, on disk before a random bit is drawn, true after any crash.

One SQLite file in WAL mode with full synchronisation. Entries are only ever appended; each carries a keyed hash of
itself and of its predecessor, and a keyed head guards the end, so that a changed, removed or foreign entry is found and
named. A network is known by a keyed fingerprint of its public shape, which says nothing to whoever lacks the key.

What charges come to together is `privacy/composition.py`'s business.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from gridveil.errors import BudgetExceeded, LedgerError
from gridveil.privacy.composition import FORMER_UNITS, Charge, Within, composed

_SCHEMA = """
CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_keep BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
PRAGMA user_version = 1;
"""
_APPLICATION = 0x47560001
WAIT = 30.0
"""Seconds to wait for other processes."""


class Account(NamedTuple):
    """What a network has spent, and what it would have with one more charge."""

    spent: float
    total: float
    within: tuple[Within, ...]
    limit: float | None

    @property
    def refused(self) -> bool:
        return self.limit is not None and not self.total <= self.limit * (1 + 1e-12)


@dataclass(frozen=True)
class Receipt:
    """A charge that is on disk: its entry number, the network, and what the network has spent with it.

    `cumulative` is for changes up to what `within` says of every mechanism that was ever charged; `earlier` has the
    details of every charge before it.
    """

    entry: int
    network: str
    loss: float
    cumulative: float
    within: tuple[Within, ...]
    limit: float | None
    earlier: tuple[dict[str, Any], ...] = ()
    head: str = ""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    number: int
    time: str
    kind: str
    network: str
    loss: float
    details: dict[str, Any]


def default_path() -> Path:
    """Where the ledger is kept if nobody says otherwise."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share"))
    return base / "gridveil" / "ledger.db"


class Ledger:
    """An open ledger. Every method opens and closes its own connection, so processes may share the file."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key

    @staticmethod
    def open(path: Path | str | None = None) -> Ledger:
        """Open a ledger, making it (and its key, beside it) if it is not there."""
        path = Path(path) if path is not None else default_path()
        key_path = path.with_name(path.name + ".key")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() and not key_path.exists():
                _create_key(key_path)
            if not key_path.exists():
                raise LedgerError(
                    f"{path} has no key ({key_path} is missing); restore the key file, or use another ledger"
                )
            ledger = Ledger(path, bytes.fromhex(key_path.read_text().strip()))
            ledger._prepare()
        except (OSError, ValueError) as error:
            raise LedgerError(
                f"the ledger {path} cannot be opened ({error}); check the path and its permissions"
            ) from error
        return ledger

    def fingerprint(self, shape: bytes) -> str:
        """The ledger's name for a network."""
        return hmac.new(self._key, b"network" + shape, hashlib.sha256).hexdigest()[:32]

    def charge(
        self, network: str, charge: Charge, details: dict[str, Any] | None = None, then: Sequence[Charge] = ()
    ) -> Receipt:
        """Write a charge and return when it is on disk; refuse it if it exceeds the network's limit.

        `then` are charges that may follow it: it is refused if there is no room for them too.
        """
        if not all(isfinite(value) and value > 0 for value in (charge.loss, charge.alpha)):
            raise LedgerError(f"a loss of {charge.loss} at α = {charge.alpha} cannot be charged; both must be positive")
        with self._transaction() as connection:
            account = self._weighed(connection, network, [charge])
            most = self._weighed(connection, network, [charge, *then])
            if most.refused:
                raise BudgetExceeded(
                    f"the release would cost {most.total - most.spent:.6g}; this network has spent {most.spent:.6g} of "
                    f"its limit {most.limit:.6g}, counted for changes up to {_reaches(most.within)}. This was not "
                    "charged; raise the limit with 'gridveil ledger set-limit' if that is meant"
                )
            charged = [one for one in self._checked(connection) if one.network == network and one.kind == "charge"]
            body = {**(details or {}), "mechanism": charge.mechanism, "alpha": charge.alpha, "unit": charge.unit}
            number = self._append(connection, "charge", network, charge.loss, body)
        earlier = tuple(one.details for one in charged)
        return Receipt(number, network, charge.loss, account.total, account.within, account.limit, earlier)

    def preview(self, network: str, charges: Sequence[Charge]) -> Account:
        """What charges would come to; nothing is written."""
        with self._snapshot() as connection:
            return self._weighed(connection, network, charges)

    def set_limit(self, network: str, limit: float) -> None:
        """Set the most a network may ever spend; a limit is an entry like any other."""
        if not (limit >= 0 and limit < float("inf")):
            raise LedgerError("a limit is a finite number, 0 or more")
        with self._transaction() as connection:
            self._append(connection, "limit", network, 0.0, {"limit": limit})

    def spent(self, network: str) -> tuple[float, float | None]:
        """(spent, limit) of a network, for changes up to the largest α charged."""
        with self._snapshot() as connection:
            charges, limit = self._state(connection, network)
        return composed(charges)[0], limit

    def entries(self) -> list[Entry]:
        """Every entry, checked against the chain."""
        with self._snapshot() as connection:
            return self._checked(connection)

    def _state(self, connection: sqlite3.Connection, network: str) -> tuple[list[Charge], float | None]:
        charges, limit = list[Charge](), None
        for entry in self._checked(connection):
            if entry.network == network and entry.kind == "limit":
                limit = entry.details["limit"]
            elif entry.network == network:
                details = entry.details
                unit = FORMER_UNITS.get(details["unit"], details["unit"])
                charges.append(Charge(entry.loss, details["alpha"], unit, details["mechanism"]))
        return charges, limit

    def _weighed(self, connection: sqlite3.Connection, network: str, more: Sequence[Charge]) -> Account:
        charges, limit = self._state(connection, network)
        return Account(composed(charges)[0], *composed([*charges, *more]), limit)

    def _append(
        self, connection: sqlite3.Connection, kind: str, network: str, loss: float, details: dict[str, Any]
    ) -> int:
        count, previous = connection.execute("SELECT count, hash FROM head").fetchone()
        body = json.dumps(
            {"time": datetime.now(UTC).isoformat(timespec="seconds"), "kind": kind, "network": network, "loss": loss,
             "details": details}, sort_keys=True,
        )  # fmt: skip
        link = self._link(previous, count + 1, body)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (count + 1, body, link))
        connection.execute("UPDATE head SET count = ?, hash = ?", (count + 1, link))
        return int(count) + 1

    def _link(self, previous: str, number: int, body: str) -> str:
        return hmac.new(self._key, f"{previous}|{number}|{body}".encode(), hashlib.sha256).hexdigest()

    def _checked(self, connection: sqlite3.Connection) -> list[Entry]:
        link, result = self._link("", 0, "gridveil"), []
        rows = connection.execute("SELECT id, body, hash FROM entries ORDER BY id").fetchall()
        for expected, (number, body, stored) in enumerate(rows, start=1):
            link = self._link(link, expected, body)
            if number != expected or not hmac.compare_digest(link, stored):
                raise LedgerError(
                    f"entry {expected} of {self.path} was changed or removed, or the key is not this ledger's; "
                    "restore the file from a backup"
                )
            try:
                result.append(Entry(number, **json.loads(body)))
            except (TypeError, ValueError) as error:
                raise LedgerError(f"entry {expected} of {self.path} cannot be read") from error
        head = connection.execute("SELECT count, hash FROM head").fetchone()
        if head is None or head[0] != len(rows) or not hmac.compare_digest(head[1], link):
            raise LedgerError(f"entries at the end of {self.path} were removed; restore the file from a backup")
        return result

    def _prepare(self) -> None:
        with self._transaction(create=True) as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                for statement in _statements(_SCHEMA):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute("INSERT INTO head VALUES (1, 0, ?)", (self._link("", 0, "gridveil"),))
            elif connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                raise LedgerError(f"{self.path} is a database, but not a ledger of this program; use another path")
        with self._snapshot() as connection:
            self._checked(connection)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)) as connection:
                _prepare_connection(connection)
                yield connection
        except sqlite3.DatabaseError as error:
            raise LedgerError(
                f"{self.path} is not a usable ledger ({error}); restore it, or use another path"
            ) from error

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Entries and head as they are at one moment, whatever other processes append meanwhile."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _transaction(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Exclusive from the first read on, so that two processes can never both see the same remainder."""
        with self._connection() as connection:
            connection.execute("BEGIN EXCLUSIVE" if create else "BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _reaches(within: Sequence[Within]) -> str:
    return " and ".join(dict.fromkeys(f"{one.alpha:g} ({one.unit})" for one in within))


def _prepare_connection(connection: sqlite3.Connection) -> None:
    """Write-ahead log and full synchronisation.

    While the first process makes the log, or the last one clears it away, SQLite refuses others at once instead of
    letting them wait; so they wait here.
    """
    deadline = monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(0.01)


def _create_key(path: Path) -> None:
    """A fresh key, readable by its owner only; it appears whole, and the first of two processes wins."""
    handle, temporary = tempfile.mkstemp(prefix=".key.", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(secrets.token_hex(32))
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def _statements(script: str) -> list[str]:
    """Statements of a script whose triggers contain semicolons."""
    return [line for line in script.strip().splitlines() if line]
