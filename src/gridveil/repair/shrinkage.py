"""Shrinkage: what public data say of the noisy values, by empirical Bayes. Post-processing: it costs no privacy.

Each protected coordinate is regressed on voltage level, transformer or line, and rating. The spread of the residuals
beyond that of the noise, which is known, is how much lines really differ; a noisy value is drawn towards its
prediction by as much as the noise outweighs that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.grid import LineParameters, PublicGrid, line_levels_kv
from gridveil.wall.coordinates import conductance_groups, conductances, decode, encode, log_structure
from gridveil.wall.draw import NoisyLines

_CLASS = 4
"""Lines of a level that it takes to have an intercept of its own."""
_KURTOSIS = 5.0
"""Fourth moment of Laplace noise over its squared variance, less one."""
_LEAST = 0.05
"""A conductance is drawn no nearer to zero than this share of its prediction."""


class Shrunk(NamedTuple):
    """Lines drawn towards their predictions; `weight` is the share of its noisy value that each coordinate keeps."""

    lines: LineParameters
    weight: FloatArray


def shrink_lines(grid: PublicGrid, noisy: NoisyLines) -> Shrunk:
    """The best guess of the lines that noisy values and public data allow."""
    if noisy.relative:
        structure = log_structure(grid, noisy.lines)
        u, line = encode(structure, noisy.lines), structure.line_of()
        parts = [
            shrink(values, 2.0 * noisy.scale**2, _regressors(grid, lines, logarithm=True))
            for values, lines in zip(np.split(u, structure.cuts), np.split(line, structure.cuts), strict=True)
        ]
        guess, weight = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return Shrunk(decode(structure, guess), weight)
    return _shrink_conductances(grid, noisy)


def _shrink_conductances(grid: PublicGrid, noisy: NoisyLines) -> Shrunk:
    group = conductance_groups(grid, noisy.lines, ~noisy.protected)
    drawn, lossless, ratio = conductances(grid, noisy.lines, group)
    member = np.zeros(len(drawn), np.int64)
    member[group] = np.arange(grid.n_line)
    g, b = noisy.g.copy(), noisy.b.copy()
    kept = np.ones(len(drawn))
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
    return Shrunk(LineParameters(g, b, noisy.bc), kept)


def shrink(values: FloatArray, noise_variance: float, regressors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(guess, weight of the value itself) of every value, given what is known about it."""
    n = len(values)
    columns = min(regressors.shape[1], max(1, n // _CLASS))
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


def _regressors(grid: PublicGrid, line: IntArray, *, logarithm: bool) -> FloatArray:
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


def is_transformer(grid: PublicGrid) -> BoolArray:
    """Lines that change voltage or phase, by public data."""
    ends, kv = grid.lines, grid.buses.base_kv
    return np.asarray((ends.tap != 1.0) | (ends.shift != 0.0) | (kv[ends.bus_from] != kv[ends.bus_to]))
