"""The workshop: one draw on the public side, first estimated, then repaired; both look at the same solved networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Self

from gridveil.grid import PublicGrid
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.repair.estimate import Solved, estimate
from gridveil.repair.repair import repair
from gridveil.repair.shrinkage import Shrunk
from gridveil.repair.trial import Trial, drawn_trial, shrunk_trial, solve_all
from gridveil.wall.draw import Estimate, Fidelity, NoisyLines, Repair, Snapshot, Target
from gridveil.wall.facts import SENSITIVITY, SHARE


class Workshop:
    """In this process, for studies and tests; releases work in a process of its own (`repair/child.py`)."""

    grid: PublicGrid
    noisy: NoisyLines
    fidelity: Fidelity

    def begin(self, grid: PublicGrid, noisy: NoisyLines, fidelity: Fidelity) -> Self:
        """Take up a draw."""
        self.grid, self.noisy, self.fidelity = grid, noisy, fidelity
        return self

    def estimate(
        self, demands: Sequence[Demand], *, needed: bool = False, enough: float = SENSITIVITY / SHARE
    ) -> Estimate:
        """What the noisy values alone say of the dispatch cost of every demand.

        If it is `needed` and neither network has a dispatch, the nearest one that has takes their place. A spread up to
        `enough` is not made smaller by further solves.
        """
        (trial, by), drawn = self._shrunk, _solved(self._drawn, demands)

        def shrunk() -> Solved | None:
            found = _solved(trial, demands)
            return self._nearest(demands) if needed and drawn is None and found is None else found

        return estimate(self._drawn.model, self.noisy, demands, drawn, shrunk, by, enough)

    def _nearest(self, demands: Sequence[Demand]) -> Solved:
        """The nearest network with a dispatch, at any cost."""
        free = [Snapshot(one.pd, one.qd, 1.0, step) for step, one in enumerate(demands)]
        found = repair(self.grid, self.noisy, free, replace(self.fidelity, beta=inf, loss_within=None), self._shrunk[0])
        return Solved(found.lines, solve_all(self._drawn.model, found.lines, demands))

    def repair(self, snapshots: Sequence[Snapshot]) -> Repair:
        """The nearest network that keeps the promise at every snapshot."""
        first = self._shrunk[0] if self.fidelity.target is Target.SHRUNK else self._drawn
        return repair(self.grid, self.noisy, snapshots, self.fidelity, first)

    def close(self) -> None:
        """Nothing to put away."""

    @cached_property
    def _drawn(self) -> Trial:
        return drawn_trial(self.grid, self.noisy, self.fidelity.bound_factor)

    @cached_property
    def _shrunk(self) -> tuple[Trial, Shrunk]:
        return shrunk_trial(self.grid, self.noisy, self.fidelity.bound_factor)


def _solved(trial: Trial, demands: Sequence[Demand]) -> Solved | None:
    """The optima of a trial network at every demand, if it has them all; the heaviest demand is solved first."""
    order = sorted(range(len(demands)), key=lambda index: -float(demands[index].pd.sum()))
    found = trial.optima([demands[index] for index in order])
    if len(found) < len(demands) or found[-1].status is not Status.OPTIMAL:
        return None
    place = {index: position for position, index in enumerate(order)}
    return Solved(trial.lines, [found[place[index]] for index in range(len(demands))])
