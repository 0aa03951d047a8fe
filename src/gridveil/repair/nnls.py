"""Non-negative least squares (Lawson and Hanson, chapter 23), for the few rows of `steer.py`.

SciPy has it too, in a package whose loading would cost the repair process more than most repairs.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray

ROUNDS = 10
"""Changes of the support, per column, after which what was found so far is the answer."""


def nnls(matrix: FloatArray, aim: FloatArray) -> tuple[FloatArray, float]:
    """The x ≥ 0 that brings matrix·x nearest to `aim`, and how far away it stays."""
    count = matrix.shape[1]
    x, free, barred = np.zeros(count), np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    noise = 10 * np.finfo(np.float64).eps * max(matrix.shape) * np.linalg.norm(matrix, axis=0) * np.linalg.norm(aim)
    for _ in range(ROUNDS * count):
        slope = matrix.T @ (aim - matrix @ x)
        useful = np.flatnonzero(~free & ~barred & (slope > noise))
        if not len(useful):
            break
        entering = useful[np.argmax(slope[useful])]
        free[entering] = True
        before = x
        while np.any((best := _unbounded(matrix, aim, free))[free] <= 0):
            # as far towards it as no variable becomes negative; those that are then zero leave
            leaving = free & (best <= 0)
            share = np.min(x[leaving] / np.maximum(x[leaving] - best[leaving], np.finfo(np.float64).tiny))
            x = np.where(free, x + share * (best - x), 0.0)
            free &= ~(leaving & (x <= np.finfo(np.float64).eps * np.max(x, initial=0.0)))
            x[~free] = 0.0
        x = best
        # what cannot enter, by rounding, is left out until something else has moved
        barred = barred | (np.arange(count) == entering) if np.array_equal(x, before) else np.zeros(count, dtype=bool)
    return x, float(np.linalg.norm(matrix @ x - aim))


def _unbounded(matrix: FloatArray, aim: FloatArray, free: np.ndarray) -> FloatArray:
    """The least-squares solution in the free variables alone."""
    x = np.zeros(matrix.shape[1])
    x[free] = np.linalg.lstsq(matrix[:, free], aim)[0]
    return x
