"""A rehearsal: the AC-OPF of a network of two buses that stands here.

The solver's library and whatever it loads in turn are loaded by it, the kernel's too where there is one, and a solver
that cannot work is met by it, before anything depends on either.
"""

from __future__ import annotations

import numpy as np
import numpy.ma  # NumPy looks for it at its first `unique`, where a repair could not any more

from gridveil.grid import Grid, LineKind, LineParameters
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import Buses, Generators, Lines
from gridveil.nlp.ipopt_library import find_library, load, require_recent
from gridveil.nlp.native import library as kernel
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.solver import SolverOptions


def rehearse() -> None:
    """Solve it with every solver that a repair may go to, all exact enough, or raise `SolveError`."""
    kernel.load()  # or remember that it is absent: behind closed doors nobody could look
    require_recent(load(find_library(SolverOptions().library)))
    one, both = np.ones(1), np.ones(2)
    nothing, first = np.zeros(2), np.array([True, False])
    buses = Buses(
        np.array([1, 2]), 230 * both, np.array([0.0, 0.5]), nothing, nothing, nothing, 0.9 * both, 1.1 * both, first
    )
    generators = Generators(np.array([0]), np.zeros(1), one, -one, one)
    limits = one, -0.5 * one, 0.5 * one
    lines = Lines(np.array([0]), np.array([1]), one, np.zeros(1), *limits, np.array([LineKind.LOSSY]))
    cost = CostCurves(np.array([[0.0, 1.0, 0.1]]), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    grid = Grid(100.0, buses, generators, lines, cost, CostCurves.zero(1))
    impedance = LineParameters.from_impedance(0.01 * one, 0.1 * one, 0.02 * one)
    for solver in {SolverOptions().solver, "ipopt"}:
        solve_opf(opf_model(grid), impedance, options=SolverOptions(solver=solver)).require()
