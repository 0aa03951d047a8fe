"""Tables of a case, put together record by record from formats with loads, shunts and π branches of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import CaseFileError
from gridveil.formats.checked import checked
from gridveil.formats.exposed import BRANCHES, OPEN, WARDS, exposed
from gridveil.formats.imported import Identity, Imported

EQUAL = 1e-12
"""Relative: admittances of two ends that differ by less are equal, and conductances below that are none."""
MOVED = "parts of {} branches that a MATPOWER branch cannot hold (conductance, unequal ends) became bus shunts"
STUBS = "{} branches are open at one end: what they take is a shunt at the other"
WARDED = "constant impedances of {} wards became shunts of their buses"
IN_SHUNTS = {MOVED: BRANCHES, STUBS: OPEN, WARDED: WARDS}
"""What a note counts that stands in shunts."""
NO_COSTS = "the format has no generator costs: every dispatch costs 0 until costs are lent (--costs)"
COSTLESS = "{} units have no cost where others have one: they cost nothing"


class Pi(NamedTuple):
    """A branch in per unit: series impedance, shunt admittances of its two ends, complex ratio at its from end."""

    r: float
    x: float
    y_from: complex
    y_to: complex
    ratio: float = 0.0
    shift_deg: float = 0.0


def stub(pi: Pi, near: int) -> complex:
    """What a branch takes at one end (0 is from, 1 is to) when the other is open, as an admittance in per unit."""
    here, there = (pi.y_from, pi.y_to) if near == 0 else (pi.y_to, pi.y_from)
    far = there / (1 + there * complex(pi.r, pi.x))
    return (here + far) / ((pi.ratio or 1.0) ** 2 if near == 0 else 1.0)


class Unit(NamedTuple):
    """A unit in MW and Mvar. `cost` and `cost_q` are rows of gencost, or None; one that `holds` its voltage has vg."""

    pmin: float
    pmax: float
    qmin: float
    qmax: float
    pg: float = 0.0
    qg: float = 0.0
    vg: float = 1.0
    live: bool = True
    cost: list[float] | None = None
    cost_q: list[float] | None = None
    holds: bool = True


@contextmanager
def computing(path: Path) -> Iterator[None]:
    """Whoever gives numbers that nothing can be computed with is told so; the sentence names no record, for several may
    be at fault."""
    try:
        yield
    except ArithmeticError:
        problem = "its voltages, bases or impedances are so large or small that they cannot be brought to per unit"
        raise CaseFileError(path, None, problem, "check their units") from None


def polynomial(*rising: float) -> list[float]:
    """A row of gencost from coefficients in rising powers of MW."""
    return [c.POLYNOMIAL, 0.0, 0.0, len(rising), *rising[::-1]]


def piecewise(points: list[tuple[float, float]]) -> list[float]:
    """A row of gencost from points (MW, cost per hour)."""
    return [c.PIECEWISE, 0.0, 0.0, len(points), *(value for point in points for value in point)]


@dataclass(eq=False)
class Tables:
    """What has been read so far. Buses come first; others name them by number."""

    path: Path
    base_mva: float
    notes: Counter[str] = field(default_factory=Counter)
    losses: list[str] = field(default_factory=list)
    _bus: list[list[float]] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _rows: dict[int, int] = field(default_factory=dict)
    _gen: list[list[float]] = field(default_factory=list)
    _machine: list[str] = field(default_factory=list)
    _costs: list[tuple[list[float] | None, list[float] | None]] = field(default_factory=list)
    _branch: list[list[float]] = field(default_factory=list)
    _circuit: list[str] = field(default_factory=list)
    _held: set[int] = field(default_factory=set)
    _loose: list[list[float]] = field(default_factory=list)
    _taken: dict[tuple[int, ...], set[str]] = field(default_factory=dict)

    def fail(self, record: str, problem: str, advice: str) -> NoReturn:
        """Refuse the file for one of its records."""
        raise CaseFileError(self.path, None, f"{record}: {problem}", advice)

    def bus(
        self, number: int, kv: float, vmin: float, vmax: float,
        kind: int = c.PQ_BUS, vm: float = 1.0, va_deg: float = 0.0, name: str | None = None,
    ) -> None:  # fmt: skip
        """Add a bus."""
        if number in self._rows:
            self.fail(f"bus {number}", "this bus number stands twice", "give every bus its own number")
        self._rows[number] = len(self._bus)
        self._bus.append([number, kind, 0, 0, 0, 0, 1, vm, va_deg, kv, 1, vmax, vmin])
        if name is not None:
            self._names.append(name)

    def has(self, number: int) -> bool:
        """Whether there is such a bus."""
        return number in self._rows

    @property
    def named(self) -> bool:
        """Whether every bus so far has a name."""
        return len(self._names) == len(self._bus)

    def free_name(self, ends: tuple[int, ...], name: str) -> str:
        """A name for a unit of a bus, or for a branch between two, that no other there has."""
        taken = self._taken.setdefault(tuple(sorted(ends)), set())
        free = next(one for one in (name, *(f"{name} ({n})" for n in range(2, len(taken) + 3))) if one not in taken)
        taken.add(free)
        return free

    def value(self, number: int, column: int) -> float:
        """A column of a bus."""
        return self._bus[self._rows[number]][column]

    def change(self, number: int, column: int, value: float) -> None:
        """Set a column of a bus."""
        self._bus[self._rows[number]][column] = value

    def load(self, record: str, number: int, p: float, q: float) -> None:
        """Add demand in MW and Mvar."""
        self._add(record, number, (c.PD, p), (c.QD, q))

    def shunt(self, record: str, number: int, g: float, b: float) -> None:
        """Add a shunt: MW that it takes and Mvar that it gives at 1 p.u."""
        self._add(record, number, (c.GS, g), (c.BS, b))

    def _add(self, record: str, number: int, *values: tuple[int, float]) -> None:
        row = self._bus[self._row(record, number)]
        for column, value in values:
            row[column] += value

    def _row(self, record: str, number: int) -> int:
        if number not in self._rows:
            self.fail(record, "it is at a bus that the file does not have", "correct the bus or add it")
        return self._rows[number]

    def unit(self, record: str, number: int, machine: str, unit: Unit) -> None:
        """Add a unit."""
        self._row(record, number)
        row = [number, unit.pg, unit.qg, unit.qmax, unit.qmin, unit.vg, self.base_mva, float(unit.live)]
        self._gen.append([*row, unit.pmax, unit.pmin, *[0.0] * (c.GEN_WIDTH - 10)])
        self._machine.append(machine)
        if unit.holds:
            self._held |= {number} if unit.live else set()
        else:
            self._loose.append(self._gen[-1])
        self._costs.append((unit.cost, unit.cost_q))

    def branch(
        self, record: str, ends: tuple[int, int], circuit: str, pi: Pi, rating: float,
        angles_deg: tuple[float, float] = (-360.0, 360.0), live: bool = True,
    ) -> None:  # fmt: skip
        """Add a branch; a rating of 0 is none. What a MATPOWER branch cannot hold of it is exact in bus shunts."""
        for number in ends:
            self._row(record, number)
        reached = live and all(self.value(number, c.BUS_TYPE) != c.ISOLATED_BUS for number in ends)
        b = self._charging(record, ends, pi) if reached else 0.0
        row = [*ends, pi.r, pi.x, b, rating, 0, 0, pi.ratio, pi.shift_deg, float(live), *angles_deg]
        self._branch.append([float(value) for value in row])
        self._circuit.append(circuit)

    def _charging(self, record: str, ends: tuple[int, int], pi: Pi) -> float:
        """The charging that both ends have; what is beyond goes to bus shunts."""
        size = max(abs(pi.y_from), abs(pi.y_to))
        one, two = (complex(y.real if abs(y.real) > EQUAL * size else 0.0, y.imag) for y in (pi.y_from, pi.y_to))
        if one.real == two.real == 0 and abs(one.imag - two.imag) <= EQUAL * size:
            return one.imag + two.imag
        self.notes[MOVED] += 1
        square = (pi.ratio or 1.0) ** 2
        extra = complex(one.real, one.imag - two.imag) / square * self.base_mva
        self.shunt(record, ends[0], extra.real, extra.imag)
        self.shunt(record, ends[1], two.real * self.base_mva, 0.0)
        return 2 * two.imag

    def imported(self, name: str) -> Imported:
        """All of it as a case that makes a network, or `CaseFileError`."""
        for row in self._loose:  # whoever holds the voltage says which
            row[c.VG] = self.value(int(row[c.GEN_BUS]), c.VM)
        for row in self._bus:
            if row[c.BUS_TYPE] in (c.PQ_BUS, c.PV_BUS):
                row[c.BUS_TYPE] = c.PV_BUS if int(row[c.BUS_NUMBER]) in self._held else c.PQ_BUS
        bus_names = tuple(self._names) if self._names and len(self._names) == len(self._bus) else None
        identity = Identity(tuple(self._circuit), tuple(self._machine), bus_names)
        case = Case(
            name=name,
            base_mva=self.base_mva,
            bus=_table(self._bus, 13),
            gen=_table(self._gen, c.GEN_WIDTH),
            branch=_table(self._branch, 13),
            gencost=self._gencost(),
            source=str(self.path),
        )
        checked(self.path, case, identity)
        notes = tuple(text.format(count) if "{}" in text else text for text, count in self.notes.items())
        in_shunts = exposed((kind, self.notes[note]) for note, kind in IN_SHUNTS.items())
        return Imported(case, identity, notes, tuple(self.losses), exposed=in_shunts)

    def _gencost(self) -> FloatArray:
        blocks = [[one for one, _ in self._costs]]
        if any(two is not None for _, two in self._costs):
            blocks.append([two for _, two in self._costs])
        if all(row is None for block in blocks for row in block):
            return np.zeros((0, 0))
        if missing := sum(row is None for row in blocks[0]):
            self.notes[COSTLESS] += missing
        rows = [polynomial(0.0) if row is None else row for block in blocks for row in block]
        width = max(5, *(len(row) for row in rows))
        return np.array([row + [0.0] * (width - len(row)) for row in rows])


def _table(rows: list[list[float]], width: int) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)
