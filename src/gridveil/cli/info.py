"""`gridveil info CASE`: what a case holds and what is unusual about it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from gridveil.cli.options import CaseArgument, JsonOption
from gridveil.cli.output import out, print_json, reporting

if TYPE_CHECKING:
    from gridveil.casefile import Case


def info(case: CaseArgument, as_json: JsonOption = False) -> None:
    """Count what is in CASE: elements, voltage levels, kinds of lines, quirks and how they are read."""
    with reporting(as_json):
        from gridveil.formats.find import import_case

        found = import_case(case)
        record = _record(found.case) | {"notes": [*found.notes, *found.losses]}
        if as_json:
            print_json(record)
        else:
            _print_tables(case, record)


def _record(case: Case) -> dict[str, Any]:
    import numpy as np

    from gridveil.casefile.quirks import quirks
    from gridveil.casefile.to_network import to_network
    from gridveil.grid import LineKind, corridors, islands, line_levels_kv

    grid = to_network(case).grid
    corridor, levels = corridors(grid), line_levels_kv(grid)
    kilovolts, lines_at = np.unique(levels, return_counts=True)
    base = grid.base_mva
    return {
        "name": case.name,
        "base_mva": base,
        "buses": grid.n_bus,
        "generators": grid.n_generator,
        "lines": grid.n_line,
        "transformers": int(np.count_nonzero((grid.lines.tap != 1) | (grid.lines.shift != 0))),
        "islands": int(islands(grid).max()) + 1 if grid.n_bus else 0,
        "corridors": int(corridor.max()) + 1 if grid.n_line else 0,
        "demand_mw": float(grid.buses.pd.sum() * base),
        "demand_mvar": float(grid.buses.qd.sum() * base),
        "capacity_mw": float(grid.generators.pmax.sum() * base),
        "levels": [{"kv": float(kv), "lines": int(n)} for kv, n in zip(kilovolts, lines_at, strict=True)],
        "kinds": {kind.name.lower(): int(np.count_nonzero(grid.lines.kind == kind)) for kind in LineKind},
        "quirks": [asdict(quirk) for quirk in quirks(case)],
    }


def _print_tables(case: str, record: dict[str, Any]) -> None:
    facts = Table(title=escape(case), show_header=False, title_style="bold", title_justify="left")
    facts.add_column(style="dim")
    facts.add_column()
    facts.add_row(
        "elements", f"{record['buses']:,} buses, {record['generators']:,} generators, {record['lines']:,} lines"
    )
    facts.add_row(
        "structure",
        f"{record['islands']:,} island(s), {record['corridors']:,} corridors, "
        f"{record['transformers']:,} transformers off nominal",
    )
    facts.add_row("demand", f"{record['demand_mw']:,.1f} MW, {record['demand_mvar']:,.1f} Mvar")
    facts.add_row("capacity", f"{record['capacity_mw']:,.1f} MW")
    facts.add_row("line kinds", ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in record["kinds"].items()))
    facts.add_row("levels", ", ".join(f"{level['kv']:g} kV: {level['lines']:,} lines" for level in record["levels"]))
    out.print(facts)
    if record["notes"]:
        notes = Table("how it was read", title_justify="left")
        for one in record["notes"]:
            notes.add_row(escape(one))
        out.print(notes)
    if record["quirks"]:
        table = Table(
            "quirk", "count", "how it is read", title="what is unusual", title_style="bold", title_justify="left"
        )
        for quirk in record["quirks"]:
            table.add_row(quirk["name"], f"{quirk['count']:,}", quirk["reading"])
        out.print(table)
