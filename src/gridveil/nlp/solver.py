"""What a solver of nonlinear programs is given and what it gives back; no solver is named here but in the options.

There are two, `nlp.native.interior_point` and `nlp.ipopt`, each with the same `solve(evaluator, bounds, start, ...)`;
`nlp.solve` chooses.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from gridveil.arrays import FloatArray
from gridveil.errors import SolveError
from gridveil.grid.network import Multipliers
from gridveil.status import Status


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bounds of the variables and of the constraint rows; ±inf where there is none."""

    x_lower: FloatArray
    x_upper: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray


class Patience(NamedTuple):
    """When a start is given up: while its constraints are violated by more than `above` (p.u.), and that has not
    fallen to the share `better` of what it was for so many iterations.

    Where its violation is less than `near`, an objective that falls by 3 % of its size is progress, too.
    """

    above: float
    iterations: int
    better: float = 0.9
    near: float = 0.0


@dataclass(frozen=True)
class SolverOptions:
    """What a user may set of the solver.

    Attributes:
        tolerance: Of the optimality conditions, scaled.
        max_iterations: Of every start.
        max_seconds: Of every start; without a limit if None.
        starts: How many may be tried; all if None.
        patience: How long each of them may go without progress.
        matching: Whether rows are matched to columns before they are factorised (by MUMPS).
        solver: `own`, `ipopt`, or `auto`: our own where it is installed, and Ipopt where that ends other than optimal
            (or GRIDVEIL_SOLVER in the environment).
        library: The path of another libipopt (or GRIDVEIL_IPOPT in the environment).
        linear_solver: Ipopt's: one of those it was built with, such as `mumps`, or `own` (or GRIDVEIL_LINEAR_SOLVER).
        hsl_library: The path of the library that has it (or GRIDVEIL_HSL).
        verbose: Let Ipopt print what it does.

    Examples:
        >>> gv.solve_opf("case14_ieee", options=gv.SolverOptions(max_iterations=3)).status
        <Status.ITERATION_LIMIT: 'iteration_limit'>
    """

    tolerance: float = 1e-7
    max_iterations: int = 500
    max_seconds: float | None = None
    starts: int | None = None
    patience: Patience | None = None
    matching: bool = True
    solver: str = field(default_factory=lambda: os.environ.get("GRIDVEIL_SOLVER", "auto"))
    library: str | None = field(default_factory=lambda: os.environ.get("GRIDVEIL_IPOPT"))
    linear_solver: str = field(default_factory=lambda: os.environ.get("GRIDVEIL_LINEAR_SOLVER", "mumps"))
    hsl_library: str | None = field(default_factory=lambda: os.environ.get("GRIDVEIL_HSL"))
    verbose: bool = False

    def __post_init__(self) -> None:
        # Ipopt would complain on standard output, which belongs to the caller.
        if self.linear_solver not in LINEAR_SOLVERS:
            known = ", ".join(LINEAR_SOLVERS)
            raise SolveError("bad_option", f"there is no linear solver '{self.linear_solver}'; Ipopt knows {known}")
        if self.solver not in SOLVERS:
            raise SolveError("bad_option", f"there is no solver '{self.solver}'; give {', '.join(SOLVERS)}")
        if not 1 <= self.max_iterations < 2**31:
            raise SolveError("bad_option", "the iteration limit must be a whole number from 1 to 2147483647")
        if self.max_seconds is not None and not 0 < self.max_seconds < float("inf"):
            raise SolveError("bad_option", "the time limit must be a positive number of seconds")
        if not 0 < self.tolerance < 1:
            raise SolveError("bad_option", "the tolerance must lie between 0 and 1")


__all__ = ["LINEAR_SOLVERS", "SOLVERS", "Bounds", "Outcome", "Patience", "Progress", "SolverOptions", "Start", "Status"]

SOLVERS = ("auto", "own", "ipopt")
LINEAR_SOLVERS = ("mumps", "own", "ma27", "ma57", "ma77", "ma86", "ma97", "pardiso", "pardisomkl", "spral", "wsmp")


@dataclass(frozen=True)
class Start:
    """Where a solve begins: the point, the first barrier parameter, and how the linear solver orders its pivots.

    A `warm` start is trusted: it is not pushed away from its bounds. With its `multipliers` a solution is a start that
    needs no more than a look. One to be `restored` is first brought nearer to its constraints, whatever the objective.
    """

    x: FloatArray
    mu: float
    default_ordering: bool = False
    warm: bool = False
    multipliers: Multipliers | None = None
    restored: bool = False


@dataclass(frozen=True)
class Outcome:
    """The end of one solve. The Lagrangian is f + rowsᵀ·g(x) − lowerᵀ·(x − l) + upperᵀ·(x − u), by its multipliers.

    `halted` says that the caller ended it, by its progress or its patience.
    """

    status: Status
    detail: str
    x: FloatArray
    objective: float
    multipliers: Multipliers
    iterations: int
    seconds_evaluation: float
    seconds_solver: float
    solver: str
    halted: bool = False


Progress = Callable[[int, float], None]
"""Called once per iteration with its number and the primal infeasibility."""
