"""`joint`: lines, ratings, loads, limits and costs, each group with its own α. Proof: docs/proofs/joint.md.

The secret of an element (a corridor, the load of a bus, a plant) is the vector u of its coordinates
(`wall/numbers.py`). One query draws all of them: ũ = u + Lap(α/ε) with the α of each coordinate's group. Two networks
are adjacent if they have the same structure and differ in one element, with Σ|u − u'|/α ≤ 1 over its coordinates: the
loss is ε, however many groups and elements there are.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import IntArray
from gridveil.grid import Network
from gridveil.privacy.noise import Noise
from gridveil.sealed.split import Sealed
from gridveil.wall.draw import Drawn, Moving, NoisyLines
from gridveil.wall.numbers import Table, decode, encode, logs, orderly, rebuilt
from gridveil.wall.protection import PLACE, Group, Protection
from gridveil.wall.shares import at_shares, on_shares, shares, takes_shares
from gridveil.wall.tables import line_structure, table


def perturb(network: Sealed, protection: Protection, epsilon: float, noise: Noise) -> Drawn:
    """Draw every protected coordinate once; what is not protected is as it is. Piecewise costs bend at their public
    shares of the pmax that is drawn."""
    truth = on_shares(network._open(), protection)
    made, found = table(truth, protection), logs(truth)
    alpha = made.alpha(protection)
    # in units of α the distance of adjacent networks is 1, whatever their groups
    outcome = noise.laplace(encode(made, found) / alpha, 1.0, epsilon)
    world = rebuilt(made, decode(made, alpha * outcome, found), truth)
    grid = orderly(world.grid, made)
    if takes_shares(protection):
        grid = at_shares(grid, shares(truth.grid))
    return Drawn(grid, noisy_lines(world, made, protection, epsilon), outcome)


def noisy_lines(world: Network, made: Table, protection: Protection, epsilon: float) -> NoisyLines:
    """What a repair is given of a drawn network; it is structure but for the noisy values themselves."""
    structure, lines = line_structure(world, protection), world.lines
    drawn = Group.LINES in protection
    return NoisyLines(
        "joint", structure.group, structure.charging_group, lines.g, lines.b, lines.bc,
        np.full(world.grid.n_line, drawn), charging_moves=drawn, relative=True,
        scale=protection.alpha.get(Group.LINES, 1.0) / epsilon, moving=_moving(made, protection, epsilon),
        costs=Group.COSTS in protection,
    )  # fmt: skip


def _moving(made: Table, protection: Protection, epsilon: float) -> Moving | None:
    """Ratings, loads and limits, whose coordinates are counted anew. Costs have a level and no more."""
    rows = np.flatnonzero((made.quantity >= PLACE["rating"]) & (made.quantity < PLACE["cost"]))
    if not len(rows):
        return None
    kept, own = np.unique(made.own[rows], return_inverse=True)
    place = np.full(made.size, -1)
    place[kept] = np.arange(len(kept))
    pivot: IntArray = np.where(made.pivot[kept] < 0, -1, place[made.pivot[kept]])
    part = Table(
        made.quantity[rows], made.member[rows], made.sign[rows], own.reshape(-1), pivot,
        np.where(pivot < 0, 0.0, made.power[kept]), made.group[kept], made.element[kept],
    )  # fmt: skip
    return Moving(part, made.alpha(protection)[kept] / epsilon)
