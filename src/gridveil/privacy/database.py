"""A ledger's SQLite file, opened to write or only to look into, and what its failures mean.

Only damage is a reason to restore: whoever lacks a permission or room has a whole ledger, and must not put an older
one in its place.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep

from gridveil.errors import LedgerError

WAIT = 30.0
"""Seconds to wait for other processes."""
LOG, SHARED = "-wal", "-shm"
"""How the names of the files end that SQLite puts beside a database."""
_TO_WRITE = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")


class Unavailable(LedgerError):
    """The database cannot be used now, for reasons that lie outside of it."""


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection with write-ahead log and full synchronisation."""
    with _sentences(path), closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as connection:
        _begin(connection, _TO_WRITE)
        yield connection


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing, to a database that perhaps cannot be changed."""
    if not path.is_file():
        raise LedgerError(f"{path} is not there; name a backup or a ledger")
    with _sentences(path), closing(_looking(path)) as connection:
        yield connection


def _looking(path: Path) -> sqlite3.Connection:
    """Read-only. Where SQLite cannot even note down who reads, nobody can write either: the file stays as it is."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        return _connected(address)
    except sqlite3.OperationalError:
        if os.access(path.absolute().parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise
        log = path.with_name(path.name + LOG)
        if log.exists() and log.stat().st_size:
            raise Unavailable(
                f"{path} cannot be read here with its log {log.name}; copy both, and the key, to a place of your own"
            ) from None
        return _connected(f"{address}&immutable=1")


def _connected(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=WAIT, isolation_level=None)
    try:
        _begin(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: sqlite3.Connection, statements: tuple[str, ...] = ()) -> None:
    """The first statements.

    While the first process makes the log, or the last one clears it away, SQLite refuses others at once instead of
    letting them wait; so they wait here.
    """
    deadline = monotonic() + WAIT
    while True:
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(0.01)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Failures of the database as sentences."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeError) as error:
        if damaged(error):
            raise LedgerError(f"{path} is not a usable ledger ({error}); restore it, or use another path") from error
        raise Unavailable(
            f"the ledger {path} cannot be used ({error}); check permissions, room on the disk and other processes. "
            "It is not damaged by that: do not restore it"
        ) from error


def damaged(error: Exception) -> bool:
    """Does a failure lie in the file, and not in what may be done with it now?"""
    operational = isinstance(error, sqlite3.OperationalError)
    return not operational or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
