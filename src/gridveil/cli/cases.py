"""`gridveil cases`: the cases that come with the package."""

from __future__ import annotations

from rich.table import Table

from gridveil.cli.options import JsonOption
from gridveil.cli.output import out, print_json, reporting


def cases(as_json: JsonOption = False) -> None:
    """List the shipped cases; any command takes their names in place of a file."""
    with reporting(as_json):
        from gridveil import cases as shipped
        from gridveil.formats.find import load, read_case

        rows = []
        for name in shipped.names():
            grid = load(read_case(name)).grid
            rows.append({"name": name, "buses": grid.n_bus, "generators": grid.n_generator, "lines": grid.n_line})
        if as_json:
            print_json({"cases": rows, "source": "PGLib-OPF v23.07, CC BY 4.0"})
            return
        table = Table("case", "buses", "generators", "lines", caption="numbers of PGLib-OPF v23.07, CC BY 4.0")
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        out.print(table)
