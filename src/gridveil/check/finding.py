"""What an audit finds: questions and answers, and the tests of noise whose scale is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray

FALSE_ALARM = 1e-6
"""How often an honest draw is called wrong, for each of the tests of its noise."""


@dataclass(frozen=True)
class Finding:
    """One question of an audit and its answer."""

    question: str
    passed: bool
    answer: str


def extremes(found: FloatArray) -> Finding:
    """Has every coordinate noise, and none too much of it? Of n Laplace variables one is below t with a chance of n·t
    at most, and one beyond t with n·exp(−t)."""
    sizes = np.abs(found)
    least, most = float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))
    low, high = FALSE_ALARM / (2 * max(len(sizes), 1)), float(np.log(2 * max(len(sizes), 1) / FALSE_ALARM))
    return Finding("noise on every coordinate", low <= least and most <= high, f"from {least:.2g} to {most:.2g} scales")


def size(question: str, found: FloatArray) -> Finding:
    """Is noise, in units of the scale that it should have, as large as that?"""
    from scipy import stats  # noqa: PLC0415 - heavy, and for this command alone

    # 2·Σ|z| of Laplace noise of scale 1 has a χ² law with 2n degrees of freedom
    count, total = len(found), 2.0 * float(np.abs(found).sum())
    low, high = (float(stats.chi2.ppf(share, 2 * count)) for share in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    interval = [total / float(stats.chi2.ppf(share, 2 * count)) for share in (0.975, 0.025)]
    scale = f"{total / (2 * count):.3g} of the scale of its mechanism (95 %: {interval[0]:.3g} to {interval[1]:.3g})"
    return Finding(question, low <= total <= high, f"{count} numbers with noise of {scale}")
