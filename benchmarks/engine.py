"""The study engine: what Dask adds to the work itself, and what a second worker brings.

    python benchmarks/engine.py [--case case118_ieee] [--draws 40] > docs/results/engine.md

The same tasks are run in a plain loop, with one worker and with two, three times each in turn; the start of a cluster
is measured apart, by a run of one task.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import gridveil as gv
from gridveil.study.catalogue import STUDIES
from gridveil.study.declare import Setting, Study
from gridveil.study.runner import perform, run_study

SETTINGS: dict[str, tuple[Setting, ...]] = {"mechanism": ("log",), "alpha": (0.1,), "beta": (0.01,)}


def loop(study: Study, case: str, draws: int) -> float:
    network = gv.load(case)
    begin = perf_counter()
    for task in study.tasks([case], draws, SETTINGS):
        perform(study, task, network)
    return perf_counter() - begin


def engine(study: Study, case: str, draws: int, workers: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        run_study(study, Path(folder), [case], draws, SETTINGS, workers)
        return perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="case118_ieee")
    parser.add_argument("--draws", type=int, default=40)
    options = parser.parse_args()
    study = STUDIES["costs"]
    loop(study, options.case, 2)  # warm
    plain, one, two, start = [], [], [], []
    for _ in range(3):
        plain.append(loop(study, options.case, options.draws))
        one.append(engine(study, options.case, options.draws, 1))
        two.append(engine(study, options.case, options.draws, 2))
        start.append(engine(study, options.case, 1, 1) - plain[-1] / options.draws)
    begin = median(start)
    each = {name: median(times) - (0.0 if name == "a plain loop" else begin) for name, times in
            (("a plain loop", plain), ("one worker", one), ("two workers", two))}  # fmt: skip
    print("# The study engine\n")
    print(
        f"`costs`, {options.case}, `log`, α = 0.1, {options.draws} draws; medians of three turns, two cores. Made with "
        f"`python benchmarks/engine.py`. The start of a cluster, {begin:.1f} s, is taken off the times with workers.\n"
    )
    print("| | seconds | against a plain loop |\n|---|---|---|")
    for name, seconds in each.items():
        print(f"| {name} | {seconds:.2f} | {seconds / each['a plain loop']:.3f} |")
    print(f"\nTwo workers are {each['one worker'] / each['two workers']:.2f} times as fast as one.")


if __name__ == "__main__":
    main()
