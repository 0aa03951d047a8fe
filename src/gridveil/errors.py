"""The error tree. Every error a user can cause is a sentence that says what, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb


class GridVeilError(Exception):
    """Root of everything this package raises on purpose: a sentence that says what, where, and what to do.

    Examples:
        >>> try:
        ...     gv.load("nowhere.m")
        ... except gv.GridVeilError as error:
        ...     print(type(error).__name__)
        CaseFileError
    """


class CaseFileError(GridVeilError):
    """A case file cannot be read as a network.

    Attributes:
        path: The file.
        line: The line, counted from 1, where it is known.
        problem: What is wrong.
        advice: What to do about it.

    Examples:
        >>> try:
        ...     gv.load("nowhere.m")
        ... except gv.CaseFileError as error:
        ...     print(error.path.name, error.line)
        nowhere.m None
    """

    def __init__(self, path: Path | str, line: int | None, problem: str, advice: str) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        self.advice = advice
        where = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}; {advice}.")


class GridError(GridVeilError):
    """Arrays that do not form a network, or that do not fit the network they are used with.

    Examples:
        >>> gv.make_profile("case14_ieee", 0)
        Traceback (most recent call last):
        gridveil.errors.GridError: a profile of 0 steps is empty; choose 1 or more
    """


class SolveError(GridVeilError):
    """A solver could not be run, or a solution was required and there is none.

    An infeasible problem is data (`Solution.status`); it becomes this error only when someone calls
    `Solution.require()`.

    Attributes:
        status: How the solve ended, or what is wrong with the options.

    Examples:
        >>> gv.SolverOptions(tolerance=2)
        Traceback (most recent call last):
        gridveil.errors.SolveError: the tolerance must lie between 0 and 1
    """

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        super().__init__(message)


class PrivacyError(GridVeilError):
    """Something about privacy is not as it must be; nothing was drawn.

    Examples:
        >>> gv.Plan(epsilon=-1, alpha="10%", beta="1%")
        Traceback (most recent call last):
        gridveil.errors.PrivacyError: epsilon must be a positive, finite number
    """


class BudgetExceeded(PrivacyError):
    """The release would spend more than the network's limit allows."""


class LedgerError(PrivacyError):
    """The ledger cannot be used: missing, foreign, tampered with or locked."""


class WallBreach(PrivacyError):
    """Something secret was about to cross the wall."""


class ReleaseError(GridVeilError):
    """A release was not made, or a bundle cannot be read.

    Examples:
        >>> gv.Plan(epsilon=1, alpha="10%", beta=2)
        Traceback (most recent call last):
        gridveil.errors.ReleaseError: beta = 2 would allow any cost; give a share below 1, such as 0.01 for 1 %
    """


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
    """A release failed after its charge.

    Attributes:
        entries: Of the ledger.
        loss: What is spent, though there is no release.
        reason: Why, in a word.

    Examples:
        >>> error = gv.Spent("the disk is full", entries=(7,), loss=0.8, reason="writing")
        >>> error.loss, isinstance(error, gv.ReleaseError)
        (0.8, True)
    """

    def __init__(self, message: str, entries: tuple[int, ...], loss: float, reason: str) -> None:
        self.entries = entries
        self.loss = loss
        self.reason = reason
        super().__init__(message)


class AttackError(GridVeilError):
    """An attack that makes no sense: its budget, its attacker, or the network it is planned on.

    Examples:
        >>> gv.attack("case14_ieee", attacker="released", count=1)
        Traceback (most recent call last):
        gridveil.errors.AttackError: the attacker 'released' has nothing to look at; give a released network
    """


class ReportError(GridVeilError):
    """A picture cannot be made."""


class StudyError(GridVeilError):
    """A study cannot be run or read as asked; results that exist are never overwritten or mixed.

    Examples:
        >>> gv.release_many(gv.seal("case14_ieee"), gv.Plan(1, 0.1, 0.01), workers=0)
        Traceback (most recent call last):
        gridveil.errors.StudyError: 0 workers cannot do anything; give 1 or more
    """


def unforeseen(error: BaseException) -> str:
    """What failed and where; words that nobody foresaw may quote what is protected, those of the system do not."""
    if isinstance(error, OSError | ImportError) or error.__traceback__ is None:
        return f"{type(error).__name__}: {error}"
    place = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
