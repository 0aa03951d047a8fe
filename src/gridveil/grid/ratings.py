"""Ratings that were made from impedances, read backwards: public libraries derive missing ratings by known formulas.

The *bound* is the largest apparent power that voltage limits and an angle difference θ allow a line:
max(v)·√(v_f² + v_t² − 2·v_f·v_t·cos θ)/|z| (documentation of PGLib-OPF and NESTA). A rating made by it tells |z|.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.grid.network import Grid

ANGLES = (15.0, 30.0)
"""Angle differences, in degrees, by which libraries have made ratings."""


def rated(grid: Grid) -> BoolArray:
    """Lines with a rating."""
    return np.asarray(np.isfinite(grid.lines.rating) & (grid.lines.rating > 0))


def bound_size(grid: Grid, theta: FloatArray) -> FloatArray:
    """ln|z| of every line if its rating is the bound at θ (by line, in radians); NaN where it has none."""
    ends, known = grid.lines, rated(grid)
    v_from, v_to = grid.buses.vmax[ends.bus_from], grid.buses.vmax[ends.bus_to]
    chord = np.sqrt(v_from**2 + v_to**2 - 2 * v_from * v_to * np.cos(theta))
    power = np.log(np.maximum(v_from, v_to) * chord)
    return np.where(known, power - np.log(np.where(known, ends.rating, 1.0)), np.nan)


def likely_angles(grid: Grid) -> list[FloatArray]:
    """Angle differences to try, by line: the usual ones, and the file's own limits where they are others."""
    limit = np.abs(grid.lines.angle_max)
    own = np.where((limit > 0) & (limit <= np.pi / 2), limit, np.deg2rad(ANGLES[0]))
    angles = [np.full(grid.n_line, np.deg2rad(one)) for one in ANGLES]
    return angles if any(np.allclose(own, one) for one in angles) else [*angles, own]
