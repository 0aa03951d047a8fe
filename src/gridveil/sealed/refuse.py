"""What the true numbers of a protected group are looked at for before a charge. Each answer is the operator's own."""

from __future__ import annotations

import numpy as np

from gridveil.errors import ReleaseError
from gridveil.sealed.split import Sealed


def require_limits_in_order(network: Sealed) -> None:
    """Refuse a unit whose true range is empty: the order of limits is structure, and noise keeps it."""
    grid = network._open().grid
    wrong = np.flatnonzero(grid.generators.pmin > grid.generators.pmax)
    if len(wrong):
        bus = grid.buses.number[grid.generators.bus[wrong[0]]]
        raise ReleaseError(f"a unit at bus {bus} has pmin above pmax; put its limits right")
