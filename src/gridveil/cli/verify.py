"""`gridveil verify DIR`: what anybody can check of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.api import load
from gridveil.check.steps import StepComparison, compare_steps
from gridveil.check.verify import verify as verify_bundle
from gridveil.cli.opf import JsonOption
from gridveil.cli.output import INTERNAL, Exit, out, print_json, reporting
from gridveil.cli.release_table import check_rows, print_unused
from gridveil.wall.certificate import stored
from gridveil.wall.codec import to_plain


def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a release.")],
    against: Annotated[
        str | None,
        typer.Option(metavar="CASE", help="For the operator: compare every step with the original, too. INTERNAL."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release without the secret: digests, schema, and the certificate recomputed. Exit 0 only if all holds."""
    with reporting(as_json):
        certificate = verify_bundle(directory)
        internal = compare_steps(load(against), directory) if against is not None and certificate.passed else ()
        if as_json:
            record = {"status": "verified" if certificate.passed else "rejected", **to_plain(stored(certificate))}
            print_json(record | ({"stamp": INTERNAL, "steps": [asdict(one) for one in internal]} if internal else {}))
        else:
            out.print(check_rows(certificate.checks))
            print_unused(certificate)
            if internal:
                _print_steps(internal)
            elif against is not None:
                out.print("[dim]not compared with the original: the release is not verified[/]")
            verdict = "[green]every claim holds[/]" if certificate.passed else "[bold red]NOT verified[/]"
            out.print(f"{escape(str(directory))}: {verdict}")
    raise SystemExit(int(Exit.OK if certificate.passed else Exit.CHECK_FAILED))


def _print_steps(steps: Sequence[StepComparison]) -> None:
    table = Table(
        "step", "", "cost of the original", "cost of the release", "", title=INTERNAL, title_style="bold red",
        title_justify="left",
    )  # fmt: skip
    for one in steps:
        away = f"{one.away:+.2%}" if one.away is not None else one.status
        released = f"{one.released_cost:,.2f}" if one.away is not None else "–"
        table.add_row(str(one.step), "promised" if one.used else "", f"{one.true_cost:,.2f}", released, away)
    out.print(table)
