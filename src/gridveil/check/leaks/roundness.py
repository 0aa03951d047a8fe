"""Round numbers: planners write 50, 100 or 250 MW, and costs with few digits; the nearest of those is the likeliest.

A story says of what step a number is a multiple, or how many digits it has. How common each story is, is learnt from
the release; where none explains it better than numbers of any kind do, released values stay.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.check.leaks.alike import ANYTHING
from gridveil.check.leaks.posterior import Noise, Points, best_guess, mixed, total, under_prior, usual
from gridveil.check.leaks.prior import Belief, learn
from gridveil.check.leaks.sight import Sight, in_file_units
from gridveil.wall.protection import QUANTITIES, Group

STEPS = (500.0, 100.0, 50.0, 25.0, 10.0, 5.0, 1.0)
SERIES = (np.array([1.0, 2.0, 5.0]), np.arange(1.0, 10.0), np.arange(10.0, 100.0) / 10.0)
"""Leading digits: of preferred numbers, one digit, two digits."""
ROUNDS = 40
REACH = 8.0
"""Noise scales about a released value within which round numbers are looked for."""
MOST = 400
LEAST = 3.0
"""Evidence that round numbers must have beyond the cost of their stories."""


def round_numbers(sight: Sight) -> FloatArray:
    """ln|number| by row, at round numbers where the release bears them out."""
    result, unit, noise = sight.rows.copy(), in_file_units(sight), _noise(sight)
    for quantity in QUANTITIES:
        rows = sight.table.rows(quantity.name)
        if quantity.group is Group.LINES or not len(rows):
            continue
        for part in [rows] if quantity.group is not Group.COSTS else _by_kind(sight, rows):
            one = part[np.unique(sight.table.own[part], return_index=True)[1]]
            found = rounded(sight.rows[one] + unit[one], noise[:, one])
            back = np.searchsorted(sight.table.own[one], sight.table.own[part])
            result[part] = found[back] - unit[part]
    return result


def _by_kind(sight: Sight, rows: IntArray) -> list[IntArray]:
    kinds = sight.kind[sight.table.own[rows]]
    return [rows[kinds == kind] for kind in np.unique(kinds)]


def _noise(sight: Sight) -> FloatArray:
    """Two Laplace scales by row: of the number's own coordinate, and of the one it is a ratio to (or hardly any)."""
    own, pivot = sight.table.own, sight.table.pivot[sight.table.own]
    return np.stack([sight.scale[own], np.where(pivot < 0, 0.0, sight.scale[pivot])])


def rounded(seen: FloatArray, noise: FloatArray) -> FloatArray:
    """Logarithms of numbers in the unit of a file, moved to round ones; `noise` are two scales of each."""
    if len(seen) < 2:
        return seen
    wide = np.hypot(*noise)
    every = np.ones(len(seen))
    belief = learn(seen, Noise(wide), every[:, None], np.zeros(len(seen), dtype=bool), every, ANYTHING)
    free = under_prior(seen, Noise(wide), *belief)
    free = Points(free.value, _reweighed(free, seen, wide, noise))
    stories = [free, *(_story(seen, noise, belief, step=step) for step in STEPS)]
    stories += [_story(seen, noise, belief, digits=digits) for digits in SERIES]
    evidence = np.stack([total(one) for one in stories], axis=1)
    share = np.full(len(stories), 1.0 / len(stories))
    for _ in range(ROUNDS):
        weight = np.exp(evidence + np.log(share) - _sum(evidence + np.log(share))[:, None])
        share = np.maximum(weight.mean(axis=0), 1e-6)
        share /= share.sum()
    gain = float(np.sum(_sum(evidence + np.log(share)) - evidence[:, 0]))
    used = int(np.sum(share[1:] > 1.0 / len(seen)))
    if gain < LEAST + 0.5 * used * np.log(len(seen)):
        return seen
    return best_guess(mixed([(np.full(len(seen), np.log(s)), one) for s, one in zip(share, stories, strict=True)]))


def _story(
    seen: FloatArray, noise: FloatArray, belief: Belief, *, step: float = 0.0, digits: FloatArray | None = None
) -> Points:
    """Round numbers about every released value: how dense the prior is there, seen through the noise.

    Where more of them lie within reach than are of use, as many places of the prior take their stead.
    """
    wide = np.hypot(*noise)
    low, high = seen - REACH * wide, seen + REACH * wide
    if digits is None:
        first = np.maximum(np.ceil(np.exp(low) / step), 1.0)
        number = first[:, None] + np.arange(MOST)
        value = np.log(number * step)
        width = np.log1p(0.5 / number) - np.log1p(-0.5 / number)
    else:
        decades = np.floor(low / np.log(10.0))[:, None] + np.arange(int(np.ceil(np.max(high - low) / np.log(10.0))) + 2)
        value = (decades[:, :, None] * np.log(10.0) + np.log(digits)).reshape(len(seen), -1)
        gap = np.diff(np.concatenate([np.log(digits), [np.log(10.0 * digits[0])]]))
        width = np.broadcast_to(0.5 * (gap + np.roll(gap, 1)), (*decades.shape, len(digits))).reshape(len(seen), -1)
    prior = usual(value - belief.mean[:, None], belief.spread[:, None], belief.tail) + np.log(width)
    inside = (value >= low[:, None]) & (value <= high[:, None])
    weight = np.where(inside, prior + _twice(seen[:, None] - value, noise), -1e9)
    if digits is None:  # the steps are too fine to tell anything: no story
        weight = np.where((np.exp(high) / step > MOST)[:, None], -1e9, weight)
    return Points(value, weight)


def _twice(distance: FloatArray, noise: FloatArray) -> FloatArray:
    """Log density of the sum of two Laplace variables; of one where the second scale is nothing."""
    a, b = (one[:, None] for one in noise)
    size = np.abs(distance)
    alone = -size / a - np.log(2 * a)
    same = np.abs(a - b) < 1e-3 * a
    both = np.log1p(size / a) - size / a - np.log(4 * a)
    b_ = np.where(same | (b <= 0), 0.5 * a, b)
    big, small = np.maximum(a, b_), np.minimum(a, b_)
    apart = -size / big + np.log(big - small * np.exp(size / big - size / small)) - np.log(2 * (big**2 - small**2))
    return np.asarray(np.where(b <= 0, alone, np.where(same, both, apart)))


def _reweighed(points: Points, seen: FloatArray, wide: FloatArray, noise: FloatArray) -> FloatArray:
    """Weights of points with the law of two scales instead of a single one."""
    distance = seen[:, None] - points.value
    single = -np.abs(distance) / wide[:, None] - np.log(2 * wide[:, None])
    return np.asarray(points.weight - single + _twice(distance, noise))


def _sum(logs: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(logs, axis=1))
