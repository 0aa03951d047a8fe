"""How a solve ended, whatever the solver."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended.

    Examples:
        >>> gv.solve_opf("case14_ieee").status is gv.Status.OPTIMAL
        True
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    NUMERICAL_FAILURE = "numerical_failure"
