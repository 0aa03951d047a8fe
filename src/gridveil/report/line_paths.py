"""Lines on a map, once buses have their places."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray


def line_paths(bus_from: IntArray, bus_to: IntArray, place: FloatArray) -> FloatArray:
    """Each line as three points (n_line, 3, 2); parallel ones bow apart, so that each can be seen."""
    low, high = np.minimum(bus_from, bus_to), np.maximum(bus_from, bus_to)
    corridor = np.unique(low * len(place) + high, return_inverse=True)[1].reshape(-1)
    many = np.bincount(corridor)
    order = np.argsort(corridor, kind="stable")
    rank = np.empty(len(low))
    rank[order] = np.arange(len(low)) - np.repeat(np.cumsum(many) - many, many)
    bow = 0.12 * (rank - 0.5 * (many[corridor] - 1))
    start, end = place[low], place[high]
    along = end - start
    across = np.column_stack([-along[:, 1], along[:, 0]])
    return np.stack([start, 0.5 * (start + end) + bow[:, None] * across, end], axis=1)
