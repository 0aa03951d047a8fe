"""Maximum load restoration (the paper's Model 2) on one connected network.

maximise    Σ share·pd over buses with pd > 0
subject to  balance with demand share·(pd, qd), so that every load keeps its power factor
            ratings, angle differences, bounds on vm, pg, qg as in AC-OPF; 0 ≤ share ≤ 1

Under the rules `switchable` generators may shut down (0 belongs to their ranges) and shunts may be switched (the share
`on` of a shunt is a variable in 0..1); under `literal` their ranges are the file's and every shunt is on. A bus with
negative demand feeds in; it may be curtailed, and counts as no load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid.network import Generators, Grid, Network
from gridveil.grid.physics import Violations, operating_point, violations
from gridveil.nlp.blocks import OBJECTIVE, SwitchedShuntBlock
from gridveil.nlp.opf import JUDGED
from gridveil.nlp.power_flow import Demand, PowerFlow, line_numbers, power_flow, set_bounds, set_flat_start
from gridveil.nlp.problem import Evaluator, Layout, LinearTerms, Problem, build
from gridveil.nlp.rules import Rules
from gridveil.nlp.solve import attempts
from gridveil.nlp.solver import Bounds, SolverOptions, Start, Status


@dataclass(frozen=True, eq=False)
class State:
    """Voltages, generation, the `share` of every load that is served, the share of every shunt that is `on`."""

    vm: FloatArray
    va: FloatArray
    pg: FloatArray
    qg: FloatArray
    share: FloatArray
    on: FloatArray


@dataclass(frozen=True, eq=False)
class Energised:
    """How the attempts to feed an island ended.

    `state` is the best feasible one (judged by `grid.physics`), None if there is none; `culprits` then are the buses at
    which the last attempt breaks its constraints most.
    """

    status: Status
    detail: str
    state: State | None
    culprits: IntArray
    attempts: int
    iterations: int


@dataclass(frozen=True, eq=False)
class _Model:
    grid: Grid
    problem: Problem
    flow: PowerFlow
    share: IntArray
    on: IntArray
    loads: IntArray
    shunts: IntArray


def load(grid: Grid) -> FloatArray:
    """The active demand that counts as load, by bus."""
    return np.maximum(grid.buses.pd, 0.0)


def dark(grid: Grid) -> State:
    """Nothing energised: feasible under `switchable`, whatever the network."""
    sizes = (grid.n_bus, grid.n_bus, grid.n_generator, grid.n_generator, grid.n_bus, grid.n_bus)
    return State(*(np.zeros(size) for size in sizes))


def served(grid: Grid, state: State) -> float:
    """The load that a state serves, in per unit."""
    return float(load(grid) @ state.share)


def allowed(grid: Grid, rules: Rules) -> Generators:
    """The generators with the ranges the rules give them."""
    own = grid.generators
    if rules is Rules.LITERAL:
        return own
    low, high = np.minimum(0.0, [own.pmin, own.qmin]), np.maximum(0.0, [own.pmax, own.qmax])
    return replace(own, pmin=low[0], pmax=high[0], qmin=low[1], qmax=high[1])


def judge(network: Network, state: State, rules: Rules) -> Violations:
    """Every constraint of the restoration at a state, recomputed by `grid.physics`; dark buses have vm = 0."""
    grid, lines = network
    live = (state.vm > 0) | (rules is Rules.LITERAL)
    buses = replace(
        grid.buses,
        gs=state.on * grid.buses.gs,
        bs=state.on * grid.buses.bs,
        vmin=np.where(live, grid.buses.vmin, 0.0),
        vmax=np.where(live, grid.buses.vmax, 0.0),
    )
    switched = replace(grid, buses=buses, generators=allowed(grid, rules))
    point = operating_point(switched, lines, state.vm, state.va, state.pg, state.qg)
    return violations(switched, lines, point, (state.share * grid.buses.pd, state.share * grid.buses.qd))


def energise(network: Network, rules: Rules, options: SolverOptions) -> Energised:
    """Serve as much load of a connected network as possible, from a fixed list of starts until one ends optimal."""
    if network.grid.n_bus == 1 and network.grid.n_line == 0:
        return _lone_bus(network, rules)
    model = _model(network.grid)
    evaluator = model.problem.evaluator({"lines": line_numbers(*network)})
    bounds = _bounds(model, rules)
    best: State | None = None
    endings: list[Status] = []
    detail, iterations = "", 0
    for start in _starts(model, bounds)[: options.starts]:
        for outcome in attempts(evaluator, bounds, start, options):
            iterations += outcome.iterations
            state = _state(model, outcome.x)
            feasible = judge(network, state, rules).largest <= JUDGED
            if feasible and (best is None or served(model.grid, state) > served(model.grid, best)):
                best = state  # not only optimal ends: a feasible point is an answer
            status = outcome.status if feasible or outcome.status is not Status.OPTIMAL else Status.NUMERICAL_FAILURE
            if status is Status.OPTIMAL:
                break
        endings.append(status)
        detail = outcome.detail
        if status in (Status.OPTIMAL, Status.TIME_LIMIT) or endings.count(Status.INFEASIBLE) == 2:
            break
    culprits = _culprits(model, evaluator, bounds, outcome.x) if best is None else _NONE
    return Energised(endings[-1], detail, best, culprits, len(endings), iterations)


_NONE = np.zeros(0, dtype=np.int64)


def _culprits(model: _Model, evaluator: Evaluator, bounds: Bounds, x: FloatArray) -> IntArray:
    """The buses whose constraints are violated at least half as much as the worst; a line's count for both its ends."""
    evaluator.move(x)
    rows, flow, lines = evaluator.constraints(), model.flow, model.grid.lines
    excess = np.maximum(bounds.row_lower - rows, rows - bounds.row_upper)
    at_bus = np.zeros(model.grid.n_bus)
    for row in (flow.balance_p, flow.balance_q):
        np.maximum(at_bus, excess[row - 1], out=at_bus)
    for row, of in (
        (flow.rating_from, flow.rated),
        (flow.rating_to, flow.rated),
        (flow.angle_difference, flow.angle_limited),
    ):
        for ends in (lines.bus_from, lines.bus_to):
            np.maximum.at(at_bus, ends[of], excess[row - 1])
    return np.flatnonzero(at_bus >= 0.5 * at_bus.max())


def _model(grid: Grid) -> _Model:
    variables, rows = Layout(), Layout(start=1)
    none = np.zeros(grid.n_bus)
    flow = power_flow(replace(grid, buses=replace(grid.buses, gs=none, bs=none)), variables, rows)
    loads = np.flatnonzero((grid.buses.pd != 0) | (grid.buses.qd != 0))
    shunts = np.flatnonzero((grid.buses.gs != 0) | (grid.buses.bs != 0))
    share, on = variables.add("share", len(loads)), variables.add("on", len(shunts))
    block = SwitchedShuntBlock(
        "shunts", flow.vm[shunts], on, grid.buses.gs[shunts], grid.buses.bs[shunts],
        np.stack([flow.balance_p[shunts], flow.balance_q[shunts]]),
    )  # fmt: skip
    linear = [
        *flow.linear,
        LinearTerms(flow.balance_p[loads], share, grid.buses.pd[loads]),
        LinearTerms(flow.balance_q[loads], share, grid.buses.qd[loads]),
        LinearTerms(np.full(len(loads), OBJECTIVE), share, -load(grid)[loads]),
    ]
    problem = build(variables, rows, [*flow.blocks, block], linear)
    return _Model(grid, problem, flow, share, on, loads, shunts)


def _bounds(model: _Model, rules: Rules) -> Bounds:
    n, m = model.problem.n_variable, model.problem.n_constraint
    bounds = Bounds(np.full(n, -np.inf), np.full(n, np.inf), np.full(m, -np.inf), np.full(m, np.inf))
    none = np.zeros(model.grid.n_bus)
    grid = replace(model.flow.grid, generators=allowed(model.grid, rules))
    set_bounds(replace(model.flow, grid=grid), Demand(none, none), bounds)
    bounds.x_lower[model.share], bounds.x_upper[model.share] = 0.0, 1.0
    bounds.x_lower[model.on], bounds.x_upper[model.on] = (1.0 if rules is Rules.LITERAL else 0.0), 1.0
    return bounds


_STARTS = ((False, 1.0, False, 0.5), (True, 10.0, False, 0.9), (False, 0.1, True, 0.1))
"""Generators idle?, first barrier, default ordering?, share of loads and shunts."""


def _starts(model: _Model, bounds: Bounds) -> list[Start]:
    starts = []
    for idle, mu, default_ordering, share in _STARTS:
        x = np.zeros(model.problem.n_variable)
        set_flat_start(model.flow, x, idle=idle)
        x[model.share], x[model.on] = share, share
        starts.append(Start(np.clip(x, bounds.x_lower, bounds.x_upper), mu, default_ordering))
    return starts


def _state(model: _Model, x: FloatArray) -> State:
    flow = model.flow
    share, on = np.ones(model.grid.n_bus), np.ones(model.grid.n_bus)
    share[model.loads], on[model.shunts] = np.clip(x[model.share], 0.0, 1.0), np.clip(x[model.on], 0.0, 1.0)
    return State(x[flow.vm], x[flow.va], x[flow.pg], x[flow.qg], share, on)


def _lone_bus(network: Network, rules: Rules) -> Energised:
    """A bus that nothing joins to others: with w = on·vm² its balance is linear, and so is the problem."""
    grid = network.grid
    pd, qd, gs, bs = (float(getattr(grid.buses, name)[0]) for name in ("pd", "qd", "gs", "bs"))
    vmin, vmax = float(grid.buses.vmin[0]), float(grid.buses.vmax[0])
    own = allowed(grid, rules)
    rows = np.array([[pd, gs], [qd, -bs]])
    low = np.array([own.pmin.sum(), own.qmin.sum()])
    high = np.array([own.pmax.sum(), own.qmax.sum()])
    limits = np.concatenate([high, -low])
    finite = np.isfinite(limits)
    found = linprog(
        [-max(pd, 0.0), 0.0], np.vstack([rows, -rows])[finite], limits[finite],
        bounds=[(0.0, 1.0), (vmin**2 if rules is Rules.LITERAL else 0.0, vmax**2)],
    )  # fmt: skip
    if found.status != 0:
        return Energised(Status.INFEASIBLE, "the balance of the bus cannot hold", None, np.zeros(1, np.int64), 1, 0)
    share, square = (float(value) for value in found.x)
    vm = max(np.sqrt(square), vmin)
    need = rows @ found.x
    state = State(
        np.array([vm]), np.zeros(1), _spread(need[0], own.pmin, own.pmax), _spread(need[1], own.qmin, own.qmax),
        np.array([share]), np.array([square / vm**2 if vm > 0 else 0.0]),
    )  # fmt: skip
    return Energised(Status.OPTIMAL, "linear", state, _NONE, 1, 0)


def _spread(need: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Split a total over ranges, as near to zero as may be, the first first."""
    power: FloatArray = np.clip(0.0, low, high)
    rest = need - power.sum()
    for k in range(len(power)):
        step = float(np.clip(rest, low[k] - power[k], high[k] - power[k]))
        power[k] += step
        rest -= step
    return power
