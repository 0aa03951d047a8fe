"""The ledger's key, and beside it the anchor: how many entries the database had when it was last written, and its head.

An older copy of the database, or one that lost its write-ahead log, falls behind the anchor and is refused. The file is
readable by its owner only. Until the database is complete the anchor is empty, so that a birth that was interrupted can
go on, and one that was completed is never begun again.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.errors import LedgerError
from gridveil.files import write_whole

PRIVATE = 0o600


@dataclass(frozen=True)
class Anchor:
    """The number of entries and the hash of the last one."""

    count: int
    head: str


@dataclass(frozen=True, repr=False)
class KeyFile:
    """The key in bytes, and where the anchor stands: in the key file, or in another if the operator wants it apart.

    Until the ledger is born, `limit` is the one that it is born with.
    """

    path: Path
    key: bytes
    anchor: Anchor | None
    anchor_path: Path | None = None
    limit: float | None = None

    @staticmethod
    def beside(database: Path) -> Path:
        """The key file of a database."""
        return database.with_name(database.name + ".key")

    @staticmethod
    def create(path: Path, limit: float | None, anchor_path: Path | None = None) -> None:
        """A fresh key without an anchor; it appears whole, and the first of two processes wins."""
        record: dict[str, Any] = {"key": secrets.token_hex(32), "anchor": None, "limit": limit}
        if anchor_path is not None:
            record["anchor_path"] = str(anchor_path.absolute())
        handle, temporary = tempfile.mkstemp(prefix=".key.", dir=path.parent)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(json.dumps(record))
                stream.flush()
                os.fsync(stream.fileno())
            with suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            os.unlink(temporary)

    @staticmethod
    def read(path: Path) -> KeyFile:
        """The key and the anchor; refuses what is not a key file."""
        try:
            record = json.loads(path.read_text(encoding="ascii"))
            key = bytes.fromhex(record["key"])
            apart = record.get("anchor_path")
            anchor_path = None if apart is None else Path(apart)
            anchor = record["anchor"]
            if anchor_path is not None and anchor_path.exists():
                anchor = json.loads(anchor_path.read_text(encoding="ascii"))
            elif anchor is not None and anchor_path is not None:
                raise LedgerError(f"the anchor {anchor_path} of the ledger is missing; restore it from a backup")
            found = None if anchor is None else Anchor(int(anchor["count"]), str(anchor["head"]))
        except OSError as error:
            raise LedgerError(f"the key {path} cannot be read ({error.strerror}); check its permissions") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise LedgerError(f"{path} is not the key of a ledger; restore it from a backup") from error
        if len(key) != 32:
            raise LedgerError(f"{path} is not the key of a ledger; restore it from a backup")
        return KeyFile(path, key, found, anchor_path, record.get("limit"))

    def advance(self, anchor: Anchor) -> None:
        """Put the anchor where the database is now. Called while no other process can append."""
        record: dict[str, Any] = {"key": self.key.hex(), "anchor": {"count": anchor.count, "head": anchor.head}}
        if self.anchor_path is None:
            write_whole(self.path, json.dumps(record), PRIVATE)
            return
        if self.anchor is None:  # from now on the anchor must be there
            record |= {"anchor": {"count": 0, "head": ""}, "anchor_path": str(self.anchor_path)}
            write_whole(self.anchor_path, json.dumps({"count": anchor.count, "head": anchor.head}), PRIVATE)
            write_whole(self.path, json.dumps(record), PRIVATE)
        else:
            write_whole(self.anchor_path, json.dumps({"count": anchor.count, "head": anchor.head}), PRIVATE)
