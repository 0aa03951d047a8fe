"""Several releases of one network: the middle of their values has less noise than each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import LineNoise, Reader, View, lines_from, view
from gridveil.check.leaks.posterior import Noise
from gridveil.grid import Network


def averaged(readers: Sequence[Reader]) -> View:
    """All releases as one: the weighted median of every coordinate, which is the likeliest value under Laplace noise.

    Noise falls at least with the root of the number of releases. What is left of it is taken to be Laplace noise again.
    """
    views = [view(one) for one in readers]
    if len(views) == 1:
        return views[0]
    first = views[0]
    exact = all(one.charging_exact for one in views)
    values, left = [], []
    for name in ("size", "ratio", "charging"):
        noises: list[Noise] = [getattr(one.noise, name) for one in views]
        scale = np.stack([one.scale for one in noises])
        values.append(middle(np.stack([getattr(one.seen, name) for one in views]), 1.0 / scale))
        bend = noises[0].bend if len({one.bend for one in noises}) == 1 else 0
        left.append(Noise(1.0 / np.sqrt(np.sum(scale**-2.0, axis=0)), bend))
    seen = first.seen
    merged = replace(seen, size=values[0], ratio=values[1], charging=values[2])
    held = View(first.network, merged, LineNoise(*left), exact)
    return View(Network(first.network.grid, lines_from(held, *values)), merged, held.noise, exact)


def middle(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The weighted median of every column; halfway between two values if the weights leave a choice."""
    order = np.argsort(values, axis=0)
    value, weight = np.take_along_axis(values, order, axis=0), np.take_along_axis(weights, order, axis=0)
    share = np.cumsum(weight, axis=0) / np.sum(weight, axis=0)
    low, high = np.argmax(share >= 0.5 - 1e-9, axis=0), np.argmax(share >= 0.5 + 1e-9, axis=0)
    every = np.arange(values.shape[1])
    result: FloatArray = 0.5 * (value[low, every] + value[high, every])
    return result
