"""A black-box audit of a privacy claim: how much do two adjacent inputs change the odds of what comes out?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import beta

Draw = Callable[[], float]


def epsilon_lower_bound(one: Draw, other: Draw, draws: int, confidence: float = 0.999) -> float:
    """A lower bound on the loss, valid with `confidence`: the log odds of the best half-line event, by Clopper–Pearson.

    The threshold and the side of the event are chosen on the first half of the draws and judged on the second.
    """
    return lower_bound(np.array([one() for _ in range(draws)]), np.array([other() for _ in range(draws)]), confidence)


def lower_bound(a: np.ndarray, b: np.ndarray, confidence: float = 0.999) -> float:
    """The same of values that are drawn already."""
    draws = len(a)
    half = draws // 2
    candidates = np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0.02, 0.98, 49))
    best = max(
        ((side, threshold) for side in (1.0, -1.0) for threshold in candidates),
        key=lambda event: _bound(side_share(a[:half], *event), side_share(b[:half], *event), half, confidence),
    )
    return _bound(side_share(a[half:], *best), side_share(b[half:], *best), draws - half, confidence)


def side_share(values: np.ndarray, side: float, threshold: float) -> int:
    return int(np.count_nonzero(side * values > side * threshold))


def _bound(hits: int, others: int, n: int, confidence: float) -> float:
    """ln(lowest plausible P(event) / highest plausible P'(event)), both ways round."""
    tail = (1 - confidence) / 4

    def low(k: int) -> float:
        return 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))

    def high(k: int) -> float:
        return 1.0 if k == n else float(beta.ppf(1 - tail, k + 1, n - k))

    ratios = [low(hits) / high(others), low(others) / high(hits)]
    return float(np.log(max(*ratios, 1e-300)))
