"""pandapower's loads, static generators, generators and external grids, as demand and units."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridveil.casefile import columns as c
from gridveil.formats.fields import Fields
from gridveil.formats.pandapower_costs import Costs
from gridveil.formats.pandapower_net import Net
from gridveil.formats.tables import Tables, Unit

VOLTAGES = ("const_z_percent", "const_i_percent", "const_z_p_percent", "const_i_p_percent", "const_z_q_percent",
            "const_i_q_percent")  # fmt: skip
FIXED = "{} generators or external grids are not controllable: power or voltage fixed, as in pandapower's OPF"


def add_units(net: Net, tables: Tables, number: Mapping[int, int], costs: Costs) -> None:
    """Everything that takes or gives power."""
    for index, one in net.live("load"):
        if any(one.number(key, 0.0) for key in VOLTAGES):
            one.fail("it depends on the voltage", "this model has constant loads: give it as load and shunt")
        _add(tables, "load", index, one, _at(one, number), costs)
    for index, one in net.live("sgen"):
        _add(tables, "sgen", index, one, _at(one, number), costs)
    for kind in ("ext_grid", "gen"):
        for index, one in net[kind].items():
            _machine(net, tables, kind, index, one, _at(one, number), costs)


def _at(one: Fields, number: Mapping[int, int]) -> int:
    index = one.number("bus")
    return number.get(int(index), -1) if index.is_integer() else -1


def _add(tables: Tables, kind: str, index: int, one: Fields, bus: int, costs: Costs) -> None:
    """A load or static generator: a unit if it is controllable, else demand."""
    sign = -1.0 if kind == "load" else 1.0
    p, q = (one.number(key, 0.0) * one.number("scaling", 1.0) * sign for key in ("p_mw", "q_mvar"))
    if not one.flag("controllable", False):
        tables.load(one.record, bus, -p, -q)
        return
    low, high = _limits(one, "p_mw")
    qlow, qhigh = _limits(one, "q_mvar")
    if sign < 0:
        low, high, qlow, qhigh = -high, -low, -qhigh, -qlow
    cost = costs.get((kind, index, "p")), costs.get((kind, index, "q"))
    tables.unit(
        one.record,
        bus,
        _id(tables, kind, index, one, bus),
        Unit(low, high, qlow, qhigh, p, q, 1.0, True, *cost, holds=False),
    )


def _machine(net: Net, tables: Tables, kind: str, index: int, one: Fields, bus: int, costs: Costs) -> None:
    live = one.flag("in_service", True)
    (low, high), (qlow, qhigh) = _limits(one, "p_mw"), _limits(one, "q_mvar")
    p = net.result(kind, index, "p_mw", 0.0)
    p = one.number("p_mw", 0.0) * one.number("scaling", 1.0) if kind == "gen" else p
    q = net.result(kind, index, "q_mvar", 0.0)
    vm = one.number("vm_pu", 1.0)
    if live and tables.has(bus):
        if kind == "ext_grid" or one.flag("slack", False):
            tables.change(bus, c.BUS_TYPE, c.REFERENCE_BUS)
            tables.change(bus, c.VA, one.number("va_degree", 0.0))
        # without the column an external grid is not controllable, and a generator is
        if not one.flag("controllable", kind == "gen"):
            tables.notes[FIXED] += 1
            tables.change(bus, c.VMIN, vm)
            tables.change(bus, c.VMAX, vm)
            low, high = (p, p) if kind == "gen" else (low, high)
        tables.change(bus, c.VM, vm)
    cost = costs.get((kind, index, "p")), costs.get((kind, index, "q"))
    unit = Unit(low, high, qlow, qhigh, p, q, vm, live, *cost)
    tables.unit(one.record, bus, _id(tables, kind, index, one, bus), unit)


def _limits(one: Fields, power: str) -> tuple[float, float]:
    """Absent limits are none; pandapower's OPF takes 1e9 instead."""
    low, high = one.number(f"min_{power}", -math.inf, endless=True), one.number(f"max_{power}", math.inf, endless=True)
    return (-math.inf if low <= -1e9 else low), (math.inf if high >= 1e9 else high)


def _id(tables: Tables, kind: str, index: int, one: Fields, bus: int) -> str:
    name = one.values.get("name")
    return tables.free_name((bus,), name if isinstance(name, str) and name else f"{kind} {index}")
