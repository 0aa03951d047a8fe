"""`repair`: from noisy lines to a network that is AC-feasible and whose *re-optimised* cost keeps the promise β.

1. If the noisy network, clipped into its box, is feasible and faithful as it is, it is the answer; a few Newton steps
   on its cost may make it faithful.
2. Else project (repair.projection), then solve the AC-OPF of the result. Its optimum may be cheaper than β allows: the
   projection bounds the cost of one dispatch only. Then cut: φ_k + ∇φ_k·(u − u_k) ≥ floor, and project again; then
   take Newton steps (repair.cost_steps). What stays too cheap is projected with more room: the nearest feasible network
   lies at the edge of those that have a dispatch, where no step leads on.
3. All of it near the shrunk network.
4. From the nearest network at any cost, by Newton steps; along rays that see kinks (repair.search).
5. With patience: in the widest box, with more starts and room still, and along rays from all that was found.

All of it is post-processing of public data: no ε is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from gridveil.errors import RepairFailed
from gridveil.grid import Grid
from gridveil.repair.bench import Bench
from gridveil.repair.bounds import WIDE
from gridveil.repair.promise import Promise
from gridveil.repair.trial import Trial, drawn_trial, shrunk_trial
from gridveil.wall.draw import Fidelity, NoisyLines, Repair, Snapshot
from gridveil.wall.target import Target

SOON = 2
"""Ways that are tried at every cost that may be aimed at, before all others are."""


def repair(grid: Grid, noisy: NoisyLines, snapshots: Sequence[Snapshot], fidelity: Fidelity) -> Repair:
    """The nearest network that keeps the promise at every snapshot, or `RepairFailed`."""
    drawn, shrunk = drawn_trial(grid, noisy, fidelity.bound_factor), shrunk_trial(grid, noisy, fidelity.bound_factor)[0]
    return first_found(ways(noisy, snapshots, fidelity, *in_turn(drawn, shrunk, fidelity)), fidelity)


class Missed(NamedTuple):
    """The optimal costs of the best network that was found, none if there was none, and by how far they miss."""

    costs: tuple[float, ...] | None
    excess: float


def first_found(found: Iterable[Repair | Missed], fidelity: Fidelity) -> Repair:
    """The first that there is, or `RepairFailed`."""
    best = Missed(None, inf)
    for one in found:
        if not isinstance(one, Missed):
            return one
        best = min(best, one, key=lambda each: each.excess)
    raise RepairFailed(
        "no AC-feasible network"
        + (f" with a cost within {fidelity.beta:.4g} of the public one" if isfinite(fidelity.beta) else "")
        + (f" and losses within a factor of {fidelity.loss_within:g}" if fidelity.loss_within else "")
        + f" was found, up to a bound factor of {fidelity.bound_factor * WIDE:g}; "
        "try a smaller alpha or a larger beta",
        best.costs,
    )


def ways(
    noisy: NoisyLines, snapshots: Sequence[Snapshot], fidelity: Fidelity, first: Trial, other: Trial
) -> Iterator[Repair | Missed]:
    """What is found in one way after another; who has other costs to aim at need not wait for the last.

    The order of the snapshots has no influence, and equal ones count once. `first` and `other` are what a repair stays
    near to, with what has been solved of it already.
    """
    rows = [  # the heaviest first: where one fails, it is the likeliest
        [-one.pd.sum(), *one.pd, *one.qd, one.cost, one.slack, one.aim, *([] if one.losses is None else [one.losses])]
        for one in snapshots
    ]
    _, at, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    promise, order = Promise.of([snapshots[index] for index in at], fidelity), place.ravel().tolist()
    one, two = Bench(noisy, promise, first, other), Bench(noisy, promise, other, first)
    benches = one, two
    yield _in_order(one.near_it() or one.levelled() or two.near_it() or two.levelled(), order, benches)
    yield _in_order(two.farther() or two.levelled() or one.along_rays(), order, benches)
    yield _in_order(one.farther() or one.levelled() or two.along_rays(), order, benches)
    yield _in_order(one.searched() or two.searched(), order, benches)


def _in_order(found: Repair | None, order: Sequence[int], benches: Sequence[Bench]) -> Repair | Missed:
    """With a point, or a cost, for every snapshot that was given."""
    if found is None:
        missed = min((one.missed() for one in benches), key=lambda each: each[1])
        return Missed(None if missed[0] is None else tuple(missed[0][index] for index in order), missed[1])
    points, multipliers = found.points, found.multipliers
    return replace(
        found, points=tuple(points[index] for index in order), multipliers=tuple(multipliers[index] for index in order)
    )


def in_turn(drawn: Trial, shrunk: Trial, fidelity: Fidelity) -> tuple[Trial, Trial]:
    """What a repair stays near to: if nothing is near the drawn values, something may be near the shrunk ones."""
    return (shrunk, drawn) if fidelity.target is Target.SHRUNK else (drawn, shrunk)
