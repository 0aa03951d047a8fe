"""Algorithm 1, line 5: the network nearest to the noisy one that is AC-feasible at a cost within β, for every snapshot.

minimise    Σ weight·(u − ũ)²,  y = base·e^u                     (s1), in logarithms
subject to  power flow of every snapshot with u as variables    (s3), nlp.power_flow
            (1 − β)·O* ≤ cost ≤ (1 + β)·O*  per snapshot        (s2), nlp.dispatch_cost
            u in its box                                        (s4), (s5), repair.bounds
            φ_k + ∇φ_k·(u − u_k) ≥ floor_k                      value-function cuts, repair.repair
            losses within their factor                          if wanted
            loads, ratings, limits that move; totals            if drawn, repair.moving_rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Grid, Network, OperatingPoint
from gridveil.nlp.blocks import OBJECTIVE, DistanceBlock
from gridveil.nlp.dispatch_cost import DispatchCost, dispatch_cost, set_cost_bounds, set_cost_start
from gridveil.nlp.power_flow import Demand, PowerFlow, inverse_ratings, power_flow, set_bounds, set_flat_start
from gridveil.nlp.problem import Layout, LinearTerms, Problem, build
from gridveil.nlp.solve import solve
from gridveil.nlp.solver import Bounds, Outcome, Patience, SolverOptions, Start
from gridveil.repair.bounds import Box
from gridveil.repair.moving_rows import MovingRows, Totals, moving_rows, set_moving, totals
from gridveil.repair.trial import LARGE
from gridveil.wall.draw import Fidelity, Snapshot

STILL, NEAR = 0.01, 10.0
"""Per unit: a projection whose violation is less than the first is let go on; of a joint draw, one below the second
too, while it comes nearer to its target."""
WAITING = 60
"""Iterations that a projection at any cost may stand still, of a joint draw."""


PRECISE = 1e-4
"""How exactly the nearest network is found. Its power flow is as exact as any; how near it is matters less."""


Points = Sequence[OperatingPoint]
"""One for every snapshot."""


class Effort(NamedTuple):
    """Of one projection: the share of every range (voltage, generation, rating, angle difference) that it leaves free
    at its ends, how many starts there are, and how many iterations each may stand still."""

    room: float
    starts: int = 2
    patience: int = 60

    def options(self, box: Box, *, free: bool) -> SolverOptions:
        """Of one start: below 1,000 buses 99 of 100 projections of lines that end well take 120 iterations at most.

        At any cost (`free`) those of a joint draw end well if they are waited for: 13 of 13 on 118 and 300 buses at
        alpha = 1, after 35 to 312 iterations.
        """
        still, joint = self.patience, box.moving is not None
        most = (300 if joint or box.grid.n_bus >= LARGE else 120) * max(1, still // 20)
        if joint and free:
            still, most = max(still, WAITING), max(most, 400)
        patience = Patience(STILL, still, near=NEAR if joint else 0.0)
        # Matched, single factorisations take a hundred times longer where noise is large (240 buses: 21 s for 0.5 s).
        return SolverOptions(PRECISE, most, patience=patience, matching=False)


class Aim(NamedTuple):
    """How far below and above the public cost the cost of a projected dispatch may lie, as shares of it."""

    below: float
    above: float


@dataclass(frozen=True, eq=False)
class Cut:
    """gradient·u ≥ floor: keeps the optimal cost of a snapshot from falling below what β allows."""

    gradient: FloatArray
    floor: float


@dataclass(frozen=True, eq=False)
class Projection:
    """The projection problem as a pattern; the noisy values, box and costs come with each solve."""

    problem: Problem
    parameters: slice
    flows: Sequence[PowerFlow]
    costs: Sequence[DispatchCost]
    cost_rows: Sequence[int]
    loss_rows: Sequence[int]
    cuts: Sequence[Cut]
    others: Sequence[MovingRows]
    totals: Totals | None


def projection(
    grid: Grid, box: Box, snapshots: Sequence[Snapshot], cuts: Sequence[Cut], keep_losses: bool
) -> Projection:
    """Build the pattern for the snapshots, which share the line parameters."""
    variables, rows = Layout(), Layout(start=1)
    parameters = variables.add("parameters", len(box.target))
    blocks: list[object] = [DistanceBlock("distance", parameters, OBJECTIVE)]
    linear: list[LinearTerms] = []
    flows, costs, cost_rows, loss_rows, others = [], [], [], [], []
    for step, snapshot in enumerate(snapshots):
        name = f"_{step}"
        flow = power_flow(grid, variables, rows, parameters[box.columns], name)
        cost_rows.append(int(rows.add(f"cost{name}", 1)[0]))
        cost = dispatch_cost(flow, variables, rows, cost_rows[-1], name, unit=abs(snapshot.cost))
        if keep_losses:
            loss_rows.append(int(rows.add(f"losses{name}", 1)[0]))
            linear.append(LinearTerms(np.full(len(flow.pg), loss_rows[-1]), flow.pg, np.ones(len(flow.pg))))
        if box.moving is not None:
            others.append(moving_rows(box, box.moving, flow, snapshot, parameters, rows, name))
            blocks += others[-1].blocks
            linear += others[-1].linear
        flows.append(flow)
        costs.append(cost)
        blocks += [*flow.blocks, *cost.blocks]
        linear += [*flow.linear, *cost.linear]
    kept = None if box.moving is None else totals(box, box.moving, parameters, rows)
    blocks += [] if kept is None else kept.blocks
    for row, cut in zip(rows.add("cuts", len(cuts)), cuts, strict=True):
        used = np.flatnonzero(cut.gradient)
        linear.append(LinearTerms(np.full(len(used), row), parameters[used], cut.gradient[used]))
    problem = build(variables, rows, blocks, linear)  # type: ignore[arg-type]
    return Projection(problem, variables.ranges["parameters"], flows, costs, cost_rows, loss_rows, cuts, others, kept)


def project(
    model: Projection,
    box: Box,
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    aim: Sequence[Aim],
    start: Start,
    effort: Effort,
) -> Outcome:
    """Solve from one start, with the dispatch cost of each snapshot within its aim."""
    bounds = _bounds(model, box, snapshots, fidelity, aim, effort.room)
    evaluator = model.problem.evaluator(numbers(model, box))
    free = not any(np.isfinite(one.below) or np.isfinite(one.above) for one in aim)
    return solve(evaluator, bounds, start, effort.options(box, free=free))


def numbers(model: Projection, box: Box) -> dict[str, Any]:
    """What the blocks of the pattern are given."""
    lines = {
        block.name: (box.base[box.columns], inverse_ratings(flow.grid))
        for flow in model.flows
        for block in flow.blocks[:1]
    }
    found: dict[str, Any] = {"distance": (box.target, box.weight), **lines}
    for part in model.others:
        found |= part.coefficients
    return found if model.totals is None else found | model.totals.coefficients


def _bounds(
    model: Projection, box: Box, snapshots: Sequence[Snapshot], fidelity: Fidelity, aim: Sequence[Aim], room: float
) -> Bounds:
    n, m = model.problem.n_variable, model.problem.n_constraint
    bounds = Bounds(np.full(n, -np.inf), np.full(n, np.inf), np.full(m, -np.inf), np.full(m, np.inf))
    bounds.x_lower[model.parameters], bounds.x_upper[model.parameters] = box.low, box.high
    for step, (flow, cost) in enumerate(zip(model.flows, model.costs, strict=True)):
        snapshot = snapshots[step]
        set_bounds(flow, Demand(snapshot.pd, snapshot.qd), bounds)
        _shrink(flow, bounds, room)
        if box.moving is not None:
            set_moving(box, box.moving, flow, model.others[step], f"_{step}", bounds, room)
        set_cost_bounds(cost, bounds)
        at, public = model.cost_rows[step] - 1, np.sign(snapshot.cost) - cost.constant  # in units of its size
        bounds.row_lower[at] = public - aim[step].below
        bounds.row_upper[at] = public + aim[step].above
        if model.loss_rows and snapshot.losses is not None and fidelity.loss_within is not None:
            lost, at = snapshot.losses, model.loss_rows[step] - 1
            bounds.row_lower[at] = float(snapshot.pd.sum()) + lost / fidelity.loss_within
            bounds.row_upper[at] = float(snapshot.pd.sum()) + lost * fidelity.loss_within
    for row, total in () if model.totals is None else model.totals.rows.values():
        bounds.row_lower[row - 1] = bounds.row_upper[row - 1] = total
    for k, cut in enumerate(model.cuts):
        bounds.row_lower[model.problem.rows.ranges["cuts"].start - 1 + k] = cut.floor
    return bounds


def _shrink(flow: PowerFlow, bounds: Bounds, share: float) -> None:
    """Keep the operating point a little inside its limits.

    The nearest feasible network has no room to move: its AC-OPF would have a single feasible point, which no solver
    can find reliably, neither ours nor a user's. A released network has some room by construction.
    """
    for columns in (flow.vm, flow.pg, flow.qg):
        low, high = bounds.x_lower[columns], bounds.x_upper[columns]
        room = np.where(np.isfinite(low) & np.isfinite(high), share * (high - low), 0.0)
        bounds.x_lower[columns], bounds.x_upper[columns] = low + room, high - room
    for rows in (flow.rating_from - 1, flow.rating_to - 1):
        bounds.row_upper[rows] *= 1.0 - share
    low, high = bounds.row_lower[flow.angle_difference - 1], bounds.row_upper[flow.angle_difference - 1]
    room = np.where(np.isfinite(low) & np.isfinite(high), share * (high - low), 0.0)
    bounds.row_lower[flow.angle_difference - 1], bounds.row_upper[flow.angle_difference - 1] = low + room, high - room


def starts(
    model: Projection,
    box: Box,
    own: tuple[FloatArray, Points] | None,
    other: Network,
    others: Points | None = None,
) -> list[Start]:
    """Where a projection may begin, in order: at parameters of its `own` with their operating points, if there are;
    midway to the `other` network (drawn and shrunk) with the points of that one, if there are; with flat voltages
    there, and at the target.

    Noise on charging alone can put flat voltages hundreds of per unit off, where Newton steps on the distance lead
    nowhere: starts midway are restored first, whatever the distance. Large networks take too long to be.
    """
    large = model.flows[0].grid.n_bus >= LARGE
    midway = 0.5 * (box.target + box.clip(box.parameters(other)))
    result = [] if own is None else [Start(_begin(model, *own), 0.01)]
    if others is not None:
        result.append(Start(_begin(model, midway, others), 0.01, restored=not large))
    flat = [Start(_begin(model, midway), 0.01, restored=True), Start(_begin(model, box.target), 1.0)]
    return result + (flat[::-1] if large else flat)


def _begin(model: Projection, parameters: FloatArray, points: Points | None = None) -> FloatArray:
    """Variables at given parameters, with operating points or flat voltages."""
    x = np.zeros(model.problem.n_variable)
    x[model.parameters] = parameters
    for step, flow in enumerate(model.flows):
        if points is None:
            set_flat_start(flow, x, idle=False)
        else:
            at = points[step]
            x[flow.vm], x[flow.va], x[flow.pg], x[flow.qg] = at.vm, at.va, at.pg, at.qg
    for cost in model.costs:
        set_cost_start(cost, x)
    return x
