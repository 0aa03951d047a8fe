"""Protected numbers in the units of a file, by quantity, for pages: MW, Mvar, MVA, $/MWh."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Grid, Network
from gridveil.wall.cost_numbers import cost_owners
from gridveil.wall.numbers import Table, logs
from gridveil.wall.protection import QUANTITIES, Group, Protection, Quantity
from gridveil.wall.tables import table

LINEAR = 1
"""The place of $/MWh in a polynomial."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of one quantity: their values in the unit of a file, whose they are, and which of them are `pivots`,
    noised by themselves and not as ratios."""

    quantity: Quantity
    value: FloatArray
    name: tuple[str, ...]
    pivots: int


def protected_numbers(network: Network, protection: Protection, structure: Table | None = None) -> list[Numbers]:
    """Every quantity that is protected, of the costs those in $/MWh; `structure` is the table of another network that
    shares it."""
    made, known, grid = structure or table(network, protection), logs(network), network.grid
    found = []
    for quantity in QUANTITIES:
        rows = made.rows(quantity.name)
        if quantity.group not in protection or not len(rows):
            continue
        member = made.member[rows]
        if quantity.group is Group.COSTS:
            degrees = grid.cost_p.polynomial.shape[1]
            kept = (member < grid.cost_p.polynomial.size) & (member % max(degrees, 1) == LINEAR)
            rows, member = rows[kept], member[kept]
            if not len(rows):
                continue
        factor = 1.0 if quantity.group is Group.LINES else grid.base_mva
        factor = 1.0 / factor if quantity.group is Group.COSTS else factor
        value = factor * made.sign[rows] * np.exp(known[quantity.name][member])
        alone = int(np.sum(made.pivot[made.own[rows]] < 0))
        found.append(Numbers(quantity, value, tuple(_name(grid, quantity, int(one)) for one in member), alone))
    return found


def protected_pairs(truth: Network, released: Network, protection: Protection) -> list[tuple[Numbers, Numbers]]:
    """Every protected quantity as it was and as it is; the release has the structure of both."""
    structure = table(released, protection)
    one, other = (protected_numbers(network, protection, structure) for network in (truth, released))
    return list(zip(one, other, strict=True))


def _name(grid: Grid, quantity: Quantity, member: int) -> str:
    number = grid.buses.number
    if quantity.group in (Group.LINES, Group.RATINGS):
        return f"line {number[grid.lines.bus_from[member]]}–{number[grid.lines.bus_to[member]]}"
    if quantity.group is Group.LOADS:
        return f"bus {number[member]}"
    unit = member if quantity.group is Group.LIMITS else int(cost_owners(grid.cost_p)[0][member])
    return f"unit {unit + 1}, bus {number[grid.generators.bus[unit]]}"


def spread(own: float, other: float, share: float) -> float:
    """The factor e^x that noise of one or two Laplace scales stays within, either way, with a probability."""

    def beyond(x: float) -> float:
        if other <= 0:
            return exp(-x / own)
        if abs(own - other) < 1e-6 * own:
            return (1 + x / (2 * own)) * exp(-x / own)
        return (own**2 * exp(-x / own) - other**2 * exp(-x / other)) / (own**2 - other**2)

    low, high = 0.0, 40.0 * max(own, other)
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if beyond(middle) > 1 - share else (low, middle)
    return exp(min(high, log(1e6)))
