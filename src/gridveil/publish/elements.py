"""Which assets a release touches: the public identity of every element, under which the ledger keeps its account."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from gridveil.arrays import IntArray
from gridveil.grid import Structure
from gridveil.wall.protection import Element, Protection

SameAs = Mapping[int, int]
"""By what number the ledger knows a bus that was renumbered."""


def corridor_buses(structure: Structure, same_as: SameAs | None = None) -> list[tuple[int, int]]:
    """The bus numbers of every corridor, the smaller first; in the order of first appearance.

    By an identity map several corridors may be one asset; it then stands here as often, and is charged as often.
    """
    number, lines = structure.buses.number, structure.lines
    ends = np.sort(np.stack([number[lines.bus_from], number[lines.bus_to]], axis=1), axis=1)
    pairs = list(dict.fromkeys(map(tuple, ends.tolist())))
    if not same_as:
        return pairs
    renamed = (sorted(same_as.get(bus, bus) for bus in pair) for pair in pairs)
    return [(low, high) for low, high in renamed]


def identities(structure: Structure, same_as: SameAs | None = None, protection: Protection | None = None) -> list[str]:
    """The public identity of every asset that a release protects: corridors, unless more or others are."""
    elements = (Element.CORRIDOR,) if protection is None else protection.elements
    return [name for kind, names in by_element(structure, same_as).items() if kind in elements for name in names]


def by_element(structure: Structure, same_as: SameAs | None = None) -> dict[Element, list[str]]:
    """The public identities of corridors, loads and plants, each its kind and the numbers of its buses."""
    known = same_as or {}

    def of_bus(element: Element, buses: IntArray) -> list[str]:
        numbers = structure.buses.number[np.unique(buses)].tolist()
        return [f"{element} {known.get(number, number)}" for number in numbers]

    loaded = np.flatnonzero((structure.buses.pd_sign != 0) | (structure.buses.qd_sign != 0))
    return {
        Element.CORRIDOR: [f"corridor {low} {high}" for low, high in corridor_buses(structure, same_as)],
        Element.LOAD: of_bus(Element.LOAD, loaded),
        Element.PLANT: of_bus(Element.PLANT, structure.generators.bus),
    }


def former_shape(structure: Structure) -> bytes:
    """What ledgers of the first version knew a network by: its buses and their base voltages."""
    buses = structure.buses
    return json.dumps(sorted(zip(buses.number.tolist(), buses.base_kv.tolist(), strict=True))).encode()
