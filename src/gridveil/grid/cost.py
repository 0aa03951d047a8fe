"""Generation cost as curves: a polynomial and a convex piecewise-linear part per generator, in per-unit power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray, frozen

DIGITS = 12
"""Significant digits of a coefficient in a file."""


@dataclass(frozen=True, eq=False)
class CostCurves:
    """cost_i(p) = Σ_k polynomial[i, k]·pᵏ + max over i's segments of (slope·p + intercept); no segment means 0.

    A convex piecewise-linear curve is the maximum of its segments, which is also how the optimisation writes it.
    """

    polynomial: FloatArray
    segment_generator: IntArray
    segment_slope: FloatArray
    segment_intercept: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "polynomial", frozen(self.polynomial))
        object.__setattr__(self, "segment_generator", frozen(self.segment_generator, np.int64))
        object.__setattr__(self, "segment_slope", frozen(self.segment_slope))
        object.__setattr__(self, "segment_intercept", frozen(self.segment_intercept))

    def __repr__(self) -> str:
        return f"CostCurves({len(self.polynomial)} generators, {len(self.segment_slope)} segments)"

    @staticmethod
    def zero(generators: int) -> CostCurves:
        """Curves that cost nothing."""
        return CostCurves(np.zeros((generators, 1)), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))

    def over(self, unit: float) -> CostCurves:
        """The same costs in another unit of money."""
        return CostCurves(
            self.polynomial / unit, self.segment_generator, self.segment_slope / unit, self.segment_intercept / unit
        )

    def written(self, base: float) -> CostCurves:
        """With polynomials as a file in MW has them, so that what is solved is what is read back, to the last bit."""
        powers = base ** np.arange(self.polynomial.shape[1])
        shown = [[float(f"{one:.{DIGITS - 1}e}") for one in row] for row in (self.polynomial / powers).tolist()]
        rounded = np.reshape(shown, self.polynomial.shape) * powers
        return CostCurves(rounded, self.segment_generator, self.segment_slope, self.segment_intercept)

    def total(self, power: FloatArray) -> float:
        """Cost of a dispatch, all generators together."""
        powers = power[:, None] ** np.arange(self.polynomial.shape[1])
        segments = np.full(len(power), -np.inf)
        lines = self.segment_slope * power[self.segment_generator] + self.segment_intercept
        np.maximum.at(segments, self.segment_generator, lines)
        return float(np.sum(self.polynomial * powers) + np.sum(segments[np.isfinite(segments)]))
