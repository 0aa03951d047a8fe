"""What a release protects: groups of a network's numbers, each with its own α. What is in no group stays public.

Every element (a corridor, the load of a bus, all units of a bus) has coordinates: logarithms of its numbers, or of
their ratios to one of them. QUANTITIES says which; `wall/numbers.py` makes a table of a network's own from it, and
mechanism, repair, certificate, leak check and manifest follow from that table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from gridveil.errors import PrivacyError


class Group(StrEnum):
    """Numbers that are protected together."""

    LINES = "lines"
    RATINGS = "ratings"
    LOADS = "loads"
    LIMITS = "limits"
    COSTS = "costs"


GROUP_WORDS = {
    Group.LINES: "impedances and charging of lines",
    Group.RATINGS: "ratings of lines",
    Group.LOADS: "loads",
    Group.LIMITS: "limits of units",
    Group.COSTS: "generation costs",
}


LARGEST_ALPHA = 10.0
"""Relative: a larger change is no protection but noise."""


class Element(StrEnum):
    """Whose numbers they are: what is one secret."""

    CORRIDOR = "corridor"
    LOAD = "load"
    PLANT = "plant"
    COST_CLASS = "cost class"
    """Units of equal curves, wherever they are; in a ledger every plant among them has it in its own account."""


class Quantity(NamedTuple):
    """A number of an element; `words` say how it is protected, `people` what it is called, `unit` how a file has it."""

    name: str
    group: Group
    element: Element
    words: str
    people: str
    unit: str


QUANTITIES = (
    Quantity("z", Group.LINES, Element.CORRIDOR, "ln|z|", "impedances", "p.u."),
    Quantity("xr", Group.LINES, Element.CORRIDOR, "ln|x/r|", "ratios of reactance to resistance", ""),
    Quantity("bcx", Group.LINES, Element.CORRIDOR, "ln|bc/x|", "ratios of charging to reactance", ""),
    Quantity("rating", Group.RATINGS, Element.CORRIDOR, "ln(rating)", "ratings", "MVA"),
    Quantity("pd", Group.LOADS, Element.LOAD, "ln|p|", "active loads", "MW"),
    Quantity("qd", Group.LOADS, Element.LOAD, "ln|q/p|", "reactive loads", "Mvar"),
    Quantity("pmax", Group.LIMITS, Element.PLANT, "ln(pmax)", "largest outputs", "MW"),
    Quantity("pmin", Group.LIMITS, Element.PLANT, "ln|pmin/pmax|", "least outputs", "MW"),
    Quantity("qmax", Group.LIMITS, Element.PLANT, "ln|qmax/pmax|", "largest reactive outputs", "Mvar"),
    Quantity("qmin", Group.LIMITS, Element.PLANT, "ln|qmin/pmax|", "least reactive outputs", "Mvar"),
    Quantity("cost", Group.COSTS, Element.PLANT, "ln of a cost curve's first coefficient, ln of the others over it",
             "cost coefficients", "$/MWh"),
)  # fmt: skip
"""In the order in which they are drawn; the first that an element has is the one that the others are ratios to."""
PLACE = {quantity.name: index for index, quantity in enumerate(QUANTITIES)}


def groups_of(element: Element) -> tuple[Group, ...]:
    """The groups whose numbers an element has."""
    return tuple(dict.fromkeys(one.group for one in QUANTITIES if one.element is element))


def element_words(element: Element) -> str:
    """The same for people."""
    return ", ".join(GROUP_WORDS[group] for group in groups_of(element))


class Ratings(StrEnum):
    """In which coordinate ratings are protected. Which is right depends on how ratings were made, which must be known
    without looking at them: a rating made from its impedance tells that unless it moves with it."""

    OWN = "own"
    WITH_IMPEDANCE = "with-impedance"


@dataclass(frozen=True)
class Protection:
    """α of every protected group, and how ratings and costs are taken."""

    alpha: Mapping[Group, float]
    ratings: Ratings = Ratings.OWN
    classes: bool = False

    def __post_init__(self) -> None:
        if not self.alpha:
            raise PrivacyError(f"nothing is protected; choose from {', '.join(Group)}")
        object.__setattr__(self, "alpha", {group: self.alpha[group] for group in Group if group in self.alpha})

    def __contains__(self, group: object) -> bool:
        return group in self.alpha

    @property
    def groups(self) -> tuple[Group, ...]:
        """The protected groups, in their order."""
        return tuple(self.alpha)

    @property
    def elements(self) -> tuple[Element, ...]:
        """Whose numbers are protected, as a ledger keeps accounts of them."""
        return tuple(dict.fromkeys(one.element for one in QUANTITIES if one.group in self.alpha))

    @property
    def words(self) -> str:
        """The groups with their α, for people."""
        return ", ".join(f"{GROUP_WORDS[group]} ({100 * alpha:g} %)" for group, alpha in self.alpha.items())

    @property
    def only_lines(self) -> bool:
        """Is it what `log` protects?"""
        return self.groups == (Group.LINES,)


EVERYTHING = Protection(dict.fromkeys(Group, 1.0))
"""All groups: for who asks which elements there are."""


def group(name: str) -> Group:
    """A group by its name."""
    try:
        return Group(name.strip().lower())
    except ValueError:
        raise PrivacyError(f"there is no group '{name}' to protect; choose from {', '.join(Group)}, or all") from None
