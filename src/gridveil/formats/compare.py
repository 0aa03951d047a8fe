"""Two networks by identity: which rows one has and the other has not, and which numbers differ."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.formats.imported import Imported

EQUAL = 1e-12
"""Relative: a number that went through a format is itself, or was scaled once."""
_MOST = 5
_STATE = {"bus": (c.VM, c.VA), "gen": (c.PG, c.QG), "branch": ()}
_WIDTHS = {"bus": 13, "gen": 10, "branch": 13}


def differences(one: Imported, other: Imported, tolerance: float = EQUAL, *, state: bool = True) -> tuple[str, ...]:
    """What differs, a sentence each, or nothing; without `state` voltages and dispatch do not count. Values are not
    shown."""
    found: list[str] = []
    if not np.isclose(one.case.base_mva, other.case.base_mva, rtol=tolerance, atol=0):
        found.append("the system base differs")
    for table in ("bus", "gen", "branch"):
        mine, theirs = _keys(one, table), _keys(other, table)
        found += [f"{table} {_name(key)} is missing" for key in mine if key not in theirs][:_MOST]
        found += [f"{table} {_name(key)} is new" for key in theirs if key not in mine][:_MOST]
        common = [key for key in mine if key in theirs]
        if len(mine) != len(getattr(one.case, table)) or len(theirs) != len(getattr(other.case, table)):
            found.append(f"rows of {table} have one key")
        if not common:
            continue
        rows = _table(one.case, table)[[mine[key] for key in common]]
        again = _table(other.case, table)[[theirs[key] for key in common]]
        same = _equal(rows, again, tolerance)
        if not state:
            same[:, list(_STATE[table])] = True
        for at, column in np.argwhere(~same)[:_MOST].tolist():
            found.append(f"{c.column_name(table, column)} of {table} {_name(common[at])} differs")
    return tuple(found) or _cost_differences(one, other, tolerance)


def _cost_differences(one: Imported, other: Imported, tolerance: float) -> tuple[str, ...]:
    """Costs by unit, of cases that have the same units."""
    if (len(one.case.gencost) == 0) != (len(other.case.gencost) == 0):
        return ("one has generator costs and the other has none",)
    if len(one.case.gencost) == 0:
        return ()
    mine, theirs = _keys(one, "gen"), _keys(other, "gen")
    found = []
    for key, row in mine.items():
        a, b = _curve(one.case.gencost[row]), _curve(other.case.gencost[theirs[key]])
        if a.shape != b.shape or not np.all(_equal(a, b, tolerance)):
            found.append(f"the cost of gen {_name(key)} differs")
    return tuple(found[:_MOST])


def _curve(row: FloatArray) -> FloatArray:
    """Model and terms of a cost, without leading zeros of a polynomial."""
    count = int(row[c.COST_COUNT])
    if row[c.COST_MODEL] == c.PIECEWISE:
        return np.array([c.PIECEWISE, *row[c.COST_FIRST : c.COST_FIRST + 2 * count]])
    terms = np.trim_zeros(row[c.COST_FIRST : c.COST_FIRST + count], "f")
    return np.array([c.POLYNOMIAL, *terms])


def _keys(found: Imported, table: str) -> dict[Hashable, int]:
    case, identity = found.case, found.identity
    if table == "bus":
        return {int(number): row for row, number in enumerate(case.bus[:, c.BUS_NUMBER].tolist())}
    if table == "gen":
        units = zip(case.gen[:, :1].ravel().tolist(), identity.machine, strict=True)
        return {(int(bus), name): row for row, (bus, name) in enumerate(units)}
    ends = zip(case.branch[:, :2].tolist() if len(case.branch) else [], identity.circuit, strict=True)
    return {(int(a), int(b), name): row for row, ((a, b), name) in enumerate(ends)}


def _name(key: Hashable) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _table(case: Case, table: str) -> FloatArray:
    values: FloatArray = getattr(case, table)
    return values[:, : _WIDTHS[table]]


def _equal(one: FloatArray, other: FloatArray, tolerance: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.asarray(np.isclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))
