"""Flow attacks: the lines that carry most in the optimal dispatch of whatever network the attacker has.

Who has the true network, or a released one, solves its AC-OPF (the paper's real and obfuscated flow attacks). Who has
no line data gives every line the parameters of its voltage level and does the same (`public_lines`). Who has a map
alone, with the sites of loads and units, and total demand, gives all of them their like (`topology_network`): what he
finds no release can hide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import (
    CostCurves,
    Generators,
    Grid,
    LineParameters,
    Network,
    line_flows,
    line_levels_kv,
)
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.restoration import Restoration, restore
from gridveil.nlp.solver import SolverOptions, Status

LENGTH_KM = 50.0
REACTANCE_OHM_PER_KM = 0.4
RESISTANCE_SHARE = 0.1
CHARGING_S_PER_KM = 3e-6
"""Textbook values of overhead lines: they hardly depend on the voltage, so in per unit they fall with its square."""


class Dispatch(NamedTuple):
    """How a network is run: generation, and the larger |active flow| of both ends of every line."""

    pg: FloatArray
    flow: FloatArray


def expected_dispatch(network: Network, options: SolverOptions | None = None) -> Dispatch:
    """How an attacker expects a network to be run: at its AC-OPF, or, if that is not solved, serving all it can."""
    solution = solve_opf(opf_model(network.grid), network.lines, options=options)
    if solution.status is Status.OPTIMAL:
        point = solution.point
        return Dispatch(point.pg, np.maximum(np.abs(point.pf), np.abs(point.pt)))
    quick = replace(options or SolverOptions(), max_iterations=150, starts=1)  # a guess need not be the best there is
    done = restore(network, [], options=quick)
    return Dispatch(done.state.pg, carried(network, done))


def carried(network: Network, done: Restoration) -> FloatArray:
    """What every line of the whole network carries once load is restored; nothing, if it is cut, open or dead."""
    lines, state = network.grid.lines, done.state
    ends = line_flows(network.grid, network.lines, state.vm * np.exp(1j * state.va))
    flow: FloatArray = np.maximum(np.abs(ends[0].real), np.abs(ends[1].real))
    flow[(state.vm[lines.bus_from] == 0) | (state.vm[lines.bus_to] == 0)] = 0.0
    flow[done.cut] = flow[done.opened] = 0.0
    return flow


def by_flow(dispatch: Dispatch) -> IntArray:
    """All lines, the largest flow first; of equal ones (to 1e-6 p.u.) the first in the file."""
    flow = np.round(dispatch.flow, 6)
    return np.lexsort((np.arange(len(flow)), -flow)).astype(np.int64)


def level_means(grid: Grid, lines: LineParameters) -> LineParameters:
    """Every line at the mean of its voltage level; of a released network these means are as public as it is."""
    _, level = np.unique(line_levels_kv(grid), return_inverse=True)
    count = np.bincount(level)

    def mean(values: FloatArray) -> FloatArray:
        result: FloatArray = (np.bincount(level, weights=values) / count)[level]
        return result

    return LineParameters(mean(lines.g), mean(lines.b), mean(lines.bc))


def textbook_lines(grid: Grid) -> LineParameters:
    """Every line as 50 km of an ordinary overhead line at its voltage level; no line of any file is looked at.

    Where the file names no voltage, x = 0.1 p.u. and no charging: one common value, whose size hardly moves flows.
    """
    level = line_levels_kv(grid)
    ohm = np.where(level > 0, level, 1.0) ** 2 / grid.base_mva
    known = level > 0
    x = np.where(known, LENGTH_KM * REACTANCE_OHM_PER_KM / ohm, 0.1)
    return LineParameters.from_impedance(
        RESISTANCE_SHARE * x, x, np.where(known, LENGTH_KM * CHARGING_S_PER_KM * ohm, 0)
    )


POWER_FACTOR = 0.3
"""Reactive over active demand of a load that nothing is known of."""
RESERVE = 1.5
"""Capacity over demand."""


def topology_network(grid: Grid) -> Network:
    """What a map tells: textbook lines without ratings, the demand shared alike by all loads and by all units."""
    loads, units = grid.buses.pd > 0, grid.generators.pmax > 0
    demand = float(grid.buses.pd[loads].sum())
    each = np.where(loads, demand / max(int(loads.sum()), 1), 0.0)
    top = np.where(units, RESERVE * demand / max(int(units.sum()), 1), 0.0)
    reactive = RESERVE * each.max(initial=0.0) + top
    made = Generators(grid.generators.bus, np.zeros(len(top)), top, -reactive, reactive)
    square = np.tile([0.0, 0.0, 1.0], (grid.n_generator, 1))  # dearer by the unit: all give alike
    free = np.full(grid.n_line, np.inf)
    plain = replace(
        grid,
        buses=replace(grid.buses, pd=each, qd=POWER_FACTOR * each, gs=0.0 * each, bs=0.0 * each),
        generators=made,
        lines=replace(grid.lines, rating=free, angle_min=-free, angle_max=free),
        cost_p=CostCurves(square, np.zeros(0, np.int64), np.zeros(0), np.zeros(0)),
        cost_q=CostCurves.zero(grid.n_generator),
    )
    return Network(plain, textbook_lines(grid))


def public_lines(grid: Grid, released: LineParameters | None = None) -> LineParameters:
    """What stands for line data where there is none: the level means of a release, or, without one, textbook values."""
    return textbook_lines(grid) if released is None else level_means(grid, released)
