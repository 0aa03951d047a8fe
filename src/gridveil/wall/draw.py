"""What goes through the wall to the repair, and what comes back: noisy lines, snapshots, estimates, repairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray, check_length, frozen
from gridveil.grid import Grid, LineParameters, Multipliers, Network, OperatingPoint
from gridveil.wall.numbers import Table
from gridveil.wall.target import EFFORT, Target

SIGNIFICANT = 9
"""Digits of released parameters."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The demand of one step, by its number, and the public dispatch cost that the repair aims at.

    `slack` is how far the true cost may lie from a rounded one, relative to it; `losses` are there if they are kept.
    Within `aim`, a share of what β allows, a repair need not come nearer.
    """

    pd: FloatArray
    qd: FloatArray
    cost: float
    step: int = 1
    slack: float = 0.0
    losses: float | None = None
    aim: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "pd", frozen(self.pd))
        object.__setattr__(self, "qd", frozen(self.qd))
        check_length(len(self.pd), qd=self.qd)


@dataclass(frozen=True, eq=False)
class Moving:
    """Numbers beside the lines that were drawn, with the scale of the noise on each coordinate: a repair may move them.

    `demand` and `capacity` are totals (p.u.) that it keeps, if there are.
    """

    table: Table
    scale: FloatArray
    demand: float | None = None
    capacity: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", frozen(self.scale))
        check_length(self.table.size, scale=self.scale)


@dataclass(frozen=True, eq=False)
class NoisyLines:
    """Noisy parameters of every line, and what the mechanism makes public with them.

    Lines of one `group` share g and b; where `charging_moves`, those of one `charging_group` share bc. Lines that are
    not `protected` stand as they are. `mean_g` and `mean_b` are the noisy means of a line's voltage level; without them
    a line's own noisy values are the centre of its bounds. `relative` says whether noise and distances are relative to
    the values. `scale` is that of the Laplace noise on each protected coordinate. `moving` are other numbers that were
    drawn with them; where `costs` were, one factor on all of them may change.
    """

    mechanism: str
    group: IntArray
    charging_group: IntArray
    g: FloatArray
    b: FloatArray
    bc: FloatArray
    protected: BoolArray
    charging_moves: bool
    relative: bool
    scale: float
    mean_g: FloatArray | None = None
    mean_b: FloatArray | None = None
    moving: Moving | None = None
    costs: bool = False

    def __post_init__(self) -> None:
        for name in ("g", "b", "bc"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        object.__setattr__(self, "group", frozen(self.group, np.int64))
        object.__setattr__(self, "charging_group", frozen(self.charging_group, np.int64))
        object.__setattr__(self, "protected", frozen(self.protected, np.bool_))
        check_length(
            len(self.group),
            charging_group=self.charging_group,
            g=self.g,
            b=self.b,
            bc=self.bc,
            protected=self.protected,
        )
        for name in ("mean_g", "mean_b"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))
                check_length(len(self.group), **{name: getattr(self, name)})

    @property
    def lines(self) -> LineParameters:
        """The noisy values as lines."""
        return LineParameters(self.g, self.b, self.bc)


class Drawn(NamedTuple):
    """A network as it was drawn: noisy where it is protected, and as it is where it is public; of a joint draw also
    what came out, coordinate by coordinate, in units of α."""

    grid: Grid
    lines: NoisyLines
    outcome: FloatArray | None = None


@dataclass(frozen=True)
class Fidelity:
    """What the repair must keep: the cost within `beta`, and the losses within a factor if that is given.

    It is given up when it has cost as much as `effort` AC-OPFs. `room` is the share of every range that a projection
    leaves free at least: what is not barely feasible is less congested.
    """

    beta: float
    bound_factor: float = 50.0
    loss_within: float | None = None
    target: Target = Target.DRAWN
    effort: float = EFFORT
    room: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """What the noisy values alone say of the surcharge over the copper-plate cost.

    `own` is that of the noisy network, `shrunk` that of the network shrunk by public regressors, `None` where it has no
    optimum at some step; `spread` is the standard deviation of either, infinite where there is none. `shape` has the
    surcharge and `losses` the losses (p.u.) of every step, of the noisy network if it has them.
    """

    own: float | None
    shrunk: float | None
    spread: float
    shape: tuple[float, ...] | None
    losses: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired network, its optimal operating point per snapshot with its multipliers, and how it was found.

    `path` is 'as drawn', 'as shrunk', 'steered' (Newton steps on the cost alone) or 'projected'. Without its `cuts`,
    the optimum would have been cheaper than β allows.
    """

    network: Network
    points: tuple[OperatingPoint, ...]
    path: str
    cuts: int
    widening: float
    projections: int
    multipliers: tuple[Multipliers, ...] = ()

    @property
    def lines(self) -> LineParameters:
        return self.network.lines
