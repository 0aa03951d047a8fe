"""A case as PyPSA's tables: rows by name, with the columns that PyPSA has for what a case knows.

Reactive limits have no place in PyPSA; they stand in columns q_min and q_max, as PyPSA's own importer of PYPOWER has
them, and survive in PyPSA. A name is the bus's number, `bus id` of a unit, `from-to circuit` of a branch.
"""

from __future__ import annotations

import math
from typing import Any

from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import GridVeilError
from gridveil.formats.imported import Identity
from gridveil.formats.live import Live, live, quadratic, require_voltages, unit_name

NAME = "PyPSA"
Row = dict[str, Any]


def net_tables(case: Case, identity: Identity) -> dict[str, dict[str, Row]]:
    """Tables by name, rows by name."""
    shown = live(case, identity)
    require_voltages(shown, NAME)
    buses: list[list[float]] = shown.bus.tolist()
    lines, transformers = _branches(shown)
    names = [str(int(row[0])) for row in buses]
    return {
        "buses": {name: _bus(row) for name, row in zip(names, buses, strict=True)},
        "loads": {
            name: {"bus": name, "p_set": row[c.PD], "q_set": row[c.QD]}
            for name, row in zip(names, buses, strict=True)
            if row[c.PD] or row[c.QD]
        },
        "shunt_impedances": {
            name: {"bus": name, "g": row[c.GS] / row[c.BASE_KV] ** 2, "b": row[c.BS] / row[c.BASE_KV] ** 2}
            for name, row in zip(names, buses, strict=True)
            if row[c.GS] or row[c.BS]
        },
        "generators": _generators(shown),
        "lines": lines,
        "transformers": transformers,
    }


def angles(case: Case, identity: Identity) -> dict[str, float]:
    """The solved angles of buses in radians, by name."""
    return {str(int(row[0])): math.radians(row[c.VA]) for row in live(case, identity).bus.tolist()}


def _bus(row: list[float]) -> Row:
    return {
        "v_nom": row[c.BASE_KV], "v_mag_pu_set": row[c.VM], "v_mag_pu_min": row[c.VMIN], "v_mag_pu_max": row[c.VMAX],
    }  # fmt: skip


def _generators(shown: Live) -> dict[str, Row]:
    """The first unit at a reference bus is its slack; where voltages are held, they are PV."""
    kinds = {row[0]: int(row[c.BUS_TYPE]) for row in shown.bus.tolist()}
    slack = {bus for bus, kind in kinds.items() if kind == c.REFERENCE_BUS}
    found: dict[str, Row] = {}
    for i, row in enumerate(shown.gen.tolist()):
        bus, pmin, pmax = row[c.GEN_BUS], row[c.PMIN], row[c.PMAX]
        if not (math.isfinite(pmin) and math.isfinite(pmax)):
            raise GridVeilError(
                f"PyPSA has no infinite limits of power, and {unit_name(shown, i)} has; give it finite ones"
            )
        nominal = max(abs(pmin), abs(pmax))
        control = "Slack" if bus in slack else "PQ" if kinds[bus] == c.PQ_BUS else "PV"
        slack.discard(bus)
        if shown.cost_q is not None and any(quadratic(shown.cost_q[i], NAME, unit_name(shown, i))):
            raise GridVeilError(f"PyPSA has no costs of reactive power, and {unit_name(shown, i)} has; leave them out")
        c0, c1, c2 = (0.0,) * 3 if shown.cost_p is None else quadratic(shown.cost_p[i], NAME, unit_name(shown, i))
        found[f"{int(bus)} {shown.machine[i]}"] = {
            "bus": str(int(bus)), "control": control, "p_nom": nominal,
            "p_min_pu": pmin / nominal if nominal else 0.0, "p_max_pu": pmax / nominal if nominal else 0.0,
            "p_set": row[c.PG], "q_set": row[c.QG], "q_min": row[c.QMIN], "q_max": row[c.QMAX],
            "marginal_cost": c1, "marginal_cost_quadratic": c2, "stand_by_cost": c0,
        }  # fmt: skip
    return found


def _branches(shown: Live) -> tuple[dict[str, Row], dict[str, Row]]:
    """Lines in ohms; transformers on the base of their rating, as π and with the ratio at their first bus."""
    volts: dict[float, float] = dict(shown.bus[:, [c.BUS_NUMBER, c.BASE_KV]].tolist())
    lines: dict[str, Row] = {}
    transformers: dict[str, Row] = {}
    for circuit, row in zip(shown.circuit, shown.branch.tolist(), strict=True):
        kv = volts[row[c.FROM]], volts[row[c.TO]]
        ends = str(int(row[c.FROM])), str(int(row[c.TO]))
        name = f"{ends[0]}-{ends[1]} {circuit}"
        both = {"bus0": ends[0], "bus1": ends[1], "v_ang_min": row[c.ANGLE_MIN], "v_ang_max": row[c.ANGLE_MAX]}
        if not row[c.RATIO] and not row[c.SHIFT] and kv[0] == kv[1]:
            ohm = kv[0] ** 2 / shown.base_mva
            lines[name] = {
                **both, "r": row[c.R] * ohm, "x": row[c.X] * ohm, "b": row[c.B] / ohm,
                "s_nom": row[c.RATE_A] or math.inf,
            }  # fmt: skip
            continue
        nominal = row[c.RATE_A] or shown.base_mva
        scale = nominal / shown.base_mva
        transformers[name] = {
            **both, "model": "pi", "r": row[c.R] * scale, "x": row[c.X] * scale, "b": row[c.B] / scale,
            "s_nom": nominal, "s_max_pu": 1.0 if row[c.RATE_A] else math.inf, "tap_ratio": row[c.RATIO] or 1.0,
            "tap_side": 0, "phase_shift": row[c.SHIFT],
        }  # fmt: skip
    return lines, transformers
