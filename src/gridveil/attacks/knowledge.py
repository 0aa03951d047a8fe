"""What an attacker may use, and what he works out from it: each ranking of lines is made once, for all his budgets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gridveil.arrays import IntArray
from gridveil.attacks.flow import by_flow, expected_dispatch, public_lines
from gridveil.attacks.interdiction import interdict
from gridveil.errors import AttackError
from gridveil.grid import Network

if TYPE_CHECKING:
    from gridveil.attacks.attack import Target


@dataclass(eq=False)
class Knowledge:
    """The released network, else the real one's grid; line data as it has come to him."""

    target: Target
    released: Network | None = None
    seed: int = 0

    def any_lines(self, k: int) -> IntArray:
        """Lines by lot."""
        if self.seed < 0:
            raise AttackError(f"a seed is a whole number from 0 on, not {self.seed}")
        return np.random.default_rng(self.seed).choice(self.target.network.grid.n_line, k, replace=False)

    @cached_property
    def by_release(self) -> IntArray:
        """All lines, the largest flow of the released network first."""
        if self.released is None:
            raise AttackError("the attacker 'released' has nothing to look at; give a released network")
        return self._ranked(self.released)

    @cached_property
    def by_levels(self) -> IntArray:
        """The same for one without line data."""
        seen = self.released
        grid = self.target.network.grid if seen is None else seen.grid
        return self._ranked(Network(grid, public_lines(grid, None if seen is None else seen.lines)))

    def worst(self, k: int) -> IntArray:
        """The lines whose loss hurts most, as far as a search on what he has finds them."""
        seen = self.target if self.released is None else self.target.like(self.released)
        return interdict(seen.network, k, seen.restore, seen.by_flow).lines

    def _ranked(self, network: Network) -> IntArray:
        return by_flow(expected_dispatch(network, self.target.options))
