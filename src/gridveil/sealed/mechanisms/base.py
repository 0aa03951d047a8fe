"""What a mechanism is, and the groups of lines that share one draw."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.exchange.types import NoisyLines
from gridveil.grid import LineParameters, PublicGrid, circuits
from gridveil.privacy.noise import Noise
from gridveil.sealed.split import SecretNetwork


class Mechanism(ABC):
    """Noise for the lines of a network. `loss` is exact: no smaller number is true for every adjacent pair."""

    name: str
    version = 1
    alpha_unit: str
    adjacency: str

    @abstractmethod
    def loss(self, network: SecretNetwork, epsilon: float) -> float:
        """The privacy loss of one release at nominal ε."""

    @abstractmethod
    def perturb(self, network: SecretNetwork, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        """Draw once."""

    @abstractmethod
    def unprotected(self, grid: PublicGrid) -> BoolArray:
        """Lines whose series parameters are released as they are."""


def groups(grid: PublicGrid, *signatures: IntArray) -> IntArray:
    """Group of every line: its circuit, split where the public signatures of its members differ."""
    if grid.n_line == 0:
        return np.zeros(0, np.int64)
    keys = np.stack([circuits(grid), *signatures], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def group_mean(values: FloatArray, group: IntArray) -> FloatArray:
    """Mean over the members of every group.

    A corridor is one secret: moving all its members by at most α in this coordinate moves the mean by at most α.
    """
    return np.bincount(group, weights=values) / np.bincount(group)


def signs(lines: LineParameters) -> tuple[IntArray, IntArray, IntArray]:
    """Signs of r, x and bc: public, because no mechanism changes them."""
    return (
        np.sign(lines.g).astype(np.int64),
        np.sign(-lines.b).astype(np.int64),
        np.sign(lines.bc).astype(np.int64),
    )
