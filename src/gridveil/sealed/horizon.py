"""`public_horizon`: the demands of a release as far as they are public, from the true loads and the operator's profile.

It is asked before a charge, and its refusals are the operator's own: they speak of the profile he gave.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import ReleaseError
from gridveil.grid import Grid
from gridveil.grid.profile import Profile, base_profile
from gridveil.sealed.split import Sealed
from gridveil.wall.horizon import Horizon, Shape
from gridveil.wall.protection import Group, Protection

SCALE_DIGITS, SHAPE_DIGITS = 6, 3
"""Of a scale that all loads share, and of a factor of each."""


def public_horizon(network: Sealed, protection: Protection, profile: Profile | None, *, shape_public: bool) -> Horizon:
    """The demands of a profile, or of the network alone; only their shape where loads are protected."""
    grid = network._open().grid
    demands = base_profile(grid) if profile is None else profile
    return _shape(grid, demands, public=shape_public) if Group.LOADS in protection else demands


def _shape(grid: Grid, profile: Profile, *, public: bool) -> Shape:
    """One number for all loads, to six digits, or one for each, to three, if that is said to be public. More digits
    would tell of which loads they are ratios."""
    found, bases = [], (grid.buses.pd, grid.buses.qd)
    for values, base in zip((profile.pd, profile.qd), bases, strict=True):
        if np.any((base == 0) & np.any(values != 0, axis=0)):
            raise ReleaseError(
                "the profile has demand at a bus that has none in the network; give the network a load there, so that "
                "it can be protected. Nothing was charged"
            )
        found.append(np.where(base != 0, values / np.where(base != 0, base, 1.0), 1.0))
    if public:
        return Shape(profile.step, _rounded(found[0], SHAPE_DIGITS), _rounded(found[1], SHAPE_DIGITS))
    there = np.concatenate([one[:, base != 0] for one, base in zip(found, bases, strict=True)], axis=1)
    middle = np.median(there, axis=1, keepdims=True) if there.shape[1] else np.ones((len(profile), 1))
    scale = _rounded(middle, SCALE_DIGITS)
    if not np.allclose(there, scale, rtol=10.0 ** (1 - SCALE_DIGITS), atol=0.0):
        raise ReleaseError(
            "the profile moves each load for itself: its shape says of a protected load when it is large. Give a "
            "profile of the columns step and scale, or say that the shape is public (--shape-public). Nothing was "
            "charged"
        )
    both = np.broadcast_to(scale, profile.pd.shape)
    return Shape(profile.step, both, both)


def _rounded(values: FloatArray, digits: int) -> FloatArray:
    """First to twelve digits: the last bits of s·p/p, which tell p, must not decide how the middle is rounded."""
    plain = (f"{Decimal(f'{value:.11e}'):.{digits - 1}e}" for value in values.ravel().tolist())
    return np.array([float(one) for one in plain]).reshape(values.shape)
