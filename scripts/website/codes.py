"""The exit codes, with the sentences that the command line has for them."""

from __future__ import annotations

from gridveil.cli.exits import EXITS
from website.tables import cell, table


def markdown() -> str:
    """The table."""
    rows = [
        (f"**{code.value}**", cell(means.words), cell(means.sentence), cell(means.advice))
        for code, means in EXITS.items()
    ]
    return table(("code", "in short", "meaning", "what to do"), rows) + "\n"
