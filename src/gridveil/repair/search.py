"""A search that sees kinks: where slopes say nothing of it, a cost is flat and then rises steeply, or ends.

A few public rays are followed from a network whose cost is wrong: single lines that are loaded; charging, resistance
and impedance of all lines; the direction of the cost's slope; the ways to other networks. The first step that changes
the side, or has no dispatch, is a bracket, and what lies between is halved. Every trial is clipped into the box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import LineParameters, Network
from gridveil.nlp.opf import OpfModel
from gridveil.repair.bounds import Box
from gridveil.repair.cost_slopes import slopes
from gridveil.repair.cost_steps import Tried, steer, tried
from gridveil.repair.promise import Promise

STRIDES = (0.25, 1.0, 4.0)
"""Places on a ray that are tried for a bracket; on rays that scale, powers of e."""
HALVINGS = 4
STEPS = 3
"""Newton steps from the best network of a ray."""
BINDING, LOADED = 0.999, 6
"""Loading from which on a line binds, and how many lines are made stiffer in turn."""
Ray = Callable[[float], FloatArray]
"""Parameters at a place on a ray; those at 0 are where it begins."""


def search(model: OpfModel, box: Box, begin: Tried, promise: Promise, others: Sequence[Network], most: int) -> Tried:
    """The best network that rays lead to, and Newton steps from there: one that keeps the promise, if there is one.

    No ray is begun after `most` trials.
    """
    best, tries = begin, 0
    for ray in _rays(box, begin, promise, others):
        found, taken = _along(ray, model, box, best, begin, promise)
        if found is not best and not promise.kept(found.optima):
            found = steer(model, box, found, promise, STEPS)
            taken += STEPS
        best, tries = found, tries + taken
        if promise.kept(best.optima) or tries >= most:
            break
    return best


def _along(ray: Ray, model: OpfModel, box: Box, best: Tried, begin: Tried, promise: Promise) -> tuple[Tried, int]:
    """The best of `best` and what is tried on a ray, and how many trials that took."""
    side, near, far = _side(begin, promise), 0.0, None
    strides, tries = iter(STRIDES), 0
    for _ in range(len(STRIDES) + HALVINGS):
        place = next(strides, None) if far is None else 0.5 * (near + far)
        if place is None:
            break
        found, tries = tried(model, box.network(box.clip(ray(place))), promise), tries + 1
        if promise.excess(found.optima) < promise.excess(best.optima):
            best = found
        if promise.kept(found.optima):
            break
        if promise.solved(found.optima) and _side(found, promise) == side:
            near = place
        else:
            far = place
    return best, tries


def _side(found: Tried, promise: Promise) -> int:
    """Whether the worst cost is too dear (1) or too cheap (−1)."""
    away = promise.away(found.optima)
    return int(np.sign(away[np.argmax(np.abs(away) - promise.tolerance)]))


def _loaded(begin: Tried, promise: Promise) -> list[int]:
    """The most loaded lines of the step whose cost is the worst, but those that bind."""
    worst = int(np.argmax(np.abs(promise.away(begin.optima)) - promise.tolerance))
    point, rating = begin.optima[worst].point, begin.network.grid.lines.rating
    loading = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt)) / rating
    order = np.argsort(-loading, kind="stable")
    return order[(loading[order] < BINDING) & (loading[order] > 0)][:LOADED].tolist()  # type: ignore[no-any-return]


def _rays(box: Box, begin: Tried, promise: Promise, others: Sequence[Network]) -> Iterator[Ray]:
    """The rays, each in the direction in which the slopes promise a better cost, where they say so."""
    current, (grid, lines), side = box.parameters(begin.network), begin.network, _side(begin, promise)
    slope = slopes(box, *begin, promise)
    worst = slope[np.argmax(np.abs(promise.away(begin.optima)) - promise.tolerance)]
    if side < 0:  # no slope sees a line that does not bind yet; a stiffer one draws flow until it does
        for line in _loaded(begin, promise):
            towards = np.zeros(len(current))
            towards[box.columns[:2, line]] = 1.0
            yield lambda t, towards=towards: current + t * towards  # type: ignore[misc]
    r, x = lines.impedance()
    scaled: tuple[Callable[[float], LineParameters], ...] = (
        lambda t: LineParameters(lines.g, lines.b, lines.bc * np.exp(t)),
        lambda t: LineParameters.from_impedance(r * np.exp(t), x, lines.bc),
        lambda t: LineParameters.from_impedance(r * np.exp(t), x * np.exp(t), lines.bc),
    )
    for scale in scaled:
        rise = float(worst @ (box.parameters(Network(grid, scale(1e-4))) - current))
        sign = -1.0 if rise * side > 0 else 1.0
        yield lambda t, scale=scale, sign=sign: box.parameters(Network(grid, scale(sign * t)))  # type: ignore[misc]
    direction = -side * worst / box.weight
    length = np.sqrt(np.average(direction**2, weights=box.weight))
    if length > 0:
        yield lambda t: current + 0.1 * t / length * direction
    for other in others:
        way = box.parameters(other) - current
        if np.any(way):
            yield lambda t, way=way: current + t * way  # type: ignore[misc]
