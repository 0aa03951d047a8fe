"""The usual way, for comparison: the same AC-OPF as one symbolic CasADi model, built anew for a case."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np

from gridveil.grid import Network, islands, reference_buses


def solve(network: Network, options: dict[str, Any]) -> dict[str, float]:
    """Build and solve; seconds of each, cost and iterations."""
    begin = perf_counter()
    grid, lines = network
    n_bus, n_gen = grid.n_bus, grid.n_generator
    va, vm, pg, qg = (ca.SX.sym(name, n) for name, n in (("va", n_bus), ("vm", n_bus), ("pg", n_gen), ("qg", n_gen)))
    f, t = grid.lines.bus_from.tolist(), grid.lines.bus_to.tolist()
    u, w, delta = vm[f] / grid.lines.tap, vm[t], va[f] - va[t] - grid.lines.shift
    g, b, half = ca.DM(lines.g), ca.DM(lines.b), ca.DM(0.5 * lines.bc)
    c, s = u * w * ca.cos(delta), u * w * ca.sin(delta)
    flows = [
        g * u**2 - g * c - b * s,
        -(b + half) * u**2 + b * c - g * s,
        g * w**2 - g * c + b * s,
        -(b + half) * w**2 + b * c + g * s,
    ]
    generation, ends = _incidence(n_bus, grid.generators.bus), [_incidence(n_bus, np.array(end)) for end in (f, t)]
    balance_p = ends[0] @ flows[0] + ends[1] @ flows[2] + grid.buses.gs * vm**2 + grid.buses.pd - generation @ pg
    balance_q = ends[0] @ flows[1] + ends[1] @ flows[3] - grid.buses.bs * vm**2 + grid.buses.qd - generation @ qg
    rated = np.flatnonzero(np.isfinite(grid.lines.rating)).tolist()
    limit = grid.lines.rating[rated]
    constraints = [balance_p, balance_q, *((flows[k] ** 2 + flows[k + 1] ** 2)[rated] for k in (0, 2)), va[f] - va[t]]
    no, zero = np.full(len(rated), -np.inf), np.zeros(n_bus)
    lower = np.concatenate([zero, zero, no, no, grid.lines.angle_min])
    upper = np.concatenate([zero, zero, limit**2, limit**2, grid.lines.angle_max])
    coefficients = grid.cost_p.polynomial
    cost = sum(ca.dot(coefficients[:, k], pg**k) for k in range(coefficients.shape[1]))
    x = ca.vertcat(va, vm, pg, qg)
    solver = ca.nlpsol("opf", "ipopt", {"x": x, "f": cost, "g": ca.vertcat(*constraints)}, options)
    built = perf_counter()
    reference = reference_buses(grid, islands(grid))
    angle = np.full(n_bus, np.inf)
    angle[reference] = 0.0
    gens, buses = grid.generators, grid.buses
    low = np.concatenate([-angle, buses.vmin, gens.pmin, gens.qmin])
    high = np.concatenate([angle, buses.vmax, gens.pmax, gens.qmax])
    start = np.concatenate([zero, np.ones(n_bus), 0.5 * (gens.pmin + gens.pmax), 0.5 * (gens.qmin + gens.qmax)])
    result = solver(x0=start, lbx=low, ubx=high, lbg=lower, ubg=upper)
    return {
        "build": built - begin,
        "solve": perf_counter() - built,
        "cost": float(result["f"]),
        "iterations": solver.stats()["iter_count"],
    }


def _incidence(rows: int, at: np.ndarray) -> Any:
    """Columns of ones at the given rows, sparse."""
    return ca.DM.triplet(at.tolist(), list(range(len(at))), ca.DM.ones(len(at)), rows, len(at))
