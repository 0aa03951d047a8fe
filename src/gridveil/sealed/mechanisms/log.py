"""`log`, the default: relative protection of impedance, ratio and charging. Proof: docs/proofs/log.md.

The secret of a group is u = (ln|z|, ln|x/r|, ln|bc/x|), the mean over its members; coordinates that do not exist
(r = 0, x = 0, bc = 0) are skipped. ũ = u + Lap(α/ε) per coordinate. Two networks are adjacent if they differ in one
corridor, with ‖u − u'‖₁ ≤ α over all its coordinates; signs, and which coordinates exist, are public.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
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
        sign = signs(lines)
        group = groups(network.grid, *sign)
        secret = coordinates(lines)
        exists = [np.ones(lines.g.size, bool), (sign[0] != 0) & (sign[1] != 0), (sign[1] != 0) & (sign[2] != 0)]
        first = np.unique(group, return_index=True)[1]  # a member of each group, for what its members share
        present = [flag[first] for flag in exists]
        values = [group_mean(np.where(flag, u, 0.0), group) for u, flag in zip(secret, exists, strict=True)]
        drawn = noise.laplace(np.concatenate([v[p] for v, p in zip(values, present, strict=True)]), alpha, epsilon)
        noisy, begin = [], 0
        for flag in present:
            part = np.zeros(len(first))
            part[flag] = drawn[begin : begin + np.count_nonzero(flag)]
            begin += int(np.count_nonzero(flag))
            noisy.append(part[group])
        released = from_coordinates(noisy[0], noisy[1], noisy[2], *(one.astype(float) for one in sign))
        return NoisyLines(
            self.name, group, released.g, released.b, released.bc, np.ones(len(group), bool),
            charging_moves=True, relative=True,
        )  # fmt: skip


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
