"""Attacks on one draw: a row per attacker, budget and restoration model; repeated restorations are made once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gridveil.attacks.attack import Target, cut_lines
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.knowledge import Knowledge
from gridveil.attacks.scores import similarity
from gridveil.grid import Network
from gridveil.grid.profile import Profile, equally_spaced, make_profile
from gridveil.study.declare import Row, Settings
from gridveil.study.draws import released

WHO = ("random", "real", "released", "public")
"""The attackers of the paper's figures, from the table of `attacks.attackers`."""
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
    """Every attacker with every budget, under both restoration models; each ranks the lines once."""
    rows = []
    load = float(np.maximum(network.grid.buses.pd, 0.0).sum())
    real = target(network, "switchable")
    known = Knowledge(real, seen, seed % 2**32)
    for attacker in attackers:
        for budget in budgets:
            k = lines_in_budget(network.grid.n_line, budget)
            lines = cut_lines(known, attacker, k)
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


def over_steps(network: Network, settings: Settings, seed: int) -> Network:
    """A release over r steps, at the base demand: the lines an attacker would see. Unused steps have no influence."""
    return Network(network.grid, released(network, settings, seed, used_steps(network, int(settings["steps"]))).lines)
