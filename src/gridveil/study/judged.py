"""What a joint release hides and what it keeps: one row of figures, for studies and benchmarks alike."""

from __future__ import annotations

import numpy as np

from gridveil.api.solving import solve_opf
from gridveil.arrays import FloatArray
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch
from gridveil.check.leaks.attackers import held_by
from gridveil.check.leaks.groups import examine_groups
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import attacked
from gridveil.conic.gap import gap_pct
from gridveil.grid import Grid, Network, OperatingPoint
from gridveil.publish.release import Release
from gridveil.repair.moving import LIMITS, finite_sum, numbers
from gridveil.status import Status
from gridveil.study.attacked import target
from gridveil.study.declare import Row
from gridveil.study.draws import optimum, true_gap, true_optimum
from gridveil.wall.cost_numbers import cost_numbers
from gridveil.wall.protection import Group

BUDGET, BINDING = 10.0, 0.999
LARGEST = 3000
"""Buses up to which relaxations are solved and reactances guessed: a dozen seconds there, and minutes beyond."""
GUESSED = {"load": "pd", "cost_coefficient": "cost", "rating": "rating", "limit": "pmax"}
"""Quantities whose best attackers have a column."""
FIGURES: dict[str, type] = {
    "similarity": float, "floor": float, "excess": float, "cost_error_pct": float, "cost_away_pct": float,
    "gap_change_points": float, "losses_ratio": float, "price_correlation": float,
    "congested": int, "congested_released": int, "congested_in_common": float,
    "reactance_error_pct": float, "reactance_released_pct": float,
    "load_error_pct": float, "load_released_pct": float,
    "cost_coefficient_error_pct": float, "cost_coefficient_released_pct": float, "rating_error_pct": float,
    "limit_error_pct": float,
    "wrong_signs": int, "wrong_order": int, "demand_away_pct": float, "capacity_away_pct": float,
}  # fmt: skip


def judged(
    network: Network,
    made: Release,
    groups: tuple[Group, ...],
    *,
    readers: bool = True,
    reactances: bool = True,
    beside: bool = True,
) -> Row:
    """The figures of one release of a network; on large ones those of `readers` take far longer than the release.

    Of them, who guesses `reactances` takes longest, and then who guesses numbers `beside` them.
    """
    return {
        **_for_an_attacker(network, made.network),
        **_for_a_user(network, made),
        **(
            _for_a_reader(network, made, reactances=reactances and Group.LINES in groups, beside=beside)
            if readers
            else {}
        ),
        **_faults(network, made, groups),
    }


def _for_an_attacker(network: Network, seen: Network) -> Row:
    """The share of the real flow attack's lines that the release leads to, beside what a map leads to."""
    real, k = target(network, "switchable"), lines_in_budget(network.grid.n_line, BUDGET)
    found, floor = real.similarity(by_flow(expected_dispatch(seen))[:k]), real.floor(k)
    return {"similarity": found, "floor": floor, "excess": found - floor}


def _for_a_user(network: Network, made: Release) -> Row:
    """Cost, gap, losses, prices and congestion of the released network, optimised again."""
    true, seen = true_optimum(network), made.network
    again = optimum(seen).require()
    bind = [_binding(n, one.point) for n, one in ((network, true), (seen, again))]
    lost = [float(one.point.pg.sum() - n.grid.buses.pd.sum()) for n, one in ((network, true), (seen, again))]
    away = next(one.value for one in made.certificate.checks if one.kind == "cost")
    return {
        "cost_error_pct": 100 * abs(made.point.cost / true.cost - 1),
        "cost_away_pct": None if away is None else 100 * away,
        "gap_change_points": _gap_change(network, seen, again.cost),
        "losses_ratio": lost[1] / lost[0],
        "price_correlation": _correlation(true.multipliers["balance_p"], again.multipliers["balance_p"]),
        "congested": len(bind[0]),
        "congested_released": len(bind[1]),
        "congested_in_common": len(bind[0] & bind[1]) / max(len(bind[0] | bind[1]), 1),
    }


def _gap_change(network: Network, seen: Network, cost: float) -> float | None:
    if network.grid.n_bus > LARGEST:
        return None
    before, relaxed = true_gap(network).soc_pct, solve_opf(seen, formulation="soc")
    after = gap_pct(cost, relaxed.bound) if relaxed.status is Status.OPTIMAL else None
    return None if before is None or after is None else after - before


def _for_a_reader(network: Network, made: Release, *, reactances: bool, beside: bool) -> Row:
    """How well protected numbers are known: by the best attacker, and by who takes released values as they are."""
    seen, row = made.network, dict[str, float | None]()
    reader = Reader(seen, state=made.point, **reader_from_manifest(made.manifest))
    if reactances and network.grid.n_bus <= LARGEST:
        rows = attacked(network, held_by([reader]))
        row["reactance_error_pct"] = 100 * min(one.x.median for one in rows)
        row["reactance_released_pct"] = 100 * rows[0].x.median
    if not beside:
        return row
    found = {one.name: one for group in examine_groups(network, [reader]) for one in group.quantities}
    for words, name in GUESSED.items():
        row[f"{words}_error_pct"] = 100 * found[name].best_error if name in found else None
    row["load_released_pct"] = _error(numbers(network.grid, "pd"), numbers(seen.grid, "pd"))
    row["cost_coefficient_released_pct"] = _error(cost_numbers(network.grid.cost_p), cost_numbers(seen.grid.cost_p))
    return row


def _faults(network: Network, made: Release, groups: tuple[Group, ...]) -> Row:
    """What must not be: signs or zeros that changed, limits in the wrong order, totals that are not the public ones."""
    now, units = made.network.grid, made.network.grid.generators
    facts = {str(one.kind): one.value for one in made.manifest.public_inputs if one.step is None}
    have = {
        "demand": (Group.LOADS, finite_sum(now.buses.pd)),
        "capacity": (Group.LIMITS, finite_sum(units.pmax)),
    }
    pairs = zip(_signed(network), _signed(made.network), strict=True)
    return {
        "wrong_signs": sum(int(np.sum(np.sign(one) != np.sign(other))) for one, other in pairs),
        "wrong_order": int(np.sum((units.pmin > units.pmax) | (units.qmin > units.qmax))),
        **{
            f"{name}_away_pct": 100 * abs(value * now.base_mva / facts[name] - 1)
            for name, (group, value) in have.items()
            if group in groups
        },
    }


def _signed(network: Network) -> list[FloatArray]:
    """Numbers whose signs are structure."""
    grid: Grid = network.grid
    found = [numbers(grid, name) for name in ("pd", "qd", *LIMITS)]
    return [*found, network.lines.g, network.lines.b, network.lines.bc, cost_numbers(grid.cost_p)]


def _binding(network: Network, point: OperatingPoint) -> set[int]:
    flow = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt))
    return set(np.flatnonzero(flow > BINDING * network.grid.lines.rating).tolist())


def _correlation(one: FloatArray, other: FloatArray) -> float | None:
    return float(np.corrcoef(one, other)[0, 1]) if min(np.ptp(one), np.ptp(other)) > 1e-9 else None


def _error(true: FloatArray, seen: FloatArray) -> float | None:
    """The median relative error of numbers that are there; of the released values, which no reader is told to mend."""
    there = true != 0
    return float(100 * np.median(np.abs(seen[there] / true[there] - 1))) if np.any(there) else None
