"""What the noise alone does to x: the error that a reader without any trick would make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import View

DRAWS, SEED = 400, 1


class NoiseError(NamedTuple):
    """The median error of x over a network's lines, over draws: its middle, and what one draw in twenty is below."""

    middle: float
    lucky: float


def noise_error(held: View) -> NoiseError:
    """Draw the noise of the law again and again on the released values, and see how far x moves."""
    x = held.network.lines.impedance()[1]
    if not np.any(x != 0):
        return NoiseError(float("inf"), float("inf"))
    generator = np.random.default_rng(SEED)
    medians = [float(np.median(_moved(held, generator)[x != 0])) for _ in range(DRAWS)]
    return NoiseError(float(np.median(medians)), float(np.quantile(medians, 0.05)))


def _moved(held: View, generator: np.random.Generator) -> FloatArray:
    """|x'/x − 1| of every line for one draw; lines of one secret move together."""
    seen = held.seen
    count = int(seen.group.max()) + 1
    size, ratio = (generator.laplace(size=count)[seen.group] * noise.scale for noise in held.noise[:2])
    if held.charging_exact:  # noise on a conductance, of which x is the inverse
        return np.abs(1.0 / np.where(size == -1, 1e-9, 1.0 + size) - 1.0)
    before = np.where(seen.has_ratio, _angle(seen.ratio), 0.0)
    after = np.where(seen.has_ratio, _angle(seen.ratio + ratio), 0.0)
    return np.abs(np.exp(size + after - before) - 1.0)


def _angle(ratio: FloatArray) -> FloatArray:
    """ln(x/|z|) from ln(x/r)."""
    result: FloatArray = -0.5 * np.log1p(np.exp(-2.0 * ratio))
    return result
