"""Pairs of joined buses and the flows of their lines, linear in five numbers per pair.

A pair takes its direction from its first line; parallel and reversed lines share it. With T the tap, z the series
impedance and h = bc/2 of the first line, u = V_f/T, I its sending-end current, S = P + jQ = u·I* and ℓ = |I|², flows
of all lines of the pair, the product of the two voltages and the drop along the line are linear in

    w_f = |V_f|², w_t = |V_t|², P, Q, ℓ

and |V_f·V_t*|² ≤ w_f·w_t says the same as P² + Q² ≤ (w_f/τ²)·ℓ. The products themselves are a poor choice of variables:
flows are then small differences of large numbers, and solvers stall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from gridveil.errors import GridError
from gridveil.grid.network import Grid, LineParameters
from gridveil.grid.topology import corridors


@dataclass(frozen=True, eq=False)
class BusPairs:
    """`first` line and two buses per pair; the pair of each line, and whether the line runs against it."""

    first: IntArray
    bus_from: IntArray
    bus_to: IntArray
    angle_min: FloatArray
    angle_max: FloatArray
    of_line: IntArray
    against: BoolArray


def bus_pairs(grid: Grid) -> BusPairs:
    """The pairs of a grid. An angle limit of a pair is the tightest one of its lines."""
    ends = grid.lines
    of_line = corridors(grid)
    first = np.unique(of_line, return_index=True)[1]
    bus_from, bus_to = ends.bus_from[first], ends.bus_to[first]
    against = ends.bus_from != bus_from[of_line]
    angle_min, angle_max = np.full(len(first), -np.inf), np.full(len(first), np.inf)
    np.maximum.at(angle_min, of_line, np.where(against, -ends.angle_max, ends.angle_min))
    np.minimum.at(angle_max, of_line, np.where(against, -ends.angle_min, ends.angle_max))
    return BusPairs(first, bus_from, bus_to, angle_min, angle_max, of_line, against)


def series_impedance(grid: Grid, lines: LineParameters) -> ComplexArray:
    """z of every line; refuses lines that have none."""
    y = lines.g + 1j * lines.b
    bad = np.flatnonzero(~np.isfinite(y) | (y == 0) | ~np.isfinite(lines.bc))
    if bad.size:
        k = bad[0]
        one, two = grid.buses.number[grid.lines.bus_from[k]], grid.buses.number[grid.lines.bus_to[k]]
        raise GridError(
            f"line {k + 1}, from bus {one} to bus {two}, has the admittance {y[k]:.6g} and charging {lines.bc[k]:.6g}: "
            "a relaxation needs finite numbers and an impedance; merge the buses of a line without impedance, remove a "
            "line without admittance"
        )
    return np.asarray(1.0 / y, dtype=np.complex128)


@dataclass(frozen=True, eq=False)
class PairForms:
    """Linear forms as coefficients of (w_f, w_t, P, Q, ℓ) of the pair, (5, lines or pairs); a complex one is two.

    `s_from`, `s_to` are the flows of every line; per pair, `product` is V_f·V_t* and `drop` is zero.
    """

    s_from: ComplexArray
    s_to: ComplexArray
    product: ComplexArray
    drop: FloatArray


def pair_forms(grid: Grid, lines: LineParameters, pairs: BusPairs) -> PairForms:
    """The forms of a network.

    A line whose from end is at the voltage γ·N and whose series current is y·(α·N + β·I), with N a voltage and I the
    series current of the first line, has the series flow γ·y*·(α*·|N|² + β*·N·I*). So written, equal taps give α = 0
    exactly, and nothing large cancels.
    """
    z, h = series_impedance(grid, lines), 0.5 * lines.bc
    tap = grid.lines.tap * np.exp(1j * grid.lines.shift)
    w_f, w_t, p, q, current = np.eye(5)[:, :, None] * np.ones(len(pairs.first))
    z1, h1, tap1 = z[pairs.first], h[pairs.first], tap[pairs.first]
    inside = w_f / np.abs(tap1) ** 2  # |u|²
    series = p + 1j * (q + h1 * inside)
    series_current = current + h1 * h1 * inside + 2 * h1 * q
    drop = inside - 2 * (np.conj(z1) * series).real + np.abs(z1) ** 2 * series_current - w_t
    product = tap1 * (inside - np.conj(z1) * series)

    k, against = pairs.of_line, pairs.against
    near = np.where(against, w_t[:, k], inside[:, k])  # |N|²
    power = series[:, k] - np.where(against, z1[k], 0.0) * series_current[:, k]  # N·I*
    gamma = np.where(against, 1.0, tap1[k]) / tap
    alpha = np.where(against, 1.0 / tap - tap1[k], tap1[k] / tap - 1.0)
    alpha[pairs.first] = 0.0
    gamma[pairs.first] = 1.0
    beta = np.where(against, -tap1[k], 1.0) * z1[k]
    y = lines.g + 1j * lines.b
    flow = gamma * np.conj(y) * (np.conj(alpha) * near + np.conj(beta) * power)
    square = np.abs(y) ** 2 * (
        np.abs(alpha) ** 2 * near + np.abs(beta) ** 2 * series_current[:, k] + 2 * (alpha * np.conj(beta) * power).real
    )
    w_from, w_to = np.where(against, w_t[:, k], w_f[:, k]), np.where(against, w_f[:, k], w_t[:, k])
    return PairForms(
        s_from=flow - 1j * h * w_from / np.abs(tap) ** 2,
        s_to=z * square - flow - 1j * h * w_to,
        product=product,
        drop=drop,
    )


def largest_flows(grid: Grid, lines: LineParameters) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What voltage limits alone leave: the largest |S_f|, |S_t| and sending-end |I| of every line."""
    y = np.abs(lines.g + 1j * lines.b)
    own = np.abs(lines.g + 1j * (lines.b + 0.5 * lines.bc))
    v_from = grid.buses.vmax[grid.lines.bus_from] / grid.lines.tap
    v_to = grid.buses.vmax[grid.lines.bus_to]
    current = own * v_from + y * v_to
    return v_from * current, v_to * (own * v_to + y * v_from), current
