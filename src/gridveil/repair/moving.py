"""Numbers beside the lines that were drawn and may move: ratings, loads and limits, each its noisy value times e^u.

Totals hold in every network that is tried: loads that draw power are scaled to the demand, units that give it to the
capacity. Numbers that share a coordinate share their u, so that what is equal by structure stays equal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Grid
from gridveil.wall.draw import SIGNIFICANT, Moving
from gridveil.wall.numbers import Table, orderly, with_limits

LIMITS = ("pmax", "pmin", "qmax", "qmin")
NAMES = ("rating", "pd", "qd", *LIMITS)


def numbers(grid: Grid, name: str) -> FloatArray:
    """A quantity of every line, bus or unit."""
    table = {"rating": grid.lines, "pd": grid.buses, "qd": grid.buses}.get(name, grid.generators)
    values: FloatArray = getattr(table, name)
    return values


def with_numbers(grid: Grid, found: dict[str, FloatArray]) -> Grid:
    """The grid with other ratings, loads and limits."""
    return replace(
        with_limits(grid, found),
        buses=replace(grid.buses, pd=found.get("pd", grid.buses.pd), qd=found.get("qd", grid.buses.qd)),
        lines=replace(grid.lines, rating=found.get("rating", grid.lines.rating)),
    )


def moved(grid: Grid, moving: Moving, u: FloatArray) -> Grid:
    """The grid with every moving number times its e^u, limits in order, totals kept, digits as in a file."""
    made, found = moving.table, dict[str, FloatArray]()
    for name in NAMES:
        rows = made.rows(name)
        values = numbers(grid, name).copy()
        values[made.member[rows]] *= np.exp(u[made.own[rows]])
        found[name] = values
    return written(to_totals(orderly(with_numbers(grid, found), made), moving), made)


def logarithms(grid: Grid, moving: Moving, other: Grid) -> FloatArray:
    """The u of another network."""
    made = moving.table
    result = np.zeros(made.size)
    count = np.maximum(np.bincount(made.own, minlength=made.size), 1)
    for name in NAMES:
        rows = made.rows(name)
        member = made.member[rows]
        share = np.log(numbers(other, name)[member] / numbers(grid, name)[member])
        np.add.at(result, made.own[rows], share)
    return np.asarray(result / count)


def to_totals(grid: Grid, moving: Moving) -> Grid:
    """Loads that draw power and units that give it, scaled to the totals; all numbers of a bus or unit follow."""
    if moving.demand is not None:
        drawing = grid.buses.pd > 0
        factor = np.where(drawing, _factor(grid.buses.pd, moving.demand), 1.0)
        grid = with_numbers(grid, {"pd": grid.buses.pd * factor, "qd": grid.buses.qd * factor})
    if moving.capacity is not None:
        units = grid.generators
        giving = (units.pmax > 0) & np.isfinite(units.pmax)
        factor = np.where(giving, _factor(units.pmax, moving.capacity), 1.0)
        grid = with_limits(grid, {name: getattr(units, name) * factor for name in LIMITS})
    return grid


def _factor(values: FloatArray, total: float) -> float:
    """By which positive values are multiplied so that all sum up to a total."""
    positive = finite_sum(values[values > 0])
    return (total - finite_sum(values[values < 0])) / positive if positive > 0 else 1.0


def finite_sum(values: FloatArray) -> float:
    """The sum of what is finite: a unit without a limit is no part of a capacity."""
    return float(values[np.isfinite(values)].sum())


def written(grid: Grid, made: Table) -> Grid:
    """Moving numbers with the digits of a released file, which holds them in its own unit."""
    found = dict[str, FloatArray]()
    for name in NAMES:
        member, values = made.member[made.rows(name)], numbers(grid, name).copy()
        shown = [float(f"{value * grid.base_mva:.{SIGNIFICANT - 1}e}") for value in values[member].tolist()]
        values[member] = np.array(shown) / grid.base_mva
        found[name] = values
    return with_numbers(grid, found)
