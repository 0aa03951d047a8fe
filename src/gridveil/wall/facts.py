"""Facts: what is said of the truth beside the noise, with source and cost of each. Proof: docs/proofs/facts.md.

A fact is published (public before, the operator's figure), private (noised and charged), derived (computed from the
noisy values: it says nothing more of the truth), or declared (computed from the truth and rounded: ε holds only among
networks that share it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import exp, floor, log, log10


class Source(StrEnum):
    """Where a fact comes from."""

    PUBLISHED = "published"
    PRIVATE = "private"
    DERIVED = "derived"
    DECLARED = "declared"

    @property
    def conditional(self) -> bool:
        """Does ε hold only among networks with the same fact?"""
        return self in (Source.PUBLISHED, Source.DECLARED)


class FactKind(StrEnum):
    """What a fact is about."""

    COST = "cost"
    SURCHARGE = "surcharge"
    LOSSES = "losses"
    UNUSED_COST = "unused_cost"
    DEMAND = "demand"
    CAPACITY = "capacity"
    MERIT = "merit_order_cost"

    @property
    def total(self) -> bool:
        """Is it a total of protected numbers, which a release keeps?"""
        return self in TOTALS


KIND_WORDS = {
    FactKind.COST: "optimal dispatch cost",
    FactKind.SURCHARGE: "mean of ln(optimal cost/copper-plate cost) over the used steps",
    FactKind.LOSSES: "active losses (p.u.)",
    FactKind.UNUSED_COST: "optimal dispatch cost, at a step without a promise",
    FactKind.DEMAND: "total active demand (MW)",
    FactKind.CAPACITY: "total capacity of the units (MW)",
    FactKind.MERIT: "merit-order cost, of a dispatch without a network",
}
TOTALS = (FactKind.DEMAND, FactKind.CAPACITY, FactKind.MERIT)
CERTAINTY = 0.95
"""Of the interval that the noise law gives for a private fact."""
DIGITS = 4
"""Significant digits of a declared figure: what a reader of the release may learn of the truth."""
HIGHEST = 0.5
"""A surcharge above this, or a step without an optimum, counts as this much."""
LOWEST_TARGET = 0.005
"""No dispatch is lossless: the least surcharge that a repair aims at."""
FAR, FARTHEST = 3.0, 10.0
"""Scales of its noise that an aim lies off a private answer: at most, and where no network is nearer to it."""
AIM = 0.05
"""Share of β: how near to an estimated cost a repair comes. It has an error of its own, to which all of β would add."""
SHARE = 0.2
"""Of ε, for the dispatch cost, unless the plan says otherwise."""
SENSITIVITY = 0.0025
"""s: the change of the surcharge that ε_cost protects, unless the plan says otherwise."""
TOTALS_SHARE, TOTALS_SENSITIVITY = 0.1, 0.0025
"""Of ε, for totals of protected numbers, and the change of their logarithms, added up, that it protects."""
LOWEST = -0.5
"""A surcharge below this counts as this much, where the merit-order cost it is told from is itself noisy."""


@dataclass(frozen=True)
class Fact:
    """One figure about the original network. The truth lies within `low` and `high`: for certain where the figure is
    rounded, with 95 % where it is noisy; `None` where nothing is known. `epsilon` is what it cost."""

    kind: FactKind
    step: int | None
    value: float
    source: Source
    digits: int | None = None
    epsilon: float | None = None
    sensitivity: float | None = None
    scale: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def slack(self) -> float:
        """How far the truth may lie from a rounded figure, relative to it."""
        if self.source is not Source.DECLARED or self.low is None or self.high is None or self.value == 0:
            return 0.0
        return max(self.high - self.value, self.value - self.low) / abs(self.value)


def declared(kind: FactKind, step: int | None, value: float) -> Fact:
    """A true figure, rounded on purpose."""
    stated = significant(value, DIGITS)
    half = 0.5 * 10.0 ** (floor(log10(abs(stated))) - DIGITS + 1) if stated else 0.0
    return Fact(kind, step, stated, Source.DECLARED, DIGITS, low=stated - half, high=stated + half)


def private_surcharge(drawn: float, epsilon: float, sensitivity: float, lowest: float = 0.0) -> Fact:
    """The noisy surcharge, and where the true one lies by the law of its noise: P(|noise| > t) = exp(−t/scale)."""
    scale = sensitivity / epsilon
    reach = -log(1.0 - CERTAINTY) * scale
    low = min(max(drawn - reach, lowest), HIGHEST - scale)  # never an interval without width
    high = max(min(drawn + reach, HIGHEST), lowest + scale)
    return Fact(FactKind.SURCHARGE, None, drawn, Source.PRIVATE, None, epsilon, sensitivity, scale, low, high)


def private_total(kind: FactKind, drawn: float, epsilon: float, sensitivity: float) -> Fact:
    """A total from its noisy logarithm; `epsilon` is what all totals of a release cost together."""
    scale = sensitivity / epsilon
    reach = -log(1.0 - CERTAINTY) * scale
    ends = exp(drawn - reach), exp(drawn + reach)
    return Fact(kind, None, exp(drawn), Source.PRIVATE, None, epsilon, sensitivity, scale, *ends)


def cost_interval(surcharge: Fact, copper_plate: float, lowest: float = 0.0) -> tuple[float | None, float | None]:
    """Where the true cost of a single step lies, by a private surcharge. Beyond the ends of its clamp nothing is known:
    a network that is fed by its shunts may cost less than the copper plate."""
    low = None if surcharge.low is None or surcharge.low <= lowest else copper_plate * exp(surcharge.low)
    high = None if surcharge.high is None or surcharge.high >= HIGHEST else copper_plate * exp(surcharge.high)
    return low, high


def significant(value: float, digits: int) -> float:
    """`value` rounded to significant digits."""
    if value == 0:
        return 0.0
    return round(value, digits - 1 - floor(log10(abs(value))))


def in_order(facts: Iterable[Fact]) -> list[Fact]:
    """Facts as every manifest states them, by kind and step: an order that can be chosen can say something."""
    kinds = (FactKind.SURCHARGE, FactKind.COST, FactKind.LOSSES, FactKind.UNUSED_COST, *TOTALS)
    return sorted(facts, key=lambda one: (kinds.index(one.kind), one.step or 0))
