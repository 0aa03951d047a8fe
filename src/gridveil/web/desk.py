"""The desk: which network lies on it, with which settings. It stands in a file, so that a new server finds it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from gridveil.errors import GridVeilError
from gridveil.files import write_whole
from gridveil.privacy.ledger import Ledger, default_path
from gridveil.web.files import Folder
from gridveil.web.jobs import Jobs
from gridveil.web.opened import Opened, Reader
from gridveil.web.security import Session
from gridveil.web.settings import Settings, from_record

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NOTHING_OPEN = "no network is open; open one first, on the page Open"


@dataclass(frozen=True)
class Lying:
    """What lies on it."""

    name: str | None
    settings: Settings


class Desk:
    """One folder, one owner."""

    def __init__(self, root: Path, session: Session, ledger: Path | None = None) -> None:
        self.session, self.folder = session, Folder(root)
        self.jobs = Jobs(self.folder.home / "jobs", self.folder.root)
        self.reader = Reader(self.folder)
        self.ledger_path = ledger
        self._file, self._lock = self.folder.home / "desk.json", Lock()
        self._charging = Lock()

    def lying(self) -> Lying:
        """What lies there now; a file that cannot be read is an empty desk."""
        try:
            record: Mapping[str, Any] = json.loads(self._file.read_bytes())
            name, settings = record["name"], from_record(record["settings"])
        except (OSError, ValueError, KeyError, TypeError):
            return Lying(None, Settings())
        return Lying(name if isinstance(name, str) else None, settings)

    def lay(self, name: str | None = None, settings: Settings | None = None) -> None:
        """Lay something else there."""
        with self._lock:
            now = self.lying()
            kept = Lying(name or now.name, settings or now.settings)
            record = {"name": kept.name, "settings": kept.settings.record()}
            write_whole(self._file, json.dumps(record), 0o600)

    def opened(self) -> Opened:
        """The network, or a sentence."""
        name = self.lying().name
        if name is None:
            raise GridVeilError(NOTHING_OPEN)
        return self.reader.read(name)

    def ledger(self) -> Ledger | None:
        """The ledger if there is one: to look into it makes none."""
        where = self.ledger_path or default_path()
        return Ledger.read(where) if Ledger.exists(where) else None

    @contextmanager
    def charging(self) -> Iterator[None]:
        """Held from the last look at the ledger to the start of a release: of two confirmations at one instant, the
        second would else be charged on top of what its page said. Another server in this folder waits, too."""
        with self._charging, (self.folder.home / "charging").open("ab") as stream:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)  # until the file is closed
            yield

    @property
    def ledger_options(self) -> list[str]:
        return [] if self.ledger_path is None else ["--ledger", str(self.ledger_path.absolute())]
