"""The entry point: collects the commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gridveil import __version__
from gridveil.cli.attack import attack
from gridveil.cli.audit import audit
from gridveil.cli.cases import cases
from gridveil.cli.doctor import doctor
from gridveil.cli.exposure import exposure
from gridveil.cli.gap import gap
from gridveil.cli.info import info
from gridveil.cli.key import app as key
from gridveil.cli.leakcheck import leakcheck
from gridveil.cli.ledger import app as ledger
from gridveil.cli.opf import opf
from gridveil.cli.output import EXIT_HELP
from gridveil.cli.profile import profile
from gridveil.cli.release import release
from gridveil.cli.report import figure, report
from gridveil.cli.study import study
from gridveil.cli.usage import Commands
from gridveil.cli.verify import verify
from gridveil.regular import DEFAULT_MB, MAX_SIZE
from gridveil.requests import heed

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=EXIT_HELP,
)
for command in (
    opf, gap, info, cases, profile, release, verify, leakcheck, exposure, audit, attack, study, report, figure, doctor,
):  # fmt: skip
    app.command(epilog=EXIT_HELP)(command)
app.add_typer(ledger, name="ledger")
app.add_typer(key, name="key")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gridveil {__version__}")
        raise typer.Exit


@app.callback()
def gridveil(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    max_size: Annotated[
        float | None,
        typer.Option(metavar="MB", min=0.001, envvar=MAX_SIZE, help=f"Largest input file; else {DEFAULT_MB}."),
    ] = None,
) -> None:
    """Publish a power network for research without giving away its lines."""
    if max_size is not None:
        before = os.environ.get(MAX_SIZE)
        os.environ[MAX_SIZE] = f"{max_size:g}"  # which reaches every reader, and the processes of a study
        context.call_on_close(lambda: _set(MAX_SIZE, before))


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def main() -> None:
    """Run the command line. Requests to end are sentences too, and change nothing once a release is made."""
    app(obj=heed())


if __name__ == "__main__":
    main()
