"""The exit codes of the command line as one table: `--help` and the documentation are made from it. They are stable: a
code never changes what it means."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


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


class Meaning(NamedTuple):
    """What a code says: in a few words for `--help`, in a sentence for the documentation, and what to do."""

    words: str
    sentence: str
    advice: str


EXITS: dict[Exit, Meaning] = {
    Exit.OK: Meaning("done", "The command did what it was asked for.", "Nothing is left to do."),
    Exit.INTERNAL: Meaning(
        "internal failure",
        "Something failed that is not the user's doing: a fault of the program, no memory, or no solver to be found.",
        "Run `gridveil doctor`; set GRIDVEIL_DEBUG=1 for details, and report it.",
    ),
    Exit.BAD_INPUT: Meaning(
        "bad input or usage",
        "An option, a file or a network cannot be used as it is; if it was a release, nothing was charged.",
        "The message says where, and what to change.",
    ),
    Exit.INFEASIBLE: Meaning(
        "infeasible",
        "The network has no operating point that keeps all its limits.",
        "Check limits, ratings and loads of the case.",
    ),
    Exit.NOT_SOLVED: Meaning(
        "not solved or not repaired",
        "The solver ended without an optimum, or no network was found that keeps the promises, or every task failed.",
        "Allow more iterations or effort, a larger beta, or a smaller alpha.",
    ),
    Exit.CHECK_FAILED: Meaning(
        "a check failed",
        "What was checked does not hold: a bundle is not what it says, or attackers know more than they should.",
        "The output names the check.",
    ),
    Exit.SPENT: Meaning(
        "no release, but its privacy is spent",
        "A release failed after its charge: the ledger keeps the loss, and there is no bundle.",
        "The message says why and how much; trying again is a new charge.",
    ),
    Exit.NOT_PRIVATE: Meaning(
        "research, not private",
        "The bundle verifies, but its noise came from a seed: it protects nothing.",
        "Do not publish it as a private release.",
    ),
    Exit.OTHER_FORMAT: Meaning(
        "a bundle of a format that this version does not read",
        "The bundle was written by another version of GridVeil.",
        "Verify it with the version that its manifest names.",
    ),
}

EXIT_HELP = f"Exit codes: {'; '.join(f'{int(code)} {meaning.words}' for code, meaning in EXITS.items())}."
