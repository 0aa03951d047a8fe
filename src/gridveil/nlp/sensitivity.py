"""How the optimal dispatch cost answers to the line parameters: ∂φ/∂(g, b, bc) from the multipliers of a solved AC-OPF.

At an optimum the derivative of the value function is that of the Lagrangian with the point held fixed. Line parameters
enter it through the flows alone: those in the balance of both ends, and the squared ones in the ratings.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid.network import LineParameters, PublicGrid
from gridveil.nlp import line_flow
from gridveil.nlp.opf import Solution


def cost_gradient(grid: PublicGrid, lines: LineParameters, solution: Solution) -> FloatArray:
    """∂cost/∂(g, b, bc) of every line, shape (3, n_line)."""
    ends, point, multiplier = grid.lines, solution.point, solution.multipliers
    delta = point.va[ends.bus_from] - point.va[ends.bus_to] - ends.shift
    h = lines.b + 0.5 * lines.bc
    state = line_flow.terms(point.vm[ends.bus_from], point.vm[ends.bus_to], delta, lines.g, lines.b, h, 1.0 / ends.tap)
    gradient = np.empty((4, line_flow.ALL_LOCALS, grid.n_line))
    line_flow.gradients(state, gradient)
    scale_from, scale_to = 2.0 * multiplier["rating_from"] / ends.rating, 2.0 * multiplier["rating_to"] / ends.rating
    weight = np.stack(
        [
            multiplier["balance_p"][ends.bus_from] + scale_from * point.pf,
            multiplier["balance_q"][ends.bus_from] + scale_from * point.qf,
            multiplier["balance_p"][ends.bus_to] + scale_to * point.pt,
            multiplier["balance_q"][ends.bus_to] + scale_to * point.qt,
        ]
    )
    result: FloatArray = np.einsum("kn,kpn->pn", weight, gradient[:, line_flow.VOLTAGE_LOCALS :])
    return result
