"""Engineering prior: lines of one level, kind and rating are alike, and how alike is learnt from the release itself.

Empirical Bayes. A coordinate is Gaussian about a linear function of public columns; what was released of it has Laplace
noise of a known scale on top. Expectation and maximisation in turn find the function and the spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.check.leaks.coordinates import Seen
from gridveil.check.leaks.knowledge import View
from gridveil.check.leaks.posterior import Moments, Noise, best_guess, moments, under_prior
from gridveil.grid import Grid, is_transformer, line_levels_kv

ROUNDS = 40
NARROWEST = 0.02
"""A prior is never thought to be better than two per cent: the sample is small."""


class Nature(NamedTuple):
    """How a coordinate varies among lines that look alike: as if `lines` with a `spread` had been seen before.

    `tail` is the degrees of freedom of Student's density: a thousand is a Gaussian's.
    """

    tail: float
    lines: float
    spread: float


SIZES, RATIOS = Nature(1000.0, 4.0, 0.1), Nature(1000.0, 15.0, 0.3)
CHARGINGS = Nature(2.0, 4.0, 0.1)
"""Of surge impedances most are equal and some are far off."""


class Belief(NamedTuple):
    """What is expected of a coordinate of every line before its own value is seen, as a density of Student's."""

    mean: FloatArray
    spread: FloatArray
    tail: float


def public_columns(grid: Grid, seen: Seen, *, rating: bool = True) -> FloatArray:
    """What a line's parameters may depend on: level, kind, rating, and where in the network it lies."""
    ends, level = grid.lines, line_levels_kv(grid)
    transformer = is_transformer(grid).astype(float)
    rated = np.isfinite(ends.rating) & (ends.rating > 0)
    log = np.log(np.where(rated, ends.rating, 1.0))
    log = np.where(rated, log - (log[rated].mean() if np.any(rated) else 0.0), 0.0)
    degree = np.bincount(np.concatenate([ends.bus_from, ends.bus_to]), minlength=grid.n_bus)
    generates = np.zeros(grid.n_bus)
    generates[grid.generators.bus] = 1.0
    near_end = np.minimum(degree[ends.bus_from], degree[ends.bus_to]) == 1
    columns = [
        np.ones(grid.n_line), transformer, ~seen.has_ratio, seen.has_charging, near_end,
        np.maximum(generates[ends.bus_from], generates[ends.bus_to]),
        *((level == kv) for kv in np.unique(level)[1:]),
        *((log, log * transformer, 0.5 * log**2, ~rated) if rating else ()),
    ]  # fmt: skip
    return np.stack([np.asarray(one, dtype=float) for one in columns], axis=1)


def refit(columns: FloatArray, kind: BoolArray, share: FloatArray, moment: Moments, nature: Nature = SIZES) -> Belief:
    """The belief that fits weighted means and variances best; lines and transformers have spreads of their own."""
    mean, variance, _ = moment
    weight = share * moment.weight
    penalty = np.full(columns.shape[1], 1.0)
    penalty[0] = 1e-6
    plain = columns.T @ (weight[:, None] * columns)
    inverse = np.linalg.inv(plain + np.diag(penalty))
    fitted = columns @ (inverse @ (columns.T @ (weight * mean)))
    taken = float(np.sum(inverse * plain)) / max(float(np.sum(weight)), 1.0)  # degrees of freedom, as a share
    square = (mean - fitted) ** 2 + variance
    spread = np.empty(len(mean))
    for one in (False, True):
        here = kind == one
        enough = float(np.sum(share[here])) * max(1.0 - taken, 0.2) + nature.lines
        spread[here] = np.sqrt((float(np.sum(weight[here] * square[here])) + nature.lines * nature.spread**2) / enough)
    return Belief(fitted, np.maximum(spread, NARROWEST), nature.tail)


def broad(seen: FloatArray, share: FloatArray, nature: Nature = SIZES) -> Belief:
    """Where learning starts: one mean for all, and a spread that excludes little."""
    mean = float(np.average(seen, weights=share)) if len(seen) else 0.0
    return Belief(np.full(len(seen), mean), np.ones(len(seen)), nature.tail)


def learn(
    seen: FloatArray, noise: Noise, columns: FloatArray, kind: BoolArray, share: FloatArray, nature: Nature
) -> Belief:
    """Learn a belief from released values, each of which counts by its share."""
    belief = broad(seen, share, nature)
    for _ in range(ROUNDS if len(seen) else 0):
        belief = refit(columns, kind, share, moments(under_prior(seen, noise, *belief), *belief), nature)
    return belief


def shrunk(
    seen: FloatArray,
    noise: Noise,
    exists: BoolArray,
    columns: FloatArray,
    kind: BoolArray,
    share: FloatArray,
    nature: Nature = SIZES,
) -> FloatArray:
    """Every value that exists, moved towards what is usual for such lines as far as noise and spread suggest."""
    result, here = seen.copy(), exists
    belief = learn(seen[here], noise.of(here), columns[here], kind[here], share[here], nature)
    if np.any(here):
        result[here] = best_guess(under_prior(seen[here], noise.of(here), *belief))
    return result


def engineering(held: View, *more: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ln|z|, ln(x/r) and ln(bc/x) of every line as an engineer would expect them; `more` columns explain ln|z|."""
    seen, noise, kind = held.seen, held.noise, is_transformer(held.network.grid)
    columns = public_columns(held.network.grid, seen)
    every = np.ones(len(kind), dtype=bool)
    return (
        shrunk(seen.size, noise.size, every, np.column_stack([columns, *more]), kind, seen.share),
        shrunk(seen.ratio, noise.ratio, seen.has_ratio, columns, kind, seen.share, RATIOS),
        shrunk(seen.charging, noise.charging, seen.has_charging, columns, kind, seen.share, CHARGINGS),
    )
