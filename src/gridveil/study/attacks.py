"""Fig. 4 to 9: what an attacker gains from a release. A row is one attack; repeated restorations are made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gridveil.arrays import IntArray
from gridveil.attacks.attack import Target, attack, choose_lines
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch, public_lines
from gridveil.attacks.scores import similarity
from gridveil.grid import Network
from gridveil.grid.profile import Profile, equally_spaced, make_profile
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES, released

ATTACKERS = ("random", "real", "released", "public")
SEARCHER = "interdiction"
RULES = ("literal", "switchable")
HORIZON = 31
COLUMNS = {
    "attacker": str, "restoration": str, "budget": float, "restored_pct": float, "bound_pct": float,
    "affected_pct": float, "similarity": float, "outcome": str,
}  # fmt: skip


@lru_cache(maxsize=32)
def target(network: Network, rules: str) -> Target:
    """The true network under attack, with the restorations this worker has computed so far."""
    return Target(network, rules)


@lru_cache(maxsize=32)
def used_steps(network: Network, steps: int) -> Profile:
    """Equally spaced steps of the studies' horizon: uniform per bus within 80 and 110 %, always the same."""
    horizon, used = make_profile(network.grid, HORIZON), equally_spaced(HORIZON, steps)
    return Profile(np.arange(1, steps + 1), horizon.pd[used], horizon.qd[used])


def attacked(
    network: Network, seen: Network, budgets: tuple[float, ...], attackers: tuple[str, ...], seed: int
) -> list[Row]:
    """Every attacker with every budget, under both restoration models; an attacker ranks the lines once."""
    rows = []
    load = float(np.maximum(network.grid.buses.pd, 0.0).sum())
    real = target(network, "switchable")
    for attacker in attackers:
        choose = _chooser(network, seen, attacker, seed % 2**32)
        for budget in budgets:
            k = lines_in_budget(network.grid.n_line, budget)
            lines = choose(k)
            same, affected = similarity(real.by_flow[:k].tolist(), lines.tolist()), real.affected(lines)
            for rules in RULES:
                done = target(network, rules).restore(lines)
                rows.append(
                    {
                        "attacker": attacker, "restoration": rules, "budget": budget, "restored_pct": done.percent,
                        "bound_pct": 100 * done.bound / load, "affected_pct": 100 * affected / load,
                        "similarity": same, "outcome": str(done.ending),
                    }
                )  # fmt: skip
    return rows


def _chooser(network: Network, seen: Network, attacker: str, seed: int) -> Callable[[int], IntArray]:
    """How an attacker picks k lines; what he solves for it is solved once."""
    real = target(network, "switchable")
    if attacker in ("released", "public"):
        lines = seen.lines if attacker == "released" else public_lines(seen.grid, seen.lines)
        ranked = by_flow(expected_dispatch(Network(seen.grid, lines)))
        return lambda k: np.sort(ranked[:k])
    known = None if attacker in ("random", "real") else seen
    return lambda k: choose_lines(real, attacker, k, known, seed)


def attacks(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Budgets of 5, 10 and 15 %."""
    return attacked(network, released(network, settings, seed).network, (5.0, 10.0, 15.0), ATTACKERS, seed)


def attacks_fine(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Budgets from 5 to 10 %, one by one."""
    budgets = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
    return attacked(network, released(network, settings, seed).network, budgets, ATTACKERS, seed)


def interdiction(network: Network, settings: Settings, seed: int) -> list[Row]:
    """The attacker who searches, beside the one who looks at flows, on the released network."""
    seen = released(network, settings, seed).network
    return attacked(network, seen, (10.0,), ("real", "released", SEARCHER), seed)


def over_steps(network: Network, settings: Settings, seed: int) -> Network:
    """A release over r steps, at the base demand: the lines an attacker would see. Unused steps have no influence."""
    return Network(network.grid, released(network, settings, seed, used_steps(network, int(settings["steps"]))).lines)


def time_series_attacks(network: Network, settings: Settings, seed: int) -> list[Row]:
    """As `attacks`, on releases over r steps."""
    return attacked(network, over_steps(network, settings, seed), (5.0, 10.0, 15.0), ATTACKERS, seed)


def attack_score(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Similarity of the flow attacks on the released and on the real network at a budget of 10 %."""
    made = attack(target(network, "switchable"), "released", budget=10.0, released=over_steps(network, settings, seed))
    return [{"similarity": made.similarity, "restored_pct": made.restored_percent}]


_ALPHAS = (0.01, 0.1, 1.0)
ATTACKS = Study(
    "attacks",
    "Load restored after attacks",
    "Figures 4 and 5",
    ("case39_epri", "case118_ieee"),
    {"mechanism": RELEASES, "alpha": _ALPHAS},
    COLUMNS,
    attacks,
    version=2,
)
ATTACKS_FINE = Study(
    "attacks-fine",
    "Load restored after attacks, budgets from 5 to 10 %",
    "Figure 6",
    ("case118_ieee",),
    {"mechanism": RELEASES, "alpha": _ALPHAS},
    COLUMNS,
    attacks_fine,
    version=2,
)
INTERDICTION = Study(
    "interdiction",
    "An attacker who searches for the worst lines",
    "ours",
    ("case39_epri", "case118_ieee"),
    {"mechanism": RELEASES, "alpha": _ALPHAS},
    COLUMNS,
    interdiction,
    draws=5,
    version=2,
)
TIME_SERIES_ATTACKS = Study(
    "time-series-attacks",
    "Load restored after attacks on releases over a horizon",
    "Figures 7 and 8",
    ("case39_epri",),
    {"mechanism": RELEASES, "alpha": (0.01, 0.1), "steps": (4, 31)},
    COLUMNS,
    time_series_attacks,
    version=2,
)
ATTACK_SCORE = Study(
    "attack-score",
    "Similarity of the attacks by steps used",
    "Figure 9",
    ("case39_epri",),
    {"mechanism": RELEASES, "alpha": (0.01, 0.1), "steps": (1, 4, 7, 15, 31)},
    {"similarity": float, "restored_pct": float},
    attack_score,
    version=2,
)
