"""The statistics of reports, each made once: means with intervals, shares with intervals, boxes.

**Which interval.** With five draws or more, a mean has Student's 95 % interval without what cannot be: a load restored
is a share of the load, an error is not negative. The mean itself is never outside the possible, so the interval covers
it as often after that cut as before. Intervals on another scale (the logit of a share) are of another number than the
mean, and have none where a draw is at 0 or 100 %; the bootstrap's are too short for few draws; order statistics of the
median need six draws. Ratios spread by factors: theirs is the geometric mean, with Student's interval of the
logarithms, which stays positive by itself. Yes and no have Wilson's interval, which holds for any number of draws.

**Few draws.** Student's factor for two draws is 12.7, for five 2.8: below five, the draws themselves say more than an
interval. Their smallest and largest are given, and called so: "n = 2: 12 … 78".
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np

from gridveil.attacks.scores import confidence

FEW = 5
"""Draws from which on there is an interval."""


class Mean(NamedTuple):
    """A mean over n draws, their standard deviation, and two ends: of the 95 % interval, or of the draws if few."""

    mean: float
    sd: float
    low: float
    high: float
    n: int
    is_range: bool = False


class Box(NamedTuple):
    """Quartiles; whiskers at the outermost values within 1.5 interquartile ranges of the box."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float
    n: int


def mean_of(values: Iterable[float], least: float = -inf, most: float = inf) -> Mean | None:
    """The mean of draws that lie between `least` and `most` by what they are, or `None` if there are none."""
    sample = list(values)
    if not sample:
        return None
    mean, low, high = confidence(sample)
    sd = float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0
    if len(sample) < FEW:
        return Mean(mean, sd, min(sample), max(sample), len(sample), is_range=True)
    # rounding of the draws may leave the mean a little outside what is possible, and it stays in its interval
    return Mean(mean, sd, min(max(low, least), mean), max(min(high, most), mean), len(sample))


def size_of(values: Iterable[float]) -> Mean | None:
    """The mean of what cannot be negative: seconds, sizes of errors."""
    return mean_of(values, 0.0)


def percent_of(values: Iterable[float]) -> Mean | None:
    """The mean of percentages of a whole."""
    return mean_of(values, 0.0, 100.0)


def points_of(values: Iterable[float]) -> Mean | None:
    """The mean of differences of two percentages of a whole."""
    return mean_of(values, -100.0, 100.0)


def geometric_of(values: Iterable[float]) -> Mean | None:
    """The geometric mean of positive ratios, its interval made on their logarithms: single draws may be far out."""
    logs = mean_of(log(value) for value in values)
    if logs is None:
        return None
    return Mean(exp(logs.mean), exp(logs.sd) if logs.n > 1 else 0.0, exp(logs.low), exp(logs.high), *logs[4:])


def share_of(flags: Iterable[bool]) -> Mean | None:
    """A share in per cent with Wilson's 95 % interval, which stays within 0 and 100 and is not empty at either end."""
    sample = [bool(flag) for flag in flags]
    if not sample:
        return None
    n, z = len(sample), 1.959964
    share = sum(sample) / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    sd = 100 * sqrt(share * (1 - share))
    return Mean(100 * share, sd, max(100 * (middle - half), 0.0), min(100 * (middle + half), 100.0), n)


def box_of(values: Iterable[float]) -> Box | None:
    """The box of some values, or `None` if there are none."""
    sample = np.sort(np.fromiter(values, dtype=np.float64))
    if sample.size == 0:
        return None
    q1, median, q3 = (float(value) for value in np.percentile(sample, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = sample[(sample >= q1 - reach) & (sample <= q3 + reach)]
    return Box(float(inside[0]), q1, median, q3, float(inside[-1]), float(sample.mean()), len(sample))
