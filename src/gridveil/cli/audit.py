"""`gridveil audit DIR --ledger F --original CASE`: did this release come from this original, as charged? INTERNAL."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.exits import Exit
from gridveil.cli.options import JsonOption, LedgerOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.errors import LedgerError
from gridveil.internal import INTERNAL

LIMITS = (
    "It does not show that nothing was drawn outside this ledger, that the noise was not chosen among several or "
    "foretold by somebody, that whoever keeps the ledger's key did not write it anew, that an identity map is true, or "
    "that the original is the true network."
)


def audit(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A release: its directory or .zip.")],
    original: Annotated[str, typer.Option("--original", metavar="CASE", help="The network it was made from.")],
    ledger: LedgerOption = None,
    same_as: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The identity map that the release was made with.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """For an auditor whom the operator admits: the draw in the ledger came from CASE and made BUNDLE."""
    with reporting(as_json):
        from gridveil.casefile.labels import labels
        from gridveil.casefile.to_network import to_network
        from gridveil.check.audit import audit as audited
        from gridveil.formats.find import read_case
        from gridveil.grid import structure_of
        from gridveil.privacy.ledger import Ledger, default_path
        from gridveil.publish.same_as import read_same_as
        from gridveil.report.public import page_again

        where = ledger or default_path()
        if not Ledger.exists(where):
            raise LedgerError(f"there is no ledger at {where}; name it with --ledger")
        case = read_case(original)
        known = (
            None
            if same_as is None
            else read_same_as(same_as, structure_of(to_network(case).grid), labels(case, live=True).bus_name)
        )
        found = audited(bundle, Ledger.read(where), case, known, page_again)
        passed = all(one.passed for one in found)
        if as_json:
            status = "audited" if passed else "failed"
            print_json({"status": status, "findings": [asdict(one) for one in found], "not_shown": LIMITS})
        else:
            out.print(f"[bold]{INTERNAL}[/]")
            table = Table("", "question", "answer", title=f"audit of {escape(str(bundle))}", title_justify="left")
            for one in found:
                table.add_row("[green]✓[/]" if one.passed else "[red]✗[/]", one.question, escape(one.answer))
            out.print(table)
            out.print(f"[dim]{LIMITS}[/]")
    if not passed:
        raise typer.Exit(int(Exit.CHECK_FAILED))
