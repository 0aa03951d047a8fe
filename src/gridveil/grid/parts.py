"""Parts of a network: what is left when lines are cut, and each island of it as a network of its own."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from gridveil.arrays import IntArray
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import Generators, Lines, Network

Rows = TypeVar("Rows", bound=Any)


def without(network: Network, cut: IntArray) -> Network:
    """The network with the lines `cut` taken away; every bus stays, also where nothing joins it to others."""
    kept = np.setdiff1d(np.arange(network.grid.n_line), cut)
    return Network(replace(network.grid, lines=_take(network.grid.lines, kept)), _take(network.lines, kept))


def part(network: Network, buses: IntArray) -> Network:
    """The network of some buses, in the order given, with their generators and the lines among them.

    Cost curves are left behind: whoever looks at a part asks what it can carry, not what that costs.
    """
    grid, place = network.grid, np.full(network.grid.n_bus, -1)
    place[buses] = np.arange(len(buses))
    lines = np.flatnonzero((place[grid.lines.bus_from] >= 0) & (place[grid.lines.bus_to] >= 0))
    generators = generators_at(network, buses)
    own: Lines = _take(grid.lines, lines)
    own_generators: Generators = _take(grid.generators, generators)
    return Network(
        replace(
            grid,
            buses=_take(grid.buses, buses),
            generators=replace(own_generators, bus=place[own_generators.bus]),
            lines=replace(own, bus_from=place[own.bus_from], bus_to=place[own.bus_to]),
            cost_p=CostCurves.zero(len(generators)),
            cost_q=CostCurves.zero(len(generators)),
        ),
        _take(network.lines, lines),
    )


def generators_at(network: Network, buses: IntArray) -> IntArray:
    """The generators of some buses, in the order of the network."""
    return np.flatnonzero(np.isin(network.grid.generators.bus, buses))


def _take(table: Rows, rows: IntArray) -> Rows:
    result: Rows = replace(table, **{field.name: getattr(table, field.name)[rows] for field in fields(table)})
    return result
