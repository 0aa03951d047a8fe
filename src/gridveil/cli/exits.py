"""The exit codes of the command line, and what `--help` says of them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    INTERNAL = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NOT_SOLVED = 4
    CHECK_FAILED = 5
    SPENT = 6
    NOT_PRIVATE = 7
    OTHER_FORMAT = 8


EXIT_HELP = (
    "Exit codes: 0 done; 1 internal failure; 2 bad input or usage; 3 infeasible; 4 not solved or not repaired; "
    "5 a check failed; 6 no release, but its privacy is spent; 7 research, not private; 8 a bundle of a format that "
    "this version does not read."
)
