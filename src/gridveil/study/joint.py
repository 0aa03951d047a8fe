"""`joint`: what protecting more than lines hides, and what it costs a user; by groups, α and room.

Letters: L lines, R ratings, D loads, G limits of units, C costs. Subsets that others have protected by themselves stand
beside: D (Mak et al. 2020: loads), G (Dvorkin and Botterud 2023: capacities), L with charging and losses kept (CSIRO).
"""

from __future__ import annotations

import numpy as np

from gridveil.api import solve_opf
from gridveil.arrays import FloatArray
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import best_attack
from gridveil.grid import Network, OperatingPoint
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.plan import Plan
from gridveil.repair.moving import numbers
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.study.attacks import target
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import BETA, EPSILON, optimum, true_optimum
from gridveil.study.gaps import true_gap
from gridveil.wall.cost_numbers import cost_numbers
from gridveil.wall.facts import Source
from gridveil.wall.protection import Group

LETTERS = dict(zip("LRDGC", Group, strict=True))
BUDGET, BINDING = 10.0, 0.999


def joint_plan(settings: Settings) -> Plan:
    """The plan of a draw; totals come from where the cost does, unless that is published."""
    source = Source(str(settings["source"]))
    totals = Source.DECLARED if source is Source.PUBLISHED else source
    return Plan(
        float(settings.get("epsilon", EPSILON)),
        float(settings["alpha"]),
        float(settings.get("beta", BETA)),
        protect=[LETTERS[letter] for letter in str(settings["groups"])],
        cost=Source.DECLARED if source is Source.PUBLISHED else source,
        totals=totals,
        room=float(settings["room"]),
    )


def joint(network: Network, settings: Settings, seed: int) -> list[Row]:
    """One release: what an attacker finds in it beyond the topology, and what a user still has."""
    made = release(split(network), joint_plan(settings), noise=SeededNoise(seed), workshop=Workshop)
    true, seen, real = true_optimum(network), made.network, target(network, "switchable")
    again, k = optimum(seen).require(), lines_in_budget(network.grid.n_line, BUDGET)
    lines, before = by_flow(expected_dispatch(seen))[:k], true_gap(network).soc_pct
    bound = solve_opf(seen, formulation="soc").bound
    bind = [_binding(n, one.point) for n, one in ((network, true), (seen, again))]
    lost = [float(one.point.pg.sum() - n.grid.buses.pd.sum()) for n, one in ((network, true), (seen, again))]
    groups = joint_plan(settings).protection
    reader = Reader(seen, **reader_from_manifest(made.manifest))
    return [
        {
            "similarity": real.similarity(lines),
            "excess": real.similarity(lines) - real.floor(k),
            "cost_error_pct": 100 * abs(made.point.cost / true.cost - 1),
            "gap_change_points": None if before is None else 100 * (1 - bound / again.cost) - before,
            "losses_ratio": lost[1] / lost[0],
            "price_correlation": _correlation(true.multipliers["balance_p"], again.multipliers["balance_p"]),
            "congested_in_common": len(bind[0] & bind[1]) / max(len(bind[0] | bind[1]), 1),
            "reactance_error_pct": 100 * best_attack(network, [reader]).x.median if Group.LINES in groups else None,
            "load_error_pct": _error(numbers(network.grid, "pd"), numbers(seen.grid, "pd")),
            "cost_coefficient_error_pct": _error(cost_numbers(network.grid.cost_p), cost_numbers(seen.grid.cost_p)),
        }
    ]


def _binding(network: Network, point: OperatingPoint) -> set[int]:
    flow = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt))
    return set(np.flatnonzero(flow > BINDING * network.grid.lines.rating).tolist())


def _correlation(one: FloatArray, other: FloatArray) -> float | None:
    return float(np.corrcoef(one, other)[0, 1]) if min(np.ptp(one), np.ptp(other)) > 1e-9 else None


def _error(true: FloatArray, seen: FloatArray) -> float | None:
    """The median relative error of numbers that are there; of the released values, which no reader is told to mend."""
    there = true != 0
    return float(100 * np.median(np.abs(seen[there] / true[there] - 1))) if np.any(there) else None


JOINT = Study(
    "joint",
    "More than lines",
    "ours",
    ("case39_epri", "case118_ieee"),
    {
        "groups": ("L", "D", "G", "LR", "LRD", "LRDG", "LRDGC"), "alpha": (0.1, 0.3, 1.0), "room": (0.001, 0.05),
        "source": (str(Source.PRIVATE), str(Source.DECLARED)),
    },
    {
        "similarity": float, "excess": float, "cost_error_pct": float, "gap_change_points": float,
        "losses_ratio": float, "price_correlation": float, "congested_in_common": float,
        "reactance_error_pct": float, "load_error_pct": float, "cost_coefficient_error_pct": float,
    },
    joint,
    draws=50,
)  # fmt: skip
