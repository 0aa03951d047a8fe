"""A pandapower net -> case: as pandapower's own power flow and OPF take it, and refused where this model cannot."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gridveil.casefile import columns as c
from gridveil.formats.fields import Fields
from gridveil.formats.imported import Imported
from gridveil.formats.numbering import step_aside
from gridveil.formats.pandapower_costs import costs
from gridveil.formats.pandapower_net import Net
from gridveil.formats.pandapower_trafo import plate_of, star, tap_of, two_winding
from gridveil.formats.pandapower_units import add_units
from gridveil.formats.tables import STUBS, WARDED, Pi, Tables, computing, stub

REFUSED = (
    "xward", "motor", "asymmetric_load", "asymmetric_sgen", "storage", "dcline", "svc", "ssc", "tcsc", "vsc",
    "vsc_stacked", "vsc_bipolar", "b2b_vsc", "bus_dc", "line_dc", "load_dc", "source_dc",
)  # fmt: skip
"""Elements that this model has none of, if they are in service."""
NO_LIMIT_KA = 99999.0
"""pandapower's converters write this current where a line has no rating."""
MERGED = "{} closed switches between buses made two of them one"
NO_RATINGS = "the table {} has no column max_loading_percent: no rating, as in pandapower's OPF"
NO_VOLTAGES = "{} voltage limits are missing: 0 to 2 p.u., as in pandapower's OPF"


@dataclass(frozen=True)
class Places:
    """Numbers of buses by index, and what is open: (kind, element, bus) of switches."""

    number: dict[int, int]
    dead: frozenset[int]
    open_at: frozenset[tuple[str, int, int]]

    def at(self, one: Fields, key: str) -> int:
        """The number of the bus that a record names."""
        index = one.number(key)
        return self.number.get(int(index), -1) if index.is_integer() else -1

    def closed(self, one: Fields, kind: str, element: int, key: str) -> bool:
        """Whether an element reaches the bus at one of its ends, and that is in service."""
        index = int(one.number(key))
        return (kind, element, index) not in self.open_at and index not in self.dead


def imported(net: Net) -> Imported:
    """The case of a net."""
    with computing(net.path):
        return _imported(net)


def _imported(net: Net) -> Imported:
    base = net.top.number("sn_mva")
    if base <= 0:
        net.top.fail("its base sn_mva is not positive", "give it in MVA, such as 100")
    for table in REFUSED:
        for _, one in net.live(table):
            one.fail("this model has no such element", "replace it, or take it out of service")
    tables = Tables(net.path, base)
    places = _buses(net, tables)
    _fixed(net, tables, places)
    _lines(net, tables, places)
    _trafos(net, tables, places)
    _trafos3w(net, tables, places)
    add_units(net, tables, places.number, costs(net))
    return tables.imported(net.top.text("name", net.path.stem) or "net")


def _buses(net: Net, tables: Tables) -> Places:
    """Buses with their numbers; those that closed switches join are one, of the smallest index."""
    dead = frozenset(index for index, one in net["bus"].items() if not one.flag("in_service", True))
    joined = {index: index for index in net["bus"]}

    def root(index: int) -> int:
        while joined[index] != index:
            joined[index] = index = joined[joined[index]]
        return index

    opened = set[tuple[str, int, int]]()
    for one in net["switch"].values():
        kind, bus, element = one.text("et"), int(one.number("bus")), int(one.number("element"))
        if not one.flag("closed", True):
            opened.add((kind, element, bus))
        elif kind == "b" and not {bus, element} & dead:
            if one.number("z_ohm", 0.0) > 0:
                one.fail("it has an impedance", "write it as an element of the table impedance")
            if not {bus, element} <= set(joined):
                one.fail("it is at a bus that the net does not have", "correct the bus or add it")
            tables.notes[MERGED] += 1
            joined[max(root(bus), root(element))] = min(root(bus), root(element))
    numbers = _numbers(net, {index: root(index) for index in joined if index not in dead}, dead)
    named = all(isinstance(one.values.get("name"), str) and one.values["name"] for one in net["bus"].values())
    for index, one in net["bus"].items():
        low, high = one.number("min_vm_pu", 0.0), one.number("max_vm_pu", 2.0)
        tables.notes[NO_VOLTAGES] += sum(one.values.get(key) is None for key in ("min_vm_pu", "max_vm_pu"))
        kv = one.number("vn_kv")
        if kv <= 0:
            one.fail("its voltage vn_kv is not positive", "give it in kV")
        if root(index) == index:
            service = c.ISOLATED_BUS if index in dead else c.PQ_BUS
            vm, va = net.result("bus", index, "vm_pu", 1.0), net.result("bus", index, "va_degree", 0.0)
            tables.bus(numbers[index], kv, low, high, service, vm, va, one.text("name") if named else None)
    for index, one in net["bus"].items():
        if (main := root(index)) != index:
            if tables.value(numbers[main], c.BASE_KV) != one.number("vn_kv"):
                one.fail("a closed switch joins it to a bus of another voltage", "correct the switch or vn_kv")
            low, high = one.number("min_vm_pu", 0.0), one.number("max_vm_pu", 2.0)
            tables.change(numbers[main], c.VMIN, max(low, tables.value(numbers[main], c.VMIN)))
            tables.change(numbers[main], c.VMAX, min(high, tables.value(numbers[main], c.VMAX)))
    if not tables.notes[NO_VOLTAGES]:
        del tables.notes[NO_VOLTAGES]
    return Places(numbers, dead, frozenset(opened))


def _numbers(net: Net, main: dict[int, int], dead: frozenset[int]) -> dict[int, int]:
    """Numbers by index: those in service, from 1, have theirs; then come stars, and what is out of service makes way.

    `main` has the bus that stands for each one in service.
    """
    first = 1 if 0 in main else 0
    numbers = {index: one + first for index, one in main.items()}
    top = max(numbers.values(), default=0)
    stars = range(top + 1, top + 1 + sum(_in_service(one, dead) for one in net["trafo3w"].values()))
    aside = step_aside([index + first for index in sorted(dead)], {*numbers.values(), *stars})
    return numbers | dict(zip(sorted(dead), aside, strict=True))


def _in_service(one: Fields, dead: frozenset[int]) -> bool:
    """Whether a transformer of three windings is, with all of its buses."""
    return one.flag("in_service", True) and not {int(one.number(f"{side}_bus")) for side in ("hv", "mv", "lv")} & dead


def _fixed(net: Net, tables: Tables, places: Places) -> None:
    """Shunts, wards and impedances."""
    for _, one in net.live("shunt"):
        bus = places.at(one, "bus")
        if one.flag("step_dependency_table", False):
            one.fail("its steps have a table of their own", "write what it takes at its step into p_mw and q_mvar")
        kv = tables.value(bus, c.BASE_KV) if tables.has(bus) else 1.0
        scale = one.number("step", 1.0) * (kv / one.number("vn_kv", kv)) ** 2
        tables.shunt(one.record, bus, one.number("p_mw", 0.0) * scale, -one.number("q_mvar", 0.0) * scale)
    for _, one in net.live("ward"):
        bus = places.at(one, "bus")
        tables.load(one.record, bus, one.number("ps_mw", 0.0), one.number("qs_mvar", 0.0))
        g, b = one.number("pz_mw", 0.0), -one.number("qz_mvar", 0.0)
        if g or b:
            tables.notes[WARDED] += 1
        tables.shunt(one.record, bus, g, b)
    for index, one in net["impedance"].items():
        r, x = one.number("rft_pu"), one.number("xft_pu")
        if (one.number("rtf_pu", r), one.number("xtf_pu", x)) != (r, x):
            one.fail("its impedance is another in the other direction", "this model has none such: give both alike")
        sn = one.number("sn_mva")
        if sn <= 0:
            one.fail("its base sn_mva is not positive", "give it in MVA")
        y_from, y_to = (
            complex(one.number(f"g{end}_pu", 0.0), one.number(f"b{end}_pu", 0.0)) * sn / tables.base_mva for end in "ft"
        )
        pi = Pi(r * tables.base_mva / sn, x * tables.base_mva / sn, y_from, y_to)
        _branch(tables, places, one, "", index, ("from_bus", "to_bus"), pi, sn)


def _lines(net: Net, tables: Tables, places: Places) -> None:
    frequency = net.top.number("f_hz", 50.0)
    if net["line"] and not net.has("line", "max_loading_percent"):
        tables.notes[NO_RATINGS.format("line")] += 1
    for index, one in net["line"].items():
        bus = places.at(one, "from_bus")
        kv = tables.value(bus, c.BASE_KV) if tables.has(bus) else 1.0
        length, parallel = one.number("length_km"), one.number("parallel", 1.0)
        if length <= 0 or parallel < 1:
            one.fail("its length or number of parallel systems is not positive", "correct it")
        ohm = kv**2 / tables.base_mva
        r, x = (one.number(f"{name}_ohm_per_km") * length / ohm / parallel for name in "rx")
        b = 2 * math.pi * frequency * one.number("c_nf_per_km", 0.0) * 1e-9
        half = complex(one.number("g_us_per_km", 0.0) * 1e-6, b) * ohm * length * parallel / 2
        loading, current = one.values.get("max_loading_percent"), one.number("max_i_ka", NO_LIMIT_KA)
        rating = 0.0
        if loading is not None and current < NO_LIMIT_KA:
            rating = one.number("max_loading_percent") / 100 * current * one.number("df", 1.0) * parallel * kv
            rating *= math.sqrt(3)
        _branch(tables, places, one, "l", index, ("from_bus", "to_bus"), Pi(r, x, half, half), rating)


def _trafos(net: Net, tables: Tables, places: Places) -> None:
    if net["trafo"] and not net.has("trafo", "max_loading_percent"):
        tables.notes[NO_RATINGS.format("trafo")] += 1
    for index, one in net["trafo"].items():
        ends = places.at(one, "hv_bus"), places.at(one, "lv_bus")
        high, low = (tables.value(bus, c.BASE_KV) if tables.has(bus) else 1.0 for bus in ends)
        parallel = one.number("parallel", 1.0)
        if parallel < 1:
            one.fail("its number of parallel systems is not positive", "correct it")
        leak = one.number("leakage_resistance_ratio_hv", 0.5), one.number("leakage_reactance_ratio_hv", 0.5)
        pi = two_winding(
            plate_of(one), (tap_of(one), tap_of(one, "2")), (high, low), tables.base_mva, parallel, leak
        )  # fmt: skip
        loading = one.values.get("max_loading_percent")
        rating = 0.0
        if loading is not None:
            rating = one.number("max_loading_percent") / 100 * one.number("sn_mva") * one.number("df", 1.0) * parallel
        keys = "hv_bus", "lv_bus"
        if one.text("tap_side") == "lv":
            pi, keys = _turned(pi), ("lv_bus", "hv_bus")
        _branch(tables, places, one, "t", index, keys, pi, rating)


def _turned(pi: Pi) -> Pi:
    """The same branch with its ratio at the other end."""
    square = pi.ratio**2
    ends = pi.y_to / square, pi.y_from / square
    return Pi(pi.r * square, pi.x * square, *ends, 1 / pi.ratio, -pi.shift_deg)


def _trafos3w(net: Net, tables: Tables, places: Places) -> None:
    """Each in service has a star bus of its own, with the voltage of its high side and no limits that bind."""
    star_bus = max((number for index, number in places.number.items() if index not in places.dead), default=0)
    for index, one in net["trafo3w"].items():
        if not _in_service(one, places.dead):
            tables.notes["{} transformers of three windings out of service were left out"] += 1
            continue
        if any(("t3", index, int(one.number(f"{side}_bus"))) in places.open_at for side in ("hv", "mv", "lv")):
            one.fail("a switch at one of its windings is open", "take it out of service or replace it by two windings")
        ends = {side: places.at(one, f"{side}_bus") for side in ("hv", "mv", "lv")}
        if not all(map(tables.has, ends.values())):
            one.fail("it is at a bus that the net does not have", "correct the bus or add it")
        star_bus += 1
        kv = tables.value(ends["hv"], c.BASE_KV)
        name = f"star of trafo3w {index}" if tables.named else None
        tables.bus(star_bus, kv, 0.0, 2.0, name=name)
        tables.notes["{} transformers of three windings became stars, each with a bus of its own"] += 1
        loading = one.values.get("max_loading_percent")
        for side, (plate, tap) in star(one).items():
            far = (kv, kv) if side == "hv" else (kv, tables.value(ends[side], c.BASE_KV))
            pi = two_winding(plate, (tap,), far, tables.base_mva, 1.0, (0.5, 0.5))
            pair = (ends["hv"], star_bus) if side == "hv" else (star_bus, ends[side])
            rating = 0.0 if loading is None else one.number("max_loading_percent") / 100 * plate.sn_mva
            tables.branch(one.record, pair, f"trafo3w {index} {side}", pi, rating)


def _branch(
    tables: Tables, places: Places, one: Fields, kind: str, index: int, keys: tuple[str, str], pi: Pi, rating: float
) -> None:
    """A branch between two buses; open at one end it is a shunt, open at both nothing."""
    ends = places.at(one, keys[0]), places.at(one, keys[1])
    live = one.flag("in_service", True)
    reached = [places.closed(one, kind, index, key) for key in keys]
    if live and ends[0] == ends[1] and all(reached):
        tables.notes["{} branches that closed switches shorten were left out"] += 1
        return
    if live and any(reached) and not all(reached) and kind:
        near = 0 if reached[0] else 1
        tables.notes[STUBS] += 1
        taken = stub(pi, near) * tables.base_mva
        tables.shunt(one.record, ends[near], taken.real, taken.imag)
    name = one.values.get("name")
    circuit = tables.free_name(ends, name if isinstance(name, str) and name else f"{one.record}")
    tables.branch(one.record, ends, circuit, pi, rating, live=live and all(reached))
