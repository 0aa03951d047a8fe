"""The ledger: what has been spent on which asset, on disk before a random bit is drawn, true after any crash.

Adjacent networks differ in one asset (a corridor, a load, a plant), so accounts are those of assets, one for each group
of an asset's numbers: a release charges every asset of its network that it protects, by one entry with an α for each
group, and what a network has spent is the largest account of it. A new bus, a part of a network, or a border that two
networks share count rightly by that. An asset is known by a keyed name of its public identity.

Entries, in a chain (`privacy/chain.py`): `network` (its assets, as changes to one that is known), `charge`, `limit`,
`draw` (the noisy values, which are private already), `outcome` (released, or failed and why), `lost` (what entries came
to that a backup lacked). What they mean together is `privacy/history.py`'s business.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from gridveil.errors import BudgetExceeded, LedgerError
from gridveil.files import require_room
from gridveil.privacy.chain import Chain, Entry, Unanchored
from gridveil.privacy.composition import Accounts, Assets, Charge, Within
from gridveil.privacy.database import LOG, there
from gridveil.privacy.history import History, left_over
from gridveil.privacy.keyfile import KeyFile, key_bytes
from gridveil.privacy.limit import DEFAULT_LIMIT, LARGEST_LIMIT
from gridveil.privacy.place import modeless, real, refuse_dangling, shared
from gridveil.privacy.refusal import refusal

ROOM = 16 * 2**20
"""Bytes that must be free beside the database: one draw of the largest network takes 5 MB."""


@dataclass(frozen=True)
class Receipt:
    """A charge that is on disk: its entry, the chain's head there, and what the network has spent with it.

    `cumulative` is for changes up to what `within` says of every mechanism that was ever charged; `earlier` has
    every charge before it.
    """

    entry: int
    head: str
    loss: float
    cumulative: float
    within: tuple[Within, ...]
    limit: float | None
    earlier: tuple[Entry, ...] = ()


class Charged(LedgerError):
    """A charge is on disk, but the ledger could not be left as it must be: nothing is drawn."""

    def __init__(self, message: str, receipt: Receipt) -> None:
        self.receipt = receipt
        super().__init__(message)


class Ledger:
    """An open ledger of the privacy spent; processes may share its file. Open one with `Ledger.open` or `Ledger.init`.

    Args:
        path: Of the database.
        key: That seals its entries.

    Examples:
        >>> from tempfile import mkdtemp
        >>> ledger = gv.Ledger.init(mkdtemp() + "/grid.ledger")
        >>> [entry.kind for entry in ledger.entries()]
        ['limit']
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._chain = Chain(path, key)

    def __repr__(self) -> str:
        return f"Ledger({self.path.name})"

    @property
    def start(self) -> str:
        """What tells the ledgers of one key from all others, and nothing of the key."""
        return self._chain.start

    @staticmethod
    def open(path: Path | str | None = None) -> Ledger:
        """Open a ledger to spend; where there is neither a database nor a key, make both (`init`)."""
        given = default_path() if path is None else Path(path)
        where = real(given)
        if Ledger.exists(where):
            ledger = Ledger._open(where)
        else:
            refuse_dangling(given)
            ledger = Ledger._make(where, DEFAULT_LIMIT, None)
        if (files := " ".join(map(str, ledger.shared_files()))) and not ledger.unguarded:
            raise LedgerError(f"others may read or write {files}; make it yours alone with: chmod 600 {files}")
        return ledger

    @staticmethod
    def read(path: Path | str, *, anchored: bool = True) -> Ledger:
        """Open a ledger that is there to look into it; it may be a backup, or one that cannot be written.

        To copy it, it need not be `anchored`: a ledger whose anchor is out of reach can still be backed up.
        """
        return Ledger._open(real(Path(path)), to_write=False, anchored=anchored)

    @staticmethod
    def exists(path: Path) -> bool:
        """Is there anything of a ledger? Half of one is refused when it is opened, not begun anew."""
        return there(path) or there(KeyFile.beside(path))

    @staticmethod
    def init(path: Path | str, limit: float | None = DEFAULT_LIMIT, anchor: Path | None = None) -> Ledger:
        """Make a ledger: key and database are born together. `limit` is what any asset may spend, `None` for no limit.

        With `anchor`, what guards against older copies stands in another file, on another disk at best.
        """
        path = real(Path(path))
        if Ledger.exists(path):
            raise LedgerError(f"{path} exists, or its key does; it is not made anew")
        _limit(0.0 if limit is None else limit)
        if anchor is not None:
            refuse_anchor(path, anchor)
        return Ledger._make(path, limit, anchor)

    @staticmethod
    def _make(path: Path, limit: float | None, anchor: Path | None) -> Ledger:
        """Where several processes meet here, the key of the first counts, with its limit."""
        with _opening(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            KeyFile.create(KeyFile.beside(path), limit, anchor)
        return Ledger._open(path)

    @staticmethod
    def _open(path: Path, *, to_write: bool = True, anchored: bool = True) -> Ledger:
        key = KeyFile.beside(path)
        if not there(key):
            raise LedgerError(
                f"{path} has no key ({key} is missing); put the key file back, or make it from that of a backup with "
                "'gridveil ledger restore', which keeps what the ledger has"
            )
        with _opening(path):
            if len(key_bytes(key)) == 64:
                raise LedgerError(
                    f"{path} is a ledger of an earlier version, which counted networks, not their lines; take it over "
                    f"with 'gridveil ledger migrate {path} CASE... --ledger NEW'"
                )
            ledger = Ledger(path, KeyFile.alone(key).key)
            if to_write:
                ledger._chain.prepare()
            elif anchored:
                ledger._chain.require()
        return ledger

    def assets(
        self, name: str, identities: Iterable[str], groups: Iterable[tuple[str, ...]] = (), way: str = ""
    ) -> Assets:
        """The ledger's view of a network whose assets have these public identities, each with its `groups` of numbers;
        without them every charge counts for an asset, at its least α. `way` is that of its coordinates."""
        return Assets(name, tuple(self._chain.keyed("asset", one) for one in identities), tuple(groups), way)

    def charge(
        self,
        network: Assets,
        charge: Charge,
        details: dict[str, Any] | None = None,
        then: Sequence[Charge] = (),
        *,
        binding: bool = True,
        related: Assets | None = None,
    ) -> Receipt:
        """Write a charge and return when it is on disk; refuse it if an asset would exceed its limit.

        `then` are charges that may follow it: it is refused if there is no room for them too. What was spent long ago
        is taken over whatever the limits say: they are not `binding` then. The receipt lists earlier charges of
        `related` assets, unless there are none but the network's.
        """
        if not all(
            isfinite(value) and value > 0
            for value in (charge.loss, charge.alpha, *charge.groups.values(), *charge.otherwise.values())
        ):
            raise LedgerError(f"a loss of {charge.loss} at α = {charge.alpha} cannot be charged; both must be positive")
        if charge.groups and charge.alpha != min(charge.groups.values()):
            raise LedgerError(f"α = {charge.alpha} is not the least α of the groups of a charge; nothing was charged")
        receipt = None
        try:
            with self._chain.appending() as (connection, entries):
                history = History(entries)
                with_this, most = history.accounts(network, [charge]), history.accounts(network, [charge, *then])
                if binding and most.exceeded:
                    raise BudgetExceeded(refusal(history.accounts(network), most))
                known = history.known(network) or self._meet(connection, history, network)
                said = {**charge._asdict(), "groups": dict(charge.groups), "otherwise": dict(charge.otherwise)}
                body = {**(details or {}), **said, "network": known}
                entry = self._chain.append(connection, "charge", body)
                receipt = Receipt(
                    entry.number, entry.hash, charge.loss, with_this.largest, with_this.within, with_this.largest_limit,
                    history.earlier(related or network),
                )  # fmt: skip
        except Unanchored as failure:
            if receipt is None:
                raise
            raise Charged(str(failure), receipt) from failure
        return receipt

    def _meet(self, connection: Any, history: History, network: Assets) -> int:
        """Write down a network that is not known, as changes to the known one that has most in common with it."""
        new = set(network.keys)
        shared = {number: len(new.intersection(one.keys)) for number, one in history.networks.items()}
        base = max(shared, key=lambda number: (shared[number], number), default=None)
        if base is not None and 2 * shared[base] < len(new):
            base = None
        old = list(history.networks[base].keys) if base is not None else []
        removed, added = left_over(old, network.keys), left_over(network.keys, old)
        details = {"name": network.name, "base": base, "added": added, "removed": removed}
        return self._chain.append(connection, "network", details).number

    def require_room(self) -> None:
        """Refuse to spend where what is drawn could not be kept, or the anchor not be moved to the charge."""
        try:
            require_room(self.path.absolute().parent, ROOM)
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror}; nothing was charged, make room first") from error
        try:
            self._chain.anchor_again()
        except OSError as error:
            raise LedgerError(
                f"the anchor of {self.path} cannot be written ({error.strerror or error}); nothing was charged. See "
                f"that {self.anchor_file} and its directory can be written"
            ) from error

    @property
    def anchor_file(self) -> Path:
        """Where the anchor stands."""
        key = KeyFile.alone(KeyFile.beside(self.path))
        return key.anchor_path or key.path

    def shared_files(self) -> list[Path]:
        """Files of the ledger that others than their owner may read or write."""
        data = Path(os.path.realpath(self.path))
        files = (self.path, data.with_name(data.name + LOG), KeyFile.beside(self.path))
        return shared([file for file in files if file.exists()])

    @property
    def unguarded(self) -> bool:
        """Do others get at its files because the file system has no modes that could keep them from it?"""
        return bool(self.shared_files()) and modeless(self.path.absolute().parent)

    @property
    def is_backup(self) -> bool:
        """A backup can be looked into, not spent from."""
        return KeyFile.alone(KeyFile.beside(self.path)).backup

    def accounts(self, network: Assets, more: Iterable[Charge] = ()) -> Accounts:
        """What each asset of a network has spent, or would have with more charges; nothing is written."""
        return self.history().accounts(network, more)

    def set_limit(self, network: Assets | None, limit: float) -> None:
        """Set the most that assets of a network, or all, may ever spend; a limit is an entry like any other."""
        _limit(limit)
        with self._chain.appending() as (connection, entries):
            history, known = History(entries), None
            if network is not None:
                known = history.known(network) or self._meet(connection, history, network)
            self._chain.append(connection, "limit", {"network": known, "limit": limit})

    def record_draw(self, charge: int, paper: bytes) -> None:
        """Keep what was drawn for a charge, for an audit: noisy values, which are private already."""
        with self._chain.appending() as (connection, _):
            self._chain.append(connection, "draw", {"charge": charge}, paper)

    def record_outcome(self, charge: int, outcome: str, reason: str | None = None) -> None:
        """Keep how the release of a charge ended."""
        with self._chain.appending() as (connection, _):
            self._chain.append(connection, "outcome", {"charge": charge, "outcome": outcome, "reason": reason})

    def paper(self, entry: Entry) -> bytes:
        """What was drawn, by its entry."""
        return self._chain.paper(entry)

    def history(self) -> History:
        """Every entry, checked against the chain, and what they mean."""
        return History(self._chain.entries())

    def entries(self) -> list[Entry]:
        """Every entry, checked against the chain."""
        return self._chain.entries()

    def verify(self) -> list[Entry]:
        """Every entry, and what was kept of draws, checked against the chain."""
        return self._chain.verify()


def default_path() -> Path:
    """Where the ledger is kept if nobody says otherwise."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home())
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:  # an empty or relative variable counts as none, as its specification says
        given = Path(os.environ.get("XDG_DATA_HOME", ""))
        base = given if given.is_absolute() else Path.home() / ".local" / "share"
    return base / "gridveil" / "ledger.db"


def refuse_anchor(path: Path, anchor: Path) -> None:
    """An anchor is that of one ledger, and a file that nothing else stands in."""
    if anchor.exists() or Path(os.path.realpath(anchor)) in (path, KeyFile.beside(path)):
        raise LedgerError(f"{anchor} exists, or is the ledger's own file; give another one for the anchor")
    if not anchor.absolute().parent.is_dir():
        raise LedgerError(f"there is no directory for the anchor {anchor}; make it first")


def _limit(limit: float) -> None:
    if not 0 <= limit <= LARGEST_LIMIT:
        raise LedgerError(f"a limit is a number from 0 to {LARGEST_LIMIT:g}")


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Failures of the file system while a ledger is opened, as sentences."""
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be opened ({error}); check the path and its permissions"
        ) from error
