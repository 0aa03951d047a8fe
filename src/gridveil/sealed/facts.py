"""`declare_facts`: the dispatch costs that become public, given by the operator or computed and rounded on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import numpy as np

from gridveil.errors import ReleaseError
from gridveil.exchange.types import PublicFacts, Snapshot
from gridveil.grid import PublicGrid
from gridveil.grid.profile import Profile, base_profile
from gridveil.nlp.opf import Solution, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.sealed.split import SecretNetwork

NEGLIGIBLE = 1e-7
DIGITS = 4
"""Significant digits of a declared cost or loss: what a reader of the release may learn of the truth."""


def declare_facts(
    network: SecretNetwork,
    published: Sequence[float] | None = None,
    profile: Profile | None = None,
    used: Sequence[int] = (0,),
    *,
    losses: bool = False,
) -> PublicFacts:
    """The public dispatch costs of the used steps of a profile; without one, of the network's own demand.

    The network must have an AC-feasible optimum at each of them, whether its cost is published or not. Published costs
    are taken as they are: comparing them with the truth would make the release depend on it (`verify --against` does).
    """
    profile = profile or base_profile(network.grid)
    solutions = original_optima(network, profile, used)
    costs = [significant(one.cost, DIGITS) for one in solutions] if published is None else published
    snapshots = tuple(
        Snapshot(profile.pd[index], profile.qd[index], cost, int(profile.step[index]))
        for index, cost in zip(used, costs, strict=True)
    )
    lost = None
    if losses:
        lost = tuple(
            significant(float(one.point.pg.sum() - snapshot.pd.sum()), DIGITS)
            for one, snapshot in zip(solutions, snapshots, strict=True)
        )
    source, digits = ("declared", DIGITS) if published is None else ("published", None)
    return PublicFacts(snapshots, source, digits, lost)


def original_optima(network: SecretNetwork, profile: Profile, steps: Sequence[int]) -> list[Solution]:
    """The AC-OPF of the original network at some steps, or an error that names the first step without one."""
    model, solutions = opf_model(network.grid), []
    for index in steps:
        solution = solve_opf(model, network.lines._open(), Demand(profile.pd[index], profile.qd[index]))
        if solution.status is not Status.OPTIMAL:
            where = f" at step {profile.step[index]}" if len(profile) > 1 else ""
            raise ReleaseError(
                f"the original network has no optimal power flow{where} ({solution.status}); nothing was charged"
            )
        if abs(solution.cost) <= NEGLIGIBLE * _full_cost(network.grid):
            where = f" of step {profile.step[index]}" if len(profile) > 1 else ""
            raise ReleaseError(
                f"the dispatch cost{where} is zero, so that no share of it can be kept; give costs, or leave the step "
                "out; nothing was charged"
            )
        solutions.append(solution)
    return solutions


def _full_cost(grid: PublicGrid) -> float:
    """Cost of all generators at the end of their range, as a measure of what is no cost at all."""
    top = np.where(np.isfinite(grid.generators.pmax), grid.generators.pmax, 0.0)
    return abs(grid.cost_p.total(top))


def significant(value: float, digits: int) -> float:
    """`value` rounded to significant digits."""
    if value == 0:
        return 0.0
    return round(value, digits - 1 - floor(log10(abs(value))))
