"""`additive`: the paper's model, corrected. Proof: docs/proofs/additive.md.

The secret of a corridor is its mean conductance g (its susceptance b where g = 0). One query takes the whole ε:
g̃ = g + Lap(α/ε), b̃ = ρ·g̃ with the ratio ρ = b/g assumed public and rounded to two digits. Level means are means of the
noisy values and cost nothing. Charging is not protected, nor are lines with negative resistance.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.exchange.types import NoisyLines
from gridveil.grid import LineKind, LineParameters, PublicGrid, line_levels_kv
from gridveil.privacy.noise import Noise
from gridveil.sealed.facts import significant
from gridveil.sealed.mechanisms.base import Mechanism, group_mean, groups
from gridveil.sealed.split import SecretNetwork

RATIO_DIGITS = 2


class AdditiveMechanism(Mechanism):
    """ε-differential privacy for a change of one corridor's conductance by α."""

    name = "additive"
    alpha_unit = "per unit of conductance"
    adjacency = (
        "Two networks are indistinguishable up to exp(epsilon) if they differ in the conductance of one corridor (all "
        "parallel lines between two buses), by alpha per unit or less; of a lossless corridor, in its susceptance. The "
        "ratio of susceptance to conductance is assumed to be public, to two digits."
    )

    def loss(self, network: SecretNetwork, epsilon: float) -> float:
        """One query of sensitivity α with the whole ε."""
        return epsilon

    def unprotected(self, grid: PublicGrid) -> BoolArray:
        return np.asarray(grid.lines.kind == LineKind.NEGATIVE_RESISTANCE)

    def perturb(self, network: SecretNetwork, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        lines, grid = network.lines._open(), network.grid
        group = secret_groups(grid, lines, self.unprotected(grid))
        secret, lossless, ratio = secrets(grid, lines, group)
        ratio = np.array([significant(value, RATIO_DIGITS) for value in ratio])
        protected = ~self.unprotected(grid)
        drawn = secret.copy()
        asked = np.unique(group[protected])
        drawn[asked] = noise.laplace(secret[asked], alpha, epsilon)
        g, b = assemble(drawn, lossless, ratio, group, lines, protected)
        level = line_levels_kv(grid)
        return NoisyLines(
            self.name, group, np.arange(grid.n_line), g, b, lines.bc, protected, charging_moves=False, relative=False,
            mean_g=level_mean(g, level, protected & (grid.lines.kind == LineKind.LOSSY)),
            mean_b=level_mean(np.abs(b), level, protected),
        )  # fmt: skip


def secret_groups(grid: PublicGrid, lines: LineParameters, unprotected: BoolArray) -> IntArray:
    """Corridors, split by kind and by the sign of x; unprotected lines stand alone."""
    alone = np.where(unprotected, 1 + np.arange(grid.n_line), 0)
    return groups(grid, grid.lines.kind, np.sign(-lines.b).astype(np.int64), alone)


def secrets(grid: PublicGrid, lines: LineParameters, group: IntArray) -> tuple[FloatArray, BoolArray, FloatArray]:
    """(secret, lossless, ratio) of every group: g and b/g, or b and 0 where the group is lossless."""
    g, b = group_mean(lines.g, group), group_mean(lines.b, group)
    lossless = group_mean((grid.lines.kind == LineKind.LOSSLESS).astype(float), group) > 0
    return np.where(lossless, b, g), lossless, np.where(lossless, 0.0, b / np.where(lossless, 1.0, g))


def assemble(
    drawn: FloatArray,
    lossless: BoolArray,
    ratio: FloatArray,
    group: IntArray,
    lines: LineParameters,
    protected: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """g and b of every line from the noisy secrets of the groups."""
    g = np.where(lossless, 0.0, drawn)[group]
    b = np.where(lossless, drawn, ratio * drawn)[group]
    return np.where(protected, g, lines.g), np.where(protected, b, lines.b)


def level_mean(values: FloatArray, level: FloatArray, counted: BoolArray) -> FloatArray:
    """Mean over the counted lines of each line's level (over all counted lines where a level has none)."""
    _, place = np.unique(level, return_inverse=True)
    count = np.bincount(place, weights=counted.astype(float))
    total = np.bincount(place, weights=np.where(counted, values, 0.0))
    overall = values[counted].mean() if np.any(counted) else 0.0
    return np.where(count > 0, total / np.maximum(count, 1), overall)[place]
