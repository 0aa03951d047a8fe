"""Charging: lines of one level have nearly one surge impedance, so bc tells x, or at least which lines are alike."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import View
from gridveil.check.leaks.prior import CHARGINGS, engineering, public_columns, shrunk
from gridveil.grid import is_transformer


def by_charging(held: View) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ln|z|, ln(x/r) and ln(bc/x) of every line, from its charging.

    Charging released as it is, over the usual bc/x of such lines, is x. Charging with noise of its own tells |z| only
    as far as lines with like bc/x are alike: the denoised ln(bc/x) is one column more of the engineer's.
    """
    seen, grid = held.seen, held.network.grid
    columns = public_columns(grid, seen, rating=False)
    noise, kind = held.noise.charging, is_transformer(grid)
    usual = shrunk(seen.charging, noise, seen.has_charging, columns, kind, seen.share, CHARGINGS)
    if not held.charging_exact:
        middle = usual[seen.has_charging].mean() if np.any(seen.has_charging) else 0.0
        return engineering(held, np.where(seen.has_charging, usual - middle, 0.0))
    size, ratio, _ = engineering(held)
    log_bc = np.log(np.where(seen.has_charging, np.abs(held.network.lines.bc), 1.0))
    flat = np.where(seen.has_ratio, 0.5 * np.log1p(np.exp(-2.0 * ratio)), 0.0)  # ln(|z|/x)
    return np.where(seen.has_charging, log_bc - usual + flat, size), ratio, usual
