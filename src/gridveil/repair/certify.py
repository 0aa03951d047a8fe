"""`certify`: every promise about a released network, recomputed from what was written, by code that is not the model.

The certificate compares with public facts and noisy values only; no check compares with the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gridveil.grid import Grid, LineParameters, Multipliers, Network, OperatingPoint
from gridveil.nlp.opf import Near, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.repair.bounds import parameter_box
from gridveil.repair.judge import EQUAL, Kept, at_most, judge_lines, judge_point, promised
from gridveil.wall.certificate import Basis, Certificate, Check, CheckKind, UsedStep
from gridveil.wall.draw import Fidelity, NoisyLines, Snapshot


def certify(
    grid: Grid,
    lines: LineParameters,
    points: Sequence[OperatingPoint | None],
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    unprotected: Sequence[int] = (),
    multipliers: Sequence[Multipliers] | None = None,
    kept: Kept | None = None,
) -> Certificate:
    """Check a network as it was read back from its file; `points` are the operating points written with it.

    Where a snapshot has no written point, the one that its AC-OPF finds is judged. The AC-OPF is solved anew, from a
    flat start or, with the `multipliers` of the written points, from these first: the repair has solved the same
    network from the flat start just before, and whether a point is optimal is seen at once. `kept` is what a joint
    release keeps beside its cost.
    """
    checks, used = list[Check](), list[UsedStep]()
    model = opf_model(grid)
    tolerance = promised(snapshots, fidelity)
    known: Sequence[Multipliers | None] = multipliers or [None] * len(points)
    for snapshot, written, allowed, at in zip(snapshots, points, tolerance, known, strict=True):
        demand = Demand(snapshot.pd, snapshot.qd)
        step = snapshot.step if len(points) > 1 else None
        near = None if written is None or at is None else Near(written, at)
        optimum = solve_opf(model, lines, demand, near=near)
        checks += judge_point(grid, lines, written or optimum.point, snapshot, fidelity, step)
        solved = optimum.status is Status.OPTIMAL
        away = abs(optimum.cost - snapshot.cost) / abs(snapshot.cost) if solved else np.inf
        checks.append(at_most(CheckKind.COST, away, allowed, step))
        used.append(UsedStep(snapshot.step, float(optimum.cost) if solved else None))
    checks += judge_lines(grid, lines, unprotected, kept)
    return Certificate(tuple(checks), used=tuple(used))


def bounds_check(grid: Grid, network: Network, noisy: NoisyLines, factor: float) -> Check:
    """How far the released parameters lie outside their box, relative to its ends; needs the noisy values, those beside
    the lines in a `grid`."""
    outside = parameter_box(grid, noisy, factor).outside(network)
    return replace(at_most(CheckKind.BOUNDS, outside, EQUAL), basis=Basis.WORD)
