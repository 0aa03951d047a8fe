"""A limit on how much is solved, in AC-OPFs: counted in iterations, and so the same every time and on every machine.

An iteration of a larger problem counts as many times as it has more variables than the network's AC-OPF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil

ITERATIONS = 40
"""Of an ordinary AC-OPF."""


class EffortSpent(Exception):
    """The limit is reached."""


@dataclass(eq=False)
class Effort:
    """What may be spent and what is, in AC-OPFs of a network with so many variables; `told` hears of every solve."""

    limit: float
    variables: int
    told: Callable[[float], None]
    spent: float = 0.0

    def _price(self, variables: int) -> float:
        """Of an iteration."""
        return max(variables, 1) / max(self.variables, 1) / ITERATIONS

    def allowed(self, variables: int) -> int:
        """How many iterations a solve may take."""
        left = self.limit - self.spent
        if left <= 0:
            raise EffortSpent
        return ceil(left / self._price(variables))

    def count(self, variables: int, iterations: int) -> None:
        """Count a solve, which is never for nothing."""
        self.spent += self._price(variables) * max(iterations, 1)
        self.told(self.spent)


_CURRENT: ContextVar[Effort | None] = ContextVar("effort", default=None)


def current() -> Effort | None:
    """The limit that holds here, if one does."""
    return _CURRENT.get()


@contextmanager
def limited(effort: Effort) -> Iterator[None]:
    """Let solves within count, and end where the limit is reached."""
    before = _CURRENT.set(effort)
    try:
        yield
    finally:
        _CURRENT.reset(before)
