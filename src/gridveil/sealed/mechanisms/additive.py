"""`additive`: the paper's model, corrected. Proof: docs/proofs/additive.md.

The secret of a corridor is its mean conductance g (its susceptance b where g = 0). One query takes the whole ε:
g̃ = g + Lap(α/ε), b̃ = ρ·g̃ with the ratio ρ = b/g assumed public and rounded to two digits. Level means are means of the
noisy values and cost nothing. Charging is not protected, nor are lines with negative resistance.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.grid import LineKind, LineParameters, line_levels_kv
from gridveil.privacy.noise import Noise
from gridveil.sealed.mechanisms.base import Mechanism
from gridveil.sealed.split import Sealed
from gridveil.wall.coordinates import conductance_groups, conductances
from gridveil.wall.draw import NoisyLines
from gridveil.wall.facts import significant

RATIO_DIGITS = 2


class AdditiveMechanism(Mechanism):
    """ε-differential privacy for a change of one corridor's conductance by α."""

    name = "additive"

    def loss(self, network: Sealed, epsilon: float) -> float:
        """One query of sensitivity α with the whole ε."""
        return epsilon

    def perturb(self, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        grid, lines = network._open()
        protected = ~self.words.unprotected(grid)
        group = conductance_groups(grid, lines, ~protected)
        secret, lossless, ratio = conductances(grid, lines, group)
        ratio = np.array([significant(value, RATIO_DIGITS) for value in ratio])
        drawn = secret.copy()
        asked = np.unique(group[protected])
        drawn[asked] = noise.laplace(secret[asked], alpha, epsilon)
        g, b = assemble(drawn, lossless, ratio, group, lines, protected)
        level = line_levels_kv(grid)
        return NoisyLines(
            self.name, group, np.arange(grid.n_line), g, b, lines.bc, protected, charging_moves=False, relative=False,
            scale=alpha / epsilon,
            mean_g=level_mean(g, level, protected & (grid.lines.kind == LineKind.LOSSY)),
            mean_b=level_mean(np.abs(b), level, protected),
        )  # fmt: skip


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
