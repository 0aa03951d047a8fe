"""What is public of the demands of a release: all of them, or where loads are protected only how they move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gridveil.arrays import FloatArray, IntArray, check_length, frozen
from gridveil.grid import Grid
from gridveil.grid.profile import Profile


@dataclass(frozen=True, eq=False)
class Shape:
    """What the loads of every bus are multiplied by at every step, (h, n_bus), whichever they are."""

    step: IntArray
    pd: FloatArray
    qd: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", frozen(self.step, np.int64))
        for name in ("pd", "qd"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
            check_length(len(self.step), **{name: getattr(self, name)})

    def __len__(self) -> int:
        return len(self.step)


Horizon: TypeAlias = Profile | Shape
"""The steps of a release: their demands where loads are public, else their shape."""


def demands_in(horizon: Horizon, grid: Grid) -> Profile:
    """The demands of every step in a world: those that are public, or its own loads times their shape."""
    if isinstance(horizon, Profile):
        return horizon
    return Profile(horizon.step, horizon.pd * grid.buses.pd, horizon.qd * grid.buses.qd)
