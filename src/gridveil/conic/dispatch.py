"""Generation and its cost in a relaxation: quadratic costs as they are, convex piecewise-linear ones by epigraph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.conic.program import Affine, Builder
from gridveil.conic.soc import RelaxedFlow
from gridveil.errors import GridError
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import Grid


class Ranges(NamedTuple):
    """Ranges of the generators' active and reactive power, as `Generators` has them or wider."""

    pmin: FloatArray
    pmax: FloatArray
    qmin: FloatArray
    qmax: FloatArray


def add_generation(
    builder: Builder,
    grid: Grid,
    flow: RelaxedFlow,
    ranges: Ranges,
    demand: tuple[FloatArray, FloatArray],
    costs: tuple[CostCurves, CostCurves] | None,
) -> None:
    """Add pg and qg to the balance, and their cost to the objective.

    A generator without a limit cannot make more than demand, shunts, lines and other generators of its bus can take.
    """
    kinds = (
        ("active", ranges.pmin, ranges.pmax, flow.balance_p, grid.buses.gs),
        ("reactive", ranges.qmin, ranges.qmax, flow.balance_q, grid.buses.bs),
    )
    for i, (name, lowest, highest, balance, shunt) in enumerate(kinds):
        most = flow.reach + np.abs(demand[i]) + np.abs(shunt) * grid.buses.vmax**2
        low, high = _finite(grid, lowest, highest, most, name)
        power = builder.variables(low, high)
        builder.add(balance[grid.generators.bus], -power)
        if costs is not None:
            _add_cost(builder, grid, costs[i], power, low, high, name)


def _finite(
    grid: Grid, low: FloatArray, high: FloatArray, most: FloatArray, name: str
) -> tuple[FloatArray, FloatArray]:
    """Limits, with those that are infinite replaced by what the balance of the bus implies."""
    if np.all(np.isfinite(low)) and np.all(np.isfinite(high)):
        return low, high
    bus = grid.generators.bus

    def others(limit: FloatArray) -> FloatArray:
        endless = np.bincount(bus, ~np.isfinite(limit), grid.n_bus)[bus] - ~np.isfinite(limit)
        finite = np.where(np.isfinite(limit), limit, 0.0)
        total = np.bincount(bus, finite, grid.n_bus)[bus] - finite
        return np.where(endless > 0, np.nan, total)

    implied_high, implied_low = most[bus] - others(low), -most[bus] - others(high)
    new_low = np.where(np.isfinite(low), low, np.minimum(implied_low, np.where(np.isfinite(high), high, np.inf)))
    new_high = np.where(np.isfinite(high), high, np.maximum(implied_high, np.where(np.isfinite(low), low, -np.inf)))
    bad = np.flatnonzero(np.isnan(new_low) | np.isnan(new_high))
    if bad.size:
        raise GridError(
            f"generators at bus {grid.buses.number[bus[bad[0]]]} can pass any amount of {name} power to one another, "
            "for one has no lower and another no upper limit: a relaxation has no bound then; give them limits"
        )
    return new_low, new_high


def _add_cost(
    builder: Builder,
    grid: Grid,
    curves: CostCurves,
    power: Affine,
    low: FloatArray,
    high: FloatArray,
    name: str,
) -> None:
    fixed = low == high
    powers = curves.polynomial.shape[1]
    c = np.zeros((len(low), max(powers, 3)))
    c[:, :powers] = curves.polynomial
    value = np.sum(c * np.where(fixed, low, 0.0)[:, None] ** np.arange(c.shape[1]), axis=1)
    builder.constant += float(np.sum(value))
    c[fixed] = 0.0
    _refuse(grid, np.any(c[:, 3:] != 0, axis=1), name, "has a term beyond the square", "give a quadratic or a convex")
    _refuse(grid, c[:, 2] < 0, name, "is concave (its square has a negative factor)", "give its convex hull as a")
    builder.minimise(power, c[:, 1], c[:, 2])
    if not len(curves.segment_generator):
        return
    generator, place = np.unique(curves.segment_generator, return_inverse=True)
    slope, intercept = curves.segment_slope, curves.segment_intercept
    ends = np.stack([slope * limit[curves.segment_generator] + intercept for limit in (low, high)])
    least, most = np.full(len(generator), -np.inf), np.full(len(generator), -np.inf)
    np.maximum.at(most, place, np.max(ends, axis=0))
    np.maximum.at(least, place, np.min(ends, axis=0))  # each segment is below the curve
    # in units of the curve's range: the epigraph is then as large as the power
    unit = np.maximum(most - least, 1e-3)
    epigraph = builder.variables(np.zeros_like(unit), (most - least) / unit, implied=True)
    builder.constant += float(np.sum(least))
    builder.minimise(epigraph, unit)
    segment = power[curves.segment_generator] * slope + (intercept - least[place])
    builder.nonnegative(epigraph[place] - segment * (1.0 / unit[place]))


def _refuse(grid: Grid, bad: BoolArray, name: str, problem: str, advice: str) -> None:
    rows = np.flatnonzero(bad)
    if rows.size:
        bus = grid.buses.number[grid.generators.bus[rows[0]]]
        raise GridError(
            f"the {name} cost of generator {rows[0] + 1}, at bus {bus}, {problem}: no convex relaxation has it; "
            f"{advice} piecewise-linear cost"
        )
