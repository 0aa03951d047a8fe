"""`declare_facts`: the dispatch cost that becomes public, given by the operator or computed and rounded on purpose."""

from __future__ import annotations

from math import floor, log10

from gridveil.errors import ReleaseError
from gridveil.exchange.types import PublicFacts, Snapshot
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.solver import Status
from gridveil.sealed.split import SecretNetwork

DIGITS = 4
"""Significant digits of a declared cost or loss: what a reader of the release may learn of the truth."""


def declare_facts(network: SecretNetwork, published_cost: float | None = None, *, losses: bool = False) -> PublicFacts:
    """The public dispatch cost of the network's own demand. The network must have an AC-feasible optimum."""
    grid = network.grid
    pd, qd = grid.buses.pd, grid.buses.qd
    if published_cost is not None and not losses:
        return PublicFacts((Snapshot(pd, qd, published_cost),), "published", None)
    solution = solve_opf(opf_model(grid), network.lines._open())
    if solution.status is not Status.OPTIMAL:
        raise ReleaseError(f"the original network has no optimal power flow ({solution.status}); nothing was charged")
    cost = published_cost if published_cost is not None else significant(solution.cost, DIGITS)
    lost = (significant(float(solution.point.pg.sum() - pd.sum()), DIGITS),) if losses else None
    given = published_cost is not None
    return PublicFacts((Snapshot(pd, qd, cost),), "published" if given else "declared", None if given else DIGITS, lost)


def significant(value: float, digits: int) -> float:
    """`value` rounded to significant digits."""
    if value == 0:
        return 0.0
    return round(value, digits - 1 - floor(log10(abs(value))))
