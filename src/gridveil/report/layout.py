"""Where to put buses on paper when a file has no coordinates: as far from one another as they are in the network.

The stress Σ w·(|x_i − x_j| − d_ij)², w = d⁻², with d the number of lines between two buses, is majorised (Gansner,
Koren and North, 2004) from a start by classical scaling. The start, and with it the result, is the same every time.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import PublicGrid

FULL_STRESS = 2500
"""Buses beyond which only the start is made: the full stress needs the distance of every pair."""
_PIVOTS = 60
_STEPS = 150


def layout(grid: PublicGrid) -> FloatArray:
    """Coordinates (n_bus, 2), the long side along x; one line is about one unit long."""
    return place_buses(grid.n_bus, grid.lines.bus_from, grid.lines.bus_to)


def place_buses(n: int, bus_from: IntArray, bus_to: IntArray) -> FloatArray:
    """The same, of `n` buses and what lines join."""
    if n == 1:
        return np.zeros((1, 2))
    links = coo_array((np.ones(len(bus_from)), (bus_from, bus_to)), shape=(n, n)).tocsr()
    if n > FULL_STRESS:
        return _upright(_scaled(_joined(shortest_path(links, directed=False, unweighted=True, indices=_spread(n)))))
    distance = _joined(shortest_path(links, directed=False, unweighted=True))
    return _upright(_majorised(_scaled(distance), distance))


def _spread(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, _PIVOTS)).astype(np.int64))


def _joined(distance: FloatArray) -> FloatArray:
    """Parts that nothing joins stand a little apart."""
    finite = np.isfinite(distance)
    return np.where(finite, distance, 1.25 * distance[finite].max(initial=0.0) + 2.0)


def _scaled(distance: FloatArray) -> FloatArray:
    """Classical scaling of all buses by their distances to some (k, n), or to all, of them."""
    square = distance**2
    centred = square - square.mean(axis=0) - square.mean(axis=1, keepdims=True) + square.mean()
    size, vectors = eigh(centred @ centred.T, subset_by_index=[max(len(distance) - 2, 0), len(distance) - 1])
    position = -0.5 * centred.T @ vectors[:, ::-1] / np.maximum(size[::-1], 1e-12) ** 0.25
    if position.shape[1] == 1:
        position = np.column_stack([position, np.zeros(len(position))])
    # buses that scaling puts on one spot (twins in the graph) must come apart, the same way every time
    turn = 2.399963 * np.arange(len(position))
    result: FloatArray = position + 0.05 * np.column_stack([np.cos(turn), np.sin(turn)])
    return result


def _majorised(position: FloatArray, distance: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        weight = np.where(distance > 0, distance**-2.0, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    factor = cho_factor(laplacian[1:, 1:])  # the first bus stays where it is
    pull = weight * distance
    before = np.inf
    for _ in range(_STEPS):
        square = np.sum(position**2, axis=1)
        apart = np.sqrt(np.maximum(square[:, None] + square - 2 * position @ position.T, 1e-12))
        np.fill_diagonal(apart, 1.0)
        stress = float(np.sum(weight * (apart - distance) ** 2 * (distance > 0)))
        if stress > before * (1 - 1e-4):
            break
        before = stress
        ratio = pull / apart
        target = ratio.sum(axis=1)[:, None] * position - ratio @ position
        position = position - position[0]
        position[1:] = cho_solve(factor, target[1:])
    return position


def _upright(position: FloatArray) -> FloatArray:
    """Turned so that the long side lies along x, centred, the first bus to the left and above."""
    centred = position - position.mean(axis=0)
    turned: FloatArray = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    turned[:, 0] *= -1.0 if turned[0, 0] > 0 else 1.0
    turned[:, 1] *= -1.0 if turned[0, 1] < 0 else 1.0
    return turned
