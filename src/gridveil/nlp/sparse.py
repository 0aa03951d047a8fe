"""A sparse matrix that can do one thing: times a vector. In NumPy, because loading SciPy's takes longer than a solve.

It adds in the same order, so that every digit is the same; a solve of 1,354 buses evaluates for 23 ms of 387 instead of
21 of 385, and the pattern of 118 buses is made in 0.6 ms instead of 0.7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray, frozen


@dataclass(frozen=True, eq=False)
class Sparse:
    """Entries by row, then by column; `height` is the number of rows. Make it with `sparse`."""

    height: int
    rows: IntArray
    columns: IntArray
    values: FloatArray

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        terms = vector[self.columns]
        terms *= self.values
        return np.asarray(np.bincount(self.rows, terms, self.height), dtype=np.float64)


def sparse(height: int, rows: IntArray, columns: IntArray, values: FloatArray) -> Sparse:
    """A matrix of entries in any order; entries of one place add up."""
    width = int(columns.max(initial=-1)) + 1
    place, where = np.unique(rows * width + columns, return_inverse=True)
    summed = np.bincount(where, values, len(place))
    width = max(width, 1)
    return Sparse(height, frozen(place // width, np.int64), frozen(place % width, np.int64), frozen(summed))
