"""The second-order cone relaxation of power flow (Jabr), with what follows from limits on angles and voltages.

balance_p, balance_q   flows out of every bus (generation, demand and shunts are added by whoever uses them)
drop, cone             the line equations and (w_f/τ²)·ℓ ≥ P² + Q² of every pair of buses
ratings                |S| ≤ rating at both ends, but where voltage limits alone imply it
angle cuts             ∠(V_f·V_t*) between its limits, and the lifted nonlinear cuts of Coffrin, Hijazi and
                       Van Hentenryck, where the limits span less than half a turn
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.conic.bus_pairs import BusPairs, bus_pairs, largest_flows, pair_forms
from gridveil.conic.program import Affine, Builder
from gridveil.errors import GridError
from gridveil.grid.network import Grid, LineParameters


@dataclass(frozen=True, eq=False)
class RelaxedFlow:
    """Where the relaxed power flow stands in a program.

    `wr + j·wi` is the product of the voltages of each pair, `current` its ℓ over `current_scale`; `reach` is how much
    apparent power the lines of a bus can carry away from it.
    """

    pairs: BusPairs
    w: Affine
    wr: Affine
    wi: Affine
    current: Affine
    current_scale: FloatArray
    balance_p: IntArray
    balance_q: IntArray
    reach: FloatArray


def relaxed_flow(builder: Builder, grid: Grid, lines: LineParameters) -> RelaxedFlow:
    """Add variables and rows of the relaxation; the balance rows hold the lines' flows out of each bus."""
    _check(grid)
    pairs, buses, ends = bus_pairs(grid), grid.buses, grid.lines
    forms = pair_forms(grid, lines, pairs)
    most_from, most_to, most_current = largest_flows(grid, lines)
    first = pairs.first
    tap = ends.tap[first]
    cap = np.minimum(ends.rating, most_from)[first]
    scale = np.clip(cap, 0.1, 10.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rated_current = ends.rating[first] * tap / buses.vmin[pairs.bus_from]
    ell = (np.fmin(rated_current, most_current[first]) / scale) ** 2

    w = builder.variables(buses.vmin**2, buses.vmax**2)
    p = builder.variables(-cap / scale, cap / scale, implied=True)
    q = builder.variables(-cap / scale, cap / scale, implied=True)
    current = builder.variables(np.zeros_like(ell), ell, implied=True)
    columns = np.stack(
        [w.columns[0, pairs.bus_from], w.columns[0, pairs.bus_to], p.columns[0], q.columns[0], current.columns[0]]
    )
    units = np.stack([np.ones_like(scale), np.ones_like(scale), scale, scale, scale**2])

    def form(coefficients: FloatArray, of: IntArray | slice = slice(None)) -> Affine:
        return Affine(columns[:, of], coefficients * units[:, of], np.zeros(coefficients.shape[1]))

    z = 1.0 / np.hypot(lines.g, lines.b)[first]
    builder.zero(form(forms.drop / (z * scale)))
    inside = Affine(columns[:1], 1.0 / tap[None] ** 2, np.zeros(len(first)))
    builder.product(inside, current, p, q)
    balance_p, balance_q = builder.zeros(grid.n_bus), builder.zeros(grid.n_bus)
    for bus, flow, most in ((ends.bus_from, forms.s_from, most_from), (ends.bus_to, forms.s_to, most_to)):
        active, reactive = form(flow.real, pairs.of_line), form(flow.imag, pairs.of_line)
        builder.add(balance_p[bus], active)
        builder.add(balance_q[bus], reactive)
        rated = np.flatnonzero(ends.rating < most)
        unit = np.maximum(ends.rating[rated], 1e-3)
        builder.second_order(
            _constant(ends.rating[rated] / unit), active[rated] * (1 / unit), reactive[rated] * (1 / unit)
        )
    wr, wi = form(forms.product.real), form(forms.product.imag)
    _angle_cuts(builder, grid, pairs, w, wr, wi)
    reach = np.zeros(grid.n_bus)
    np.add.at(reach, ends.bus_from, np.minimum(ends.rating, most_from))
    np.add.at(reach, ends.bus_to, np.minimum(ends.rating, most_to))
    return RelaxedFlow(pairs, w, wr, wi, current, scale**2, balance_p, balance_q, reach)


def _angle_cuts(builder: Builder, grid: Grid, pairs: BusPairs, w: Affine, wr: Affine, wi: Affine) -> None:
    limited = np.flatnonzero(pairs.angle_max - pairs.angle_min < np.pi)
    low, high = pairs.angle_min[limited], pairs.angle_max[limited]
    wr, wi = wr[limited], wi[limited]
    builder.nonnegative(wr * np.sin(high) - wi * np.cos(high))
    builder.nonnegative(wi * np.cos(low) - wr * np.sin(low))
    f, t = pairs.bus_from[limited], pairs.bus_to[limited]
    f_min, f_max, t_min, t_max = (limit[bus] for bus in (f, t) for limit in (grid.buses.vmin, grid.buses.vmax))
    middle, half = 0.5 * (high + low), np.cos(0.5 * (high - low))
    f_sum, t_sum, span = f_min + f_max, t_min + t_max, f_min * t_min - f_max * t_max
    along = (wr * np.cos(middle) + wi * np.sin(middle)) * (f_sum * t_sum)
    for f_at, t_at, sign in ((f_max, t_max, 1.0), (f_min, t_min, -1.0)):
        cut = along - w[f] * (t_at * half * t_sum) - w[t] * (f_at * half * f_sum)
        builder.nonnegative(cut - sign * f_at * t_at * half * span)


def _constant(values: FloatArray) -> Affine:
    return Affine(np.zeros((0, len(values)), np.int64), np.zeros((0, len(values))), values)


def _check(grid: Grid) -> None:
    buses = grid.buses
    bad = np.flatnonzero(~((buses.vmin >= 0) & (buses.vmax >= buses.vmin) & (buses.vmax < np.inf)))
    if bad.size:
        raise GridError(
            f"bus {buses.number[bad[0]]} has voltage limits {buses.vmin[bad[0]]:g} to {buses.vmax[bad[0]]:g}: "
            "a relaxation needs 0 ≤ vmin ≤ vmax, both finite"
        )
