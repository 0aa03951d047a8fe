"""What the noisy values alone say of the dispatch cost, and how sure they are: public, before anything is asked.

The surcharge of a network is ln(optimal cost/copper-plate cost), the mean over the steps. Two networks are solved: the
noisy one as drawn, and the one shrunk by public regressors. How far the first may be off follows from the noise, which
is known, and from how its cost answers to each coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Grid, LineParameters, Network
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.nlp.opf import OpfModel, Solution
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.repair.shrinkage import Shrunk, mean_shift
from gridveil.wall.coordinates import LogStructure, conductance_groups, conductances, decode, encode, log_structure
from gridveil.wall.draw import Estimate, NoisyLines

_STEP = 1e-6
_MOST = 0.02
"""Of the correction of the own surcharge: a slope says nothing of far away."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A network's optima at every step, or none if one of them has none."""

    network: Network
    optima: Sequence[Solution]


def surcharges(grid: Grid, demands: Sequence[Demand], costs: Sequence[float]) -> FloatArray:
    """ln(cost/copper-plate cost) of every step."""
    plates = [copper_plate_cost(grid, float(one.pd.sum())) for one in demands]
    return np.array([np.log(max(cost, 1e-9 * plate) / plate) for cost, plate in zip(costs, plates, strict=True)])


def estimate(
    model: OpfModel,
    noisy: NoisyLines,
    demands: Sequence[Demand],
    drawn: Solved | None,
    shrunk: Callable[[], Solved | None],
    by: Shrunk,
    enough: float,
) -> Estimate:
    """Own and shrunk surcharge and the spread of each; `by` says what public data tell of every coordinate.

    Beside its own noise an estimate is as far off as half the distance of the two. The shrunk one counts as no surer
    than the own one: small networks have too few lines to tell how much lines differ. It is told from the slopes of the
    own one where that is sure `enough`, and solved otherwise.
    """
    other = None if drawn is not None else shrunk()
    known = drawn or other
    if known is None:
        return Estimate(None, None, inf, None, None)
    shape = surcharges(model.grid, demands, [one.cost for one in known.optima])
    losses = tuple(
        float(one.point.pg.sum() - demand.pd.sum()) for one, demand in zip(known.optima, demands, strict=True)
    )
    if noisy.moving is not None or noisy.costs:  # how far loads, limits and costs are off is not told by lines' slopes
        return Estimate(float(shape.mean()), None, inf, tuple(shape.tolist()), losses)
    slopes, mean = mean_slopes(model, noisy, known), float(shape.mean())
    variance = 2.0 * noisy.scale**2 * slopes**2
    if drawn is None:
        spread = sqrt(float((by.weight * variance).sum()))
        return Estimate(None, mean, spread, tuple(shape.tolist()), losses)
    own, away = mean, by.told
    if noisy.relative:  # what ratings tell; and noise raises impedances on average
        away = away + mean_shift(log_structure(model.grid, noisy.lines, noisy.group), (1.0 - by.odds) * noisy.scale**2)
    own += float(np.clip(slopes @ away, -_MOST, _MOST))
    guess: float | None = mean + float(slopes @ by.moved)
    linear = float(((1.0 - by.odds) * variance).sum())
    if not sqrt(linear + 0.25 * (own - (guess or 0.0)) ** 2) <= enough:
        solved = shrunk()
        costs = None if solved is None else [one.cost for one in solved.optima]
        guess = None if costs is None else float(surcharges(model.grid, demands, costs).mean())
    apart = 0.0 if guess is None else 0.5 * (own - guess)
    return Estimate(own, guess, sqrt(linear + apart**2), tuple(shape.tolist()), losses)


def mean_slopes(model: OpfModel, noisy: NoisyLines, solved: Solved) -> FloatArray:
    """∂(mean of ln cost)/∂(every protected coordinate) at a solved network."""
    gradient = np.mean([cost_gradient(*solved.network, one) / abs(one.cost) for one in solved.optima], axis=0)
    if noisy.relative:
        lines = solved.network.lines
        return log_slopes(log_structure(model.grid, lines, noisy.group), lines, gradient)
    group = conductance_groups(model.grid, noisy.lines, ~noisy.protected)
    _, lossless, ratio = conductances(model.grid, noisy.lines, group)
    g, b = (np.bincount(group, np.where(noisy.protected, one, 0.0)) for one in gradient[:2])
    return np.where(lossless, b, g + ratio * b)


def log_slopes(structure: LogStructure, lines: LineParameters, gradient: FloatArray) -> FloatArray:
    """A gradient in (g, b, bc) of every line as one in the coordinates of `log`.

    A line's parameters depend on its own three coordinates alone, so each coordinate is moved for all lines at once.
    """
    u, result = encode(structure, lines), []
    for part, (group, exists) in enumerate(zip(structure.by_line, structure.exists, strict=True)):
        at = np.zeros(len(u))
        begin = int(sum(one.sum() for one in structure.exists[:part]))
        at[begin : begin + int(exists.sum())] = _STEP
        ends = [decode(structure, u + sign * at) for sign in (1.0, -1.0)]
        change = [(getattr(ends[0], name) - getattr(ends[1], name)) / (2 * _STEP) for name in ("g", "b", "bc")]
        result.append(np.bincount(group, np.sum(gradient * np.stack(change), axis=0), len(exists))[exists])
    return np.concatenate(result)
