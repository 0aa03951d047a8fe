"""`paper`: Algorithm 1 to the letter, for reproducing the paper. Proof of its true loss: docs/proofs/paper.md.

Three queries with ε/3 each: g̃ = g + Lap(3α/ε) per corridor, with b̃ = ρ·g̃ for the exact public ratio ρ = b/g; and
the means of g and of b over the n_v corridors of each voltage level with Lap(3α/(n_v·ε)). A change of α in one g moves
the mean of b by |ρ|·α/n_v, so the third query costs |ρ|·ε/3, and the loss is ε·(2 + max|ρ|)/3, not ε.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import line_levels_kv
from gridveil.privacy.noise import Noise
from gridveil.sealed.mechanisms.additive import assemble
from gridveil.sealed.mechanisms.base import Mechanism
from gridveil.sealed.split import Sealed
from gridveil.wall.coordinates import conductance_groups, conductances, group_mean
from gridveil.wall.draw import NoisyLines


class PaperMechanism(Mechanism):
    """The paper's PLO, with its true loss."""

    name = "paper"

    def loss(self, network: Sealed, epsilon: float) -> float:
        grid, lines = network._open()
        protected = ~self.words.unprotected(grid)
        group = conductance_groups(grid, lines, ~protected)
        _, _, ratio = conductances(grid, lines, group)
        asked = np.unique(group[protected])
        return epsilon * (2.0 + float(np.max(np.abs(ratio[asked]), initial=1.0))) / 3.0

    def perturb(self, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        grid, lines = network._open()
        protected = ~self.words.unprotected(grid)
        group = conductance_groups(grid, lines, ~protected)
        secret, lossless, ratio = conductances(grid, lines, group)
        asked = np.unique(group[protected])
        drawn = secret.copy()
        drawn[asked] = noise.laplace(secret[asked], alpha, epsilon / 3)
        g, b = assemble(drawn, lossless, ratio, group, lines, protected)
        level = group_mean(line_levels_kv(grid), group)
        true_g, true_b = np.where(lossless, 0.0, secret), np.where(lossless, secret, ratio * secret)
        mean_g = np.zeros(len(secret))
        mean_b = np.zeros(len(secret))
        for v in np.unique(level[asked]):
            here = asked[level[asked] == v]
            share = alpha / len(here)
            mean_g[level == v] = noise.laplace(np.array([true_g[here].mean()]), share, epsilon / 3)[0]
            mean_b[level == v] = noise.laplace(np.array([true_b[here].mean()]), share, epsilon / 3)[0]
        return NoisyLines(
            self.name, group, np.arange(grid.n_line), g, b, lines.bc, protected, charging_moves=False, relative=False,
            scale=3 * alpha / epsilon, mean_g=_magnitude(mean_g, group), mean_b=_magnitude(mean_b, group),
        )  # fmt: skip


def _magnitude(mean: FloatArray, group: np.ndarray) -> FloatArray:
    """Of every line; the paper's interval is empty for b < 0, so it is read as one of magnitudes."""
    magnitude: FloatArray = np.abs(mean)[group]
    return magnitude
