"""A PyPSA network -> case: ohms and siemens to per unit, transformers from their own base, one snapshot."""

from __future__ import annotations

import math

from gridveil.casefile import columns as c
from gridveil.formats.fields import Fields
from gridveil.formats.imported import Imported
from gridveil.formats.numbering import BY_PLACE, by_name
from gridveil.formats.pypsa_net import STATE, PypsaNet
from gridveil.formats.tables import Pi, Tables, Unit, computing, polynomial

REFUSED = ("links", "stores", "storage_units", "processes")
BASE = "baseMVA"
"""In the network's `meta`: PyPSA itself has no base."""
DEFAULT_BASE = 100.0
NO_LIMITS = "{} buses have no upper voltage limit: 2 p.u."
NO_Q = "{} generators have no columns q_min and q_max: their reactive power is unlimited"


def imported(net: PypsaNet) -> Imported:
    """The case of a network."""
    with computing(net.path):
        return _imported(net)


def _imported(net: PypsaNet) -> Imported:
    for table in REFUSED:
        for one in net[table].values():
            if one.flag("active", True):
                one.fail("this model has no links, stores and processes", "leave it out or replace it by generators")
    base = Fields(net.path, "meta", net.meta).number(BASE, DEFAULT_BASE)
    if not net["buses"] or base <= 0:
        Fields(net.path, "the network", {}).fail("it has no buses, or a base that is not positive", "correct it")
    tables = Tables(net.path, base)
    if BASE not in net.meta:
        tables.notes[f"PyPSA has no base: per unit is on {DEFAULT_BASE:g} MVA"] += 1
    numbers = _buses(net, tables)
    for one in _active(net, "loads"):
        sign = -one.number("sign", -1.0)
        p, q = (sign * one.number(key, 0.0) for key in ("p_set", "q_set"))
        tables.load(one.record, numbers.get(one.text("bus"), -1), p, q)
    for one in _active(net, "shunt_impedances"):
        bus = numbers.get(one.text("bus"), -1)
        square = tables.value(bus, c.BASE_KV) ** 2 if tables.has(bus) else 1.0
        tables.shunt(one.record, bus, one.number("g", 0.0) * square, one.number("b", 0.0) * square)
    for name, one in net["generators"].items():
        _generator(tables, numbers, name, one)
    for name, one in net["lines"].items():
        ends = _ends(tables, numbers, one)
        ohm = tables.value(ends[0], c.BASE_KV) ** 2 / base
        half = complex(one.number("g", 0.0), one.number("b", 0.0)) * ohm / 2
        _add(tables, one, ends, name, Pi(one.number("r", 0.0) / ohm, one.number("x", 0.0) / ohm, half, half))
    for name, one in net["transformers"].items():
        _transformer(tables, numbers, name, one)
    return tables.imported(net.name or "network")


def _active(net: PypsaNet, table: str) -> list[Fields]:
    return [one for one in net[table].values() if one.flag("active", True)]


def _buses(net: PypsaNet, tables: Tables) -> dict[str, int]:
    """Numbers by name: the names themselves where all are numbers, else their place in the file."""
    numbers, own = by_name(list(net["buses"]))
    if not own:
        tables.notes[BY_PLACE] += 1
    for name, one in net["buses"].items():
        if one.text("carrier", "AC") not in ("AC", ""):
            one.fail("it is no bus of alternating current", "leave it out, with what is attached to it")
        kv = one.number("v_nom", 1.0)
        if kv <= 0:
            one.fail("its voltage v_nom is not positive", "give it in kV")
        high = one.number("v_mag_pu_max", math.inf, endless=True)
        tables.notes[NO_LIMITS] += math.isinf(high)
        tables.bus(
            numbers[name], kv, one.number("v_mag_pu_min", 0.0), 2.0 if math.isinf(high) else high,
            vm=one.number("v_mag_pu_set", 1.0), va_deg=math.degrees(one.number(STATE, 0.0)),
            name=None if own else name,
        )  # fmt: skip
    if not tables.notes[NO_LIMITS]:
        del tables.notes[NO_LIMITS]
    return numbers


def _generator(tables: Tables, numbers: dict[str, int], name: str, one: Fields) -> None:
    bus, nominal = numbers.get(one.text("bus"), -1), one.number("p_nom", 0.0)
    if one.flag("p_nom_extendable", False) or one.number("sign", 1.0) != 1:
        one.fail("its capacity is to be chosen, or its sign is not 1", "fix p_nom, and give limits of power instead")
    low, high = (nominal * one.number(key, default) for key, default in (("p_min_pu", 0.0), ("p_max_pu", 1.0)))
    if one.values.get("q_min") is None or one.values.get("q_max") is None:
        tables.notes[NO_Q] += 1
    live = one.flag("active", True)
    control = one.text("control", "PQ")
    if live and control == "Slack" and tables.has(bus):
        tables.change(bus, c.BUS_TYPE, c.REFERENCE_BUS)
    prices = [one.number(key, 0.0) for key in ("stand_by_cost", "marginal_cost", "marginal_cost_quadratic")]
    unit = Unit(
        low, high, one.number("q_min", -math.inf, endless=True), one.number("q_max", math.inf, endless=True),
        one.number("p_set", 0.0), one.number("q_set", 0.0),
        tables.value(bus, c.VM) if tables.has(bus) else 1.0, live,
        polynomial(*prices), holds=control in ("PV", "Slack"),
    )  # fmt: skip
    tables.unit(one.record, bus, _id(name, str(bus)), unit)


def _ends(tables: Tables, numbers: dict[str, int], one: Fields) -> tuple[int, int]:
    ends = numbers.get(one.text("bus0"), -1), numbers.get(one.text("bus1"), -1)
    if not all(map(tables.has, ends)):
        one.fail("it is at a bus that the file does not have", "correct the bus or add it")
    if one.text("type") or one.number("num_parallel", 1.0) != 1:
        one.fail("it has a type of the library, which decides its values", "write its values out and empty 'type'")
    return ends


def _transformer(tables: Tables, numbers: dict[str, int], name: str, one: Fields) -> None:
    ends, nominal = _ends(tables, numbers, one), one.number("s_nom")
    if nominal <= 0:
        one.fail("its s_nom is not positive, and its impedance is on that base", "give it in MVA")
    scale = tables.base_mva / nominal
    z = complex(one.number("r", 0.0), one.number("x", 0.0)) * scale
    y = complex(one.number("g", 0.0), one.number("b", 0.0)) / scale
    model = one.text("model", "t") or "t"
    if model not in ("t", "pi"):
        one.fail("its model is neither t nor pi", "correct it")
    half = y / 2
    if model == "t" and y:
        z, half = z + z * z * y / 4, y / (2 + z * y / 2)
    ratio, shift, side = one.number("tap_ratio", 1.0), one.number("phase_shift", 0.0), one.number("tap_side", 0.0)
    if ratio <= 0 or side not in (0, 1):
        one.fail("its tap_ratio is not positive, or its tap_side neither 0 nor 1", "correct it")
    pi = Pi(z.real, z.imag, half, half, ratio, shift)
    if side == 1:
        ends, pi = (ends[1], ends[0]), pi._replace(shift_deg=-shift)
    _add(tables, one, ends, name, pi)


def _add(tables: Tables, one: Fields, ends: tuple[int, int], name: str, pi: Pi) -> None:
    rating = one.number("s_nom", 0.0, endless=True) * one.number("s_max_pu", 1.0, endless=True)
    angles = one.number("v_ang_min", -360.0, endless=True), one.number("v_ang_max", 360.0, endless=True)
    if pi.ratio == 0 and rating == 0:
        one.fail("its s_nom is 0, so that nothing can flow", "give its rating in MVA, or inf for none")
    circuit = _id(name, f"{ends[0]}-{ends[1]}")
    circuit = tables.free_name(ends, circuit)
    low, high = max(angles[0], -360.0), min(angles[1], 360.0)
    rating = 0.0 if math.isinf(rating) else rating
    tables.branch(one.record, ends, circuit, pi, rating, (low, high), one.flag("active", True))


def _id(name: str, place: str) -> str:
    """The id in a name that this project wrote, `bus id` or `from-to id`; else the name."""
    head, _, tail = name.partition(" ")
    return tail if tail and head == place else name
