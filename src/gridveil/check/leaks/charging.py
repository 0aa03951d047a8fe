"""Charging: lines of one level have nearly one surge impedance, so bc tells |z|, or at least which lines are alike."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import View
from gridveil.check.leaks.prior import engineering, is_transformer, public_columns, shrunk


def by_charging(held: View) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The engineer's guess with one column more.

    Charging released as it is explains |z| by itself: ln bc is the column. Charging with noise of its own tells |z|
    only as far as lines with like bc/x are alike: the denoised ln(bc/x) is the column.
    """
    seen, lines = held.seen, held.network.lines
    if held.charging_exact:
        column = np.where(seen.has_charging, np.log(np.maximum(np.abs(lines.bc), 1e-12)), 0.0)
    else:
        kind, columns = is_transformer(held.network.grid), public_columns(held.network.grid, seen)
        column = shrunk(seen.charging, held.scale.charging, seen.has_charging, columns, kind, seen.share)
    if np.any(seen.has_charging):
        column = np.where(seen.has_charging, column - column[seen.has_charging].mean(), 0.0)
    return engineering(held, column)
