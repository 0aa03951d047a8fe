"""How the optimal dispatch cost answers to a network's numbers, from the multipliers of a solved AC-OPF.

At an optimum the derivative of the value function is that of the Lagrangian with the point held fixed. Line parameters
enter it through the flows alone: those in the balance of both ends, and the squared ones in the ratings.
"""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid.network import Grid, LineParameters, OperatingPoint
from gridveil.nlp import line_flow
from gridveil.nlp.opf import Solution


def cost_gradient(grid: Grid, lines: LineParameters, solution: Solution) -> FloatArray:
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


def number_gradients(grid: Grid, solution: Solution) -> dict[str, FloatArray]:
    """∂cost/∂ln v of ratings, loads and limits, by line, bus and unit; 0 where there is none."""
    multiplier, point = solution.multipliers, solution.point
    flow, units = multiplier["rating_from"] + multiplier["rating_to"], grid.generators
    served = _demand(grid, point)
    found = {
        "rating": -2.0 * flow * np.where(np.isfinite(grid.lines.rating), grid.lines.rating, 0.0),
        "pd": multiplier["balance_p"] * served[0],
        "qd": multiplier["balance_q"] * served[1],
    }
    for name, limit in (("pmax", "pg_upper"), ("qmax", "qg_upper"), ("pmin", "pg_lower"), ("qmin", "qg_lower")):
        values = getattr(units, name)
        size = np.where(np.isfinite(values), values, 0.0)
        found[name] = (-1.0 if name.endswith("max") else 1.0) * multiplier[limit] * size
    return found


def _demand(grid: Grid, point: OperatingPoint) -> tuple[FloatArray, FloatArray]:
    """What a point serves at every bus: what comes in less what goes out."""
    ends, square = grid.lines, point.vm**2
    active, reactive = -square * grid.buses.gs, square * grid.buses.bs
    np.add.at(active, grid.generators.bus, point.pg)
    np.add.at(reactive, grid.generators.bus, point.qg)
    for at, p, q in ((ends.bus_from, point.pf, point.qf), (ends.bus_to, point.pt, point.qt)):
        np.subtract.at(active, at, p)
        np.subtract.at(reactive, at, q)
    return active, reactive
