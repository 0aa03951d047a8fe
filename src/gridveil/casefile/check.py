"""What a case must satisfy before it can be a network, each fault reported at its own line or record of the file.

A `Where` knows the place: lines of a `.m` file here, records of other formats in `gridveil.formats`. Element by element
only where the format demands it of every row (references, statuses); limits and impedances are checked for elements in
service, because files are full of placeholders in the rows that are switched off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.columns import column_name
from gridveil.casefile.numbers import row_line
from gridveil.casefile.scan import Assignment, Source
from gridveil.casefile.service import branches_in_service, bus_rows, buses_in_service, generators_in_service
from gridveil.errors import CaseFileError

LARGEST_COST = 1e100
"""Of a coefficient: in per unit it is still a number."""


class Where(Protocol):
    """The place of a fault: a row of a table, or the table (`row` is None)."""

    def has(self, table: str) -> bool:
        """Whether the file has such a table, be it without rows."""

    def fail(self, table: str, row: int | None, problem: str, advice: str) -> NoReturn:
        """Raise `CaseFileError`."""


@dataclass(frozen=True)
class InText:
    """Places in a MATPOWER file."""

    source: Source
    fields: dict[str, Assignment]

    def has(self, table: str) -> bool:
        """As `Where.has`."""
        return table in self.fields

    def fail(self, table: str, row: int | None, problem: str, advice: str) -> NoReturn:
        """As `Where.fail`, with the line."""
        item = self.fields[table]
        if row is None:
            self.source.fail(item.start, problem, advice)
        problem = f"{problem} ({table} row {row + 1})"
        raise CaseFileError(self.source.path, row_line(self.source, item, row), problem, advice)


@dataclass(frozen=True)
class _Checker:
    """Raises the first fault of a table, at the place of the first bad row."""

    where: Where

    def fail(self, table: str, row: int | None, problem: str, advice: str) -> NoReturn:
        self.where.fail(table, row, problem, advice)

    def refuse(self, table: str, bad: BoolArray, problem: str, advice: str) -> None:
        """Fail at the first row where `bad` holds."""
        rows = np.flatnonzero(bad)
        if rows.size:
            self.fail(table, int(rows[0]), problem, advice)


def check_case(case: Case, where: Where) -> None:
    """Raise `CaseFileError` unless the tables describe a network this package can represent."""
    check = _Checker(where)
    for name in ("bus", "gen", "branch", "gencost", "dcline"):
        if where.has(name):
            _check_width(check, name, case)
    if len(case.bus) == 0:
        check.fail("bus", None, "mpc.bus has no rows", "a network needs at least one bus")
    _check_buses(check, case)
    _check_generators(check, case)
    _check_branches(check, case)
    _check_costs(check, case)
    _check_dclines(check, case)


def _check_width(check: _Checker, name: str, case: Case) -> None:
    table = case.extras[name] if name == "dcline" else getattr(case, name)
    if not isinstance(table, np.ndarray):
        check.fail(name, None, f"mpc.{name} is not a table of numbers", "write it as a matrix")
    least, most = c.WIDTHS[name]
    width = table.shape[1]
    half = name == "branch" and width == c.ANGLE_MIN + 1  # one angle limit of two
    if len(table) and (half or not (least <= width and (most is None or width <= most))):
        span = f"{least} to {most}" if most else f"at least {least}"
        check.fail(name, 0, f"mpc.{name} has {width} columns where the format has {span}", "check the table's columns")


def _check_buses(check: _Checker, case: Case) -> None:
    bus = case.bus
    number = bus[:, c.BUS_NUMBER]
    whole = np.isfinite(number) & (number > 0) & (number < 2**53) & (number == np.floor(number))
    check.refuse("bus", ~whole, "a bus number is not a positive integer", "number the buses 1, 2, 3, ...")
    order = np.argsort(number, kind="stable")
    repeated = np.zeros(len(number), dtype=bool)
    repeated[order[1:]] = number[order[1:]] == number[order[:-1]]
    check.refuse("bus", repeated, "this bus number stands twice in the table", "give every bus its own number")
    check.refuse("bus", ~_one_of(bus[:, c.BUS_TYPE], 1, 2, 3, 4), "the bus type is not 1, 2, 3 or 4", "correct it")
    live = buses_in_service(case)
    if not np.any(live):
        check.fail("bus", None, "every bus is isolated (type 4)", "a network needs one bus in service")
    for column in (c.PD, c.QD, c.GS, c.BS, c.BASE_KV):
        _check_finite(check, "bus", bus, column, live)
    _check_limits(check, "bus", bus, c.VMIN, c.VMAX, live)
    check.refuse("bus", live & (bus[:, c.VMAX] <= 0), "Vmax is not positive", "give the voltage limit in per unit")
    check.refuse("bus", live & ~np.isfinite(bus[:, c.VMAX]), "Vmax is not finite", "give the voltage limit in per unit")


def _check_generators(check: _Checker, case: Case) -> None:
    gen = case.gen
    if len(gen) == 0:
        return
    _check_bus_exists(check, "gen", case, c.GEN_BUS)
    check.refuse("gen", np.isnan(gen[:, c.GEN_STATUS]), "the generator's status is NaN", "write 1 or 0")
    live = generators_in_service(case)
    _check_limits(check, "gen", gen, c.PMIN, c.PMAX, live)
    _check_limits(check, "gen", gen, c.QMIN, c.QMAX, live)


def _check_branches(check: _Checker, case: Case) -> None:
    branch = case.branch
    if len(branch) == 0:
        return
    for column in (c.FROM, c.TO):
        _check_bus_exists(check, "branch", case, column)
    check.refuse("branch", np.isnan(branch[:, c.BRANCH_STATUS]), "the line's status is NaN", "write 1 or 0")
    live = branches_in_service(case)
    loop = live & (branch[:, c.FROM] == branch[:, c.TO])
    check.refuse("branch", loop, "the line joins a bus to itself", "delete it or correct one end")
    for column in (c.R, c.X, c.B, c.RATIO, c.SHIFT):
        _check_finite(check, "branch", branch, column, live)
    check.refuse(
        "branch",
        live & (branch[:, c.R] == 0) & (branch[:, c.X] == 0),
        "the line has r = x = 0, an infinite admittance",
        "merge its two buses, or give the small reactance it has",
    )
    check.refuse("branch", live & (branch[:, c.RATIO] < 0), "the tap ratio is negative", "correct it; 0 means 1")
    check.refuse(
        "branch",
        live & ~_ordinary(branch[:, c.R], branch[:, c.X], branch[:, c.RATIO]),
        "r, x or the tap ratio is so large or small that the line's admittance is not a finite number",
        "give values in per unit",
    )
    rating = branch[:, c.RATE_A]
    check.refuse("branch", live & ~(rating >= 0), "rateA is negative or NaN", "give the rating in MVA; 0 means none")
    if branch.shape[1] > c.ANGLE_MAX:
        _check_limits(check, "branch", branch, c.ANGLE_MIN, c.ANGLE_MAX, live)


def _check_costs(check: _Checker, case: Case) -> None:
    cost, generators = case.gencost, len(case.gen)
    if not check.where.has("gencost"):
        return
    if len(cost) not in (generators, 2 * generators):
        check.fail(
            "gencost",
            None,
            f"mpc.gencost has {len(cost)} rows for {generators} generators",
            "give one row per generator, or two blocks: active, then reactive",
        )
    if generators == 0:
        return
    live = np.resize(generators_in_service(case), len(cost))
    model, count = cost[:, c.COST_MODEL], cost[:, c.COST_COUNT]
    check.refuse(
        "gencost", live & ~_one_of(model, c.PIECEWISE, c.POLYNOMIAL), "the cost model is not 1 or 2", "correct it"
    )
    whole = np.isfinite(count) & (count >= 1) & (count == np.floor(count))
    check.refuse("gencost", live & ~whole, "the number of cost terms is not a positive integer", "correct column 4")
    needed = np.where(live, np.where(model == c.PIECEWISE, 2 * count, count), 0)
    short = c.COST_FIRST - 1 + needed >= cost.shape[1]
    check.refuse("gencost", short, "the row has fewer cost columns than it announces", "correct column 4 or add them")
    for row in np.flatnonzero(live & ~np.all(np.isfinite(cost), axis=1)):
        terms = cost[row, c.COST_FIRST : c.COST_FIRST + int(needed[row])]
        if not np.all(np.isfinite(terms)):
            check.fail("gencost", int(row), "a cost coefficient is Inf or NaN", "write a plain number")
    used = np.arange(cost.shape[1] - c.COST_FIRST) < needed[:, None]
    huge = np.any(used & (np.abs(cost[:, c.COST_FIRST :]) > LARGEST_COST), axis=1)
    check.refuse("gencost", huge, f"a cost coefficient is beyond {LARGEST_COST:g}", "give costs per hour in money")
    for row in np.flatnonzero(live & (model == c.PIECEWISE)):
        points = cost[row, c.COST_FIRST : c.COST_FIRST + int(needed[row])].reshape(-1, 2)
        _check_piecewise(check, int(row), points)


def _check_piecewise(check: _Checker, row: int, points: FloatArray) -> None:
    if len(points) < 2:
        check.fail("gencost", row, "a piecewise-linear cost needs two points at the least", "add a point")
    steps = np.diff(points, axis=0)
    if np.any(steps[:, 0] <= 0):
        check.fail("gencost", row, "the powers of a piecewise-linear cost do not increase", "sort its points")
    slopes = steps[:, 1] / steps[:, 0]
    # Costs are written with few digits, so equal slopes may seem to fall by the rounding of the points.
    if np.any(np.diff(slopes) < -1e-6 * np.max(np.abs(slopes))):
        check.fail(
            "gencost", row, "the piecewise-linear cost is not convex (a slope falls)",
            "a continuous optimal power flow cannot represent it: give its convex hull",
        )  # fmt: skip


def _check_dclines(check: _Checker, case: Case) -> None:
    dcline = case.extras.get("dcline")
    if isinstance(dcline, np.ndarray) and len(dcline):
        check.refuse(
            "dcline",
            dcline[:, c.DCLINE_STATUS] != 0,
            "a DC line is in service and this model has none",
            "switch it off (status 0), or replace it by a generator at each end",
        )


def _check_bus_exists(check: _Checker, table: str, case: Case, column: int) -> None:
    """The number itself is not shown: where a row has lost a cell, it is another column's value."""
    nowhere = bus_rows(case, getattr(case, table)[:, column]) < 0
    problem = f"{column_name(table, column)} names a bus that is not in mpc.bus"
    check.refuse(table, nowhere, problem, "correct the number or add the bus")


def _one_of(values: FloatArray, *allowed: int) -> BoolArray:
    result: BoolArray = np.logical_or.reduce([values == value for value in allowed])
    return result


def _ordinary(r: FloatArray, x: FloatArray, ratio: FloatArray) -> BoolArray:
    """Whether admittance and inverse tap are finite and not both zero."""
    with np.errstate(all="ignore"):
        square = r * r + x * x
        g, b, inverse = r / square, x / square, 1.0 / np.where(ratio == 0, 1.0, ratio)
        size = np.hypot(g, b)
        return np.isfinite(size) & (size > 0) & np.isfinite(inverse * inverse)


def _check_finite(check: _Checker, table: str, values: FloatArray, column: int, live: BoolArray) -> None:
    name = column_name(table, column)
    check.refuse(table, live & ~np.isfinite(values[:, column]), f"{name} is Inf or NaN", "write a plain number")


def _check_limits(check: _Checker, table: str, values: FloatArray, low: int, high: int, live: BoolArray) -> None:
    names = column_name(table, low), column_name(table, high)
    nan = np.isnan(values[:, low]) | np.isnan(values[:, high])
    check.refuse(table, live & nan, f"{names[0]} or {names[1]} is NaN", "write a number, Inf or -Inf")
    endless = live & ((values[:, low] == np.inf) | (values[:, high] == -np.inf))
    check.refuse(table, endless, f"{names[0]} is Inf or {names[1]} is -Inf", "write -Inf below and Inf above")
    crossed = live & (values[:, low] > values[:, high])
    check.refuse(table, crossed, f"{names[0]} is above {names[1]}", "correct one of the two limits")
