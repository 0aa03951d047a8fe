"""What the entries of a ledger mean: its networks, what was charged to them, what was lost, and the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gridveil.privacy.chain import Entry
from gridveil.privacy.composition import QUESTIONS, USUAL_REACH, Accounts, Assets, Charge, Lost, Within, accounts

FORMER = ("lines", "ratings", "loads", "limits", "costs")
"""Groups of numbers as earlier versions have them, whose charges have one α and say at most what they left `bare`."""
OF_LINES = ("log", "additive", "paper")
"""What they charged before groups could be chosen: all but lines was left as it was."""


def charge_of(entry: Entry) -> Charge:
    """The charge of an entry. One of an earlier version names no groups: it is for all that an asset has."""
    said = entry.details
    more = said.get("groups", {}), said.get("way", ""), said.get("otherwise", {})
    return Charge(said["loss"], said["alpha"], said["unit"], said["mechanism"], *more)


def charged_up_to(entry: Entry) -> Within:
    """Up to which change of each group a charge was."""
    charge = charge_of(entry)
    one = charge.unit in QUESTIONS or len(set(charge.groups.values())) < 2
    return Within(charge.mechanism, charge.alpha, charge.unit, {} if one else by_place(charge.groups))


def by_place(groups: Mapping[str, float]) -> dict[str, float]:
    """Groups in their order, whatever that of an entry's text."""
    return {group: groups[group] for group in (*FORMER, *sorted(groups)) if group in groups}


def _drawn(entry: Entry) -> set[str]:
    """The groups that a draw of an earlier version protected."""
    bare = entry.details.get("bare", FORMER[1:] if entry.details["mechanism"] in OF_LINES else ())
    return set(FORMER) - set(bare)


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
        """What was charged to whom. Of earlier versions a draw is for the groups that it did not leave bare, at its one
        α, and a question for those of the draws of its network before it."""
        found, drawn = [], dict[int, set[str]]()
        for entry in self.of("charge"):
            charge, network = charge_of(entry), entry.details["network"]
            if "groups" not in entry.details:
                if charge.unit not in QUESTIONS:
                    drawn[network] = drawn.get(network, set()) | (groups := _drawn(entry))
                else:
                    groups = drawn.get(network, set())
                charge = charge._replace(groups={group: charge.alpha for group in FORMER if group in groups})
            found.append((self.networks[network], charge))
        return found

    def groups(self, network: Assets) -> list[str]:
        """The groups that were protected of any asset of a network, in their order."""
        keys = set(network.keys)
        found = {
            group
            for assets, charge in self.charges
            if not keys.isdisjoint(assets.keys)
            for group in charge.groups or FORMER
        }
        return [*(group for group in FORMER if group in found), *sorted(found.difference(FORMER))]

    @cached_property
    def lost(self) -> list[Lost]:
        """What was lost, up to the reaches that its entry has; one of an earlier version has those before it."""
        return [
            Lost(entry.details["loss"], entry.details.get("reach") or History(self.entries[: entry.number - 1]).reach)
            for entry in self.of("lost")
        ]

    @property
    def reach(self) -> dict[str, float]:
        """The largest α of each unit that was charged, in any group; of a unit that was not, the usual one."""
        found = dict[str, float]()
        for one in map(charge_of, self.of("charge")):
            found[one.unit] = max(one.alpha, *one.groups.values(), found.get(one.unit, 0.0))
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
