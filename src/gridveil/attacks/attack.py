"""An attack from beginning to end: lines are chosen by an attacker, the damage is the real one's.

*Load affected* is what cannot be served right after the attack, while no generator is yet above its output before it
(loads and shunts may already be switched). *Load restored* is what can be served once all are dispatched anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gridveil.arrays import IntArray, frozen
from gridveil.attacks.attackers import ATTACKERS
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch, topology_network
from gridveil.attacks.knowledge import Knowledge
from gridveil.attacks.scores import similarity
from gridveil.errors import AttackError
from gridveil.grid import Grid, Network
from gridveil.nlp.restoration import Ending, Restoration, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import SolverOptions
from gridveil.shown import as_card


@dataclass(frozen=True, eq=False)
class Attack:
    """The outcome of an attack, by `gv.attack`. INTERNAL.

    Attributes:
        attacker: Who chose the lines.
        lines: The lines that were cut, counted from 0 in the order of the network.
        load_mw: The load before the attack.
        affected_mw: What cannot be served right after it.
        restored_mw: What can be served once all generators are dispatched anew.
        bound_mw: No restoration serves more.
        status: What `restored_mw` is (`nlp.restoration.Ending`).
        similarity: Share of the lines that the real flow attack of the same budget cuts too, in per cent.
        excess: What of it is more than an attacker has who knows the topology alone, in points.
        restoration: The state of the damaged network.
        grid: The network that suffers.

    Examples:
        >>> found = gv.attack("case14_ieee", count=2)
        >>> found.lines.tolist(), found.similarity
        ([0, 1], 100.0)
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
    grid: Grid | None = None

    _repr_html_ = as_card

    def __repr__(self) -> str:
        done = f"{self.restored_percent:.1f} % of the load restored ({self.status})"
        return f"Attack({self.attacker!r}, {len(self.lines)} lines cut, {done}; INTERNAL)"

    @property
    def restored_percent(self) -> float:
        return self.restoration.percent


class Target:
    """The real network under attack: its dispatch, and its restorations, each line set once. INTERNAL.

    Args:
        network: The real network.
        rules: `switchable` (loads and shunts can be switched, lines opened) or `literal` (the paper's model).
        options: Of the solver.

    Raises:
        AttackError: There are no such rules.
        SolveError: The network has no dispatch to attack.

    Examples:
        >>> target = gv.Target(gv.load("case14_ieee"))
        >>> [gv.attack(target, count=k).restored_mw > 0 for k in (1, 2)]
        [True, True]
    """

    def __init__(self, network: Network, rules: Rules | str = Rules.SWITCHABLE, options: SolverOptions | None = None):
        self.network, self.rules, self.options = network, _rules(rules), options
        self.dispatch = expected_dispatch(network, options)
        self.by_flow: IntArray = by_flow(self.dispatch)
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

    def like(self, network: Network) -> Target:
        """Another network under attack, by the same rules."""
        return Target(network, self.rules, self.options)

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


def choose_lines(target: Target, attacker: str, k: int, released: Network | None = None, seed: int = 0) -> IntArray:
    """The k lines, sorted, that an attacker cuts."""
    return cut_lines(Knowledge(target, released, seed), attacker, k)


def cut_lines(known: Knowledge, attacker: str, k: int) -> IntArray:
    """The same by who knows this; for several budgets and attackers, what they work out is shared."""
    if attacker not in ATTACKERS:
        raise AttackError(f"there is no attacker '{attacker}'; choose one of {', '.join(ATTACKERS)}")
    if known.released is not None:
        check_same_lines(known.target.network, known.released)
    return frozen(np.sort(ATTACKERS[attacker].cut(known, k)), np.int64)


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
        grid=target.network.grid,
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
