"""Ratios: r and x have few decimals, so an exact r/x is a fraction whose terms, times a whole number, are r and x."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import View
from gridveil.grid import LineParameters

SMALL, LARGEST = 3000, 20000
"""Nearly every number is near some fraction with terms up to 20,000; one in a hundred is with terms up to 3,000."""
NOT_BY_CHANCE = 0.1
EXACT = 1e-8
"""Releases have nine digits."""
DECIMALS = (3, 4, 5, 6)


def from_fractions(held: View) -> LineParameters:
    """Every line whose released ratio is a fraction, at the whole multiple nearest to its released size.

    Only if more ratios are small fractions than chance would make so are they read as fractions at all. The number of
    decimals is the smallest for which nine in ten of the fractions fit their lines: with too few, the smallest multiple
    is larger than the line.
    """
    r, x = held.network.lines.impedance()
    if len(_fractions(r, x, SMALL)) <= NOT_BY_CHANCE * np.count_nonzero((r != 0) & (x != 0)):
        return held.network.lines
    terms = _fractions(r, x, LARGEST)
    lines, below = np.array(list(terms)), np.array([one.denominator for one in terms.values()], dtype=float)
    above = np.array([one.numerator for one in terms.values()], dtype=float)
    fits = [np.mean(below / 10.0**one <= 1.5 * np.abs(x[lines])) for one in DECIMALS]
    decimals = next((one for one, fit in zip(DECIMALS, fits, strict=True) if fit >= 0.9), DECIMALS[-1])
    count = np.maximum(np.round(np.abs(x[lines]) * 10.0**decimals / below), 1.0)
    r, x = r.copy(), x.copy()
    r[lines] = np.sign(r[lines]) * count * above / 10.0**decimals
    x[lines] = np.sign(x[lines]) * count * below / 10.0**decimals
    return LineParameters.from_impedance(r, x, held.network.lines.bc)


def _fractions(r: FloatArray, x: FloatArray, largest: int) -> dict[int, Fraction]:
    found = {}
    for i in np.flatnonzero((r != 0) & (x != 0)):
        ratio = abs(float(r[i] / x[i]))
        fraction = Fraction(ratio).limit_denominator(largest)
        if fraction and abs(float(fraction) - ratio) <= EXACT * ratio:
            found[int(i)] = fraction
    return found
