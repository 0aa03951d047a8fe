"""Power flow in complex numbers: the judge of every operating point.

This module shares no formula with `nlp.line_flow`, which works in real numbers with derivatives; each checks the
other. It evaluates the full π model of a line with a complex tap T = tap·e^(j·shift) at its from end:

    I_f = (y + j·bc/2)/|T|² · V_f − y/T* · V_t        I_t = (y + j·bc/2) · V_t − y/T · V_f        S = V·I*
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ComplexArray, FloatArray
from gridveil.grid.network import Grid, LineParameters, OperatingPoint


def line_flows(grid: Grid, lines: LineParameters, voltage: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Complex power that enters each line at its from end and at its to end."""
    tap = grid.lines.tap * np.exp(1j * grid.lines.shift)
    series = lines.g + 1j * lines.b
    own = series + 0.5j * lines.bc
    v_from, v_to = voltage[grid.lines.bus_from], voltage[grid.lines.bus_to]
    current_from = own / np.abs(tap) ** 2 * v_from - series / np.conj(tap) * v_to
    current_to = own * v_to - series / tap * v_from
    return v_from * np.conj(current_from), v_to * np.conj(current_to)


def operating_point(
    grid: Grid, lines: LineParameters, vm: FloatArray, va: FloatArray, pg: FloatArray, qg: FloatArray
) -> OperatingPoint:
    """Voltages and generation completed by the flows and the cost that follow from them."""
    s_from, s_to = line_flows(grid, lines, vm * np.exp(1j * va))
    cost = grid.cost_p.total(pg) + grid.cost_q.total(qg)
    return OperatingPoint(vm, va, pg, qg, s_from.real, s_from.imag, s_to.real, s_to.imag, cost)


@dataclass(frozen=True)
class Violations:
    """The largest violation of each kind, in per unit or radians; 0 where everything holds.

    Attributes:
        balance_p: Of active balance at a bus.
        balance_q: Of reactive balance.
        voltage: Of a voltage limit.
        generation_p: Of a limit of active generation.
        generation_q: Of reactive generation.
        rating: Of a line's rating.
        angle_difference: Of a limit of angles across a line.

    Examples:
        >>> gv.solve_opf("case14_ieee").violations.largest < 1e-6
        True
    """

    balance_p: float
    balance_q: float
    voltage: float
    generation_p: float
    generation_q: float
    rating: float
    angle_difference: float

    @property
    def largest(self) -> float:
        # max() would let a NaN slip through; here one NaN makes the whole NaN
        return float(np.max(list(vars(self).values())))


def violations(
    grid: Grid,
    lines: LineParameters,
    point: OperatingPoint,
    demand: tuple[FloatArray, FloatArray] | None = None,
) -> Violations:
    """Recompute every constraint of AC-OPF at a point from its voltages and generation alone.

    Args:
        grid: Limits and costs.
        lines: Line parameters.
        point: The state to judge.
        demand: (pd, qd) in per unit; without it the grid's own.

    Returns:
        The largest violation of each kind.

    Raises:
        GridError: The point or the demand is of another network.

    Examples:
        >>> network = gv.load("case14_ieee")
        >>> point = gv.solve_opf(network).point
        >>> gv.violations(network.grid, network.lines, point).balance_p < 1e-6
        True
    """
    pd, qd = (grid.buses.pd, grid.buses.qd) if demand is None else demand
    voltage = point.vm * np.exp(1j * point.va)
    s_from, s_to = line_flows(grid, lines, voltage)
    residual = np.zeros(grid.n_bus, dtype=np.complex128)
    np.add.at(residual, grid.generators.bus, point.pg + 1j * point.qg)
    residual -= pd + 1j * qd + np.abs(voltage) ** 2 * (grid.buses.gs - 1j * grid.buses.bs)
    np.subtract.at(residual, grid.lines.bus_from, s_from)
    np.subtract.at(residual, grid.lines.bus_to, s_to)
    loading = np.maximum(np.abs(s_from), np.abs(s_to))
    # Angles are the optimisation's own variables: the difference is taken as it is, not wrapped to ±π.
    difference = point.va[grid.lines.bus_from] - point.va[grid.lines.bus_to]
    return Violations(
        balance_p=_largest(np.abs(residual.real)),
        balance_q=_largest(np.abs(residual.imag)),
        voltage=_outside(point.vm, grid.buses.vmin, grid.buses.vmax),
        generation_p=_outside(point.pg, grid.generators.pmin, grid.generators.pmax),
        generation_q=_outside(point.qg, grid.generators.qmin, grid.generators.qmax),
        rating=_largest(loading - grid.lines.rating),
        angle_difference=_outside(difference, grid.lines.angle_min, grid.lines.angle_max),
    )


def _outside(value: FloatArray, low: FloatArray, high: FloatArray) -> float:
    return _largest(np.maximum(low - value, value - high))


def _largest(excess: FloatArray) -> float:
    """The largest positive entry, 0 if there is none; NaN if one is NaN."""
    return float(np.max(excess, initial=0.0))
