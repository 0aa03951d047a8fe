"""The box of released parameters, from noisy data alone: (s4) and (s5) of the paper, as intervals of logarithms.

A parameter is base·e^u, |u| ≤ ln(bound factor): signs and zeros cannot change, and half counts as much as twice. The
base is the noisy mean of a line's voltage level where the mechanism has one, else its own noisy value. A box in which
nothing is found is widened by fixed steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid, LineKind, LineParameters, Network
from gridveil.repair.moving import logarithms, moved
from gridveil.wall.draw import Moving, NoisyLines

WIDENING = (1.0, 10.0, 100.0, 1e3, 1e6)
"""Factors on the bound factor; the last is for noise that reaches so far."""
WIDE = 1e3
"""The widening after which a box that has no network is left."""
UNLIKELY = 0.05
"""How many true values may be expected outside the first box that is tried."""


@dataclass(frozen=True, eq=False)
class Box:
    """Base, bounds, target and weight of the parameters, by parameter column: g and b per group, bc, then what else
    was drawn and moves.

    Bounds and target are logarithms of what a base is multiplied by; `columns` (3, n_line) says which columns a line
    uses. Of the others the bases stand in `grid`.
    """

    grid: Grid
    moving: Moving | None
    columns: IntArray
    base: FloatArray
    low: FloatArray
    high: FloatArray
    target: FloatArray
    weight: FloatArray

    def clip(self, u: FloatArray) -> FloatArray:
        """Parameters moved into the box."""
        return np.clip(u, self.low, self.high)

    def values(self, u: FloatArray) -> FloatArray:
        """What the parameters stand for, by column."""
        return self.base * np.exp(u)

    @property
    def others(self) -> slice:
        """Columns of what is no line parameter."""
        return slice(len(self.base) - (0 if self.moving is None else self.moving.table.size), len(self.base))

    def lines(self, u: FloatArray) -> LineParameters:
        """Line parameters from a vector of parameter columns."""
        g, b, bc = self.values(u)[self.columns]
        return LineParameters(g, b, bc)

    def network(self, u: FloatArray) -> Network:
        """The network that has these parameters."""
        grid = self.grid if self.moving is None else moved(self.grid, self.moving, u[self.others])
        return Network(grid, self.lines(u))

    def stiffer(self, factor: float) -> FloatArray:
        """The target with all admittances times a factor, and charging over it."""
        result = self.target.copy()
        result[self.columns[:2]] += np.log(factor)
        result[self.columns[2]] -= np.log(factor)
        return result

    def parameters(self, network: Network) -> FloatArray:
        """The parameter columns of a network; ±∞ and no number where no multiple of the base has its value."""
        lines, result = network.lines, self.base.copy()
        result[self.columns] = np.stack([lines.g, lines.b, lines.bc])
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(result == self.base, 0.0, np.log(result / self.base))
            if self.moving is not None:
                u[self.others] = logarithms(self.grid, self.moving, network.grid)
        return u

    def outside(self, network: Network) -> float:
        """How far a network lies outside, as logarithms: for small ones, relative to the ends of the box."""
        u = self.parameters(network)
        away = np.maximum(self.low - u, u - self.high)
        return float(np.max(np.where(np.isnan(away), np.inf, away), initial=0.0))


def parameter_columns(noisy: NoisyLines) -> IntArray:
    """Columns of g, b and bc of every line: shared within a group."""
    groups = int(noisy.group.max(initial=-1)) + 1
    return np.stack([noisy.group, groups + noisy.group, 2 * groups + noisy.charging_group])


def parameter_box(grid: Grid, noisy: NoisyLines, factor: float, near: Network | None = None) -> Box:
    """The box at one bound factor, around the noisy values; the target is these, or a network to stay `near`."""
    columns, moving = parameter_columns(noisy), noisy.moving
    size = int(columns.max(initial=-1)) + 1
    base, reach, target = (np.zeros(size) for _ in range(3))
    sign_g = np.where(grid.lines.kind == LineKind.NEGATIVE_RESISTANCE, -1.0, 1.0)
    centre_g = np.abs(noisy.g) if noisy.mean_g is None else np.maximum(np.abs(noisy.mean_g), 1e-9)
    centre_b = np.abs(noisy.b) if noisy.mean_b is None else np.maximum(np.abs(noisy.mean_b), 1e-9)
    lossy = grid.lines.kind != LineKind.LOSSLESS
    aim_at = noisy.lines if near is None else near.lines
    aims = aim_at.g, aim_at.b, aim_at.bc
    for at, value, centre, moves, aim in (
        (columns[0], noisy.g, sign_g * centre_g, noisy.protected & lossy, aims[0]),
        (columns[1], noisy.b, _sign_b(noisy) * centre_b, noisy.protected, aims[1]),
        (columns[2], noisy.bc, noisy.bc, noisy.protected & noisy.charging_moves & (noisy.bc != 0), aims[2]),
    ):
        base[at] = np.where(moves, centre, value)
        reach[at] = np.where(moves, np.log(factor), 0.0)
        share = np.divide(aim, centre, out=np.zeros(len(aim)), where=moves)
        with np.errstate(divide="ignore"):  # what noise has taken through zero is aimed at the small end
            target[at] = np.where(moves, np.log(np.maximum(share, 0.0)), 0.0)
    weight = np.bincount(columns.ravel(), minlength=size).astype(np.float64)
    if moving is not None:
        count = moving.table.size
        away = np.zeros(count) if near is None else logarithms(grid, moving, near.grid)
        base, target = np.append(base, np.ones(count)), np.append(target, away)
        reach = np.append(reach, np.full(count, np.log(factor)))
        # a change counts by how large it is beside the noise, which is as large as a group's α has it
        unit = noisy.scale if np.any(noisy.protected) else float(moving.scale.max(initial=0.0))
        weight = np.append(weight, (unit / moving.scale) ** 2)
    return Box(grid, moving, columns, base, -reach, reach, np.clip(target, -reach, reach), weight)


def likely_widening(grid: Grid, noisy: NoisyLines, bound_factor: float) -> float:
    """The first widening whose box has all true values, unless the noise lies far in its tail; by public data alone.

    A box around the mean of a voltage level does not grow with the noise.
    """
    if not noisy.relative:
        return WIDENING[0]
    box = parameter_box(grid, noisy, bound_factor)
    others = np.zeros(0) if noisy.moving is None else noisy.moving.scale
    lines = np.full(np.count_nonzero(box.low < box.high) - len(others), noisy.scale)
    scale = np.concatenate([lines, others])
    for widening in WIDENING:
        if np.sum((bound_factor * widening) ** (-1.0 / scale)) <= UNLIKELY:
            return widening
    return WIDENING[-1]


def _sign_b(noisy: NoisyLines) -> FloatArray:
    """The public sign of b: that of the noisy ratio where g was noised through zero, else that of b itself.

    Where g̃ < 0 for a line that is to be lossy, b̃ = ρ·g̃ has the wrong sign as well.
    """
    flipped = (noisy.g < 0) & (not noisy.relative) & noisy.protected
    return np.where(flipped, -np.sign(noisy.b), np.sign(noisy.b))
