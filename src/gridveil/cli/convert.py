"""`gridveil convert IN OUT`: a network from one format to another, with a table of what was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.options import CaseArgument, CostsOption, JsonOption, LimitsOption, MissingCostOption
from gridveil.cli.output import out, print_json, reporting


def convert(
    case: CaseArgument,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; for PyPSA a folder.")],
    source: Annotated[
        str | None, typer.Option("--from", metavar="F", help="The format of CASE, if its name does not say.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="F",
            help="m, psse33, psse35, rawx, mat, powermodels, egret, pandapower or pypsa; else the extension decides.",
        ),
    ] = None,
    costs: CostsOption = None,
    limits: LimitsOption = None,
    missing_cost: MissingCostOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write CASE in another format. It is your own network, as it is: nothing here is noised."""
    with reporting(as_json):
        from gridveil.formats.convert import convert as converted
        from gridveil.formats.find import import_case
        from gridveil.formats.target import target_format, write_converted

        form = target_format(target, to)
        found = import_case(case, source, costs, limits, missing_cost)
        made = converted(found, form)
        files = write_converted(target, made, force=force)
        record = {
            "files": [str(one) for one in files],
            "format": form.name,
            "buses": len(made.kept.case.bus),
            "generators": len(made.kept.case.gen),
            "branches": len(made.kept.case.branch),
            "notes": [*found.notes, *found.losses],
            "losses": list(made.losses),
        }
        if as_json:
            print_json(record)
        else:
            _print(record)


def _print(record: dict[str, Any]) -> None:
    counts = f"{record['buses']:,} buses, {record['generators']:,} generators, {record['branches']:,} branches"
    for file in record["files"]:
        out.print(f"{escape(file)}", soft_wrap=True)
    out.print(f"{counts} as {record['format']}")
    for title, words in (("how it was read", record["notes"]), ("what was lost", record["losses"])):
        if words:
            table = Table(title, title_justify="left")
            for one in words:
                table.add_row(escape(one))
            out.print(table)
    if not record["losses"]:
        out.print("nothing was lost")
