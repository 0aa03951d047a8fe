"""Which assets a release touches: the public identity of every element, under which the ledger keeps its account."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from gridveil.arrays import IntArray
from gridveil.grid import Structure
from gridveil.privacy.composition import Assets
from gridveil.privacy.ledger import Ledger
from gridveil.wall.protection import EVERYTHING, Element, Group, Protection, Ratings, groups_of

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


KEPT = 6
"""How many answers are kept of a structure: somebody moves a slider, and asks the same of it many times."""
_kept: WeakKeyDictionary[Structure, dict[tuple[str, ...], Assets]] = WeakKeyDictionary()


def assets(
    ledger: Ledger | None,
    name: str,
    structure: Structure,
    same_as: SameAs | None = None,
    protection: Protection = EVERYTHING,
) -> Assets:
    """A network in a ledger, or in none: every asset that a release protects, with the groups of it that are."""
    if same_as:
        return _assets(ledger, name, structure, same_as, protection)
    names_by = "" if ledger is None else ledger.start  # two ledgers of one key give the same names
    wanted = (names_by, name, way(protection), *protection.groups)
    known = _kept.get(structure, {})
    found = known.get(wanted)
    if found is None:
        found = _assets(ledger, name, structure, None, protection)
        _kept[structure] = dict([*known.items()][1 - KEPT :]) | {wanted: found}  # a new one: others may be reading
    return found


def _assets(
    ledger: Ledger | None, name: str, structure: Structure, same_as: SameAs | None, protection: Protection
) -> Assets:
    found = touched(structure, same_as, protection)
    if ledger is None:
        return Assets(name, found.names, found.groups, way(protection))
    return ledger.assets(name, found.names, found.groups, way(protection))


def way(protection: Protection) -> str:
    """How the ledger knows in which coordinates a release takes an element's numbers: ratings by themselves, or not."""
    return str(protection.ratings) if protection.ratings is Ratings.WITH_IMPEDANCE else ""


def otherwise(protection: Protection) -> dict[str, float]:
    """Up to which change of its groups a draw counts for those who take ratings in the other coordinate: there an
    impedance that changes alone moves the rating's coordinate, too (docs/proofs/composition.md)."""
    if not {Group.LINES, Group.RATINGS} <= set(protection.groups):
        return {}
    alone = 1 / protection.alpha[Group.LINES] + 1 / protection.alpha[Group.RATINGS]
    return {str(Group.LINES): 1 / alone}


class Touched(NamedTuple):
    """The public identities of assets, and which groups of the numbers of each are meant."""

    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


def touched(structure: Structure, same_as: SameAs | None = None, protection: Protection = EVERYTHING) -> Touched:
    """What a release protects: every element of a kind, whether or not it has a number of each group, so that all
    groups of an element are charged with the same questions."""
    found = {
        kind: (names, tuple(str(group) for group in groups_of(kind) if group in protection))
        for kind, names in by_element(structure, same_as).items()
    }
    pairs = [(name, groups) for names, groups in found.values() if groups for name in names]
    return Touched(tuple(name for name, _ in pairs), tuple(groups for _, groups in pairs))


LINES_ALONE = Protection({Group.LINES: 1.0})
"""What releases protect that do not say otherwise."""


def identities(structure: Structure, same_as: SameAs | None = None, protection: Protection | None = None) -> list[str]:
    """The public identity of every asset that a release protects: corridors, unless more or others are."""
    return list(touched(structure, same_as, protection or LINES_ALONE).names)


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
