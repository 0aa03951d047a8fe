"""`frontier`: privacy against fidelity, to choose α and ε by. Noise grows with α/ε; everything else follows."""

from __future__ import annotations

from gridveil.api import gap
from gridveil.attacks.attack import attack
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import best_attack
from gridveil.grid import Network
from gridveil.study.attacks import target
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import SOURCES, released, true_optimum
from gridveil.study.gaps import true_gap


def frontier(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Cost error, gap change, attack similarity, and how well the true reactances can be told from the release."""
    made = released(network, settings, seed)
    true, before, after = true_optimum(network), true_gap(network), gap(made.network)
    best = best_attack(network, [Reader(made.network, **reader_from_manifest(made.manifest))])
    seen = attack(target(network, "switchable"), "released", budget=10.0, released=made.network)
    change = None if after.qc_pct is None or before.qc_pct is None else after.qc_pct - before.qc_pct
    return [
        {
            "cost_error_pct": 100 * abs(made.point.cost - true.cost) / abs(true.cost),
            "gap_change_points": change,
            "similarity": seen.similarity,
            "reconstruction_error_pct": 100 * best.x.median,
            "channel": best.name,
            "restored_pct": seen.restored_percent,
        }
    ]


FRONTIER = Study(
    "frontier",
    "Privacy against fidelity",
    "ours",
    ("case39_epri",),
    {
        "mechanism": ("log",), "alpha": (0.01, 0.03, 0.1, 0.3, 1.0), "epsilon": (0.5, 1.0, 2.0), "source": SOURCES,
    },
    {
        "cost_error_pct": float, "gap_change_points": float, "similarity": float, "reconstruction_error_pct": float,
        "channel": str, "restored_pct": float,
    },
    frontier,
    version=3,
)  # fmt: skip
