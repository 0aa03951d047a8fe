"""The distance of two networks, element by element: their losses are ε times this."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridError
from gridveil.grid import Grid, Network
from gridveil.wall.cost_numbers import breakpoints, cost_numbers
from gridveil.wall.numbers import Table, decode, encode, logs, rebuilt
from gridveil.wall.protection import QUANTITIES, Element, Group, Protection
from gridveil.wall.shares import on_shares, shares, takes_shares
from gridveil.wall.tables import table


def distance(one: Network, other: Network, protection: Protection) -> Mapping[tuple[Element, int], float]:
    """How far two networks are apart, element by element, in units of α: a loss of ε·d for every element.

    Where they differ in what is public (a number of no protected group, a zero, a sign, an equality), they can be told
    apart whatever the noise, and that is an error.
    """
    one, other = (on_shares(network, protection) for network in (one, other))
    tables = [table(network, protection) for network in (one, other)]
    for name in ("quantity", "member", "sign", "own", "pivot", "element"):
        if not np.array_equal(getattr(tables[0], name), getattr(tables[1], name)):
            raise GridError("the networks differ in structure (a zero, a sign or an equality); they can be told apart")
    _same_curves(one.grid, other.grid, protection)
    _same_rest(tables[0], one, other)
    change = np.abs(encode(tables[0], logs(one)) - encode(tables[1], logs(other))) / tables[0].alpha(protection)
    kinds = {group: next(q.element for q in QUANTITIES if q.group is group) for group in Group}
    if protection.classes:  # a class is numbered by itself, and is no plant of that number
        kinds[Group.COSTS] = Element.COST_CLASS
    result: dict[tuple[Element, int], float] = {}
    for coordinate in np.flatnonzero(change > 1e-12).tolist():
        key = kinds[list(Group)[tables[0].group[coordinate]]], int(tables[0].element[coordinate])
        result[key] = result.get(key, 0.0) + float(change[coordinate])
    return result


def _same_curves(one: Grid, other: Grid, protection: Protection) -> None:
    """Refuse networks whose curves differ in what no plan protects: segments, their breakpoints, reactive power."""
    if one.cost_p.polynomial.shape != other.cost_p.polynomial.shape or not np.array_equal(
        one.cost_p.segment_generator, other.cost_p.segment_generator
    ):
        raise GridError("the networks differ in structure (degrees or segments of costs); they can be told apart")
    bends = shares if takes_shares(protection) else _breakpoints
    if not np.allclose(bends(one), bends(other), rtol=1e-9, atol=1e-12):
        raise GridError("the networks differ in public data (breakpoints of costs); they can be told apart by that")
    for name in ("polynomial", "segment_generator", "segment_slope", "segment_intercept"):
        mine, theirs = getattr(one.cost_q, name), getattr(other.cost_q, name)
        if mine.shape != theirs.shape or not np.allclose(mine, theirs, rtol=1e-9):
            raise GridError("the networks differ in public data (reactive costs); they can be told apart by that")


def _breakpoints(grid: Grid) -> FloatArray:
    return breakpoints(grid.cost_p)


def _same_rest(made: Table, one: Network, other: Network) -> None:
    """Refuse networks that differ in what is not protected."""
    found, theirs = logs(one), logs(other)
    same = rebuilt(made, decode(made, encode(made, found), found), one)
    also = rebuilt(made, decode(made, encode(made, found), theirs), other)
    for part in ("buses", "generators", "lines"):
        for name, values in vars(getattr(same.grid, part)).items():
            if not np.allclose(values, getattr(getattr(also.grid, part), name), rtol=1e-9, atol=1e-12, equal_nan=True):
                raise GridError(f"the networks differ in public data ({part}: {name}); they can be told apart by that")
    for name in ("g", "b", "bc"):
        if not np.allclose(getattr(same.lines, name), getattr(also.lines, name), rtol=1e-9, atol=1e-12):
            raise GridError("the networks differ in public data (lines); they can be told apart by that")
    if not np.allclose(cost_numbers(same.grid.cost_p), cost_numbers(also.grid.cost_p), rtol=1e-9):
        raise GridError("the networks differ in public data (costs); they can be told apart by that")
