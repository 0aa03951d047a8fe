"""What the truth is asked beside its lines, and how it answers: with noise and a charge, or rounded on purpose.

The dispatch cost is asked as a surcharge, κ = mean over the used steps of ln(optimal cost/copper-plate cost). Each step
is clamped to [0, 50 %], and one without an optimum counts as the upper end, so that every network has an answer.
Proof of its loss: docs/proofs/facts.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gridveil.errors import GridError, ReleaseError
from gridveil.grid import Grid
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.grid.profile import Profile
from gridveil.nlp.opf import Solution, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.privacy.noise import Noise
from gridveil.sealed.split import Sealed
from gridveil.wall.facts import HIGHEST, KIND_WORDS, Fact, FactKind, declared, private_surcharge, private_total
from gridveil.wall.horizon import Horizon, demands_in

NEGLIGIBLE = 1e-7
LEAST = 1e-3
"""The least total (MW, or money)."""


class Truth:
    """The original network's optima at some steps of a profile, solved when first asked for. Nothing is public."""

    def __init__(self, network: Sealed, horizon: Horizon, steps: Sequence[int]) -> None:
        self._network, self._horizon, self._steps = network, horizon, steps

    @cached_property
    def _profile(self) -> Profile:
        return demands_in(self._horizon, self._network._open().grid)

    @cached_property
    def _optima(self) -> list[Solution]:
        grid, lines = self._network._open()
        model, profile = opf_model(grid), self._profile
        return [solve_opf(model, lines, Demand(profile.pd[index], profile.qd[index])) for index in self._steps]

    def require_optima(self) -> None:
        """The operator's own question before a charge: refuse a network without an optimum or a cost at some step."""
        many = len(self._profile) > 1
        for index, solution in zip(self._steps, self._optima, strict=True):
            step = self._profile.step[index]
            if solution.status is not Status.OPTIMAL:
                raise ReleaseError(
                    f"the original network has no optimal power flow{f' at step {step}' if many else ''} "
                    f"({solution.status}); nothing was charged"
                )
            if abs(solution.cost) <= NEGLIGIBLE * _full_cost(self._network._open().grid):
                raise ReleaseError(
                    f"the dispatch cost{f' of step {step}' if many else ''} is zero, so that no share of it can be "
                    "kept; give costs, or leave the step out; nothing was charged"
                )

    def declare(self, kind: FactKind) -> tuple[Fact, ...]:
        """Costs or losses, rounded."""
        facts = []
        for index, solution in zip(self._steps, self._optima, strict=True):
            lost = float(solution.point.pg.sum() - self._profile.pd[index].sum())
            value = lost if kind is FactKind.LOSSES else solution.cost
            facts.append(declared(kind, int(self._profile.step[index]), value))
        return tuple(facts)

    def _own_plates(self) -> list[float]:
        """The copper-plate costs of the steps; one that there is none of, or that is nothing, makes any cost large."""
        found, grid = [], self._network._open().grid
        for index in self._steps:
            try:
                plate = copper_plate_cost(grid, float(self._profile.pd[index].sum()))
            except GridError:
                plate = 0.0
            found.append(max(plate, 1e-9))
        return found

    def surcharge(self, plates: Sequence[float] | None, lowest: float = 0.0) -> float:
        """κ, for mechanisms and for the operator; `plates` are the public copper-plate costs of the steps, or `None`
        if these are secret themselves."""
        plates = self._own_plates() if plates is None else plates
        values = [
            HIGHEST if one.status is not Status.OPTIMAL else np.log(max(one.cost / plate, 1e-9))
            for one, plate in zip(self._optima, plates, strict=True)
        ]
        return float(np.mean(np.clip(values, lowest, HIGHEST)))

    def ask_surcharge(
        self, plates: Sequence[float] | None, epsilon: float, sensitivity: float, noise: Noise, lowest: float = 0.0
    ) -> Fact:
        """κ with noise: for networks whose surcharges differ by D the loss is ε·D/s."""
        drawn = noise.laplace(np.array([self.surcharge(plates, lowest)]), sensitivity, epsilon)
        return private_surcharge(float(drawn[0]), epsilon, sensitivity, lowest)

    def totals(self, kinds: Sequence[FactKind]) -> list[float]:
        """True totals. One that is not positive, or that there is none of, counts as the least, so that every network
        has an answer."""
        grid = self._network._open().grid
        demand = float(grid.buses.pd.sum())
        try:
            merit = copper_plate_cost(grid, demand)
        except GridError:
            merit = LEAST
        values = {
            FactKind.DEMAND: demand * grid.base_mva,
            FactKind.CAPACITY: float(grid.generators.pmax[np.isfinite(grid.generators.pmax)].sum()) * grid.base_mva,
            FactKind.MERIT: merit,
        }
        return [max(values[kind], LEAST) for kind in kinds]

    def declare_totals(self, kinds: Sequence[FactKind]) -> tuple[Fact, ...]:
        """Totals, rounded; the operator is told where there is none, before a charge."""
        found = self.totals(kinds)
        for kind, value in zip(kinds, found, strict=True):
            if value <= LEAST:
                raise ReleaseError(f"the {KIND_WORDS[kind]} is not positive, and cannot be kept; nothing was charged")
        return tuple(declared(kind, None, value) for kind, value in zip(kinds, found, strict=True))

    def ask_totals(self, kinds: Sequence[FactKind], epsilon: float, sensitivity: float, noise: Noise) -> list[Fact]:
        """Logarithms of totals with noise: where they differ by D, added up, the loss is ε·D/s."""
        drawn = noise.laplace(np.log(self.totals(kinds)), sensitivity, epsilon)
        return [private_total(kind, float(one), epsilon, sensitivity) for kind, one in zip(kinds, drawn, strict=True)]


def _full_cost(grid: Grid) -> float:
    """Cost of all generators at the end of their range, as a measure of what is no cost at all."""
    top = np.where(np.isfinite(grid.generators.pmax), grid.generators.pmax, 0.0)
    return abs(grid.cost_p.total(top))
