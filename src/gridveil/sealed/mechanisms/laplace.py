"""`laplace`: the paper's baseline, noise without any repair. For studies only; a release never uses it."""

from __future__ import annotations

import numpy as np

from gridveil.privacy.noise import Noise
from gridveil.sealed.mechanisms.additive import AdditiveMechanism, assemble
from gridveil.sealed.split import Sealed
from gridveil.wall.coordinates import conductance_groups, conductances
from gridveil.wall.draw import NoisyLines


class LaplaceBaseline(AdditiveMechanism):
    """g̃ = g + Lap(α/ε) and b̃ = ρ·g̃ with the exact ratio, released as it falls."""

    name = "laplace"

    def perturb(self, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        grid, lines = network._open()
        protected = ~self.words.unprotected(grid)
        group = conductance_groups(grid, lines, ~protected)
        secret, lossless, ratio = conductances(grid, lines, group)
        drawn = secret.copy()
        asked = np.unique(group[protected])
        drawn[asked] = noise.laplace(secret[asked], alpha, epsilon)
        g, b = assemble(drawn, lossless, ratio, group, lines, protected)
        return NoisyLines(
            self.name,
            group,
            np.arange(grid.n_line),
            g,
            b,
            lines.bc,
            protected,
            charging_moves=False,
            relative=False,
            scale=alpha / epsilon,
        )
