"""A network's protected numbers as a table of coordinates: the u of every proof. Pure functions of networks.

A coordinate is the mean of ln|number| over the numbers that share it, plus `power` times that of its pivot: −1 makes it
a ratio, +1 a product. Which numbers there are, their signs, and which of an element's numbers are equal is structure:
public, because noise never changes it. Equal numbers share a coordinate, for two noisy views of one halve the variance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import FloatArray, IntArray, frozen
from gridveil.grid import Generators, Grid, LineParameters, Network
from gridveil.wall.coordinates import coordinates, from_coordinates
from gridveil.wall.cost_numbers import cost_numbers, with_cost_numbers
from gridveil.wall.protection import PLACE, Group, Protection

Logs = dict[str, FloatArray]
"""ln|number| of every quantity, by line, bus, unit, or entry of a cost curve; 0 where there is none."""

APART = 0.99
"""Of a larger limit, which the smaller one of a unit may be after noise: their order is structure."""


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers by row (`quantity`, `member`, `sign`, the coordinate they `own`), and coordinates (`pivot` or −1, `power`
    of it, `group`, and the `element` of their kind that they belong to)."""

    quantity: IntArray
    member: IntArray
    sign: FloatArray
    own: IntArray
    pivot: IntArray
    power: FloatArray
    group: IntArray
    element: IntArray

    def __post_init__(self) -> None:
        for name in ("quantity", "member", "own", "pivot", "group", "element"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name in ("sign", "power"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def size(self) -> int:
        """How many coordinates there are, and draws."""
        return len(self.pivot)

    def rows(self, name: str) -> IntArray:
        """Rows of a quantity."""
        return np.flatnonzero(self.quantity == PLACE[name])

    def alpha(self, protection: Protection) -> FloatArray:
        """α of every coordinate."""
        return np.array([protection.alpha.get(group, np.nan) for group in Group])[self.group]


# ---- numbers and their logarithms ----


def logs(network: Network) -> Logs:
    """ln|v| of every number that may be protected."""
    grid, lines = network
    limits = {name: getattr(grid.generators, name) for name in ("pmax", "pmin", "qmax", "qmin")}
    numbers = {
        "rating": grid.lines.rating,
        "pd": grid.buses.pd,
        "qd": grid.buses.qd,
        "cost": cost_numbers(grid.cost_p),
        **limits,
    }
    z, xr, bcx = coordinates(lines)
    return {"z": z, "xr": xr, "bcx": bcx, **{name: _log(values) for name, values in numbers.items()}}


def rebuilt(table: Table, found: Logs, network: Network) -> Network:
    """The network with its protected numbers as given by their logarithms, their signs by the table."""
    grid, lines = network
    have = {name: (rows, table.member[rows]) for name in PLACE if len(rows := table.rows(name))}

    def changed(name: str, values: FloatArray) -> FloatArray:
        if name not in have:
            return values
        rows, member = have[name]
        result = np.array(values, dtype=np.float64)
        result[member] = table.sign[rows] * np.exp(found[name][member])
        return result

    if "z" in have:
        lines = from_coordinates(found["z"], found["xr"], found["bcx"], *_signs(lines))
    limits = {name: changed(name, getattr(grid.generators, name)) for name in ("pmin", "pmax", "qmin", "qmax")}
    cost = grid.cost_p
    if "cost" in have:
        cost = with_cost_numbers(cost, changed("cost", cost_numbers(cost)))
    grid = replace(
        grid,
        buses=replace(grid.buses, pd=changed("pd", grid.buses.pd), qd=changed("qd", grid.buses.qd)),
        lines=replace(grid.lines, rating=changed("rating", grid.lines.rating)),
        cost_p=cost,
    )
    return Network(with_limits(grid, limits), lines)


def _signs(lines: LineParameters) -> tuple[FloatArray, FloatArray, FloatArray]:
    r, x = lines.impedance()
    return np.sign(r), np.sign(x), np.sign(lines.bc)


def _log(values: FloatArray) -> FloatArray:
    there = (values != 0) & np.isfinite(values)
    return np.where(there, np.log(np.where(there, np.abs(values), 1.0)), 0.0)


# ---- coordinates ----


def encode(made: Table, found: Logs) -> FloatArray:
    """All coordinates as one vector."""
    level = _levels(made, found)
    return np.asarray(level + made.power * np.where(made.pivot < 0, 0.0, level[made.pivot]))


def decode(made: Table, u: FloatArray, found: Logs) -> Logs:
    """The logarithms that have these coordinates; what is not in the table is as it was `found`."""
    level = np.where(made.pivot < 0, u, 0.0)
    level = np.where(made.pivot < 0, u, u - made.power * level[made.pivot])
    result = {name: values.copy() for name, values in found.items()}
    for name, values in result.items():
        rows = made.rows(name)
        values[made.member[rows]] = level[made.own[rows]]
    return result


def _levels(made: Table, found: Logs) -> FloatArray:
    """The mean logarithm of every coordinate's numbers."""
    values = np.zeros(len(made.quantity))
    for name, numbers in found.items():
        rows = made.rows(name)
        values[rows] = numbers[made.member[rows]]
    return np.bincount(made.own, weights=values, minlength=made.size) / np.maximum(
        np.bincount(made.own, minlength=made.size), 1
    )


def orderly(grid: Grid, made: Table) -> Grid:
    """Limits of units that noise has put in the wrong order, put right: the one nearer to zero is moved inside the
    other. What is equal by structure stays equal."""
    units = grid.generators
    changed = dict[str, FloatArray]()
    for kind in "pq":
        low, high = getattr(units, f"{kind}min").copy(), getattr(units, f"{kind}max").copy()
        own = np.full((2, grid.n_generator), -1)
        for k, name in enumerate((f"{kind}min", f"{kind}max")):
            rows = made.rows(name)
            own[k, made.member[rows]] = made.own[rows]
        wrong = (low > high) & ((own[0] != own[1]) | (own[0] < 0))
        low[wrong & (high > 0)] = APART * high[wrong & (high > 0)]
        high[wrong & (high <= 0)] = APART * low[wrong & (high <= 0)]
        changed |= {f"{kind}min": low, f"{kind}max": high}
    return with_limits(grid, changed)


def with_limits(grid: Grid, limits: Mapping[str, FloatArray]) -> Grid:
    """The grid with other limits of its units."""
    have = {name: limits.get(name, getattr(grid.generators, name)) for name in ("pmin", "pmax", "qmin", "qmax")}
    return replace(grid, generators=Generators(grid.generators.bus, **have))
