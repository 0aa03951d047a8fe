"""The error tree. Every error a user can cause is a sentence that says what, where, and what to do."""

from __future__ import annotations

from pathlib import Path


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
