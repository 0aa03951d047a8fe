"""A peer, for comparison: the same AC-OPF in PyOptInterface, whose derivatives are compiled, with the same libipopt."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pyoptinterface as poi
from pyoptinterface import ipopt, nl

from gridveil.grid import Network, islands, reference_buses
from gridveil.nlp.ipopt_library import find_library


def solve(network: Network, options: dict[str, Any]) -> dict[str, float]:
    """Build and solve; seconds of each, cost and iterations."""
    if not ipopt.is_library_loaded():
        ipopt.load_library(str(find_library(None)))
    begin = perf_counter()
    grid, lines = network
    buses, gens, n_bus = grid.buses, grid.generators, grid.n_bus
    model = ipopt.Model()
    reference = set(reference_buses(grid, islands(grid)).tolist())
    va = [
        model.add_variable(lb=0.0, ub=0.0, start=0.0) if i in reference else model.add_variable(start=0.0)
        for i in range(n_bus)
    ]
    vm = [model.add_variable(lb=low, ub=high, start=1.0) for low, high in zip(buses.vmin, buses.vmax, strict=True)]
    pg, qg = (
        [model.add_variable(lb=low, ub=high, start=0.5 * (low + high)) for low, high in zip(lower, upper, strict=True)]
        for lower, upper in ((gens.pmin, gens.pmax), (gens.qmin, gens.qmax))
    )
    balance_p: list[Any] = [poi.ExprBuilder() for _ in range(n_bus)]
    balance_q: list[Any] = [poi.ExprBuilder() for _ in range(n_bus)]
    for i in range(n_bus):
        balance_p[i] -= float(buses.gs[i]) * vm[i] * vm[i]
        balance_q[i] += float(buses.bs[i]) * vm[i] * vm[i]
    for k, i in enumerate(gens.bus):
        balance_p[i] += pg[k]
        balance_q[i] += qg[k]
    for k in range(grid.n_line):
        f, t = int(grid.lines.bus_from[k]), int(grid.lines.bus_to[k])
        g, b, half = float(lines.g[k]), float(lines.b[k]), float(0.5 * lines.bc[k])
        tap, shift, rating = float(grid.lines.tap[k]), float(grid.lines.shift[k]), float(grid.lines.rating[k])
        flows = [model.add_variable(start=0.0) for _ in range(4)]
        a, d = g / tap**2, -(b + half) / tap**2
        _flow(model, flows[0], vm[f], vm[t], va[f], va[t], (a, -g / tap, -b / tap, shift), own=vm[f])
        _flow(model, flows[1], vm[f], vm[t], va[f], va[t], (d, b / tap, -g / tap, shift), own=vm[f])
        _flow(model, flows[2], vm[f], vm[t], va[f], va[t], (g, -g / tap, b / tap, shift), own=vm[t])
        _flow(model, flows[3], vm[f], vm[t], va[f], va[t], (-(b + half), b / tap, g / tap, shift), own=vm[t])
        for end, p, q in ((f, flows[0], flows[1]), (t, flows[2], flows[3])):
            balance_p[end] -= p
            balance_q[end] -= q
            if np.isfinite(rating):
                model.add_quadratic_constraint(p * p + q * q, poi.Leq, rating**2)
        low, high = float(grid.lines.angle_min[k]), float(grid.lines.angle_max[k])
        model.add_linear_constraint(va[f] - va[t], poi.Geq, low)
        model.add_linear_constraint(va[f] - va[t], poi.Leq, high)
    for i in range(n_bus):
        model.add_quadratic_constraint(balance_p[i], poi.Eq, float(buses.pd[i]))
        model.add_quadratic_constraint(balance_q[i], poi.Eq, float(buses.qd[i]))
    coefficients = grid.cost_p.polynomial
    cost = poi.ExprBuilder()
    for k, variable in enumerate(pg):
        for power, coefficient in enumerate(coefficients[k]):
            if coefficient and power:
                cost += float(coefficient) * (variable if power == 1 else variable * variable)
    model.set_objective(cost + float(coefficients[:, 0].sum()))
    for name, value in options.items():
        model.set_raw_parameter(name, value)
    built = perf_counter()
    model.optimize()
    return {
        "build": built - begin,
        "solve": perf_counter() - built,
        "cost": float(model.get_model_attribute(poi.ModelAttribute.ObjectiveValue)),
    }


def _flow(model: Any, flow: Any, u: Any, w: Any, a: Any, b: Any, numbers: tuple[float, ...], own: Any) -> None:
    square, cosine, sine, shift = numbers
    with nl.graph():
        delta = a - b - shift
        model.add_nl_constraint(
            square * own * own + u * w * (cosine * nl.cos(delta) + sine * nl.sin(delta)) - flow, poi.Eq, 0.0
        )
