"""What several releases cost together. Proof: docs/proofs/composition.md.

A loss is for a change of one asset, up to some α. Losses for different α do not simply add: each is counted at the
largest α of its unit. And what a network has spent is what the asset of it has that was released most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray

USUAL_REACH = {"relative": 0.1, "conductance": 0.1, "surcharge": 0.0025, "total": 0.0025}
"""The α that a release has in each unit if nobody says otherwise."""


class Charge(NamedTuple):
    """A loss for changes up to `alpha` in a unit. Charges of one unit are counted together, whoever they are for."""

    loss: float
    alpha: float
    unit: str
    mechanism: str


class Within(NamedTuple):
    """Up to which change a cumulative loss holds, for the releases of one mechanism."""

    mechanism: str
    alpha: float
    unit: str


class Lost(NamedTuple):
    """What releases came to at most whose entries were lost: for every asset, as nobody knows which they were of.

    It holds for changes up to the `reach` of each unit, which is written down with it.
    """

    loss: float
    reach: Mapping[str, float]

    def within(self, found: Sequence[Within]) -> float:
        """The loss for changes up to larger reaches: it grows at most as the reach that grows most."""
        return self.loss * max([1.0, *(one.alpha / self.reach[one.unit] for one in found if one.unit in self.reach)])


@dataclass(frozen=True, eq=False)
class Assets:
    """A network as the ledger knows it: a name for people, and a keyed name of every asset.

    An asset that stands in it k times (several lines that are one asset by an identity map) is charged k times.
    """

    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Accounts:
    """What each asset of a network has spent, for changes up to what `within` says."""

    keys: tuple[str, ...]
    spent: FloatArray
    limit: FloatArray
    within: tuple[Within, ...]

    @property
    def largest(self) -> float:
        """What the network has spent: no asset of it has spent more."""
        return float(np.max(self.spent, initial=0.0))

    @property
    def largest_limit(self) -> float | None:
        """The limit of the asset that has spent most (of several, the lowest), `None` if it has none."""
        found = float(np.min(self.limit[self.spent == self.largest], initial=np.inf))
        return found if np.isfinite(found) else None

    @property
    def nearest(self) -> int:
        """The asset that has least left: another one, where limits differ."""
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
    """What every asset of a network has spent by charges of whatever networks it was in, and what it may spend.

    What was `lost` counts for all of them. A limit is that of the assets of its network, or of all if it has none; the
    latest counts.
    """
    keys = tuple(dict.fromkeys(network.keys))
    place = {key: index for index, key in enumerate(keys)}
    counts: dict[int, FloatArray] = {}
    found: list[tuple[FloatArray, Charge]] = []
    for assets, charge in charged:
        if id(assets) not in counts:
            times = np.zeros(len(keys))
            for key, many in Counter(assets.keys).items():
                if key in place:
                    times[place[key]] = many
            counts[id(assets)] = times
        if counts[id(assets)].any():
            found.append((counts[id(assets)], charge))
    within = reaches([charge for _, charge in found])
    largest = {one.unit: one.alpha for one in within}
    spent = np.full(len(keys), sum((one.within(within) for one in lost), 0.0))
    for times, charge in found:
        spent += times * (charge.loss * (largest[charge.unit] / charge.alpha))
    limit = np.full(len(keys), np.inf)
    for assets_or_all, most in limits:
        for key in keys if assets_or_all is None else assets_or_all.keys:
            if key in place:
                limit[place[key]] = most
    return Accounts(keys, spent, limit, within)


def reaches(charges: Sequence[Charge]) -> tuple[Within, ...]:
    """The largest α of each unit, by mechanism: up to there charges are counted together."""
    largest: dict[str, float] = {}
    for charge in charges:
        largest[charge.unit] = max(charge.alpha, largest.get(charge.unit, 0.0))
    units = {charge.mechanism: charge.unit for charge in charges}
    return tuple(Within(mechanism, largest[unit], unit) for mechanism, unit in units.items())
