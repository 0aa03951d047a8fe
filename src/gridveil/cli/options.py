"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def shipped(incomplete: str) -> list[str]:
    """Shipped cases that begin so, for the shell; where there is none, shells offer files."""
    from gridveil.cases import names

    return [name for name in names() if name.startswith(incomplete)] if incomplete else []


CaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="CASE", help="A case: .m, .mat, .raw, .rawx, .json, a PyPSA folder; or a shipped case's name.",
        autocompletion=shipped,
    ),
]  # fmt: skip
CostsOption = Annotated[
    Path | None,
    typer.Option("--costs", metavar="FILE", help="Generator costs that CASE lacks: a CSV, or a .m with gencost."),
]
LimitsOption = Annotated[
    Path | None,
    typer.Option("--limits", metavar="FILE", help="Limits of voltages and angles that CASE lacks: a CSV."),
]
MissingCostOption = Annotated[
    float | None,
    typer.Option("--missing-cost", metavar="C1", help="A price per MWh for units that no file gives a cost."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="The ledger; by default the user's.")
]
SameAsOption = Annotated[
    Path | None,
    typer.Option(
        "--same-as",
        metavar="FILE",
        help="CSV with bus, known_as: which buses of earlier releases the renumbered ones are; or the case of an "
        "earlier release, whose names of buses say it.",
    ),
]

WorkersOption = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Processes that solve the unused steps of a profile; one leaves the machine to others."
    ),
]
