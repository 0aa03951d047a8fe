"""PowerModels JSON: per unit and radians, loads and shunts apart from buses, charging at each end of a branch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import CaseFileError
from gridveil.formats.fields import Fields, records
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.jsons import to_bytes
from gridveil.formats.live import LEFT_OUT, Live, live, terms
from gridveil.formats.recognise import json_object
from gridveil.formats.tables import Pi, Tables, Unit, computing, piecewise, polynomial

CANNOT_HOLD = (
    LEFT_OUT,
    "PowerModels JSON has no infinite limits of generators: they are written as 1e9 p.u.",
    "PowerModels has no costs of reactive power",
    "PowerModels itself, on loading, narrows angle limits beyond ±90° to ±60° and makes ratings where there are none",
)
REFUSED = {"dcline": "br_status", "storage": "status", "switch": "status", "ne_branch": "br_status"}
"""Table -> the field by which its records are in service: this model has none of these."""
ENDLESS = 1e9
"""Per unit: a limit of generation that is none."""


def read(path: Path, data: bytes) -> Imported:
    """A network in per unit, or in mixed units where the file says so."""
    with computing(path):
        return _imported(path, json_object(path, data))


def _imported(path: Path, found: dict[str, Any]) -> Imported:
    if found.get("multinetwork") is True or "nw" in found:
        raise CaseFileError(path, None, "the file holds several networks", "save each of them alone")
    top = Fields(path, "the file", found)
    if "per_unit" not in found:
        top.fail("it does not say whether it is in per unit", 'add "per_unit": true')
    base = top.number("baseMVA")
    power, angle = (base, 180 / math.pi) if top.flag("per_unit", True) else (1.0, 1.0)
    tables = Tables(path, base)
    for table, status in REFUSED.items():
        for _, one in records(path, found, table):
            if one.number(status, 1.0) != 0:
                one.fail("it is in service and this model has none", "switch it off or leave it out")
    for _, one in records(path, found, "bus"):
        name, kind = one.values.get("name"), int(one.number("bus_type", 1))
        tables.bus(
            one.whole("bus_i" if "bus_i" in one.values else "index"), one.number("base_kv", 0.0), one.number("vmin"),
            one.number("vmax"), kind, one.number("vm", 1.0), one.number("va", 0.0) * angle,
            name if isinstance(name, str) else None,
        )  # fmt: skip
    for _, one in records(path, found, "load"):
        if one.number("status", 1.0) != 0:
            p, q = (one.number(key) * power for key in ("pd", "qd"))
            tables.load(one.record, one.whole("load_bus"), p, q)
    for _, one in records(path, found, "shunt"):
        if one.number("status", 1.0) != 0:
            g, b = (one.number(key) * power for key in ("gs", "bs"))
            tables.shunt(one.record, one.whole("shunt_bus"), g, b)
    seen: dict[tuple[int, ...], int] = {}
    for _, one in records(path, found, "gen"):
        bus = one.whole("gen_bus")
        tables.unit(one.record, bus, _id(one, "generator", seen, (bus,)), _unit(one, power, base))
    for _, one in records(path, found, "branch"):
        ends = one.whole("f_bus"), one.whole("t_bus")
        circuit = _id(one, "branch", seen, (min(ends), max(ends)))
        angles = one.number("angmin", -2 * math.pi) * angle, one.number("angmax", 2 * math.pi) * angle
        rating = one.number("rate_a", 0.0, endless=True) * power
        in_service = one.number("br_status", 1.0) != 0
        tables.branch(one.record, ends, circuit, _pi(one, angle), rating, angles, in_service)
    return tables.imported(top.text("name", path.stem))


def _id(one: Fields, kind: str, seen: dict[tuple[int, ...], int], key: tuple[int, ...]) -> str:
    """The id that the source of the file had, or how many there were between these buses before."""
    seen[key] = seen.get(key, 0) + 1
    source = one.values.get("source_id")
    named = isinstance(source, list) and source and source[0] == kind and isinstance(source[-1], str)
    return source[-1].strip() if named and isinstance(source, list) else str(seen[key])


def _unit(one: Fields, power: float, base: float) -> Unit:
    def limit(key: str, sign: float) -> float:
        value = one.number(key, sign * math.inf, endless=True) * power
        return sign * math.inf if sign * value >= ENDLESS * base else value

    return Unit(
        limit("pmin", -1), limit("pmax", 1), limit("qmin", -1), limit("qmax", 1),
        one.number("pg", 0.0) * power, one.number("qg", 0.0) * power, one.number("vg", 1.0),
        one.number("gen_status", 1.0) != 0, _cost(one, power),
    )  # fmt: skip


def _cost(one: Fields, power: float) -> list[float] | None:
    values = one.values.get("cost")
    if values is None:
        return None
    if not isinstance(values, list):
        one.fail("'cost' is not a list of numbers", "give coefficients or points")
    numbers = [Fields(one.path, one.record, {"cost": value}).number("cost") for value in values]
    if one.number("model", c.POLYNOMIAL) == c.PIECEWISE:
        if len(numbers) % 2:
            one.fail("its piecewise-linear cost has half a point", "give powers and costs by turns")
        return piecewise([(p * power, cost) for p, cost in zip(numbers[::2], numbers[1::2], strict=True)])
    return polynomial(*(value / power**k for k, value in enumerate(numbers[::-1]))) if numbers else polynomial(0.0)


def _pi(one: Fields, angle: float) -> Pi:
    y_from, y_to = (complex(one.number(f"g_{end}", 0.0), one.number(f"b_{end}", 0.0)) for end in ("fr", "to"))
    tap, shift = one.number("tap", 1.0), one.number("shift", 0.0) * angle
    plain = not one.flag("transformer", tap != 1 or shift != 0) and tap == 1 and shift == 0
    return Pi(one.number("br_r"), one.number("br_x"), y_from, y_to, 0.0 if plain else tap, shift)


def write(case: Case, identity: Identity) -> bytes:
    """What `PowerModels.parse_file` loads."""
    shown = live(case, identity)
    base = shown.base_mva
    bus = shown.bus
    loaded = bus[np.any(bus[:, [c.PD, c.QD]] != 0, axis=1)]
    shunted = bus[np.any(bus[:, [c.GS, c.BS]] != 0, axis=1)]
    return to_bytes({
        "name": "network", "source_type": "matpower", "source_version": "2", "per_unit": True, "baseMVA": base,
        "bus": _numbered([_bus_record(shown, row) for row in range(len(bus))], "bus_i"),
        "load": _numbered([
            {"load_bus": int(row[0]), "pd": row[c.PD] / base, "qd": row[c.QD] / base, "status": 1,
             "source_id": ["bus", int(row[0])]} for row in loaded.tolist()
        ]),
        "shunt": _numbered([
            {"shunt_bus": int(row[0]), "gs": row[c.GS] / base, "bs": row[c.BS] / base, "status": 1,
             "source_id": ["bus", int(row[0])]} for row in shunted.tolist()
        ]),
        "gen": _numbered([_gen_record(shown, row) for row in range(len(shown.gen))]),
        "branch": _numbered([_branch_record(shown, row) for row in range(len(shown.branch))]),
        "dcline": {}, "storage": {}, "switch": {},
    })  # fmt: skip


def _numbered(rows: list[dict[str, Any]], key: str | None = None) -> Mapping[str, Any]:
    """Records by their index, which is a field too; buses have theirs."""
    numbers = [row[key] if key else i + 1 for i, row in enumerate(rows)]
    return {str(number): {**row, "index": number} for number, row in zip(numbers, rows, strict=True)}


def _bus_record(shown: Live, row: int) -> dict[str, Any]:
    values: list[float] = shown.bus[row].tolist()
    number = int(values[c.BUS_NUMBER])
    record = {
        "bus_i": number, "bus_type": int(values[c.BUS_TYPE]), "base_kv": values[c.BASE_KV], "vmin": values[c.VMIN],
        "vmax": values[c.VMAX], "vm": values[c.VM], "va": math.radians(values[c.VA]), "area": 1, "zone": 1,
        "source_id": ["bus", number],
    }  # fmt: skip
    return record if shown.bus_names is None else {**record, "name": shown.bus_names[row]}


def _gen_record(shown: Live, row: int) -> dict[str, Any]:
    values: list[float] = shown.gen[row].tolist()
    base, bus = shown.base_mva, int(values[c.GEN_BUS])
    limits = {"pmin": c.PMIN, "pmax": c.PMAX, "qmin": c.QMIN, "qmax": c.QMAX}
    record: dict[str, Any] = {
        "gen_bus": bus, "pg": values[c.PG] / base, "qg": values[c.QG] / base, "vg": values[c.VG], "mbase": base,
        **{key: _finite(values[column] / base) for key, column in limits.items()}, "gen_status": 1,
    }  # fmt: skip
    if shown.cost_p is not None:
        record |= {"startup": 0.0, "shutdown": 0.0, **_cost_record(shown.cost_p[row], base)}
    return record | {"source_id": ["generator", bus, shown.machine[row]]}


def _cost_record(row: FloatArray, base: float) -> dict[str, Any]:
    model, found = terms(row)
    if model == c.PIECEWISE:
        values = [value / base if i % 2 == 0 else value for i, value in enumerate(found)]
        return {"model": model, "ncost": len(values) // 2, "cost": values}
    highest = len(found) - 1
    return {"model": model, "ncost": len(found), "cost": [v * base ** (highest - i) for i, v in enumerate(found)]}


def _branch_record(shown: Live, row: int) -> dict[str, Any]:
    values: list[float] = shown.branch[row].tolist()
    ends = int(values[c.FROM]), int(values[c.TO])
    record: dict[str, Any] = {
        "f_bus": ends[0], "t_bus": ends[1], "br_r": values[c.R], "br_x": values[c.X],
        "g_fr": 0.0, "b_fr": values[c.B] / 2, "g_to": 0.0, "b_to": values[c.B] / 2,
        "tap": values[c.RATIO] or 1.0, "shift": math.radians(values[c.SHIFT]),
        "transformer": values[c.RATIO] != 0 or values[c.SHIFT] != 0, "br_status": 1,
        "angmin": math.radians(values[c.ANGLE_MIN]), "angmax": math.radians(values[c.ANGLE_MAX]),
    }  # fmt: skip
    if values[c.RATE_A]:
        record["rate_a"] = values[c.RATE_A] / shown.base_mva
    return record | {"source_id": ["branch", *ends, shown.circuit[row]]}


def _finite(value: float) -> float:
    return max(-ENDLESS, min(ENDLESS, value))
