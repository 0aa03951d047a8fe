"""What moves beside the lines, in a projection: c·e^(k·u) in the rows where a number stands (ROLES), and totals.

load      balance_p, balance_q of its bus            + demand·e^u                     = 0
rating    rating_from, rating_to of its line         |S|²/r − (1 − room)·r·e^(2u)     ≤ 0
limit     a row of its own per unit                  ±(generation − limit·e^u)        ≤ −room
totals    Σ p·e^u = demand, Σ pmax·e^u = capacity    once, whatever the snapshots
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.nlp.blocks import Block, GrowthBlock
from gridveil.nlp.power_flow import PowerFlow
from gridveil.nlp.problem import Layout, LinearTerms
from gridveil.nlp.solver import Bounds
from gridveil.repair.bounds import Box
from gridveil.repair.moving import LIMITS, numbers
from gridveil.wall.draw import Moving, Snapshot


@dataclass(frozen=True, eq=False)
class MovingRows:
    """Where the moving numbers of one snapshot stand in a problem: blocks with their coefficients, rows of limits."""

    blocks: Sequence[Block]
    linear: Sequence[LinearTerms]
    coefficients: dict[str, FloatArray]
    ratings: IntArray
    limits: dict[str, IntArray]
    fixed: dict[str, BoolArray]


@dataclass(frozen=True, eq=False)
class Totals:
    """Rows of the totals that are kept, their blocks, and what each sums up to."""

    blocks: Sequence[Block]
    coefficients: dict[str, FloatArray]
    rows: dict[str, tuple[int, float]]


def moving_rows(
    box: Box, moving: Moving, flow: PowerFlow, snapshot: Snapshot, parameters: IntArray, rows: Layout, name: str
) -> MovingRows:
    """Add what moves to one snapshot; ratings get their coefficients with the room (`set_moving`)."""
    made, columns = moving.table, parameters[box.others]
    blocks, linear = list[Block](), list[LinearTerms]()
    coefficients, limits, fixed = dict[str, FloatArray](), dict[str, IntArray](), dict[str, BoolArray]()

    def add(what: str, at: IntArray, power: float, where: IntArray, values: FloatArray) -> None:
        blocks.append(GrowthBlock(what + name, columns[made.own[at]], power, where))
        coefficients[what + name] = values

    for what, balance, demand in (("pd", flow.balance_p, snapshot.pd), ("qd", flow.balance_q, snapshot.qd)):
        at = made.rows(what)
        add(what, at, 1.0, balance[made.member[at]][None], demand[made.member[at]][None])
    at = made.rows("rating")
    ratings = np.searchsorted(flow.rated, made.member[at])
    both = np.stack([flow.rating_from[ratings], flow.rating_to[ratings]])
    add("rating", at, 2.0, both, np.zeros(both.shape))
    for what in LIMITS:
        at, upper = made.rows(what), what.endswith("max")
        partner = made.rows(what.replace("max", "min") if upper else what.replace("min", "max"))
        tied = _tied(moving, at, partner)
        if not upper:
            at, tied = at[~tied], tied[~tied]  # one row, an equation, stands for both
        generation = (flow.pg if what[0] == "p" else flow.qg)[made.member[at]]
        limits[what], fixed[what] = rows.add(f"limit_{what}{name}", len(at)), tied
        sign = 1.0 if upper else -1.0
        linear.append(LinearTerms(limits[what], generation, np.full(len(at), sign)))
        value = numbers(box.grid, what)[made.member[at]]
        add(what, at, 1.0, limits[what][None], -sign * value[None])
    return MovingRows(blocks, linear, coefficients, ratings, limits, fixed)


def _tied(moving: Moving, at: IntArray, partner: IntArray) -> BoolArray:
    """Which of these limits are, by structure, equal to the unit's other one."""
    made = moving.table
    theirs = zip(made.member[partner].tolist(), made.own[partner].tolist(), made.sign[partner].tolist(), strict=True)
    other = {unit: (own, sign) for unit, own, sign in theirs}
    mine = zip(made.member[at].tolist(), made.own[at].tolist(), made.sign[at].tolist(), strict=True)
    return np.array([other.get(unit) == (own, sign) for unit, own, sign in mine], dtype=bool)


def totals(box: Box, moving: Moving, parameters: IntArray, rows: Layout) -> Totals:
    """Rows for the demand and the capacity, as far as they are kept."""
    made, columns = moving.table, parameters[box.others]
    blocks, coefficients, found = list[Block](), dict[str, FloatArray](), dict[str, tuple[int, float]]()
    for name, what, total in (("demand", "pd", moving.demand), ("capacity", "pmax", moving.capacity)):
        at = made.rows(what)
        if total is None or not len(at):
            continue
        values, member = numbers(box.grid, what), made.member[at]
        row = int(rows.add(f"total_{name}", 1)[0])
        blocks.append(GrowthBlock(f"total_{name}", columns[made.own[at]], 1.0, np.full((1, len(at)), row)))
        coefficients[f"total_{name}"] = values[member][None]
        rest = np.delete(values, member)
        found[name] = row, total - float(rest[np.isfinite(rest)].sum())
    return Totals(blocks, coefficients, found)


def set_moving(
    box: Box, moving: Moving, flow: PowerFlow, part: MovingRows, name: str, bounds: Bounds, room: float
) -> None:
    """Bounds of one snapshot, and the coefficients of its ratings: `room` is what is left free of every range."""
    made = moving.table
    for what, balance in (("pd", flow.balance_p), ("qd", flow.balance_q)):
        at = balance[made.member[made.rows(what)]] - 1
        bounds.row_lower[at] = bounds.row_upper[at] = 0.0
    for ends in (flow.rating_from, flow.rating_to):
        bounds.row_upper[ends[part.ratings] - 1] = 0.0
    rating = box.grid.lines.rating[made.member[made.rows("rating")]]
    part.coefficients[f"rating{name}"][:] = -(1.0 - room) * rating
    units = box.grid.generators
    for what in LIMITS:
        columns = flow.pg if what[0] == "p" else flow.qg
        member = made.member[made.rows(what)]
        low, high = getattr(units, f"{what[0]}min"), getattr(units, f"{what[0]}max")
        bounds.x_lower[columns[member]] = np.where(
            np.isin(member, _movers(moving, f"{what[0]}min")), -np.inf, low[member]
        )
        bounds.x_upper[columns[member]] = np.where(
            np.isin(member, _movers(moving, f"{what[0]}max")), np.inf, high[member]
        )
    for what, at in part.limits.items():
        tied = part.fixed[what]
        rows = made.rows(what)
        if what.endswith("min"):
            rows = rows[~_tied(moving, rows, made.rows(what.replace("min", "max")))]
        member = made.member[rows]
        low, high = getattr(units, f"{what[0]}min")[member], getattr(units, f"{what[0]}max")[member]
        reach = np.abs(numbers(box.grid, what)[member])
        span = np.where(np.isfinite(low) & np.isfinite(high), high - low, reach)
        bounds.row_upper[at - 1] = np.where(tied, 0.0, -room * np.minimum(span, reach))
        bounds.row_lower[at - 1] = np.where(tied, 0.0, -np.inf)


def _movers(moving: Moving, what: str) -> IntArray:
    return moving.table.member[moving.table.rows(what)]
