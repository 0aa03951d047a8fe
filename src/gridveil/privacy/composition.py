"""What several releases cost together. Proof: docs/proofs/composition.md.

A loss is for a change of one asset, up to some α of each group of its numbers. Losses for different α do not simply
add: each is counted at the largest α of its group. And what a network has spent is what the asset of it has that was
released most, in the group that was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray

USUAL_REACH = {"relative": 0.1, "conductance": 0.1, "surcharge": 0.0025, "total": 0.0025}
"""The α that a release has in each unit if nobody says otherwise."""
QUESTIONS = ("surcharge", "total")
"""Units of figures that a change of any group moves: they have one α for all groups."""
WHOLE = ""
"""The group of an asset whose groups are not told apart: every charge counts for it, at its least α."""
NO_GROUPS: Mapping[str, float] = {}


class Charge(NamedTuple):
    """A loss for changes up to `alpha` in a unit, or up to an α of each of its `groups`, of which `alpha` is the least.

    One that names no groups is for all that an asset has. Coordinates may be taken in one `way` or another: who takes
    them in another way than the charge did counts some groups up to an α of theirs, `otherwise`.
    """

    loss: float
    alpha: float
    unit: str
    mechanism: str
    groups: Mapping[str, float] = NO_GROUPS
    way: str = ""
    otherwise: Mapping[str, float] = NO_GROUPS

    def at(self, group: str, way: str = "") -> float | None:
        """Up to which change of a group it counts, for who takes coordinates in a way; `None` if it left the group as
        it is."""
        others = self.otherwise if way != self.way else NO_GROUPS
        if not self.groups or group == WHOLE:
            return min(self.alpha, *others.values()) if others else self.alpha
        return others.get(group, self.groups.get(group))


class Within(NamedTuple):
    """Up to which change a cumulative loss holds, for the releases of one mechanism; where groups have an α each,
    `alpha` is the least, and parts of them are added up: half of one and half of another is one whole change."""

    mechanism: str
    alpha: float
    unit: str
    groups: Mapping[str, float] = NO_GROUPS

    @property
    def largest(self) -> float:
        """The largest α of any group."""
        return max(self.groups.values(), default=self.alpha)


class Lost(NamedTuple):
    """What releases came to at most whose entries were lost: for every asset, as nobody knows which they were of.

    It holds for changes up to the `reach` of each unit, which is written down with it.
    """

    loss: float
    reach: Mapping[str, float]

    def within(self, found: Sequence[Within]) -> float:
        """The loss for changes up to larger reaches: it grows at most as the reach that grows most."""
        return self.loss * max([1.0, *(one.largest / self.reach[one.unit] for one in found if one.unit in self.reach)])


@dataclass(frozen=True, eq=False)
class Assets:
    """A network as the ledger knows it: a name for people, and a keyed name of every asset.

    An asset that stands in it k times (several lines that are one asset by an identity map) is charged k times. Whoever
    asks what assets have spent says which `groups` of numbers each of them has, and in which `way` their coordinates
    are taken; entries do not tell.
    """

    name: str
    keys: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    way: str = ""

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """Every account: an asset, and one group of its numbers."""
        groups = self.groups or ((WHOLE,),) * len(self.keys)
        pairs = zip(self.keys, groups, strict=True)
        return list(dict.fromkeys((key, group) for key, some in pairs for group in some))

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The keys and the groups of all accounts."""
        return tuple(key for key, _ in self.rows), tuple(group for _, group in self.rows)

    @cached_property
    def members(self) -> dict[str, BoolArray]:
        """Which accounts are of a group."""
        groups = self.columns[1]
        return {group: np.array([one == group for one in groups]) for group in dict.fromkeys(groups)}

    @cached_property
    def counts(self) -> FloatArray:
        """How often the asset of each account stands in the network."""
        return self.times(self.columns[0])

    def times(self, keys: Sequence[str]) -> FloatArray:
        """How often each of some assets stands in the network."""
        many = Counter(self.keys)
        return np.array([float(many[key]) for key in keys])


@dataclass(frozen=True, eq=False)
class Accounts:
    """What each asset of a network has spent in each group of its numbers, for changes up to what `within` says: the
    asset at `keys[i]` in `groups[i]`."""

    keys: tuple[str, ...]
    groups: tuple[str, ...]
    spent: FloatArray
    limit: FloatArray
    within: tuple[Within, ...]

    @property
    def largest(self) -> float:
        """What the network has spent: no asset of it has spent more."""
        return float(np.max(self.spent, initial=0.0))

    @property
    def largest_limit(self) -> float | None:
        """The limit of the account that has spent most (of several, the lowest), `None` if it has none."""
        found = float(np.min(self.limit[self.spent == self.largest], initial=np.inf))
        return found if np.isfinite(found) else None

    @property
    def nearest(self) -> int:
        """The account that has least left: another one, where limits differ."""
        return int(np.argmin(self.limit - self.spent))

    @property
    def left(self) -> float:
        """What the network may still spend."""
        return float(np.min(self.limit - self.spent, initial=np.inf))

    @property
    def exceeded(self) -> bool:
        return bool(np.any(self.spent > self.limit * (1 + 1e-12)))


def accounts(
    network: Assets,
    charged: Iterable[tuple[Assets, Charge]],
    limits: Iterable[tuple[Assets | None, float]],
    lost: Iterable[Lost] = (),
) -> Accounts:
    """What every asset of a network has spent in each group, by charges of whatever networks it was in, and what it
    may spend.

    What was `lost` counts for all of them. A limit is that of the assets of its network, or of all if it has none; the
    latest counts.
    """
    (keys, groups), own = network.columns, network.members
    counts: dict[int, FloatArray] = {}
    found: list[tuple[FloatArray, Charge, str, float]] = []
    for assets, charge in charged:
        if id(assets) not in counts:
            counts[id(assets)] = network.counts if assets is network else assets.times(keys)
        for group, mask in own.items():
            alpha, times = charge.at(group, network.way), counts[id(assets)] * mask
            if alpha is not None and times.any():
                found.append((times, charge, group, alpha))
    reach = _reaches(found)
    within = _within(found, reach)
    spent = np.full(len(keys), sum((one.within(within) for one in lost), 0.0))
    for times, charge, group, alpha in found:
        spent += times * (charge.loss * (reach[_measure(charge, group)] / alpha))
    limit = np.full(len(keys), np.inf)
    for assets_or_all, most in limits:
        if assets_or_all is None:
            limit[:] = most
        else:
            held = set(assets_or_all.keys)
            limit[np.array([key in held for key in keys], bool)] = most
    return Accounts(keys, groups, spent, limit, within)


_Found = Sequence[tuple[FloatArray, Charge, str, float]]
"""How often each account was charged, by what, in which group, and at which α."""


def _measure(charge: Charge, group: str) -> tuple[str, str]:
    """What is counted up to one α: the changes of a group in a unit, or, of a figure, those of all groups."""
    return charge.unit, WHOLE if charge.unit in QUESTIONS else group


def _reaches(found: _Found) -> dict[tuple[str, str], float]:
    """The largest α of every group in each unit: up to there charges are counted together."""
    largest: dict[tuple[str, str], float] = {}
    for _, charge, group, alpha in found:
        measure = _measure(charge, group)
        largest[measure] = max(alpha, largest.get(measure, 0.0))
    return largest


def _within(found: _Found, reach: Mapping[tuple[str, str], float]) -> tuple[Within, ...]:
    """The same by mechanism."""
    made: dict[str, tuple[str, dict[str, float]]] = {}
    for _, charge, group, _ in found:
        made.setdefault(charge.mechanism, (charge.unit, {}))[1][group] = reach[_measure(charge, group)]
    return tuple(
        Within(mechanism, min(groups.values()), unit, groups if len(set(groups.values())) > 1 else NO_GROUPS)
        for mechanism, (unit, groups) in made.items()
    )
