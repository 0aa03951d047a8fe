"""`steer`: Newton steps that bring the optimal cost of every snapshot within β at once, where cuts could not.

Cuts bound a cost that is concave in the parameters from above only, and where the feasible set is thin they zigzag.
Here the costs are taken as linear around the current network, and the step is the shortest, in the metric of the
repair's distance, that brings all of them inside:

    minimise Σ weight·d²  subject to  −tolerance_k ≤ away_k + ∇away_k·d ≤ tolerance_k  for every snapshot k

a least-distance problem, which non-negative least squares solves exactly (Lawson and Hanson, chapter 23). An optimal
cost has kinks; what a step that failed has shown of the other side of one is kept as a further row.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.repair.nnls import nnls

INSIDE = 0.8
"""Share of the tolerance that a step aims at."""


def shortest_step(
    rows: FloatArray, right: FloatArray, weight: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray | None:
    """The d with rows·d ≥ right, low ≤ d ≤ high and small Σ weight·d², or `None` if none is found.

    What leaves its range is put at its end, and the rest solved again; that is not always the very shortest step.
    """
    step, free = np.zeros(len(weight)), low < high
    while True:
        found = _least_distance(rows[:, free], right - rows[:, ~free] @ step[~free], weight[free])
        if found is None:
            return None
        step[free] = found
        outside = free & ((step < low) | (step > high))
        if not np.any(outside):
            return step
        step[outside] = np.clip(step, low, high)[outside]
        free &= ~outside


def _least_distance(rows: FloatArray, right: FloatArray, weight: FloatArray) -> FloatArray | None:
    """The shortest d with rows·d ≥ right."""
    scale = 1.0 / np.sqrt(weight)
    size = np.maximum(np.linalg.norm(rows * scale, axis=1), 1e-12)
    matrix, right = rows * scale / size[:, None], right / size
    reach = max(float(np.abs(right).max(initial=0.0)), 1e-12)
    dual = np.vstack([matrix.T, right / reach])
    aim = np.append(np.zeros(matrix.shape[1]), 1.0)
    solution, distance = nnls(dual, aim)
    if distance <= 1e-9:
        return None
    residual = dual @ solution - aim
    if abs(residual[-1]) <= 1e-12:
        return None
    step: FloatArray = -reach * residual[:-1] / residual[-1] * scale
    return step


def inside(gradients: FloatArray, away: FloatArray, tolerance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows that keep |away + gradients·d| within INSIDE·tolerance."""
    return (
        np.vstack([gradients, -gradients]),
        np.concatenate([-INSIDE * tolerance - away, away - INSIDE * tolerance]),
    )


def beyond(
    gradients: FloatArray, away: FloatArray, tolerance: FloatArray, moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rows for the costs that lie outside after a step `moved`, as seen from where the step began."""
    out = np.abs(away) > INSIDE * tolerance
    sign = -np.sign(away[out])[:, None]
    rows = sign * gradients[out]
    return rows, np.abs(away[out]) - INSIDE * tolerance[out] + rows @ moved


def excess(away: FloatArray, tolerance: FloatArray) -> float:
    """How far the worst cost lies outside its tolerance."""
    return float(np.max(np.abs(away) - tolerance))
