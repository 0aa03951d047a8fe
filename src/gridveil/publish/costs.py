"""The public dispatch costs that a repair aims at, from whatever is public: fusion, after the draw. No ε is spent here.

Own cost, shrunk cost and, if it was asked, the private answer are estimates of one surcharge; each counts by the
inverse of its variance. Over a horizon the shape is the noisy network's own, and only its level is corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, inf, isfinite, log, sqrt

import numpy as np

from gridveil.errors import GridError, ReleaseError, RepairFailed
from gridveil.grid import Grid
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.nlp.power_flow import Demand
from gridveil.wall.draw import Estimate
from gridveil.wall.facts import FAR, FARTHEST, LOWEST_TARGET, Fact, FactKind, Source, cost_interval

_MOST_LOSSES = 3.0
"""Factor by which losses follow a cost."""
RESOLVED = 1e-5
"""Money: an AC-OPF whose cost is 1.5 is solved to half of that."""
_SHARES = (0.5, 1.0)
"""Of the way from the fused surcharge to the one that the draw itself has, where no network near it has the first."""


def copper_plates(grid: Grid, demands: Sequence[Demand]) -> list[float]:
    """The copper-plate cost of every step; refuses what has no meaning as a measure of cost."""
    try:
        plates = [copper_plate_cost(grid, float(one.pd.sum())) for one in demands]
    except GridError as error:
        raise ReleaseError(f"{error}; nothing was charged") from error
    top = np.where(np.isfinite(grid.generators.pmax), grid.generators.pmax, 0.0)
    if min(plates) <= 1e-7 * abs(grid.cost_p.total(top)):
        raise ReleaseError(
            "without a network the dispatch would cost nothing (or less), so that a surcharge over it has no meaning; "
            "give --published-cost, --cost declared, or generation costs. Nothing was charged"
        )
    return plates


def check_scale(beta: float, costs: Sequence[float]) -> None:
    """Refuse costs that β would have told apart more finely than a solver does; by what is public."""
    if costs and beta * min(abs(cost) for cost in costs) < RESOLVED:
        raise ReleaseError(
            f"beta = {beta:g} of a cost of {min(abs(cost) for cost in costs):.3g} is finer than a solver tells costs "
            "apart; give generation costs in a smaller unit of money, or a larger beta. Nothing was charged"
        )


def shape_of(costs: Sequence[float], plates: Sequence[float]) -> tuple[float, ...]:
    """Surcharges of the steps."""
    return tuple(log(max(cost / plate, 1e-9)) for cost, plate in zip(costs, plates, strict=True))


def worth_asking(estimate: Estimate, scale: float) -> bool:
    """Is the noisy network's own cost less certain than an answer with noise of this scale? Decided by public data."""
    return not estimate.spread <= scale


def fused(estimate: Estimate, answer: Fact | None, lowest: float = 0.0) -> float:
    """The surcharge to aim at."""
    parts = [(value, estimate.spread) for value in (estimate.own, estimate.shrunk) if value is not None]
    if answer is not None and answer.scale is not None:
        parts.append((answer.value, sqrt(2.0) * answer.scale))
    certain = [(value, spread) for value, spread in parts if isfinite(spread)] or [(value, 1.0) for value, _ in parts]
    if not certain:
        raise RepairFailed("neither the noisy network nor the shrunk one has a dispatch, and none was asked for")
    weight = np.array([max(spread, 1e-9) ** -2.0 for _, spread in certain])
    return _near(float(weight @ [value for value, _ in certain] / weight.sum()), answer, lowest)


def nearer(level: float, estimate: Estimate, answer: Fact | None, lowest: float = 0.0) -> list[float]:
    """The surcharges to aim at where no network near the draw has the first, for the noise of the answer can lie in
    its tail: towards what the draw itself has, and at last far in that tail (once in 22,000 it lies beyond)."""
    if estimate.shape is None:
        return []
    reach = float(np.mean(estimate.shape))
    others = [_near(level + share * (reach - level), answer, lowest) for share in _SHARES]
    return [one for one in dict.fromkeys([*others, _near(reach, answer, lowest, FARTHEST)]) if one != level]


def _near(level: float, answer: Fact | None, lowest: float, far: float = FAR) -> float:
    """A level, no farther from the answer than so much of its noise and above the least that an AC-OPF can have, or
    `lowest` where the merit-order cost is itself noisy."""
    if answer is not None and answer.scale is not None:
        level = float(np.clip(level, answer.value - far * answer.scale, answer.value + far * answer.scale))
    return max(level, lowest if lowest < 0 else LOWEST_TARGET)


def aimed_costs(
    steps: Sequence[int],
    plates: Sequence[float],
    estimate: Estimate,
    answer: Fact | None,
    level: float,
    lowest: float | None = 0.0,
) -> tuple[Fact, ...]:
    """The public costs of the used steps at a level, and the answer they rest on if one was asked for.

    Where the copper-plate costs are noisy and the answer is one over the true ones (`lowest` is `None`), nothing is
    known of the true cost.
    """
    shape = np.array(estimate.shape) if estimate.shape is not None else np.zeros(len(plates))
    costs = [plate * exp(level + one) for plate, one in zip(plates, shape - shape.mean(), strict=True)]
    if answer is None:
        return tuple(Fact(FactKind.COST, step, cost, Source.DERIVED) for step, cost in zip(steps, costs, strict=True))
    facts = [answer]
    for step, cost, plate in zip(steps, costs, plates, strict=True):
        low, high = cost_interval(answer, plate, lowest) if len(plates) == 1 and lowest is not None else (None, None)
        facts.append(
            Fact(FactKind.COST, step, cost, Source.PRIVATE, None, None, answer.sensitivity, answer.scale, low, high)
        )
    return tuple(facts)


def aimed_losses(steps: Sequence[int], estimate: Estimate, level: float | None = None) -> tuple[Fact, ...]:
    """Losses that a release keeps without asking for the true ones: those of the noisy network.

    Where its cost was corrected to a `level`, losses follow: without congestion they are what the surcharge pays for.
    """
    if estimate.losses is None or min(estimate.losses, default=-inf) <= 0:
        raise RepairFailed("the noisy network has no losses that could be kept; leave --loss-within out")
    factor = 1.0
    if level is not None and estimate.shape is not None:
        own = max(float(np.mean(estimate.shape)), LOWEST_TARGET)
        factor = float(np.clip(expm1(level) / expm1(own), 1 / _MOST_LOSSES, _MOST_LOSSES))
    pairs = zip(steps, estimate.losses, strict=True)
    return tuple(Fact(FactKind.LOSSES, step, factor * lost, Source.DERIVED) for step, lost in pairs)
