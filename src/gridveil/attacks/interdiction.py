"""Interdiction: a search for the k lines whose loss hurts most (the attacker whom the paper leaves to future work).

It begins with the flow attack; with cutting the line that carries most, restoring, and looking again; and with the
optimum of the transport relaxation. From the best of them it swaps: drop the line that matters least, add the one that
hurts most, until a round brings nothing or the evaluations are used up. Candidates are tried lazily: in the order of an
estimate (the gain they last brought, else what they carry), and only the first of them.

Every set is scored by one and the same restoration, the flow attack among them: the result is never worse than that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from gridveil.arrays import FloatArray, IntArray, frozen
from gridveil.attacks.flow import carried
from gridveil.attacks.transport import transport_interdiction
from gridveil.grid import Network
from gridveil.nlp.restoration import Restoration

Restorer = Callable[[Sequence[int]], Restoration]

EVALUATIONS = 400
CANDIDATES = 24
DROPS = 3
NOTICEABLE = 1e-5
"""Per unit of load: a smaller gain is the solver's tolerance."""


@dataclass(frozen=True, eq=False)
class Interdiction:
    """The lines found, the load still served in per unit, where the search began, how many sets it looked at."""

    lines: IntArray
    served: float
    began: str
    evaluations: int


class _Search:
    """Sets of lines and what is served without them; every set is restored once."""

    def __init__(self, network: Network, restorer: Restorer, evaluations: int) -> None:
        self.network, self.restorer, self.evaluations = network, restorer, evaluations
        self.seen: dict[frozenset[int], float] = {}
        self.gain: dict[int, float] = {}

    @property
    def exhausted(self) -> bool:
        return len(self.seen) >= self.evaluations

    def served(self, lines: Collection[int]) -> float:
        key = frozenset(lines)
        if key not in self.seen:
            self.seen[key] = self.restorer(sorted(key)).served
        return self.seen[key]

    def carried(self, lines: Collection[int]) -> FloatArray:
        """What every line carries once load is restored without `lines`."""
        rounded: FloatArray = np.round(carried(self.network, self.restorer(sorted(lines))), 6)
        return rounded

    def candidates(self, lines: set[int]) -> list[int]:
        """Lines to add, the most promising first."""
        flow = self.carried(lines)
        others = (line for line in range(self.network.grid.n_line) if line not in lines)
        return sorted(others, key=lambda line: (-self.gain.get(line, flow[line]), line))


def interdict(
    network: Network, k: int, restorer: Restorer, by_flow: IntArray, evaluations: int = EVALUATIONS
) -> Interdiction:
    """Find k lines without which little load is served; `by_flow` has all lines, that of the largest flow first."""
    search = _Search(network, restorer, evaluations)
    pipes, _ = transport_interdiction(network.grid, k)
    starts = {
        "flow attack": by_flow[:k].tolist(),
        "repeated flow attack": _repeated(search, k, by_flow),
        "transport relaxation": _filled(pipes.tolist(), k, by_flow),
    }
    began = min(starts, key=lambda name: search.served(starts[name]))
    chosen = set(starts[began])
    while not search.exhausted and search.served(chosen) > NOTICEABLE:
        better = _swap(search, chosen)
        if better is None:
            break
        chosen = better
    # a swap that was tried may be better than the last one made
    full = {lines: served for lines, served in search.seen.items() if len(lines) == k}
    best = min(full, key=lambda lines: (round(full[lines] / NOTICEABLE), sorted(lines)))
    return Interdiction(frozen(sorted(best), np.int64), full[best], began, len(search.seen))


def _filled(lines: Sequence[int], k: int, by_flow: IntArray) -> list[int]:
    """`lines` and, where they are fewer than k, the largest flows."""
    rest = [int(line) for line in by_flow if line not in set(lines)]
    return [*lines, *rest][:k]


def _repeated(search: _Search, k: int, by_flow: IntArray) -> list[int]:
    """Cut what carries most, look where the power goes then, cut again; in about twenty steps."""
    chosen: list[int] = []
    step = ceil(k / 20)
    while len(chosen) < k:
        flow = search.carried(chosen)
        order = np.lexsort((np.arange(len(flow)), -flow))
        alive = [int(line) for line in order if flow[line] > 0 and line not in chosen]
        if not alive:
            return _filled(chosen, k, by_flow)
        chosen += alive[: min(step, k - len(chosen))]
    return chosen


def _swap(search: _Search, chosen: set[int]) -> set[int] | None:
    """A better set, one line exchanged; None if none is found."""
    now = search.served(chosen)
    drops = sorted(chosen)
    if not search.exhausted:
        drops.sort(key=lambda line: (search.served(chosen - {line}), line))
    for drop in drops[:DROPS]:
        rest = chosen - {drop}
        base, best = search.served(rest), now - NOTICEABLE
        better: set[int] | None = None
        for line in search.candidates(rest)[:CANDIDATES]:
            if search.exhausted:
                return better
            served = search.served(rest | {line})
            search.gain[line] = base - served
            if served < best:
                best, better = served, rest | {line}
        if better is not None:
            return better
    return None
