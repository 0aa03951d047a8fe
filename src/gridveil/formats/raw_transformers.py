"""PSS/E transformers -> rows of MATPOWER's branch table: all codes of voltage (CW), impedance (CZ), magnetising (CM).

A winding is an ideal tap t at its bus; the impedance stands between the taps, in per unit of the system base. MATPOWER
has one tap, at the `from` end: t1/t2, with the impedance seen from the `to` bus, t2²·z. Three windings make a star with
a bus of its own; each of them is a branch from its bus to the star.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.casefile import columns as c
from gridveil.formats.raw_table import Table

STAR_LIMITS = (0.5, 1.5)
"""Of the voltage at a star point, which is no place that anybody limits."""
ENDS = ("ibus", "jbus", "kbus")
OUT_AT = {1: 4, 2: 2, 3: 3}
"""The winding -> the status that says that it alone is out."""


@dataclass(frozen=True)
class Network:
    """What transformers need of the buses: numbers in order, base voltages, and which are in service."""

    base: float
    number: IntArray
    base_kv: FloatArray
    in_use: BoolArray

    def rows(self, table: Table, field: str) -> IntArray:
        """Rows of the buses that a field names; a negative number marks the metered end in older files."""
        given = np.abs(table.whole(field))
        order = np.argsort(self.number, kind="stable")
        place = np.minimum(np.searchsorted(self.number, given, sorter=order), len(self.number) - 1)
        row = order[place]
        nowhere = self.number[row] != given
        table.refuse(nowhere, f"{field} of {table.name} names a bus that is not in the bus data", "correct the number")
        return row


@dataclass(frozen=True)
class Branches:
    """Rows of a branch table with circuit ids and their places, and the shunts (MW, Mvar) that they put on buses."""

    rows: FloatArray
    circuit: tuple[str, ...]
    place: tuple[tuple[Table, int], ...]
    shunt_row: IntArray
    shunt: FloatArray


def branch_rows(count: int) -> FloatArray:
    """Empty rows in service, without angle limits."""
    rows = np.zeros((count, 13))
    rows[:, c.BRANCH_STATUS] = 1
    rows[:, c.ANGLE_MIN], rows[:, c.ANGLE_MAX] = -360, 360
    return rows


def two_windings(table: Table, network: Network) -> Branches:
    """Transformers of two windings."""
    rows = branch_rows(len(table))
    start, end = network.rows(table, "ibus"), network.rows(table, "jbus")
    tap, other = _tap(table, 1, network.base_kv[start], network), _tap(table, 2, network.base_kv[end], network)
    r, x = _impedance(table, "1_2", network)
    rows[:, c.FROM], rows[:, c.TO] = network.number[start], network.number[end]
    rows[:, c.R], rows[:, c.X] = r * other * other, x * other * other
    rows[:, c.RATIO], rows[:, c.SHIFT] = tap / other, table.number("ang1")
    live = table.code("stat", 1, (0, 1)) == 1
    rows[:, c.BRANCH_STATUS] = live
    for column, k in ((c.RATE_A, 1), (c.RATE_B, 2), (c.RATE_C, 3)):
        rows[:, column] = table.number(f"wdg1rate{k}")
    _refuse_corrections(table, live, (1,))
    places = tuple((table, at) for at in range(len(table)))
    reached = live & network.in_use[start] & network.in_use[end]
    return Branches(rows, table.text("ckt", "1"), places, start[reached], _magnetising(table, network)[reached])


@dataclass(frozen=True)
class Stars:
    """The branches of 3-winding transformers, and the buses of their stars: number, row of the first bus, vm, va."""

    branches: Branches
    number: IntArray
    first: IntArray
    vm: FloatArray
    va: FloatArray


def three_windings(table: Table, network: Network) -> Stars:
    """Transformers of three windings that are in service, with a winding at a bus that is.

    Stars are numbered in the order of buses and ids, above the largest number of a bus in service: neither the order of
    the file nor what is out of service in it moves them.
    """
    status = table.code("stat", 1, (0, 1, 2, 3, 4))
    reached = [
        network.in_use[network.rows(table, field)] & (status != OUT_AT[n]) for n, field in enumerate(ENDS, start=1)
    ]
    table = table.only((status != 0) & np.any(reached, axis=0))
    ends = [network.rows(table, field) for field in ENDS]
    names = table.text("ckt", "1")
    keys = [(*(int(network.number[end[at]]) for end in ends), names[at]) for at in range(len(table))]
    rank = {at: place for place, at in enumerate(sorted(range(len(keys)), key=lambda at: keys[at]))}
    free = _free_numbers(network, len(table))
    star = np.array([free[rank[at]] for at in range(len(table))], dtype=np.int64)
    (r12, x12), (r23, x23), (r31, x31) = (_impedance(table, pair, network) for pair in ("1_2", "2_3", "3_1"))
    legs = (
        ((r12 + r31 - r23) / 2, (x12 + x31 - x23) / 2),
        ((r12 + r23 - r31) / 2, (x12 + x23 - x31) / 2),
        ((r31 + r23 - r12) / 2, (x31 + x23 - x12) / 2),
    )
    status = table.code("stat", 1, (1, 2, 3, 4))
    parts = []
    for n, (end, (r, x)) in enumerate(zip(ends, legs, strict=True), start=1):
        rows = branch_rows(len(table))
        rows[:, c.FROM], rows[:, c.TO] = network.number[end], star
        rows[:, c.R], rows[:, c.X] = r, x
        rows[:, c.RATIO], rows[:, c.SHIFT] = _tap(table, n, network.base_kv[end], network), table.number(f"ang{n}")
        rows[:, c.BRANCH_STATUS] = status != OUT_AT[n]
        for column, k in ((c.RATE_A, 1), (c.RATE_B, 2), (c.RATE_C, 3)):
            rows[:, column] = table.number(f"wdg{n}rate{k}")
        parts.append(rows)
    _refuse_corrections(table, np.ones(len(table), dtype=bool), (1, 2, 3))
    live = status != 4
    places = tuple((table, at) for at in range(len(table))) * 3
    branches = Branches(np.concatenate(parts), names * 3, places, ends[0][live], _magnetising(table, network)[live])
    return Stars(branches, star, ends[0], table.number("vmstar", 1.0), table.number("anstar"))


def _free_numbers(network: Network, count: int) -> list[int]:
    """Numbers for new buses, above those in use; a bus out of service that has one of them makes way."""
    above = 10 ** len(str(max(network.number[network.in_use].tolist(), default=0)))
    return [above + 1 + at for at in range(count)]


def _tap(table: Table, n: int, base_kv: FloatArray, network: Network) -> FloatArray:
    """The tap of a winding in per unit of its bus voltage."""
    code = table.code("cw", 1, (1, 2, 3))
    table.refuse((code != 1) & (base_kv <= 0), "CW is 2 or 3 at a bus without a base voltage", "give BASKV of the bus")
    nominal = table.number(f"nomv{n}")
    kv = np.where(base_kv > 0, base_kv, 1.0)
    given = table.number(f"windv{n}", np.nan)
    given = np.where(np.isnan(given), np.where(code == 2, kv, 1.0), given)
    tap = np.where(code == 1, given, np.where(code == 2, given / kv, given * np.where(nominal == 0, kv, nominal) / kv))
    table.refuse(~(tap > 0), f"WINDV{n} or NOMV{n} is not positive", "give the winding's voltage")
    return tap


def _impedance(table: Table, pair: str, network: Network) -> tuple[FloatArray, FloatArray]:
    """r and x between two windings in per unit of the system base."""
    code = table.code("cz", 1, (1, 2, 3))
    r, x = table.number(f"r{pair}"), table.number(f"x{pair}")
    base = table.number(f"sbase{pair}", network.base)
    base = np.where(base == 0, network.base, base)
    table.refuse((code != 1) & ~(base > 0), f"SBASE{pair.replace('_', '-')} is not positive", "give it in MVA")
    lossy = np.where(code == 3, r * 1e-6 / base, r)  # load losses in W
    square = x * x - lossy * lossy
    table.refuse(
        (code == 3) & (square < 0), "the losses are larger than the impedance allows (CZ is 3)", "correct them"
    )
    r, x = np.where(code == 3, lossy, r), np.where(code == 3, np.sqrt(np.maximum(square, 0)), x)
    scale = np.where(code == 1, 1.0, network.base / base)
    return r * scale, x * scale


def _magnetising(table: Table, network: Network) -> FloatArray:
    """The shunt at the first winding's bus, MW and Mvar at the bus's base voltage.

    In watts and per unit of the winding (CM 2) it is what flows at the winding's nominal voltage.
    """
    code = table.code("cm", 1, (1, 2))
    first, second = table.number("mag1"), table.number("mag2")
    base = table.number("sbase1_2", network.base)
    losses = first * 1e-6  # MW of W
    size = second * np.where(base == 0, network.base, base)
    square = size * size - losses * losses
    table.refuse((code == 2) & (square < 0), "the no-load losses are larger than the current (CM is 2)", "correct them")
    base_kv, nominal = network.base_kv[network.rows(table, "ibus")], table.number("nomv1")
    other = (nominal > 0) & (base_kv > 0)
    scale = np.where(other, (base_kv / np.where(other, nominal, 1.0)) ** 2, 1.0)
    g = np.where(code == 1, first * network.base, losses * scale)
    b = np.where(code == 1, second * network.base, -np.sqrt(np.maximum(square, 0)) * scale)
    return np.stack([g, b], axis=1)


def _refuse_corrections(table: Table, live: BoolArray, windings: tuple[int, ...]) -> None:
    for n in windings:
        table.refuse(
            live & (table.whole(f"tab{n}") != 0),
            f"TAB{n} names a table by which the impedance changes with the tap",
            "write the corrected impedance, with TAB 0",
        )
