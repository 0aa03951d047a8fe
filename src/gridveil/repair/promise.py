"""What a repair must keep, and whether it does: an optimal power flow at every snapshot, its cost and its losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.nlp.opf import Solution
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.repair.judge import promised
from gridveil.wall.draw import Fidelity, Snapshot


class Verdict(Enum):
    """Of the optima of a network. `CHEAP`: none is too dear and one is too cheap, where a cut can help."""

    KEPT = auto()
    CHEAP = auto()
    DEAR = auto()
    LOSSES = auto()
    UNSOLVED = auto()


@dataclass(frozen=True, eq=False)
class Promise:
    """The snapshots, and how far from its public cost each may end, as a share of it."""

    snapshots: tuple[Snapshot, ...]
    fidelity: Fidelity
    tolerance: FloatArray

    @staticmethod
    def of(snapshots: Sequence[Snapshot], fidelity: Fidelity) -> Promise:
        """What the fidelity promises at these snapshots."""
        return Promise(tuple(snapshots), fidelity, np.array(promised(snapshots, fidelity)))

    def aimed(self) -> Promise:
        """How near a repair tries to come; what is within the promise is accepted all the same."""
        return replace(self, tolerance=self.tolerance * np.array([one.aim for one in self.snapshots]))

    @property
    def demands(self) -> list[Demand]:
        return [Demand(one.pd, one.qd) for one in self.snapshots]

    @property
    def costs(self) -> FloatArray:
        """The public costs."""
        return np.array([one.cost for one in self.snapshots])

    def solved(self, optima: Sequence[Solution]) -> bool:
        """Whether there is an optimum at every snapshot; the first that fails is the last that is solved."""
        return len(optima) == len(self.snapshots) and optima[-1].status is Status.OPTIMAL

    def away(self, optima: Sequence[Solution]) -> FloatArray:
        """Distance of every cost from the public one, as a share of it."""
        return (np.array([one.cost for one in optima]) - self.costs) / np.abs(self.costs)

    def verdict(self, optima: Sequence[Solution]) -> Verdict:
        """Whether all is kept, and if not, what is wrong."""
        if not self.solved(optima):
            return Verdict.UNSOLVED
        away = self.away(optima)
        if np.any(away > self.tolerance):
            return Verdict.DEAR
        if np.any(away < -self.tolerance):
            return Verdict.CHEAP
        return Verdict.KEPT if self._keeps_losses(optima) else Verdict.LOSSES

    def kept(self, optima: Sequence[Solution]) -> bool:
        """Whether all is kept."""
        return self.verdict(optima) is Verdict.KEPT

    def excess(self, optima: Sequence[Solution]) -> float:
        """How far the worst cost lies outside its tolerance; infinitely far without optima."""
        return float(np.max(np.abs(self.away(optima)) - self.tolerance)) if self.solved(optima) else np.inf

    def _keeps_losses(self, optima: Sequence[Solution]) -> bool:
        factor = self.fidelity.loss_within
        if factor is None:
            return True
        for optimum, snapshot in zip(optima, self.snapshots, strict=True):
            ours, lost = float(optimum.point.pg.sum() - snapshot.pd.sum()), snapshot.losses
            if lost is not None and not lost / factor <= ours <= lost * factor:
                return False
        return True
