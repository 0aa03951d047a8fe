"""What is known of one number per line: weighted points, Laplace noise, and the guess that errs least."""

from __future__ import annotations

import math
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


class Moments(NamedTuple):
    """Mean and variance of every line's value, and how much each counts."""

    mean: FloatArray
    variance: FloatArray
    weight: FloatArray


def likelihood(distance: FloatArray, noise: Noise) -> FloatArray:
    """Logarithm of how likely noise moved a logarithm by `distance` (released less true), by row."""
    if noise.bend:
        distance = 1.0 - np.exp(np.clip(noise.bend * distance, -50.0, 50.0))
    scale = noise.scale[:, None]
    result: FloatArray = -np.abs(distance) / scale - np.log(2 * scale)
    return result


def usual(distance: FloatArray, spread: FloatArray, tail: float) -> FloatArray:
    """Logarithm of a prior density about its mean: Student's with `tail` degrees of freedom."""
    constant = math.lgamma((tail + 1) / 2) - math.lgamma(tail / 2) - 0.5 * math.log(tail * math.pi)
    result: FloatArray = constant - np.log(spread) - 0.5 * (tail + 1) * np.log1p((distance / spread) ** 2 / tail)
    return result


def under_prior(seen: FloatArray, noise: Noise, mean: FloatArray, spread: FloatArray, tail: float) -> Points:
    """Points of a prior seen through Laplace noise; weights are density times the width of a step.

    The points lie finely about the prior's mean and about the released value, by the widths of both.
    """
    line = np.linspace(-1, 1, HALF)
    shape = SPAN * np.sign(line) * line**2
    near_prior, near_seen = mean[:, None] + spread[:, None] * shape, seen[:, None] + 2 * noise.scale[:, None] * shape
    value = np.sort(np.concatenate([near_prior, near_seen], axis=1), axis=1)
    step = np.empty_like(value)
    step[:, 1:-1] = 0.5 * (value[:, 2:] - value[:, :-2])
    step[:, 0], step[:, -1] = value[:, 1] - value[:, 0], value[:, -1] - value[:, -2]
    prior = usual(value - mean[:, None], spread[:, None], tail)
    weight = np.log(np.maximum(step, 1e-300)) + prior + likelihood(seen[:, None] - value, noise)
    return Points(value, weight)


def within(
    seen: FloatArray,
    noise: Noise,
    mean: FloatArray,
    spread: FloatArray,
    tail: float,
    low: FloatArray,
    high: FloatArray,
    count: int = 5,
) -> Points:
    """Points of an interval that somebody names: how dense the prior is there, seen through the noise."""
    place = (np.arange(count) + 0.5) / count
    value = low[:, None] + (high - low)[:, None] * place
    weight = usual(value - mean[:, None], spread[:, None], tail) + likelihood(seen[:, None] - value, noise)
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


def moments(points: Points, mean: FloatArray, spread: FloatArray, tail: float) -> Moments:
    """Mean, variance and weight of what is now thought of a line, given the prior it came from.

    A value far out in the tail of the prior counts less, as expectation and maximisation for Student's density want it.
    """
    share = np.exp(points.weight - np.maximum(total(points), -1e9)[:, None])
    share = share * (tail + 1) / (tail + ((points.value - mean[:, None]) / spread[:, None]) ** 2)
    weight = np.maximum(np.sum(share, axis=1), 1e-12)
    centre = np.sum(share * points.value, axis=1) / weight
    return Moments(centre, np.sum(share * (points.value - centre[:, None]) ** 2, axis=1) / weight, weight)


def best_guess(points: Points, tilt: float = 0.0) -> FloatArray:
    """The median; with `tilt` = 1 the logarithm whose exponential has the least expected relative error.

    E|guess/true − 1| is least at the median of the posterior weighted by 1/true: too large a guess costs more than too
    small a one.
    """
    order = np.argsort(points.value, axis=1)
    value = np.take_along_axis(points.value, order, axis=1)
    weight = np.take_along_axis(points.weight, order, axis=1) - tilt * value
    top = np.maximum(weight.max(axis=1), -1e9)  # where bounds allow no point, the first is as good as any
    share = np.cumsum(np.exp(weight - top[:, None]), axis=1)
    place = np.argmax(share >= 0.5 * share[:, -1:], axis=1)
    result: FloatArray = value[np.arange(len(value)), place]
    return result
