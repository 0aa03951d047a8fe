"""`gridveil ledger show|verify|set-limit|export`: what has been spent."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gridveil.api import load
from gridveil.cli.opf import CaseArgument, JsonOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.cli.release import LedgerOption
from gridveil.errors import LedgerError
from gridveil.privacy.ledger import Ledger, default_path
from gridveil.publish.pipeline import shape

app = typer.Typer(no_args_is_help=True, help="Show, verify, limit and export the ledger of spent privacy.")


def _existing(path: Path | None) -> Ledger:
    where = path or default_path()
    if not where.exists():
        raise LedgerError(f"there is no ledger at {where}; a release makes one, or name another with --ledger")
    return Ledger.open(where)


@app.command()
def show(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Print every entry."""
    with reporting(as_json):
        book = _existing(ledger)
        entries = book.entries()
        if as_json:
            print_json({"ledger": str(book.path), "entries": [asdict(entry) for entry in entries]})
            return
        table = Table("entry", "time", "network", "kind", "loss", "details", title=str(book.path), title_justify="left")
        for entry in entries:
            details = ", ".join(f"{key} {value}" for key, value in entry.details.items())
            table.add_row(str(entry.number), entry.time, entry.network[:12], entry.kind, f"{entry.loss:.6g}", details)
        out.print(table)


@app.command()
def verify(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Check the chain of entries; a changed or missing one is named."""
    with reporting(as_json):
        count = len(_existing(ledger).entries())
        if as_json:
            print_json({"status": "intact", "entries": count})
        else:
            out.print(f"[green]intact[/]: {count} entries")


@app.command("set-limit")
def set_limit(
    case: CaseArgument,
    limit: Annotated[float, typer.Argument(help="The most this network may ever spend.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Limit what may be spent on CASE; releases beyond it are refused before anything is drawn."""
    with reporting(as_json):
        book = Ledger.open(ledger)
        network = book.fingerprint(shape(load(case).grid))
        book.set_limit(network, limit)
        spent, _ = book.spent(network)
        if as_json:
            print_json({"status": "set", "network": network, "limit": limit, "spent": spent})
        else:
            out.print(f"limit {limit:g} for network {network[:12]}, which has spent {spent:.6g} at the largest α")


@app.command()
def export(ledger: LedgerOption = None) -> None:
    """Print every entry as one JSON object, for an archive."""
    show(ledger, as_json=True)
