"""`gridveil workbench [CASE]`: choose, release and check in a browser, on this machine alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli.options import LedgerOption
from gridveil.cli.output import reporting, say


def workbench(
    case: Annotated[
        str | None,
        typer.Argument(metavar="[CASE]", help="What to open: a file in this folder, or a shipped case's name."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
    ledger: LedgerOption = None,
) -> None:
    """Serve the workbench for the folder you stand in, to the browser of this machine. Ctrl-C ends it, and no job.

    The address that it prints has a key in it: whoever has it can release your network. Needs gridveil\\[workbench].
    """
    with reporting(False):
        from gridveil.libraries import needed

        for library in ("starlette", "uvicorn", "jinja2"):
            needed(library, "workbench")
        from gridveil.web.serve import serve

        serve(Path.cwd(), port=port, ledger=ledger, case=case, browse=not no_browser, say=_print)


def _print(address: str) -> None:
    typer.echo(address)
    say("Open this address in a browser of this machine; keep it to yourself. Ctrl-C ends the server, and no job.")
