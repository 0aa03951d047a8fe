"""Fig. 3 and 11: do releases keep the optimality gaps of the SOC and QC relaxations?"""

from __future__ import annotations

from functools import lru_cache

from gridveil.api import gap
from gridveil.conic.gap import Gap
from gridveil.grid import Network
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES, released


@lru_cache(maxsize=32)
def true_gap(network: Network) -> Gap:
    """The gaps of the original, solved once per worker."""
    return gap(network)


def gaps(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Gaps in per cent, original and released; a gap is null where one of its solves did not end."""
    before, after = true_gap(network), gap(released(network, settings, seed).network)
    return [
        {"relaxation": "soc", "original_pct": before.soc_pct, "released_pct": after.soc_pct},
        {"relaxation": "qc", "original_pct": before.qc_pct, "released_pct": after.qc_pct},
    ]


GAPS = Study(
    "gaps",
    "Optimality gaps of the original and of releases",
    "Figures 3 and 11",
    ("case39_epri",),
    {"mechanism": RELEASES, "alpha": (0.001, 0.01, 0.1, 1.0), "beta": (0.01, 0.1)},
    {"relaxation": str, "original_pct": float, "released_pct": float},
    gaps,
    version=2,
)
