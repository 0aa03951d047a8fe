"""What is usual: numbers moved towards what public data, and other released numbers, lead one to expect of them."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.check.leaks.coordinates import seen as seen_lines
from gridveil.check.leaks.posterior import Noise
from gridveil.check.leaks.prior import Nature, public_columns, shrunk
from gridveil.check.leaks.sight import Sight, by_row, noises
from gridveil.grid import Grid
from gridveil.grid.ratings import bound_size, likely_angles
from gridveil.wall.numbers import encode, logs
from gridveil.wall.protection import Group

FEWEST = 3
HARDLY = 1e-6
"""Noise that is none."""
PIVOTS, RATIOS = Nature(1000.0, 4.0, 0.5), Nature(4.0, 4.0, 0.3)
"""Sizes vary by factors; their ratios are mostly alike, and some are far off."""


def unscaled(sight: Sight) -> Sight:
    """The sight with the scaling to totals taken back: noise makes sums too large, and what is scaled to a public total
    is too small by as much, which the law of the noise tells."""
    u, moved, likely = sight.u.copy(), noises(sight), by_row(sight.table, usual_values(sight))
    for rows in _summed(sight):
        size = np.exp(likely[rows] - likely[rows].max())
        factor = np.median(size.sum() / (np.exp(np.minimum(moved[:, rows], 50.0)) @ size))
        u[np.unique(sight.table.own[rows])] -= np.log(factor)
    return Sight(sight.network, sight.table, u, sight.scale)


def _to_totals(sight: Sight, u: FloatArray) -> FloatArray:
    """Guesses that add up to the totals, which are public: what numbers are released as adds up to them."""
    shown, said, u = by_row(sight.table, encode(sight.table, logs(sight.network))), by_row(sight.table, u), u.copy()
    for rows in _summed(sight):
        u[np.unique(sight.table.own[rows])] += np.log(np.exp(shown[rows]).sum() / np.exp(said[rows]).sum())
    return u


def _summed(sight: Sight) -> list[IntArray]:
    """Rows of loads and of units whose noisy numbers were scaled to a total; their ratios follow."""
    found = []
    for name in ("pd", "pmax"):
        rows = sight.table.rows(name)
        own = sight.table.own[rows]
        found.append(rows[(sight.table.sign[rows] > 0) & (sight.table.pivot[own] < 0) & (sight.scale[own] > HARDLY)])
    return [rows for rows in found if len(rows)]


def usual_values(sight: Sight) -> FloatArray:
    """Coordinates moved to what place, level and neighbours of a bus or line suggest."""
    return _moved(sight, _public(sight))


def by_neighbours(sight: Sight) -> FloatArray:
    """As `usual_values`, by released numbers of other groups too: impedances and ratings, loads and capacities of a
    bus, the size that a ratio belongs to."""
    return _moved(sight, np.column_stack([_public(sight), _released(sight)]))


def _moved(sight: Sight, columns: FloatArray) -> FloatArray:
    u, lines = sight.u.copy(), list(Group).index(Group.LINES)
    for kind in np.unique(sight.kind):
        here = np.flatnonzero((sight.kind == kind) & (sight.table.group != lines))
        if len(here) < FEWEST:
            continue
        every = np.ones(len(here))
        nature = RATIOS if sight.table.pivot[here[0]] >= 0 else PIVOTS
        useful = _useful(columns[here])
        u[here] = shrunk(
            u[here], Noise(sight.scale[here]), every > 0, useful, np.zeros(len(here), dtype=bool), every, nature
        )
    return _to_totals(sight, u)


def _useful(columns: FloatArray) -> FloatArray:
    """The constant, and columns that differ among these, about their mean; no more than a third of the numbers."""
    varying = columns[:, 1:][:, np.ptp(columns[:, 1:], axis=0) > 1e-9][:, : max(len(columns) // 3, 1)]
    return np.column_stack([np.ones(len(columns)), varying - varying.mean(axis=0)])


def _public(sight: Sight) -> FloatArray:
    """By coordinate, a constant first: where it lies. For lines what an engineer asks, for buses degree and level."""
    grid, place, lines = sight.network.grid, sight.place, _of_lines(sight)
    degree = _degree(grid)
    feeds, draws = np.zeros(grid.n_bus), (grid.buses.pd != 0) | (grid.buses.qd != 0)
    feeds[grid.generators.bus] = 1.0
    levels = np.unique(grid.buses.base_kv)[1:]
    at = np.column_stack([np.log(np.maximum(degree, 1)), feeds, draws, *(grid.buses.base_kv == kv for kv in levels)])
    own = public_columns(grid, seen_lines(sight.network), rating=False)
    rows = np.zeros((len(place), 1 + at.shape[1] + own.shape[1]))
    rows[:, 0] = 1.0
    rows[~lines, 1 : 1 + at.shape[1]] = at[sight.bus[place[~lines]]]
    rows[lines, 1 + at.shape[1] :] = own[sight.table.member[place[lines]]]
    return rows


def _released(sight: Sight) -> FloatArray:
    """By coordinate: logarithms of other released numbers there."""
    grid, place, lines = sight.network.grid, sight.place, _of_lines(sight)
    rated = np.isfinite(grid.lines.rating) & (grid.lines.rating > 0)
    around, load, capacity = np.zeros(grid.n_bus), np.abs(grid.buses.pd), np.zeros(grid.n_bus)
    for ends in (grid.lines.bus_from, grid.lines.bus_to):
        np.add.at(around, ends, np.where(rated, grid.lines.rating, 0.0))
    pmax = grid.generators.pmax
    np.add.at(capacity, grid.generators.bus, np.where(np.isfinite(pmax), np.maximum(pmax, 0.0), 0.0))
    only = np.where(_degree(grid) == 1, 1.0, 0.0)
    at = np.column_stack([_log(around), only * _log(around), _log(load), _log(capacity)])
    size = seen_lines(sight.network)
    told = bound_size(grid, likely_angles(grid)[0]) + np.log(np.where(rated, grid.lines.rating, 1.0))
    bound = np.column_stack([told - size.size, size.ratio, told])
    rows = np.zeros((len(place), at.shape[1] + bound.shape[1] + 1))
    rows[~lines, : at.shape[1]] = _without_own(sight, at)[~lines]
    rows[lines, at.shape[1] : -1] = bound[sight.table.member[place[lines]]]
    pivot = sight.table.pivot
    rows[:, -1] = np.where(pivot >= 0, sight.u[pivot], 0.0)
    return rows


def _without_own(sight: Sight, at: FloatArray) -> FloatArray:
    """A number must not explain itself: of a load not the load, of a unit's limit not the capacity of its bus."""
    rows = at[sight.bus[sight.place]].copy()
    group = sight.table.group
    rows[group == list(Group).index(Group.LOADS), 2] = 0.0
    rows[group == list(Group).index(Group.LIMITS), 3] = 0.0
    return rows


def _of_lines(sight: Sight) -> BoolArray:
    """Is a coordinate one of lines or ratings?"""
    return np.asarray(np.isin(sight.table.group, [list(Group).index(one) for one in (Group.LINES, Group.RATINGS)]))


def _degree(grid: Grid) -> IntArray:
    return np.bincount(np.concatenate([grid.lines.bus_from, grid.lines.bus_to]), minlength=grid.n_bus)


def _log(values: FloatArray) -> FloatArray:
    """ln of what is there, 0 at its mean where nothing is."""
    there = values > 0
    mean = float(np.log(values[there]).mean()) if np.any(there) else 0.0
    return np.where(there, np.log(np.where(there, values, 1.0)) - mean, 0.0)
