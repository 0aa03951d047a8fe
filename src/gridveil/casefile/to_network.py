"""`Case` -> `Network`: file units to per unit, elements out of service left out, conventions of the format resolved."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.service import branches_in_service, bus_rows, buses_in_service, generators_in_service
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import (
    Buses,
    Generators,
    Grid,
    LineKind,
    LineParameters,
    Lines,
    Network,
    OperatingPoint,
)
from gridveil.grid.physics import operating_point


def to_network(case: Case) -> Network:
    """The network of the elements in service. A `Case` from `read` always has one."""
    live = buses_in_service(case)
    index = np.cumsum(live) - 1
    gen = case.gen[generators_in_service(case)]
    branch = case.branch[branches_in_service(case)]
    grid = Grid(
        base_mva=case.base_mva,
        buses=_buses(case.bus[live], case.base_mva),
        generators=_generators(gen, index[bus_rows(case, gen[:, c.GEN_BUS])] if len(gen) else index[:0], case.base_mva),
        lines=_lines(case, branch, index),
        cost_p=_costs(case, reactive=False),
        cost_q=_costs(case, reactive=True),
    )
    if len(branch) == 0:
        return Network(grid, LineParameters(np.zeros(0), np.zeros(0), np.zeros(0)))
    return Network(grid, LineParameters.from_impedance(branch[:, c.R], branch[:, c.X], branch[:, c.B]))


def written_point(case: Case, network: Network) -> OperatingPoint:
    """The solved state in the file, with the flows and the cost that follow from it."""
    bus, gen = case.bus[buses_in_service(case)], case.gen[generators_in_service(case)]
    power = gen[:, [c.PG, c.QG]] / case.base_mva if len(gen) else np.zeros((0, 2))
    return operating_point(*network, bus[:, c.VM], np.deg2rad(bus[:, c.VA]), power[:, 0], power[:, 1])


def _buses(bus: FloatArray, base: float) -> Buses:
    return Buses(
        number=bus[:, c.BUS_NUMBER].astype(np.int64),
        base_kv=bus[:, c.BASE_KV],
        pd=bus[:, c.PD] / base,
        qd=bus[:, c.QD] / base,
        gs=bus[:, c.GS] / base,
        bs=bus[:, c.BS] / base,
        vmin=bus[:, c.VMIN],
        vmax=bus[:, c.VMAX],
        is_reference=bus[:, c.BUS_TYPE] == c.REFERENCE_BUS,
    )


def _generators(gen: FloatArray, bus: IntArray, base: float) -> Generators:
    if len(gen) == 0:
        none = np.zeros(0)
        return Generators(np.zeros(0, np.int64), none, none, none, none)
    return Generators(
        bus=bus,
        pmin=gen[:, c.PMIN] / base,
        pmax=gen[:, c.PMAX] / base,
        qmin=gen[:, c.QMIN] / base,
        qmax=gen[:, c.QMAX] / base,
    )


def _lines(case: Case, branch: FloatArray, index: IntArray) -> Lines:
    if len(branch) == 0:
        none, nobody = np.zeros(0), np.zeros(0, np.int64)
        return Lines(nobody, nobody, none, none, none, none, none, nobody)
    ratio, rating = branch[:, c.RATIO], branch[:, c.RATE_A]
    angle_min, angle_max = _angle_limits(branch)
    r = branch[:, c.R]
    kind = np.where(r > 0, LineKind.LOSSY, np.where(r == 0, LineKind.LOSSLESS, LineKind.NEGATIVE_RESISTANCE))
    return Lines(
        bus_from=index[bus_rows(case, branch[:, c.FROM])],
        bus_to=index[bus_rows(case, branch[:, c.TO])],
        tap=np.where(ratio == 0, 1.0, ratio),
        shift=np.deg2rad(branch[:, c.SHIFT]),
        rating=np.where(rating == 0, np.inf, rating / case.base_mva),
        angle_min=angle_min,
        angle_max=angle_max,
        kind=kind.astype(np.int64),
    )


def _angle_limits(branch: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Angle-difference limits in radians: 0 and 0 together mean none, and so does ±360 or beyond on its side."""
    if branch.shape[1] <= c.ANGLE_MAX:
        return np.full(len(branch), -np.inf), np.full(len(branch), np.inf)
    low, high = branch[:, c.ANGLE_MIN], branch[:, c.ANGLE_MAX]
    none = (low == 0) & (high == 0)
    return (
        np.where(none | (low <= -360), -np.inf, np.deg2rad(low)),
        np.where(none | (high >= 360), np.inf, np.deg2rad(high)),
    )


def _costs(case: Case, *, reactive: bool) -> CostCurves:
    """Cost curves of the generators in service; the second block of a doubled gencost is for reactive power."""
    live = np.flatnonzero(generators_in_service(case))
    rows = live + len(case.gen) if reactive else live
    if len(case.gencost) == 0 or (reactive and len(case.gencost) == len(case.gen)):
        return CostCurves.zero(len(live))
    cost = case.gencost[rows]
    polynomial = _polynomials(cost, case.base_mva)
    generator: list[int] = []
    slope: list[float] = []
    intercept: list[float] = []
    for i in np.flatnonzero(cost[:, c.COST_MODEL] == c.PIECEWISE):
        points = cost[i, c.COST_FIRST : c.COST_FIRST + 2 * int(cost[i, c.COST_COUNT])].reshape(-1, 2)
        for (x0, y0), (x1, y1) in pairwise(points):
            steep = (y1 - y0) / (x1 - x0)
            generator.append(int(i))
            slope.append(steep * case.base_mva)
            intercept.append(y0 - steep * x0)
    return CostCurves(polynomial, np.array(generator, np.int64), np.array(slope), np.array(intercept))


def _polynomials(cost: FloatArray, base: float) -> FloatArray:
    """Coefficients in ascending powers of per-unit power; rows with a piecewise cost stay zero."""
    is_polynomial = cost[:, c.COST_MODEL] == c.POLYNOMIAL
    count = np.where(is_polynomial, cost[:, c.COST_COUNT], 0).astype(np.int64)
    result = np.zeros((len(cost), max(int(count.max(initial=1)), 1)))
    for n in np.unique(count[count > 0]):
        rows = np.flatnonzero(count == n)
        result[rows[:, None], np.arange(n)] = cost[rows, c.COST_FIRST : c.COST_FIRST + n][:, ::-1]
    # trailing powers that nobody uses would only cost time in every evaluation
    used = np.flatnonzero(np.any(result != 0, axis=0))
    result = result[:, : (used[-1] + 1 if used.size else 1)]
    return result * base ** np.arange(result.shape[1])
