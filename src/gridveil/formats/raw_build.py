"""Tables of PSS/E records -> a case. RAW and RAWX come together here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import CaseFileError
from gridveil.formats.checked import checked
from gridveil.formats.exposed import BRANCHES, LOADS, exposed
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.lend import NO_COSTS
from gridveil.formats.numbering import make_way
from gridveil.formats.raw_refuse import refuse_what_is_not_modelled
from gridveil.formats.raw_table import Table
from gridveil.formats.raw_transformers import (
    STAR_LIMITS,
    Branches,
    Network,
    Stars,
    branch_rows,
    three_windings,
    two_windings,
)
from gridveil.formats.words import counted

_NOWHERE: tuple[IntArray, FloatArray] = (np.zeros(0, np.int64), np.zeros((0, 2)))


def build(path: Path, base_text: str, tables: Mapping[str, Table], notes: list[str]) -> Imported:
    """The case that the tables describe."""
    with np.errstate(all="ignore"):  # what is beyond numbers is refused by name below
        return _build(path, base_text, tables, notes)


def _build(path: Path, base_text: str, tables: Mapping[str, Table], notes: list[str]) -> Imported:
    base = _base(path, base_text)
    refuse_what_is_not_modelled(tables, notes)
    bus, names = _buses(tables["bus"], notes)
    in_use = bus[:, c.BUS_TYPE] != c.ISOLATED_BUS
    network = Network(base, bus[:, c.BUS_NUMBER].astype(np.int64), bus[:, c.BASE_KV], in_use)
    if len(bus) == 0:
        raise CaseFileError(path, None, "the bus data have no record", "a network needs at least one bus")
    constant = _constant_admittances(tables["load"], network, notes, bus)
    _add(bus, (c.PD, c.QD), *_loads(tables["load"], network, notes))
    _add(bus, (c.GS, c.BS), *_fixed_shunts(tables["fixshunt"], network))
    _add(bus, (c.GS, c.BS), *_switched_shunts(tables["swshunt"], network, notes))
    lines = _lines(tables["acline"], network)
    switches = _switches(tables.get("sysswd"), network, notes)
    of_three = tables["transformer"].whole("kbus") != 0
    pairs = two_windings(tables["transformer"].only(~of_three), network)
    stars = three_windings(tables["transformer"].only(of_three), network)
    parts = (lines, switches, pairs, stars.branches)
    for part in parts:
        _add(bus, (c.GS, c.BS), part.shunt_row, part.shunt)
    _tell(tables, stars, notes)
    gen, machine = _units(tables["generator"], network, notes)
    to_buses = [part.rows[:, c.TO] for part in parts if part is not stars.branches]
    make_way(bus, stars.number, gen[:, c.GEN_BUS], *(part.rows[:, c.FROM] for part in parts), *to_buses)
    bus = np.concatenate([bus, _star_buses(stars, bus)])
    branch = np.concatenate([part.rows for part in parts])
    identity = Identity(
        tuple(name for part in parts for name in part.circuit), machine, (*names, *[""] * len(stars.vm))
    )
    case = Case(path.stem, base, bus, gen, branch, np.zeros((0, 0)), source=str(path))
    checked(path, case, identity, _lines_of(tables, parts))
    in_shunts = exposed(((BRANCHES, _with_shunts(lines, pairs, stars.branches)), (LOADS, constant)))
    return Imported(case, identity, tuple(notes), (NO_COSTS,) if len(gen) else (), exposed=in_shunts)


def _with_shunts(lines: Branches, *transformers: Branches) -> int:
    """How many branches put something on buses: lines do at two ends, transformers at one."""
    parts = [lines.shunt.reshape(2, -1, 2), *(one.shunt[None] for one in transformers)]
    return sum(int(np.count_nonzero(np.any(part != 0, axis=(0, 2)))) for part in parts)


def _lines_of(tables: Mapping[str, Table], parts: tuple[Branches, ...]) -> dict[str, Callable[[int], int]]:
    """The line of every row, where the file has lines."""
    bus, unit = tables["bus"].lines, tables["generator"].lines
    if bus is None or unit is None:
        return {}
    places = [place for part in parts for place in part.place]

    def of_branch(row: int) -> int:
        table, at = places[row]
        return 0 if table.lines is None else table.lines[at]

    return {"bus": lambda row: bus[min(row, len(bus) - 1)], "gen": lambda row: unit[row], "branch": of_branch}


def _base(path: Path, text: str) -> float:
    try:
        base = float(text) if str(text).strip() else 100.0
    except (ValueError, TypeError):
        base = float("nan")
    if not 0 < base < 1e9:
        raise CaseFileError(path, None, "SBASE in the header is not a positive number", "give the base in MVA")
    return base


def _buses(table: Table, notes: list[str]) -> tuple[FloatArray, tuple[str, ...]]:
    bus = np.zeros((len(table), 13))
    columns = (
        (c.BUS_TYPE, "ide", 1.0), (6, "area", 1.0), (c.VM, "vm", 1.0), (c.VA, "va", 0.0), (c.BASE_KV, "baskv", 0.0),
        (10, "zone", 1.0), (c.VMAX, "nvhi", 1.1), (c.VMIN, "nvlo", 0.9),
    )  # fmt: skip
    bus[:, c.BUS_NUMBER] = number = table.whole("ibus")
    _, first = np.unique(number, return_index=True)
    again = np.ones(len(number), dtype=bool)
    again[first] = False
    table.refuse(again, "this bus number stands twice in the bus data", "give every bus its own number")
    for column, field, default in columns:
        bus[:, column] = table.number(field, default)
    if len(table) and not table.has("nvhi"):
        notes.append("the file has no voltage limits: 0.9 and 1.1 p.u. were taken for every bus")
    return bus, table.text("name")


def _add(bus: FloatArray, columns: tuple[int, int], row: IntArray, power: FloatArray) -> None:
    """Add active and reactive parts to columns of their buses."""
    for column, values in zip(columns, power.T, strict=True):
        np.add.at(bus[:, column], row, values)


def _once(table: Table, row: IntArray, names: tuple[str, ...]) -> None:
    """No two records of a bus have one id."""
    seen = set[tuple[int, str]]()
    for at, key in enumerate(zip(row.tolist(), names, strict=True)):
        if key in seen:
            table.fail(at, f"two records of {table.name} at one bus have one id", "give each its own")
        seen.add(key)


def _constant_admittances(table: Table, network: Network, notes: list[str], bus: FloatArray) -> int:
    """Put what of loads is constant admittance on the buses, as shunts; of how many in service."""
    row = network.rows(table, "ibus")
    admittance = np.stack([table.number("yp"), table.number("yq")], axis=1)
    some = (table.code("stat", 1, (0, 1)) == 1) & np.any(admittance != 0, axis=1)
    if np.any(some):
        count = int(np.count_nonzero(some))
        notes.append(f"constant admittances in {counted(count, 'load')}: they became shunts of their buses")
        _add(bus, (c.GS, c.BS), row[some], admittance[some])
    return int(np.count_nonzero(some & network.in_use[row]))


def _loads(table: Table, network: Network, notes: list[str]) -> tuple[IntArray, FloatArray]:
    row = network.rows(table, "ibus")
    _once(table, row, table.text("loadid", "1"))
    live = table.code("stat", 1, (0, 1)) == 1
    current = (table.number("ip") != 0) | (table.number("iq") != 0)
    table.refuse(
        live & current, "the load has a part of constant current, and this model has none",
        "convert it to constant power or constant admittance",
    )  # fmt: skip
    power = np.stack([table.number("pl"), table.number("ql")], axis=1)
    local = table.whole("dgenm") == 1
    if np.any(live & local):
        notes.append(
            f"generation behind {counted(int(np.count_nonzero(live & local)), 'load')}: it was taken off the load"
        )
        power = power - local[:, None] * np.stack([table.number("dgenp"), table.number("dgenq")], axis=1)
    return row[live], power[live]


def _fixed_shunts(table: Table, network: Network) -> tuple[IntArray, FloatArray]:
    row = network.rows(table, "ibus")
    _once(table, row, table.text("shntid", "1"))
    live = table.code("stat", 1, (0, 1)) == 1
    return row[live], np.stack([table.number("gl"), table.number("bl")], axis=1)[live]


def _switched_shunts(table: Table, network: Network, notes: list[str]) -> tuple[IntArray, FloatArray]:
    row = network.rows(table, "ibus")
    live = table.code("stat", 1, (0, 1)) == 1
    if np.any(live):
        notes.append(f"{counted(int(np.count_nonzero(live)), 'switched shunt')}: fixed at the initial susceptance")
    susceptance = table.number("binit")
    return row[live], np.stack([np.zeros(len(table)), susceptance], axis=1)[live]


def _units(table: Table, network: Network, notes: list[str]) -> tuple[FloatArray, tuple[str, ...]]:
    gen = np.zeros((len(table), 21))
    gen[:, c.GEN_BUS] = network.number[network.rows(table, "ibus")] if len(table) else 0
    columns = (
        (c.PG, "pg", 0.0), (c.QG, "qg", 0.0), (c.QMAX, "qt", 9999.0), (c.QMIN, "qb", -9999.0), (c.VG, "vs", 1.0),
        (c.MBASE, "mbase", network.base), (c.PMAX, "pt", 9999.0), (c.PMIN, "pb", -9999.0),
    )  # fmt: skip
    for column, field, default in columns:
        gen[:, column] = table.number(field, default)
    gen[:, c.GEN_STATUS] = table.code("stat", 1, (0, 1))
    following = (gen[:, c.GEN_STATUS] == 1) & np.isin(table.whole("wmod"), (2, 3))
    if np.any(following):
        count = int(np.count_nonzero(following))
        notes.append(f"{counted(count, 'unit')} with a power factor to follow (WMOD 2, 3): the box of limits holds")
    return gen, table.text("machid", "1")


def _lines(table: Table, network: Network) -> Branches:
    rows = branch_rows(len(table))
    start, end = network.rows(table, "ibus"), network.rows(table, "jbus")
    rows[:, c.FROM], rows[:, c.TO] = network.number[start], network.number[end]
    columns = ((c.R, "rpu"), (c.X, "xpu"), (c.B, "bpu"), (c.RATE_A, "rate1"), (c.RATE_B, "rate2"), (c.RATE_C, "rate3"))
    for column, field in columns:
        rows[:, column] = table.number(field)
    live = table.code("stat", 1, (0, 1)) == 1
    rows[:, c.BRANCH_STATUS] = live
    at_start, at_end = (
        np.stack([table.number(f"g{side}"), table.number(f"b{side}")], axis=1) * network.base for side in "ij"
    )
    reached = live & network.in_use[start] & network.in_use[end]
    return Branches(
        rows, table.text("ckt", "1"), tuple((table, at) for at in range(len(table))),
        np.concatenate([start[reached], end[reached]]), np.concatenate([at_start[reached], at_end[reached]]),
    )  # fmt: skip


def _switches(table: Table | None, network: Network, notes: list[str]) -> Branches:
    """Switching devices: small reactances that are closed or not."""
    if table is None:
        return Branches(branch_rows(0), (), (), *_NOWHERE)
    rows = branch_rows(len(table))
    start, end = network.rows(table, "ibus"), network.rows(table, "jbus")
    rows[:, c.FROM], rows[:, c.TO] = network.number[start], network.number[end]
    rows[:, c.X] = table.number("xpu", 1e-4)
    for column, field in ((c.RATE_A, "rate1"), (c.RATE_B, "rate2"), (c.RATE_C, "rate3")):
        rows[:, column] = table.number(field)
    rows[:, c.BRANCH_STATUS] = closed = table.code("stat", 1, (0, 1)) == 1
    if np.any(closed):
        count = int(np.count_nonzero(closed))
        notes.append(f"{counted(count, 'closed switching device')}: read as branches of small reactance")
    return Branches(rows, table.text("ckt", "1"), tuple((table, at) for at in range(len(table))), *_NOWHERE)


def _star_buses(stars: Stars, bus: FloatArray) -> FloatArray:
    rows = bus[stars.first].copy()
    rows[:, [c.PD, c.QD, c.GS, c.BS]] = 0
    rows[:, c.BUS_NUMBER], rows[:, c.BUS_TYPE] = stars.number, c.PQ_BUS
    rows[:, c.VM], rows[:, c.VA] = stars.vm, stars.va
    rows[:, c.VMIN], rows[:, c.VMAX] = STAR_LIMITS
    return rows


def _tell(tables: Mapping[str, Table], stars: Stars, notes: list[str]) -> None:
    if len(stars.number):
        low, high = STAR_LIMITS
        notes.append(
            f"{counted(len(stars.number), 'transformer')} of three windings: stars with buses of their own, "
            f"{stars.number.min()} to {stars.number.max()}, at {low:g} to {high:g} p.u."
        )
    out: BoolArray = (tables["transformer"].whole("kbus") != 0) & (tables["transformer"].whole("stat", 1) == 0)
    if np.any(out):
        count = int(np.count_nonzero(out))
        notes.append(f"{counted(count, 'transformer')} of three windings out of service: left out")
