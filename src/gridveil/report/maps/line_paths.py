"""Lines on a map, once buses have their places."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray


def line_paths(bus_from: IntArray, bus_to: IntArray, place: FloatArray) -> FloatArray:
    """Each line as three points (n_line, 3, 2); parallel ones bow apart, so that each can be seen."""
    low, high = np.minimum(bus_from, bus_to), np.maximum(bus_from, bus_to)
    bow = bows(bus_from, bus_to, len(place))
    start, end = place[low], place[high]
    along = end - start
    across = np.column_stack([-along[:, 1], along[:, 0]])
    return np.stack([start, 0.5 * (start + end) + bow[:, None] * across, end], axis=1)


def bows(bus_from: IntArray, bus_to: IntArray, n: int) -> FloatArray:
    """How far the middle of each line stands aside, as a share of its length; 0 for all that have no parallel."""
    corridor = np.unique(np.minimum(bus_from, bus_to) * n + np.maximum(bus_from, bus_to), return_inverse=True)[1]
    corridor = corridor.reshape(-1)
    many = np.bincount(corridor)
    order = np.argsort(corridor, kind="stable")
    rank = np.empty(len(corridor))
    rank[order] = np.arange(len(corridor)) - np.repeat(np.cumsum(many) - many, many)
    result: FloatArray = 0.12 * (rank - 0.5 * (many[corridor] - 1))
    return result
