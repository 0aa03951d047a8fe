"""How many pairs of lines cross in a drawing: a judge of layouts that shares nothing with them."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray


def crossings(place: FloatArray, bus_from: IntArray, bus_to: IntArray) -> int:
    """Pairs of straight corridors that cross; those that meet in a bus do not count."""
    ends = np.unique(np.sort(np.stack([bus_from, bus_to], axis=1), axis=1), axis=0)
    order = np.argsort(place[ends, 0].min(axis=1), kind="stable")
    a, b = ends[order].T
    p, q = place[a], place[b]
    low, high = np.minimum(p, q), np.maximum(p, q)
    last = np.searchsorted(low[:, 0], high[:, 0], side="right")
    found = 0
    for i in range(len(a)):
        k = np.arange(i + 1, last[i])
        near = (low[k, 1] <= high[i, 1]) & (high[k, 1] >= low[i, 1])
        k = k[near & (a[k] != a[i]) & (a[k] != b[i]) & (b[k] != a[i]) & (b[k] != b[i])]
        apart = _side(p[i], q[i], p[k]) * _side(p[i], q[i], q[k]) < 0
        found += int((apart & (_side(p[k], q[k], p[i]) * _side(p[k], q[k], q[i]) < 0)).sum())
    return found


def _side(origin: FloatArray, end: FloatArray, point: FloatArray) -> FloatArray:
    along, away = end - origin, point - origin
    result: FloatArray = along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0]
    return result
