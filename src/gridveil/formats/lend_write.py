"""Costs and limits of a case as the CSV files that `lend` reads: beside a file of a format that cannot hold them."""

from __future__ import annotations

import numpy as np

from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.write import number_text
from gridveil.formats.imported import Identity
from gridveil.formats.lend import POINTS, POLYNOMIAL
from gridveil.formats.lend_limits import ANGLES


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


def limits_csv(case: Case, identity: Identity) -> bytes | None:
    """The angle limits of branches that have some, or None."""
    if len(case.branch) == 0 or case.branch.shape[1] <= c.ANGLE_MAX:
        return None
    rows = [",".join(ANGLES)]
    for row, name in zip(case.branch.tolist(), identity.circuit, strict=True):
        low, high = row[c.ANGLE_MIN], row[c.ANGLE_MAX]
        if (low, high) == (0, 0) or (low <= -360 and high >= 360) or not np.isfinite(low + high):
            continue
        rows.append(f"{row[c.FROM]:.0f},{row[c.TO]:.0f},{name},{number_text(low)},{number_text(high)}")
    return "\n".join([*rows, ""]).encode() if len(rows) > 1 else None
