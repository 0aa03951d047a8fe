"""A chain of entries on disk: only ever appended, each with a keyed hash of itself and of its predecessor.

One SQLite file in WAL mode with full synchronisation. A keyed head guards the end, and the anchor in the key file
guards the whole against an older copy: a changed, removed, foreign or lost entry is found and named. What the entries
mean is `privacy/ledger.py`'s business. Large things (`papers`) stand beside the entries, which hold their digests.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gridveil.errors import LedgerError
from gridveil.privacy import database
from gridveil.privacy.keyfile import PRIVATE, Anchor, KeyFile

VERSION = 2
APPLICATION = 0x47560001
_SCHEMA = (
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE papers (entry INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END",
    "CREATE TRIGGER entries_keep BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END",
    f"PRAGMA user_version = {VERSION}",
    f"PRAGMA application_id = {APPLICATION}",
)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    number: int
    time: str
    kind: str
    details: dict[str, Any]
    hash: str


class Unanchored(LedgerError):
    """An entry is on disk, but the anchor could not be moved to it."""


class Chain:
    """An open chain. Every method opens and closes its own connection, so processes may share the file."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key
        self._keyed = hmac.new(key, digestmod="sha256")

    @property
    def start(self) -> str:
        """The hash before the first entry."""
        return self._link("", 0, "gridveil")

    def keyed(self, kind: str, name: str) -> str:
        """A name that says nothing to whoever lacks the key."""
        found = self._keyed.copy()  # a third faster than to begin anew, for twenty thousand assets
        found.update(f"{kind}|{name}".encode())
        return found.hexdigest()[:24]

    def prepare(self) -> None:
        """Make the tables in a database that was never completed; refuse any other that is not ours and whole."""
        key = KeyFile.read(KeyFile.beside(self.path))
        key.refuse_backup()
        if key.anchor is None:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE))  # its log takes the same permissions
            with self.appending(create=True) as (connection, entries):
                if not entries and key.limit is not None:
                    self.append(connection, "limit", {"network": None, "limit": key.limit})
        self.require()

    def require(self) -> None:
        """Refuse a database that is not ours and whole."""
        file = KeyFile.beside(self.path)
        if KeyFile.read(file).anchor is None:
            raise LedgerError(
                f"{self.path} was never completed; the next release does that, there is nothing in it yet"
            )
        if not self.path.is_file() or self.path.stat().st_size == 0:
            raise LedgerError(
                f"{self.path} is {'empty' if self.path.exists() else 'missing'}, but its key {file} is there: what was "
                "spent would be forgotten. Restore the database with 'gridveil ledger restore', or use another ledger"
            )
        self.entries()

    def anchor_again(self) -> None:
        """Write the anchor as a charge will, or raise what keeps us from it; tidy up what dead writers left."""
        with database.writing(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self.checked(connection, KeyFile.read(KeyFile.beside(self.path)).anchor)
                self._move(connection).tidy()
            finally:
                connection.execute("ROLLBACK")

    def entries(self) -> list[Entry]:
        """Every entry, as they are at one moment, whatever other processes append meanwhile."""
        anchor = KeyFile.read(KeyFile.beside(self.path)).anchor  # first: it must not be younger than what is read
        with self.reading() as connection:
            connection.execute("BEGIN")
            found = self.checked(connection, anchor)
            connection.execute("COMMIT")
        return found

    def _create(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO head VALUES (1, 0, ?)", (self.start,))

    @contextmanager
    def appending(self, *, create: bool = False) -> Iterator[tuple[sqlite3.Connection, list[Entry]]]:
        """Exclusive from the first read on, so that two processes can never both see the same remainder.

        When it ends, what was appended is on disk and the anchor knows of it.
        """
        KeyFile.alone(KeyFile.beside(self.path)).refuse_backup()
        with database.writing(self.path) as connection:
            refuse_foreign(connection, self.path)
            connection.execute("BEGIN EXCLUSIVE" if create else "BEGIN IMMEDIATE")
            try:
                if create:
                    self._create(connection)
                yield connection, self.checked(connection, KeyFile.read(KeyFile.beside(self.path)).anchor)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            try:
                self._anchor(connection)
            except Exception as error:  # whatever it is: what was appended stays, and whoever pays must hear of it
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                raise Unanchored(
                    f"an entry of {self.path} is written, but its anchor is not ({why}); "
                    "make room and see that the key file can be read and written"
                ) from error

    def _anchor(self, connection: sqlite3.Connection) -> None:
        """Move the anchor to the last entry, while nobody else appends."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._move(connection)
        finally:
            connection.execute("COMMIT")

    def _move(self, connection: sqlite3.Connection) -> KeyFile:
        count, head = connection.execute("SELECT count, hash FROM head").fetchone()
        key = KeyFile.read(KeyFile.beside(self.path))
        key.advance(Anchor(count, head))
        return key

    def append(
        self, connection: sqlite3.Connection, kind: str, details: dict[str, Any], paper: bytes | None = None
    ) -> Entry:
        """Add an entry, within `appending`; the digest of its paper, if it has one, stands in it."""
        count, previous = connection.execute("SELECT count, hash FROM head").fetchone()
        number = int(count) + 1
        if paper is not None:
            details = {**details, "sha256": hashlib.sha256(paper).hexdigest()}
            connection.execute("INSERT INTO papers VALUES (?, ?)", (number, paper))
        time = datetime.now(UTC).isoformat(timespec="seconds")
        body = json.dumps({"time": time, "kind": kind, "details": details}, sort_keys=True)
        link = self._link(previous, number, body)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, link))
        connection.execute("UPDATE head SET count = ?, hash = ?", (number, link))
        return Entry(number, time, kind, details, link)

    def checked(self, connection: sqlite3.Connection, anchor: Anchor | None) -> list[Entry]:
        """Every entry, if none was changed, removed or lost since the anchor was moved."""
        result = list[Entry]()
        for number, body, link in self.linked(connection):
            try:
                result.append(Entry(number, **json.loads(body), hash=link))
            except (TypeError, ValueError, RecursionError) as error:
                raise LedgerError(f"entry {number} of {self.path} cannot be read; restore the file") from error
        if anchor is not None and anchor.count > len(result):
            raise LedgerError(
                f"{self.path} has {len(result)} entries, but had {anchor.count}: it is an older copy, or lost its "
                "write-ahead log. Restore a newer one with 'gridveil ledger restore'"
            )
        links = [self.start, *(entry.hash for entry in result)]
        if anchor is not None and not hmac.compare_digest(links[anchor.count].encode(), anchor.head.encode()):
            raise LedgerError(f"{self.path} is not the ledger that its key file was last used with; restore the file")
        return result

    def linked(self, connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
        """Number, body and hash of every entry, if each is linked to its predecessor and the last is the head."""
        link, result = self.start, list[tuple[int, str, str]]()
        rows = connection.execute("SELECT id, body, hash FROM entries ORDER BY id").fetchall()
        for expected, (number, body, stored) in enumerate(rows, start=1):
            if not (isinstance(body, str) and isinstance(stored, str)):
                raise LedgerError(f"entry {expected} of {self.path} cannot be read; restore the file")
            link = self._link(link, expected, body)
            if number != expected or not hmac.compare_digest(link.encode(), stored.encode()):
                raise LedgerError(
                    f"entry {expected} of {self.path} was changed or removed, or the key is not this ledger's; "
                    "restore the file from a backup"
                )
            result.append((number, body, link))
        count, head = connection.execute("SELECT count, hash FROM head").fetchone() or (-1, "")
        if count != len(result) or not hmac.compare_digest(str(head).encode(), link.encode()):
            raise LedgerError(f"entries at the end of {self.path} were removed; restore the file from a backup")
        return result

    def paper(self, entry: Entry) -> bytes:
        """What stands beside an entry, if it is still what the entry has the digest of."""
        with self.reading() as connection:
            return self._paper(connection, entry)

    def verify(self) -> list[Entry]:
        """Every entry, checked with what stands beside it."""
        entries = self.entries()
        self.papers(entries)
        return entries

    def papers(self, entries: Sequence[Entry]) -> None:
        """Refuse what stands beside entries, if it is not what they have the digests of."""
        with self.reading() as connection:
            for entry in entries:
                if "sha256" in entry.details:
                    self._paper(connection, entry)

    def _paper(self, connection: sqlite3.Connection, entry: Entry) -> bytes:
        found = connection.execute("SELECT content FROM papers WHERE entry = ?", (entry.number,)).fetchone()
        content = found[0] if found and isinstance(found[0], bytes) else b""
        if hashlib.sha256(content).hexdigest() != entry.details.get("sha256"):
            raise LedgerError(f"what stands beside entry {entry.number} of {self.path} was changed or removed")
        return content

    def _link(self, previous: str, number: int, body: str) -> str:
        return hmac.digest(self._key, f"{previous}|{number}|{body}".encode(), "sha256").hex()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to look into the file."""
        with database.reading(self.path) as connection:
            refuse_foreign(connection, self.path)
            yield connection


def refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not a ledger, or one of another version; one without tables is not yet anything."""
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(f"{path} is a database, but not a ledger of this program; use another path")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < VERSION:
        raise LedgerError(
            f"{path} is a ledger of an earlier version, which counted networks, not their lines; "
            f"take it over with 'gridveil ledger migrate {path} CASE... --ledger NEW'"
        )
    if version > VERSION:
        raise LedgerError(f"{path} was written by a newer version of GridVeil (ledger {version}); update GridVeil")
