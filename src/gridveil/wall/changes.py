"""What α costs for the changes that people think of, computed by `wall.coordinates.distance` on an ordinary line."""

from __future__ import annotations

from functools import cache

import numpy as np

from gridveil.grid import Buses, CostCurves, Generators, Grid, LineParameters, Lines, Network
from gridveil.wall.coordinates import distance

CHANGES = (
    ("ten per cent longer (resistance, reactance and charging grow)", (1.1, 1.1, 1.1)),
    ("impedance 10 % larger, charging as before", (1.1, 1.1, 1.0)),
    ("reactance alone 10 % larger", (1.0, 1.1, 1.0)),
    ("reactance alone 10 % smaller", (1.0, 0.9, 1.0)),
    ("reactance 10 % larger, resistance and charging 10 % smaller", (0.9, 1.1, 0.9)),
)
"""Changes of one line: words, and the factors on r, x and bc."""
ORDINARY = (0.02, 0.1, 0.05)
"""r, x and bc of the line they are counted on; with another r/x the middle ones differ by a few per cent."""


def cost_of_changes(alpha: float) -> list[tuple[str, float]]:
    """(change, loss in units of ε) under `log` at α."""
    before = _line((1.0, 1.0, 1.0))
    return [(words, distance(before, _line(factors), alpha).total) for words, factors in CHANGES]


@cache
def _line(factors: tuple[float, float, float]) -> Network:
    r, x, bc = (np.array([value]) for value in np.array(ORDINARY) * np.array(factors))
    one, two, none = np.ones(1), np.ones(2), np.zeros(0)
    grid = Grid(
        base_mva=100.0,
        buses=Buses(np.arange(1, 3), 230 * two, 0 * two, 0 * two, 0 * two, 0 * two, 0.9 * two, 1.1 * two, two > 2),
        generators=Generators(none.astype(np.int64), none, none, none, none),
        lines=Lines(
            np.zeros(1, np.int64), np.ones(1, np.int64), one, 0 * one, one, -one, one, np.zeros(1, np.int64)
        ),
        cost_p=CostCurves.zero(0),
        cost_q=CostCurves.zero(0),
    )  # fmt: skip
    return Network(grid, LineParameters.from_impedance(r, x, bc))
