"""The box of released line parameters, from noisy data alone: (s4) and (s5) of the paper, as intervals of magnitudes.

The centre of a line's interval is the noisy mean of its voltage level where the mechanism has one, else its own noisy
value; it is divided and multiplied by the bound factor. A box in which nothing is found is widened by fixed steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import LineKind, LineParameters, PublicGrid
from gridveil.wall.draw import NoisyLines

WIDENING = (1.0, 10.0, 100.0, 1000.0)
"""Factors on the bound factor, tried in this order."""


@dataclass(frozen=True, eq=False)
class Box:
    """Lower and upper bounds, target and weight of the parameters, by parameter column: g and b per group, then bc.

    `columns` (3, n_line) says which of them a line uses.
    """

    columns: IntArray
    low: FloatArray
    high: FloatArray
    target: FloatArray
    weight: FloatArray

    def clip(self) -> FloatArray:
        """The target moved into the box."""
        return np.clip(self.target, self.low, self.high)

    def parameters(self, lines: LineParameters) -> FloatArray:
        """The parameter columns of given lines."""
        result = np.zeros(len(self.target))
        result[self.columns] = np.stack([lines.g, lines.b, lines.bc])
        return result

    def outside(self, lines: LineParameters) -> float:
        """How far given lines lie outside, relative to the ends of the box."""
        values, size = self.parameters(lines), np.maximum(np.abs(self.low), np.abs(self.high)) + 1e-12
        return float(np.max(np.maximum(self.low - values, values - self.high) / size, initial=0.0))

    def lines(self, parameters: FloatArray) -> LineParameters:
        """Line parameters from a vector of parameter columns."""
        g, b, bc = parameters[self.columns]
        return LineParameters(g, b, bc)


def parameter_columns(noisy: NoisyLines) -> IntArray:
    """Columns of g, b and bc of every line: shared within a group."""
    groups = int(noisy.group.max(initial=-1)) + 1
    return np.stack([noisy.group, groups + noisy.group, 2 * groups + noisy.charging_group])


def parameter_box(grid: PublicGrid, noisy: NoisyLines, factor: float, near: LineParameters | None = None) -> Box:
    """The box at one bound factor, around the noisy values; the target is these, or lines to stay `near`."""
    columns = parameter_columns(noisy)
    size = int(columns.max(initial=-1)) + 1
    low, high, target, weight = (np.zeros(size) for _ in range(4))
    reach_g = np.abs(noisy.g) if noisy.mean_g is None else np.maximum(np.abs(noisy.mean_g), 1e-9)
    reach_b = np.abs(noisy.b) if noisy.mean_b is None else np.maximum(np.abs(noisy.mean_b), 1e-9)
    lossy = grid.lines.kind != LineKind.LOSSLESS
    sign_g = np.where(grid.lines.kind == LineKind.NEGATIVE_RESISTANCE, -1.0, 1.0)
    sign_b = _sign_b(noisy)
    size_y = np.hypot(noisy.g, noisy.b)
    members = np.bincount(columns.ravel(), minlength=size)
    aims = (noisy.g, noisy.b, noisy.bc) if near is None else (near.g, near.b, near.bc)
    for row, value, sign, reach, moves, scale in (
        (0, noisy.g, sign_g, reach_g, noisy.protected & lossy, size_y),
        (1, noisy.b, sign_b, reach_b, noisy.protected, size_y),
        (2, noisy.bc, np.sign(noisy.bc), np.abs(noisy.bc), noisy.protected & noisy.charging_moves, np.abs(noisy.bc)),
    ):
        one, other = sign * reach / factor, sign * reach * factor
        at = columns[row]
        low[at] = np.where(moves, np.minimum(one, other), value)
        high[at] = np.where(moves, np.maximum(one, other), value)
        target[at] = np.where(moves, aims[row], value)
        weight[at] = 1.0 / np.maximum(scale, 1e-12) ** 2 if noisy.relative else 1.0
    return Box(columns, low, high, target, weight * members)


def _sign_b(noisy: NoisyLines) -> FloatArray:
    """The public sign of b: that of the noisy ratio where g was noised through zero, else that of b itself.

    Where g̃ < 0 for a line that is to be lossy, b̃ = ρ·g̃ has the wrong sign as well.
    """
    flipped = (noisy.g < 0) & (not noisy.relative) & noisy.protected
    return np.where(flipped, -np.sign(noisy.b), np.sign(noisy.b))
