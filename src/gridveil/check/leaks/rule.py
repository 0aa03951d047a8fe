"""The rule of the verdict, the same for lines and for all other numbers. Errors are relative, their medians count.

`leaks`: numbers of the original can be read off. `weak`: somebody does better than four fifths of what the noise alone
would leave him. `clean`: nobody does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.law import NoiseError

VERDICTS = ("clean", "weak", "leaks")
"""The worst last."""
RECOVERED = 1e-6
MANY = 0.02
"""Share of numbers that may be recovered, or unchanged, by chance."""
HIDDEN = 0.01
"""If half of the numbers are known better than this, nothing is hidden, however it came about."""
WEAK = 0.8
SAME = 1e-8


@dataclass(frozen=True)
class Error:
    """How far guesses of one parameter are from the truth, over the lines (or loads, units, …) that have it."""

    lines: int
    median: float
    within_1_percent: float
    within_10_percent: float
    recovered: int


def relative_error(true: FloatArray, guess: FloatArray) -> Error:
    """The error of guesses, where there is something to guess."""
    here = (true != 0) & np.isfinite(guess)
    if not np.any(here):
        return Error(0, float("inf"), 0.0, 0.0, 0)
    error = np.abs(guess[here] / true[here] - 1.0)
    near, fair = (float(np.mean(error <= limit)) for limit in (0.01, 0.1))
    return Error(len(error), float(np.median(error)), near, fair, int(np.count_nonzero(error <= RECOVERED)))


def believed(released: float, law: NoiseError) -> float:
    """The error that the noise of this draw leaves: the law's, or the released value's where chance explains less.

    With 20 lines, the median error of one draw in four is below four fifths of the law's: that is luck, not a leak. A
    released value beyond luck is one, so that the law's luckiest draw in twenty is the least that is believed.
    """
    return float(np.clip(released, law.lucky, law.middle))


def read_off(words: str, errors: Mapping[str, Error], best: str) -> str | None:
    """The sentence that says who can read numbers off, if anybody can."""
    for name, one in errors.items():
        if one.recovered > MANY * max(one.lines, 1):
            return f"'{name}' recovers {one.recovered} of {one.lines} {words} to six digits"
    if errors[best].median <= HIDDEN:
        return f"'{best}' knows half of all {words} to within {errors[best].median:.2%}"
    return None


def compared(best: str, error: float, noise: float) -> tuple[str, str]:
    """Verdict and reason where nothing can be read off."""
    if error < WEAK * noise:
        return "weak", f"'{best}' is off by {error:.2%}, where the noise alone would leave {noise:.2%}"
    return "clean", f"the best attacker is off by {error:.2%}, and the noise alone would leave {noise:.2%}"
