"""How many lines an attacker may cut."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np

from gridveil.errors import AttackError


def lines_in_budget(n_line: int, budget: float | None = None, count: int | None = None) -> int:
    """The number of lines: `budget` per cent of all, rounded up, or `count`; parallel lines count one by one."""
    if (budget is None) == (count is None):
        raise AttackError("give the budget either in per cent of the lines (budget) or as a number of lines (count)")
    if n_line == 0:
        raise AttackError("the network has no line to cut")
    if count is not None:
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count <= n_line:
            raise AttackError(f"a count of {count} lines cannot be cut; give a whole number from 1 to {n_line}")
        return int(count)
    if budget is None or not isfinite(budget) or not 0 < budget <= 100:
        raise AttackError(f"a budget of {budget} % makes no sense; give a number above 0 and up to 100")
    return max(1, ceil(budget / 100 * n_line - 1e-9))  # 7 % of 100 lines are 7, although 7/100·100 is a little more
