"""The whole reproduction: every study of the paper on the paper's networks, then ours, with the time each took.

    python benchmarks/reproduce.py NESTA RESULTS --draws 100

NESTA is a directory with the paper's 18 networks (NESTA 0.7.0, `nesta_case39_epri.m` and so on). Ours run with the
draws they declare. Like any study it goes on where it stopped. `scale` is not among them: it wants the machine for
itself, and larger networks than these.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gridveil.study.catalogue import STUDIES
from gridveil.study.runner import Summary, run_study

SMALL = ("30_ieee", "39_epri", "57_ieee", "118_ieee")
CASES: dict[str, tuple[str, ...]] = {
    "feasibility": SMALL,
    "resistances": ("39_epri",),
    "costs": ("39_epri",),
    "gaps": ("39_epri",),
    "attacks": ("39_epri", "118_ieee"),
    "attacks-fine": ("118_ieee",),
    "time-series-attacks": ("39_epri",),
    "attack-score": ("39_epri",),
    "runtimes": ("*",),
    "frontier": ("39_epri",),
    "promise": ("5_pjm", "14_ieee", *SMALL),
    "interdiction": ("39_epri", "118_ieee"),
}


def files(nesta: Path, names: tuple[str, ...]) -> list[str]:
    found = [str(path) for name in names for path in sorted(nesta.glob(f"nesta_case{name}.m"))]
    if len(found) < len(names):
        raise SystemExit(f"{nesta} does not hold nesta_case{', '.join(names)}.m")
    return found


def row(summary: Summary) -> str:
    counts = f"{summary.tasks} | {summary.failed} | {summary.run}"
    return f"| `{summary.study}` | {STUDIES[summary.study].paper} | {counts} | {summary.seconds / 60:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nesta", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=Path, help="append each study's summary to this file, a JSON line each")
    given = parser.parse_args()
    for name in given.only:
        study = STUDIES[name]
        draws = given.draws if study.paper != "ours" else study.draws
        summary = run_study(study, given.results, files(given.nesta, CASES[name]), draws, workers=given.workers)
        print(row(summary), flush=True)
        if given.times is not None:
            with given.times.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(vars(summary)) + "\n")


if __name__ == "__main__":
    main()
