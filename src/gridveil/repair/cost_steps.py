"""Newton steps on the optimal costs of a network that has a dispatch, until all of them keep the promise.

A step (repair.steer) that makes the worst cost no better has seen the other side of a kink, which is kept as further
rows; one that leads to a network without a dispatch is halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gridveil.grid import Network
from gridveil.nlp.opf import OpfModel, Solution
from gridveil.repair.bounds import Box
from gridveil.repair.cost_slopes import slopes
from gridveil.repair.promise import Promise
from gridveil.repair.steer import beyond, inside, shortest_step
from gridveil.repair.trial import rounded, short, solve_all

LEAST_SHARE = 0.2
"""Of a step: a network from which even so little of it leads to none with a dispatch lies at the edge."""


class Tried(NamedTuple):
    """A network and its optima, as far as they were solved."""

    network: Network
    optima: Sequence[Solution]


def tried(model: OpfModel, network: Network, promise: Promise) -> Tried:
    """A network on the way, rounded as it would be released, and solved short."""
    network = rounded(network)
    return Tried(network, solve_all(model, network, promise.demands, short(model.grid)))


def steer(model: OpfModel, box: Box, begin: Tried, promise: Promise, most: int) -> Tried:
    """The network after at most so many steps: one that keeps the promise, or the best of those on the way."""
    best, current, share = begin, box.parameters(begin.network), 1.0
    away = promise.away(begin.optima)
    rows, right = inside(slopes(box, *begin, promise), away, promise.tolerance)
    for _ in range(most):
        step = shortest_step(rows, right, box.weight, box.low - current, box.high - current)
        if step is None or share < LEAST_SHARE:
            break
        found = tried(model, box.network(box.clip(current + share * step)), promise)
        if promise.kept(found.optima):
            return found
        if not promise.solved(found.optima):
            share /= 2.0
            continue
        there, away = slopes(box, *found, promise), promise.away(found.optima)
        if promise.excess(found.optima) < promise.excess(best.optima):
            best, current, share = found, box.parameters(found.network), min(1.0, 2.0 * share)
            rows, right = inside(there, away, promise.tolerance)
        else:
            more = beyond(there, away, promise.tolerance, box.parameters(found.network) - current)
            rows, right = np.vstack([rows, more[0]]), np.concatenate([right, more[1]])
    return best
