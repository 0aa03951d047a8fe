"""How far each load and plant moves private totals and the dispatch cost, and so what they cost it. INTERNAL.

A private total protects a change of an element by ε_totals·T/s, T being what the change does to the logarithms of all
totals, added up; a private cost by ε_cost·D/s. Here every load and plant is changed by α in each of its coordinates, up
and down, as neighbours are, and its worst change counts. A class of units with equal curves is changed as one.

It needs the original. To choose s by it is itself a disclosure: s would then depend on the secret, uncharged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.grid.profile import base_profile
from gridveil.publish.plan import Plan
from gridveil.sealed.facts import LEAST, Truth
from gridveil.sealed.split import split
from gridveil.wall.facts import HIGHEST, FactKind
from gridveil.wall.numbers import Table, decode, encode, logs, rebuilt
from gridveil.wall.protection import Element, Group
from gridveil.wall.tables import table

MOST_SOLVED = 100
"""Elements whose AC-OPFs are solved; beyond, those that move totals most."""


@dataclass(frozen=True, eq=False)
class TotalsExposure:
    """By element: what its worst change by α does to the totals (`total`) and to the cost (`cost`, NaN if not solved).

    `name` is the bus of a load or plant, or the number of a cost class in the order of units; `infeasible` says which
    have a neighbour without an optimum.
    """

    alpha: float
    kinds: tuple[FactKind, ...]
    element: tuple[Element, ...]
    name: tuple[int, ...]
    total: FloatArray
    cost: FloatArray
    infeasible: BoolArray

    def covered(self, s: float) -> float:
        """Share of elements whose change moves the totals by s or less."""
        return float(np.mean(self.total <= s)) if len(self.total) else 1.0

    def loss(self, s: float, epsilon_totals: float) -> FloatArray:
        """What private totals cost each element, for a change by α."""
        return np.asarray(epsilon_totals * self.total / s)


def totals_exposure(network: Network, plan: Plan, progress: Callable[[int, int], None] | None = None) -> TotalsExposure:
    """Change every load and plant that a plan protects, and see what its totals and the cost do."""
    groups: list[Group] = [group for group in plan.protection.groups if group not in (Group.LINES, Group.RATINGS)]
    if not groups:
        raise ReleaseError("lines and ratings have no totals; protect loads, limits or costs to see what theirs tell")
    kinds, made = plan.asked_totals, table(network, plan.protection)
    plates = [max(_truth(network).totals([FactKind.MERIT])[0], LEAST)] if Group.COSTS in groups else None
    base = np.log(_truth(network).totals(kinds))
    kappa = _truth(network).surcharge(plates, plan.lowest)
    if kappa >= HIGHEST:
        raise ReleaseError("the network has no optimal power flow, so that no change of it can be told")
    found = _elements(network, made, plan, groups)
    total = np.zeros(len(found))
    changes = [
        [_changed(network, made, one, sign * alpha) for one, alpha in coordinates for sign in (1.0, -1.0)]
        for _, coordinates in found
    ]
    for index, some in enumerate(changes):
        total[index] = max(float(np.abs(np.log(_truth(one).totals(kinds)) - base).sum()) for one in some)
    cost, infeasible = np.full(len(found), np.nan), np.zeros(len(found), dtype=bool)
    chosen = np.argsort(-total, kind="stable")[:MOST_SOLVED]
    for done, index in enumerate(chosen.tolist()):
        moved = [_truth(one).surcharge(plates, plan.lowest) for one in changes[index]]
        cost[index] = max(abs(one - kappa) for one in moved)
        infeasible[index] = max(moved) >= HIGHEST
        if progress is not None:
            progress(done + 1, len(chosen))
    names = [name for name, _ in found]
    return TotalsExposure(
        float(plan.alpha), kinds, tuple(kind for kind, _ in names), tuple(number for _, number in names), total, cost,
        infeasible,
    )  # fmt: skip


def _truth(network: Network) -> Truth:
    """Who answers: what is seen here is what a release would ask."""
    return Truth(split(network), base_profile(network.grid), [0])


def _elements(
    network: Network, made: Table, plan: Plan, groups: list[Group]
) -> list[tuple[tuple[Element, int], list[tuple[int, float]]]]:
    """Every element with its coordinates and the α of each, by kind and number."""
    alpha, bus, found = made.alpha(plan.protection), network.grid.buses.number, dict[tuple[Element, int], list[int]]()
    kinds = {Group.LOADS: Element.LOAD, Group.LIMITS: Element.PLANT, Group.COSTS: Element.PLANT}
    if plan.protection.classes:
        kinds[Group.COSTS] = Element.COST_CLASS
    for coordinate, (group, element) in enumerate(zip(made.group.tolist(), made.element.tolist(), strict=True)):
        if (which := list(Group)[group]) in groups:
            kind = kinds[which]
            number = int(bus[element]) if kind is not Element.COST_CLASS else element + 1
            found.setdefault((kind, number), []).append(coordinate)
    return [(key, [(one, float(alpha[one])) for one in some]) for key, some in sorted(found.items())]


def _changed(network: Network, made: Table, coordinate: int, by: float) -> Network:
    known = logs(network)
    u = encode(made, known)
    u[coordinate] += by
    return rebuilt(made, decode(made, u, known), network)
