"""`repair`: from noisy lines to a network that is AC-feasible and whose *re-optimised* cost keeps the promise β.

1. If the noisy network, clipped into its box, is feasible and faithful as it is, it is the answer; a few Newton steps
   on its cost may make it faithful.
2. Else project (repair.projection), then solve the AC-OPF of the result. Its optimum may be cheaper than β allows: the
   projection bounds the cost of one dispatch only. Then cut: φ_k + ∇φ_k·(y − y_k) ≥ floor, and project again; then
   take Newton steps (repair.cost_steps).
3. Where nothing is in the box, in the widest one. Where what is there stays too cheap, with more room: the nearest
   feasible network lies at the edge of those that have a dispatch, where no step leads on. Then near the shrunk one.
4. With patience: more starts and room still, and from the best that was found rays that see kinks (repair.search).

All of it is post-processing of public data: no ε is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import RepairFailed
from gridveil.grid import LineParameters, OperatingPoint, PublicGrid
from gridveil.nlp.solver import Status
from gridveil.repair.bounds import WIDENING, Box, parameter_box
from gridveil.repair.cost_slopes import cuts
from gridveil.repair.cost_steps import Tried, steer
from gridveil.repair.judge import EQUAL
from gridveil.repair.projection import Aim, Cut, Effort, project, projection, starts
from gridveil.repair.promise import Promise, Verdict
from gridveil.repair.search import search
from gridveil.repair.trial import Trial, drawn_trial, first_trial, rounded, shrunk_trial, solve_all, thorough
from gridveil.wall.draw import Fidelity, NoisyLines, Repair, Snapshot

MOST_ROUNDS = 3
"""Projections with cuts before the cost is raised by other means."""
QUICK_STEPS, MORE_STEPS = 3, 6
"""Newton steps on the costs of a network: before it is projected, and after that."""
FIRST, SECOND, LAST = Effort(200, 1e-3, 2, 20), Effort(200, 3e-2, 2, 20), Effort(400, 1e-2, 4, 40)
"""Most projections need fewer than 70 iterations. What fails is tried again with more room, at last with patience."""
PROGRESS = 0.8
"""Of how far a cost lies outside its tolerance, a cut must leave no more than this; else slopes say nothing of it."""
MARGIN = 0.02
"""Share of β that the projection keeps in hand, against the solver's tolerance and the rounding of the written file."""


def repair(
    grid: PublicGrid,
    noisy: NoisyLines,
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    first: Trial | None = None,
    *,
    patient: bool = True,
) -> Repair:
    """The nearest network that keeps the promise at every snapshot, or `RepairFailed`.

    The order of the snapshots has no influence, and equal ones count once. `first` is what is tried as it is, with what
    has been solved of it already. Who has other costs to aim at need not be `patient` with these.
    """
    rows = [  # the heaviest first: where one fails, it is the likeliest
        [-one.pd.sum(), *one.pd, *one.qd, one.cost, one.slack, one.aim, *([] if one.losses is None else [one.losses])]
        for one in snapshots
    ]
    _, at, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    promise = Promise.of([snapshots[index] for index in at], fidelity)
    benches = list[Bench]()
    for trial in _trials(grid, noisy, fidelity, first):
        benches.append(Bench(grid, noisy, promise, trial))
        if (found := benches[-1].repaired()) is not None:
            return _in_order(found, place.ravel().tolist())
    for bench in benches if patient else ():
        if (found := bench.searched()) is not None:
            return _in_order(found, place.ravel().tolist())
    tries = sum(bench.tries for bench in benches)
    raise RepairFailed(
        "no AC-feasible network"
        + (f" with a cost within {fidelity.beta:.4g} of the public one" if isfinite(fidelity.beta) else "")
        + (f" and losses within a factor of {fidelity.loss_within:g}" if fidelity.loss_within else "")
        + f" was found in {tries} "
        f"projections, up to a bound factor of {fidelity.bound_factor * WIDENING[-1]:g}; "
        "try a smaller alpha or a larger beta"
    )


def _in_order(found: Repair, order: Sequence[int]) -> Repair:
    """With a point for every snapshot that was given."""
    points, multipliers = found.points, found.multipliers
    return replace(
        found, points=tuple(points[index] for index in order), multipliers=tuple(multipliers[index] for index in order)
    )


def _trials(grid: PublicGrid, noisy: NoisyLines, fidelity: Fidelity, first: Trial | None) -> Iterator[Trial]:
    """What a repair stays near to, in turn: if nothing is near the drawn values, something may be near the shrunk."""
    trial = first or first_trial(grid, noisy, fidelity)
    yield trial
    if trial.near is None:
        yield shrunk_trial(grid, noisy, fidelity.bound_factor)[0]
    else:
        yield drawn_trial(grid, noisy, fidelity.bound_factor)


@dataclass(eq=False)
class Bench:
    """A repair near one network: what is given, how many projections it took, and what was found at a wrong cost."""

    grid: PublicGrid
    noisy: NoisyLines
    promise: Promise
    trial: Trial
    tries: int = 0
    left: list[tuple[Box, Tried]] = field(default_factory=list)

    def repaired(self) -> Repair | None:
        """What is found near the network of the trial soon."""
        before = Tried(self.trial.lines, self.trial.optima(self.promise.demands))
        aimed = self.promise.aimed()
        verdict = aimed.verdict(before.optima)
        as_it_is = "as drawn" if self.trial.near is None else "as shrunk"
        kept, solved = self.promise.kept(before.optima), self.promise.solved(before.optima)
        if kept and verdict is Verdict.KEPT:
            return self._result(before, as_it_is)
        if solved and not np.array_equal(aimed.tolerance, self.promise.tolerance):
            # it has a dispatch, and needs no projection but another cost
            steered = steer(self.trial.model, self.trial.box, before, aimed, QUICK_STEPS)
            if aimed.kept(steered.optima):
                return self._result(steered, "steered")
            if kept:
                return self._result(before, as_it_is)
        # Feasible but too cheap: projecting it would change nothing but the dispatch, so cut at once.
        cut = cuts(self.grid, self.trial.box, *before, aimed) if verdict is Verdict.CHEAP else []
        near = [one.point for one in before.optima] if solved else None
        for widening in (WIDENING[0], WIDENING[-1]):
            found = self._in_box(widening, near, cut, FIRST)
            if found is None and self.left:  # it is there, but too cheap: at the edge, where no step leads on
                found = self._in_box(widening, near, cut, SECOND)
            if found is not None or self.left:
                return found
        return None

    def searched(self) -> Repair | None:
        """What is found with patience, after that."""
        found = self._in_box(WIDENING[-1], None, (), LAST)
        for box, begin in reversed(self.left):
            if found is not None:
                break
            better = search(self.trial.model, box, begin, self.promise, [box.lines(box.clip()), self.trial.lines])
            if self.promise.kept(better.optima):
                found = self._result(better, "projected")
        return found

    def _in_box(
        self, widening: float, near: Sequence[OperatingPoint] | None, first_cuts: Sequence[Cut], effort: Effort
    ) -> Repair | None:
        """Projected and cut within one box, then brought to its cost by Newton steps."""
        box = parameter_box(self.grid, self.noisy, self._factor(widening), self.trial.near)
        found, made = self._projected(box, near, first_cuts, effort)
        if found is not None and not self.promise.kept(found.optima):
            found = steer(self.trial.model, box, found, self.promise, MORE_STEPS)
        if found is None:
            return None
        if self.promise.kept(found.optima):
            return self._result(found, "projected", made)
        self.left.append((box, found))
        return None

    def _projected(
        self, box: Box, near: Sequence[OperatingPoint] | None, first_cuts: Sequence[Cut], effort: Effort
    ) -> tuple[Tried | None, int]:
        """The last projection that has an optimum: it keeps the promise, or is too cheap for all cuts."""
        promise = self.promise
        aim = [Aim((1 - MARGIN) * one, (1 - MARGIN) * one) for one in promise.aimed().tolerance.tolist()]
        made = list(first_cuts)
        last: Tried | None = None
        for _ in range(MOST_ROUNDS):
            lines = self._project(box, made, aim, near, effort)
            if lines is None:
                break
            optima = solve_all(self.trial.model, lines, promise.demands, thorough())
            verdict = promise.verdict(optima)
            if verdict is Verdict.UNSOLVED:
                break
            before, last = last, Tried(lines, optima)
            if verdict is Verdict.KEPT or (
                before and promise.excess(optima) > PROGRESS * promise.excess(before.optima)
            ):
                break
            if verdict is Verdict.CHEAP:
                near = [one.point for one in optima]
                made += cuts(self.grid, box, lines, optima, promise)
                continue
            lowered = _lower(aim, promise.away(optima), promise)
            if lowered is None:
                break
            aim = lowered
        return last, len(made)

    def _project(
        self, box: Box, made: Sequence[Cut], aim: Sequence[Aim], near: Sequence[OperatingPoint] | None, effort: Effort
    ) -> LineParameters | None:
        """The nearest lines in the box, from the first start that finds them."""
        fidelity, snapshots = self.promise.fidelity, self.promise.snapshots
        program = projection(self.grid, box, snapshots, made, fidelity.loss_within is not None)
        for start in starts(program, box, near)[: effort.starts]:
            self.tries += 1
            outcome = project(program, box, snapshots, fidelity, aim, start, effort)
            if outcome.status is Status.OPTIMAL:
                return rounded(box.lines(np.clip(outcome.x[program.parameters], box.low, box.high)))
        return None

    def _factor(self, widening: float) -> float:
        return self.promise.fidelity.bound_factor * widening

    def _result(self, found: Tried, path: str, made: int = 0) -> Repair:
        """With the first box that has it."""
        widening = next((one for one in WIDENING if self._inside(found.lines, one)), WIDENING[-1])
        points = tuple(one.point for one in found.optima)
        multipliers = tuple(one.end for one in found.optima)
        return Repair(found.lines, points, path, made, widening, self.tries, multipliers)

    def _inside(self, lines: LineParameters, widening: float) -> bool:
        return parameter_box(self.grid, self.noisy, self._factor(widening)).outside(lines) <= EQUAL


def _lower(aim: Sequence[Aim], away: FloatArray, promise: Promise) -> list[Aim] | None:
    """Aim lower where the AC-OPF ended dearer than the projection's dispatch; `None` if that cannot help."""
    result = []
    for one, far, tolerance in zip(aim, away.tolist(), promise.tolerance.tolist(), strict=True):
        over = far - tolerance
        result.append(Aim(one.below, one.above - over - 0.1 * tolerance) if over > 0 else one)
    return result if result != list(aim) and all(one.above > -one.below for one in result) else None
