"""`repair`: from noisy lines to a network that is AC-feasible and whose *re-optimised* cost keeps the promise β.

1. If the noisy network, clipped into its box, is feasible and faithful as it is, it is the answer.
2. Else project (repair.projection), then solve the AC-OPF of the result. Its optimum may be cheaper than β allows: the
   projection bounds the cost of one dispatch only. Then cut: φ_k + ∇φ_k·(y − y_k) ≥ floor, and project again.
3. Where nothing is found, widen the box by fixed steps. All of it is post-processing of public data: no ε is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import RepairFailed
from gridveil.grid import LineParameters, OperatingPoint, PublicGrid
from gridveil.nlp.opf import OpfModel, Solution
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.nlp.solver import Status
from gridveil.repair.bounds import WIDENING, Box, parameter_box
from gridveil.repair.judge import promised
from gridveil.repair.projection import Aim, Cut, Effort, project, projection, starts
from gridveil.repair.steer import beyond, excess, inside, shortest_step
from gridveil.repair.trial import Trial, drawn_trial, first_trial, rounded, shrunk_trial, solve_all
from gridveil.wall.draw import Fidelity, NoisyLines, Repair, Snapshot

MOST_ROUNDS = 5
"""Projections with cuts before the cost is raised by other means."""
MOST_STEPS = 20
"""Newton steps on the costs before a box is given up."""
QUICK_STEPS = 3
"""Newton steps on the costs of a network that has a dispatch, before it is projected."""
LEAST_SHARE = 1e-3
EFFORTS = (Effort(120, 1e-3), Effort(400, 1e-2))
"""Most projections need fewer than 70 iterations; what fails everywhere is tried again, with patience and more room."""
MARGIN = 0.02
"""Share of β that the projection keeps in hand, against the solver's tolerance and the rounding of the written file."""


def repair(
    grid: PublicGrid,
    noisy: NoisyLines,
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    first: Trial | None = None,
) -> Repair:
    """The nearest network that keeps the promise at every snapshot, or `RepairFailed`.

    The order of the snapshots has no influence, and equal ones count once. `first` is what is tried as it is, with what
    has been solved of it already.
    """
    rows = [  # the heaviest first: where one fails, it is the likeliest
        [-one.pd.sum(), *one.pd, *one.qd, one.cost, one.slack, one.aim, *([] if one.losses is None else [one.losses])]
        for one in snapshots
    ]
    _, at, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    chosen = [snapshots[index] for index in at]
    tried = 0
    for trial in _trials(grid, noisy, fidelity, first):
        found, used = _repair(grid, noisy, chosen, fidelity, trial)
        tried += used
        if found is not None:
            return replace(found, points=tuple(found.points[index] for index in place.ravel().tolist()))
    raise RepairFailed(
        f"no AC-feasible network with a cost within {fidelity.beta:.4g} of the public one"
        + (f" and losses within a factor of {fidelity.loss_within:g}" if fidelity.loss_within else "")
        + f" was found in {tried} "
        f"projections, up to a bound factor of {fidelity.bound_factor * WIDENING[-1]:g}; "
        "try a smaller alpha or a larger beta"
    )


def _trials(grid: PublicGrid, noisy: NoisyLines, fidelity: Fidelity, first: Trial | None) -> Iterator[Trial]:
    """What a repair stays near to, in turn: if nothing is near the drawn values, something may be near the shrunk."""
    trial = first or first_trial(grid, noisy, fidelity)
    yield trial
    if trial.near is None:
        yield shrunk_trial(grid, noisy, fidelity.bound_factor)[0]
    else:
        yield drawn_trial(grid, noisy, fidelity.bound_factor)


def _repair(
    grid: PublicGrid, noisy: NoisyLines, snapshots: Sequence[Snapshot], fidelity: Fidelity, first: Trial
) -> tuple[Repair | None, int]:
    """What is found near one trial network, and the number of projections."""
    beta = promised(snapshots, fidelity)
    aimed = aims(snapshots, beta)
    model, box = first.model, first.box
    before = first.optima([Demand(one.pd, one.qd) for one in snapshots])
    as_it_is = None
    if _faithful(before, snapshots, beta) == 0 and _keeps_losses(before, snapshots, fidelity):
        as_it_is = _result(first.lines, before, "as drawn" if first.near is None else "as shrunk", 0, 1.0, 0)
    verdict = _faithful(before, snapshots, aimed)
    if as_it_is is not None and verdict == 0:
        return as_it_is, 0
    near = [one.point for one in before] if _all_optimal(before, snapshots) else None
    if near is not None and aimed != beta:  # it has a dispatch, and needs no projection but another cost
        steered = _steer(model, box, first.lines, before, snapshots, fidelity, aimed, QUICK_STEPS)
        if steered is not None:
            return _result(*steered, "steered", 0, 1.0, 0), 0
        if as_it_is is not None:
            return as_it_is, 0
    # Feasible but too cheap: projecting it would change nothing but the dispatch, so cut at once.
    cuts = _cuts(model, box, first.lines, before, snapshots, aimed) if verdict < 0 else []
    tried = 0
    for effort, widening in product(EFFORTS, WIDENING):
        box = parameter_box(grid, noisy, fidelity.bound_factor * widening, first.near)
        found, used = _project_and_cut(model, box, snapshots, fidelity, near, cuts, widening, effort)
        tried += used
        if found is not None:
            return found, tried
    return None, tried


def aims(snapshots: Sequence[Snapshot], beta: Sequence[float]) -> list[float]:
    """How near to its public cost each snapshot is to be brought; within β it is accepted all the same."""
    return [one.aim * tolerance for one, tolerance in zip(snapshots, beta, strict=True)]


def _optima(model: OpfModel, lines: LineParameters, snapshots: Sequence[Snapshot]) -> list[Solution]:
    """The AC-OPF of every snapshot, from the starts that the certificate and every user will have too."""
    return solve_all(model, lines, [Demand(one.pd, one.qd) for one in snapshots])


def _all_optimal(optima: Sequence[Solution], snapshots: Sequence[Snapshot]) -> bool:
    return len(optima) == len(snapshots) and optima[-1].status is Status.OPTIMAL


def _faithful(optima: Sequence[Solution], snapshots: Sequence[Snapshot], beta: Sequence[float]) -> int:
    """0 if every snapshot is optimal and within β; −1 if one is too cheap (a cut can help); 1 otherwise."""
    if not _all_optimal(optima, snapshots):
        return 1
    verdict = 0
    for optimum, snapshot, tolerance in zip(optima, snapshots, beta, strict=True):
        away = optimum.cost - snapshot.cost
        if away > tolerance * abs(snapshot.cost):
            return 1
        if away < -tolerance * abs(snapshot.cost):
            verdict = -1
    return verdict


def _keeps_losses(optima: Sequence[Solution], snapshots: Sequence[Snapshot], fidelity: Fidelity) -> bool:
    if fidelity.loss_within is None:
        return True
    for optimum, snapshot in zip(optima, snapshots, strict=True):
        ours, lost = float(optimum.point.pg.sum() - snapshot.pd.sum()), snapshot.losses
        if lost is not None and not lost / fidelity.loss_within <= ours <= lost * fidelity.loss_within:
            return False
    return True


def _project_and_cut(
    model: OpfModel,
    box: Box,
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    near: Sequence[OperatingPoint] | None,
    first_cuts: Sequence[Cut],
    widening: float,
    effort: Effort,
) -> tuple[Repair | None, int]:
    """Project and cut within one box; the number of projections is returned even where nothing was found."""
    beta = promised(snapshots, fidelity)
    aim = [Aim((1 - MARGIN) * tolerance, (1 - MARGIN) * tolerance) for tolerance in aims(snapshots, beta)]
    cuts = list(first_cuts)
    tried = 0
    for _ in range(MOST_ROUNDS):
        program = projection(model.grid, box, snapshots, cuts, fidelity.loss_within is not None)
        for start in starts(program, box, near):
            tried += 1
            outcome = project(program, box, snapshots, fidelity, aim, start, effort)
            if outcome.status is Status.OPTIMAL:
                break
        else:
            return None, tried
        lines = rounded(box.lines(np.clip(outcome.x[program.parameters], box.low, box.high)))
        optima = _optima(model, lines, snapshots)
        verdict = _faithful(optima, snapshots, beta)
        if verdict == 0 and _keeps_losses(optima, snapshots, fidelity):
            return _result(lines, optima, "projected", len(cuts), widening, tried), tried
        if verdict >= 0:
            lowered = _lower(aim, optima, snapshots, beta)
            if lowered is None:
                return None, tried
            aim = lowered
            continue
        near = [one.point for one in optima]
        cuts += _cuts(model, box, lines, optima, snapshots, beta)
    steered = _steer(model, box, lines, optima, snapshots, fidelity, beta, MOST_STEPS)
    return (None if steered is None else _result(*steered, "projected", len(cuts), widening, tried)), tried


def _lower(
    aim: Sequence[Aim], optima: Sequence[Solution], snapshots: Sequence[Snapshot], beta: Sequence[float]
) -> list[Aim] | None:
    """Aim lower where the AC-OPF ended in a dearer optimum than the projection's dispatch; `None` if it failed."""
    if not _all_optimal(optima, snapshots):
        return None
    result = []
    for one, optimum, snapshot, tolerance in zip(aim, optima, snapshots, beta, strict=True):
        excess = (optimum.cost - snapshot.cost) / abs(snapshot.cost) - tolerance
        result.append(Aim(one.below, one.above - excess - 0.1 * tolerance) if excess > 0 else one)
    return result if result != list(aim) and all(one.above > -one.below for one in result) else None


def _steer(
    model: OpfModel,
    box: Box,
    lines: LineParameters,
    optima: Sequence[Solution],
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    tolerance: Sequence[float],
    most: int,
) -> tuple[LineParameters, list[Solution]] | None:
    """Bring every cost inside by Newton steps (repair.steer); one that makes the worst cost no better adds rows, or
    is halved where it leads to an infeasible network."""
    beta = np.array(tolerance)
    current, away, share = _parameters(box, lines), _away(optima, snapshots), 1.0
    rows, right = inside(_slopes(model, box, lines, optima, snapshots), away, beta)
    for _ in range(most):
        step = shortest_step(rows, right, box.weight, box.low - current, box.high - current)
        if step is None or share < LEAST_SHARE:
            return None
        tried = rounded(box.lines(np.clip(current + share * step, box.low, box.high)))
        found = _optima(model, tried, snapshots)
        if _faithful(found, snapshots, beta.tolist()) == 0 and _keeps_losses(found, snapshots, fidelity):
            return tried, found
        if not _all_optimal(found, snapshots):
            share /= 2.0
            continue
        slopes, there = _slopes(model, box, tried, found, snapshots), _away(found, snapshots)
        if excess(there, beta) < excess(away, beta):
            current, away, share = _parameters(box, tried), there, min(1.0, 2.0 * share)
            rows, right = inside(slopes, away, beta)
        else:
            more = beyond(slopes, there, beta, _parameters(box, tried) - current)
            rows, right = np.vstack([rows, more[0]]), np.concatenate([right, more[1]])
    return None


def _slopes(
    model: OpfModel, box: Box, lines: LineParameters, optima: Sequence[Solution], snapshots: Sequence[Snapshot]
) -> FloatArray:
    """Gradients of the costs relative to the public ones, a row per snapshot."""
    pairs = zip(optima, snapshots, strict=True)
    return np.stack([_gradient(model, box, lines, optimum) / abs(snapshot.cost) for optimum, snapshot in pairs])


def _away(optima: Sequence[Solution], snapshots: Sequence[Snapshot]) -> FloatArray:
    """Relative distance of every cost from the public one."""
    pairs = zip(optima, snapshots, strict=True)
    return np.array([(optimum.cost - snapshot.cost) / abs(snapshot.cost) for optimum, snapshot in pairs])


def _parameters(box: Box, lines: LineParameters) -> FloatArray:
    """The parameter columns of given lines."""
    result = np.zeros(len(box.target))
    result[box.columns] = np.stack([lines.g, lines.b, lines.bc])
    return result


def _gradient(model: OpfModel, box: Box, lines: LineParameters, optimum: Solution) -> FloatArray:
    """Gradient of an optimal cost in the parameter columns."""
    gradient = np.zeros(len(box.target))
    np.add.at(gradient, box.columns, cost_gradient(model.grid, lines, optimum))
    return gradient


def _cuts(
    model: OpfModel,
    box: Box,
    lines: LineParameters,
    optima: Sequence[Solution],
    snapshots: Sequence[Snapshot],
    beta: Sequence[float],
) -> list[Cut]:
    """A cut for every snapshot whose optimum is too cheap, aimed a little inside the promise."""
    result = []
    current = _parameters(box, lines)
    for optimum, snapshot, tolerance in zip(optima, snapshots, beta, strict=True):
        if optimum.cost >= snapshot.cost - tolerance * abs(snapshot.cost):
            continue
        gradient = _gradient(model, box, lines, optimum)
        floor = snapshot.cost - 0.9 * tolerance * abs(snapshot.cost) - optimum.cost + float(gradient @ current)
        size = np.abs(gradient).max()
        result.append(Cut(gradient / size, floor / size))
    return result


def _result(
    lines: LineParameters, optima: Sequence[Solution], path: str, cuts: int, widening: float, tried: int
) -> Repair:
    return Repair(lines, tuple(one.point for one in optima), path, cuts, widening, tried)
