"""What the QC relaxation (Coffrin, Hijazi, Van Hentenryck) adds to the SOC one: voltages and angles themselves.

    v, va                 magnitudes with w ≥ v² and the chord above it; angles
    cs, si                envelopes of cosine and sine of the angle difference of every pair
    wr = v_f·v_t·cs, wi = v_f·v_t·si
                          by McCormick envelopes one in another, as the published baselines have it ("recursive"), or
                          by the convex hull of each triple product ("lambda"), which is tighter
    ℓ ≤ (rating·τ/vmin)²

Pairs without angle limits, or with limits beyond a quarter turn, keep the SOC relaxation alone.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra

from gridveil.arrays import FloatArray, IntArray
from gridveil.conic.program import Affine, Builder
from gridveil.conic.soc import RelaxedFlow
from gridveil.grid.network import Grid

NARROW = 1e-2
"""Per unit or radians: ranges narrower than this are not blown up to unit size, which would make numbers too large."""


def tighten(builder: Builder, grid: Grid, flow: RelaxedFlow, products: str = "recursive") -> None:
    """Add the QC constraints to a relaxed flow; `products` is "recursive" or "lambda"."""
    pairs = flow.pairs
    with np.errstate(invalid="ignore"):
        known = np.flatnonzero((pairs.angle_min >= -np.pi / 2) & (pairs.angle_max <= np.pi / 2))
    low, high = pairs.angle_min[known], pairs.angle_max[known]
    f, t = pairs.bus_from[known], pairs.bus_to[known]
    v = _magnitudes(builder, grid, flow)
    cs, si = _cosine_and_sine(builder, _difference(builder, grid.n_bus, f, t, low, high), low, high)
    _limit_currents(builder, grid, flow)
    limits = [
        (grid.buses.vmin[f], grid.buses.vmax[f]),
        (grid.buses.vmin[t], grid.buses.vmax[t]),
        (
            np.minimum(np.cos(low), np.cos(high)),
            np.where((low <= 0) & (high >= 0), 1.0, np.maximum(np.cos(low), np.cos(high))),
        ),
        (np.sin(low), np.sin(high)),
    ]
    wr, wi = flow.wr[known], flow.wi[known]
    if products == "lambda":
        _triple_products(builder, (v[f], v[t], cs, si), limits, wr, wi)
        return
    (f_min, f_max), (t_min, t_max), cosine, sine = limits
    both = (f_min * t_min, f_max * t_max)
    vv = builder.variables(*both, implied=True)
    _mccormick(builder, vv, v[f], v[t], limits[0], limits[1])
    _mccormick(builder, wr, vv, cs, both, cosine)
    _mccormick(builder, wi, vv, si, both, sine)


def _magnitudes(builder: Builder, grid: Grid, flow: RelaxedFlow) -> Affine:
    """v = c + r·v̂ around the centre of its range; then w = c² + 2·c·r·v̂ + r²·e, v̂² ≤ e ≤ (v̂'s limit)²."""
    centre, radius = 0.5 * (grid.buses.vmax + grid.buses.vmin), 0.5 * (grid.buses.vmax - grid.buses.vmin)
    unit = np.maximum(radius, NARROW)
    v = builder.variables(-radius / unit, radius / unit, implied=True)
    free = np.flatnonzero(radius > 0)
    c, r, x = centre[free], unit[free], v[free]
    excess = (flow.w[free] - c * c) * (1.0 / r**2) - x * (2.0 * c / r)
    builder.second_order((excess + 1.0) * 0.5, (excess - 1.0) * 0.5, x)
    builder.nonnegative(-excess + (radius[free] / r) ** 2)
    return v * unit + centre


def _difference(builder: Builder, n_bus: int, f: IntArray, t: IntArray, low: FloatArray, high: FloatArray) -> Affine:
    """va_f − va_t of every pair; va is zero at one bus of each group that such pairs hold together."""
    reach = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-9)
    graph = coo_array((reach, (f, t)), shape=(n_bus, n_bus)).tocsr()
    _, group = connected_components(graph, directed=False)
    reference = np.unique(group, return_index=True)[1]
    far = dijkstra(graph, directed=False, indices=reference, min_only=True)
    va = builder.variables(-far, far, implied=True)
    return va[f] - va[t]


def _cosine_and_sine(builder: Builder, delta: Affine, low: FloatArray, high: FloatArray) -> tuple[Affine, Affine]:
    most = np.maximum(np.maximum(np.abs(low), np.abs(high)), NARROW)  # envelopes of a wider range hold in a narrow one
    across = (low <= 0) & (high >= 0)
    cos_low, cos_high = np.cos(low), np.cos(high)
    cs = builder.variables(
        np.minimum(cos_low, cos_high), np.where(across, 1.0, np.maximum(cos_low, cos_high)), implied=True
    )
    si = builder.variables(np.sin(low), np.sin(high))
    # between ∓m the curve above cs and the chord below it say the same
    own = np.flatnonzero((low != -high) | (high < NARROW))
    builder.nonnegative(-delta[own] + high[own])
    builder.nonnegative(delta[own] - low[own])
    # 1 − cs ≥ (1 − cos m)·(delta/m)² with m = most, both sides over 1 − cos m
    depth = (-cs + 1.0) * (1.0 / (2.0 * np.sin(0.5 * most) ** 2))
    builder.second_order((depth + 1.0) * 0.5, (depth - 1.0) * 0.5, delta * (1.0 / most))
    span = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        chord_cos = np.where(span > 0, (cos_high - cos_low) / span, 0.0)
        chord_sin = np.where(span > 0, (np.sin(high) - np.sin(low)) / span, 0.0)
    builder.nonnegative(cs - (delta - low) * chord_cos - cos_low)
    half, slope = 0.5 * most, np.cos(0.5 * most)
    # a tangent where sine bends that way, its chord where it bends only the other way
    above, below = high > 0, low < 0
    builder.nonnegative(
        (delta * np.where(above, slope, chord_sin) - si)
        + np.where(above, np.sin(half) - slope * half, np.sin(low) - chord_sin * low)
    )
    builder.nonnegative(
        (si - delta * np.where(below, slope, chord_sin))
        + np.where(below, np.sin(half) - slope * half, chord_sin * low - np.sin(low))
    )
    return cs, si


Limits = tuple[FloatArray, FloatArray]


def _mccormick(builder: Builder, z: Affine, x: Affine, y: Affine, x_limits: Limits, y_limits: Limits) -> None:
    """The convex hull of z = x·y over a box; where x or y is a number, the product itself."""
    (x_min, x_max), (y_min, y_max) = x_limits, y_limits
    flat = (x_max <= x_min) | (y_max <= y_min)

    def corner(x_at: FloatArray, y_at: FloatArray) -> Affine:
        return z - x * y_at - y * x_at + x_at * y_at

    builder.zero(corner(x_min, y_min)[flat])
    for x_at, y_at, sign in ((x_min, y_min, 1), (x_max, y_max, 1), (x_min, y_max, -1), (x_max, y_min, -1)):
        builder.nonnegative((corner(x_at, y_at) * float(sign))[~flat])


def _triple_products(
    builder: Builder, factors: tuple[Affine, ...], limits: list[Limits], wr: Affine, wi: Affine
) -> None:
    """Each triple product as a mixture of its values at the eight corners of its box; both agree on v_f·v_t."""
    count = len(wr.constant)
    mixtures = []
    for third, value in ((2, wr), (3, wi)):
        which = (0, 1, third)
        weights = [builder.variables(np.zeros(count), np.ones(count), implied=True) for _ in range(8)]
        corners = [[limits[i][end] for i, end in zip(which, ends, strict=True)] for ends in product((0, 1), repeat=3)]
        for weight in weights:
            builder.nonnegative(weight)
        builder.zero(_mix(weights, [np.ones(count)] * 8) - 1.0)
        for place, i in enumerate(which):
            builder.zero(_mix(weights, [corner[place] for corner in corners]) - factors[i])
        builder.zero(_mix(weights, [corner[0] * corner[1] * corner[2] for corner in corners]) - value)
        mixtures.append(_mix(weights, [corner[0] * corner[1] for corner in corners]))
    builder.zero(mixtures[0] - mixtures[1])


def _mix(weights: list[Affine], values: list[FloatArray]) -> Affine:
    total = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = total + weight * value
    return total


def _limit_currents(builder: Builder, grid: Grid, flow: RelaxedFlow) -> None:
    first, bus = flow.pairs.first, flow.pairs.bus_from
    rated = np.flatnonzero(np.isfinite(grid.lines.rating[first]) & (grid.buses.vmin[bus] > 0))
    line = first[rated]
    most = (grid.lines.rating[line] * grid.lines.tap[line] / grid.buses.vmin[bus[rated]]) ** 2
    builder.nonnegative(-flow.current[rated] + most / flow.current_scale[rated])
