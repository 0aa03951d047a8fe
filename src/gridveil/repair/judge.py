"""What is judged of a written point and of written lines: it needs no solver, so that anyone can do it again."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from gridveil.arrays import IntArray
from gridveil.errors import RepairFailed
from gridveil.grid import Grid, LineKind, LineParameters, OperatingPoint, circuits, violations
from gridveil.wall.certificate import Check, CheckKind
from gridveil.wall.draw import Fidelity, Snapshot
from gridveil.wall.facts import Fact, FactKind
from gridveil.wall.protection import Group, Protection
from gridveil.wall.tables import equal_circuits

BALANCE = 1e-6
LIMITS = 1e-5
EQUAL = 1e-8
TOTAL = 1e-6
"""Relative: how exactly totals are kept."""
HEADROOM = 1.05
"""Capacity over demand that a release has at least: with less there is no dispatch."""


def promised(snapshots: Sequence[Snapshot], fidelity: Fidelity) -> list[float]:
    """The tolerance of each snapshot towards the *stated* cost.

    A declared cost is rounded; what the rounding may hide is taken off β, so that β holds towards the true one.
    """
    if not isfinite(fidelity.beta):
        return [inf] * len(snapshots)
    left = [fidelity.beta - one.slack * (1 + fidelity.beta) for one in snapshots]
    if min(left) <= 0:
        raise RepairFailed(
            f"beta = {fidelity.beta:g} is finer than the rounding of the declared cost; publish the cost or raise beta"
        )
    return left


def judge_point(
    grid: Grid,
    lines: LineParameters,
    point: OperatingPoint,
    snapshot: Snapshot,
    fidelity: Fidelity,
    step: int | None = None,
) -> list[Check]:
    """Power balance, limits and, where they are promised, losses of an operating point."""
    judged = violations(grid, lines, point, (snapshot.pd, snapshot.qd))
    others = [value for key, value in vars(judged).items() if not key.startswith("balance")]
    checks = [
        at_most(CheckKind.BALANCE, max(judged.balance_p, judged.balance_q), BALANCE, step),
        at_most(CheckKind.LIMITS, float(np.max(others)), LIMITS, step),
    ]
    if fidelity.loss_within is not None and snapshot.losses is not None:
        ratio = float(point.pg.sum() - snapshot.pd.sum()) / snapshot.losses
        factor = max(ratio, 1 / ratio) if ratio > 0 else np.inf
        checks.append(at_most(CheckKind.LOSSES, factor, fidelity.loss_within, step))
    return checks


def judge_lines(
    grid: Grid, lines: LineParameters, unprotected: Sequence[int] = (), kept: Kept | None = None
) -> list[Check]:
    """Signs of resistances, and twins that are equal; of a joint release, its totals and the order of limits too."""
    twins = equal_circuits(grid) if kept is not None and Group.RATINGS in kept.protection else circuits(grid)
    checks = [
        at_most(CheckKind.SIGNS, _wrong_signs(grid, lines), 0),
        at_most(CheckKind.TWINS, _corridor_spread(grid, lines, unprotected, twins), EQUAL),
    ]
    return checks if kept is None else checks + _judge_totals(grid, kept)


class Kept(NamedTuple):
    """What a joint release keeps beside its cost: what is protected, and the facts, as far as one file shows them."""

    protection: Protection
    facts: Sequence[Fact]
    single: bool


def kept_claims(kept: Kept) -> dict[CheckKind, float]:
    """What is judged of a joint release, in its order, with the limits."""
    claims = {}
    if _shown_totals(kept):
        claims[CheckKind.TOTALS] = TOTAL
    if Group.LIMITS in kept.protection:
        claims[CheckKind.ORDER] = 0.0
    return claims


def _shown_totals(kept: Kept) -> dict[FactKind, float]:
    """Totals that a file has: the demand of a horizon is that of no single step."""
    kinds = (FactKind.DEMAND, FactKind.CAPACITY) if kept.single else (FactKind.CAPACITY,)
    return {one.kind: one.value for one in kept.facts if one.kind in kinds}


def _judge_totals(grid: Grid, kept: Kept) -> list[Check]:
    made, base = grid.generators, grid.base_mva
    demand = float(grid.buses.pd.sum())
    have = {FactKind.DEMAND: demand * base, FactKind.CAPACITY: float(made.pmax[np.isfinite(made.pmax)].sum()) * base}
    least = HEADROOM * (demand + float(grid.buses.gs.sum())) * base
    away = [
        abs(have[kind] / (max(value, least) if kind is FactKind.CAPACITY and kept.single else value) - 1.0)
        for kind, value in _shown_totals(kept).items()
    ]
    wrong = int(np.count_nonzero((made.pmin > made.pmax) | (made.qmin > made.qmax)))
    found = {
        CheckKind.TOTALS: max(away, default=0.0),
        CheckKind.ORDER: float(wrong),
    }
    return [at_most(kind, found[kind], limit) for kind, limit in kept_claims(kept).items()]


def at_most(kind: CheckKind, value: float, limit: float, step: int | None = None) -> Check:
    """A check of a value that may not exceed a limit."""
    shown = float(value) if np.isfinite(value) else None
    return Check(kind, shown, float(limit), bool(value <= limit), step)


def _wrong_signs(grid: Grid, lines: LineParameters) -> int:
    expected = np.array([1, 0, -1])[grid.lines.kind] if grid.n_line else np.zeros(0)
    return int(np.count_nonzero(np.sign(lines.g) != expected))


def _corridor_spread(grid: Grid, lines: LineParameters, unprotected: Sequence[int], twins: IntArray) -> float:
    """Largest relative difference of y between twins: lines of one circuit with the same public signs."""
    counted = np.ones(grid.n_line, dtype=bool)
    counted[list(unprotected)] = False
    counted &= grid.lines.kind != LineKind.NEGATIVE_RESISTANCE
    key = twins * 9 + grid.lines.kind * 3 + np.sign(lines.b).astype(np.int64) + 1
    _, group = np.unique(key[counted], return_inverse=True)
    y = (lines.g + 1j * lines.b)[counted]
    if y.size == 0:
        return 0.0
    first = np.zeros(int(group.max()) + 1, dtype=complex)
    first[group[::-1]] = y[::-1]
    return float(np.max(np.abs(y - first[group]) / np.abs(y)))
