"""`log`, the default: relative protection of impedance, ratio and charging. Proof: docs/proofs/log.md.

The secret of a corridor is u = (ln|z|, ln|x/r|, ln|bc/x|), the mean over its members; coordinates that do not exist
(r = 0, x = 0, bc = 0) are skipped, and members with other signs have coordinates of their own. ũ = u + Lap(α/ε) per
coordinate. Two networks are adjacent if they differ in one corridor, with ‖u − u'‖₁ ≤ α over all its coordinates;
signs, and which coordinates exist, are public.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.exchange.types import NoisyLines
from gridveil.grid import LineParameters, PublicGrid
from gridveil.privacy.noise import Noise
from gridveil.sealed.mechanisms.base import Mechanism, group_mean, groups, signs
from gridveil.sealed.split import SecretNetwork


class LogMechanism(Mechanism):
    """ε-differential privacy for a relative change of one corridor."""

    name = "log"
    alpha_unit = "relative (0.1 means ten per cent)"
    adjacency = (
        "Two networks are indistinguishable up to exp(epsilon) if they differ in one corridor (all parallel lines "
        "between two buses), and the logarithms of its impedance, of its x/r ratio and of its charging per reactance "
        "differ by alpha or less, added up. Differences k times as large are protected by exp(k*epsilon)."
    )

    def loss(self, network: SecretNetwork, epsilon: float) -> float:
        """One query, one draw per coordinate, sensitivity α: the loss is ε."""
        return epsilon

    def unprotected(self, grid: PublicGrid) -> BoolArray:
        return np.zeros(grid.n_line, dtype=bool)

    def perturb(self, network: SecretNetwork, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        lines = network.lines._open()
        sign_r, sign_x, sign_bc = signs(lines)
        group = groups(network.grid, sign_r, sign_x)
        charging_group = groups(network.grid, sign_r, sign_x, sign_bc)
        size, ratio, charging = coordinates(lines)
        # each coordinate: its value per group, and the groups in which it exists
        queries = [
            (group_mean(size, group), np.ones(group.max(initial=-1) + 1, dtype=bool)),
            (group_mean(ratio, group), _of_groups((sign_r != 0) & (sign_x != 0), group)),
            (group_mean(charging, charging_group), _of_groups((sign_x != 0) & (sign_bc != 0), charging_group)),
        ]
        secret = np.concatenate([values[exists] for values, exists in queries])
        drawn = iter(np.split(noise.laplace(secret, alpha, epsilon), np.cumsum([e.sum() for _, e in queries])[:-1]))
        noisy = []
        for values, exists in queries:
            part = np.zeros(len(values))
            part[exists] = next(drawn)
            noisy.append(part)
        released = from_coordinates(
            noisy[0][group], noisy[1][group], noisy[2][charging_group],
            sign_r.astype(float), sign_x.astype(float), sign_bc.astype(float),
        )  # fmt: skip
        return NoisyLines(
            self.name, group, charging_group, released.g, released.b, released.bc, np.ones(len(group), bool),
            charging_moves=True, relative=True,
        )  # fmt: skip


def _of_groups(flag: BoolArray, group: IntArray) -> BoolArray:
    """A flag that all members of a group share, by group."""
    result = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    result[group] = flag
    return result


def coordinates(lines: LineParameters) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(ln|z|, ln|x/r|, ln|bc/x|) of every line, 0 where a coordinate does not exist.

    With y = 1/z: |z| = 1/|y| and x/r = −b/g.
    """
    r, x = lines.impedance()
    return _log(np.hypot(r, x)), _log(_ratio(x, r)), _log(_ratio(lines.bc, x))


def from_coordinates(
    size: FloatArray,
    ratio: FloatArray,
    charging: FloatArray,
    sign_r: FloatArray,
    sign_x: FloatArray,
    sign_bc: FloatArray,
) -> LineParameters:
    """The inverse of `coordinates`, given the signs."""
    z, k = np.exp(size), np.exp(ratio)
    both = (sign_r != 0) & (sign_x != 0)
    r: FloatArray = sign_r * np.where(both, z / np.sqrt(1 + k * k), z)
    x: FloatArray = sign_x * np.where(both, z * k / np.sqrt(1 + k * k), z)
    bc: FloatArray = sign_bc * np.exp(charging) * np.abs(x)
    return LineParameters.from_impedance(r, x, bc)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.where(below == 0, 0.0, above / np.where(below == 0, 1.0, below))


def _log(values: FloatArray) -> FloatArray:
    return np.where(values == 0, 0.0, np.log(np.where(values == 0, 1.0, np.abs(values))))
