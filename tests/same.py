"""Two cases compared by identity: (from, to, circuit), (bus, machine), bus number. Writers reorder rows."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.service import branches_in_service
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.live import Live, live

BUS = {"Pd": c.PD, "Qd": c.QD, "Gs": c.GS, "Bs": c.BS, "baseKV": c.BASE_KV, "Vmax": c.VMAX, "Vmin": c.VMIN,
       "Vm": c.VM, "Va": c.VA}  # fmt: skip
GEN = {"Pmax": c.PMAX, "Pmin": c.PMIN, "Qmax": c.QMAX, "Qmin": c.QMIN, "Pg": c.PG, "Qg": c.QG, "Vg": c.VG}
BRANCH = {
    "r": c.R, "x": c.X, "b": c.B, "rateA": c.RATE_A, "ratio": c.RATIO, "angle": c.SHIFT, "angmin": c.ANGLE_MIN,
    "angmax": c.ANGLE_MAX,
}  # fmt: skip


def differences(case: Case, identity: Identity, other: Imported, leave: tuple[str, ...] = ()) -> dict[str, float]:
    """Field -> the largest relative difference, where it is above 1e-12; the elements must be the same."""
    one, two = live(case, identity), live(other.case, other.identity)
    assert one.base_mva == two.base_mva
    found: dict[str, float] = {}
    bus = _order(one.bus[:, :1]), _order(two.bus[:, :1])
    assert np.array_equal(one.bus[bus[0], 0], two.bus[bus[1], 0])
    reference = [set(t.bus[t.bus[:, c.BUS_TYPE] == c.REFERENCE_BUS, 0].tolist()) for t in (one, two)]
    if reference[0] != reference[1]:
        found["reference"] = 1.0
    units = _units(one), _units(two)
    lines = _lines(one), _lines(two)
    assert [key for key, _ in units[0]] == [key for key, _ in units[1]]
    assert [key for key, _ in lines[0]] == [key for key, _ in lines[1]]
    rows = [row for _, row in units[0]], [row for _, row in units[1]]
    ends = [row for _, row in lines[0]], [row for _, row in lines[1]]
    for fields, tables, order in (
        (BUS, (one.bus, two.bus), bus),
        (GEN, (one.gen, two.gen), rows),
        (BRANCH, (_nominal(one.branch), _nominal(two.branch)), ends),
    ):
        for name, column in fields.items():
            found[name] = _away(tables[0][order[0], column], tables[1][order[1], column])
    found["cost"] = _away(_costs(one)[rows[0]], _costs(two)[rows[1]])
    found["reactive cost"] = _away(_costs(one, reactive=True)[rows[0]], _costs(two, reactive=True)[rows[1]])
    return {name: value for name, value in found.items() if value > 1e-12 and name not in leave}


def with_charging_in_shunts(case: Case) -> Case:
    """What pandapower has of a case: the charging of transformers at their two buses."""
    bus, branch = case.bus.copy(), case.branch.copy()
    row = {number: i for i, number in enumerate(bus[:, 0].tolist())}
    for i in np.flatnonzero(branches_in_service(case)).tolist():
        f, t = row[branch[i, c.FROM]], row[branch[i, c.TO]]
        if branch[i, c.RATIO] or branch[i, c.SHIFT] or bus[f, c.BASE_KV] != bus[t, c.BASE_KV]:
            half = branch[i, c.B] / 2 * case.base_mva
            bus[f, c.BS] += half / (branch[i, c.RATIO] or 1.0) ** 2
            bus[t, c.BS] += half
            branch[i, c.B] = 0
    return Case(case.name, case.base_mva, bus, case.gen, branch, case.gencost)


def _nominal(branch: FloatArray) -> FloatArray:
    """Ratio 1 and ratio 0 are the same power flow."""
    result = branch.copy()
    result[result[:, c.RATIO] == 0, c.RATIO] = 1
    return result


def _order(keys: FloatArray) -> list[int]:
    return list(np.lexsort(keys.T[::-1]))


def _units(table: Live) -> list[tuple[tuple[float, str], int]]:
    keys = [(float(bus), name) for bus, name in zip(table.gen[:, 0].tolist(), table.machine, strict=True)]
    return sorted((key, row) for row, key in enumerate(keys))


def _lines(table: Live) -> list[tuple[tuple[float, float, str], int]]:
    keys = [(a, b, name) for (a, b), name in zip(table.branch[:, :2].tolist(), table.circuit, strict=True)]
    return sorted((key, row) for row, key in enumerate(keys))


def _costs(table: Live, *, reactive: bool = False) -> FloatArray:
    """Polynomials in rising powers, or points, one row per unit."""
    rows = table.cost_q if reactive else table.cost_p
    found = np.zeros((len(table.gen), 30))
    if rows is not None:
        for i, row in enumerate(rows):
            count = int(row[c.COST_COUNT])
            if row[c.COST_MODEL] == c.PIECEWISE:
                found[i, 3 : 3 + 2 * count] = row[c.COST_FIRST : c.COST_FIRST + 2 * count]
            else:
                found[i, :count] = row[c.COST_FIRST : c.COST_FIRST + count][::-1]
    return found


def _away(one: FloatArray, two: FloatArray) -> float:
    with np.errstate(all="ignore"):
        away = np.where(one == two, 0.0, np.abs(one - two) / np.maximum(np.abs(one), 1e-9))
    return float(np.max(np.nan_to_num(away, nan=np.inf), initial=0.0))
