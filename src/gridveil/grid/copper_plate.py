"""The copper-plate cost: the cheapest dispatch if there were no network, by merit order. Public: it needs no line.

All generators see one price. Below it a generator gives as little as it may, above it as much; what lies at the price
itself is shared out so that demand is met.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridError
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import Grid

_HALVINGS = 60
_REACH = 1e6
"""Per unit: where a generator without a limit ends."""


@lru_cache(maxsize=256)
def copper_plate_cost(grid: Grid, demand: float) -> float:
    """The cost of the merit order at a total active demand, or `GridError` if the generators cannot meet it.

    Shunts take or give what they do at a voltage of 1.
    """
    demand += float(grid.buses.gs.sum())
    low = np.clip(grid.generators.pmin, -_REACH, _REACH)
    high = np.clip(grid.generators.pmax, -_REACH, _REACH)
    if not low.sum() - 1e-9 <= demand <= high.sum() + 1e-9:
        raise GridError(
            f"the generators can give {low.sum() * grid.base_mva:,.6g} to {high.sum() * grid.base_mva:,.6g} MW, and "
            f"the demand is {demand * grid.base_mva:,.6g} MW: there is no dispatch, with or without a network"
        )
    slopes = np.concatenate([marginal_cost(grid.cost_p, low), marginal_cost(grid.cost_p, high)])
    cheap, dear = float(slopes.min(initial=0.0)) - 1.0, float(slopes.max(initial=0.0)) + 1.0
    for _ in range(_HALVINGS):
        price = 0.5 * (cheap + dear)
        if _supply(grid.cost_p, low, high, price).sum() < demand:
            cheap = price
        else:
            dear = price
    least, most = (_supply(grid.cost_p, low, high, price) for price in (cheap, dear))
    room = float(most.sum() - least.sum())
    share = (demand - float(least.sum())) / room if room > 0 else 0.0
    dispatch = least + np.clip(share, 0.0, 1.0) * (most - least)
    return grid.cost_p.total(dispatch) + grid.cost_q.total(np.zeros(grid.n_generator))


def marginal_cost(curves: CostCurves, power: FloatArray) -> FloatArray:
    """The slope of every generator's cost; at a kink, the one to its right."""
    order = np.arange(1, curves.polynomial.shape[1])
    slope: FloatArray = np.sum(curves.polynomial[:, 1:] * order * power[:, None] ** (order - 1), axis=1)
    if len(curves.segment_generator):
        value = curves.segment_slope * power[curves.segment_generator] + curves.segment_intercept
        top = np.full(len(power), -np.inf)
        np.maximum.at(top, curves.segment_generator, value)
        touches = value >= top[curves.segment_generator] - 1e-9 * (1.0 + np.abs(top[curves.segment_generator]))
        steepest = np.full(len(power), -np.inf)
        np.maximum.at(steepest, curves.segment_generator[touches], curves.segment_slope[touches])
        slope = slope + np.where(np.isfinite(steepest), steepest, 0.0)
    return slope


def _supply(curves: CostCurves, low: FloatArray, high: FloatArray, price: float) -> FloatArray:
    """How much each generator gives at a price: up to where its next unit would cost more."""
    if curves.polynomial.shape[1] <= 3 and not len(curves.segment_generator):
        linear, square = (_coefficient(curves, power) for power in (1, 2))
        ends = np.where(linear <= price, high, low)
        return np.where(square > 0, np.clip((price - linear) / np.where(square > 0, 2 * square, 1.0), low, high), ends)
    below, above = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        worth = marginal_cost(curves, middle) <= price
        below, above = np.where(worth, middle, below), np.where(worth, above, middle)
    return above


def _coefficient(curves: CostCurves, power: int) -> FloatArray:
    polynomial = curves.polynomial
    return polynomial[:, power] if power < polynomial.shape[1] else np.zeros(len(polynomial))
