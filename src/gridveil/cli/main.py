"""The entry point: what all commands have in common."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gridveil import __version__
from gridveil.cli.exits import EXIT_HELP
from gridveil.cli.process import one_thread, open_streams
from gridveil.cli.usage import Commands
from gridveil.process.cores import no_core_files
from gridveil.regular import DEFAULT_MB, MAX_SIZE
from gridveil.requests import heed

open_streams()
app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=EXIT_HELP,
)


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
    """Run the command line. Requests to end are sentences too, and change nothing once a release is made; and no crash
    of any command leaves a network on disk."""
    no_core_files()
    one_thread()
    app(obj=heed())


if __name__ == "__main__":
    main()
