"""Networks of pypowsybl -> case, by its data frames: XIIDM and CGMES come through it.

Buses are those of its bus view, in which switches are merged. Everything is in kV, ohms, siemens and amperes. Branches
have their ideal transformer at side 1; what is beyond is referred to side 2 or, of three windings, to the star.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridveil.casefile import columns as c
from gridveil.formats.fields import Fields
from gridveil.formats.frames import frame_rows
from gridveil.formats.imported import Imported
from gridveil.formats.tables import NO_COSTS, STUBS, Pi, Tables, Unit, computing, stub

BASE_MVA = 100.0
REFUSED = {
    "hvdc_lines": "HVDC lines", "static_var_compensators": "static var compensators", "batteries": "batteries",
}  # fmt: skip
"""Table -> what this model has none of, if it is connected."""
NO_LIMITS = "{} voltage limits are missing: 0 and 2 p.u. serve"
CURVES = "{} capability curves were read at the units' set point"
STARS = "{} transformers of three windings became stars, each with a bus of its own"
BOUNDARIES = "{} boundary lines end at buses of their own"
PERMANENT = -1


def imported(network: Any, path: Path) -> Imported:
    """The case of a pypowsybl network."""
    with computing(path):
        return _Reader(network, path).case()


class _Reader:
    """The frames of one network, and the tables that are made of them."""

    def __init__(self, network: Any, path: Path) -> None:
        self.network, self.path = network, path
        self.tables = Tables(path, BASE_MVA)
        self.tables.notes[f"IIDM has no base: per unit is on {BASE_MVA:g} MVA"] += 1
        self.tables.losses.append(NO_COSTS)
        self.level = dict(self.rows("voltage_levels"))
        self.numbers: dict[str, int] = {}
        self.limits = self._limits()

    def rows(self, table: str) -> Iterator[tuple[str, Fields]]:
        """The records of a frame, in its order: ids are names, which decide nothing that is released."""
        frame = getattr(self.network, f"get_{table}")(all_attributes=True)
        rows = enumerate(frame_rows(frame).items(), 1)
        return ((str(key), Fields(self.path, f"{table} {place}", row)) for place, (key, row) in rows)

    def case(self) -> Imported:
        """All of it."""
        for table, words in REFUSED.items():
            for _, one in self.rows(table):
                if one.flag("connected", True) and one.flag("connected1", True):
                    one.fail(f"it is connected, and this model has no {words}", "disconnect it, or replace it by units")
        self._buses()
        for _, one in self.rows("loads"):
            if number := self.at(one):
                self.tables.load(one.record, number, one.number("p0", 0.0), one.number("q0", 0.0))
        for _, one in self.rows("shunt_compensators"):
            if number := self.at(one):
                square = self.tables.value(number, c.BASE_KV) ** 2
                self.tables.shunt(one.record, number, one.number("g", 0.0) * square, one.number("b", 0.0) * square)
        for key, one in self.rows("generators"):
            self._unit(key, one)
        for key, one in self.rows("lines"):
            self._line(key, one)
        for key, one in self.rows("2_windings_transformers"):
            pi = self._pi(one, "", self.kv(one, "1"), self.kv(one, "2"))
            self.branch(key, one, (self.at(one, "1"), self.at(one, "2")), pi, self.rating(key, one, ("1", "2")))
        self._stars()
        self._boundaries()
        return self.tables.imported(str(getattr(self.network, "id", "")) or "network")

    def at(self, one: Fields, side: str = "") -> int:
        """The number of the bus that a record is connected to, or 0."""
        return self.numbers.get(one.text(f"bus{side}_id"), 0)

    def kv(self, one: Fields, side: str = "") -> float:
        """The nominal voltage at a side."""
        level = self.level.get(one.text(f"voltage_level{side}_id"))
        found = level.number("nominal_v") if level else 0.0
        if found <= 0:
            one.fail("its voltage level has no nominal voltage", "give it in kV")
        return found

    def _buses(self) -> None:
        rows = list(self.rows("buses"))
        self.numbers = {key: place for place, (key, _) in enumerate(rows, 1)}
        for key, one in rows:
            kv, level = self.kv(one), self.level[one.text("voltage_level_id")]
            low, high = (level.number(f"{end}_voltage_limit", 0.0) / kv for end in ("low", "high"))
            self.tables.notes[NO_LIMITS] += (low == 0) + (high == 0)
            self.tables.bus(self.numbers[key], kv, low, high or 2.0, name=key)
            p, q = one.number("fictitious_p0", 0.0), one.number("fictitious_q0", 0.0)
            self.tables.load(one.record, self.numbers[key], p, q)
        if not self.tables.notes[NO_LIMITS]:
            del self.tables.notes[NO_LIMITS]

    def _unit(self, key: str, one: Fields) -> None:
        number = self.at(one)
        if not number:
            return
        kinds = "min_q", "max_q"
        if one.text("reactive_limits_kind") == "CURVE":
            self.tables.notes[CURVES] += 1
            kinds = "min_q_at_target_p", "max_q_at_target_p"
        qmin, qmax = (
            one.number(kind, sign * math.inf, endless=True) for kind, sign in zip(kinds, (-1, 1), strict=True)
        )
        pmin, pmax = (one.number(kind, endless=True) for kind in ("min_p", "max_p"))
        holds = one.flag("voltage_regulator_on", False)
        regulated = self.numbers.get(one.text("regulated_bus_id"), number)
        vg = one.number("target_v", 0.0) / self.tables.value(regulated, c.BASE_KV) if holds else 1.0
        if holds and regulated != number:
            self.tables.notes["{} units hold the voltage of another bus: their own is held at that value"] += 1
        if holds and vg > 0:
            self.tables.change(number, c.VM, vg)
        most = 1e9
        unit = Unit(
            -math.inf if pmin <= -most else pmin, math.inf if pmax >= most else pmax,
            -math.inf if qmin <= -most else qmin, math.inf if qmax >= most else qmax,
            one.number("target_p", 0.0), one.number("target_q", 0.0), vg, holds=holds,
        )  # fmt: skip
        self.tables.unit(one.record, number, self.tables.free_name((number,), key), unit)

    def _pi(self, one: Fields, leg: str, kv_from: float, kv_to: float) -> Pi:
        """A winding at its tap: all behind the ideal transformer is referred to `kv_to`."""
        ohm = kv_to**2 / BASE_MVA
        r, x, g, b = (one.number(f"{name}{leg}_at_current_tap") for name in "rxgb")
        rho, alpha = one.number(f"rho{leg}"), one.number(f"alpha{leg}", 0.0)
        if rho <= 0:
            one.fail("its ratio is not positive", "correct its rated voltages and taps")
        return Pi(r / ohm, x / ohm, complex(g, b) * ohm, 0j, kv_to / (rho * kv_from), -alpha)

    def _line(self, key: str, one: Fields) -> None:
        kv = self.kv(one, "1"), self.kv(one, "2")
        ohm = kv[1] ** 2 / BASE_MVA
        y_from, y_to = (complex(one.number(f"g{s}", 0.0), one.number(f"b{s}", 0.0)) * ohm for s in "12")
        ratio = 0.0 if kv[0] == kv[1] else kv[1] / kv[0]
        pi = Pi(one.number("r") / ohm, one.number("x") / ohm, y_from, y_to, ratio)
        self.branch(key, one, (self.at(one, "1"), self.at(one, "2")), pi, self.rating(key, one, ("1", "2")))

    def branch(self, key: str, one: Fields, ends: tuple[int, int], pi: Pi, rating: float) -> None:
        """A branch between two buses; open at one end it is a shunt, open at both nothing."""
        if all(ends) and ends[0] != ends[1]:
            self.tables.branch(one.record, ends, self.tables.free_name(ends, key), pi, rating)
        elif not all(ends) and any(ends):
            near = 0 if ends[0] else 1
            self.tables.notes[STUBS] += 1
            taken = stub(pi, near) * BASE_MVA
            self.tables.shunt(one.record, ends[near], taken.real, taken.imag)

    def _stars(self) -> None:
        place = len(self.numbers)
        for key, one in self.rows("3_windings_transformers"):
            kv = one.number("rated_u0")
            if not any(self.at(one, leg) for leg in "123"):
                continue
            place += 1
            if kv <= 0:
                one.fail("its rated voltage is not positive", "correct it")
            self.numbers[f"star {place}"] = place
            self.tables.bus(place, kv, 0.0, 2.0, name=f"star of {key}")
            self.tables.notes[STARS] += 1
            for leg in "123":
                pi = self._pi(one, leg, self.kv(one, leg), kv)
                self.branch(f"{key} {leg}", one, (self.at(one, leg), place), pi, self.rating(key, one, (leg,)))

    def _boundaries(self) -> None:
        """Boundary lines end at a bus with their load; two that a tie line joins end at one without."""
        shared: dict[str, str] = {}
        for key, one in self.rows("tie_lines"):
            shared |= {one.text(f"boundary_line{side}_id"): key for side in "12"}
        for key, one in self.rows("boundary_lines"):
            kv, ohm = self.kv(one), self.kv(one) ** 2 / BASE_MVA
            if not self.at(one) and key not in shared:
                continue
            end = shared.get(key, key)
            if end not in self.numbers:
                self.numbers[end] = max(self.numbers.values(), default=0) + 1
                self.tables.bus(self.numbers[end], kv, 0.0, 2.0, name=f"boundary of {end}")
                self.tables.notes[BOUNDARIES] += 1
            if key not in shared:
                self.tables.load(one.record, self.numbers[end], one.number("p0", 0.0), one.number("q0", 0.0))
            pi = Pi(
                one.number("r") / ohm, one.number("x") / ohm,
                complex(one.number("g", 0.0), one.number("b", 0.0)) * ohm, 0j,
            )  # fmt: skip
            self.branch(key, one, (self.at(one), self.numbers[end]), pi, self.rating(key, one, ("",)))

    def _limits(self) -> dict[tuple[str, str], list[tuple[str, float]]]:
        """(element, side) -> its selected permanent limits, as (kind, value)."""
        found: dict[tuple[str, str], list[tuple[str, float]]] = {}
        frame = self.network.get_loading_limits(all_attributes=True).reset_index()
        for place, row in frame_rows(frame).items():
            one = Fields(self.path, f"limit {place + 1}", row)
            if one.number("acceptable_duration", -1) == PERMANENT and one.flag("selected", True):
                key = one.text("element_id"), one.text("side")
                value = one.number("value", math.inf, endless=True)
                found.setdefault(key, []).append((one.text("type"), value))
        return found

    def rating(self, key: str, one: Fields, sides: tuple[str, ...]) -> float:
        """The smallest limit of its sides in MVA, at nominal voltage where it is in amperes; 0 is none."""
        names = {"": "NONE", "1": "ONE", "2": "TWO", "3": "THREE"}
        found = [math.inf]
        for side in sides:
            for kind, value in self.limits.get((key, names[side]), []):
                found.append(value * math.sqrt(3) * self.kv(one, side) / 1000 if kind == "CURRENT" else value)
        return 0.0 if min(found) >= 1e9 else min(found)
