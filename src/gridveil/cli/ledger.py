"""`gridveil ledger init|show|verify|set-limit|backup|restore|migrate|export`: what has been spent, and keeping it."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.light import LightCommand, LightGroup
from gridveil.cli.options import CaseArgument, JsonOption, LedgerOption, SameAsOption
from gridveil.cli.output import out, print_json, reporting, say
from gridveil.errors import LedgerError
from gridveil.privacy.limit import DEFAULT_LIMIT

if TYPE_CHECKING:
    from gridveil.grid import Structure
    from gridveil.privacy.chain import Entry
    from gridveil.privacy.history import History
    from gridveil.privacy.ledger import Ledger
    from gridveil.publish.elements import SameAs

app = typer.Typer(
    cls=LightGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Make, show, verify, limit, back up and restore the ledger.",
)


def _existing(path: Path | None, *, anchored: bool = True) -> Ledger:
    from gridveil.privacy.ledger import Ledger, default_path

    where = path or default_path()
    if not Ledger.exists(where):
        raise LedgerError(f"there is no ledger at {where}; a release makes one, or name another with --ledger")
    book = Ledger.read(where, anchored=anchored)
    if book.is_backup:
        say(f"{escape(str(book.path))} is a backup: it has what was spent until it was made")
    return book


def _network(case: str, same_as: Path | None) -> tuple[str, Structure, SameAs | None]:
    """The name of a case, its structure, and as what the ledger knows its buses."""
    from gridveil.casefile.labels import labels
    from gridveil.casefile.to_network import to_network
    from gridveil.formats.find import read_case
    from gridveil.grid import structure_of
    from gridveil.publish.same_as import read_same_as

    read = read_case(case)
    structure = structure_of(to_network(read).grid)
    names = labels(read, live=True).bus_name
    return read.name, structure, None if same_as is None else read_same_as(same_as, structure, names)


@app.command(cls=LightCommand)
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
            words = f"made {escape(str(book.path))}, with its key beside it; limit {limit:g} for every line"
            out.print(words, soft_wrap=True)  # a path that is broken cannot be copied


@app.command(cls=LightCommand)
def show(
    case: Annotated[str | None, typer.Argument(help="A case: its elements that have least left.")] = None,
    ledger: LedgerOption = None,
    same_as: SameAsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what networks have spent and every entry, or of a CASE what is nearest to its limit: lines, and
    loads and plants where a joint release was charged to them."""
    with reporting(as_json):
        book = _existing(ledger)
        if case is not None:
            from gridveil.cli.ledger_case import show_case

            show_case(book, *_network(case, same_as), as_json)
            return
        history = book.history()
        if as_json:
            print_json({"ledger": str(book.path), "entries": [asdict(entry) for entry in history.entries]})
            return
        out.print(f"[bold]{escape(str(book.path))}[/]", soft_wrap=True)
        out.print(_networks(history))
        out.print(_entries(history))


def _networks(history: History) -> Table:
    """For every network whose elements are not all those of a later one a row for each group that was protected.

    Entries do not tell a load from a plant, so that a group is counted for all elements: the most that any can have."""
    from gridveil.privacy.refusal import reach_words

    table = Table("network", "elements", "group", "spent", "limit", "left", "counted up to")
    for assets in history.current:
        name = assets.name or "(no name)"
        for group in history.groups(assets) or [""]:
            found = history.accounts(replace(assets, groups=((group,),) * len(assets.keys)))
            limit = "none" if found.largest_limit is None else f"{found.largest_limit:.6g}"
            left = f"{found.left:.6g}" if isfinite(found.left) else ""
            table.add_row(
                escape(name), str(len(found.keys)), group, f"{found.largest:.6g}", limit, left,
                reach_words(found.within),
            )  # fmt: skip
    return table


def _entries(history: History) -> Table:
    """Charges with their outcome, limits, and what was lost; draws and outcomes have no rows of their own."""
    from gridveil.privacy.history import charged_up_to
    from gridveil.privacy.refusal import reach_words

    ends = {one.details["charge"]: one.details for one in history.of("outcome")}
    table = Table("entry", "time (UTC)", "network", "what")
    for entry in history.entries:
        said = entry.details
        named = history.networks.get(said.get("network") or 0)
        if entry.kind == "charge":
            what = f"{said['mechanism']}: loss {said['loss']:.6g} up to {reach_words([charged_up_to(entry)])}"
            what += _end(entry, ends.get(entry.number))
        elif entry.kind == "limit":
            what = f"limit {said['limit']:.6g}"
        elif entry.kind == "lost":
            many = "entries, nobody knows how many," if said["missing"] is None else f"{said['missing']} entries"
            what = f"{many} were lost: loss {said['loss']:.6g} for every element, known or not"
            if "reach" in said:
                what += ", up to " + ", ".join(f"{alpha:g} ({unit})" for unit, alpha in said["reach"].items())
        else:
            continue
        table.add_row(str(entry.number), entry.time[:19], escape(named.name if named else "all"), escape(what))
    return table


def _end(charge: Entry, end: dict[str, Any] | None) -> str:
    """What came of a charge. One for a question ends as the charge before it, and those of earlier versions kept no
    end."""
    from gridveil.privacy.composition import QUESTIONS

    if end is not None:
        return f", {end['outcome']}" + (f" ({end['reason']})" if end["reason"] else "")
    if "taken_over" in charge.details:
        return f", taken over from {charge.details['taken_over']}"
    return "" if charge.details["unit"] in QUESTIONS else ", no end is known"


@app.command(cls=LightCommand)
def verify(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Check entries and kept draws against the key and its anchor; a changed or missing one is named."""
    with reporting(as_json):
        count = len(_existing(ledger).verify())
        if as_json:
            print_json({"status": "intact", "entries": count})
        else:
            out.print(f"[green]intact[/]: {count} entries")


@app.command("set-limit", cls=LightCommand)
def set_limit(
    case: CaseArgument,
    limit: Annotated[float, typer.Argument(help="The most that an element of this network may ever spend.")],
    ledger: LedgerOption = None,
    same_as: SameAsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Limit what may be spent on each line, load and plant of CASE; releases beyond it are refused before anything is
    drawn."""
    with reporting(as_json):
        from gridveil.cli.spending import open_ledger
        from gridveil.publish.elements import assets

        name, structure, known = _network(case, same_as)
        book = open_ledger(ledger, as_json)
        network = assets(book, name, structure, known)
        book.set_limit(network, limit)
        spent = book.accounts(network).largest
        if as_json:
            print_json({"status": "set", "network": name, "limit": limit, "spent": spent})
        else:
            out.print(f"limit {limit:g} for {escape(name)}, which has spent {spent:.6g}")


@app.command(cls=LightCommand)
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The backup; its key is put beside it.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the ledger and its key, as they are at one moment."""
    with reporting(as_json):
        from gridveil.privacy.keeping import backup as copy

        count = copy(_existing(ledger, anchored=False), target)
        if as_json:
            print_json({"status": "copied", "backup": str(target), "entries": count})
        else:
            out.print(
                f"{count} entries copied to {escape(str(target))}, with the key beside it: keep it as safe. It is used "
                "with 'gridveil ledger restore' alone"
            )


@app.command("restore", cls=LightCommand)
def restore_command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A backup of the ledger.")],
    ledger: LedgerOption = None,
    lost: Annotated[
        float | None,
        typer.Option(help="What entries that are gone came to at most; charged to every line, known or not."),
    ] = None,
    anchor: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where a new anchor is to stand, if the one elsewhere is gone for good."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Mend a ledger by a backup: one that is missing or damaged is replaced, and what was there stays as *.replaced; of
    one that has only lost its key or anchor, every entry is kept."""
    with reporting(as_json):
        from gridveil.privacy.keeping import reach_of, restore
        from gridveil.privacy.ledger import Ledger, default_path

        where = ledger or default_path()
        missing = restore(source, where, lost, anchor)
        history = Ledger.read(where).history()
        count, charged = len(history.entries), sum(one.loss for one in history.lost)
        if as_json:
            print_json(
                {"status": "restored", "ledger": str(where), "entries": count, "lost": missing, "charged": charged}
            )
            return
        gone = "nobody knows how many are" if missing is None else f"{missing} are"
        out.print(f"restored {escape(str(where))}: {count} entries, {gone} lost", soft_wrap=True)
        if missing != 0:
            reach = f", for changes up to {reach_of(history.lost[-1].reach)}" if history.lost else ""
            out.print(
                f"for entries that were lost {charged:.6g} is charged to every line, known or not{reach}. Limits that "
                "were set in them are gone: look at 'gridveil ledger show', and set them again with 'gridveil ledger "
                "set-limit'",
                soft_wrap=True,
            )


@app.command("migrate", cls=LightCommand)
def migrate_command(
    old: Annotated[Path, typer.Argument(help="A ledger of the first version.")],
    cases: Annotated[list[str], typer.Argument(help="The cases it has entries of, as they were released.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take over a ledger of the first version, which counted networks by their buses, into a new one."""
    with reporting(as_json):
        from gridveil.privacy.ledger import default_path
        from gridveil.privacy.migration import Known, migrate
        from gridveil.publish.elements import former_shape, identities

        networks = []
        for case in cases:
            name, structure, _ = _network(case, None)
            networks.append(Known(name, former_shape(structure), tuple(identities(structure))))
        where = ledger or default_path()
        count = migrate(old, where, networks)
        if as_json:
            print_json({"status": "migrated", "ledger": str(where), "entries": count, "limit": DEFAULT_LIMIT})
        else:
            out.print(
                f"{count} entries taken over into {escape(str(where))}; keep {escape(str(old))} as an archive. No line "
                f"may spend more than {DEFAULT_LIMIT:g} unless the old ledger had another limit for it, or you set one "
                "with 'gridveil ledger set-limit'"
            )


@app.command(cls=LightCommand)
def export(ledger: LedgerOption = None) -> None:
    """Print every entry as one JSON object, for an archive."""
    show(None, ledger, None, as_json=True)
