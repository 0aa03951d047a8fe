"""Facts that follow from who is joined to whom: islands, their angle references, corridors, voltage levels."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.grid.network import Grid


def islands(grid: Grid) -> IntArray:
    """Island number of every bus, 0.. in the order of each island's first bus."""
    return np.unique(components(grid.n_bus, grid.lines.bus_from, grid.lines.bus_to), return_inverse=True)[1]


def components(count: int, one: IntArray, two: IntArray) -> IntArray:
    """For each of `count` points, the first that the links between `one` and `two` join it to.

    In each round every group takes the lowest name among its own and its neighbours', and all then look up what the
    bearer of their name is called by now.
    """
    name = np.arange(count)
    while not np.array_equal(name[one], name[two]):
        lowest = np.minimum(name[one], name[two])
        np.minimum.at(name, name[one], lowest)
        np.minimum.at(name, name[two], lowest)
        while not np.array_equal(name, further := name[name]):
            name = further
    return name


def reference_buses(grid: Grid, island: IntArray) -> IntArray:
    """The bus of each island whose angle is set to zero.

    The file's first reference bus where the island has one, else its first bus with a generator, else its first bus:
    angles matter only as differences, so the choice changes no flow and no cost. No number enters it, for any of them
    may be secret.
    """
    merit = np.zeros(grid.n_bus)
    merit[grid.generators.bus] = 1.0
    merit[grid.buses.is_reference] = 2.0
    best = np.lexsort((np.arange(grid.n_bus), -merit, island))
    return best[np.unique(island[best], return_index=True)[1]].astype(np.int64)


def corridors(grid: Grid) -> IntArray:
    """Corridor number of every line: parallel lines, in either direction, share one; numbered by first appearance."""
    low = np.minimum(grid.lines.bus_from, grid.lines.bus_to)
    high = np.maximum(grid.lines.bus_from, grid.lines.bus_to)
    _, first, inverse = np.unique(low * max(grid.n_bus, 1) + high, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def circuits(grid: Grid) -> IntArray:
    """Circuit number of every line: the corridor, split where public ratings differ by more than a factor of two.

    Parallel lines of about one rating are twins and are kept equal. A corridor may also join a strong line and a weak
    one; made equal, the weak one would limit both, and no parameters could carry the flow (9,241 buses: ratings in one
    corridor differ by up to 7,900).
    """
    corridor = corridors(grid)
    weakest = np.full(int(corridor.max(initial=-1)) + 1, np.inf)
    np.minimum.at(weakest, corridor, grid.lines.rating)
    with np.errstate(invalid="ignore", divide="ignore"):
        octave = np.floor(np.log2(grid.lines.rating / weakest[corridor]) - 1e-9)
    octave = np.where(np.isfinite(octave), np.maximum(octave, 0.0), -1.0).astype(np.int64)
    return np.unique(np.stack([corridor, octave], axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def is_transformer(grid: Grid) -> BoolArray:
    """Lines that change voltage or phase, by public data: a tap, a shift, or two base voltages."""
    ends, kv = grid.lines, grid.buses.base_kv
    return np.asarray((ends.tap != 1.0) | (ends.shift != 0.0) | (kv[ends.bus_from] != kv[ends.bus_to]))


def line_levels_kv(grid: Grid) -> FloatArray:
    """Voltage level of every line: the higher base kV of its two ends (0, for a bus without one, is a level too)."""
    kv = grid.buses.base_kv
    return np.maximum(kv[grid.lines.bus_from], kv[grid.lines.bus_to])
