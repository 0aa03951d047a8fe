"""`gridveil ledger init|show|verify|set-limit|backup|restore|migrate|export`: what has been spent, and keeping it."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.options import CaseArgument, JsonOption, LedgerOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.errors import LedgerError
from gridveil.privacy.limit import DEFAULT_LIMIT

if TYPE_CHECKING:
    from gridveil.casefile import Case
    from gridveil.grid import PublicGrid
    from gridveil.privacy.composition import Assets
    from gridveil.privacy.ledger import History, Ledger

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Make, show, verify, limit, back up and restore the ledger.",
)
SHOWN = 10
"""Assets that `show CASE` lists."""


def _existing(path: Path | None) -> Ledger:
    from gridveil.privacy.ledger import Ledger, default_path

    where = path or default_path()
    if not Ledger.exists(where):
        raise LedgerError(f"there is no ledger at {where}; a release makes one, or name another with --ledger")
    return Ledger.open(where)


def _grid(case: str) -> tuple[Case, PublicGrid]:
    from gridveil.casefile.find import read_case
    from gridveil.casefile.to_network import to_network

    read = read_case(case)
    return read, to_network(read).grid


@app.command()
def init(
    ledger: LedgerOption = None,
    limit: Annotated[float, typer.Option(help="The most that any line may ever spend.")] = DEFAULT_LIMIT,
    anchor: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to keep what tells an older copy of the ledger from it; by default its key file.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a ledger and its key; both are readable by you alone."""
    with reporting(as_json):
        from gridveil.privacy.ledger import Ledger, default_path

        book = Ledger.init(ledger or default_path(), limit, anchor)
        if as_json:
            print_json({"status": "made", "ledger": str(book.path), "limit": limit})
        else:
            out.print(f"made {escape(str(book.path))}, with its key beside it; limit {limit:g} for every line")


@app.command()
def show(
    case: Annotated[str | None, typer.Argument(help="A case: its lines that have least left.")] = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what networks have spent and every entry, or of a CASE the lines that are nearest to their limit."""
    with reporting(as_json):
        book = _existing(ledger)
        if case is not None:
            _show_case(book, case, as_json)
            return
        history = book.history()
        if as_json:
            print_json({"ledger": str(book.path), "entries": [asdict(entry) for entry in history.entries]})
            return
        out.print(f"[bold]{escape(str(book.path))}[/]", soft_wrap=True)
        out.print(_networks(history))
        out.print(_entries(history))


def _networks(history: History) -> Table:
    """One row for every network by its latest form."""
    from gridveil.privacy.ledger import reach_words

    table = Table("network", "lines", "spent", "limit", "left", "counted up to")
    latest = {assets.name: assets for assets in history.networks.values()}
    for name, assets in latest.items():
        found = history.accounts(assets)
        limit = "none" if found.largest_limit is None else f"{found.largest_limit:.6g}"
        left = f"{found.left:.6g}" if isfinite(found.left) else ""
        table.add_row(
            escape(name or "(no name)"), str(len(found.keys)), f"{found.largest:.6g}", limit, left,
            reach_words(found.within),
        )  # fmt: skip
    return table


def _entries(history: History) -> Table:
    """Charges with their outcome, and limits; draws and outcomes have no rows of their own."""
    ends = {one.details["charge"]: one.details for one in history.of("outcome")}
    drawn = {one.details["charge"] for one in history.of("draw")}
    table = Table("entry", "time (UTC)", "network", "what")
    for entry in history.entries:
        said = entry.details
        named = history.networks.get(said.get("network") or 0)
        if entry.kind == "charge":
            what = f"{said['mechanism']}: loss {said['loss']:.6g} up to {said['alpha']:g} ({said['unit']})"
            end = ends.get(entry.number)
            if end is not None:
                what += f", {end['outcome']}" + (f" ({end['reason']})" if end["reason"] else "")
            elif entry.number in drawn and said["unit"] != "surcharge":
                what += ", no end is known"
        elif entry.kind == "limit":
            what = f"limit {said['limit']:.6g}"
        else:
            continue
        table.add_row(str(entry.number), entry.time[:19], escape(named.name if named else "all"), escape(what))
    return table


def _show_case(book: Ledger, case: str, as_json: bool) -> None:
    from gridveil.privacy.ledger import reach_words
    from gridveil.publish.elements import corridor_buses, identities

    read, grid = _grid(case)
    found = book.accounts(book.assets(read.name, identities(grid)))
    corridors = corridor_buses(grid)
    order = (found.limit - found.spent).argsort(kind="stable")[:SHOWN]
    rows = [(corridors[index], float(found.spent[index]), float(found.limit[index])) for index in order]
    if as_json:
        elements = [{"corridor": list(who), "spent": spent, "limit": limit} for who, spent, limit in rows]
        print_json(
            {"network": read.name, "spent": found.largest, "limit": found.largest_limit, "left": found.left,
             "counted_within": [one._asdict() for one in found.within], "nearest": elements}
        )  # fmt: skip
        return
    table = Table("corridor", "spent", "limit", "left", title=escape(read.name), title_justify="left")
    for (low, high), spent, limit in rows:
        table.add_row(f"{low}–{high}", f"{spent:.6g}", f"{limit:.6g}", f"{limit - spent:.6g}")
    out.print(table)
    known = f", counted for changes up to {reach_words(found.within)}" if found.within else ""
    out.print(f"{found.largest:.6g} spent on this network{known}")


@app.command()
def verify(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Check the chain of entries against the key and its anchor; a changed or missing one is named."""
    with reporting(as_json):
        count = len(_existing(ledger).entries())
        if as_json:
            print_json({"status": "intact", "entries": count})
        else:
            out.print(f"[green]intact[/]: {count} entries")


@app.command("set-limit")
def set_limit(
    case: CaseArgument,
    limit: Annotated[float, typer.Argument(help="The most that a line of this network may ever spend.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Limit what may be spent on each line of CASE; releases beyond it are refused before anything is drawn."""
    with reporting(as_json):
        from gridveil.cli.spending import open_ledger
        from gridveil.publish.elements import identities

        read, grid = _grid(case)
        book = open_ledger(ledger, as_json)
        network: Assets = book.assets(read.name, identities(grid))
        book.set_limit(network, limit)
        spent = book.accounts(network).largest
        if as_json:
            print_json({"status": "set", "network": read.name, "limit": limit, "spent": spent})
        else:
            out.print(f"limit {limit:g} for {escape(read.name)}, which has spent {spent:.6g}")


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The backup; its key is put beside it.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the ledger and its key, as they are at one moment."""
    with reporting(as_json):
        from gridveil.privacy.keeping import backup as copy

        count = copy(_existing(ledger), target)
        if as_json:
            print_json({"status": "copied", "backup": str(target), "entries": count})
        else:
            out.print(f"{count} entries copied to {escape(str(target))}, with the key beside it: keep it as safe")


@app.command("restore")
def restore_command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A backup of the ledger.")],
    ledger: LedgerOption = None,
    lost: Annotated[
        float | None, typer.Option(help="What entries that the backup lacks came to at most; charged to every line.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in the place of a ledger that is missing or damaged; what was there is kept as *.replaced."""
    with reporting(as_json):
        from gridveil.privacy.keeping import restore
        from gridveil.privacy.ledger import Ledger, default_path

        where = ledger or default_path()
        missing = restore(source, where, lost)
        count = len(Ledger.open(where).entries())
        if as_json:
            print_json({"status": "restored", "ledger": str(where), "entries": count, "lost": missing})
        else:
            out.print(f"restored {escape(str(where))}: {count} entries, {missing} lost")


@app.command("migrate")
def migrate_command(
    old: Annotated[Path, typer.Argument(help="A ledger of the first version.")],
    cases: Annotated[list[str], typer.Argument(help="The cases it has entries of, as they were released.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take over a ledger of the first version, which counted networks by their buses, into a new one."""
    with reporting(as_json):
        from gridveil.privacy.keeping import Known, migrate
        from gridveil.privacy.ledger import default_path
        from gridveil.publish.elements import former_shape, identities

        networks = []
        for case in cases:
            read, grid = _grid(case)
            networks.append(Known(read.name, former_shape(grid), tuple(identities(grid))))
        where = ledger or default_path()
        count = migrate(old, where, networks)
        if as_json:
            print_json({"status": "migrated", "ledger": str(where), "entries": count})
        else:
            out.print(f"{count} entries taken over into {escape(str(where))}; keep {escape(str(old))} as an archive")


@app.command()
def export(ledger: LedgerOption = None) -> None:
    """Print every entry as one JSON object, for an archive."""
    show(None, ledger, as_json=True)
