"""What of a joint release's manifest no release has: groups, α and totals that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose, log

import numpy as np

from gridveil.grid.profile import Profile
from gridveil.publish.manifest import (
    Manifest,
    Part,
    WithinRecord,
    groups_stated,
    protection_of,
    shape_public,
    totals_part,
)
from gridveil.wall.facts import LOWEST, Fact, FactKind, Source, declared, private_total
from gridveil.wall.mechanisms import JOINT
from gridveil.wall.protection import LARGEST_ALPHA, Group, Protection, Ratings

ONE_SCALE = 1e-5
"""To which loads that one scale moves have one ratio, after the rounding of a file."""


def foreign_protection(record: Manifest, protection: Protection) -> bool:
    """Groups, α and ways of taking them that contradict each other."""
    alphas = list(protection.alpha.values())
    unfit = protection.only_lines or record.privacy.alpha != min(alphas) or max(alphas) > LARGEST_ALPHA
    unfit |= protection.classes and Group.COSTS not in protection
    both = Group.LINES in protection and Group.RATINGS in protection
    unfit |= protection.ratings is Ratings.WITH_IMPEDANCE and not both
    unfit |= shape_public(record) and (record.horizon is None or Group.LOADS not in protection)
    unfit |= groups_stated(record) != list(protection.groups)
    declared = any(one.kind.total and one.source is Source.DECLARED for one in record.public_inputs)
    return bool(unfit or (declared and not record.attended))


def foreign_reaches(within: Sequence[WithinRecord], name: str, protection: Protection | None) -> bool:
    """Up to which changes of groups no cumulative loss is counted: of what this release does not protect, in another
    order, of one α that needs no list, or less than its own."""
    groups = Protection({Group.LINES: 0.0}).groups if protection is None else protection.groups
    for one in within:
        found = one.by_group
        if not found:
            unfit = one.groups == {}
        else:
            unfit = one.mechanism != JOINT or [group for group in groups if group in found] != list(found)
            unfit |= len(set(found.values())) == 1 or one.alpha != min(found.values())
            if name == JOINT and protection is not None:
                unfit |= any(found.get(group, 0.0) < alpha for group, alpha in protection.alpha.items())
        if unfit:
            return True
    return False


def counted_at(part: Part, within: WithinRecord | None, protection: Protection | None) -> float:
    """How often the loss of a release's own part is in the cumulative one: up to so many times its own change."""
    if within is None or within.unit != part.unit:
        return 0.0
    if within.by_group and protection is not None:
        return max(within.by_group.get(group, 0.0) / alpha for group, alpha in protection.alpha.items())
    return within.alpha / part.reach


def moves_apart(profile: Profile) -> bool:
    """Are there loads that do not move as all others do, from step to step?"""
    for values in (profile.pd, profile.qd):
        there = values[:, values[0] != 0]
        ratio = there / there[0] if there.size else there
        if not np.allclose(ratio, ratio[:, :1] if ratio.size else ratio, rtol=ONE_SCALE, atol=0.0):
            return True
    return False


def foreign_totals(record: Manifest, used: Sequence[int]) -> list[str]:
    """Totals that are not those of what is protected, or of several sources; merit-order costs of other steps."""
    protection, asked = protection_of(record), totals_part(record.privacy.parts)
    found = [one for one in record.public_inputs if one.kind.total and one.step is None]
    merits = [one for one in facts_of(record, FactKind.MERIT) if one.step is not None]
    if protection is None:
        return ["totals of what is not protected"] if found or merits or asked else []
    pairs = ((Group.LOADS, FactKind.DEMAND), (Group.LIMITS, FactKind.CAPACITY), (Group.COSTS, FactKind.MERIT))
    wanted = [kind for group, kind in pairs if group in protection]
    sources = {one.source for one in found}
    if [one.kind for one in found] != wanted or [one.step for one in merits] != list(used) or len(sources) > 1:
        return ["totals that are not those of what is protected"]
    if (asked is not None) is not (sources == {Source.PRIVATE}):
        return ["totals that were not asked for, or a part without them"]
    if any(one.value <= 0 for one in (*found, *merits)):
        return ["totals that are not positive"]
    return []


def possible_total(fact: Fact, record: Manifest) -> bool:
    """Could a release state this total so?"""
    bare = fact == Fact(fact.kind, fact.step, fact.value, fact.source)
    if fact.source is Source.DECLARED:
        return fact.step is None and fact == declared(fact.kind, None, fact.value)
    asked = totals_part(record.privacy.parts)
    if fact.source is not Source.PRIVATE:
        return bare and (fact.step is None or fact.source is Source.DERIVED)
    if asked is None or fact.step is not None:
        return False
    wanted = private_total(fact.kind, log(fact.value), asked.epsilon, asked.reach)
    ends = close((fact.value, fact.low, fact.high), (wanted.value, wanted.low, wanted.high))
    return ends and (fact.digits, fact.epsilon, fact.sensitivity, fact.scale) == (
        None, wanted.epsilon, wanted.sensitivity, wanted.scale
    )  # fmt: skip


def lowest_surcharge(record: Manifest) -> float:
    """The least surcharge that counts."""
    return LOWEST if any(one.kind is FactKind.MERIT and one.step is None for one in record.public_inputs) else 0.0


def facts_of(record: Manifest, kind: FactKind) -> list[Fact]:
    """The facts of a kind."""
    return [one for one in record.public_inputs if one.kind is kind]


def close(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Are two lists of numbers, some of which are not known, the same?"""
    return all(a is b is None or (a is not None and b is not None and isclose(a, b, rel_tol=1e-9))
               for a, b in zip(one, other, strict=True))  # fmt: skip
