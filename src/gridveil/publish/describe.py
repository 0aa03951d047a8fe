"""What a manifest says in words: what is given, what a loss means, what stays unprotected.

Every sentence is a function of the typed record, so that a manifest with other words is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from re import sub

import numpy as np

from gridveil.grid import Grid, Structure, structure_of
from gridveil.publish.manifest import Parts, totals_part
from gridveil.wall.facts import DIGITS, KIND_WORDS, TOTALS, Fact, FactKind, Source
from gridveil.wall.mechanisms import COST, RELATIVE, UNITS, MechanismWords, mechanism_words
from gridveil.wall.mechanisms import TOTALS as TOTALS_NAME
from gridveil.wall.protection import GROUP_WORDS, Group, Protection, Ratings
from gridveil.wall.shares import DECIMALS, PUBLIC_DIGITS, takes_shares

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
        words.append(_condition(kind, source, "" if len(same) == 1 else f" of {len(same)} steps"))
    return words


def _condition(kind: FactKind, source: Source, many: str) -> str:
    how = f"declared to {DIGITS} digits, without noise" if source is Source.DECLARED else "published before"
    return f"{KIND_WORDS[kind]}{many}, {how}"


NEEDS_DISPATCH = "an optimal power flow at every used step"
UNSAID = "optimal dispatch cost, declared or published by an earlier version"
LOST = "whatever releases were conditional on whose entries the ledger has lost"
"""What the ledger says (`privacy/`), which what strangers run must not load."""
SEVERAL = " of several steps"


def bared(group: Group) -> str:
    """That an earlier release published what is protected now."""
    return f"{GROUP_WORDS[group]}, published as they are by an earlier release"


BY_CLASS = "which units, of whatever buses, have equal cost curves, published as they are by an earlier release"
"""That one drew a class of units as one element, and what is protected now are plants."""
BY_PLANT = "cost curves that several plants have, which an earlier release drew for each of them"
"""That one drew plants apart, and what is protected now are classes: each plant tells of its class."""
EARLIER_CONDITIONS = (
    *(_condition(kind, source, many) for kind in (FactKind.COST, FactKind.LOSSES, FactKind.UNUSED_COST)
      for source in (Source.PUBLISHED, Source.DECLARED) for many in ("", SEVERAL)),
    *(_condition(kind, source, "") for kind in TOTALS for source in (Source.PUBLISHED, Source.DECLARED)),
    *(bared(group) for group in Group),
    BY_CLASS,
    BY_PLANT,
    NEEDS_DISPATCH,
    UNSAID,
    LOST,
)  # fmt: skip
"""All that an earlier release can have been conditional on: a list, so that a manifest has no room for other words."""


def known_conditions(words: Iterable[str]) -> list[str]:
    """Conditions as the ledger has them, each once and in the order of the list; others count as unsaid."""
    found = {sub(r" of [0-9]+ steps,", f"{SEVERAL},", one) for one in words}
    if found - set(EARLIER_CONDITIONS):
        found.add(UNSAID)
    return [one for one in EARLIER_CONDITIONS if one in found]


def noise_words(*, private: bool, opendp: str) -> str:
    """Which sampler draws, by the version of its library."""
    if private:
        return f"OpenDP {opendp} make_laplace, randomness of the operating system"
    return "RESEARCH MODE: seeded generator (NumPy PCG64), offers no privacy"


UNASKED = (
    "the dispatch cost was not asked for: by how the noisy network's cost answers to each of its lines, it is known as "
    "well as a noisy answer would tell it, unless the noise has hidden a bottleneck"
)


def statement(
    parts: Parts,
    facts: Sequence[Fact],
    before: Sequence[str] = (),
    *,
    private: bool = True,
    dispatch: bool = True,
    joint: bool = False,
) -> str:
    """The inequality that holds for every pair of networks, in words and numbers.

    `before` are conditions of earlier releases, `dispatch` that the original has a dispatch is one of this release.
    """
    if not private:
        return "Nothing is claimed: the noise can be taken off again by whoever knows the seed."
    lines, cost = parts.lines, parts.cost
    left = f"{lines.loss or lines.epsilon:.6g}*d/{lines.reach:g}"
    words = "d is the distance of their lines, summed over the corridors in which they differ (mechanism.adjacency)"
    covers = f"d <= {lines.reach:g}"
    total = lines.loss or lines.epsilon
    if joint:  # its distance is in units of α
        left, covers = f"{lines.epsilon:.6g}*d", "d <= 1"
        words = "d is their distance, summed over the elements in which they differ (mechanism.adjacency)"
    if (totals := totals_part(parts)) is not None:
        left += f" + {totals.epsilon:.6g}*T/{totals.reach:g}"
        words += ", T the change of the logarithms of their totals, added up"
        covers += f" and T <= {totals.reach:g}"
        total += totals.epsilon
    if cost is not None and cost.asked:
        left += f" + {cost.epsilon:.6g}*D/{cost.reach:g}"
        words += " and D the difference of their means of ln(optimal cost/copper-plate cost) over the used steps"
        covers += f" and D <= {cost.reach:g}"
        total += cost.epsilon
    elif cost is not None:
        words += f"; {UNASKED}"
    pairs = "networks with the same public data" + (", both with a dispatch at every used step" if dispatch else "")
    text = (
        f"For every pair of {pairs}, ln(odds) changes by at most {left}, where {words}. "
        f"So a change with {covers} is protected by a loss of {total:.6g}; larger ones in proportion."
    )
    if conditions := given(facts):
        text += f" This holds only among networks that share: {'; '.join(conditions)}."
    if before:
        text += f" For all releases together it holds only among networks that share also: {'; '.join(before)}."
    return text


EARLIER = ", by an earlier release of this network"
DISPATCH = "that the original network has an optimal power flow, at every used step if there is a profile"
BOTTLENECKS = "bottlenecks: a corridor whose change moves the dispatch cost by more than an answer about it covers"


def needs_dispatch(source: Source, *, attended: bool) -> bool:
    """Is there a bundle only if the original has a dispatch?"""
    return attended and source is not Source.DERIVED


def stays_public(
    words: MechanismWords,
    grid: Grid | Structure,
    source: Source,
    parts: Parts | None = None,
    earlier: Collection[str] = (),
    *,
    attended: bool = True,
    protection: Protection | None = None,
    shape_public: bool = False,
) -> list[str]:
    """What a release does not protect, in words, and what `earlier` ones of the network did not."""
    stated = [
        "the topology: buses, lines and what they join",
        "loads, generators, their limits and costs",
        "bus shunts, voltage limits, base voltages",
        "ratings, angle limits, tap ratios and phase shifts; ratings that were made from impedances give them away",
        "which lines are lossless, and the signs of r, x and charging",
    ]
    if protection is not None:
        stated = _left_public(protection, shape_public=shape_public) + _bends(protection, grid)
    if needs_dispatch(source, attended=attended):
        stated.append(DISPATCH)
    cost = parts.cost if parts is not None else None
    if parts is not None and (totals := totals_part(parts)) is not None:
        stated.append(
            f"large shares: an element whose change moves the logarithms of totals by more than "
            f"{100 * totals.reach:g} % together is protected less, by a further loss of {totals.epsilon:.6g} for every "
            f"{100 * totals.reach:g} %"
        )
    if cost is not None and cost.asked:
        whose = "a corridor" if protection is None else "an element"
        stated.append(
            f"bottlenecks: {whose} whose change moves the dispatch cost by more than {100 * cost.reach:g} % is "
            f"protected less, by a further loss of {cost.epsilon:.6g} for every {100 * cost.reach:g} %"
        )
    elif COST in earlier:
        stated.append(BOTTLENECKS + EARLIER)
    stated += [] if protection is not None else _left_open(words, grid)
    for name in sorted(set(earlier) - {words.name, COST, TOTALS_NAME}):
        found = [one for one in _left_open(mechanism_words(name), grid) if one not in stated]
        stated += [one + EARLIER for one in found]
    return stated


def _left_public(protection: Protection, *, shape_public: bool) -> list[str]:
    """What a joint release leaves as it is: all groups that are not protected, and structure."""
    stated = [
        "the topology: buses, lines and what they join, which buses have loads and units, and how many units",
        "bus shunts, voltage limits, base voltages, angle limits, tap ratios and phase shifts",
        "which numbers are zero, their signs, and which numbers of one element are equal",
    ]
    stated += [f"{GROUP_WORDS[one]}, as they are" for one in Group if one not in protection]
    if Group.LINES in protection and (Group.RATINGS not in protection or protection.ratings is Ratings.OWN):
        stated.append("ratings that were made from impedances give them away, as far as they are known")
    if Group.COSTS in protection and not protection.classes:
        stated.append("a cost curve that many units share, which their noisy curves tell together")
    if Group.COSTS in protection and protection.classes:
        stated.append("which units, of whatever buses, have equal cost curves")
    if shape_public:
        stated.append("the shape of the profile, bus by bus: how each load moves over the steps")
    return stated


def _bends(protection: Protection, grid: Grid | Structure) -> list[str]:
    """What is public of piecewise costs where limits or costs are protected."""
    known = structure_of(grid) if isinstance(grid, Grid) else grid
    if not takes_shares(protection) or not np.any(known.generators.piecewise):
        return []
    stated = [f"breakpoints of piecewise costs, as shares of pmax to {DECIMALS} decimals, and which slopes are equal"]
    if Group.COSTS not in protection:
        stated.append(
            f"slopes of piecewise costs and what they come to at zero, to {PUBLIC_DIGITS} digits: of a curve that "
            "begins at a protected limit with a known cost they tell that limit"
        )
    return stated


def unprotected_lines(words: MechanismWords, grid: Grid, protection: Protection | None) -> list[int]:
    """Numbers of lines whose series parameters are released as they are."""
    if protection is not None and Group.LINES not in protection:
        return list(range(1, grid.n_line + 1))
    return [int(line) + 1 for line in np.flatnonzero(words.unprotected(grid))]


def file_notes(*, private: bool, step: int | None, protection: Protection | None = None) -> tuple[str, ...]:
    """The comments at the head of a released file."""
    what = "line parameters" if protection is None else ", ".join(GROUP_WORDS[one] for one in protection.groups)
    notes = [f"Released by GridVeil: {what} are not those of the original network; see manifest.json."]
    if step is not None:
        notes.append(f"Loads and operating point are those of step {step} of profile.csv.")
    return tuple(notes) if private else (*notes, RESEARCH)


def scrubbed(*, names_kept: bool, ids_kept: bool = False) -> list[str]:
    """What a release has taken out."""
    words = [word for word, kept in (("bus names", names_kept), ("ids of branches and units", ids_kept)) if kept]
    kept = f" ({' and '.join(words)} kept on request)" if words else ""
    return [
        f"comments, names and extra tables of the input{kept}",
        "solved voltages, dispatch and flows (those in the file belong to the released network)",
        "elements out of service, areas, zones, ramp rates, ratings B and C",
    ]


def within(low: float | None, high: float | None) -> str:
    """An interval of costs in words."""
    if low is None or high is None:
        return f"at least {low:,.0f}" if low is not None else f"at most {high:,.0f}" if high is not None else "unknown"
    return f"{low:,.0f} to {high:,.0f}"


def _left_open(words: MechanismWords, grid: Grid | Structure) -> list[str]:
    """Line parameters that a mechanism leaves as they are."""
    stated = list(words.left_open)
    if count := int(np.count_nonzero(words.unprotected(grid))):
        stated.append(f"all parameters of {count} lines with negative resistance")
    return stated


def distances(within: Iterable[tuple[float, str, Mapping[Group, float]]], *, joint: bool = False) -> str:
    """In words, up to which changes a cumulative loss holds: (reach, unit, that of each group if they differ), with a
    joint release among them."""
    units = UNITS | {RELATIVE: "relative, of all coordinates of an element together"} if joint else UNITS
    return " and ".join(dict.fromkeys(_reach(alpha, units[unit], groups) for alpha, unit, groups in within))


def _reach(alpha: float, unit: str, groups: Mapping[Group, float]) -> str:
    """One of them. Parts of several groups' changes are added up, as in the distance of a joint release."""
    if not groups:
        return f"{alpha:g} {unit}"
    found: dict[float, list[str]] = {}
    for group, own in groups.items():
        found.setdefault(own, []).append(group)
    each = ", ".join(f"{own:g} of {', '.join(some)}" for own, some in found.items())
    return f"{each} ({unit}, half of one and half of another adding up to a whole)"
