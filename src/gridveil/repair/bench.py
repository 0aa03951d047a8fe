"""A bench: repairs near one network, the drawn or the shrunk one; `repair.repair` says in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Grid, Network
from gridveil.nlp.opf import opf_model
from gridveil.nlp.solver import Status
from gridveil.repair.bounds import WIDE, WIDENING, Box, likely_widening, parameter_box
from gridveil.repair.cost_slopes import cuts
from gridveil.repair.cost_steps import Tried, steer, tried
from gridveil.repair.judge import EQUAL
from gridveil.repair.level import same_to_a_solver, scaled, scaled_optimum
from gridveil.repair.projection import Aim, Cut, Effort, Points, project, projection, starts
from gridveil.repair.promise import Promise, Verdict
from gridveil.repair.search import search
from gridveil.repair.trial import LARGE, Nearest, Trial, in_world, is_exact, rounded, seen_again, solve_all, thorough
from gridveil.wall.draw import NoisyLines, Repair

MOST_ROUNDS = 2
"""Projections with cuts before the cost is raised by other means."""
QUICK_STEPS, MORE_STEPS = 3, 6
"""Newton steps on the costs of a network: before it is projected, and after that."""
QUICK, ROOMY, FREE, LAST = Effort(1e-3, 1, 20), Effort(3e-2, 1, 20), Effort(1e-3, 2, 20), Effort(1e-2, 3, 40)
"""Of projections: the first; farther inside its limits; at any cost, if that has no network; with patience."""
HUGE = 5000
MANY = 60
"""Buses from which on noise that reaches through zero wants another place to begin; on fewer what the first does not
find is found sooner near another network."""
MOST_TRIALS, ALL_TRIALS = 16, 200
"""Networks that are tried along rays: soon, and with patience."""
STIFFER = (2.0, 4.0)
"""Of all admittances, and of what charging is divided by: of 86 shrunk networks at alpha = 1 whose drawn ones have no
dispatch, a third has one, with stiffer lines more than half."""
PROGRESS = 0.8
"""Of how far a cost lies outside its tolerance, a cut must leave no more than this; else slopes say nothing of it."""
MARGIN = 0.02
"""Share of β that the projection keeps in hand, against the solver's tolerance and the rounding of the written file."""


@dataclass(eq=False)
class Bench:
    """A repair near one network, the `other` one in sight: what is given, how many projections it took, the network as
    it is if that has a dispatch, and what was found at a wrong cost, or at the `edge` of the networks that have one."""

    noisy: NoisyLines
    promise: Promise
    trial: Trial
    other: Trial
    tries: int = 0
    as_it_is: Tried | None = None
    cuts: Sequence[Cut] = ()
    edge: bool = False
    from_nearest: bool = False
    left: list[tuple[Box, Tried]] = field(default_factory=list)

    def near_it(self) -> Repair | None:
        """The network as it is, steered, or projected in the box that it lies in by all likelihood."""
        before = Tried(self.trial.network, self.trial.optima(self.promise.demands))
        aimed = self.promise.aimed()
        verdict = aimed.verdict(before.optima)
        as_it_is = "as drawn" if self.trial.near is None else "as shrunk"
        kept, solved = self.promise.kept(before.optima), self.promise.solved(before.optima)
        if kept and verdict is Verdict.KEPT:
            return self._result(before, as_it_is)
        if solved:  # it has a dispatch, and needs no projection but another cost
            steps = 1 if kept and self.grid.n_bus >= LARGE else QUICK_STEPS
            steered = steer(self.trial.model, self.trial.box, before, aimed, steps)
            if self.promise.kept(steered.optima):
                return self._result(steered, as_it_is if steered is before else "steered")
        # Feasible but too cheap: projecting it would change nothing but the dispatch, so cut at once.
        if verdict is Verdict.CHEAP:
            self.cuts = cuts(self.trial.box, *before, aimed)
        if solved:
            self.as_it_is = before
            self.left.append((self.trial.box, before))
        if self._levels_first:
            return self.levelled() or self._in_likely(QUICK, aimed)
        return self._projected_near(aimed)

    def farther(self) -> Repair | None:
        """After that: farther inside the limits, where no user would find the dispatch of what is there; or steered
        from the nearest one that has a dispatch, at whatever cost."""
        found = self._in_likely(ROOMY, self.promise) if self.edge else None
        return found or self._from_nearest()

    def levelled(self) -> Repair | None:
        """Where costs were drawn: what has a dispatch, brought to its cost by one factor on all of them. Optima stay
        where they are. It comes late, for the nearest network with a dispatch is congested."""
        if not self.noisy.costs or not isfinite(self.promise.fidelity.beta):
            return None
        if not self.left and self._key not in self.trial.nearest:
            nearest = self.trial.nearest[self._key] = self._at_any_cost()
            if nearest is not None:
                self.left.append((self._box(nearest.widening), Tried(nearest.network, nearest.optima)))
        return next(filter(None, (self._at_level(found) for _, found in self._best_left())), None)

    def _at_level(self, found: Tried) -> Repair | None:
        ratio = self.promise.costs / [one.cost for one in found.optima]
        if ratio.min(initial=inf) <= 0:
            return None
        level = float(np.sqrt(ratio.min() * ratio.max()))
        network = scaled(found.network, level)
        there = Tried(network, [scaled_optimum(one, level) for one in found.optima])
        if not self.promise.kept(there.optima):
            return None
        if is_exact(found.optima) and same_to_a_solver(self.trial.model, found.network, level):
            return self._result(there, "projected")
        # costs of another size lead a solver other ways: what a user would find has to be the same
        again = solve_all(opf_model(network.grid), network, in_world(self.grid, network.grid, self.promise.demands))
        return self._result(there, "projected") if self.promise.kept(again) else None

    def along_rays(self) -> Repair | None:
        """From the best of what was left at a wrong cost, while that is cheap."""
        return next((self._along_rays(*one, MOST_TRIALS) for one in self._best_left()), None)

    def searched(self) -> Repair | None:
        """What is found with patience, after that."""
        found = self._in_box(self._box(self._wide), None, (), LAST, self.promise)
        return found or next(filter(None, (self._along_rays(*one) for one in self._best_left())), None)

    def missed(self) -> tuple[tuple[float, ...] | None, float]:
        """The costs of the best that was left, and how far outside their tolerance they lie."""
        for _, best in self._best_left()[:1]:
            return tuple(one.cost for one in best.optima), self.promise.excess(best.optima)
        return None, inf

    def _best_left(self) -> list[tuple[Box, Tried]]:
        return sorted(self.left, key=lambda one: self.promise.excess(one[1].optima))

    def _from_nearest(self) -> Repair | None:
        """The nearest network with a dispatch, brought to its cost by Newton steps."""
        if self._key not in self.trial.nearest:
            self.trial.nearest[self._key] = self._at_any_cost()
        found = None if self.from_nearest else self.trial.nearest[self._key]
        self.from_nearest = True
        return None if found is None else self._steered(self._box(found.widening), Tried(found.network, found.optima))

    def _at_any_cost(self) -> Nearest | None:
        """Well inside its limits, if it can: from the edge no step leads on. Else with stiffer lines, or farther."""
        likely, wide = self._likely, self._wide
        return (
            self._free(likely, ROOMY)
            or self._stiffer(likely)
            or (self._free(wide, ROOMY) if wide > likely else None)
            or self._free(likely, FREE)
        )

    def _free(self, widening: float, effort: Effort) -> Nearest | None:
        """Projected at any cost."""
        found = self._project(self._box(widening), (), [Aim(inf, inf)] * len(self.promise.snapshots), None, effort)
        if found is None:
            return None
        optima = solve_all(self.trial.model, found, self.promise.demands, thorough())
        return Nearest(widening, found, optima) if self.promise.solved(optima) else None

    def _stiffer(self, widening: float) -> Nearest | None:
        box = self._box(widening)
        for factor in STIFFER:
            found = tried(self.trial.model, box.network(box.clip(box.stiffer(factor))), self.promise)
            if self.promise.solved(found.optima):
                return Nearest(widening, *found)
        return None

    def _projected_near(self, wanted: Promise) -> Repair | None:
        if self._key in self.trial.nearest or not isfinite(self.promise.fidelity.beta):
            return self._from_nearest()
        if self._key in self.other.nearest:  # at another cost this was tried, and in vain
            return None
        found = self._in_likely(QUICK, wanted)
        # where what is there is too cheap: farther inside its limits
        return self._in_likely(ROOMY, self.promise) if found is None and self.left else found

    def _in_likely(self, effort: Effort, wanted: Promise) -> Repair | None:
        return self._in_box(self._box(self._likely), self.as_it_is, self.cuts, effort, wanted)

    def _along_rays(self, box: Box, begin: Tried, most: int = ALL_TRIALS) -> Repair | None:
        better = search(self.trial.model, box, begin, self.promise, [box.network(box.target), self.trial.network], most)
        path = "steered" if begin is self.as_it_is else "projected"
        return self._result(better, path) if self.promise.kept(better.optima) else None

    def _in_box(
        self,
        box: Box,
        near: Tried | None,
        first_cuts: Sequence[Cut],
        effort: Effort,
        wanted: Promise,
    ) -> Repair | None:
        """Projected and cut within one box, then brought to its cost by Newton steps."""
        found, made = self._projected(box, near, first_cuts, effort, wanted)
        return None if found is None else self._steered(box, found, made)

    def _steered(self, box: Box, found: Tried, made: int = 0) -> Repair | None:
        """A network with a dispatch, brought to its cost by Newton steps; else it is left for rays."""
        if not self.promise.kept(found.optima):
            found = steer(self.trial.model, box, found, self.promise, MORE_STEPS)
        if self.promise.kept(found.optima):
            return self._result(found, "projected", made)
        self.left.append((box, found))
        return None

    def _projected(
        self,
        box: Box,
        near: Tried | None,
        first_cuts: Sequence[Cut],
        effort: Effort,
        wanted: Promise,
    ) -> tuple[Tried | None, int]:
        """The last projection that has an optimum: it keeps the promise, or is too cheap for all cuts."""
        promise = self.promise
        aim = [Aim((1 - MARGIN) * one, (1 - MARGIN) * one) for one in wanted.tolerance.tolist()]
        made = list(first_cuts)
        last: Tried | None = None
        for _ in range(MOST_ROUNDS):
            network = self._project(box, made, aim, near, effort)
            if network is None:
                break
            optima = solve_all(self.trial.model, network, promise.demands, thorough())
            verdict = promise.verdict(optima)
            if verdict is Verdict.UNSOLVED:
                self.edge = True
                break
            before, last = last, Tried(network, optima)
            if verdict is Verdict.KEPT or (
                before and promise.excess(optima) > PROGRESS * promise.excess(before.optima)
            ):
                break
            if verdict is Verdict.CHEAP:
                near = last
                made += cuts(box, network, optima, promise)
                continue
            lowered = _lower(aim, promise.away(optima), promise)
            if lowered is None:
                break
            aim = lowered
        return last, len(made)

    def _project(
        self, box: Box, made: Sequence[Cut], aim: Sequence[Aim], near: Tried | None, effort: Effort
    ) -> Network | None:
        """The nearest network in the box, from the first start that finds it."""
        fidelity, snapshots = self.promise.fidelity, self.promise.snapshots
        program = projection(self.grid, box, snapshots, made, fidelity.loss_within is not None)
        own = None if near is None else (box.clip(box.parameters(near.network)), [one.point for one in near.optima])
        roomy = effort._replace(room=max(effort.room, fidelity.room))
        most = effort.starts + (not self.noisy.relative and self.grid.n_bus >= MANY)
        for start in starts(program, box, own, self.other.network, self._others)[:most]:
            self.tries += 1
            outcome = project(program, box, snapshots, fidelity, aim, start, roomy)
            if outcome.status is Status.OPTIMAL:
                return rounded(box.network(box.clip(outcome.x[program.parameters])))
        return None

    @property
    def _levels_first(self) -> bool:
        """Costs were drawn, and most projections at the wanted one are in vain: at 1,354 and 2,869 buses, not 9,241."""
        return self.noisy.costs and LARGE <= self.grid.n_bus < HUGE and isfinite(self.promise.fidelity.beta)

    @property
    def grid(self) -> Grid:
        """The network but for its lines."""
        return self.trial.model.grid

    @property
    def _others(self) -> Points | None:
        """Operating points of the other network: if they are known, or for a large one, which they help most."""
        if (self.grid.n_bus < LARGE or self._levels_first) and not self.other.known(self.promise.demands):
            return None
        optima = self.other.optima(self.promise.demands)
        return [one.point for one in optima] if self.promise.solved(optima) else None

    @property
    def _key(self) -> bytes:
        """Of the demands."""
        return b"".join(one.tobytes() for demand in self.promise.demands for one in demand)

    @property
    def _likely(self) -> float:
        return likely_widening(self.grid, self.noisy, self.promise.fidelity.bound_factor)

    @property
    def _wide(self) -> float:
        return max(self._likely, WIDE)

    def _box(self, widening: float) -> Box:
        return parameter_box(self.grid, self.noisy, self._factor(widening), self.trial.near)

    def _factor(self, widening: float) -> float:
        return self.promise.fidelity.bound_factor * widening

    def _result(self, found: Tried, path: str, made: int = 0) -> Repair | None:
        """With the first box that has it; none if it is lost to whoever looks for it again."""
        if not self.promise.kept(seen_again(self.grid, found.network, self.promise.demands, found.optima)):
            return None
        widening = next((one for one in WIDENING if self._inside(found.network, one)), WIDENING[-1])
        if not isfinite(self.promise.fidelity.beta):
            self.trial.nearest[self._key] = Nearest(widening, found.network, found.optima)
        points = tuple(one.point for one in found.optima)
        multipliers = tuple(one.end for one in found.optima)
        return Repair(found.network, points, path, made, widening, self.tries, multipliers)

    def _inside(self, network: Network, widening: float) -> bool:
        return parameter_box(self.grid, self.noisy, self._factor(widening)).outside(network) <= EQUAL


def _lower(aim: Sequence[Aim], away: FloatArray, promise: Promise) -> list[Aim] | None:
    """Aim lower where the AC-OPF ended dearer than the projection's dispatch; `None` if that cannot help."""
    result = []
    for one, far, tolerance in zip(aim, away.tolist(), promise.tolerance.tolist(), strict=True):
        over = far - tolerance
        result.append(Aim(one.below, one.above - over - 0.1 * tolerance) if over > 0 else one)
    return result if result != list(aim) and all(one.above > -one.below for one in result) else None
