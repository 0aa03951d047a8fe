"""What a manifest says in words: what is given, what a loss means, what stays unprotected.

Every sentence is a function of the typed record, so that a manifest with other words is found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from gridveil.grid import PublicGrid
from gridveil.publish.manifest import Parts
from gridveil.wall.facts import KIND_WORDS, Fact, FactKind, Source
from gridveil.wall.mechanisms import COST, UNITS, MechanismWords, mechanism_words

RESEARCH = (
    "RESEARCH MODE: the noise came from a seeded generator. This release is NOT differentially private and must not be "
    "published as if it were."
)


def given(facts: Sequence[Fact]) -> list[str]:
    """The facts that ε is conditional on: it holds among networks that share them, and says nothing of others."""
    found: dict[tuple[FactKind, Source], list[Fact]] = {}
    for one in facts:
        if one.source.conditional:
            found.setdefault((one.kind, one.source), []).append(one)
    words = []
    for (kind, source), same in found.items():
        many = "" if len(same) == 1 else f" of {len(same)} steps"
        how = f"declared to {same[0].digits} digits, without noise" if source is Source.DECLARED else "published before"
        words.append(f"{KIND_WORDS[kind]}{many}, {how}")
    return words


def statement(parts: Parts, facts: Sequence[Fact]) -> str:
    """The inequality that holds for every pair of networks, in words and numbers."""
    lines, cost = parts.lines, parts.cost
    left = f"{lines.loss or lines.epsilon:.6g}*d/{lines.reach:g}"
    words = "d is the distance of the corridor in which they differ (mechanism.adjacency)"
    covers = f"d <= {lines.reach:g}"
    total = lines.loss or lines.epsilon
    if cost is not None and cost.asked:
        left += f" + {cost.epsilon:.6g}*D/{cost.reach:g}"
        words += " and D the difference of their means of ln(optimal cost/copper-plate cost) over the used steps"
        covers += f" and D <= {cost.reach:g}"
        total += cost.epsilon
    elif cost is not None:
        words += "; the dispatch cost was not asked for, because the noisy lines alone tell it well enough"
    text = (
        f"For every pair of networks with the same public data, ln(odds) changes by at most {left}, where {words}. "
        f"So a change with {covers} is protected by a loss of {total:.6g}; larger ones in proportion."
    )
    if conditions := given(facts):
        text += f" This holds only among networks that share: {'; '.join(conditions)}."
    return text


def stays_public(
    words: MechanismWords,
    grid: PublicGrid,
    source: Source,
    parts: Parts | None = None,
    earlier: Collection[str] = (),
    *,
    attended: bool = True,
) -> list[str]:
    """What a release does not protect, in words, and what `earlier` ones of the network did not."""
    stated = [
        "the topology: buses, lines and what they join",
        "loads, generators, their limits and costs",
        "bus shunts, voltage limits, base voltages",
        "ratings, angle limits, tap ratios and phase shifts; ratings that were made from impedances give them away",
        "which lines are lossless, and the signs of r, x and charging",
    ]
    if attended and source is not Source.DERIVED:
        stated.append("that the original network has an optimal power flow, at every used step if there is a profile")
    cost = parts.cost if parts is not None else None
    if cost is not None and cost.asked:
        stated.append(
            f"bottlenecks: a corridor whose change moves the dispatch cost by more than {100 * cost.reach:g} % is "
            f"protected less, by a further loss of {cost.epsilon:.6g} for every {100 * cost.reach:g} %"
        )
    stated += _left_open(words, grid)
    for name in sorted(set(earlier) - {words.name, COST}):
        found = [one for one in _left_open(mechanism_words(name), grid) if one not in stated]
        stated += [f"{one}, by an earlier release of this network" for one in found]
    return stated


def _left_open(words: MechanismWords, grid: PublicGrid) -> list[str]:
    """Line parameters that a mechanism leaves as they are."""
    stated = list(words.left_open)
    if count := int(np.count_nonzero(words.unprotected(grid))):
        stated.append(f"all parameters of {count} lines with negative resistance")
    return stated


def distances(within: Sequence[tuple[float, str]]) -> str:
    """In words, up to which changes a cumulative loss holds: (reach, unit) of each."""
    return " and ".join(dict.fromkeys(f"{alpha:g} {UNITS[unit]}" for alpha, unit in within))
