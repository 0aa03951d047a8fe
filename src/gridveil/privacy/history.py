"""What the entries of a ledger mean: its networks, what was charged to them, what was lost, and the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gridveil.privacy.chain import Entry
from gridveil.privacy.composition import USUAL_REACH, Accounts, Assets, Charge, Lost, accounts


@dataclass(frozen=True, eq=False)
class History:
    """What the entries of a ledger say together."""

    entries: Sequence[Entry]

    @cached_property
    def networks(self) -> dict[int, Assets]:
        """The assets of every network, by the number of its entry."""
        found: dict[int, Assets] = {}
        for entry in self.of("network"):
            base, said = entry.details["base"], entry.details
            keys = left_over(found[base].keys, said["removed"]) if base else []
            found[entry.number] = Assets(said["name"], (*keys, *said["added"]))
        return found

    @cached_property
    def charges(self) -> list[tuple[Assets, Charge]]:
        found = []
        for entry in self.of("charge"):
            said = entry.details
            charge = Charge(said["loss"], said["alpha"], said["unit"], said["mechanism"])
            found.append((self.networks[said["network"]], charge))
        return found

    @cached_property
    def lost(self) -> list[Lost]:
        """What was lost, up to the reaches that its entry has; one of an earlier version has those before it."""
        return [
            Lost(entry.details["loss"], entry.details.get("reach") or History(self.entries[: entry.number - 1]).reach)
            for entry in self.of("lost")
        ]

    @property
    def reach(self) -> dict[str, float]:
        """The largest α of each unit that was charged; of one that was not, the usual one."""
        found = dict[str, float]()
        for entry in self.of("charge"):
            unit, alpha = entry.details["unit"], entry.details["alpha"]
            found[unit] = max(alpha, found.get(unit, 0.0))
        return USUAL_REACH | found

    @property
    def current(self) -> list[Assets]:
        """Every network whose assets are not all those of a later one."""
        found = list[Assets]()
        later = list[set[str]]()
        for network in reversed(self.networks.values()):
            keys = set(network.keys)
            if not any(keys <= one for one in later):
                found.append(network)
                later.append(keys)
        return found[::-1]

    def of(self, kind: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind]

    def accounts(self, network: Assets, more: Iterable[Charge] = ()) -> Accounts:
        """What each asset of a network has spent, and would have with more charges."""
        limits = [(self.networks.get(one.details["network"]), one.details["limit"]) for one in self.of("limit")]
        return accounts(network, [*self.charges, *((network, charge) for charge in more)], limits, self.lost)

    def earlier(self, network: Assets) -> tuple[Entry, ...]:
        """The charges that touched a network, and what was lost, which may have."""
        keys = set(network.keys)
        pairs = zip(self.of("charge"), self.charges, strict=True)
        charges = [entry for entry, (assets, _) in pairs if not keys.isdisjoint(assets.keys)]
        return (*charges, *self.of("lost"))

    def namesake(self, network: Assets) -> Assets | None:
        """The network of this name, if there is one and none shares half of its assets, or of the present one's."""
        keys = set(network.keys)
        named = [one for one in self.networks.values() if one.name == network.name]
        if any(2 * len(keys.intersection(one.keys)) >= min(len(set(one.keys)), len(keys)) for one in named):
            return None
        return named[-1] if named else None

    def known(self, network: Assets) -> int | None:
        """The entry of a network with just these assets, and this name."""
        wanted = (network.name, sorted(network.keys))
        found = [number for number, one in self.networks.items() if (one.name, sorted(one.keys)) == wanted]
        return found[-1] if found else None


def left_over(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """What of `one`, as often as it stands there, is not in the other."""
    counts, left = Counter(other), list[str]()
    for key in one:
        if counts[key]:
            counts[key] -= 1
        else:
            left.append(key)
    return left
