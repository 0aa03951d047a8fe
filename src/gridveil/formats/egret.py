"""EGRET's ModelData as JSON: MATPOWER's units, with loads and shunts apart from buses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import CaseFileError
from gridveil.formats.fields import Fields, records
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.jsons import to_bytes
from gridveil.formats.live import LEFT_OUT, Live, live, terms
from gridveil.formats.numbering import BY_PLACE, by_name
from gridveil.formats.recognise import json_object
from gridveil.formats.tables import Pi, Tables, Unit, computing, piecewise, polynomial

CANNOT_HOLD = (
    LEFT_OUT,
    "EGRET JSON has no infinite limits of generators: they are written as 1e9 times the base",
)
KINDS = {"PQ": c.PQ_BUS, "PV": c.PV_BUS, "ref": c.REFERENCE_BUS, "isolated": c.ISOLATED_BUS}
REFUSED = ("dc_branch", "storage", "electrolyzer", "hydro")
"""Elements that this model has none of, if they are in service."""
ENDLESS = 1e9


def read(path: Path, data: bytes) -> Imported:
    """A network of one moment; time series are refused."""
    with computing(path):
        return _imported(path, json_object(path, data))


def _imported(path: Path, found: dict[str, Any]) -> Imported:
    elements, system = found.get("elements"), found.get("system")
    if not isinstance(elements, dict) or not isinstance(system, dict):
        raise CaseFileError(path, None, "there are no 'elements' and 'system'", "give a file that ModelData.write made")
    top = Fields(path, "system", system)
    if "time_keys" in system:
        top.fail("it holds a time series", "save one moment with clone_at_time")
    tables = Tables(path, top.number("baseMVA"))
    for table in REFUSED:
        for _, one in records(path, elements, table):
            if one.flag("in_service", True):
                one.fail("it is in service and this model has none", "leave it out")
    numbers = _buses(path, elements, top, tables)

    def at(one: Fields, key: str) -> int:
        return numbers.get(one.text(key), -1)

    for _, one in records(path, elements, "load"):
        if one.flag("in_service", True):
            tables.load(one.record, at(one, "bus"), one.number("p_load"), one.number("q_load"))
    for _, one in records(path, elements, "shunt"):
        if one.flag("in_service", True):
            tables.shunt(one.record, at(one, "bus"), one.number("gs"), one.number("bs"))
    seen: dict[tuple[int, ...], int] = {}
    for _, one in records(path, elements, "generator"):
        bus = at(one, "bus")
        tables.unit(one.record, bus, _id(one, seen, (bus,)), _unit(one, tables.base_mva))
    for _, one in records(path, elements, "branch"):
        ends = at(one, "from_bus"), at(one, "to_bus")
        angles = one.number("angle_diff_min", -360.0), one.number("angle_diff_max", 360.0)
        rating = one.number("rating_long_term", 0.0, endless=True)
        circuit = _id(one, seen, (min(ends), max(ends)))
        tables.branch(one.record, ends, circuit, _pi(one), rating, angles, one.flag("in_service", True))
    return tables.imported(top.text("model_name", path.stem))


def _buses(path: Path, elements: dict[str, Any], top: Fields, tables: Tables) -> dict[str, int]:
    """Numbers by name: the names themselves where all in service are numbers, else their place among those."""
    found = list(records(path, elements, "bus"))
    dead = [name for name, one in found if one.text("matpower_bustype") == "isolated"]
    numbers, own = by_name([name for name, _ in found if name not in set(dead)], dead)
    if not own:
        tables.notes[BY_PLACE] += 1
    reference = top.text("reference_bus", "\0")
    for name, one in found:
        kind = KINDS.get(one.text("matpower_bustype", "PQ"))
        if kind is None:
            one.fail("its type is none of PQ, PV, ref and isolated", "correct 'matpower_bustype'")
        kind = c.REFERENCE_BUS if name == reference and kind != c.ISOLATED_BUS else kind
        given = one.values.get("name")
        tables.bus(
            numbers[name], one.number("base_kv", 0.0), one.number("v_min"), one.number("v_max"), kind,
            one.number("vm", 1.0), one.number("va", 0.0), given if isinstance(given, str) else None,
        )  # fmt: skip
    return numbers


def _id(one: Fields, seen: dict[tuple[int, ...], int], key: tuple[int, ...]) -> str:
    seen[key] = seen.get(key, 0) + 1
    return one.text("id", str(seen[key]))


def _unit(one: Fields, base: float) -> Unit:
    def limit(key: str, sign: float) -> float:
        value = one.number(key, sign * math.inf, endless=True)
        return sign * math.inf if sign * value >= ENDLESS * base else value

    return Unit(
        limit("p_min", -1), limit("p_max", 1), limit("q_min", -1), limit("q_max", 1),
        one.number("pg", 0.0), one.number("qg", 0.0), one.number("vg", 1.0), one.flag("in_service", True),
        _cost(one, "p_cost"), _cost(one, "q_cost"),
    )  # fmt: skip


def _cost(one: Fields, key: str) -> list[float] | None:
    curve = one.values.get(key)
    if curve is None:
        return None
    values = curve.get("values") if isinstance(curve, dict) else None
    if not isinstance(curve, dict) or curve.get("data_type") != "cost_curve" or values is None:
        one.fail(f"'{key}' is no cost curve", "give a cost curve, not a fuel curve or a number")
    kind = curve.get("cost_curve_type")
    if (kind, type(values)) not in (("polynomial", dict), ("piecewise", list)):
        one.fail(f"'{key}' is neither polynomial nor piecewise", "give one of these")
    return _polynomial(one, key, values) if kind == "polynomial" else _piecewise(one, key, values)


def _polynomial(one: Fields, key: str, values: dict[str, Any]) -> list[float]:
    if not values or not all(len(power) == 1 and power.isascii() and power.isdecimal() for power in values):
        one.fail(f"'{key}' has powers that are no whole numbers below 10", "give coefficients by power")
    field = Fields(one.path, one.record, values)
    return polynomial(*(field.number(str(power), 0.0) for power in range(max(map(int, values)) + 1)))


def _piecewise(one: Fields, key: str, values: list[Any]) -> list[float]:
    if not all(isinstance(point, list) and len(point) == 2 for point in values):
        one.fail(f"'{key}' has a point that is not two numbers", "give [MW, cost]")
    pairs = (Fields(one.path, one.record, dict(zip(("MW", "cost"), point, strict=True))) for point in values)
    return piecewise([(pair.number("MW"), pair.number("cost")) for pair in pairs])


def _pi(one: Fields) -> Pi:
    half = complex(0.0, one.number("charging_susceptance", 0.0) / 2)
    line = one.text("branch_type", "line") == "line"
    tap = 0.0 if line else one.number("transformer_tap_ratio", 1.0)
    shift = 0.0 if line else one.number("transformer_phase_shift", 0.0)
    return Pi(one.number("resistance"), one.number("reactance"), half, half, tap, shift)


def write(case: Case, identity: Identity) -> bytes:
    """What `ModelData.read` loads."""
    shown = live(case, identity)
    bus: list[list[float]] = shown.bus.tolist()
    elements: dict[str, Any] = {
        "bus": {str(int(row[0])): _bus_record(shown, i) for i, row in enumerate(bus)},
        "load": {
            f"load_{int(row[0])}": {
                "bus": str(int(row[0])),
                "in_service": True,
                "p_load": row[c.PD],
                "q_load": row[c.QD],
            }
            for row in bus
            if row[c.PD] or row[c.QD]
        },
        "shunt": {
            f"shunt_{int(row[0])}": {"bus": str(int(row[0])), "shunt_type": "fixed", "gs": row[c.GS], "bs": row[c.BS]}
            for row in bus
            if row[c.GS] or row[c.BS]
        },
        "generator": {str(i + 1): _gen_record(shown, i) for i in range(len(shown.gen))},
        "branch": {str(i + 1): _branch_record(shown, i) for i in range(len(shown.branch))},
    }
    system: dict[str, Any] = {"baseMVA": shown.base_mva, "model_name": "network"}
    references = [row for row in bus if row[c.BUS_TYPE] == c.REFERENCE_BUS]
    if references:
        system |= {"reference_bus": str(int(references[0][0])), "reference_bus_angle": references[0][c.VA]}
    return to_bytes({"elements": elements, "system": system})


def _bus_record(shown: Live, row: int) -> dict[str, Any]:
    values: list[float] = shown.bus[row].tolist()
    record: dict[str, Any] = {
        "matpower_bustype": {number: word for word, number in KINDS.items()}[int(values[c.BUS_TYPE])],
        "v_min": values[c.VMIN], "v_max": values[c.VMAX], "vm": values[c.VM], "va": values[c.VA],
        "area": 1.0, "zone": 1.0,
    }  # fmt: skip
    if values[c.BASE_KV] > 0:
        record["base_kv"] = values[c.BASE_KV]
    return record if shown.bus_names is None else {**record, "name": shown.bus_names[row]}


def _gen_record(shown: Live, row: int) -> dict[str, Any]:
    values: list[float] = shown.gen[row].tolist()
    limits = {"p_min": c.PMIN, "p_max": c.PMAX, "q_min": c.QMIN, "q_max": c.QMAX}
    most = ENDLESS * shown.base_mva
    record: dict[str, Any] = {
        "bus": str(int(values[c.GEN_BUS])), "id": shown.machine[row], "generator_type": "thermal", "in_service": True,
        "mbase": shown.base_mva, "pg": values[c.PG], "qg": values[c.QG], "vg": values[c.VG],
        **{key: max(-most, min(most, values[column])) for key, column in limits.items()},
    }  # fmt: skip
    for key, costs in (("p_cost", shown.cost_p), ("q_cost", shown.cost_q)):
        if costs is not None:
            record[key] = _cost_record(costs[row])
    return record | ({} if shown.cost_p is None else {"startup_cost": 0.0, "shutdown_cost": 0.0})


def _cost_record(row: FloatArray) -> dict[str, Any]:
    model, found = terms(row)
    if model == c.PIECEWISE:
        points = [[p, cost] for p, cost in zip(found[::2], found[1::2], strict=True)]
        return {"data_type": "cost_curve", "cost_curve_type": "piecewise", "values": points}
    values = {str(power): value for power, value in enumerate(found[::-1])}
    return {"data_type": "cost_curve", "cost_curve_type": "polynomial", "values": values}


def _branch_record(shown: Live, row: int) -> dict[str, Any]:
    values: list[float] = shown.branch[row].tolist()
    record: dict[str, Any] = {
        "from_bus": str(int(values[c.FROM])), "to_bus": str(int(values[c.TO])), "id": shown.circuit[row],
        "resistance": values[c.R], "reactance": values[c.X], "charging_susceptance": values[c.B],
        "rating_long_term": values[c.RATE_A] or None, "rating_short_term": None, "rating_emergency": None,
        "in_service": True, "angle_diff_min": values[c.ANGLE_MIN], "angle_diff_max": values[c.ANGLE_MAX],
    }  # fmt: skip
    if not values[c.RATIO] and not values[c.SHIFT]:
        return {**record, "branch_type": "line"}
    ratio = {"transformer_tap_ratio": values[c.RATIO] or 1.0, "transformer_phase_shift": values[c.SHIFT]}
    return {**record, "branch_type": "transformer", **ratio}
