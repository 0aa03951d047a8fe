"""A map of a few hundred pixels for cards: lines and buses where the network's shape puts them, without a number.

Placing is quick rather than exact, and no two machines need agree: pages that are compared byte for byte use `layout`.
Large networks are shown by areas, a dot each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Protocol

import numpy as np

from gridveil.arrays import FloatArray, IntArray

FULL = 150
"""Buses beyond which areas are shown instead."""
WIDTH, HEIGHT, EDGE = 300.0, 190.0, 8.0
STEPS = 40


class Ends(Protocol):
    """What lines join."""

    @property
    def bus_from(self) -> IntArray: ...
    @property
    def bus_to(self) -> IntArray: ...


def small_map(n_bus: int, lines: Ends, units: IntArray, marked: Collection[int] = ()) -> str:
    """An SVG that takes its colours from the page around it; `units` are buses with generators, `marked` lines stand
    out."""
    if n_bus < 2:
        return ""
    area = np.arange(n_bus) if n_bus <= FULL else _areas(n_bus, lines)
    one, other = area[lines.bus_from], area[lines.bus_to]
    count = int(area.max()) + 1
    place = _fitted(_placed(count, one, other))
    size = np.bincount(area, minlength=count)
    chosen = np.isin(np.arange(len(one)), list(marked))
    parts = []
    for which, style in ((~chosen, "gv-l"), (chosen, "gv-m")):
        between = np.unique(np.sort(np.stack([one, other], axis=1)[which & (one != other)], axis=1), axis=0)
        if len(between):
            path = "".join(f"M{_at(place[a])}L{_at(place[b])}" for a, b in between.tolist())
            parts.append(f'<path class="{style}" d="{path}"/>')
    largest = 2.2 if count == n_bus else 3.4
    radius = largest * np.sqrt(size / size.max()) if count < n_bus else np.full(count, largest)
    with_units = set(area[units].tolist())
    for number, (x, y) in enumerate(place.tolist()):
        kind = ' class="gv-g"' if number in with_units else ""
        parts.append(f'<circle{kind} cx="{x:.0f}" cy="{y:.0f}" r="{radius[number]:.1f}"/>')
    words = "map of the network" if count == n_bus else f"map of the network by {count} areas"
    return (
        f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{words}">'
        f"<title>{words}</title>{''.join(parts)}</svg>"
    )


def _areas(n: int, lines: Ends) -> IntArray:
    """Buses by the nearest of some that are spread over the network."""
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for one, other in zip(lines.bus_from.tolist(), lines.bus_to.tolist(), strict=True):
        neighbours[one].append(other)
        neighbours[other].append(one)
    seeds = (np.arange(FULL) * n // FULL).tolist()
    area, front = dict(zip(seeds, range(FULL), strict=True)), deque(seeds)
    while front:
        bus = front.popleft()
        for other in neighbours[bus]:
            if other not in area:
                area[other] = area[bus]
                front.append(other)
    lost = area[seeds[0]]
    return np.array([area.get(bus, lost) for bus in range(n)])


def _placed(n: int, one: IntArray, other: IntArray) -> FloatArray:
    """Distances on paper near those in the network: scaling, then some steps of majorisation of the stress."""
    joined = np.eye(n, dtype=np.float32)
    joined[one, other] = joined[other, one] = 1.0
    distance, reached, length = np.where(joined > 0, 1.0, np.inf) - np.eye(n), joined > 0, 1
    while True:
        length += 1
        further = (reached.astype(np.float32) @ joined) > 0
        new = further & ~reached
        if not new.any():
            break
        distance[new], reached = length, further
    finite = np.isfinite(distance)
    distance = np.where(finite, distance, 1.25 * distance[finite].max() + 2.0)
    square = distance**2
    centred = -0.5 * (square - square.mean(0) - square.mean(1)[:, None] + square.mean())
    values, vectors = np.linalg.eigh(centred)
    place = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-9))
    place += 0.05 * np.stack([np.arange(n) * 37 % 101 / 101, np.arange(n) * 59 % 103 / 103], axis=1)
    weight = np.where(distance > 0, 1.0 / np.maximum(square, 1.0), 0.0)
    whole = weight.sum(1)[:, None]
    for _ in range(STEPS):
        across = place[:, None] - place[None]
        apart = np.sqrt(np.maximum((across**2).sum(2), 1e-9))
        pull = weight * (distance / apart - 1.0)
        place = place + (pull[:, :, None] * across).sum(1) / (2.0 * whole)
    result: FloatArray = place
    return result


def _fitted(place: FloatArray) -> FloatArray:
    """In the middle of the map, the long side across."""
    extent = np.ptp(place, axis=0)
    if extent[1] > extent[0]:
        place, extent = place[:, ::-1], extent[::-1]
    room = np.array([WIDTH, HEIGHT]) - 2 * EDGE
    scale = room / np.maximum(extent, 1e-9)  # each side fills its room, within reason
    scale = np.minimum(scale, 1.6 * scale.min())
    result: FloatArray = (place - place.min(0)) * scale + EDGE + (room - extent * scale) / 2
    return result


def _at(point: FloatArray) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"
