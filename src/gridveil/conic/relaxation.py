"""The relaxations of AC-OPF as a whole: SOC, QC and QC with the convex hulls of its triple products.

minimise    Σ cost_p(pg) + cost_q(qg)                         conic.dispatch
subject to  relaxed flows, ratings, angle cuts                conic.soc
            voltages, angles and their products (QC)          conic.qc

What is reported is the bound that the multipliers prove (`conic.bound`), not the value at which the solver stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from gridveil.arrays import FloatArray, check_length
from gridveil.conic import clarabel, qc
from gridveil.conic.bound import largest_objective, proves_infeasible, safe_bound
from gridveil.conic.bus_pairs import bus_pairs
from gridveil.conic.dispatch import Ranges, add_generation
from gridveil.conic.program import Builder, ConicProgram
from gridveil.conic.soc import relaxed_flow
from gridveil.errors import GridError, SolveError
from gridveil.grid.network import Grid, LineParameters
from gridveil.shown import as_card
from gridveil.status import Status

Formulation = Literal["soc", "qc", "qc-lambda"]

ACCURATE = 1e-4
"""A solve is called optimal if its proven bound is this close, relatively, to the value at which it stopped."""

CLOSE = ACCURATE / 5
"""... and not tried again with another size of the objective if it is this close."""

SCALES = (100.0, 1.0)
"""Largest slopes that the objective is given, in the order in which they are tried."""


@dataclass(frozen=True)
class Limits:
    """When a conic solve gives up."""

    max_iterations: int = 200
    max_seconds: float | None = None


@dataclass(frozen=True)
class Relaxation:
    """The end of a relaxation, by `gv.solve_opf(case, formulation="soc")`.

    Attributes:
        formulation: `soc`, `qc` or `qc-lambda`.
        status: How it ended.
        detail: The same in words.
        bound: No feasible point of the AC-OPF costs less: proven whatever the status, infinite where multipliers prove
            that there is no such point, and maybe far too low where the solver failed.
        objective: Where the solver stopped, which is no bound.
        loss: How far the two are apart, relatively.
        iterations: Of the solver.
        seconds: In the solver.

    Examples:
        >>> found = gv.solve_opf("case14_ieee", formulation="soc").require()
        >>> found.bound <= gv.solve_opf("case14_ieee").cost
        True
    """

    formulation: str
    status: Status
    detail: str
    bound: float
    objective: float
    loss: float
    iterations: int
    seconds: float

    _repr_html_ = as_card

    def __repr__(self) -> str:
        return f"Relaxation({self.formulation}, {self.status}, bound {self.bound:,.2f})"

    def require(self) -> Relaxation:
        """This relaxation if it is optimal, else a `SolveError`."""
        if self.status is not Status.OPTIMAL:
            raise SolveError(
                self.status, f"the {self.formulation.upper()} relaxation ended {self.status}: {self.detail}"
            )
        return self


def solve_relaxation(
    grid: Grid,
    lines: LineParameters,
    formulation: Formulation = "soc",
    demand: tuple[FloatArray, FloatArray] | None = None,
    limits: Limits | None = None,
) -> Relaxation:
    """Bound the cost of a network's AC-OPF from below, or prove that it has no feasible point."""
    demand = checked(grid, lines, demand)
    crossed = _crossed_angles(grid)
    if crossed:
        return Relaxation(formulation, Status.INFEASIBLE, crossed, np.inf, np.inf, 0.0, 0, 0.0)
    return judge(formulation, opf_program(grid, lines, formulation, demand), limits or Limits())


def checked(
    grid: Grid, lines: LineParameters, demand: tuple[FloatArray, FloatArray] | None
) -> tuple[FloatArray, FloatArray]:
    """The demand, the grid's own where none is given, if it and the lines fit the grid."""
    pd, qd = (grid.buses.pd, grid.buses.qd) if demand is None else demand
    check_length(grid.n_bus, pd=pd, qd=qd)
    check_length(grid.n_line, g=lines.g, b=lines.b, bc=lines.bc)
    bad = np.flatnonzero(~(np.isfinite(pd) & np.isfinite(qd)))
    if bad.size:
        raise GridError(
            f"the demand of bus {grid.buses.number[bad[0]]} is Inf or NaN: a relaxation needs plain numbers"
        )
    return pd, qd


def opf_program(
    grid: Grid, lines: LineParameters, formulation: Formulation, demand: tuple[FloatArray, FloatArray]
) -> ConicProgram:
    """The relaxation of a network's AC-OPF as a conic program."""
    if formulation not in get_args(Formulation):
        known = ", ".join(get_args(Formulation))
        raise SolveError("bad_option", f"there is no formulation '{formulation}'; there are ac, {known}")
    buses, generators = grid.buses, grid.generators
    builder = Builder()
    flow = relaxed_flow(builder, grid, lines)
    if formulation != "soc":
        qc.tighten(builder, grid, flow, "lambda" if formulation == "qc-lambda" else "recursive")
    builder.add(flow.balance_p, flow.w * buses.gs + demand[0])
    builder.add(flow.balance_q, flow.w * -buses.bs + demand[1])
    ranges = Ranges(generators.pmin, generators.pmax, generators.qmin, generators.qmax)
    add_generation(builder, grid, flow, ranges, demand, (grid.cost_p, grid.cost_q))
    return builder.build()


def judge(name: str, program: ConicProgram, limits: Limits) -> Relaxation:
    """Solve a program and say what its multipliers prove; the best bound of all attempts counts."""
    attempts: list[Relaxation] = []
    for scale in SCALES:
        attempts.append(_attempt(name, program, scale, limits))
        last = attempts[-1]
        unfinished = last.status is Status.NUMERICAL_FAILURE or (last.status is Status.OPTIMAL and last.loss > CLOSE)
        if not unfinished:
            break
    best = max(attempts, key=lambda one: one.bound)
    total = sum(one.iterations for one in attempts), sum(one.seconds for one in attempts)
    return replace(best, iterations=total[0], seconds=total[1])


def _attempt(name: str, program: ConicProgram, scale: float, limits: Limits) -> Relaxation:
    outcome = clarabel.solve(program, scale, limits.max_iterations, limits.max_seconds)
    detail = f"the solver says {outcome.word}"
    bound, objective = safe_bound(program, outcome.z), outcome.objective
    # an objective near zero is judged by what it could be
    loss = abs(objective - bound) / max(abs(objective), 1e-4 * largest_objective(program), 1e-12)
    if proves_infeasible(program, outcome.z):
        status, bound, objective, loss = Status.INFEASIBLE, np.inf, np.inf, 0.0
        detail = "multipliers prove that no point is feasible"
    elif loss <= ACCURATE:
        status = Status.OPTIMAL
    else:
        status = clarabel.STOPPED.get(outcome.word, Status.NUMERICAL_FAILURE)
        detail += f" with the value {objective:.8g}, but its multipliers prove no more than {bound:.8g}"
    return Relaxation(name, status, detail, bound, objective, loss, outcome.iterations, outcome.seconds)


def _crossed_angles(grid: Grid) -> str:
    """A sentence about lines between two buses whose angle limits exclude one another; empty if there are none."""
    pairs = bus_pairs(grid)
    crossed = np.flatnonzero(pairs.angle_min > pairs.angle_max)
    if not crossed.size:
        return ""
    one, two = grid.buses.number[pairs.bus_from[crossed[0]]], grid.buses.number[pairs.bus_to[crossed[0]]]
    return f"the angle limits of the lines between buses {one} and {two} exclude one another"
