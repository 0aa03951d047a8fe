"""Limits of voltages and angles that a format lacks, from a CSV file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from gridveil.casefile import columns as c
from gridveil.formats.checked import checked
from gridveil.formats.imported import Imported
from gridveil.formats.sections import read_rows

VOLTAGES = ("bus", "vmin", "vmax")
ANGLES = ("from", "to", "ckt", "angmin", "angmax")


def lend_limits(found: Imported, file: Path, data: bytes) -> Imported:
    """A case with the limits of a file: voltages in per unit by bus, angle differences in degrees by branch.

    A branch may be named from its other end: its limits then change sides and sign.
    """
    case = found.case
    bus, branch = case.bus.copy(), case.branch.copy()
    if len(branch) and branch.shape[1] <= c.ANGLE_MAX:
        wide = np.tile([-360.0, 360.0], (len(branch), 1))
        branch = np.hstack([branch[:, : c.ANGLE_MIN], wide])
    buses = {int(number): row for row, number in enumerate(bus[:, c.BUS_NUMBER].tolist())}
    lines = {
        (int(a), int(b), name): row
        for row, (a, b, name) in enumerate(
            (a, b, name) for (a, b), name in zip(branch[:, :2].tolist(), found.identity.circuit, strict=True)
        )
    }
    seen = set[tuple[str, int]]()
    for row in read_rows(file, data, (VOLTAGES, ANGLES)):
        if row.header == VOLTAGES:
            at = buses.get(row.bus("bus"), -1)
            if at < 0:
                row.fail("the case has no such bus", "name buses by their numbers")
            bus[at, [c.VMIN, c.VMAX]] = row.number("vmin"), row.number("vmax")
            key = ("bus", at)
        else:
            a, b, name = row.bus("from"), row.bus("to"), row.cells["ckt"].strip("'\" ")
            low, high = row.number("angmin"), row.number("angmax")
            at, back = lines.get((a, b, name), -1), lines.get((b, a, name), -1)
            if max(at, back) < 0:
                row.fail("the case has no such branch", "name branches by their buses and circuit id")
            branch[max(at, back), [c.ANGLE_MIN, c.ANGLE_MAX]] = (low, high) if at >= 0 else (-high, -low)
            key = ("branch", max(at, back))
        if key in seen:
            row.fail("this element has limits already", "keep one of the two")
        seen.add(key)
    case = replace(case, bus=bus, branch=branch)
    checked(file, case, found.identity)
    return replace(found, case=case)
