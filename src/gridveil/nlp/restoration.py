"""Load restoration after any set of lines is lost: island by island, each with its own reference.

Under `switchable` there is always an answer. An island without generation (or load) goes dark. One that is not solved
from any start is a `fallback`: it gets the best feasible state found, or, where there is none, lines are opened (those
of its worst buses, or single ones) and the pieces are fed; the most that could be served stands beside what is.
Under `literal` (the paper's Model 2: nothing may be switched) one island that cannot be fed makes the whole infeasible,
and 0 % count as restored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gridveil.arrays import BoolArray, IntArray, frozen
from gridveil.errors import GridError
from gridveil.grid.network import Network
from gridveil.grid.parts import generators_at, part, without
from gridveil.grid.physics import Violations
from gridveil.grid.topology import islands
from gridveil.nlp.island import Energised, State, dark, energise, judge, load, served
from gridveil.nlp.opf import JUDGED
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import SolverOptions, Status

ServedBound = Callable[[Network], float]
"""An upper bound on the load that a connected network can serve, in per unit."""


class Ending(StrEnum):
    """How the restoration of an island, or of a network, ended."""

    OPTIMAL = "optimal"
    DARK = "dark"
    FALLBACK = "fallback"
    INFEASIBLE = "infeasible"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, eq=False)
class Island:
    """The restoration of one island: its load, what is served of it and at most could be, in per unit."""

    ending: Ending
    detail: str
    buses: IntArray
    load: float
    served: float
    bound: float

    def __repr__(self) -> str:
        return f"Island({self.ending}, {len(self.buses)} buses)"


@dataclass(frozen=True, eq=False)
class Restoration:
    """What can be served without the lines `cut`: a state (dark buses and generators at 0), judged by `grid.physics`.

    `ending` is `optimal`; or `fallback` if some island is one; or under `literal`, and then nothing counts as served,
    `infeasible` or (if the solver failed otherwise) `unsolved`. `island` numbers the islands by bus; `opened` are the
    lines that fallbacks open.
    """

    ending: Ending
    cut: IntArray
    opened: IntArray
    state: State
    violations: Violations
    island: IntArray
    islands: tuple[Island, ...]
    load: float
    served: float
    bound: float
    attempts: int
    iterations: int

    def __repr__(self) -> str:
        return f"Restoration({self.ending}, {len(self.cut)} lines cut, {self.percent:.1f} % of the load served)"

    @property
    def percent(self) -> float:
        """Load restored in per cent of all load; 100 where there is none."""
        return 100.0 * self.served / self.load if self.load > 0 else 100.0


def capacity_bound(network: Network) -> float:
    """No more than is asked for, no more than is fed in: lines and shunts lose power, unless one is negative."""
    grid, lines = network
    wanted = float(load(grid).sum())
    if np.any(lines.g < 0) or np.any(grid.buses.gs < 0):
        return wanted
    return min(wanted, float(np.maximum(grid.generators.pmax, 0.0).sum() - np.minimum(grid.buses.pd, 0.0).sum()))


def restore(
    network: Network,
    cut: IntArray | Sequence[int],
    rules: Rules = Rules.SWITCHABLE,
    options: SolverOptions | None = None,
    bound: ServedBound = capacity_bound,
) -> Restoration:
    """Serve as much load as the network can without the lines `cut` (their indices).

    `bound` is asked for the islands that are not solved.
    """
    lines = checked_lines(network, cut)
    rest = without(network, lines)
    island = islands(rest.grid)
    work = _Work(rest, rules, options or SolverOptions())
    found: list[Island] = []
    for buses in _members(island):
        found.append(_restore_island(work, buses, bound))
        if found[-1].ending in _NOTHING:
            work.state = dark(rest.grid)
            break  # nothing counts as served, whatever the other islands could do
    endings = {one.ending for one in found}
    ending = next((one for one in (*_NOTHING, Ending.FALLBACK) if one in endings), Ending.OPTIMAL)
    wanted = float(load(rest.grid).sum())
    unasked = wanted - sum(one.load for one in found)  # of islands that were not looked at
    return Restoration(
        ending=ending,
        cut=lines,
        opened=frozen(np.setdiff1d(np.arange(network.grid.n_line), lines)[work.opened], np.int64),
        state=work.state,
        violations=judge(work.closed, work.state, Rules.SWITCHABLE if ending in _NOTHING else rules),
        island=frozen(island, np.int64),
        islands=tuple(found),
        load=wanted,
        served=served(rest.grid, work.state),
        bound=0.0 if ending is Ending.INFEASIBLE else unasked + sum(one.bound for one in found),
        attempts=work.attempts,
        iterations=work.iterations,
    )


_NOTHING = (Ending.INFEASIBLE, Ending.UNSOLVED)
_CUTS = 20  # how often an island may be cut smaller before what is left of it goes dark
_GOOD, _SINGLE, _LARGE = 0.95, 16, 100  # a fallback that serves less of the capacity tries single lines, if it is small


def checked_lines(network: Network, cut: IntArray | Sequence[int]) -> IntArray:
    """Line indices, sorted, each once; a `GridError` if one is none."""
    given, n = np.asarray(cut), network.grid.n_line
    if given.size and (given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n):
        raise GridError(f"lines to cut are given by their indices, whole numbers from 0 to {n - 1}")
    return frozen(np.unique(given.astype(np.int64)), np.int64)


class _Work:
    """A restoration on its way: the state so far, the lines opened, the effort."""

    def __init__(self, network: Network, rules: Rules, options: SolverOptions) -> None:
        self.network, self.rules, self.options = network, rules, options
        self.state = dark(network.grid)
        self.opened = np.zeros(network.grid.n_line, dtype=bool)
        self.attempts = self.iterations = 0

    @property
    def closed(self) -> Network:
        """The network without the lines opened."""
        return without(self.network, np.flatnonzero(self.opened)) if self.opened.any() else self.network

    def energise(self, network: Network) -> Energised:
        result = energise(network, self.rules, self.options)
        self.attempts, self.iterations = self.attempts + result.attempts, self.iterations + result.iterations
        return result

    def write(self, state: State, buses: IntArray) -> None:
        for name in ("vm", "va", "share", "on"):
            getattr(self.state, name)[buses] = getattr(state, name)
        generators = generators_at(self.network, buses)
        self.state.pg[generators], self.state.qg[generators] = state.pg, state.qg


def _members(island: IntArray) -> list[IntArray]:
    """The buses of each island, small islands first: what makes `literal` infeasible is mostly a bus alone."""
    groups = np.split(np.argsort(island, kind="stable"), np.cumsum(np.bincount(island))[:-1])
    return sorted(groups, key=len)


def _restore_island(work: _Work, buses: IntArray, bound: ServedBound) -> Island:
    own = part(work.network, buses)
    wanted = float(load(own.grid).sum())
    literal = work.rules is Rules.LITERAL
    if not literal and (wanted == 0 or not np.any(own.grid.generators.pmax > 0)):
        return Island(Ending.DARK, "no generation" if wanted else "no load", buses, wanted, 0.0, 0.0)
    result = work.energise(own)
    detail = f"{result.status}: {result.detail}"
    if literal and result.state is None:
        infeasible = result.status is Status.INFEASIBLE
        ending, most = (Ending.INFEASIBLE, 0.0) if infeasible else (Ending.UNSOLVED, bound(own))
        return Island(ending, detail, buses, wanted, 0.0, most)
    if result.state is not None:
        work.write(result.state, buses)
        got, most = served(own.grid, result.state), capacity_bound(own)
        if result.status is Status.OPTIMAL or got >= most - JUDGED:
            return Island(Ending.OPTIMAL, result.detail, buses, wanted, got, max(got, most))
    else:
        _open_lines(work, buses, result.culprits)
    got = float(load(own.grid) @ work.state.share[buses])
    return Island(Ending.FALLBACK, detail, buses, wanted, got, max(got, bound(own)))


@dataclass(frozen=True, eq=False)
class _Trial:
    """A way to feed an island by opening lines of it: which, and the states of the pieces that can be fed."""

    opened: BoolArray
    fed: tuple[tuple[IntArray, State], ...]
    served: float


def _open_lines(work: _Work, island: IntArray, culprits: IntArray) -> None:
    """Cut off the buses that stand in the way; if much is lost by that, see whether opening one line is better.

    What cannot be energised mostly has too much charging, so lines are tried in its order. On 223 buses that took 42 s.
    """
    own = part(work.network, island)
    best = _cut_off(work, island, culprits)
    if best.served < _GOOD * capacity_bound(own) and own.grid.n_bus <= _LARGE:
        lines = work.network.grid.lines
        inside = np.flatnonzero(np.isin(lines.bus_from, island) & ~work.opened)
        for line in inside[np.argsort(-work.network.lines.bc[inside], kind="stable")][:_SINGLE]:
            trial = _trial(work, island, work.opened | (np.arange(len(work.opened)) == line))[0]
            best = max(best, trial, key=lambda one: one.served)
    work.opened = best.opened
    for buses, state in best.fed:
        work.write(state, buses)


def _cut_off(work: _Work, island: IntArray, culprits: IntArray) -> _Trial:
    """Cut the worst buses off and feed each piece that is left, if need be again and again."""
    lines, opened = work.network.grid.lines, work.opened
    fed: list[tuple[IntArray, State]] = []
    total = 0.0
    failed = [(island, culprits)]
    for _ in range(_CUTS):
        if not failed:
            break
        buses, worst = failed.pop()
        opened = opened | np.isin(lines.bus_from, buses[worst]) | np.isin(lines.bus_to, buses[worst])
        trial, left = _trial(work, buses, opened)
        total, fed, failed = total + trial.served, [*fed, *trial.fed], [*failed, *left]
    return _Trial(opened, tuple(fed), total)


def _trial(work: _Work, island: IntArray, opened: BoolArray) -> tuple[_Trial, list[tuple[IntArray, IntArray]]]:
    """Feed the pieces of an island with lines open; beside what is fed, the pieces that are not and their culprits."""
    fed, failed, total = [], [], 0.0
    closed = part(without(work.network, np.flatnonzero(opened)), island)
    for piece in _members(islands(closed.grid)):
        own = part(closed, piece)
        if np.any(own.grid.generators.pmax > 0) and np.any(own.grid.buses.pd > 0):
            result = work.energise(own)
            if result.state is not None:
                fed.append((island[piece], result.state))
                total += served(own.grid, result.state)
            else:
                failed.append((island[piece], result.culprits))
    return _Trial(opened, tuple(fed), total), failed
