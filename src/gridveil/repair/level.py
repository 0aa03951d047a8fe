"""One factor on all generation costs: it changes every cost by itself, and no optimum."""

from __future__ import annotations

from dataclasses import replace

from gridveil.grid import Grid, Multipliers, Network
from gridveil.nlp.opf import OpfModel, Solution, steepest_at_start


def scaled_grid(grid: Grid, level: float) -> Grid:
    """The grid with all costs times a factor, to the digits of a file."""
    active, reactive = (one.over(1.0 / level).written(grid.base_mva) for one in (grid.cost_p, grid.cost_q))
    return replace(grid, cost_p=active, cost_q=reactive)


def scaled(network: Network, level: float) -> Network:
    """The network with all costs times a factor."""
    return Network(scaled_grid(network.grid, level), network.lines)


def scaled_optimum(found: Solution, level: float) -> Solution:
    """Its optimum."""
    end = Multipliers(found.end.rows * level, found.end.lower * level, found.end.upper * level)
    cost = found.cost * level
    by_name = {name: values * level for name, values in found.multipliers.items()}
    return replace(found, cost=cost, point=replace(found.point, cost=cost), end=end, multipliers=by_name)


STEEP = 200.0
"""Solvers bring an objective whose gradient is larger than 100 where they begin to 100."""


def same_to_a_solver(model: OpfModel, network: Network, level: float) -> bool:
    """Whether a solver sees one problem in the network and in that with its costs times the level."""
    return steepest_at_start(model.at(network.grid), network.lines) * min(1.0, level) > STEEP
