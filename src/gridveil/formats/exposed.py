"""Parts of branches and loads that a case has as shunts of buses. Shunts are public, whatever a release protects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gridveil.formats.words import counted


class Exposed(NamedTuple):
    """The group whose protection does not reach these parts, and the sentence that says so."""

    group: str
    sentence: str


class Kind(NamedTuple):
    """Parts of a kind: of which group, what they are of how many elements, and how they can be protected instead."""

    group: str
    part: str
    one: str
    many: str
    instead: str

    def of(self, count: int) -> Exposed:
        """The sentence for so many."""
        said = f"{self.part} {counted(count, self.one, self.many)} {PUBLIC}"
        return Exposed(self.group, f"{said} (to protect them, {self.instead})")


PUBLIC = "stand as shunts of buses, which are published as they are"
BRANCHES = Kind(
    "lines", "conductance, unequal charging or magnetising of", "branch", "branches",
    "give them as equal charging of both ends of the branch, or leave them out",
)  # fmt: skip
OPEN = Kind(
    "lines", "charging and losses of", "branch that is open at one end", "branches that are open at one end",
    "take these branches out of service",
)  # fmt: skip
LOADS = Kind("loads", "constant admittances of", "load", "loads", "give them as constant power")
WARDS = Kind("loads", "constant impedances of", "ward", "wards", "give them as constant power")


def exposed(counts: Iterable[tuple[Kind, int]]) -> tuple[Exposed, ...]:
    """A sentence for every kind that there is."""
    return tuple(kind.of(count) for kind, count in counts if count)
