"""What to try next: a coarse table first, then near the best of it, and the best again and again. A pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, sqrt
from typing import Any

from gridveil.advice.choice import Choice
from gridveil.advice.goals import Goals, outcome, score
from gridveil.advice.standing import Rows, standings
from gridveil.errors import GridVeilError

NEAR = 1.3
"""Two α whose ratio is below this need none between them."""
DRAWS = (2, 4, 8)
"""How often the best are tried on every two stand-ins, round by round."""
BEST = 3
WHOLE, HOPELESS = 3, 0.3
"""On so many stand-ins the whole table is tried; on the others what stands above this share of the best."""
LEAST_ALPHA, MOST_ALPHA = 0.01, 2.0


@dataclass(frozen=True)
class Space:
    """What may be chosen. The first values of ε and β are tried first.

    Attributes:
        groups: Sets of protected groups, by letters: L lines, R ratings, D loads, G limits of units, C costs.
        alphas: Relative changes that are protected, to begin with.
        epsilons: Total budgets.
        betas: How far the optimal cost may lie from the public one.
        mechanisms: For lines alone.
        conductance: The median admittance of a line (p.u.), to which the α of `additive` and `paper` are relative.

    Examples:
        >>> gv.Space(groups=("L", "LR"), alphas=(0.1, 0.3)).epsilons
        (1.0, 0.5, 2.0)
    """

    groups: tuple[str, ...] = ("L", "LR", "LRDG", "LRDGC")
    alphas: tuple[float, ...] = (0.1, 0.3, 0.03, 1.0)
    epsilons: tuple[float, ...] = (1.0, 0.5, 2.0)
    betas: tuple[float, ...] = (0.01, 0.005, 0.02)
    mechanisms: tuple[str, ...] = ("log", "additive")
    conductance: float = 1.0


def coarse(space: Space) -> list[Choice]:
    """Every α with every set of groups, the likeliest first."""
    return [
        Choice(groups, alpha, space.epsilons[0], space.betas[0])
        for alpha, groups in product(space.alphas, space.groups)
    ]


def possible(space: Space, fixed: Mapping[str, Any]) -> None:
    """Refuse a space of which no plan can be made, with the reason of the last."""
    refused: GridVeilError | None = None
    for choice in coarse(space):
        try:
            choice.plan(fixed)
        except GridVeilError as refusal:
            refused = refusal
        else:
            return
    if refused is not None:
        raise refused


def ranked(rows: Rows, wanted: Goals, weights: Sequence[float] = ()) -> list[Choice]:
    """What was tried, the best first; of equals the one that meets goals best, spends less, then protects more."""
    stands = standings(rows, wanted, weights)

    def key(choice: Choice) -> tuple[float, ...]:
        least = score(wanted, outcome(rows[choice]))
        return -stands[choice], -least, choice.epsilon, -choice.alpha, -len(choice.groups)

    return sorted(stands, key=key)


def near(choice: Choice, tried: Sequence[Choice], space: Space) -> list[Choice]:
    """Choices beside one: α halfway to the next that was tried, other ε and β, another mechanism."""
    found = list[Choice]()
    if choice.relative:
        others = sorted({one.alpha for one in tried if replace(one, alpha=choice.alpha) == choice})
        below = max((one for one in others if one < choice.alpha), default=choice.alpha / 4)
        above = min((one for one in others if one > choice.alpha), default=choice.alpha * 4)
        for other in (above, below):
            if max(other / choice.alpha, choice.alpha / other) > NEAR:
                between = min(max(float(f"{sqrt(other * choice.alpha):.2g}"), LEAST_ALPHA), MOST_ALPHA)
                found.append(replace(choice, alpha=between))
    found += [replace(choice, epsilon=one) for one in space.epsilons]
    found += [replace(choice, beta=one) for one in space.betas]
    if choice.groups == "L" and choice.relative:
        alpha = float(f"{choice.alpha * space.conductance:.2g}")
        found += [replace(choice, mechanism=one, alpha=alpha) for one in space.mechanisms if one != "log"]
    return [one for one in dict.fromkeys(found) if one not in tried]


def following(rows: Rows, wanted: Goals, space: Space, weights: Sequence[float] = (1.0,)) -> Choice | None:
    """The next choice to try; `None` once there is nothing left that could change the answer. What is under way
    stands in `rows` without figures (an empty row).

    The table is made on one stand-in after the other (there are as many as `weights`, and the draws of a choice take
    turns), so that whenever the time is over, most settings were tried on the same ones and can be compared.
    """
    every, table = len(weights), coarse(space)
    done = {choice: [row for row in found if row] for choice, found in rows.items()}
    for draw in range(every):
        for choice in table if draw < WHOLE else _in_the_running(table, done, wanted, weights):
            if len(rows.get(choice, ())) <= draw:
                return choice
    for choice in _in_the_running([one for one in rows if one not in table], done, wanted, weights):
        if len(rows[choice]) < every:
            return choice
    order = ranked(done, wanted, weights)
    for number, draws in enumerate(DRAWS):
        for rank, choice in enumerate(order[:BEST]):
            if len(rows[choice]) < draws * ceil(every / 2):
                return choice
            if rank < 1 + number:
                for other in near(choice, list(rows), space):
                    return other
    return None


def _in_the_running(choices: Sequence[Choice], done: Rows, wanted: Goals, weights: Sequence[float]) -> list[Choice]:
    """Without those that stand so low already that no other stand-in is to be troubled with them."""
    stands = standings(done, wanted, weights)
    least = HOPELESS * max(stands.values(), default=0.0)
    return [one for one in choices if len(done.get(one, ())) < WHOLE or stands[one] >= least]
