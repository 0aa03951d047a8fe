"""A horizon of demands: h steps that share one network. Profiles are public data, read from a file or made by a rule.

The paper scales loads within 80 and 110 % of their base values and does not say how; here are three rules for it, each
with one scale for the whole network or one per bus:

    ramp     from `low` to `high` in equal steps; per bus, every second bus falls while the others rise
    sine     one period between `low` and `high`, beginning in the middle; per bus, each with a phase of its own
    uniform  drawn evenly from [low, high]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray, frozen
from gridveil.errors import GridError
from gridveil.grid.network import Grid

RULES = ("ramp", "sine", "uniform")


@dataclass(frozen=True, eq=False)
class Profile:
    """The demand of a horizon.

    Attributes:
        step: The steps' numbers, one after another.
        pd: Active demand of every step and bus, in per unit.
        qd: Reactive demand.

    Examples:
        >>> gv.make_profile("case14_ieee", 24, "sine")
        Profile(steps 1 to 24, 14 buses)
    """

    step: IntArray
    pd: FloatArray
    qd: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", frozen(self.step, np.int64))
        for name in ("pd", "qd"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
            if getattr(self, name).shape != (len(self.step), *self.pd.shape[1:]) or self.pd.ndim != 2:
                raise GridError("a profile needs active and reactive demand of every step and bus")
        if len(self.step) == 0 or not np.array_equal(np.diff(self.step), np.ones(len(self.step) - 1)):
            raise GridError("the steps of a profile must be consecutive numbers, and at least one")
        for index in np.flatnonzero(~np.isfinite(self.pd + self.qd).all(axis=1))[:1]:
            raise GridError(f"the demand of step {self.step[index]} is not finite at every bus")

    def __len__(self) -> int:
        return len(self.step)

    def __repr__(self) -> str:
        return f"Profile(steps {self.step[0]} to {self.step[-1]}, {self.pd.shape[1]} buses)"


def equally_spaced(horizon: int, count: int) -> IntArray:
    """Indices of `count` equally spaced steps of a horizon; with two or more, its first and last are among them."""
    if not 1 <= count <= horizon:
        raise GridError(f"{count} steps of a horizon of {horizon} cannot be used; choose 1 to {horizon}")
    return np.round(np.linspace(0, horizon - 1, count)).astype(np.int64)


def checked_steps(profile: Profile, used: Sequence[int], most: int | None) -> list[int]:
    """Which steps a release reports on beside the used ones: all of them, or so many, equally spaced."""
    left = profile.step[~np.isin(profile.step, used)]
    count = len(left) if most is None else min(most, len(left))
    return [int(one) for one in left[equally_spaced(len(left), count)]] if count else []


def base_profile(grid: Grid) -> Profile:
    """The network's own demand as the only step."""
    return scaled(grid, np.ones(1))


def scaled(grid: Grid, scales: FloatArray, first: int = 1) -> Profile:
    """The base demand times a scale per step (h,) or per step and bus (h, n_bus)."""
    table = np.broadcast_to(np.asarray(scales, dtype=float).reshape(len(scales), -1), (len(scales), grid.n_bus))
    return Profile(np.arange(first, first + len(table)), table * grid.buses.pd, table * grid.buses.qd)


def make_profile(
    grid: Grid,
    horizon: int,
    rule: str = "uniform",
    *,
    per_bus: bool = True,
    low: float = 0.8,
    high: float = 1.1,
    seed: int = 0,
) -> Profile:
    """A profile by one of the rules; the same arguments always give the same profile."""
    if rule not in RULES:
        raise GridError(f"there is no profile rule '{rule}'; choose {', '.join(RULES)}")
    if horizon < 1:
        raise GridError(f"a profile of {horizon} steps is empty; choose 1 or more")
    if not (np.isfinite([low, high]).all() and 0 <= low <= high):
        raise GridError(f"loads cannot be scaled between {low:g} and {high:g}; give 0 <= low <= high")
    if seed < 0:
        raise GridError(f"a seed is a whole number from 0 on, not {seed}")
    random = np.random.Generator(np.random.PCG64(seed))
    columns = grid.n_bus if per_bus else 1
    if rule == "uniform":
        share = random.random((horizon, columns))
    elif rule == "ramp":
        rise = np.linspace(0.0, 1.0, horizon)[:, None]
        share = np.where(np.arange(columns) % 2 == 0, rise, 1.0 - rise)
    else:
        phase = random.random(columns) if per_bus else np.zeros(1)
        share = 0.5 + 0.5 * np.sin(2 * np.pi * (np.arange(horizon)[:, None] / horizon + phase))
    return scaled(grid, low + (high - low) * share)
