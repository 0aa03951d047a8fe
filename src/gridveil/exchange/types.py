"""What crosses the wall: noisy lines and public facts go one way, certificates the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray, check_length, frozen
from gridveil.grid import LineParameters, OperatingPoint


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The demand of one step, by its number, and the dispatch cost that is public for it."""

    pd: FloatArray
    qd: FloatArray
    cost: float
    step: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "pd", frozen(self.pd))
        object.__setattr__(self, "qd", frozen(self.qd))
        check_length(len(self.pd), qd=self.qd)


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """What the repair may know of the true network beside its public half.

    `source` is 'published' (the operator gave the figure) or 'declared' (computed from the secret and made public on
    purpose, rounded to `digits`). `losses` is declared only where the plan keeps them within a factor.
    """

    snapshots: tuple[Snapshot, ...]
    source: str
    digits: int | None
    losses: tuple[float, ...] | None = None

    def rounding(self, index: int) -> float:
        """How far the true cost of a snapshot may lie from the stated one, relative to it."""
        if self.digits is None:
            return 0.0
        cost = abs(self.snapshots[index].cost)
        return 0.5 * 10.0 ** (np.floor(np.log10(cost)) - self.digits + 1) / cost if cost > 0 else 0.0


@dataclass(frozen=True, eq=False)
class NoisyLines:
    """Noisy parameters of every line, and what the mechanism makes public with them.

    Lines of one `group` share g and b; where `charging_moves`, those of one `charging_group` share bc. Lines that are
    not `protected` stand as they are. `mean_g` and `mean_b` are the noisy means of a line's voltage level; without them
    a line's own noisy values are the centre of its bounds. `relative` says whether distances are relative to the noisy
    values.
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
    mean_g: FloatArray | None = None
    mean_b: FloatArray | None = None

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


@dataclass(frozen=True)
class Fidelity:
    """What the repair must keep: the cost within `beta`, and the losses within a factor if that is given."""

    beta: float
    bound_factor: float = 50.0
    loss_within: float | None = None


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired network: its lines, its optimal operating point per snapshot, and how it was found.

    `path` is 'as drawn' or 'projected'. Without its `cuts`, the optimum would have been cheaper than β allows.
    """

    lines: LineParameters
    points: tuple[OperatingPoint, ...]
    path: str
    cuts: int
    widening: float
    projections: int


@dataclass(frozen=True)
class Check:
    """One claim about a released network: its measured value, the limit, and whether it holds."""

    name: str
    value: float
    limit: float
    passed: bool


@dataclass(frozen=True)
class UnusedStep:
    """How the released network does at a step the repair did not use: reported, not promised.

    `violation` is the largest of its AC-OPF's point; `away` the relative distance of its cost from the public one, if
    that is public.
    """

    step: int
    status: str
    violation: float
    cost: float
    away: float | None = None


@dataclass(frozen=True)
class Certificate:
    """All claims about a released network, recomputed from the written file; `unused` steps are without claim."""

    checks: tuple[Check, ...]
    unused: tuple[UnusedStep, ...] = ()

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if not check.passed)
