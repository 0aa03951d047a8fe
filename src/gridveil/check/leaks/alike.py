"""Equal values: units of one make, loads of one power factor. What many share is known better than any of them.

Released values are a mixture: some are one of a few common values, seen through Laplace noise, the others are anything.
Common values are added one by one while that explains the release better than what they cost to say (Schwarz).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.check.leaks.posterior import Noise, Points, best_guess, total, under_prior
from gridveil.check.leaks.prior import Nature, learn
from gridveil.check.leaks.sight import Sight
from gridveil.wall.protection import Group

FEWEST = 4
MOST_VALUES, MOST_TRIED = 40, 300
ROUNDS = 25
PATIENCE = 5
ANYTHING = Nature(1000.0, 4.0, 0.5)
LEAST = 3.0
"""Evidence that a common value must have beyond its own cost: chance makes a few values lie together."""


class Common(NamedTuple):
    """Values that several share, by row, and how many share each."""

    value: FloatArray
    share: FloatArray


def equal_values(sight: Sight) -> FloatArray:
    """Coordinates, those of one kind pooled where they seem to be equal."""
    u = sight.u.copy()
    for kind in np.unique(sight.kind):
        here = np.flatnonzero((sight.kind == kind) & _beside_lines(sight))
        u[here] = pooled(u[here, None], sight.scale[here, None])[:, 0]
    return u


def equal_units(sight: Sight) -> FloatArray:
    """Coordinates, those of whole loads, units and cost curves pooled where these seem to be equal in all."""
    u, beside = sight.u.copy(), _beside_lines(sight)
    found: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for group in np.unique(sight.table.group):
        rows = np.flatnonzero((sight.table.group[sight.table.own] == group) & beside[sight.table.own])
        for holder in np.unique(sight.holder[rows]):
            own = np.unique(sight.table.own[rows[sight.holder[rows] == holder]])
            if len(own) > 1:
                found.setdefault(tuple(sight.kind[own].tolist()), set()).add(tuple(own.tolist()))
    for alike in found.values():
        one = np.array(sorted(alike))
        u[one] = pooled(sight.u[one], sight.scale[one])
    return u


def _beside_lines(sight: Sight) -> BoolArray:
    return np.asarray(sight.table.group != list(Group).index(Group.LINES))


def pooled(seen: FloatArray, scale: FloatArray) -> FloatArray:
    """Values by row (an element) and column (its numbers), moved to what several rows seem to share."""
    if len(seen) < FEWEST:
        return seen
    free = [_free(seen[:, k], scale[:, k]) for k in range(seen.shape[1])]
    smooth = np.sum([total(one) for one in free], axis=0)
    common, weight = _common(seen, scale, smooth)
    if not len(common.value):
        return seen
    columns = []
    for k, points in enumerate(free):
        value = np.concatenate([points.value, np.broadcast_to(common.value[:, k], (len(seen), len(common.value)))], 1)
        with np.errstate(divide="ignore"):
            inside = points.weight - total(points)[:, None] + np.log(weight[:, :1])
            columns.append(best_guess(Points(value, np.concatenate([inside, np.log(weight[:, 1:])], axis=1))))
    return np.stack(columns, axis=1)


def _free(seen: FloatArray, scale: FloatArray) -> Points:
    """Points of a value that is nobody else's."""
    noise, one = Noise(scale), np.ones(len(seen))
    belief = learn(seen, noise, one[:, None], np.zeros(len(seen), dtype=bool), one, ANYTHING)
    return under_prior(seen, noise, *belief)


def _common(seen: FloatArray, scale: FloatArray, smooth: FloatArray) -> tuple[Common, FloatArray]:
    """Common values, and the weight of every story of every row, that of being like no other first.

    One more may explain nothing by itself and much with the next, so that a few are added before that is given up.
    """
    count, size = seen.shape
    tried = seen[np.unique(np.linspace(0, count - 1, min(count, MOST_TRIED)).astype(np.int64))]
    near = _likelihood(seen, scale, tried)
    common = best = Common(np.zeros((0, size)), np.ones(1))
    logs = smooth[:, None]
    most, since, weight = float(np.sum(smooth)) + LEAST, 0, np.ones((count, 1))
    while len(common.value) < min(MOST_VALUES, count // 2) and since < PATIENCE:
        now = _total(logs)[:, None]
        parts = [part for part in (2.0 / count, 0.1, 0.3, 0.8) if part < 1]
        gain = [np.sum(np.logaddexp(now + np.log1p(-part), near + np.log(part)) - now, axis=0) for part in parts]
        start = tried[int(np.argmax(np.max(gain, axis=0)))]
        share = np.concatenate([common.share * (1 - 2.0 / count), [2.0 / count]])
        common, logs = _refined(seen, scale, smooth, Common(np.concatenate([common.value, start[None]]), share))
        worth = float(np.sum(_total(logs))) - 0.5 * len(common.value) * (size + 1) * np.log(count)
        since += 1
        if worth > most:
            best, most, since, weight = common, worth, 0, np.exp(logs - _total(logs)[:, None])
    return best, weight


def _refined(seen: FloatArray, scale: FloatArray, smooth: FloatArray, common: Common) -> tuple[Common, FloatArray]:
    """Expectation and maximisation in turn: who shares a value, and the weighted median of who does."""
    logs = _stories(seen, scale, smooth, common)
    for _ in range(ROUNDS):
        weight = np.exp(logs - _total(logs)[:, None])
        value = np.stack([_medians(seen, weight[:, 1 + k, None] / scale) for k in range(len(common.value))])
        share = np.maximum(weight.mean(axis=0), 1e-9)
        common = Common(value, share / share.sum())
        logs = _stories(seen, scale, smooth, common)
    return common, logs


def _stories(seen: FloatArray, scale: FloatArray, smooth: FloatArray, common: Common) -> FloatArray:
    """Log density of every row by every story, with its share."""
    every = np.concatenate([smooth[:, None], _likelihood(seen, scale, common.value)], axis=1)
    return np.asarray(every + np.log(common.share))


def _likelihood(seen: FloatArray, scale: FloatArray, values: FloatArray) -> FloatArray:
    """Log density of every row if it were each of the values."""
    away = np.abs(seen[:, None, :] - values[None]) / scale[:, None, :]
    return np.asarray(-np.sum(away + np.log(2 * scale)[:, None, :], axis=2))


def _total(logs: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(logs, axis=1))


def _medians(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The weighted median of every column."""
    order = np.argsort(values, axis=0)
    share = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    place = np.argmax(share >= 0.5 * share[-1], axis=0)
    return np.asarray(np.take_along_axis(values, order, axis=0)[place, np.arange(values.shape[1])])
