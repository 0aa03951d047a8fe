"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CaseArgument = Annotated[str, typer.Argument(metavar="CASE", help="A case file (.m), or the name of a shipped case.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="The ledger; by default the user's.")
]
SameAsOption = Annotated[
    Path | None,
    typer.Option(
        "--same-as",
        metavar="FILE",
        help="CSV with bus, known_as: which buses of earlier releases the renumbered ones are.",
    ),
]

WorkersOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Processes that solve the unused steps of a profile.")
]
