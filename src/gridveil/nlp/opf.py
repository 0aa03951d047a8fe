"""AC optimal power flow (the paper's Model 1) with taps, shifts, charging and shunts.

minimise    Σ cost_p(pg) + cost_q(qg)                  nlp.dispatch_cost
subject to  balance, ratings, angle differences        nlp.power_flow
            bounds on vm, pg, qg; va = 0 at one bus of every island
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gridveil.arrays import FloatArray, IntArray, check_length
from gridveil.errors import SolveError
from gridveil.grid.network import Grid, LineParameters, Multipliers, OperatingPoint
from gridveil.grid.physics import Violations, operating_point, violations
from gridveil.nlp.blocks import OBJECTIVE
from gridveil.nlp.dispatch_cost import DispatchCost, dispatch_cost, set_cost_bounds, set_cost_start
from gridveil.nlp.power_flow import Demand, PowerFlow, line_numbers, power_flow, set_bounds, set_flat_start
from gridveil.nlp.problem import Layout, Problem, build
from gridveil.nlp.solve import attempts
from gridveil.nlp.solver import Bounds, Outcome, Progress, SolverOptions, Start, Status
from gridveil.shown import as_card

if TYPE_CHECKING:
    from gridveil.grid.frames import Frame

JUDGED = 1e-5
"""Per unit: a point whose violation, recomputed by `grid.physics`, exceeds this is not called optimal."""

SOLVED = 1e-7
"""Barrier parameter of a solution."""


@dataclass(frozen=True, eq=False)
class OpfModel:
    """The AC-OPF of a grid: its pattern with its costs, and the limits and ratings of one world of it.

    Build it once (`gv.opf_model`), solve it often.

    Attributes:
        grid: Whose limits and ratings it has.
        problem: Variables, rows, and the patterns of derivatives.
        flow: Where the power flow stands in it.
        cost: Where the cost does.

    Examples:
        >>> gv.opf_model("case14_ieee")
        OpfModel(Grid(14 buses, 5 generators, 20 lines), 38 variables, 88 rows)
    """

    grid: Grid
    problem: Problem
    flow: PowerFlow
    cost: DispatchCost

    def __repr__(self) -> str:
        return f"OpfModel({self.grid!r}, {self.problem.n_variable} variables, {self.problem.n_constraint} rows)"

    def fits(self, grid: Grid) -> bool:
        """Is it the pattern of this grid too? Elements, taps, shunts, costs and which limits there are must agree."""
        return grid is self.grid or all(
            np.array_equal(one, other) for one, other in zip(_pattern(self.grid), _pattern(grid), strict=True)
        )

    def at(self, grid: Grid) -> OpfModel:
        """The same pattern in another world: demand, limits and ratings may differ, zeros and costs may not."""
        return self if grid is self.grid else replace(self, grid=grid, flow=replace(self.flow, grid=grid))


def _pattern(grid: Grid) -> list[FloatArray | IntArray]:
    """What of a grid is built into its problem."""
    buses, lines = grid.buses, grid.lines
    curves = [getattr(cost, field.name) for cost in (grid.cost_p, grid.cost_q) for field in fields(cost)]
    limited = [np.isfinite(one) for one in (lines.rating, lines.angle_min, lines.angle_max)]
    return [
        np.array([grid.base_mva]), buses.number, buses.is_reference, buses.gs, buses.bs, grid.generators.bus,
        lines.bus_from, lines.bus_to, lines.tap, lines.shift, *limited, *curves,
    ]  # fmt: skip


class Near(NamedTuple):
    """What is thought to be near an optimum: a point, with the multipliers of the model's problem if they are known."""

    point: OperatingPoint
    multipliers: Multipliers | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of an AC-OPF: its status, and the last point, which where that is `optimal` has been judged
    independently.

    Attributes:
        status: How it ended.
        detail: The same in words.
        cost: In $/h.
        point: Voltages, generation and flows.
        violations: Recomputed by `grid.physics`, which shares no formula with the solver's model.
        multipliers: An array per row name (and per bound, as `vm_lower`, `vm_upper`, ...), by bus, generator or line.
            The Lagrangian is cost + Σ multiplier·row, so `balance_p` is the marginal cost of serving demand.
        end: The same in the order of the problem, for another solve to go on from.
        iterations: Of all attempts.
        attempts: From how many starts it was tried.
        solver: Who made the last point, `own` or `ipopt`.
        fallbacks: From how many starts our own solver ended other than optimal, so that Ipopt went on.
        seconds_evaluation: Time in functions and derivatives.
        seconds_linear_algebra: All other time in the solver.
        grid: What was solved.

    Examples:
        >>> solution = gv.solve_opf("case14_ieee").require()
        >>> solution.violations.largest < 1e-6
        True
        >>> print(f"{solution.frame('buses')['price'].max():.2f} $/MWh at most")
        9.14 $/MWh at most
    """

    status: Status
    detail: str
    cost: float
    point: OperatingPoint
    violations: Violations
    multipliers: Mapping[str, FloatArray]
    end: Multipliers
    iterations: int
    attempts: int
    seconds_evaluation: float
    seconds_linear_algebra: float
    grid: Grid
    solver: str
    fallbacks: int

    _repr_html_ = as_card

    def __repr__(self) -> str:
        effort = f"{self.iterations} iterations, {self.seconds:.2f} s"
        if self.status is not Status.OPTIMAL:
            return f"Solution({self.status}: {self.detail}; {effort})"
        return (
            f"Solution({self.status}, cost {self.cost:,.2f}, largest violation {self.violations.largest:.0e}; {effort})"
        )

    @property
    def seconds(self) -> float:
        """Time in the solver, all attempts together."""
        return self.seconds_evaluation + self.seconds_linear_algebra

    def frame(self, table: str = "buses") -> Frame:
        """The last point of `buses`, `generators` or `lines` as a pandas frame, in MW, Mvar and degrees; a bus has its
        `price`, the marginal cost of active demand, in $/MWh."""
        from gridveil.grid.frames import point_frames  # noqa: PLC0415 - the repair process has no need of it

        frames = point_frames(self.grid, self.point)
        frames.buses["price"] = self.multipliers["balance_p"] / self.grid.base_mva
        return frames.table(table)

    def require(self) -> Solution:
        """This solution if it is optimal, else a `SolveError`."""
        if self.status is not Status.OPTIMAL:
            raise SolveError(self.status, f"AC-OPF ended {self.status}: {self.detail}")
        return self


@lru_cache(maxsize=4)
def opf_model(grid: Grid) -> OpfModel:
    """Build the pattern of a grid's AC-OPF; the last few are remembered."""
    variables, rows = Layout(), Layout(start=1)
    flow = power_flow(grid, variables, rows)
    cost = dispatch_cost(flow, variables, rows, OBJECTIVE)
    problem = build(variables, rows, [*flow.blocks, *cost.blocks], [*flow.linear, *cost.linear], cost.constant)
    return OpfModel(grid, problem, flow, cost)


def solve_opf(
    model: OpfModel,
    lines: LineParameters,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    near: Near | None = None,
) -> Solution:
    """Solve from a short, fixed list of starts until one ends optimal, or two agree that the problem is infeasible.

    What is thought to be `near` the optimum is tried before them.
    """
    options = options or SolverOptions()
    demand = demand or Demand(model.grid.buses.pd, model.grid.buses.qd)
    check_length(model.grid.n_bus, pd=demand.pd, qd=demand.qd)
    check_length(model.grid.n_line, g=lines.g, b=lines.b, bc=lines.bc)
    evaluator = model.problem.evaluator({"lines": line_numbers(model.grid, lines)})
    bounds = _bounds(model, demand)
    starved = _free_empty_rows(model, bounds)
    solutions: list[Solution] = []
    verdicts: list[Status] = []  # one of every start
    for start in [*_starts_near(model, near), *_starts(model)][: options.starts]:
        for outcome in attempts(evaluator, bounds, start, options, progress):
            solutions.append(solution := _solution(model, lines, demand, outcome))
            if solution.status is Status.OPTIMAL:
                break
        verdicts.append(solution.status)
        if starved.size or solution.status in (Status.OPTIMAL, Status.TIME_LIMIT):
            break
        if verdicts.count(Status.INFEASIBLE) == 2:
            break
    return _combined(model, solutions, len(verdicts), starved)


def steepest_at_start(model: OpfModel, lines: LineParameters) -> float:
    """The largest entry of the objective's gradient where a solve begins: by it solvers choose their units."""
    evaluator = model.problem.evaluator({"lines": line_numbers(model.grid, lines)})
    evaluator.move(_starts(model)[0].x)
    gradient = np.empty(model.problem.n_variable)
    evaluator.objective_gradient(gradient)
    return float(np.abs(gradient).max(initial=0.0))


def _bounds(model: OpfModel, demand: Demand) -> Bounds:
    n, m = model.problem.n_variable, model.problem.n_constraint
    bounds = Bounds(np.full(n, -np.inf), np.full(n, np.inf), np.full(m, -np.inf), np.full(m, np.inf))
    set_bounds(model.flow, demand, bounds)
    set_cost_bounds(model.cost, bounds)
    return bounds


def _free_empty_rows(model: OpfModel, bounds: Bounds) -> IntArray:
    """Take rows without any variable out of the problem; return those that cannot hold.

    Such a row is the balance of a bus with no line, no generator and no shunt. It holds or it does not, whatever the
    solver does; left in, it would only spoil the solver's count of degrees of freedom.
    """
    empty = np.flatnonzero(np.bincount(model.problem.jacobian_rows, minlength=model.problem.n_constraint) == 0)
    starved = empty[(bounds.row_lower[empty] > JUDGED) | (bounds.row_upper[empty] < -JUDGED)]
    bounds.row_lower[empty], bounds.row_upper[empty] = -np.inf, np.inf
    return starved


def _starts(model: OpfModel) -> list[Start]:
    """Where to begin, in order: no start depends on anything but the grid's limits.

    A large first barrier (μ) keeps early steps away from the bounds, which is what large networks need; the last start
    is the solver's ordinary one.
    """
    starts = []
    for idle, mu, default_ordering in (
        (False, 10.0, False),
        (False, 100.0, False),
        (True, 10.0, True),
        (True, 0.1, True),
    ):
        x = np.zeros(model.problem.n_variable)
        set_flat_start(model.flow, x, idle=idle)
        set_cost_start(model.cost, x)
        starts.append(Start(x, mu, default_ordering))
    return starts


def _starts_near(model: OpfModel, near: Near | None) -> list[Start]:
    """A given point, with a barrier too small to push it far; with multipliers, the barrier of a solution."""
    if near is None:
        return []
    x, point = np.zeros(model.problem.n_variable), near.point
    x[model.flow.vm], x[model.flow.va], x[model.flow.pg], x[model.flow.qg] = point.vm, point.va, point.pg, point.qg
    set_cost_start(model.cost, x)
    if near.multipliers is None:
        return [Start(x, mu=1e-4, warm=True)]
    check_length(model.problem.n_constraint, rows=near.multipliers.rows)
    check_length(model.problem.n_variable, lower=near.multipliers.lower, upper=near.multipliers.upper)
    return [Start(x, mu=SOLVED, warm=True, multipliers=near.multipliers)]


def _solution(model: OpfModel, lines: LineParameters, demand: Demand, outcome: Outcome) -> Solution:
    x, flow = outcome.x, model.flow
    point = operating_point(model.grid, lines, x[flow.vm], x[flow.va], x[flow.pg], x[flow.qg])
    judged = violations(model.grid, lines, point, demand)
    status, detail = outcome.status, outcome.detail
    if status is Status.OPTIMAL and not judged.largest <= JUDGED:
        status = Status.NUMERICAL_FAILURE
        detail = f"the solver calls it solved, but the largest violation is {judged.largest:.1e} p.u."
    return Solution(
        status=status,
        detail=detail,
        cost=point.cost,
        point=point,
        violations=judged,
        multipliers=MappingProxyType(_multipliers(model, outcome.multipliers)),
        end=outcome.multipliers,
        iterations=outcome.iterations,
        attempts=1,
        seconds_evaluation=outcome.seconds_evaluation,
        seconds_linear_algebra=outcome.seconds_solver,
        grid=model.grid,
        solver=outcome.solver,
        fallbacks=0,
    )


def _combined(model: OpfModel, solutions: list[Solution], attempts: int, starved: IntArray) -> Solution:
    """The last solution if it is optimal; infeasible if two are; else the first other failure. The effort of all."""
    infeasible = [one for one in solutions if one.status is Status.INFEASIBLE]
    others = [one for one in solutions if one.status is not Status.INFEASIBLE]
    best = (infeasible if len(infeasible) > 1 or not others else others)[0]
    best = solutions[-1] if solutions[-1].status is Status.OPTIMAL else best
    status, detail = best.status, best.detail
    if starved.size:
        bus = model.grid.buses.number[starved[0] % model.grid.n_bus]
        status, detail = Status.INFEASIBLE, f"bus {bus} has demand but no line, no generator and no shunt"
    return Solution(
        status=status,
        detail=detail,
        cost=best.cost,
        point=best.point,
        violations=best.violations,
        multipliers=best.multipliers,
        end=best.end,
        iterations=sum(one.iterations for one in solutions),
        attempts=attempts,
        seconds_evaluation=sum(one.seconds_evaluation for one in solutions),
        seconds_linear_algebra=sum(one.seconds_linear_algebra for one in solutions),
        grid=model.grid,
        solver=best.solver,
        fallbacks=len(solutions) - attempts,
    )


def _multipliers(model: OpfModel, known: Multipliers) -> dict[str, FloatArray]:
    """Multipliers by name; those of lines without the limit are zero."""
    flow = model.flow
    result = dict(model.problem.rows.split(known.rows, 1))
    for name, kept in (
        ("rating_from", flow.rated),
        ("rating_to", flow.rated),
        ("angle_difference", flow.angle_limited),
    ):
        full = np.zeros(model.grid.n_line)
        full[kept] = result[name]
        result[name] = full
    for name in ("va", "vm", "pg", "qg"):
        result[f"{name}_lower"] = model.problem.variables.split(known.lower)[name]
        result[f"{name}_upper"] = model.problem.variables.split(known.upper)[name]
    return result
