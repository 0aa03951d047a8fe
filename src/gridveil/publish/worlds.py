"""Networks of a joint release: drawn, settled on their totals, and as released. All of it comes after the noise.

Noise in logarithms makes sums too large on average, E e^Lap(b) = 1/(1 − b²), so that loads are scaled to the total
demand, limits to the total capacity, and costs to the merit-order cost; which are facts of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile.profile import as_read_back
from gridveil.errors import GridError, RepairFailed
from gridveil.grid import Grid
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.grid.profile import Profile
from gridveil.publish.plan import Plan
from gridveil.repair.judge import HEADROOM
from gridveil.repair.level import scaled_grid
from gridveil.repair.moving import finite_sum, to_totals, written
from gridveil.wall.cost_numbers import stretched
from gridveil.wall.draw import Drawn, Repair
from gridveil.wall.facts import Fact, FactKind, Source
from gridveil.wall.protection import Group

LEAST_MEAN = 0.2
"""Of 1 − b²: for larger noise the mean of e^Lap(b) says nothing, or does not exist."""


def derived_totals(drawn: Drawn, plan: Plan) -> tuple[Fact, ...]:
    """Totals from the noisy values alone, less what noise adds to them on average."""
    grid, groups = drawn.grid, plan.protection.alpha
    demand = float(grid.buses.pd.sum())
    raw = {
        FactKind.DEMAND: (Group.LOADS, demand * grid.base_mva),
        FactKind.CAPACITY: (Group.LIMITS, finite_sum(grid.generators.pmax) * grid.base_mva),
        FactKind.MERIT: (Group.COSTS, 0.0),
    }
    found = list[Fact]()
    for kind in plan.asked_totals:
        group, value = raw[kind]
        share = max(1.0 - (groups[group] / plan.epsilon_lines) ** 2, LEAST_MEAN)
        if kind is FactKind.MERIT:
            value = _plate(_settled(drawn, found).grid)
        found.append(Fact(kind, None, max(share * value, 1e-6), Source.DERIVED))
    return tuple(found)


def settled(drawn: Drawn, facts: Sequence[Fact]) -> Drawn:
    """The drawn network with its totals; `RepairFailed` if it cannot have them."""
    world = _settled(drawn, facts)
    merit = next((one.value for one in facts if one.kind is FactKind.MERIT), None)
    if merit is None:
        return world
    return world._replace(grid=scaled_grid(world.grid, merit / _plate(world.grid)))


def _settled(drawn: Drawn, facts: Sequence[Fact]) -> Drawn:
    moving, base = drawn.lines.moving, drawn.grid.base_mva
    if moving is None:
        return drawn
    known = {one.kind: one.value / base for one in facts}
    demand, capacity = known.get(FactKind.DEMAND), known.get(FactKind.CAPACITY)
    if capacity is not None:
        served = float(drawn.grid.buses.pd.sum()) if demand is None else demand
        capacity = max(capacity, HEADROOM * (served + float(drawn.grid.buses.gs.sum())))
    moving = replace(moving, demand=demand, capacity=capacity)
    grid = written(to_totals(drawn.grid, moving), moving.table)
    return Drawn(_followed(grid, drawn.grid.generators.pmax), replace(drawn.lines, moving=moving))


def _followed(grid: Grid, before: FloatArray) -> Grid:
    """With breakpoints of piecewise costs at the shares of pmax that they had before it was scaled."""
    now = grid.generators.pmax
    there = np.isfinite(now) & (before != 0)
    factor = np.where(there, np.where(there, now, 1.0) / np.where(there, before, 1.0), 1.0)
    return replace(grid, cost_p=stretched(grid.cost_p, factor)) if len(grid.cost_p.segment_generator) else grid


def _plate(grid: Grid) -> float:
    try:
        plate = copper_plate_cost(grid, float(grid.buses.pd.sum()))
    except GridError as error:
        raise RepairFailed(f"the noisy network has no dispatch without a network ({error})") from error
    if not plate > 0:
        raise RepairFailed("the noisy network would cost nothing without a network, so that its costs have no level")
    return plate


def plates(grid: Grid, profile: Profile, used: Sequence[int]) -> list[float]:
    """The copper-plate cost of every used step of the drawn network."""
    try:
        found = [copper_plate_cost(grid, float(profile.pd[index].sum())) for index in used]
    except GridError as error:
        raise RepairFailed(f"the noisy network has no dispatch without a network ({error})") from error
    if min(found) <= 0:
        raise RepairFailed("the noisy network would cost nothing without a network, so that a surcharge has no meaning")
    return found


def released(drawn: Grid, profile: Profile, result: Repair) -> Profile:
    """The profile in which loads have moved as the repair moved them, as it is read back."""
    now = result.network.grid.buses
    ratios = [
        np.where(then != 0, value / np.where(then != 0, then, 1.0), 1.0)
        for then, value in ((drawn.buses.pd, now.pd), (drawn.buses.qd, now.qd))
    ]
    moved = Profile(profile.step, profile.pd * ratios[0], profile.qd * ratios[1])
    return as_read_back(moved, drawn.base_mva)
