"""How the optimal costs of a network answer to its parameter columns: slopes, and the cuts that they make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Network
from gridveil.nlp.opf import Solution
from gridveil.nlp.sensitivity import cost_gradient, number_gradients
from gridveil.repair.bounds import Box
from gridveil.repair.moving import LIMITS, NAMES
from gridveil.repair.projection import Cut
from gridveil.repair.promise import Promise
from gridveil.wall.draw import Moving

WITHIN = 0.9
"""Share of the tolerance that a cut aims at."""


def slopes(box: Box, network: Network, optima: Sequence[Solution], promise: Promise) -> FloatArray:
    """Gradients of the costs relative to the public ones, a row per snapshot."""
    rows = np.stack([gradient(box, network, one) for one in optima])
    return rows / np.abs(promise.costs)[:, None]


def gradient(box: Box, network: Network, optimum: Solution) -> FloatArray:
    """Gradient of an optimal cost in the parameter columns."""
    result, lines = np.zeros(len(box.target)), network.lines
    np.add.at(result, box.columns, cost_gradient(*network, optimum) * np.stack([lines.g, lines.b, lines.bc]))
    if box.moving is not None:
        result[box.others] = _others(box.moving, network, optimum)
    return result


def _others(moving: Moving, network: Network, optimum: Solution) -> FloatArray:
    """By the logarithms of what else moves. Where a total is kept, all others of its kind make up for one."""
    made, result = moving.table, np.zeros(moving.table.size)
    found = number_gradients(network.grid, optimum)
    for total, names, size in (
        (moving.demand, ("pd", "qd"), network.grid.buses.pd),
        (moving.capacity, LIMITS, network.grid.generators.pmax),
    ):
        if total is not None:
            scaled = (size > 0) & np.isfinite(size)
            share = np.where(scaled, size, 0.0)
            pull = sum(float(found[name][scaled].sum()) for name in names)
            found[names[0]] = found[names[0]] - pull * share / max(float(share.sum()), 1e-12)
    for name in NAMES:
        rows = made.rows(name)
        np.add.at(result, made.own[rows], found[name][made.member[rows]])
    return result


def cuts(box: Box, network: Network, optima: Sequence[Solution], promise: Promise) -> list[Cut]:
    """A cut for every snapshot whose optimum is too cheap, aimed a little inside the promise."""
    away, current = promise.away(optima), box.parameters(network)
    result = []
    for row, far, tolerance in zip(slopes(box, network, optima, promise), away, promise.tolerance, strict=True):
        if far < -tolerance:
            size = np.abs(row).max() or 1.0
            result.append(Cut(row / size, (-WITHIN * tolerance - far + float(row @ current)) / size))
    return result
