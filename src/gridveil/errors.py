"""The error tree. Every error a user can cause is a sentence that says what, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb


class GridVeilError(Exception):
    """Root of everything this package raises on purpose."""


class CaseFileError(GridVeilError):
    """A case file cannot be read as a network.

    Carries the file, the 1-based line where it is known, what is wrong and what to do about it.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str, advice: str) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        self.advice = advice
        where = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}; {advice}.")


class GridError(GridVeilError):
    """Arrays that do not form a network, or that do not fit the network they are used with."""


class SolveError(GridVeilError):
    """A solver could not be run, or a solution was required and there is none.

    An infeasible problem is data (`Solution.status`); it becomes this error only when someone calls
    `Solution.require()`.
    """

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        super().__init__(message)


class PrivacyError(GridVeilError):
    """Something about privacy is not as it must be; nothing was drawn."""


class BudgetExceeded(PrivacyError):
    """The release would spend more than the network's limit allows."""


class LedgerError(PrivacyError):
    """The ledger cannot be used: missing, foreign, tampered with or locked."""


class WallBreach(PrivacyError):
    """Something secret was about to cross the wall."""


class ReleaseError(GridVeilError):
    """A release was not made."""


class OtherFormat(ReleaseError):
    """A bundle of a format that this version does not read."""


class RepairFailed(ReleaseError):
    """No network within the bounds was found that is feasible and faithful; `costs` are those of the best there was."""

    def __init__(self, message: str, costs: tuple[float, ...] | None = None) -> None:
        self.costs = costs
        super().__init__(message)


class OutOfEffort(RepairFailed):
    """A repair was given up at its limit; other aims would cost as much again."""


class CertificateFailed(ReleaseError):
    """The written network does not pass its own checks; it is not released."""

    def __init__(self, message: str, checks: tuple[str, ...]) -> None:
        self.checks = checks
        super().__init__(message)


class Spent(ReleaseError):
    """A release failed after its charge: which entries of the ledger, what loss, and why in a word."""

    def __init__(self, message: str, entries: tuple[int, ...], loss: float, reason: str) -> None:
        self.entries = entries
        self.loss = loss
        self.reason = reason
        super().__init__(message)


class AttackError(GridVeilError):
    """An attack that makes no sense: its budget, its attacker, or the network it is planned on."""


class ReportError(GridVeilError):
    """A picture cannot be made."""


class StudyError(GridVeilError):
    """A study cannot be run or read as asked; results that exist are never overwritten or mixed."""


def unforeseen(error: BaseException) -> str:
    """What failed and where; words that nobody foresaw may quote what is protected, those of the system do not."""
    if isinstance(error, OSError | ImportError) or error.__traceback__ is None:
        return f"{type(error).__name__}: {error}"
    place = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
