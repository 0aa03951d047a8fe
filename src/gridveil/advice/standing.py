"""How a choice stands beside the others over all stand-ins: which share of the best score of each it reaches.

A choice that is right for one network may be wrong for the next: where ratings were made from impedances by a formula,
no α for lines alone hides anything. What is recommended should do well on whatever the secret may be like. So it is
shares of the best that are averaged, and not scores, with which the network would decide on which all goals are easily
met; and their logarithms, so that a setting that is hopeless on one stand-in is not made good by being the best on
another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

from gridveil.advice.choice import Choice
from gridveil.advice.goals import Goals, outcome, score

Row = Mapping[str, Any]
Rows = Mapping[Choice, Sequence[Row]]
STAND_IN = "stand_in"
"""The column of a row that says on which stand-in it was tried; without it, on the first."""


def by_stand_in(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Trials of one choice, apart."""
    found = defaultdict[int, list[Row]](list)
    for row in rows:
        found[int(row.get(STAND_IN, 0))].append(row)
    return found


def standings(rows: Rows, wanted: Goals, weights: Sequence[float] = ()) -> dict[Choice, float]:
    """The geometric mean share of the best score, over the stand-ins that a choice was tried on; 1 is the best on each.

    `weights` say how much each stand-in counts; those that are not named count as one.
    """
    scores = {
        choice: {which: score(wanted, outcome(tried)) for which, tried in by_stand_in(found).items()}
        for choice, found in rows.items()
        if found
    }
    best = defaultdict[int, float](float)
    for of_choice in scores.values():
        for which, value in of_choice.items():
            best[which] = max(best[which], value)

    def weight(which: int) -> float:
        return weights[which] if which < len(weights) else 1.0

    return {
        choice: exp(
            sum(weight(which) * log(value / best[which]) for which, value in of_choice.items())
            / sum(weight(which) for which in of_choice)
        )
        for choice, of_choice in scores.items()
    }
