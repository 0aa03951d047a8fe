"""Piecewise costs where limits or costs are protected: breakpoints are public, as shares of pmax with two decimals.

In MW they would tell the limit that they are a part of, and with all their digits of which numbers they are ratios. So
every network that such a plan draws from, asks or makes has curves that bend at rounded shares, the true one too.
Slopes, and what the first segment costs at zero, stay; where they are public they have few digits, for a slope is a
quotient of differences, and tells by many of which powers.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor, log10

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.errors import GridError
from gridveil.grid import CostCurves, Grid, Network
from gridveil.wall.cost_numbers import breakpoints, meeting_at
from gridveil.wall.facts import significant
from gridveil.wall.protection import Group, Protection

DECIMALS, TIE = 2, 1e-6
"""Of a share; and how near to the middle between two, in units of the last one, is the middle. 0.625 of any pmax goes
up, whatever the last digits of the quotient: these would tell it."""
ALIKE = 1e-6
"""Of a curve's steepest slope: nearer ones are equal, as for who reads a case file."""
DIGITS, PUBLIC_DIGITS = 12, 4
"""Of slopes and of what curves come to at zero, where noise is put on them and where they are public."""
LOST = 3
"""Digits of a unit's cost that are lost where its cost at zero is computed from points."""


def takes_shares(protection: Protection) -> bool:
    """Does a plan move breakpoints to their public shares?"""
    return Group.LIMITS in protection or Group.COSTS in protection


def on_shares(network: Network, protection: Protection) -> Network:
    """The network as such a plan takes it; itself where there is nothing to round. What is on its shares stays."""
    grid = network.grid
    if not takes_shares(protection) or not len(grid.cost_p.segment_generator):
        return network
    digits = DIGITS if Group.COSTS in protection else PUBLIC_DIGITS
    grid = replace(grid, cost_p=_some(grid.cost_p, _told_apart(_plain(grid, digits))))
    grid = replace(grid, cost_p=_some(grid.cost_p, _wide(grid.cost_p, shares(grid))))
    return Network(at_shares(replace(grid, cost_p=_plain(grid, digits)), shares(grid)), network.lines)


def shares(grid: Grid) -> FloatArray:
    """Where every segment begins, as a share of its unit's pmax; 0 for the first of a curve, which begins nowhere."""
    unit = 10.0**DECIMALS
    return np.asarray(np.floor(breakpoints(grid.cost_p) / _pmax(grid) * unit + 0.5 + TIE) / unit)


def at_shares(grid: Grid, share: FloatArray) -> Grid:
    """The grid whose segments begin at these shares of its own pmax."""
    return replace(grid, cost_p=meeting_at(grid.cost_p, share * _pmax(grid))) if len(share) else grid


def _pmax(grid: Grid) -> FloatArray:
    """pmax of every segment's unit."""
    pmax = grid.generators.pmax[grid.cost_p.segment_generator]
    if np.any((pmax == 0) | ~np.isfinite(pmax)):
        raise GridError(
            "a unit with a piecewise cost has a pmax that is zero or infinite, of which its breakpoints cannot be "
            "shares: give it a polynomial cost"
        )
    return pmax


def _some(curves: CostCurves, kept: BoolArray) -> CostCurves:
    """The curves of some of their segments."""
    return CostCurves(
        curves.polynomial, curves.segment_generator[kept], curves.segment_slope[kept], curves.segment_intercept[kept]
    )


def _told_apart(curves: CostCurves) -> BoolArray:
    """Segments but for those that go on as the one before: nothing tells where such a one begins."""
    unit, slope, alike = curves.segment_generator, curves.segment_slope, ALIKE * _steepest(curves)
    kept = np.ones(len(slope), dtype=bool)
    last = 0
    for index in range(1, len(slope)):
        kept[index] = unit[index] != unit[last] or slope[index] - slope[last] > alike[index]
        last = index if kept[index] else last
    return kept


def _steepest(curves: CostCurves) -> FloatArray:
    """The steepest slope of the curve that every segment belongs to."""
    by_unit = np.zeros(len(curves.polynomial))
    np.maximum.at(by_unit, curves.segment_generator, np.abs(curves.segment_slope))
    return np.asarray(by_unit[curves.segment_generator])


def _wide(curves: CostCurves, share: FloatArray) -> BoolArray:
    """Segments but for those that end where they begin."""
    later = np.diff(curves.segment_generator, prepend=-1) == 0
    ends = np.append(later[1:] & (share[1:] == share[:-1]), False)
    return np.asarray(~(later & ends))


def _plain(grid: Grid, digits: int) -> CostCurves:
    """Slopes and intercepts with so many digits, so that equal ones are equal, and one that is nothing is 0.

    First they lose the digits of how they were computed, which would decide how the middle between two is rounded;
    by the curve alone, for where digits end must not tell a limit.
    """
    curves = grid.cost_p
    slope = [significant(significant(one, DIGITS), digits) for one in curves.segment_slope.tolist()]
    size = np.maximum(np.abs(curves.segment_intercept), _steepest(curves))
    exact = [
        round(one, DIGITS - LOST - floor(log10(large))) if large > 0 else 0.0
        for one, large in zip(curves.segment_intercept.tolist(), size.tolist(), strict=True)
    ]
    return replace(
        curves,
        segment_slope=np.array(slope),
        segment_intercept=np.array([significant(one, digits) for one in exact]),
    )
