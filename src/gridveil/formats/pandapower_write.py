"""A case as a pandapower net: tables in the form that pandapower's JSON has them.

Lines have a length of 1 km, transformers the rating as rated power and the ratio in their rated voltages; nothing of a
nameplate is invented beside that. Index and number of a bus are the same.
"""

from __future__ import annotations

import json
import math
from typing import Any

from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import GridVeilError
from gridveil.formats.imported import Identity
from gridveil.formats.live import Live, live, quadratic, require_voltages, terms, unit_name

NAME = "pandapower"
VERSION = "3.0.0"
F_HZ = 50.0
NO_LIMIT_KA = 99999.0
_WHOLE = {"bus", "from_bus", "to_bus", "hv_bus", "lv_bus", "element", "parallel", "max_step"}
_FLAGS = {
    "in_service",
    "controllable",
    "slack",
    "tap_dependency_table",
    "step_dependency_table",
    "reactive_capability_curve",
    "current_source",
}
_TEXTS = {"name", "type", "zone", "std_type", "tap_side", "tap_changer_type", "et", "power_type", "points", "geo"}

Row = dict[str, Any]


def net_json(case: Case, identity: Identity) -> Row:
    """The net, ready for JSON."""
    return {
        "_module": "pandapower.auxiliary",
        "_class": "pandapowerNet",
        "_object": {
            **{name: _frame(rows) for name, rows in net_tables(case, identity).items() if rows},
            "version": VERSION, "format_version": VERSION, "name": "", "f_hz": F_HZ, "sn_mva": case.base_mva,
        },
    }  # fmt: skip


def net_tables(case: Case, identity: Identity) -> dict[str, dict[int, Row]]:
    """The tables of the net: rows by index."""
    shown = live(case, identity)
    require_voltages(shown, NAME)
    lines, trafos, charging = _branches(shown)
    units = _units(shown)
    shunts = [(int(row[0]), row[c.GS], -row[c.BS]) for row in shown.bus.tolist() if row[c.GS] or row[c.BS]]
    return {
        "bus": {int(row[0]): _bus(shown, i) for i, row in enumerate(shown.bus.tolist())},
        "load": dict(enumerate(_load(row) for row in shown.bus.tolist() if row[c.PD] or row[c.QD])),
        "shunt": dict(enumerate(_shunt(shown, *one) for one in [*shunts, *charging])),
        "line": dict(enumerate(lines)),
        "trafo": dict(enumerate(trafos)),
        **units,
        **_costs(shown, units),
        **_state(shown, units),
    }


def _state(shown: Live, units: dict[str, dict[int, Row]]) -> dict[str, dict[int, Row]]:
    """The operating point of the case, where pandapower has the results of a power flow."""
    power = {i: {"p_mw": row[c.PG], "q_mvar": row[c.QG]} for i, row in enumerate(shown.gen.tolist())}
    return {
        "res_bus": {int(row[0]): {"vm_pu": row[c.VM], "va_degree": row[c.VA]} for row in shown.bus.tolist()},
        **{f"res_{kind}": {i: power[i] for i in rows} for kind, rows in units.items() if kind != "sgen"},
    }


def _frame(rows: dict[int, Row]) -> Row:
    """A data frame in the form 'split', as JSON within JSON; columns with their types."""
    columns = list(next(iter(rows.values()), {}))
    body = {"columns": columns, "index": list(rows), "data": [[row[key] for key in columns] for row in rows.values()]}
    return {
        "_module": "pandas.core.frame", "_class": "DataFrame", "_object": json.dumps(body, allow_nan=False),
        "orient": "split", "dtype": {key: _dtype(key) for key in columns}, "is_multiindex": False,
        "is_multicolumn": False,
    }  # fmt: skip


def _dtype(column: str) -> str:
    if column in _TEXTS:
        return "object"
    return "bool" if column in _FLAGS else "uint32" if column in _WHOLE else "float64"


def _bus(shown: Live, row: int) -> Row:
    values: list[float] = shown.bus[row].tolist()
    return {
        "name": None if shown.bus_names is None else shown.bus_names[row], "vn_kv": values[c.BASE_KV], "type": "b",
        "zone": None, "in_service": True, "max_vm_pu": values[c.VMAX], "min_vm_pu": values[c.VMIN], "geo": None,
    }  # fmt: skip


def _load(row: list[float]) -> Row:
    parts = ("const_z_p_percent", "const_i_p_percent", "const_z_q_percent", "const_i_q_percent")
    return {
        "name": None, "bus": int(row[0]), "p_mw": row[c.PD], "q_mvar": row[c.QD], **dict.fromkeys(parts, 0.0),
        "sn_mva": None, "scaling": 1.0, "in_service": True, "type": "wye", "controllable": False,
    }  # fmt: skip


def _shunt(shown: Live, bus: int, p: float, q: float) -> Row:
    kv = float(shown.bus[shown.bus[:, 0] == bus, c.BASE_KV][0])
    return {
        "bus": bus, "name": None, "q_mvar": q, "p_mw": p, "vn_kv": kv, "step": 1, "max_step": 1,
        "id_characteristic_table": None, "step_dependency_table": False, "in_service": True,
    }  # fmt: skip


def _branches(shown: Live) -> tuple[list[Row], list[Row], list[tuple[int, float, float]]]:
    """Lines, transformers, and the charging of transformers as (bus, MW, Mvar) of shunts."""
    volts: dict[float, float] = dict(shown.bus[:, [c.BUS_NUMBER, c.BASE_KV]].tolist())
    lines: list[Row] = []
    trafos: list[Row] = []
    charging: list[tuple[int, float, float]] = []
    for name, row in zip(shown.circuit, shown.branch.tolist(), strict=True):
        kv = volts[row[c.FROM]], volts[row[c.TO]]
        if not row[c.RATIO] and not row[c.SHIFT] and kv[0] == kv[1]:
            lines.append(_line(shown.base_mva, name, row, kv[0]))
            continue
        trafos.append(_trafo(shown.base_mva, name, row, kv))
        if row[c.B]:
            half = -row[c.B] / 2 * shown.base_mva
            charging += [(int(row[c.FROM]), 0.0, half / (row[c.RATIO] or 1.0) ** 2), (int(row[c.TO]), 0.0, half)]
    return lines, trafos, charging


def _line(base: float, name: str, row: list[float], kv: float) -> Row:
    ohm = kv**2 / base
    rated = bool(row[c.RATE_A])
    return {
        "name": name, "std_type": None, "from_bus": int(row[c.FROM]), "to_bus": int(row[c.TO]), "length_km": 1.0,
        "r_ohm_per_km": row[c.R] * ohm, "x_ohm_per_km": row[c.X] * ohm,
        "c_nf_per_km": row[c.B] / ohm / (2 * math.pi * F_HZ) * 1e9, "g_us_per_km": 0.0,
        "max_i_ka": row[c.RATE_A] / kv / math.sqrt(3) if rated else NO_LIMIT_KA, "df": 1.0, "parallel": 1,
        "type": "ol", "in_service": True, "max_loading_percent": 100.0 if rated else None, "geo": None,
    }  # fmt: skip


def _trafo(base: float, name: str, row: list[float], kv: tuple[float, float]) -> Row:
    """The ratio is in the rated voltage of its from end; the end of the higher voltage is pandapower's hv."""
    ends, ratio = (int(row[c.FROM]), int(row[c.TO])), row[c.RATIO] or 1.0
    rated, turned = (kv[0] * ratio, kv[1]), kv[0] < kv[1]
    sn = row[c.RATE_A] or base
    hv, lv = (1, 0) if turned else (0, 1)
    return {
        "name": name, "std_type": None, "hv_bus": ends[hv], "lv_bus": ends[lv], "sn_mva": sn,
        "vn_hv_kv": rated[hv], "vn_lv_kv": rated[lv],
        "vk_percent": math.copysign(math.hypot(row[c.R], row[c.X]), row[c.X]) * 100 * sn / base,
        "vkr_percent": row[c.R] * 100 * sn / base, "pfe_kw": 0.0, "i0_percent": 0.0,
        "shift_degree": -row[c.SHIFT] if turned else row[c.SHIFT], "tap_side": "lv" if turned else "hv",
        "tap_neutral": None, "tap_min": None, "tap_max": None, "tap_step_percent": None, "tap_step_degree": None,
        "tap_pos": None, "tap_changer_type": None, "id_characteristic_table": None, "tap_dependency_table": False,
        "parallel": 1, "df": 1.0, "in_service": True, "max_loading_percent": 100.0 if row[c.RATE_A] else None,
    }  # fmt: skip


def _slack(shown: Live) -> set[int]:
    """Rows of units that are external grids: the first at each reference bus, or the largest of all."""
    buses = {row[0] for row in shown.bus.tolist() if row[c.BUS_TYPE] == c.REFERENCE_BUS}
    units = [row[c.GEN_BUS] for row in shown.gen.tolist()]
    found = {units.index(bus) for bus in buses if bus in units}
    if not found and units:
        found = {int(shown.gen[:, c.PMAX].argmax())}
    return found


def _units(shown: Live) -> dict[str, dict[int, Row]]:
    """External grids, generators, and static generators at buses whose voltage nobody holds; the index is the row."""
    slack = _slack(shown)
    held = {row[0]: row[c.BUS_TYPE] != c.PQ_BUS for row in shown.bus.tolist()}
    angle = {row[0]: row[c.VA] for row in shown.bus.tolist()}
    found: dict[str, dict[int, Row]] = {"ext_grid": {}, "gen": {}, "sgen": {}}
    for i, row in enumerate(shown.gen.tolist()):
        bus, name = int(row[c.GEN_BUS]), shown.machine[i]
        limits = {
            f"{end}_{power}": _finite(row[column])
            for power, ends in (("p_mw", (c.PMIN, c.PMAX)), ("q_mvar", (c.QMIN, c.QMAX)))
            for end, column in zip(("min", "max"), ends, strict=True)
        }
        both = {"name": name, "bus": bus, "in_service": True, "controllable": True, **limits}
        if i in slack:
            found["ext_grid"][i] = {**both, "vm_pu": row[c.VG], "va_degree": angle[bus], "slack_weight": 1.0}
        elif held[bus]:
            found["gen"][i] = {
                **both, "p_mw": row[c.PG], "vm_pu": row[c.VG], "sn_mva": None, "scaling": 1.0, "slack": False,
                "id_q_capability_characteristic": None, "reactive_capability_curve": False, "slack_weight": 0.0,
                "type": None,
            }  # fmt: skip
        else:
            found["sgen"][i] = {
                **both, "p_mw": row[c.PG], "q_mvar": row[c.QG], "sn_mva": None, "scaling": 1.0, "type": None,
                "current_source": True, "id_q_capability_characteristic": None, "reactive_capability_curve": False,
            }  # fmt: skip
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _costs(shown: Live, units: dict[str, dict[int, Row]]) -> dict[str, dict[int, Row]]:
    if shown.cost_p is None:
        return {"poly_cost": {}, "pwl_cost": {}}
    kinds = {i: kind for kind, rows in units.items() for i in rows}
    poly: list[Row] = []
    pieces: list[Row] = []
    for i in range(len(shown.gen)):
        powers = {}
        for power, costs in (("p", shown.cost_p), ("q", shown.cost_q)):
            if costs is not None and terms(costs[i])[0] == c.PIECEWISE:
                pieces.append(
                    {"power_type": power, "element": i, "et": kinds[i], "points": _ranges(terms(costs[i])[1])}
                )
            elif costs is not None:
                powers[power] = quadratic(costs[i], NAME, unit_name(shown, i))
        if powers:
            p, q = (powers.get(power, (0.0, 0.0, 0.0)) for power in ("p", "q"))
            names = ("cp0_eur", "cp1_eur_per_mw", "cp2_eur_per_mw2", "cq0_eur", "cq1_eur_per_mvar", "cq2_eur_per_mvar2")
            poly.append({"element": i, "et": kinds[i], **dict(zip(names, (*p, *q), strict=True))})
    if pieces and any(row["cp2_eur_per_mw2"] or row["cq2_eur_per_mvar2"] for row in poly):
        raise GridVeilError(
            "pandapower's OPF takes no piecewise-linear costs beside quadratic ones, and the case has both; "
            "write another format, or give costs of one kind"
        )
    return {"poly_cost": dict(enumerate(poly)), "pwl_cost": dict(enumerate(pieces))}


def _ranges(points: list[float]) -> list[list[float]]:
    """Slopes over ranges of power."""
    power, cost = points[::2], points[1::2]
    return [
        [a, b, (high - low) / (b - a)]
        for a, b, low, high in zip(power[:-1], power[1:], cost[:-1], cost[1:], strict=True)
    ]
