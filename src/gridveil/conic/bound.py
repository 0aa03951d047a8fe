"""From the multipliers a solver ends with, however loosely, to a number that no feasible point goes below.

For every z in the dual cone, each feasible x has objective(x) ≥ objective(x) + z·(A·x − rhs). The least value of the
right side over the box of x, found variable by variable, is the bound: no tolerance of a solver enters it, and a poor z
only makes it lower. Multipliers of the box itself are not used; the minimum over the box replaces them.
"""

from __future__ import annotations

import math

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.conic.program import ConicProgram


def safe_bound(program: ConicProgram, z: FloatArray) -> float:
    """A lower bound of the program's optimal value from any multipliers of its rows."""
    return float(program.constant + _least(program, z, program.q, program.quadratic))


def largest_objective(program: ConicProgram) -> float:
    """More than the objective can be in size anywhere in the box, its constant left out."""
    reach = np.maximum(np.abs(program.lower), np.abs(program.upper))
    return float(np.sum((np.abs(program.q) + 0.5 * program.quadratic * reach) * reach))


TOLERANCE = 1e-7
"""Infeasible means: even if every row were allowed to be wrong by this much."""


def proves_infeasible(program: ConicProgram, z: FloatArray) -> bool:
    """Whether z·(A·x − rhs), which no feasible x makes positive, is positive all over the box."""
    size = float(np.sum(np.abs(z)))
    if not 0 < size < np.inf:
        return False
    none = np.zeros_like(program.q)
    return _least(program, z / size, none, none) > TOLERANCE


def _least(program: ConicProgram, z: FloatArray, q: FloatArray, quadratic: FloatArray) -> float:
    """min over the box of q·x + ½·Σ quadratic·x² + z·(A·x − rhs), less what rounding may have added to it."""
    z = project(program, z)
    if not np.all(np.isfinite(z)):
        return -math.inf
    slope = q + program.A.T @ z
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.clip(-slope / quadratic, program.lower, program.upper)
    x = np.where(quadratic > 0, inner, np.where(slope > 0, program.lower, program.upper))
    terms = (0.5 * quadratic * x + slope) * x
    value = math.fsum(terms) - math.fsum(program.rhs * z)
    longest = int(np.max(np.diff(program.A.indptr), initial=0))
    size = np.abs(q) + abs(program.A).T @ np.abs(z) + 0.5 * np.abs(quadratic * x)
    rounding = (longest + 4) * math.fsum(size * np.abs(x)) + 4 * math.fsum(np.abs(program.rhs * z))
    return value - np.finfo(float).eps * rounding


def project(program: ConicProgram, z: FloatArray) -> FloatArray:
    """The point of the dual cone nearest to z: each of our cones is its own dual, but that of {0} is everything."""
    z = np.array(z, dtype=float)
    start = 0
    for cone in program.cones:
        stop = start + cone.dimension * cone.count
        part = z[start:stop]
        if cone.kind == "nonnegative":
            np.maximum(part, 0.0, out=part)
        elif cone.kind == "second_order":
            _project_second_order(part.reshape(cone.count, cone.dimension))
        start = stop
    return z


def _project_second_order(z: FloatArray) -> None:
    """Onto z₀ ≥ ‖tail‖ in place; z₀ is set last and rounded up, so that the result is inside."""
    length = np.linalg.norm(z[:, 1:], axis=1)
    outside = length > z[:, 0]
    middle = np.maximum(0.5 * (z[:, 0] + length), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(outside, np.where(length > 0, middle / length, 0.0), 1.0)
    z[:, 1:] *= factor[:, None]
    z[:, 0] = np.maximum(z[:, 0], np.linalg.norm(z[:, 1:], axis=1) * (1 + 8 * np.finfo(float).eps))
