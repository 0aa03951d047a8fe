"""`Network` and operating point -> `Case`: a file written from what is released, never from an input file."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case, Extra
from gridveil.grid import CostCurves, Grid, LineParameters, OperatingPoint, is_transformer
from gridveil.grid.cost import DIGITS  # per-unit quantities were divided by the base: these bring their decimals back


def from_network(
    name: str,
    grid: Grid,
    lines: LineParameters,
    point: OperatingPoint,
    bus_names: tuple[str, ...] | None = None,
) -> Case:
    """The tables of a network with its own operating point in the solved columns; line parameters have 9 digits.

    A transformer has its ratio, 1 too, and a line 0: other tools tell them apart by that, and refuse a line between two
    voltage levels. Which it is, is public structure.
    """
    extras: dict[str, Extra] = {} if bus_names is None else {"bus_name": tuple((text,) for text in bus_names)}
    return Case(
        name=name,
        base_mva=grid.base_mva,
        bus=_bus(grid, point),
        gen=_gen(grid, point),
        branch=_branch(grid, lines, point),
        gencost=_gencost(grid),
        extras=extras,
    )


def _tidy(values: FloatArray, digits: int = DIGITS) -> FloatArray:
    return np.array([float(f"{value:.{digits - 1}e}") for value in np.asarray(values, float).tolist()])


def _bus(grid: Grid, point: OperatingPoint) -> FloatArray:
    buses, base = grid.buses, grid.base_mva
    table = np.zeros((grid.n_bus, 13))
    has_generator = np.isin(np.arange(grid.n_bus), grid.generators.bus)
    table[:, c.BUS_NUMBER] = buses.number
    table[:, c.BUS_TYPE] = np.where(buses.is_reference, c.REFERENCE_BUS, np.where(has_generator, c.PV_BUS, c.PQ_BUS))
    for column, values in ((c.PD, buses.pd), (c.QD, buses.qd), (c.GS, buses.gs), (c.BS, buses.bs)):
        table[:, column] = _tidy(values * base)
    table[:, c.AREA] = table[:, c.ZONE] = 1
    table[:, c.VM], table[:, c.VA] = point.vm, np.rad2deg(point.va)
    table[:, c.BASE_KV], table[:, c.VMAX], table[:, c.VMIN] = buses.base_kv, buses.vmax, buses.vmin
    return table


def _gen(grid: Grid, point: OperatingPoint) -> FloatArray:
    generators, base = grid.generators, grid.base_mva
    table = np.zeros((grid.n_generator, c.GEN_WIDTH))
    table[:, c.GEN_BUS] = grid.buses.number[generators.bus]
    table[:, c.VG], table[:, c.MBASE], table[:, c.GEN_STATUS] = point.vm[generators.bus], base, 1
    limits = (c.QMAX, generators.qmax), (c.QMIN, generators.qmin), (c.PMAX, generators.pmax), (c.PMIN, generators.pmin)
    for column, values in limits:
        table[:, column] = _tidy(values * base)
    table[:, c.PG] = _inside(point.pg * base, table[:, c.PMIN], table[:, c.PMAX])
    table[:, c.QG] = _inside(point.qg * base, table[:, c.QMIN], table[:, c.QMAX])
    return table


def _inside(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Values that are outside their limits by no more than the rounding of file units are at the limits."""
    return np.where(
        np.isclose(values, np.clip(values, low, high), rtol=1e-12, atol=0), np.clip(values, low, high), values
    )


def _branch(grid: Grid, lines: LineParameters, point: OperatingPoint) -> FloatArray:
    ends, base = grid.lines, grid.base_mva
    table = np.zeros((grid.n_line, 17))
    table[:, c.FROM], table[:, c.TO] = grid.buses.number[ends.bus_from], grid.buses.number[ends.bus_to]
    r, x = lines.impedance()
    table[:, c.R], table[:, c.X], table[:, c.B] = _tidy(r, 9), _tidy(x, 9), _tidy(lines.bc, 9)
    table[:, c.RATE_A] = np.where(
        np.isinf(ends.rating), 0.0, _tidy(np.where(np.isinf(ends.rating), 0, ends.rating) * base)
    )
    table[:, c.RATIO] = np.where(is_transformer(grid), ends.tap, 0.0)
    table[:, c.SHIFT] = _tidy(np.rad2deg(ends.shift))
    table[:, c.BRANCH_STATUS] = 1
    none = np.isinf(ends.angle_min) & np.isinf(ends.angle_max)
    low, high = np.rad2deg(ends.angle_min), np.rad2deg(ends.angle_max)
    table[:, c.ANGLE_MIN] = np.where(none | np.isinf(low), -360.0, _tidy(np.where(np.isinf(low), 0, low)))
    table[:, c.ANGLE_MAX] = np.where(none | np.isinf(high), 360.0, _tidy(np.where(np.isinf(high), 0, high)))
    table[:, 13:] = np.stack([point.pf, point.qf, point.pt, point.qt], axis=1) * base
    return table


def _gencost(grid: Grid) -> FloatArray:
    blocks = [_cost_rows(grid.cost_p, grid.base_mva)]
    if np.any(grid.cost_q.polynomial) or len(grid.cost_q.segment_generator):
        blocks.append(_cost_rows(grid.cost_q, grid.base_mva))
    width = max((len(row) for block in blocks for row in block), default=5)
    rows = [row + [0.0] * (width - len(row)) for block in blocks for row in block]
    return np.array(rows) if rows else np.zeros((0, 0))


def _cost_rows(curves: CostCurves, base: float) -> list[list[float]]:
    """Model, startup, shutdown, count and terms of every generator."""
    powers = base ** np.arange(curves.polynomial.shape[1])
    rows: list[list[float]] = []
    for i, coefficients in enumerate(curves.polynomial):
        mine = curves.segment_generator == i
        if np.any(mine):
            points = _breakpoints(curves.segment_slope[mine] / base, curves.segment_intercept[mine])
            rows.append([c.PIECEWISE, 0, 0, len(points), *_tidy(np.ravel(points)).tolist()])
        else:
            terms = _tidy(coefficients / powers)[::-1].tolist()
            rows.append([c.POLYNOMIAL, 0, 0, len(terms), *terms])
    return rows


def _breakpoints(slope: FloatArray, intercept: FloatArray) -> list[tuple[float, float]]:
    """Points of the curve max(slope·p + intercept): where neighbours meet, and one unit of power beyond both ends."""
    keep = [0, *(k for k in range(1, len(slope)) if slope[k] > slope[k - 1])]
    meet = [(intercept[a] - intercept[b]) / (slope[b] - slope[a]) for a, b in pairwise(keep)]
    ends = [(meet[0] if meet else 0.0) - 1.0, *meet, (meet[-1] if meet else 0.0) + 1.0]
    return [(p, float(np.max(slope * p + intercept))) for p in ends]
