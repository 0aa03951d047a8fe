"""The part that every problem shares: variables, balance, ratings and angle limits of one snapshot of a network.

    balance_p, balance_q      flows out + shunts − generation = −demand, at every bus
    rating_from, rating_to    |S|²/rating ≤ rating, at both ends of every rated line
    angle_difference          angle_min ≤ va_f − va_t ≤ angle_max, where limited

Demand and limits stand in the bounds of the problem, line parameters and ratings are numbers of the line block (or
the logarithms of the former are variables): one pattern serves every world of a grid that costs the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid.network import Grid, LineParameters
from gridveil.grid.topology import islands, reference_buses
from gridveil.nlp.blocks import NO_ROW, Block, LineBlock, ShuntBlock
from gridveil.nlp.problem import Layout, LinearTerms
from gridveil.nlp.solver import Bounds


class Demand(NamedTuple):
    """Active and reactive demand of every bus, in per unit.

    Attributes:
        pd: Active.
        qd: Reactive.

    Examples:
        >>> buses = gv.load("case14_ieee").grid.buses
        >>> gv.solve_opf("case14_ieee", gv.Demand(0.9 * buses.pd, 0.9 * buses.qd)).cost < 2178
        True
    """

    pd: FloatArray
    qd: FloatArray

    def __repr__(self) -> str:
        return f"Demand({len(self.pd)} buses)"


@dataclass(frozen=True, eq=False)
class PowerFlow:
    """Where one snapshot stands in a problem: its columns, its rows (0 is the objective), its blocks."""

    grid: Grid
    va: IntArray
    vm: IntArray
    pg: IntArray
    qg: IntArray
    balance_p: IntArray
    balance_q: IntArray
    rating_from: IntArray
    rating_to: IntArray
    angle_difference: IntArray
    rated: IntArray
    angle_limited: IntArray
    references: IntArray
    blocks: Sequence[Block]
    linear: Sequence[LinearTerms]


def power_flow(
    grid: Grid, variables: Layout, rows: Layout, parameter_columns: IntArray | None = None, name: str = ""
) -> PowerFlow:
    """Add one snapshot to a problem; `name` tells its ranges from those of other snapshots.

    With `parameter_columns` (3, n_line) logarithms of g, b and bc over their bases are variables of the problem and the
    bases are numbers of the block `lines`; else the parameters themselves are.
    """
    lines, generators = grid.lines, grid.generators
    n_bus, n_gen = grid.n_bus, grid.n_generator
    va, vm = variables.add(f"va{name}", n_bus), variables.add(f"vm{name}", n_bus)
    pg, qg = variables.add(f"pg{name}", n_gen), variables.add(f"qg{name}", n_gen)
    balance_p, balance_q = rows.add(f"balance_p{name}", n_bus), rows.add(f"balance_q{name}", n_bus)
    rated = np.flatnonzero(np.isfinite(lines.rating))
    rating_from, rating_to = rows.add(f"rating_from{name}", len(rated)), rows.add(f"rating_to{name}", len(rated))
    angle_limited = np.flatnonzero(np.isfinite(lines.angle_min) | np.isfinite(lines.angle_max))
    angle = rows.add(f"angle_difference{name}", len(angle_limited))

    line_rows = np.full((6, grid.n_line), NO_ROW)
    line_rows[0], line_rows[1] = balance_p[lines.bus_from], balance_q[lines.bus_from]
    line_rows[2], line_rows[3] = balance_p[lines.bus_to], balance_q[lines.bus_to]
    line_rows[4, rated], line_rows[5, rated] = rating_from, rating_to
    columns = np.stack([vm[lines.bus_from], vm[lines.bus_to], va[lines.bus_from], va[lines.bus_to]])
    shunt = np.flatnonzero((grid.buses.gs != 0) | (grid.buses.bs != 0))
    shunt_rows = np.stack([balance_p[shunt], balance_q[shunt]])
    one = np.ones(n_gen)
    limited = np.ones(len(angle))
    return PowerFlow(
        grid, va, vm, pg, qg, balance_p, balance_q, rating_from, rating_to, angle, rated, angle_limited,
        references=reference_buses(grid, islands(grid)),
        blocks=[
            LineBlock(f"lines{name}", columns, 1.0 / lines.tap, lines.shift, line_rows, parameter_columns),
            ShuntBlock(f"shunts{name}", vm[shunt], grid.buses.gs[shunt], grid.buses.bs[shunt], shunt_rows),
        ],
        linear=[
            LinearTerms(balance_p[generators.bus], pg, -one),
            LinearTerms(balance_q[generators.bus], qg, -one),
            LinearTerms(angle, va[lines.bus_from[angle_limited]], limited),
            LinearTerms(angle, va[lines.bus_to[angle_limited]], -limited),
        ],
    )  # fmt: skip


def line_numbers(grid: Grid, lines: LineParameters) -> Any:
    """What the line block is given where the parameters are numbers: (g, b, h), and 1/rating."""
    return (lines.g, lines.b, lines.b + 0.5 * lines.bc), inverse_ratings(grid)


def inverse_ratings(grid: Grid) -> FloatArray:
    """1/rating of every line; 0 for those that have none."""
    return np.where(np.isfinite(grid.lines.rating), 1.0 / grid.lines.rating, 0.0)


def set_bounds(flow: PowerFlow, demand: Demand, bounds: Bounds) -> None:
    """Write the limits of the snapshot and its demand into the bounds of the problem."""
    grid = flow.grid
    low, high = bounds.x_lower, bounds.x_upper
    low[flow.vm], high[flow.vm] = grid.buses.vmin, grid.buses.vmax
    low[flow.pg], high[flow.pg] = grid.generators.pmin, grid.generators.pmax
    low[flow.qg], high[flow.qg] = grid.generators.qmin, grid.generators.qmax
    low[flow.va[flow.references]] = high[flow.va[flow.references]] = 0.0
    low, high = bounds.row_lower, bounds.row_upper  # of constraints only: row k stands at k − 1
    low[flow.balance_p - 1] = high[flow.balance_p - 1] = -demand.pd
    low[flow.balance_q - 1] = high[flow.balance_q - 1] = -demand.qd
    high[flow.rating_from - 1] = high[flow.rating_to - 1] = grid.lines.rating[flow.rated]
    low[flow.angle_difference - 1] = grid.lines.angle_min[flow.angle_limited]
    high[flow.angle_difference - 1] = grid.lines.angle_max[flow.angle_limited]


def set_flat_start(flow: PowerFlow, x: FloatArray, *, idle: bool) -> None:
    """Write flat voltages and generation in the middle of its range (or zero) into a start of the problem."""
    grid = flow.grid
    x[flow.va] = 0.0
    x[flow.vm] = np.clip(1.0, grid.buses.vmin, grid.buses.vmax)
    x[flow.pg] = 0.0 if idle else _middle(grid.generators.pmin, grid.generators.pmax)
    x[flow.qg] = 0.0 if idle else _middle(grid.generators.qmin, grid.generators.qmax)


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    """The middle of finite ranges, the point nearest to zero of the others."""
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0)), np.clip(0.0, low, high))
