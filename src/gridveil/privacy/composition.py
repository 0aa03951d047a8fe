"""What several releases cost together. Proof: docs/proofs/composition.md.

A loss is for changes up to some α. Losses for different α do not simply add: each is counted at the largest α of its
unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FORMER_UNITS = {"relative (0.1 means ten per cent)": "relative", "per unit of conductance": "conductance"}
"""Units as entries of earlier versions have them."""


class Charge(NamedTuple):
    """A loss for changes up to `alpha` in a unit. Charges of one unit are counted together, whoever they are for."""

    loss: float
    alpha: float
    unit: str
    mechanism: str


class Within(NamedTuple):
    """Up to which change a cumulative loss holds, for the releases of one mechanism."""

    mechanism: str
    alpha: float
    unit: str


def composed(charges: Sequence[Charge]) -> tuple[float, tuple[Within, ...]]:
    """What charges cost together, each counted at the largest α of its unit, and which that is by mechanism."""
    largest: dict[str, float] = {}
    for charge in charges:
        largest[charge.unit] = max(charge.alpha, largest.get(charge.unit, 0.0))
    total = sum(charge.loss * (largest[charge.unit] / charge.alpha) for charge in charges)
    units = {charge.mechanism: charge.unit for charge in charges}
    return total, tuple(Within(mechanism, largest[unit], unit) for mechanism, unit in units.items())
