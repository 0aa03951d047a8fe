"""Tables of any format held against what a network needs, with faults named by record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.check import check_case
from gridveil.casefile.read import LARGEST_BASE
from gridveil.errors import CaseFileError
from gridveil.formats.imported import Identity

WORDS = {"bus": "bus", "gen": "generator", "branch": "branch", "gencost": "cost of generator"}


@dataclass(frozen=True)
class Records:
    """Places in a file of records. `lines` has the line of each row of a table, where a format has lines; else a record
    is known by what `_record` makes of its identity: numbers and ids, never a value that may be protected."""

    path: Path
    case: Case
    identity: Identity
    lines: Mapping[str, Callable[[int], int]] = field(default_factory=dict)

    def has(self, table: str) -> bool:
        """As `Where.has`: costs are there or not."""
        return table in ("bus", "gen", "branch") or (table == "gencost" and self.case.gencost.size > 0)

    def fail(self, table: str, row: int | None, problem: str, advice: str) -> NoReturn:
        """As `Where.fail`."""
        problem = problem.replace("mpc.", "the table ")
        if row is None:
            raise CaseFileError(self.path, None, problem, advice)
        if table in self.lines:
            raise CaseFileError(self.path, self.lines[table](row), problem, advice)
        raise CaseFileError(self.path, None, f"{problem} ({self._record(table, row)})", advice)

    def _record(self, table: str, row: int) -> str:
        """The words for a row; numbers of buses are shown only if there is such a bus, for others may be anything."""
        known = set(self.case.bus[:, c.BUS_NUMBER].tolist())
        units = len(self.case.gen)
        place = row % units if table == "gencost" and units else row
        if table == "bus":
            ends, name = self.case.bus[row, :1], ""
        elif table == "branch":
            ends, name = self.case.branch[row, :2], self.identity.circuit[row]
        else:
            ends, name = self.case.gen[place, :1], self.identity.machine[place]
        if not all(number in known for number in ends.tolist()) or not np.all(np.isfinite(ends)):
            return f"{WORDS[table]} {row + 1} of the file"
        words = "-".join(f"{number:.0f}" for number in ends.tolist())
        return f"{WORDS[table]} {words}" + (f", id {name}" if name else "")


def checked(
    path: Path, case: Case, identity: Identity, lines: Mapping[str, Callable[[int], int]] | None = None
) -> Case:
    """The case, if it makes a network and its identity tells all rows apart; else `CaseFileError`."""
    where = Records(path, case, identity, lines or {})
    if not 1 / LARGEST_BASE <= case.base_mva <= LARGEST_BASE:
        raise CaseFileError(path, None, "the system base is not a positive number of MVA", "give it, such as 100")
    check_case(case, where)
    _check_identity(where)
    return case


def _check_identity(where: Records) -> None:
    case, identity = where.case, where.identity
    if len(identity.circuit) != len(case.branch) or len(identity.machine) != len(case.gen):
        raise AssertionError("an identity names every branch and every unit")
    seen = set[tuple[float, float, str]]()
    for row, ((a, b), name) in enumerate(zip(case.branch[:, :2].tolist(), identity.circuit, strict=True)):
        key = (min(a, b), max(a, b), name)
        if key in seen:
            where.fail("branch", row, "two branches between these buses have one id", "give each its own")
        seen.add(key)
    units = set[tuple[float, str]]()
    for row, (bus, name) in enumerate(zip(case.gen[:, :1].ravel().tolist(), identity.machine, strict=True)):
        if (bus, name) in units:
            where.fail("gen", row, "two units of this bus have one id", "give each its own")
        units.add((bus, name))
