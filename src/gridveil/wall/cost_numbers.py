"""Cost curves as a list of coefficients, and back."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid.cost import CostCurves


def cost_numbers(curves: CostCurves) -> FloatArray:
    """All coefficients: those of polynomials, the slopes of segments, and what each first segment costs at zero."""
    return np.concatenate([curves.polynomial.ravel(), curves.segment_slope, _first_intercepts(curves)])


def cost_owners(curves: CostCurves) -> tuple[IntArray, IntArray]:
    """Unit of every coefficient, and its place in the unit's curve: the linear one first, the constant last."""
    units, degrees = curves.polynomial.shape
    place = np.where(np.arange(degrees) == 0, 99, np.arange(degrees))
    segment = curves.segment_generator
    nth = np.arange(len(segment)) - np.searchsorted(segment, segment) if len(segment) else segment
    first = np.unique(segment)
    owner = np.concatenate([np.repeat(np.arange(units), degrees), segment, first])
    return owner, np.concatenate([np.tile(place, units), 100 + nth, np.full(len(first), 99_999)])


def with_cost_numbers(curves: CostCurves, values: FloatArray) -> CostCurves:
    """Curves with other coefficients. Slopes are put in order again, so that curves stay convex; segments still meet
    where they met."""
    size, count = curves.polynomial.size, len(curves.segment_slope)
    slope, start = values[size : size + count].copy(), values[size + count :]
    intercept = np.empty(count)
    for index, unit in enumerate(np.unique(curves.segment_generator)):
        here = np.flatnonzero(curves.segment_generator == unit)
        slope[here] = np.sort(slope[here])
        old, at = curves.segment_slope[here], curves.segment_intercept[here]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = np.where(np.diff(old) > 0, -np.diff(at) / np.diff(old), 0.0)
        intercept[here] = start[index] - np.concatenate([[0.0], np.cumsum(np.diff(slope[here]) * meet)])
    return CostCurves(values[:size].reshape(curves.polynomial.shape), curves.segment_generator, slope, intercept)


def _first_intercepts(curves: CostCurves) -> FloatArray:
    first = np.unique(curves.segment_generator, return_index=True)[1]
    return np.asarray(curves.segment_intercept[first])
