"""`log`, the default: relative protection of impedance, ratio and charging. Proof: docs/proofs/log.md.

The secret of a corridor is u = (ln|z|, ln|x/r|, ln|bc/x|), the mean over its members; coordinates that do not exist
(r = 0, x = 0, bc = 0) are skipped, and members with other signs have coordinates of their own. ũ = u + Lap(α/ε) per
coordinate. Two networks are adjacent if they differ in one corridor, with ‖u − u'‖₁ ≤ α over all its coordinates;
signs, and which coordinates exist, are public.
"""

from __future__ import annotations

import numpy as np

from gridveil.privacy.noise import Noise
from gridveil.sealed.mechanisms.base import Mechanism
from gridveil.sealed.split import Sealed
from gridveil.wall.coordinates import decode, encode, log_structure
from gridveil.wall.draw import NoisyLines


class LogMechanism(Mechanism):
    """ε-differential privacy for a relative change of one corridor."""

    name = "log"

    def loss(self, network: Sealed, epsilon: float) -> float:
        """One query, one draw per coordinate, sensitivity α: the loss is ε."""
        return epsilon

    def perturb(self, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        grid, lines = network._open()
        structure = log_structure(grid, lines)
        drawn = decode(structure, noise.laplace(encode(structure, lines), alpha, epsilon))
        return NoisyLines(
            self.name, structure.group, structure.charging_group, drawn.g, drawn.b, drawn.bc,
            np.ones(grid.n_line, bool), charging_moves=True, relative=True, scale=alpha / epsilon,
        )  # fmt: skip
