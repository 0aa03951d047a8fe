"""Numbers and the privacy statement in plain words, for the reports of studies and of single releases."""

from __future__ import annotations

from math import ceil, exp, floor, log10

from gridveil.charts.numbers import number
from gridveil.wall.changes import cost_of_changes
from gridveil.wall.mechanisms import JOINT
from gridveil.wall.protection import Protection


def odds(loss: float) -> str:
    """What a loss of privacy means to someone who bets on one of two networks; rounded up."""
    factor = exp(loss) if loss < 50 else float("inf")
    if factor >= 1e6:
        return "so large a factor that nothing is protected"
    step = 10.0 ** (floor(log10(factor)) - 2)
    return f"a factor of {number(ceil(factor / step - 1e-9) * step)}"


def budget(epsilon: float, mechanism: str) -> str:
    """What ε is; the mechanism `paper` loses more than the ε it is given."""
    most = odds(epsilon) if mechanism != "paper" else "exp(loss), with a loss of ε·(2 + max|b/g|)/3 rather than ε"
    return (
        f"ε = {number(epsilon)} is the privacy budget. Think of someone who knows everything about the network but "
        f"one {'element' if mechanism == JOINT else 'corridor'}, and wonders which of two neighbouring values it has. "
        f"Whatever they read from the release, "
        f"their odds between the two change by at most {most}. A smaller ε means more noise and better protection."
    )


def joint_reach(protection: Protection) -> str:
    """What α is, where it is one for each group."""
    return (
        f"Protected are {protection.words}. The per cent in brackets is α: how large a change counts as one step, of "
        "one number of its group, or of the ratio to another of the same element (a corridor, the load of a bus, the "
        "units of a bus). Two networks that differ in one element by one step in all are neighbours; those k steps "
        "apart are protected k times less: the odds may change by exp(k·ε)."
    )


def reach(alpha: float, mechanism: str) -> str:
    """What α is, for one mechanism."""
    if mechanism == "log":
        return (
            f"α = {number(alpha)} says which values count as neighbours: those whose ln|z|, ln|x/r| and ln|bc/x| "
            f"differ by {number(alpha)} in all. Values k times as far apart are protected k times less: the odds may "
            f"change by exp(k·ε)."
        )
    return (
        f"α = {number(alpha)} says which values count as neighbours: conductances of one corridor that differ by "
        f"{number(alpha)} per unit or less. Values k times as far apart are protected k times less."
    )


def changes(epsilon: float, alpha: float, mechanism: str) -> list[str]:
    """What changes that people think of cost, for `log`."""
    if mechanism != "log":
        return []
    found = [f"{words}: {number(epsilon * distance, 2)}" for words, distance in cost_of_changes(alpha)]
    return [f"What that is for one line (the loss by its noise; odds change by its exponential): {'; '.join(found)}."]


GENERAL = (
    "ε is the privacy budget. Think of someone who knows everything about a network but one corridor, and wonders "
    "which of two neighbouring values it has. Whatever they read from a release, their odds between the two change by "
    "a factor of exp(ε) at most: 2.7 for ε = 1. A smaller ε means more noise and better protection.",
    "α says which values count as neighbours. For the mechanism log it is relative: the changes of ln|z|, ln|x/r| and "
    "ln|bc/x| of one corridor, added up. With α = 0.1 a line ten per cent longer is one step away, one whose reactance "
    "alone is ten per cent larger three. For additive and paper it is a conductance in per unit. Values k times as far "
    "apart are protected k times less. Doubling α doubles the noise.",
    "Protected are the parameters of lines and transformers: resistance, reactance and, with log, charging. Every "
    "release of the same network adds to what is spent.",
    "Not protected are the topology, tap ratios, voltage limits; nor loads, generators and their costs, and ratings, "
    "but in the study of joint releases, which says what it protects. The paper takes the dispatch cost to be public, "
    "and so do its studies here: what they show holds given it. With additive and paper the ratio of susceptance to "
    "conductance and the charging are public too, and paper loses ε·(2 + max|b/g|)/3 rather than ε.",
)
"""The statement for all mechanisms and settings."""
