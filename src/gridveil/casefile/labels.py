"""Names of buses and ids of branches and units in a case: fields beside its tables, for people and other formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gridveil.arrays import BoolArray
from gridveil.casefile.case import Case, Extra
from gridveil.casefile.service import branches_in_service, buses_in_service, generators_in_service

BUS_NAME, BRANCH_ID, GEN_ID = "bus_name", "branch_id", "gen_id"
NAMES, IDS = (BUS_NAME,), (BRANCH_ID, GEN_ID)
"""Fields that hold them."""


@dataclass(frozen=True)
class Labels:
    """A text for each bus, branch or unit, or None where there are none."""

    bus_name: tuple[str, ...] | None = None
    branch_id: tuple[str, ...] | None = None
    gen_id: tuple[str, ...] | None = None

    def kept(self, *, names: bool, ids: bool) -> Labels:
        """Only those that are asked for, without spaces that nobody sees."""
        wanted = (self.bus_name if names else None, *((self.branch_id, self.gen_id) if ids else (None, None)))
        return Labels(*(None if one is None else tuple(" ".join(text.split()) for text in one) for one in wanted))


def labels(case: Case, *, live: bool = False) -> Labels:
    """The labels of a case, of all its rows or of those in service."""
    return Labels(
        _texts(case, BUS_NAME, len(case.bus), buses_in_service(case) if live else None),
        _texts(case, BRANCH_ID, len(case.branch), branches_in_service(case) if live else None),
        _texts(case, GEN_ID, len(case.gen), generators_in_service(case) if live else None),
    )


def labelled(case: Case, given: Labels) -> Case:
    """A case with these labels and no others."""
    extras: dict[str, Extra] = {name: value for name, value in case.extras.items() if name not in (*NAMES, *IDS)}
    for name in (*NAMES, *IDS):
        texts: Iterable[str] | None = getattr(given, name)
        if texts is not None:
            extras[name] = tuple((text,) for text in texts)
    return replace(case, extras=extras)


def _texts(case: Case, name: str, count: int, keep: BoolArray | None) -> tuple[str, ...] | None:
    cell = case.extras.get(name)
    if not isinstance(cell, tuple) or len(cell) != count or not all(len(row) == 1 for row in cell):
        return None
    rows = range(count) if keep is None else keep.nonzero()[0].tolist()
    return tuple(str(cell[row][0]) for row in rows)
