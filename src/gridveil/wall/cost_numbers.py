"""Cost curves as a list of coefficients, and back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

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
    size, segment = curves.polynomial.size, curves.segment_generator
    slope, start = values[size : size + len(segment)].copy(), values[size + len(segment) :]
    for here in _by_unit(segment):
        slope[here] = np.sort(slope[here])
    begin = start[np.searchsorted(np.unique(segment), segment)]
    made = CostCurves(values[:size].reshape(curves.polynomial.shape), segment, slope, begin)
    return meeting_at(made, breakpoints(curves))


def breakpoints(curves: CostCurves) -> FloatArray:
    """The power at which every segment meets the one before it; 0 for the first of a curve, and for a parallel one."""
    slope, intercept = curves.segment_slope, curves.segment_intercept
    rise, meet = np.diff(slope), np.zeros(len(slope))
    there = (np.diff(curves.segment_generator) == 0) & (rise > 0)
    meet[1:][there] = -np.diff(intercept)[there] / rise[there]
    return meet


def meeting_at(curves: CostCurves, meet: FloatArray) -> CostCurves:
    """The curves whose segments have the same slopes and meet at other powers; the first of each stays as it is."""
    intercept, slope = curves.segment_intercept.copy(), curves.segment_slope
    for here in _by_unit(curves.segment_generator):
        rise = np.diff(slope[here]) * meet[here][1:]
        intercept[here] = intercept[here][0] - np.concatenate([[0.0], np.cumsum(rise)])
    return replace(curves, segment_intercept=intercept)


def stretched(curves: CostCurves, factor: FloatArray) -> CostCurves:
    """The curves whose segments meet at as many times the power, by unit; the first of each stays as it is."""
    by_segment = factor[curves.segment_generator]
    first = _first_intercepts(curves)[np.searchsorted(np.unique(curves.segment_generator), curves.segment_generator)]
    farther = first + by_segment * (curves.segment_intercept - first)
    return replace(curves, segment_intercept=np.where(by_segment == 1.0, curves.segment_intercept, farther))


def _by_unit(segment: IntArray) -> list[slice]:
    """The segments of every unit that has some; they stand together."""
    ends = np.flatnonzero(np.diff(segment, append=-1)) + 1
    return [slice(begin, end) for begin, end in pairwise([0, *ends.tolist()])]


def _first_intercepts(curves: CostCurves) -> FloatArray:
    first = np.unique(curves.segment_generator, return_index=True)[1]
    return np.asarray(curves.segment_intercept[first])
