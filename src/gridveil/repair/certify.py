"""`certify`: every promise about a released network, recomputed from what was written, by code that is not the model.

The certificate compares with public facts and noisy values only; no check compares with the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gridveil.grid import LineKind, LineParameters, OperatingPoint, PublicGrid, circuits, violations
from gridveil.grid.profile import Profile
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.repair.bounds import parameter_box
from gridveil.repair.repair import promised
from gridveil.wall.certificate import Basis, Certificate, Check, CheckKind, UnusedStep
from gridveil.wall.draw import Fidelity, NoisyLines, Snapshot

BALANCE = 1e-6
LIMITS = 1e-5
EQUAL = 1e-8


def certify(
    grid: PublicGrid,
    lines: LineParameters,
    points: Sequence[OperatingPoint | None],
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    unprotected: Sequence[int] = (),
    *,
    from_written: bool = False,
) -> Certificate:
    """Check a network as it was read back from its file; `points` are the operating points written with it.

    Where a snapshot has no written point, the one that its AC-OPF finds is judged. The AC-OPF is solved anew, from a
    flat start or, with `from_written`, from the written point first: the repair has solved the same network from the
    flat start just before.
    """
    checks: list[Check] = []
    model = opf_model(grid)
    tolerance = promised(snapshots, fidelity)
    for snapshot, written, allowed in zip(snapshots, points, tolerance, strict=True):
        demand = Demand(snapshot.pd, snapshot.qd)
        step = snapshot.step if len(points) > 1 else None
        optimum = solve_opf(model, lines, demand, near=written if from_written else None)
        point = written or optimum.point
        judged = violations(grid, lines, point, demand)
        balance = max(judged.balance_p, judged.balance_q)
        others = [value for key, value in vars(judged).items() if not key.startswith("balance")]
        checks.append(_at_most(CheckKind.BALANCE, balance, BALANCE, step))
        checks.append(_at_most(CheckKind.LIMITS, float(np.max(others)), LIMITS, step))
        solved = optimum.status is Status.OPTIMAL
        away = abs(optimum.cost - snapshot.cost) / abs(snapshot.cost) if solved else np.inf
        checks.append(_at_most(CheckKind.COST, away, allowed, step))
        if fidelity.loss_within is not None and snapshot.losses is not None:
            ratio = float(point.pg.sum() - snapshot.pd.sum()) / snapshot.losses
            factor = max(ratio, 1 / ratio) if ratio > 0 else np.inf
            checks.append(_at_most(CheckKind.LOSSES, factor, fidelity.loss_within, step))
    checks.append(_at_most(CheckKind.SIGNS, _wrong_signs(grid, lines), 0))
    checks.append(_at_most(CheckKind.TWINS, _corridor_spread(grid, lines, unprotected), EQUAL))
    return Certificate(tuple(checks))


def report_unused(
    grid: PublicGrid, lines: LineParameters, profile: Profile, used: Sequence[int], costs: Mapping[int, float]
) -> tuple[UnusedStep, ...]:
    """The AC-OPF of the released network at every step but the used ones; `costs` are public costs, if any, by step."""
    model, report = opf_model(grid), []
    for index in np.flatnonzero(~np.isin(profile.step, used)).tolist():
        step = int(profile.step[index])
        optimum = solve_opf(model, lines, Demand(profile.pd[index], profile.qd[index]))
        solved, public = optimum.status is Status.OPTIMAL, costs.get(step)
        away = None if public is None or not solved else abs(optimum.cost - public) / abs(public)
        violation, cost = (
            float(value) if np.isfinite(value) else None for value in (optimum.violations.largest, optimum.cost)
        )
        report.append(UnusedStep(step, str(optimum.status), violation, cost, away))
    return tuple(report)


def bounds_check(grid: PublicGrid, lines: LineParameters, noisy: NoisyLines, factor: float) -> Check:
    """How far the released parameters lie outside their box, relative to its ends; needs the noisy values."""
    box = parameter_box(grid, noisy, factor)
    released = np.zeros(len(box.target))
    released[box.columns] = np.stack([lines.g, lines.b, lines.bc])
    size = np.maximum(np.abs(box.low), np.abs(box.high)) + 1e-12
    outside = np.maximum(box.low - released, released - box.high) / size
    return replace(_at_most(CheckKind.BOUNDS, float(np.max(outside, initial=0.0)), EQUAL), basis=Basis.WORD)


def _at_most(kind: CheckKind, value: float, limit: float, step: int | None = None) -> Check:
    shown = float(value) if np.isfinite(value) else None
    return Check(kind, shown, float(limit), bool(value <= limit), step)


def _wrong_signs(grid: PublicGrid, lines: LineParameters) -> int:
    expected = np.array([1, 0, -1])[grid.lines.kind] if grid.n_line else np.zeros(0)
    return int(np.count_nonzero(np.sign(lines.g) != expected))


def _corridor_spread(grid: PublicGrid, lines: LineParameters, unprotected: Sequence[int]) -> float:
    """Largest relative difference of y between twins: lines of one circuit with the same public signs."""
    counted = np.ones(grid.n_line, dtype=bool)
    counted[list(unprotected)] = False
    counted &= grid.lines.kind != LineKind.NEGATIVE_RESISTANCE
    key = circuits(grid) * 9 + grid.lines.kind * 3 + np.sign(lines.b).astype(np.int64) + 1
    _, group = np.unique(key[counted], return_inverse=True)
    y = (lines.g + 1j * lines.b)[counted]
    if y.size == 0:
        return 0.0
    first = np.zeros(int(group.max()) + 1, dtype=complex)
    first[group[::-1]] = y[::-1]
    return float(np.max(np.abs(y - first[group]) / np.abs(y)))
