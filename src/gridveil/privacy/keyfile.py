"""The ledger's key, and beside it the anchor: how many entries the database had when it was last written, and its head.

An older copy of the database, or one that lost its write-ahead log, falls behind the anchor and is refused. The file is
readable by its owner only. Until the database is complete the anchor is empty, so that a birth that was interrupted can
go on, and one that was completed is never begun again. The key of a backup is marked: it is restored, not used.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from glob import escape
from math import isfinite
from pathlib import Path
from typing import Any

from gridveil.errors import LedgerError
from gridveil.files import write_whole
from gridveil.regular import small_bytes

PRIVATE = 0o600
LARGEST = 2**16
"""Bytes of a key file or an anchor; they have some two hundred."""


@dataclass(frozen=True)
class Anchor:
    """The number of entries and the hash of the last one."""

    count: int
    head: str


@dataclass(frozen=True, repr=False)
class KeyFile:
    """The key in bytes, and where the anchor stands: in the key file, or in another if the operator wants it apart.

    Until the ledger is born, `limit` is the one that it is born with. `lost` is what lost entries were ever said to
    have come to, so that a second restoration does not forget what the first one charged.
    """

    path: Path
    key: bytes
    anchor: Anchor | None
    anchor_path: Path | None = None
    limit: float | None = None
    lost: float = 0.0
    backup: bool = False

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
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(json.dumps(record))
                stream.flush()
                os.fsync(stream.fileno())
            with suppress(FileExistsError, FileNotFoundError):  # the first has won, and may have tidied up already
                os.link(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)

    @staticmethod
    def read(path: Path) -> KeyFile:
        """The key and the anchor, wherever that stands; refuses what is not a key file."""
        found = KeyFile.alone(path)
        if found.backup or found.anchor_path is None:
            return found
        apart = found.apart()
        if apart is None and found.anchor is not None:
            raise LedgerError(
                f"the anchor {found.anchor_path} of the ledger is missing; put it back, or restore the ledger with "
                "'gridveil ledger restore'"
            )
        return replace(found, anchor=apart)

    @staticmethod
    def alone(path: Path) -> KeyFile:
        """What the key file says itself, an anchor elsewhere left aside."""
        record = _record(path, "key")
        try:
            key = bytes.fromhex(record["key"])
            anchor = None if record["anchor"] is None else _anchor(record["anchor"])
            apart = record.get("anchor_path")
            limit, lost = record.get("limit"), record.get("lost", 0.0)
            if len(key) != 32 or not all(one >= 0 and isfinite(one) for one in (limit or 0, lost)):
                raise ValueError
            return KeyFile(
                path, key, anchor, None if apart is None else Path(apart), limit, lost, record.get("backup") is True
            )
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise _foreign(path, "key") from error

    def apart(self) -> Anchor | None:
        """The anchor that stands in another file, if it is there."""
        if self.anchor_path is None or not self.anchor_path.exists():
            return None
        record = _record(self.anchor_path, "anchor")
        try:
            return _anchor(record)
        except (ValueError, TypeError, KeyError) as error:
            raise _foreign(self.anchor_path, "anchor") from error

    def advance(self, anchor: Anchor) -> None:
        """Put the anchor where the database is now. Called while no other process can append."""
        if self.anchor_path is None or self.backup:
            _write(self.path, self._said(anchor))
            return
        _write(self.anchor_path, asdict(anchor))
        if self.anchor is None:  # from now on the anchor must be there
            _write(self.path, self._said(Anchor(0, "")))

    def tidy(self) -> None:
        """Remove what killed processes left of their writing, with the key in it. Called as `advance` is."""
        with suppress(OSError):
            real = self.path.resolve()
            for left in real.parent.glob(f".{escape(real.name)}.*"):
                left.unlink()

    def _said(self, anchor: Anchor) -> dict[str, Any]:
        record: dict[str, Any] = {"key": self.key.hex(), "anchor": asdict(anchor)}
        if self.anchor_path is not None:
            record["anchor_path"] = str(self.anchor_path)
        if self.lost:
            record["lost"] = self.lost
        if self.backup:
            record["backup"] = True
        return record


def key_bytes(path: Path) -> bytes:
    """The content of a key file, whatever it is."""
    try:
        return small_bytes(path, LARGEST)
    except OSError as error:
        raise LedgerError(
            f"the key {path} cannot be read ({error.strerror}); check the file and its permissions"
        ) from error


def _record(path: Path, what: str) -> Any:
    try:
        return json.loads(small_bytes(path, LARGEST).decode("ascii"))
    except OSError as error:
        words = f"the {what} {path} cannot be read ({error.strerror}); check the file and its permissions"
        raise LedgerError(words) from error
    except (ValueError, RecursionError) as error:
        raise _foreign(path, what) from error


def _anchor(record: Any) -> Anchor:
    """An anchor, if it is one: a count that is no whole number would be rounded to one."""
    count, head = record["count"], record["head"]
    if type(count) is not int or count < 0 or not isinstance(head, str):
        raise ValueError
    return Anchor(count, head)


def _foreign(path: Path, what: str) -> LedgerError:
    return LedgerError(
        f"{path} is not the {what} of a ledger; put the right one back, or move it away and use "
        "'gridveil ledger restore'"
    )


def _write(path: Path, record: dict[str, Any]) -> None:
    """Where a link leads: the link is not replaced by a file of its own."""
    write_whole(path.resolve(), json.dumps(record), PRIVATE)
