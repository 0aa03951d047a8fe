"""What a dataset of draws holds: a table per kind of element, its columns, their units and what they mean.

Every row begins with the draw it is of, its plan, its seed and its settings, so that each table can be used alone. The
names of columns end with their units, which stand in the schema of every file, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import pyarrow as pa

from gridveil.grid import Network, OperatingPoint
from gridveil.grid.frames import network_columns, place_columns, point_columns
from gridveil.publish.plan import Plan
from gridveil.study.many import ResearchDraw
from gridveil.wall.protection import Group

Columns = dict[str, Any]

DRAWS = "draws"
ELEMENTS = {
    "buses": "a row per draw and bus: its limits, its shunt, and the voltage of the operating point",
    "loads": "a row per draw and bus that has a load",
    "generators": "a row per draw and unit: its limits and costs, and its generation in the operating point",
    "lines": "a row per draw and line: its parameters and rating, and the flows of the operating point",
}
"""Tables of elements, and what their rows are. A draw that found no network has none."""
ALWAYS = ("epsilon", "alpha", "beta", "mechanism", "protect", "cost")
"""Settings that are columns of every dataset; others are where a plan gives them."""
_HEAD = {"draw": pa.int64(), "plan": pa.int32(), "seed": pa.int64()}
_TYPES = {"f": pa.float64(), "i": pa.int64(), "b": pa.bool_(), "U": pa.string()}
_UNITS = {
    "_kv": "kV", "_mw": "MW", "_mvar": "Mvar", "_mva": "MVA", "_pu": "p.u.", "_deg": "degree", "_pct": "%",
    "_per_h": "$/h",
}  # fmt: skip
_UNIT_OF = {"c0": "$/h", "c1": "$/MWh", "tap": "ratio", "effort": "AC-OPFs"}
_WORDS = {
    "draw": "number of the draw", "plan": "number of its plan, as in the manifest", "seed": "of its noise",
    "certified": "every claim of a release holds of it", "detail": "if not, why",
    "path": "how the network was found", "effort": "what the repair took, in AC-OPFs",
    "cost_per_h": "optimal dispatch cost of the network",
    "bus": "number of the bus", "generator": "counted from 1 in file order", "line": "counted from 1 in file order",
    "from_bus": "number of the bus at its first end", "to_bus": "number of the bus at its second end",
    "loading_pct": "apparent power at the fuller end, of the rating",
    "segments": "pieces of a piecewise linear cost, which is the largest of slope·p + intercept",
}  # fmt: skip


def settings_of(plans: Sequence[Plan]) -> dict[str, list[Any]]:
    """The settings that are columns, each with its value in every plan."""
    found: dict[str, list[Any]] = {}
    for field in fields(Plan):
        values = [getattr(plan, field.name) for plan in plans]
        default = None if field.default is MISSING else field.default
        if field.name == "protect":
            found["protect"] = [",".join(str(group) for group in plan.protection.groups) for plan in plans]
        elif field.name == "cost":
            found["cost"] = [str(plan.source) for plan in plans]
        elif field.name in ALWAYS or (
            any(value != default for value in values)
            and all(isinstance(value, bool | int | float | str) for value in values)
        ):
            found[field.name] = [_plain(value) for value in values]
    for group in Group:
        if any(str(group) in (plan.alphas or {}) for plan in plans):
            found[f"alpha_{group}"] = [plan.protection.alpha.get(group) for plan in plans]
    return found


def _plain(value: Any) -> Any:
    """Words as words and numbers as numbers, whoever gave them."""
    return value if isinstance(value, bool) else str(value) if isinstance(value, str) else float(value)


def schemas(network: Network, settings: Mapping[str, Sequence[Any]]) -> dict[str, pa.Schema]:
    """The schema of every table, which its structure and the settings decide: all draws have the same."""
    head = _HEAD | {name: _kind(values) for name, values in settings.items()}
    n, m, k = (np.zeros(count) for count in (network.grid.n_bus, network.grid.n_generator, network.grid.n_line))
    point = OperatingPoint(n, n, m, m, k, k, k, k, cost=0.0)
    own = {
        name: {key: _kind(values) for key, values in table.items()} for name, table in elements(network, point).items()
    }
    end = {
        "certified": pa.bool_(), "detail": pa.string(), "path": pa.string(), "effort": pa.float64(),
        "cost_per_h": pa.float64(),
    }  # fmt: skip
    return {name: _schema(head | columns) for name, columns in {DRAWS: end, **own}.items()}


def elements(network: Network, point: OperatingPoint) -> dict[str, Columns]:
    """Every element with its numbers and its part of the operating point."""
    buses, units, lines = (
        {**place, **numbers, **solved}
        for place, numbers, solved in zip(
            place_columns(network.grid), network_columns(network), point_columns(network.grid, point), strict=True
        )
    )
    pd, qd = buses.pop("pd_mw"), buses.pop("qd_mvar")
    there = (pd != 0) | (qd != 0)
    loads = {"bus": buses["bus"][there], "pd_mw": pd[there], "qd_mvar": qd[there]}
    return {"buses": buses, "loads": loads, "generators": units | _pieces(network), "lines": lines}


def tables(
    made: Sequence[tuple[int, int, ResearchDraw]],
    settings: Mapping[str, Sequence[Any]],
    schema: Mapping[str, pa.Schema],
) -> dict[str, pa.Table]:
    """All tables of some draws, each with its number and the place of its plan."""
    ends: Columns = {
        "certified": [draw.certified for _, _, draw in made],
        "detail": [draw.detail or None for _, _, draw in made],
        "path": [draw.path for _, _, draw in made],
        "effort": [draw.effort for _, _, draw in made],
        "cost_per_h": [draw.cost for _, _, draw in made],
    }
    found = {DRAWS: _headed(made, np.arange(len(made)), settings, ends, schema[DRAWS])}
    whole = [one for one in made if one[2].network is not None]
    each = [elements(draw.network, draw.point) for _, _, draw in whole if draw.network and draw.point]
    for name in ELEMENTS:
        own: Columns = {
            key: np.concatenate([np.asarray(one[name][key]) for one in each]) if each else []
            for key in schema[name].names
            if key not in _HEAD and key not in settings
        }
        counts = [len(next(iter(one[name].values()))) for one in each]
        found[name] = _headed(whole, np.repeat(np.arange(len(whole)), counts), settings, own, schema[name])
    return found


def described(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """Every column with its type, its unit and what it means, for the manifest."""
    return {
        field.name: {"type": str(field.type)}
        | {key.decode(): words.decode() for key, words in (field.metadata or {}).items()}
        for field in schema
    }


def _headed(
    made: Sequence[tuple[int, int, ResearchDraw]], row: Any, settings: Mapping[str, Sequence[Any]], own: Columns,
    schema: pa.Schema,
) -> pa.Table:  # fmt: skip
    """Columns of a table behind those that say which draw each `row` is of."""
    head: Columns = {
        "draw": [number for number, _, _ in made],
        "plan": [place + 1 for _, place, _ in made],
        "seed": [draw.seed for _, _, draw in made],
        **{name: [values[place] for _, place, _ in made] for name, values in settings.items()},
    }
    arrays = [
        pa.array(head[field.name], field.type).take(pa.array(row, pa.int64()))
        if field.name in head
        else pa.array(own[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _pieces(network: Network) -> Columns:
    """Slopes and intercepts of piecewise costs, by the order in which a unit has them."""
    curves, base, count = network.grid.cost_p, network.grid.base_mva, network.grid.n_generator
    seen, found = np.zeros(count, np.int64), Columns()
    for unit, slope, intercept in zip(
        curves.segment_generator.tolist(), curves.segment_slope.tolist(), curves.segment_intercept.tolist(), strict=True
    ):
        seen[unit] += 1
        for name, value in (("slope", slope / base), ("intercept", intercept)):
            found.setdefault(f"{name}{seen[unit]}", np.full(count, np.nan))[unit] = value
    return found


def _kind(values: Any) -> pa.DataType:
    known = np.asarray([one for one in values if one is not None]) if isinstance(values, list) else np.asarray(values)
    return _TYPES[known.dtype.kind]


def _schema(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, metadata=_about(name)) for name, kind in columns.items()])


def _about(name: str) -> dict[str, str]:
    unit = _UNIT_OF.get(name) or next((unit for end, unit in _UNITS.items() if name.endswith(end)), None)
    if name[0] == "c" and name[1:].isdigit():
        unit, words = unit or f"$/MW^{name[1:]}h", f"coefficient of p^{name[1:]} in the cost"
    elif name.startswith(("slope", "intercept")):
        unit, words = "$/MWh" if name[0] == "s" else "$/h", "of a piece of the cost"
    else:
        words = _WORDS.get(name, "")
    return {key: value for key, value in (("unit", unit), ("meaning", words)) if value}
