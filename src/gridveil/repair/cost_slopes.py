"""How the optimal costs of a network answer to its parameter columns: slopes, and the cuts that they make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import LineParameters, PublicGrid
from gridveil.nlp.opf import Solution
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.repair.bounds import Box
from gridveil.repair.projection import Cut
from gridveil.repair.promise import Promise

WITHIN = 0.9
"""Share of the tolerance that a cut aims at."""


def slopes(
    grid: PublicGrid, box: Box, lines: LineParameters, optima: Sequence[Solution], promise: Promise
) -> FloatArray:
    """Gradients of the costs relative to the public ones, a row per snapshot."""
    rows = np.stack([gradient(grid, box, lines, one) for one in optima])
    return rows / np.abs(promise.costs)[:, None]


def gradient(grid: PublicGrid, box: Box, lines: LineParameters, optimum: Solution) -> FloatArray:
    """Gradient of an optimal cost in the parameter columns."""
    result = np.zeros(len(box.target))
    np.add.at(result, box.columns, cost_gradient(grid, lines, optimum) * np.stack([lines.g, lines.b, lines.bc]))
    return result


def cuts(grid: PublicGrid, box: Box, lines: LineParameters, optima: Sequence[Solution], promise: Promise) -> list[Cut]:
    """A cut for every snapshot whose optimum is too cheap, aimed a little inside the promise."""
    away, current = promise.away(optima), box.parameters(lines)
    result = []
    for row, far, tolerance in zip(slopes(grid, box, lines, optima, promise), away, promise.tolerance, strict=True):
        if far < -tolerance:
            size = np.abs(row).max() or 1.0
            result.append(Cut(row / size, (-WITHIN * tolerance - far + float(row @ current)) / size))
    return result
