"""Accounts by names of elements, before and after a release: those with least left."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from gridveil.grid import Structure
from gridveil.privacy.ledger import Ledger
from gridveil.publish.elements import assets
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
    names, keys = (assets(one, "", structure).keys for one in (None, ledger))  # both in the order of elements
    before, after = seen.before, seen.after  # of the same accounts, in one order
    rows = list[Row]()
    for i in np.lexsort((-after.spent, after.limit - after.spent))[:SHOWN].tolist():
        group, most = after.groups[i], float(after.limit[i])
        words = GROUP_WORDS[Group(group)] if group in tuple(Group) else "all of it"
        name = _said(names[keys.index(after.keys[i])])
        rows.append(Row(name, words, float(before.spent[i]), float(after.spent[i]), most if isfinite(most) else None))
    return rows


def _said(name: str) -> str:
    kind, *buses = name.split()
    return f"{kind} {'–'.join(buses)}" if buses else name
