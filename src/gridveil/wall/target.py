"""What a repair stays near to, and how much it may cost, unless a plan says otherwise."""

from __future__ import annotations

from enum import StrEnum

EFFORT = 5000.0
"""AC-OPFs that a repair may cost unless the plan says otherwise: far beyond the 60 to 400 of the dearest on record."""

LEAST_EFFORT = 10.0
"""Less than many repairs need: a release with less would be charged and fail."""


class Target(StrEnum):
    """What a repair stays near to: the values as drawn, or shrunk towards what public data say of them."""

    DRAWN = "drawn"
    SHRUNK = "shrunk"
