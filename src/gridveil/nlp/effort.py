"""A limit on how much is solved, in AC-OPFs: counted in iterations, and so the same every time and on every machine.

An iteration counts by the order of its Newton system, variables and constraints together, beside that of the network's
AC-OPF: for projections of 3 to 300 buses that is 1.4 to 1.6, and their iterations take 1.1 to 1.6 times as long. By
variables alone it would be 1.8 to 4.1.
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
    """What may be spent and what is, in AC-OPFs whose Newton system has this order; `told` hears of every solve."""

    limit: float
    order: int
    told: Callable[[float], None]
    spent: float = 0.0

    def _price(self, order: int) -> float:
        """Of an iteration."""
        return max(order, 1) / max(self.order, 1) / ITERATIONS

    def allowed(self, order: int) -> int:
        """How many iterations a solve may take."""
        left = self.limit - self.spent
        if left <= 0:
            raise EffortSpent
        return ceil(left / self._price(order))

    def count(self, order: int, iterations: int) -> None:
        """Count a solve, which is never for nothing."""
        self.spent += self._price(order) * max(iterations, 1)
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
