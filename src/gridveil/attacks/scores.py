"""Scores of attacks: similarity of line sets, means with confidence intervals, the marginal harm of a release."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from gridveil.errors import AttackError


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def similarity(real: Collection[int], other: Collection[int]) -> float:
    """100·|E_o ∩ E_d|/|E_o|: how many of the lines of the real flow attack another chooses too, in per cent."""
    if not len(real):
        raise AttackError("an attack without lines is similar to nothing; give the lines of the real flow attack")
    return 100.0 * len(set(real) & set(other)) / len(set(real))


def confidence(values: Sequence[float], level: float = 0.95) -> Interval:
    """Mean of independent draws with Student's interval; one draw has none, so its interval is everything."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0 or not np.all(np.isfinite(sample)):
        raise AttackError("a mean needs at least one draw, and all of them finite")
    mean = float(sample.mean())
    if sample.size == 1:
        return Interval(mean, -np.inf, np.inf)
    half = float(student.ppf(0.5 + 0.5 * level, sample.size - 1)) * float(sample.std(ddof=1)) / sqrt(sample.size)
    return Interval(mean, mean - half, mean + half)


def marginal_harm(restored_released: Sequence[float], restored_public: Sequence[float]) -> Interval:
    """Damage with the release minus damage of the `public` attacker, draw by draw, in points of load restored.

    Positive: the release helps the attacker. Negative: it misleads.
    """
    if len(restored_released) != len(restored_public):
        raise AttackError("the marginal harm compares draw by draw; give both attackers the same draws")
    return confidence(np.asarray(restored_public, dtype=float) - np.asarray(restored_released, dtype=float))
