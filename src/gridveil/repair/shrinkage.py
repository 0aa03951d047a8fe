"""Shrinkage: what public data say of the noisy values, by empirical Bayes. Post-processing: it costs no privacy.

Each protected coordinate is regressed on voltage level, transformer or line, and rating. The spread of the residuals
beyond that of the noise, which is known, is how much lines really differ; a noisy value is drawn towards its
prediction by as much as the noise outweighs that. Where ratings look like those that a library makes of impedances, an
impedance is read from its rating, by as much as the noisy values bear that out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid, LineParameters, Network, is_transformer, line_levels_kv
from gridveil.grid.ratings import bound_size, likely_angles
from gridveil.wall.coordinates import (
    LogStructure,
    conductance_groups,
    conductances,
    decode,
    encode,
    log_structure,
)
from gridveil.wall.draw import NoisyLines
from gridveil.wall.numbers import decode as decode_numbers
from gridveil.wall.numbers import encode as encode_numbers
from gridveil.wall.numbers import logs, rebuilt

_CLASS = 4
"""Lines of a level that it takes to have an intercept of its own."""
_ROUNDS = 15
_MOST = 0.25
"""Of the correction of a mean: beyond, a network is no better for it."""
_KURTOSIS = 5.0
"""Fourth moment of Laplace noise over its squared variance, less one."""
_LEAST = 0.05
"""A conductance is drawn no nearer to zero than this share of its prediction."""


class Shrunk(NamedTuple):
    """Lines drawn towards their predictions; `weight` is the share of its noisy value that each coordinate keeps.

    `moved` is by how much each was moved; `told` how far, and `odds` how surely, ratings alone would move it.
    """

    lines: LineParameters
    weight: FloatArray
    moved: FloatArray
    told: FloatArray
    odds: FloatArray


def shrink_lines(grid: Grid, noisy: NoisyLines) -> Shrunk:
    """The best guess of the lines that noisy values and public data allow."""
    if not noisy.relative:
        return _shrink_conductances(grid, noisy)
    if not np.any(noisy.protected):
        none = np.zeros(0)
        return Shrunk(noisy.lines, none, none, none, none)
    if noisy.moving is not None and len(noisy.moving.table.rows("rating")):
        # noisy ratings may hold the noise of their lines: they say nothing of them that is known to be right
        grid = replace(grid, lines=replace(grid.lines, rating=np.full(grid.n_line, np.inf)))
    structure, b = log_structure(grid, noisy.lines, noisy.group), noisy.scale
    u, line = encode(structure, noisy.lines), structure.line_of()
    parts = [
        shrink(values, 2.0 * b**2, _regressors(grid, lines, logarithm=True))
        for values, lines in zip(np.split(u, structure.cuts), np.split(line, structure.cuts), strict=True)
    ]
    guess, weight = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    sizes, value, odds = len(parts[0][0]), u.copy(), np.zeros(len(u))
    value[:sizes], odds[:sizes] = read_ratings(grid, line[:sizes], u[:sizes], b, guess[:sizes], weight[:sizes])
    guess, weight = (1.0 - odds) * guess + odds * value, (1.0 - odds) * weight
    # E exp(Lap(b)) = 1/(1 − b²): what noise is left raises |z|, r = |z|/k and charging on average; that is taken off
    guess += mean_shift(structure, weight * b**2)
    return Shrunk(decode(structure, guess), weight, guess - u, odds * (value - u), odds)


def shrink_numbers(grid: Grid, noisy: NoisyLines) -> Grid:
    """Ratings, loads and limits drawn towards the mean of their kind, by as much as the noise outweighs how they
    differ; ratios too."""
    moving = noisy.moving
    if moving is None:
        return grid
    made, found = moving.table, logs(Network(grid, noisy.lines))
    u, kind = encode_numbers(made, found), np.zeros(made.size, np.int64)
    kind[made.own[::-1]] = made.quantity[::-1]
    for one in np.unique(kind):
        here = np.flatnonzero(kind == one)
        variance = 2.0 * float(moving.scale[here].mean()) ** 2
        u[here] = shrink(u[here], variance, np.ones((len(here), 1)))[0]
    return rebuilt(made, decode_numbers(made, u, found), Network(grid, noisy.lines)).grid


def mean_shift(structure: LogStructure, variance: FloatArray) -> FloatArray:
    """The change of every coordinate after which r, x and bc are right on average; `variance` is half that of noise."""
    sign = np.concatenate(
        [np.full(int(exists.sum()), one) for exists, one in zip(structure.exists, (-1.0, 1.0, -1.0), strict=True)]
    )
    return sign * np.minimum(variance, _MOST)


def read_ratings(
    grid: Grid, line: IntArray, drawn: FloatArray, scale: float, guess: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(ln|z| by the rating formula, the chance that it is the truth) of every line, as the noisy values bear it out.

    A line is rated by the formula, or it is as guessed; how many are which is found by expectation and maximisation.
    """
    spread = scale * np.sqrt(2.0 / np.maximum(1.0 - weight, 1e-3))  # of noisy values around their predictions
    centre = drawn - (drawn - guess) / np.maximum(1.0 - weight, 1e-3)
    other = -0.5 * ((drawn - centre) / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))
    best, evidence, odds = None, float(other.sum()), np.zeros(len(drawn))
    for theta in likely_angles(grid):
        told = bound_size(grid, theta)[line]
        known = np.isfinite(told)
        own = np.where(known, -np.abs(drawn - np.where(known, told, 0.0)) / scale - np.log(2 * scale), -np.inf)
        share = 0.5
        for _ in range(_ROUNDS):
            chance = share / (share + (1.0 - share) * np.exp(np.clip(other - own, -700, 700)))
            share = float(np.clip(chance[known].mean() if np.any(known) else 0.0, 1e-6, 1.0 - 1e-6))
        found = float(np.sum(np.logaddexp(np.log(share) + own, np.log(1.0 - share) + other)))
        if found > evidence + np.log(max(len(drawn), 2)):
            best, evidence, odds = np.where(known, told, 0.0), found, np.where(known, chance, 0.0)
    return drawn if best is None else best, odds


def _shrink_conductances(grid: Grid, noisy: NoisyLines) -> Shrunk:
    group = conductance_groups(grid, noisy.lines, ~noisy.protected)
    drawn, lossless, ratio = conductances(grid, noisy.lines, group)
    member = np.zeros(len(drawn), np.int64)
    member[group] = np.arange(grid.n_line)
    g, b = noisy.g.copy(), noisy.b.copy()
    before, kept = drawn.copy(), np.ones(len(drawn))
    for kind in (False, True):
        here = np.flatnonzero((lossless == kind) & noisy.protected[member])
        if not len(here):
            continue
        sign = np.where(lossless[here], np.sign(np.median(drawn[here])), 1.0)
        size, weight = shrink(
            sign * drawn[here], 2.0 * noisy.scale**2, _regressors(grid, member[here], logarithm=False)
        )
        middle = max(float(np.median(size)), 1e-9)
        drawn[here], kept[here] = sign * np.maximum(size, _LEAST * middle), weight
    moved = noisy.protected
    g[moved] = np.where(lossless, 0.0, drawn)[group][moved]
    b[moved] = np.where(lossless, drawn, ratio * drawn)[group][moved]
    nothing = np.zeros(len(kept))
    return Shrunk(LineParameters(g, b, noisy.bc), kept, drawn - before, nothing, nothing)


def shrink(values: FloatArray, noise_variance: float, regressors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(guess, weight of the value itself) of every value, given what is known about it."""
    n = len(values)
    columns = min(regressors.shape[1], max(1, n // 8))
    design = regressors[:, :columns]
    solution, _, rank, _ = np.linalg.lstsq(design, values, rcond=1e-9)
    residual = values - design @ solution
    if n <= rank:
        return values, np.ones(n)
    # the variance of Laplace noise is told from k residuals to within sqrt(5/k): lines may differ by as much
    least = noise_variance * np.sqrt(_KURTOSIS / (n - rank)) / 2.0
    spread = max(float(residual @ residual) / (n - rank) - noise_variance, least)
    weight = spread / (spread + noise_variance)
    return values - (1.0 - weight) * residual, np.full(n, weight)


def _regressors(grid: Grid, line: IntArray, *, logarithm: bool) -> FloatArray:
    """Columns of what is public of lines, the most telling first: one, transformer, rating, unrated, levels."""
    level, transformer = line_levels_kv(grid)[line], is_transformer(grid)[line]
    rating = grid.lines.rating[line]
    rated = np.isfinite(rating) & (rating > 0)
    size = np.zeros(len(line))
    if np.any(rated):
        known = np.log(rating[rated]) if logarithm else rating[rated]
        size[rated] = (known - known.mean()) / (known.std() or 1.0)
    columns = [np.ones(len(line)), size, transformer.astype(float), size * transformer, (~rated).astype(float)]
    for kv in np.unique(level)[:-1]:
        for kind in (False, True):
            here = (level == kv) & (transformer == kind)
            if here.sum() >= _CLASS:
                columns.append(here.astype(float))
    return np.stack(columns, axis=1)
