"""What releases show of every protected number beside the lines: coordinates, and the noise that is left on them.

The table is `wall/tables.py`'s, made from a released network: zeros, signs and equalities are public, so that a reader
has the same one as the mechanism. Attackers say ln|number| of every row of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.check.leaks.averaging import middle
from gridveil.check.leaks.knowledge import EXACT, Reader
from gridveil.grid import Network
from gridveil.wall.cost_numbers import cost_owners
from gridveil.wall.numbers import Table, encode, logs
from gridveil.wall.protection import PLACE, QUANTITIES, Group, Protection
from gridveil.wall.tables import table

DRAWS, FEWEST_DRAWS, SEED = 400, 60, 1
MOST_DRAWN = 4_000_000


@dataclass(frozen=True, eq=False)
class Sight:
    """Released coordinates `u` of a table and the Laplace scale of each one's noise; all of it is public."""

    network: Network
    table: Table
    u: FloatArray
    scale: FloatArray

    @property
    def rows(self) -> FloatArray:
        """ln|number| of every row, as released."""
        return by_row(self.table, self.u)

    @cached_property
    def kind(self) -> IntArray:
        """Of every coordinate: numbers of one kind are of one quantity, of one place in a cost curve, and all by
        themselves or all ratios."""
        order = np.zeros(len(self.table.member), dtype=np.int64)
        costs = self.table.rows("cost")
        order[costs] = cost_owners(self.network.grid.cost_p)[1][self.table.member[costs]]
        first = np.unique(self.table.own, return_index=True)[1]
        keys = np.stack([self.table.quantity[first], order[first], self.table.pivot >= 0], axis=1)
        return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)

    @cached_property
    def holder(self) -> IntArray:
        """Bus, unit or line whose number a row is."""
        result, costs = self.table.member.copy(), self.table.rows("cost")
        result[costs] = cost_owners(self.network.grid.cost_p)[0][self.table.member[costs]]
        return result

    @cached_property
    def place(self) -> IntArray:
        """The first row of every coordinate."""
        return np.unique(self.table.own, return_index=True)[1]

    @cached_property
    def bus(self) -> IntArray:
        """Bus of every row; of a line, where it begins."""
        result = self.holder.copy()
        for quantity in QUANTITIES:
            rows = self.table.rows(quantity.name)
            if quantity.group in (Group.LIMITS, Group.COSTS):
                result[rows] = self.network.grid.generators.bus[self.holder[rows]]
            elif quantity.group is not Group.LOADS:
                result[rows] = self.network.grid.lines.bus_from[self.holder[rows]]
        return result

    def group(self, *wanted: Group) -> IntArray:
        """Coordinates of some groups."""
        return np.flatnonzero(np.isin(self.table.group, [list(Group).index(one) for one in wanted]))


def by_row(made: Table, u: FloatArray) -> FloatArray:
    """ln|number| of every row by its coordinates."""
    level = np.where(made.pivot < 0, u, 0.0)
    level = np.where(made.pivot < 0, u, u - made.power * level[made.pivot])
    return np.asarray(level[made.own])


def guarded(readers: Sequence[Reader]) -> tuple[Group, ...]:
    """Groups beside lines that some release protects."""
    found = {group for one in readers if one.protection is not None for group in one.protection.groups}
    return tuple(group for group in Group if group in found and group is not Group.LINES)


def sights(readers: Sequence[Reader]) -> list[Sight]:
    """What every reader sees, in the coordinates of the first who has a joint release."""
    joint = next(one for one in readers if one.protection is not None)
    assert joint.protection is not None
    have = {group: 1.0 for one in readers for group in (one.protection.groups if one.protection else (Group.LINES,))}
    made = table(joint.network, Protection(have, joint.protection.ratings, joint.protection.classes))
    return [Sight(one.network, made, encode(made, logs(one.network)), _scales(one, made)) for one in readers]


def _scales(reader: Reader, made: Table) -> FloatArray:
    """The noise of every coordinate; what a release does not protect, it shows as it is."""
    known = {Group.LINES: reader.scale or EXACT} if reader.protection is None else reader.protection.alpha
    scale = np.array([known.get(group, 0.0) / reader.epsilon for group in Group])
    return np.asarray(np.maximum(scale, EXACT)[made.group])


def merged(seen: Sequence[Sight]) -> Sight:
    """All releases as one: the weighted median of every coordinate."""
    if len(seen) == 1:
        return seen[0]
    scale = np.stack([one.scale for one in seen])
    u = middle(np.stack([one.u for one in seen]), 1.0 / scale)
    return Sight(seen[0].network, seen[0].table, u, 1.0 / np.sqrt(np.sum(scale**-2.0, axis=0)))


def sharpest(seen: Sequence[Sight]) -> Sight:
    """Of every coordinate the release with the least noise."""
    scale = np.stack([one.scale for one in seen])
    which, every = np.argmin(scale, axis=0), np.arange(scale.shape[1])
    return Sight(seen[0].network, seen[0].table, np.stack([one.u for one in seen])[which, every], scale[which, every])


def noises(sight: Sight) -> FloatArray:
    """By draw and row: how far noise of the law moves ln|number|; of many rows fewer draws, for their medians hardly
    differ."""
    count = int(np.clip(MOST_DRAWN // max(len(sight.table.member), 1), FEWEST_DRAWS, DRAWS))
    drawn = np.random.default_rng(SEED).laplace(size=(count, sight.table.size)) * sight.scale
    return np.stack([by_row(sight.table, one) for one in drawn])


def in_file_units(sight: Sight) -> FloatArray:
    """ln of what a row is multiplied with to stand in a file: MW, Mvar, MVA, $/h per MWᵏ."""
    base, grid = np.log(sight.network.grid.base_mva), sight.network.grid
    result = np.full(len(sight.table.member), base)
    costs = sight.table.rows("cost")
    units, degrees = grid.cost_p.polynomial.shape
    entry = sight.table.member[costs]
    power = np.where(entry < units * degrees, entry % max(degrees, 1), 1)
    power = np.where(entry >= units * degrees + len(grid.cost_p.segment_slope), 0, power)
    result[costs] = -base * power
    result[np.isin(sight.table.quantity, [PLACE[name] for name in ("z", "xr", "bcx")])] = 0.0
    return result
