"""Where buses stand on maps that are looked at inside: near where they are in the network, areas apart.

Small networks are drawn by their stress, with `layout.py`; larger ones by forces, areas pulled apart,
level by level (`forces.py`), since thousands of distances cannot all be kept in a plane, and those nearby are what one
looks at. Both lean on SciPy, whose last digits are its own: pages compared byte for byte are drawn by `layout.py`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gridveil.arrays import FloatArray, IntArray
from gridveil.report.maps.areas import areas_of
from gridveil.report.maps.forces import pulled_apart
from gridveil.report.maps.layout import place_buses

SMALL = 150
"""Buses up to which the stress of all pairs is lowered."""
LOOSE = 0.6
"""How hard a line between areas pulls, where one inside pulls 1."""


def places_of(n: int, bus_from: IntArray, bus_to: IntArray) -> tuple[FloatArray, IntArray]:
    """Coordinates (n, 2) with the long side along x, a line about one unit long; and the area of every bus."""
    area = areas_of(n, bus_from, bus_to)
    if n == 1:
        return np.zeros((1, 2)), area
    ends = corridors(n, bus_from, bus_to)
    if n <= SMALL:
        return place_buses(n, ends[:, 0], ends[:, 1]), area
    between = area[ends[:, 0]] != area[ends[:, 1]]
    return _upright(pulled_apart(n, ends, np.where(between, LOOSE, 1.0))), area


def corridors(n: int, bus_from: IntArray, bus_to: IntArray) -> IntArray:
    """Pairs of buses (k, 2) that lines join, each once; parts that nothing joins are tied to the first."""
    low, high = np.minimum(bus_from, bus_to), np.maximum(bus_from, bus_to)
    key = np.unique((low * n + high)[low != high])
    ends = np.stack([key // n, key % n], axis=1)
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    parts, part = connected_components(graph, directed=False)
    first = np.unique(part, return_index=True)[1]
    ties = np.stack([np.full(parts - 1, first[0]), first[1:]], axis=1)
    result: IntArray = np.concatenate([ends, ties])
    return result


def _upright(place: FloatArray) -> FloatArray:
    """Turned so that the long side lies along x, centred, the first bus to the left and above."""
    centred = place - place.mean(axis=0)
    vectors = np.linalg.svd(centred, full_matrices=False)[2]
    x, y = (centred @ vectors.T).T
    return np.stack([-x if x[0] > 0 else x, -y if y[0] < 0 else y], axis=1)
