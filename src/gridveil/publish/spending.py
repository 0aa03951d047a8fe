"""Spending is a transaction: what is charged is said, whatever happens then, and the ledger keeps how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from gridveil.errors import CertificateFailed, GridVeilError, LedgerError, RepairFailed, Spent, unforeseen
from gridveil.privacy.composition import Assets, Charge
from gridveil.privacy.ledger import Charged, Ledger, Receipt
from gridveil.requests import Ended, deferring, heeding

RELEASED, FAILED = "released", "failed"
NOT_REPAIRED, NOT_CERTIFIED = "not repaired", "not certified"
"""Why a release failed where noisy values alone decided it."""


@dataclass(eq=False)
class Purse:
    """Pays for draws: nothing is drawn that is not charged on disk. Earlier releases are those of `related` assets.
    Seeded noise protects nothing and costs nothing."""

    ledger: Ledger | None
    network: Assets
    related: Assets | None = None
    receipts: list[Receipt] = field(default_factory=list)

    def pay(self, charge: Charge, details: dict[str, Any] | None = None, then: Sequence[Charge] = ()) -> None:
        """Charge, or refuse before anything is drawn."""
        if self.ledger is None:
            return
        with deferring():  # between the disk and the receipt nothing may come
            try:
                self.receipts.append(self.ledger.charge(self.network, charge, details, then, related=self.related))
            except Charged as failure:
                self.receipts.append(failure.receipt)
                raise

    def keep(self, paper: bytes) -> None:
        """Have the ledger keep what was drawn for the last charge."""
        if self.ledger is not None:
            self.ledger.record_draw(self.receipts[-1].entry, paper)

    @property
    def spent(self) -> float:
        return sum(one.loss for one in self.receipts)


@contextmanager
def spending(purse: Purse) -> Iterator[Purse]:
    """From the charge to the finished release: whatever fails in between, whoever spends is told, with the entry.

    Failures before the first charge pass as they are, and so do those of seeded noise, which costs nothing.
    """
    with heeding() as settle:
        try:
            try:
                yield purse
            finally:
                settle()  # one that comes before is told below, one that comes later changes nothing
        except BaseException as failure:
            if not purse.receipts:
                raise
            _keep_outcome(purse, FAILED, kind_of(failure))
            raise told(purse, failure) from failure
        _keep_outcome(purse, RELEASED, None)


def told(purse: Purse, failure: BaseException) -> Spent:
    """A failure with what it cost."""
    entries = [one.entry for one in purse.receipts]
    many = f"entries {entries[0]} and {entries[-1]}" if len(entries) > 1 else f"entry {entries[0]}"
    words = _words(failure)
    return Spent(
        f"{words}. The privacy of this draw is spent all the same: {many} of the ledger, loss {purse.spent:.6g}",
        tuple(entries),
        purse.spent,
        kind_of(failure),
    )


def kind_of(failure: BaseException) -> str:
    """Why a release failed, in a word. It is decided by noisy and public data, or by the machine."""
    if isinstance(failure, KeyboardInterrupt | Ended):
        return "interrupted"
    if isinstance(failure, RepairFailed | CertificateFailed):
        return NOT_REPAIRED if isinstance(failure, RepairFailed) else NOT_CERTIFIED
    if isinstance(failure, MemoryError):
        return "out of memory"
    if isinstance(failure, OSError | LedgerError) or isinstance(failure.__cause__, OSError):
        return "could not be written"
    return "not released" if isinstance(failure, GridVeilError) else "internal failure"


def _words(failure: BaseException) -> str:
    if isinstance(failure, GridVeilError):
        return str(failure)
    if isinstance(failure, OSError):
        return f"the release could not be written ({failure.strerror or failure})"
    named = kind_of(failure)
    if named != "internal failure":
        return f"the release was {named}" if named == "interrupted" else f"the release ran {named}"
    return f"internal failure, {unforeseen(failure)}; set GRIDVEIL_DEBUG=1 for details and report it"


def _keep_outcome(purse: Purse, outcome: str, reason: str | None) -> None:
    """An outcome that cannot be written changes nothing of it."""
    with suppress(Exception):
        if purse.ledger is not None and purse.receipts:
            purse.ledger.record_outcome(purse.receipts[0].entry, outcome, reason)
