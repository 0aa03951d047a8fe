"""Costs and limits of a case as the CSV files that `lend` reads: beside a file of a format that cannot hold them."""

from __future__ import annotations

import numpy as np

from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.write import number_text
from gridveil.formats.imported import Identity
from gridveil.formats.lend import POINTS, POLYNOMIAL
from gridveil.formats.lend_limits import ANGLES, CHARGING


def costs_csv(case: Case, identity: Identity) -> bytes | None:
    """The costs of active power, or None where there are none or a curve is of a higher degree than 2."""
    units = len(case.gen)
    if len(case.gencost) == 0 or units == 0:
        return None
    smooth, pieces = [",".join(POLYNOMIAL)], [",".join(POINTS)]
    buses = case.gen[:, c.GEN_BUS].astype(int).tolist()
    for bus, name, row in zip(buses, identity.machine, case.gencost[:units].tolist(), strict=True):
        count = int(row[c.COST_COUNT]) if np.isfinite(row[c.COST_COUNT]) else 0
        if row[c.COST_MODEL] == c.PIECEWISE:
            points = row[c.COST_FIRST : c.COST_FIRST + 2 * count]
            pairs = zip(points[::2], points[1::2], strict=True)
            pieces += [f"{bus},{name},{number_text(p)},{number_text(cost)}" for p, cost in pairs]
        else:
            terms = [0.0, 0.0, 0.0, *row[c.COST_FIRST : c.COST_FIRST + count]]
            if any(terms[:-3]):
                return None
            smooth.append(f"{bus},{name}," + ",".join(map(number_text, terms[-3:])))
    return "\n".join([*smooth, *(pieces if len(pieces) > 1 else []), ""]).encode()


def limits_csv(case: Case, identity: Identity, *, charging: bool) -> bytes | None:
    """The angle limits of branches that have some, and the charging of transformers if that is asked for; or None."""
    angles, moved = [",".join(ANGLES)], [",".join(CHARGING)]
    for row, name in zip(case.branch.tolist(), identity.circuit, strict=True):
        key = f"{row[c.FROM]:.0f},{row[c.TO]:.0f},{name}"
        low, high = row[c.ANGLE_MIN : c.ANGLE_MAX + 1] if len(row) > c.ANGLE_MAX else (-360.0, 360.0)
        if (low, high) != (0, 0) and not (low <= -360 and high >= 360) and np.isfinite(low + high):
            angles.append(f"{key},{number_text(low)},{number_text(high)}")
        if charging and (row[c.RATIO] != 0 or row[c.SHIFT] != 0) and row[c.B] != 0:
            moved.append(f"{key},{number_text(row[c.B])}")
    lines = [line for part in (angles, moved) if len(part) > 1 for line in part]
    return "\n".join([*lines, ""]).encode() if lines else None
