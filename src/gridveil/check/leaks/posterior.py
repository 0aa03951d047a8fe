"""What is known of one number per line: weighted points, Laplace noise, and the guess that errs least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray

SPAN = 6.0
"""A grid reaches this many prior spreads, and twice as many noise scales, from its centres."""
HALF = 61
"""Points about each of the two centres of a grid."""


class Points(NamedTuple):
    """Possible values of a logarithm, by row, and the logarithm of each one's weight."""

    value: FloatArray
    weight: FloatArray


class Noise(NamedTuple):
    """Laplace noise of every line, as it looks in a logarithm.

    `bend` = 0: it was added to the logarithm. `bend` = 1: it was added to a number and the logarithm is that of the
    inverse, as a conductance's noise in ln|z|; the scale is relative to the released number. `bend` = −1: to a number
    and its own logarithm.
    """

    scale: FloatArray
    bend: int = 0

    def of(self, here: BoolArray) -> Noise:
        """The noise of some lines."""
        return Noise(self.scale[here], self.bend)


def likelihood(distance: FloatArray, noise: Noise) -> FloatArray:
    """Logarithm of how likely noise moved a logarithm by `distance` (released less true), by row."""
    if noise.bend:
        distance = 1.0 - np.exp(np.clip(noise.bend * distance, -50.0, 50.0))
    scale = noise.scale[:, None]
    result: FloatArray = -np.abs(distance) / scale - np.log(2 * scale)
    return result


def gaussian(distance: FloatArray, spread: FloatArray) -> FloatArray:
    """Logarithm of the Gaussian density."""
    result: FloatArray = -0.5 * (distance / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))
    return result


def under_prior(seen: FloatArray, noise: Noise, mean: FloatArray, spread: FloatArray) -> Points:
    """Points of a Gaussian prior seen through Laplace noise; weights are density times the width of a step.

    The points lie finely about the prior's mean and about the released value, by the widths of both.
    """
    line = np.linspace(-1, 1, HALF)
    shape = SPAN * np.sign(line) * line**2
    near_prior, near_seen = mean[:, None] + spread[:, None] * shape, seen[:, None] + 2 * noise.scale[:, None] * shape
    value = np.sort(np.concatenate([near_prior, near_seen], axis=1), axis=1)
    step = np.empty_like(value)
    step[:, 1:-1] = 0.5 * (value[:, 2:] - value[:, :-2])
    step[:, 0], step[:, -1] = value[:, 1] - value[:, 0], value[:, -1] - value[:, -2]
    prior = gaussian(value - mean[:, None], spread[:, None])
    weight = np.log(np.maximum(step, 1e-300)) + prior + likelihood(seen[:, None] - value, noise)
    return Points(value, weight)


def within(
    seen: FloatArray,
    noise: Noise,
    mean: FloatArray,
    spread: FloatArray,
    low: FloatArray,
    high: FloatArray,
    count: int = 5,
) -> Points:
    """Points of an interval that somebody names: how dense the prior is there, seen through the noise."""
    place = (np.arange(count) + 0.5) / count
    value = low[:, None] + (high - low)[:, None] * place
    weight = gaussian(value - mean[:, None], spread[:, None]) + likelihood(seen[:, None] - value, noise)
    return Points(value, weight - np.log(count))


def only(points: Points, kept: BoolArray) -> Points:
    """The points that some bound allows."""
    return Points(points.value, np.where(kept, points.weight, -np.inf))


def mixed(parts: list[tuple[FloatArray, Points]]) -> Points:
    """Several sets of points as one, each with the logarithm of its own weight, by row."""
    value = np.concatenate([points.value for _, points in parts], axis=1)
    return Points(value, np.concatenate([points.weight + weight[:, None] for weight, points in parts], axis=1))


def total(points: Points) -> FloatArray:
    """Logarithm of the sum of weights: the evidence for what made them; −∞ where nothing is left."""
    top = np.maximum(points.weight.max(axis=1), -1e9)
    with np.errstate(divide="ignore"):
        result: FloatArray = top + np.log(np.sum(np.exp(points.weight - top[:, None]), axis=1))
    return result


def moments(points: Points) -> tuple[FloatArray, FloatArray]:
    """Mean and variance."""
    share = np.exp(points.weight - np.maximum(total(points), -1e9)[:, None])
    mean = np.sum(share * points.value, axis=1)
    return mean, np.sum(share * (points.value - mean[:, None]) ** 2, axis=1)


def best_guess(points: Points, tilt: float = 0.0) -> FloatArray:
    """The median; with `tilt` = 1 the logarithm whose exponential has the least expected relative error.

    E|guess/true − 1| is least at the median of the posterior weighted by 1/true: too large a guess costs more than too
    small a one.
    """
    order = np.argsort(points.value, axis=1)
    value = np.take_along_axis(points.value, order, axis=1)
    weight = np.take_along_axis(points.weight, order, axis=1) - tilt * value
    share = np.cumsum(np.exp(weight - weight.max(axis=1)[:, None]), axis=1)
    place = np.argmax(share >= 0.5 * share[:, -1:], axis=1)
    result: FloatArray = value[np.arange(len(value)), place]
    return result
