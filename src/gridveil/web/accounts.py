"""Accounts by names of elements, before and after a release: those with least left."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from gridveil.grid import Structure
from gridveil.privacy.ledger import Ledger
from gridveil.publish.elements import by_element
from gridveil.publish.preview import Preview
from gridveil.wall.protection import GROUP_WORDS, Group

SHOWN = 12


@dataclass(frozen=True)
class Row:
    """One account: an element and a group of its numbers."""

    name: str
    group: str
    before: float
    after: float
    limit: float | None

    @property
    def left(self) -> float | None:
        return None if self.limit is None else self.limit - self.after


def nearest(structure: Structure, seen: Preview, ledger: Ledger | None) -> list[Row]:
    """The accounts nearest to their limit after the release; a ledger keeps elements under keyed names."""
    names = list(dict.fromkeys(one for some in by_element(structure).values() for one in some))
    keys = names if ledger is None else ledger.assets("", names).keys
    named = dict(zip(keys, names, strict=True))
    before = dict(zip(zip(seen.before.keys, seen.before.groups, strict=True), seen.before.spent.tolist(), strict=True))
    after, rows = seen.after, list[Row]()
    accounts = zip(after.keys, after.groups, after.spent.tolist(), after.limit.tolist(), strict=True)
    for key, group, spent, limit in accounts:
        words = GROUP_WORDS[Group(group)] if group in tuple(Group) else "all of it"
        most = limit if isfinite(limit) else None
        rows.append(Row(_said(named[key]), words, before.get((key, group), 0.0), spent, most))
    rows.sort(key=lambda one: (one.left if one.left is not None else float("inf"), -one.after))
    return rows[:SHOWN]


def _said(name: str) -> str:
    kind, *buses = name.split()
    return f"{kind} {'–'.join(buses)}" if buses else name
