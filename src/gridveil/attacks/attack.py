"""An attack from beginning to end: lines are chosen on the attacker's network, the damage is what the real one suffers.

    random         any k lines
    real           the k largest active flows of the true network's AC-OPF
    released       the same, on the released network
    public         the same, without line data: every line at the mean of its voltage level (`attacks.flow`)
    topology       the same, with a map and the total demand alone: the floor that no release can go below
    interdiction   a search for the worst k lines, on the released network if there is one, else on the true one

*Load affected* is what cannot be served right after the attack, while no generator is yet above its output before it
(loads and shunts may already be switched). *Load restored* is what can be served once all are dispatched anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gridveil.arrays import IntArray, frozen
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch, public_lines, topology_network
from gridveil.attacks.interdiction import interdict
from gridveil.attacks.names import ATTACKERS
from gridveil.attacks.scores import similarity
from gridveil.errors import AttackError
from gridveil.grid import Network
from gridveil.nlp.restoration import Ending, Restoration, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import SolverOptions


@dataclass(frozen=True, eq=False)
class Attack:
    """The outcome: lines by index, loads in MW; `similarity` is to the real flow attack of the same budget, `excess`
    what of it is more than an attacker has who knows the topology alone.

    At most `bound_mw` could be restored; `status` says what `restored_mw` is (`nlp.restoration.Ending`).
    """

    attacker: str
    lines: IntArray
    load_mw: float
    affected_mw: float
    restored_mw: float
    bound_mw: float
    status: Ending
    similarity: float
    excess: float
    restoration: Restoration

    def __repr__(self) -> str:
        done = f"{self.restored_percent:.1f} % of the load restored ({self.status})"
        return f"Attack({self.attacker!r}, {len(self.lines)} lines cut, {done}; INTERNAL)"

    @property
    def restored_percent(self) -> float:
        return self.restoration.percent


class Target:
    """The real network under attack: its dispatch, and its restorations, each line set once."""

    def __init__(self, network: Network, rules: Rules | str = Rules.SWITCHABLE, options: SolverOptions | None = None):
        self.network, self.rules, self.options = network, _rules(rules), options
        self.dispatch = expected_dispatch(network, options)
        self.by_flow = by_flow(self.dispatch)
        self._restored: dict[tuple[int, ...], Restoration] = {}
        self._affected: dict[tuple[int, ...], float] = {}

    def __repr__(self) -> str:
        return f"Target({self.network.grid!r}, {self.rules}; INTERNAL)"

    @cached_property
    def by_topology(self) -> IntArray:
        """All lines, as who knows the topology alone would order them."""
        return by_flow(expected_dispatch(topology_network(self.network.grid), self.options))

    def similarity(self, lines: Sequence[int] | IntArray) -> float:
        """To the real flow attack with as many lines."""
        return similarity(self.by_flow[: len(lines)].tolist(), [int(line) for line in lines])

    def floor(self, k: int) -> float:
        """The similarity of who knows the topology alone."""
        return self.similarity(self.by_topology[:k])

    def restore(self, lines: Sequence[int] | IntArray) -> Restoration:
        """What is served without these lines."""
        key = tuple(sorted({int(line) for line in lines}))
        if key not in self._restored:
            self._restored[key] = restore(self.network, np.array(key, dtype=np.int64), self.rules, self.options)
        return self._restored[key]

    @property
    def restorations(self) -> int:
        """How many were computed."""
        return len(self._restored)

    def affected(self, lines: Sequence[int] | IntArray) -> float:
        """Load that is lost while no generator is above its output before the attack, in per unit."""
        key = tuple(sorted({int(line) for line in lines}))
        if key in self._affected:
            return self._affected[key]
        grid = self.network.grid
        limit = np.clip(self.dispatch.pg, grid.generators.pmin, grid.generators.pmax)
        held = replace(grid, generators=replace(grid.generators, pmax=limit))
        left = restore(Network(held, self.network.lines), np.array(key, dtype=np.int64), options=self.options)
        self._affected[key] = max(0.0, left.load - left.served)
        return self._affected[key]


class Knowledge(NamedTuple):
    """What an attacker may use: the released network, else the real one's grid; line data as it has come to him."""

    target: Target
    released: Network | None
    seed: int


def _random(known: Knowledge, k: int) -> IntArray:
    if known.seed < 0:
        raise AttackError(f"a seed is a whole number from 0 on, not {known.seed}")
    generator = np.random.default_rng(known.seed)
    return generator.choice(known.target.network.grid.n_line, k, replace=False)


def _real(known: Knowledge, k: int) -> IntArray:
    return known.target.by_flow[:k]


def _released(known: Knowledge, k: int) -> IntArray:
    if known.released is None:
        raise AttackError("the attacker 'released' has nothing to look at; give a released network")
    return by_flow(expected_dispatch(known.released, known.target.options))[:k]


def _public(known: Knowledge, k: int) -> IntArray:
    grid = known.target.network.grid if known.released is None else known.released.grid
    lines = public_lines(grid, None if known.released is None else known.released.lines)
    return by_flow(expected_dispatch(Network(grid, lines), known.target.options))[:k]


def _topology(known: Knowledge, k: int) -> IntArray:
    return known.target.by_topology[:k]


def _interdiction(known: Knowledge, k: int) -> IntArray:
    target = known.target
    seen = target if known.released is None else Target(known.released, target.rules, target.options)
    return interdict(seen.network, k, seen.restore, seen.by_flow).lines


_CHOOSE: dict[str, Callable[[Knowledge, int], IntArray]] = dict(
    zip(ATTACKERS, (_random, _real, _released, _public, _topology, _interdiction), strict=True)
)


def choose_lines(target: Target, attacker: str, k: int, released: Network | None = None, seed: int = 0) -> IntArray:
    """The k lines, sorted, that an attacker cuts."""
    if attacker not in _CHOOSE:
        raise AttackError(f"there is no attacker '{attacker}'; choose one of {', '.join(ATTACKERS)}")
    if released is not None:
        check_same_lines(target.network, released)
    return frozen(np.sort(_CHOOSE[attacker](Knowledge(target, released, seed), k)), np.int64)


def attack(
    target: Target,
    attacker: str = "real",
    budget: float | None = None,
    count: int | None = None,
    released: Network | None = None,
    seed: int = 0,
) -> Attack:
    """Let an attacker choose its lines, cut them in the real network, and restore what can be."""
    k = lines_in_budget(target.network.grid.n_line, budget, count)
    lines = choose_lines(target, attacker, k, released, seed)
    done, base = target.restore(lines), target.network.grid.base_mva
    return Attack(
        attacker=attacker,
        lines=lines,
        load_mw=done.load * base,
        affected_mw=target.affected(lines) * base,
        restored_mw=done.served * base,
        bound_mw=done.bound * base,
        status=done.ending,
        similarity=target.similarity(lines),
        excess=target.similarity(lines) - target.floor(k),
        restoration=done,
    )


def check_same_lines(real: Network, released: Network) -> None:
    """A release names lines by their place: refuse one whose lines do not join the same buses in the same order."""
    ours, theirs = _joined(real), _joined(released)
    if len(ours) != len(theirs):
        raise AttackError(
            f"the released network has {len(theirs)} lines, the real one {len(ours)}; they are not the same network"
        )
    other = np.flatnonzero(np.any(ours != theirs, axis=1))
    if other.size:
        a, b = ours[other[0]]
        c, d = theirs[other[0]]
        raise AttackError(
            f"line {other[0] + 1} joins buses {a} and {b} in the real network, {c} and {d} in the released one; "
            "give a release of this network, with its lines in their order"
        )


def _joined(network: Network) -> IntArray:
    grid = network.grid
    return np.stack([grid.buses.number[grid.lines.bus_from], grid.buses.number[grid.lines.bus_to]], axis=1)


def _rules(rules: Rules | str) -> Rules:
    try:
        return Rules(rules)
    except ValueError:
        known = ", ".join(Rules)
        raise AttackError(f"there is no restoration '{rules}'; choose one of {known}") from None
