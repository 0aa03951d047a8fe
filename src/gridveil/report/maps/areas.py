"""Areas of a network: buses with many lines among themselves and few to others, found from the topology alone.

Blondel, Guillaume, Lambiotte and Lefebvre's search for large modularity (2008): every bus joins the neighbouring area
that it has most lines into, beyond what chance would give; then areas are buses of a smaller network, and so on. Buses
take their turn in the order of the file, so the same network has the same areas.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import IntArray

Links = list[dict[int, float]]
"""Of every node: its neighbours, and how many lines lead there; itself for lines inside, counted from both ends."""


def areas_of(n: int, bus_from: IntArray, bus_to: IntArray) -> IntArray:
    """The area of each bus, 0, 1, … in order of size; parallel lines count once."""
    links: Links = [{} for _ in range(n)]
    for one, other in zip(bus_from.tolist(), bus_to.tolist(), strict=True):
        if one != other:
            links[one][other] = links[other][one] = 1.0
    area = list(range(n))
    while True:
        joined = _joined(links)
        if len(set(joined)) == len(links):
            break
        names = {old: new for new, old in enumerate(dict.fromkeys(joined))}
        joined = [names[one] for one in joined]
        area = [joined[one] for one in area]
        links = _merged(links, joined, len(names))
    found = np.array(area, dtype=np.int64)
    size = np.bincount(found, minlength=1)
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.argsort(-size, kind="stable")] = np.arange(len(size))
    result: IntArray = rank[found]
    return result


def _joined(links: Links) -> list[int]:
    """For every node the area it ends in, when none gains by another move."""
    degree = [sum(one.values()) for one in links]
    whole = max(sum(degree), 1.0)
    area, weight = list(range(len(links))), degree.copy()
    for _ in range(50):
        moves = 0
        for node, neighbours in enumerate(links):
            own = area[node]
            weight[own] -= degree[node]
            lines: dict[int, float] = {own: 0.0}
            for other, many in neighbours.items():
                if other != node:
                    lines[area[other]] = lines.get(area[other], 0.0) + many
            share = degree[node] / whole
            best, gain = own, lines[own] - weight[own] * share
            for other, many in lines.items():
                better = many - weight[other] * share
                if better > gain + 1e-9:
                    best, gain = other, better
            area[node] = best
            weight[best] += degree[node]
            moves += best != own
        if not moves:
            break
    return area


def _merged(links: Links, area: list[int], count: int) -> Links:
    merged: Links = [{} for _ in range(count)]
    for node, neighbours in enumerate(links):
        into = merged[area[node]]
        for other, many in neighbours.items():
            into[area[other]] = into.get(area[other], 0.0) + many
    return merged
