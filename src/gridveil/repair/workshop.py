"""The workshop: one draw on the public side, first estimated, then repaired; both look at the same solved networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import inf
from typing import Self

from gridveil.errors import OutOfEffort
from gridveil.grid import Grid
from gridveil.nlp.effort import Effort, EffortSpent, limited
from gridveil.nlp.opf import opf_model
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.repair.estimate import Solved, estimate
from gridveil.repair.repair import Missed, first_found, in_turn, ways
from gridveil.repair.shrinkage import Shrunk
from gridveil.repair.trial import Trial, drawn_trial, shrunk_trial, solve_all
from gridveil.wall.draw import Estimate, Fidelity, NoisyLines, Repair, Snapshot
from gridveil.wall.facts import SENSITIVITY, SHARE
from gridveil.wall.target import Target

Told = Callable[[float], None]


def silent(spent: float) -> None:
    """Nobody wants to hear it."""


class Workshop:
    """In this process, for studies and tests; releases work in a process of its own (`repair/child.py`)."""

    grid: Grid
    noisy: NoisyLines
    fidelity: Fidelity

    def begin(self, grid: Grid, noisy: NoisyLines, fidelity: Fidelity, told: Told = silent) -> Self:
        """Take up a draw; `told` hears how many AC-OPFs it has cost so far."""
        self.grid, self.noisy, self.fidelity = grid, noisy, fidelity
        self._ways: dict[object, Iterator[Repair | Missed]] = {}
        self._effort = Effort(fidelity.effort, opf_model(grid).problem.order, told)
        return self

    def estimate(
        self, demands: Sequence[Demand], *, needed: bool = False, enough: float = SENSITIVITY / SHARE
    ) -> Estimate:
        """What the noisy values alone say of the dispatch cost of every demand.

        If it is `needed` and neither network has a dispatch, the nearest one that has takes their place. A spread up to
        `enough` is not made smaller by further solves.
        """
        with self._limited():
            (trial, by), drawn = self._shrunk, _solved(self._drawn, demands)

            def shrunk() -> Solved | None:
                found = _solved(trial, demands)
                return self._nearest(demands) if needed and drawn is None and found is None else found

            return estimate(self._drawn.model, self.noisy, demands, drawn, shrunk, by, enough)

    def _nearest(self, demands: Sequence[Demand]) -> Solved:
        """The nearest network with a dispatch, at any cost."""
        free = [Snapshot(one.pd, one.qd, 1.0, step) for step, one in enumerate(demands)]
        fidelity = replace(self.fidelity, beta=inf, loss_within=None, target=Target.SHRUNK)
        found = first_found(self._led(free, fidelity), fidelity)
        return Solved(found.network, solve_all(self._drawn.model, found.network, demands))

    def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
        """The nearest network that keeps the promise at every snapshot.

        Who is not `patient` is told after one way that nothing was found; who asks again is led the next.
        """
        asked = tuple((one.step, one.cost, one.losses) for one in snapshots)
        left = self._ways.setdefault(asked, self._led(snapshots, self.fidelity))
        with self._limited():
            return first_found(left if patient else islice(left, 1), self.fidelity)

    def _led(self, snapshots: Sequence[Snapshot], fidelity: Fidelity) -> Iterator[Repair | Missed]:
        """All ways, beginning near the drawn network or the shrunk one."""
        return ways(self.noisy, snapshots, fidelity, *in_turn(self._drawn, self._shrunk[0], fidelity))

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Within the effort that is left; what ends there is told as a failure."""
        try:
            with limited(self._effort):
                yield
        except EffortSpent:
            raise OutOfEffort(
                f"no network was found within an effort of {self.fidelity.effort:g} AC-OPFs; give a larger --effort, a "
                "smaller alpha or a larger beta"
            ) from None

    @property
    def spent(self) -> float:
        """What the draw has cost so far, in AC-OPFs."""
        return self._effort.spent

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
    return Solved(trial.network, [found[place[index]] for index in range(len(demands))])
