"""The table of attackers: what each of them knows, how he is called in figures, and how he chooses the lines he cuts.

The damage is always that of the real network (`attack.py`); what they know is in `knowledge.py`. This file is read by
`gridveil attack --help`: it loads nothing that computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gridveil.arrays import IntArray
    from gridveil.attacks.knowledge import Knowledge


class Attacker(NamedTuple):
    """`cut` gives the k lines he chooses; what several budgets share is worked out once, by his knowledge."""

    name: str
    words: str
    knows: str
    cut: Callable[[Knowledge, int], IntArray]


ATTACKERS = {
    one.name: one
    for one in (
        Attacker(
            "random", "random lines", "how many lines there are; cuts any k",
            lambda known, k: known.any_lines(k),
        ),
        Attacker(
            "real", "flows of the real network", "the true network; cuts the k largest active flows of its AC-OPF",
            lambda known, k: known.target.by_flow[:k],
        ),
        Attacker(
            "released", "flows of the release", "the released network; cuts the k largest active flows of its AC-OPF",
            lambda known, k: known.by_release[:k],
        ),
        Attacker(
            "public", "flows without line data",
            "the same but for line data: takes every line at the mean of its voltage level",
            lambda known, k: known.by_levels[:k],
        ),
        Attacker(
            "topology", "flows of a map", "a map and the total demand alone: the floor that no release can go below",
            lambda known, k: known.target.by_topology[:k],
        ),
        Attacker(
            "interdiction", "search on the release",
            "the released network if there is one, else the true one; searches for the k lines that hurt most",
            lambda known, k: known.worst(k),
        ),
    )
}  # fmt: skip
