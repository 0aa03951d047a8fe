"""Where to put buses on paper when a file has no coordinates: as far from one another as they are in the network.

The stress Σ w·(|x_i − x_j| − d_ij)², w = d⁻², with d the number of lines between two buses, is lowered by local
majorisation (Gansner, Koren and North, 2004) from a start by scaling towards pivots (Brandes and Pich, 2007).

The page of a bundle is compared byte for byte, by whoever has it, on whatever machine. So nothing here calls a library
of linear algebra, whose last digits are its own: there are only sums in a fixed order, products, quotients and square
roots of single numbers, which IEEE 754 defines to the last bit. Nothing is random.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid

FULL_STRESS = 500
"""Buses beyond which distances to pivots stand for those of all pairs."""
_STEPS = 200
_TURNS = 60


def layout(grid: Grid) -> FloatArray:
    """Coordinates (n_bus, 2), the long side along x; one line is about one unit long."""
    return place_buses(grid.n_bus, grid.lines.bus_from, grid.lines.bus_to)


def place_buses(n: int, bus_from: IntArray, bus_to: IntArray) -> FloatArray:
    """The same, of `n` buses and what lines join."""
    if n == 1:
        return np.zeros((1, 2))
    pivots = min(n, max(10, min(60, 200_000 // n)))  # fewer in large networks: seconds, not minutes
    spread = np.arange(pivots) * n // pivots
    near = np.arange(n) if n <= FULL_STRESS else spread
    distance = _joined(_distances(n, bus_from, bus_to, near))
    start = _scaled(distance[spread] if n <= FULL_STRESS else distance)
    return _upright(_relaxed(start, distance, near))


def _distances(n: int, bus_from: IntArray, bus_to: IntArray, sources: IntArray) -> FloatArray:
    """How many lines lie between each source and every bus (k, n); infinite where nothing joins them."""
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for one, other in zip(bus_from.tolist(), bus_to.tolist(), strict=True):
        neighbours[one].append(other)
        neighbours[other].append(one)
    result = np.full((len(sources), n), np.inf)
    for row, source in zip(result, sources.tolist(), strict=True):
        found, front, away = {source}, [source], 0
        while front:
            row[front] = away
            away += 1
            front = list({other for one in front for other in neighbours[one]} - found)
            found.update(front)
    return result


def _joined(distance: FloatArray) -> FloatArray:
    """Parts that nothing joins stand a little apart."""
    finite = np.isfinite(distance)
    return np.where(finite, distance, 1.25 * distance[finite].max(initial=0.0) + 2.0)


def _sum(values: FloatArray) -> FloatArray:
    """Of the rows, one after the other: how NumPy's own sum groups them is not promised."""
    total: FloatArray = np.add.accumulate(values, axis=0)[-1]
    return total


def _scaled(distance: FloatArray) -> FloatArray:
    """All buses by their distances to some (k, n): the two largest directions of the doubly centred squares."""
    k, n = distance.shape
    square = distance * distance
    columns, rows = _sum(square) / k, _sum(square.T) / n
    centred = square - columns - rows[:, None] + _sum(rows) / k
    axes = list[FloatArray]()
    for number in range(2):
        axis = 1.0 / (1.0 + np.arange(k) + number * (np.arange(k) % 3))
        for _ in range(_TURNS):
            axis = _sum(centred.T * _sum(centred * axis[:, None])[:, None])
            for other in axes:
                axis = axis - _sum(axis * other) * other
            axis = axis / max(float(np.sqrt(_sum(axis * axis))), 1e-300)
        axes.append(np.asarray(axis, np.float64))
    position = np.stack([-0.5 * _sum(centred * axis[:, None]) for axis in axes], axis=1)
    size = np.sqrt(np.maximum(_sum(position * position) / n, 1e-300))
    far = np.maximum(np.sqrt(np.maximum(_sum(_sum(square) / n) / k, 1e-300)), 1.0)
    # buses that scaling puts on one spot (twins in the graph) must come apart, the same way every time
    apart = np.stack([np.arange(n) * 37 % 101 / 101 - 0.5, np.arange(n) * 59 % 103 / 103 - 0.5], axis=1)
    result: FloatArray = position / size[0] * (far / 2) + 0.1 * apart
    return result


def _relaxed(place: FloatArray, distance: FloatArray, near: IntArray) -> FloatArray:
    """Each bus halfway to where its distances to the others pull it, again and again: the stress never grows."""
    weight = np.where(distance > 0, 1.0 / np.maximum(distance * distance, 1.0), 0.0)
    whole = np.maximum(_sum(weight), 1e-300)
    x, y = place[:, 0], place[:, 1]
    for _ in range(_STEPS):
        across, along = x - x[near, None], y - y[near, None]
        apart = np.sqrt(np.maximum(across * across + along * along, 1e-12))
        pull = weight * (distance / apart - 1.0)
        x, y = x + _sum(pull * across) / (2.0 * whole), y + _sum(pull * along) / (2.0 * whole)
    return np.stack([x, y], axis=1)


def _upright(place: FloatArray) -> FloatArray:
    """Turned so that the long side lies along x, centred, the first bus to the left and above."""
    x, y = (place - _sum(place) / len(place)).T
    tilt, mixed = float(_sum(x * x - y * y)) / 2, float(_sum(x * y))
    size = float(np.sqrt(tilt * tilt + mixed * mixed))
    # the direction of the larger spread is half the angle of (tilt, mixed)
    cosine, sine = (tilt + size, mixed) if tilt >= 0 else (abs(mixed), (size - tilt) * (1.0 if mixed >= 0 else -1.0))
    length = float(np.sqrt(cosine * cosine + sine * sine))
    if length > 0:
        cosine, sine = cosine / length, sine / length
        x, y = cosine * x + sine * y, cosine * y - sine * x
    return np.stack([-x if x[0] > 0 else x, -y if y[0] < 0 else y], axis=1)
