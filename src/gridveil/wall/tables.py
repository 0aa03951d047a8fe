"""The table of a network's own coordinates, by what a plan protects. Proof: docs/proofs/joint.md.

It reads zeros, signs, infinities and equalities, which are public structure, and no value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid, Network, circuits, corridors
from gridveil.wall.coordinates import LogStructure, log_structure
from gridveil.wall.cost_numbers import cost_numbers, cost_owners
from gridveil.wall.numbers import Table
from gridveil.wall.protection import PLACE, QUANTITIES, Group, Protection, Ratings


def line_structure(network: Network, protection: Protection) -> LogStructure:
    """The coordinates of the lines. Where ratings are public, parallel lines of about one rating are twins; where they
    are secret, those of one rating are, which is structure."""
    twins = equal_circuits(network.grid) if Group.RATINGS in protection else circuits(network.grid)
    return log_structure(network.grid, network.lines, twins)


def equal_circuits(grid: Grid) -> IntArray:
    """Circuit number of every line: the corridor, split where ratings differ at all."""
    return _equal(corridors(grid), grid.lines.rating)


def table(network: Network, protection: Protection) -> Table:
    """The coordinates of what a plan protects. It reads zeros, signs, infinities and equalities, and nothing else."""
    grid, parts = network.grid, list[_Part]()
    if Group.LINES in protection or Group.RATINGS in protection:
        parts += _corridor_parts(network, protection)
    if Group.LOADS in protection:
        parts += _load_parts(grid)
    if Group.LIMITS in protection:
        parts.append(_limit_part(grid))
    if Group.COSTS in protection:
        parts.append(_cost_part(grid, classes=protection.classes))
    return _joined(parts)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows and coordinates of a table; `own` counts from the part's first coordinate, `pivot` does too unless
    `outside` says by how much it lies before it."""

    quantity: IntArray
    member: IntArray
    sign: FloatArray
    own: IntArray
    pivot: IntArray
    power: FloatArray
    group: Group
    element: IntArray
    outside: int = 0


def _joined(parts: list[_Part]) -> Table:
    begins = np.cumsum([0, *(len(one.pivot) for one in parts)])[:-1].tolist()
    groups = list(Group)

    def chained(name: str) -> IntArray:
        return np.concatenate([np.zeros(0, np.int64), *(getattr(one, name) for one in parts)])

    own = [one.own + begin for one, begin in zip(parts, begins, strict=True)]
    pivot = [
        np.where(one.pivot < 0, -1, one.pivot + begin - one.outside) for one, begin in zip(parts, begins, strict=True)
    ]
    group = [np.full(len(one.pivot), groups.index(one.group)) for one in parts]
    none = np.zeros(0, np.int64)
    return Table(
        chained("quantity"), chained("member"), chained("sign").astype(float), np.concatenate([none, *own]),
        np.concatenate([none, *pivot]), chained("power").astype(float), np.concatenate([none, *group]),
        chained("element"),
    )  # fmt: skip


def _corridor_parts(network: Network, protection: Protection) -> list[_Part]:
    grid, structure, corridor = network.grid, line_structure(network, protection), corridors(network.grid)
    parts = list[_Part]()
    places = {}
    for name, sign, by_line, exists in zip(
        ("z", "xr", "bcx"), structure.sign, structure.by_line, structure.exists, strict=True
    ):
        if Group.LINES not in protection:
            break
        place = np.where(exists, np.cumsum(exists) - 1, -1)
        member = np.flatnonzero(place[by_line] >= 0)
        own = place[by_line[member]]
        places[name] = place
        parts.append(_part(name, member, np.abs(sign[member]) + (name == "z"), own, corridor[member]))
    if Group.RATINGS in protection:
        member = np.flatnonzero(np.isfinite(grid.lines.rating) & (grid.lines.rating > 0))
        shared, own = np.unique(structure.group[member], return_inverse=True)
        part = _part("rating", member, np.ones(len(member)), own.reshape(-1), corridor[member])
        if protection.ratings is Ratings.WITH_IMPEDANCE and Group.LINES in protection:
            before = sum(len(one.pivot) for one in parts)
            part = replace(part, pivot=places["z"][shared], power=np.ones(len(shared)), outside=before)
        parts.append(part)
    return parts


def _part(name: str, member: IntArray, sign: FloatArray, own: IntArray, element: IntArray) -> _Part:
    """Coordinates without pivots; `element` is that of every row."""
    count = int(own.max(initial=-1)) + 1
    of = np.zeros(count, np.int64)
    of[own] = element
    which = np.full(len(member), PLACE[name])
    none = np.full(count, -1)
    return _Part(which, member, np.sign(sign), own, none, np.zeros(count), QUANTITIES[PLACE[name]].group, of)


def _load_parts(grid: Grid) -> list[_Part]:
    """p of every bus that has it; q as a ratio to it, or by itself."""
    pd, qd = grid.buses.pd, grid.buses.qd
    active, reactive = np.flatnonzero(pd), np.flatnonzero(qd)
    one = _part("pd", active, pd[active], np.arange(len(active)), active)
    two = _part("qd", reactive, qd[reactive], np.arange(len(reactive)), reactive)
    place = np.full(grid.n_bus, -1)
    place[active] = np.arange(len(active))
    pivot = place[reactive]
    return [one, replace(two, pivot=pivot, power=np.where(pivot < 0, 0.0, -1.0), outside=len(active))]


def _limit_part(grid: Grid) -> _Part:
    """All limits of all units. Equal ones of a bus, of active or of reactive power, are one number."""
    generators = grid.generators
    values = np.stack([generators.pmax, generators.pmin, generators.qmax, generators.qmin], axis=1)
    unit, column = np.nonzero((values != 0) & np.isfinite(values))
    value, bus = values[unit, column], generators.bus[unit]
    own = _equal(bus, (column >= 2).astype(np.int64), np.abs(value))
    return _with_pivots(Group.LIMITS, np.array([PLACE[n] for n in ("pmax", "pmin", "qmax", "qmin")])[column], unit,
                        value, own, unit, bus)  # fmt: skip


def _cost_part(grid: Grid, *, classes: bool) -> _Part:
    """All coefficients of all curves, those of equal curves in one class if `classes`."""
    owner, order = cost_owners(grid.cost_p)
    values = cost_numbers(grid.cost_p)
    entry = np.flatnonzero(values)
    entry = entry[np.lexsort((order[entry], owner[entry]))]
    within = np.zeros(grid.n_generator, np.int64) if classes else grid.generators.bus
    curve = _alike(within, owner[entry], order[entry], values[entry])
    own = _equal(curve[owner[entry]], order[entry])
    element = curve if classes else grid.generators.bus
    return _with_pivots(Group.COSTS, np.full(len(entry), PLACE["cost"]), entry, values[entry], own,
                        owner[entry], element[owner[entry]])  # fmt: skip


def _with_pivots(
    group: Group,
    quantity: IntArray,
    member: IntArray,
    value: FloatArray,
    own: IntArray,
    holder: IntArray,
    element: IntArray,
) -> _Part:
    """The first number of every holder is its pivot; a coordinate that is one has none."""
    count = int(own.max(initial=-1)) + 1
    first = np.unique(holder, return_index=True)[1] if len(holder) else np.zeros(0, np.int64)
    of_holder = np.zeros(int(holder.max(initial=-1)) + 1, np.int64)
    of_holder[holder[first]] = own[first]
    pivot, of = np.full(count, -1), np.zeros(count, np.int64)
    pivot[own[::-1]] = of_holder[holder[::-1]]
    of[own] = element
    pivot[own[first]] = -1
    return _Part(quantity, member, np.sign(value), own, pivot, np.where(pivot < 0, 0.0, -1.0), group, of)


def _equal(*keys: FloatArray | IntArray) -> IntArray:
    """A number for every row, the same where all keys are; by first appearance: an order of values would tell it."""
    if not len(keys[0]):
        return np.zeros(0, np.int64)
    codes = [np.unique(key, return_inverse=True)[1].reshape(-1) for key in keys]
    _, first, found = np.unique(np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[found.reshape(-1)]


def _alike(within: IntArray, owner: IntArray, order: IntArray, value: FloatArray) -> IntArray:
    """Class of every unit: those of one bus, or of one network, whose curves have the same coefficients share one."""
    curves: dict[tuple[int, tuple[tuple[int, float], ...]], int] = {}
    having: list[list[tuple[int, float]]] = [[] for _ in range(len(within))]
    for unit, place, number in zip(owner.tolist(), order.tolist(), value.tolist(), strict=True):
        having[unit].append((place, number))
    keys = [(int(where), tuple(one)) for where, one in zip(within.tolist(), having, strict=True)]
    return np.array([curves.setdefault(key, len(curves)) for key in keys], dtype=np.int64)
