"""The entry point: collects the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from gridveil import __version__
from gridveil.cli.attack import attack
from gridveil.cli.cases import cases
from gridveil.cli.doctor import doctor
from gridveil.cli.exposure import exposure
from gridveil.cli.gap import gap
from gridveil.cli.info import info
from gridveil.cli.leakcheck import leakcheck
from gridveil.cli.ledger import app as ledger
from gridveil.cli.opf import opf
from gridveil.cli.output import EXIT_HELP
from gridveil.cli.profile import profile
from gridveil.cli.release import release
from gridveil.cli.report import figure, report
from gridveil.cli.study import study
from gridveil.cli.verify import verify
from gridveil.publish.spending import heed

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=EXIT_HELP,
)
for command in (
    opf, gap, info, cases, profile, release, verify, leakcheck, exposure, attack, study, report, figure, doctor,
):  # fmt: skip
    app.command(epilog=EXIT_HELP)(command)
app.add_typer(ledger, name="ledger")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gridveil {__version__}")
        raise typer.Exit


@app.callback()
def gridveil(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish a power network for research without giving away its lines."""


def main() -> None:
    """Run the command line. Requests to end are sentences too, and change nothing once a release is made."""
    app(obj=heed())


if __name__ == "__main__":
    main()
