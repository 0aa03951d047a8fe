"""Interdiction of the transport relaxation: lines as pipes with their ratings as capacities, Ohm's law forgotten.

What the pipes can carry from generators to loads is a maximum flow, hence a minimum cut; the attacker deletes k lines
of that cut. With u = 1 for the buses on the generators' side this is one mixed-integer program:

    minimise  Σ capacity·(1 − u) + Σ load·u + Σ rating·across        (generators and loads cut off, lines left across)
    over      u binary per bus, 0 ≤ across, deleted ≤ 1 per line, Σ deleted ≤ k, |u_from − u_to| ≤ across + deleted

AC serves no more than the value (where no line or shunt feeds in), so it certifies damage.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid

SECONDS = 15.0


def transport_interdiction(grid: Grid, k: int, seconds: float = SECONDS) -> tuple[IntArray, float]:
    """At most k lines, and the load in per unit that pipes could still carry without them."""
    n, m = grid.n_bus, grid.n_line
    capacity = np.maximum(-grid.buses.pd, 0.0)
    np.add.at(capacity, grid.generators.bus, np.maximum(grid.generators.pmax, 0.0))
    load = np.maximum(grid.buses.pd, 0.0)
    enough = load.sum()  # no pipe carries more
    rating = np.minimum(grid.lines.rating, enough)
    cost = np.concatenate([load - np.minimum(capacity, enough), rating, np.zeros(m)])
    ends = _incidence(grid)
    slack = hstack([eye_array(m), eye_array(m)])
    rows = vstack([hstack([ends, -slack]), hstack([-ends, -slack])])
    deleted = np.concatenate([np.zeros(n + m), np.ones(m)])
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(n), np.zeros(2 * m)]),
        bounds=Bounds(0.0, 1.0),
        constraints=[LinearConstraint(rows, -np.inf, 0.0), LinearConstraint(deleted, -np.inf, float(k))],
        options={"time_limit": seconds, "mip_rel_gap": 1e-3},
    )
    side = np.zeros(n) if found.x is None else np.round(found.x[:n])
    crossing = np.flatnonzero(side[grid.lines.bus_from] != side[grid.lines.bus_to])
    order = crossing[np.lexsort((crossing, -rating[crossing]))]
    left = float(np.minimum(capacity, enough) @ (1 - side) + load @ side + rating[order[k:]].sum())
    return order[:k].astype(np.int64), left


def _incidence(grid: Grid) -> csr_array:
    line = np.arange(grid.n_line)
    entries: FloatArray = np.concatenate([np.ones(grid.n_line), -np.ones(grid.n_line)])
    places = (np.concatenate([line, line]), np.concatenate([grid.lines.bus_from, grid.lines.bus_to]))
    return coo_array((entries, places), shape=(grid.n_line, grid.n_bus)).tocsr()
