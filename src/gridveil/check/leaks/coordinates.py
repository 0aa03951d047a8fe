"""The coordinates in which lines are protected, as a reader of a release sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.grid import LineParameters, Network, circuits
from gridveil.wall.coordinates import coordinates, from_coordinates, groups, signs


@dataclass(frozen=True, eq=False)
class Seen:
    """The released coordinates of every line: ln|z|, ln(x/r), ln(bc/x), each 0 where it does not exist.

    Lines of one `group` are one secret, so what is seen of each counts by its `share`, one over their number.
    """

    size: FloatArray
    ratio: FloatArray
    charging: FloatArray
    has_ratio: BoolArray
    has_charging: BoolArray
    group: IntArray
    share: FloatArray


def seen(network: Network) -> Seen:
    """The coordinates of a network. Signs are public, so a reader forms the same groups as the mechanism."""
    sign_r, sign_x, sign_bc = signs(network.lines)
    group = groups(circuits(network.grid), sign_r, sign_x)
    share = 1.0 / np.bincount(group)[group] if len(group) else np.zeros(0)
    both = (sign_r != 0) & (sign_x != 0)
    return Seen(*coordinates(network.lines), both, (sign_bc != 0) & (sign_x != 0), group, share)


def lines_of(network: Network, size: FloatArray, ratio: FloatArray, charging: FloatArray) -> LineParameters:
    """Lines from their coordinates, with the signs of the released ones."""
    sign_r, sign_x, sign_bc = (one.astype(float) for one in signs(network.lines))
    return from_coordinates(size, ratio, charging, sign_r, sign_x, sign_bc)
