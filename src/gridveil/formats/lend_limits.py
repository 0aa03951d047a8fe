"""Limits of voltages and angles that a format lacks, and the charging of transformers, from a CSV file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.service import branches_in_service, bus_rows
from gridveil.formats.checked import checked
from gridveil.formats.imported import Imported
from gridveil.formats.sections import Row, read_rows

VOLTAGES = ("bus", "vmin", "vmax")
ANGLES = ("from", "to", "ckt", "angmin", "angmax")
CHARGING = ("from", "to", "ckt", "b")


@dataclass(frozen=True)
class _Tables:
    """Tables that are being changed, with the places of their rows."""

    base: float
    bus: FloatArray
    branch: FloatArray
    buses: dict[int, int]
    lines: dict[tuple[int, int, str], int]
    live: BoolArray
    ends: tuple[list[int], list[int]]


def lend_limits(found: Imported, file: Path, data: bytes) -> Imported:
    """A case with the limits of a file: voltages in per unit by bus, angle differences in degrees by branch; and with
    the charging of transformers, which the case has as shunts of their ends, as part of them.

    A branch may be named from its other end: its angle limits then change sides and sign.
    """
    tables = _tables(found)
    put: dict[tuple[str, ...], Callable[[_Tables, Row], int]] = {VOLTAGES: _voltage, ANGLES: _angle, CHARGING: _charge}
    seen = set[tuple[tuple[str, ...], int]]()
    for row in read_rows(file, data, tuple(put)):
        key = (row.header, put[row.header](tables, row))
        if key in seen:
            row.fail("this element stands here already", "keep one of the two")
        seen.add(key)
    case = replace(found.case, bus=tables.bus, branch=tables.branch)
    checked(file, case, found.identity)
    return replace(found, case=case)


def _tables(found: Imported) -> _Tables:
    case = found.case
    branch = case.branch.copy()
    if len(branch) and branch.shape[1] <= c.ANGLE_MAX:
        branch = np.hstack([branch[:, : c.ANGLE_MIN], np.tile([-360.0, 360.0], (len(branch), 1))])
    pairs = branch[:, :2].astype(int).tolist() if len(branch) else []
    return _Tables(
        base=case.base_mva,
        bus=case.bus.copy(),
        branch=branch,
        buses={int(number): row for row, number in enumerate(case.bus[:, c.BUS_NUMBER].tolist())},
        lines={(a, b, name): row for row, ((a, b), name) in enumerate(zip(pairs, found.identity.circuit, strict=True))},
        live=branches_in_service(case),
        ends=(bus_rows(case, branch[:, c.FROM]).tolist(), bus_rows(case, branch[:, c.TO]).tolist())
        if pairs
        else ([], []),
    )


def _voltage(tables: _Tables, row: Row) -> int:
    at = tables.buses.get(row.bus("bus"), -1)
    if at < 0:
        row.fail("the case has no such bus", "name buses by their numbers")
    tables.bus[at, [c.VMIN, c.VMAX]] = row.number("vmin"), row.number("vmax")
    return at


def _angle(tables: _Tables, row: Row) -> int:
    at, turned = _branch(tables, row)
    low, high = row.number("angmin"), row.number("angmax")
    tables.branch[at, [c.ANGLE_MIN, c.ANGLE_MAX]] = (-high, -low) if turned else (low, high)
    return at


def _charge(tables: _Tables, row: Row) -> int:
    at, _ = _branch(tables, row)
    line = tables.branch[at]
    if line[c.RATIO] == 0 and line[c.SHIFT] == 0:
        row.fail("this is a line, and its charging stands in the case", "name transformers only")
    charging = row.number("b")
    line[c.B] += charging
    if tables.live[at]:
        tap = line[c.RATIO] or 1.0
        tables.bus[tables.ends[0][at], c.BS] -= charging / 2 * tables.base / (tap * tap)
        tables.bus[tables.ends[1][at], c.BS] -= charging / 2 * tables.base
    return at


def _branch(tables: _Tables, row: Row) -> tuple[int, bool]:
    """The row of a branch, and whether it was named from its other end."""
    a, b, name = row.bus("from"), row.bus("to"), row.cells["ckt"].strip("'\" ")
    at, back = tables.lines.get((a, b, name), -1), tables.lines.get((b, a, name), -1)
    if max(at, back) < 0:
        row.fail("the case has no such branch", "name branches by their buses and circuit id")
    return max(at, back), at < 0
