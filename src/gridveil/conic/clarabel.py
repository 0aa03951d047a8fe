"""Clarabel: the only module that knows the conic solver. What it says is not trusted: `conic.bound` judges it."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import clarabel
import numpy as np
from scipy.sparse import csc_array, csc_matrix, diags_array, eye_array, vstack

from gridveil.arrays import FloatArray
from gridveil.conic.program import Cone, ConicProgram
from gridveil.status import Status

STOPPED = {"MaxIterations": Status.ITERATION_LIMIT, "MaxTime": Status.TIME_LIMIT}
"""Clarabel's words for the ends that are not its failures."""


@dataclass(frozen=True)
class Outcome:
    """Where the solver stopped: what it says, its primal value, and the multipliers of the program's rows."""

    word: str
    objective: float
    x: FloatArray
    z: FloatArray
    iterations: int
    seconds: float


def solve(
    program: ConicProgram, largest_cost: float = 100.0, max_iterations: int = 200, max_seconds: float | None = None
) -> Outcome:
    """Run Clarabel once, with its own settings.

    Variables whose box is a point are taken out, the other boxes become rows at the end. The objective is scaled so
    that its largest slope is `largest_cost`, for which the solver's own scaling has no eye.
    """
    started = perf_counter()
    free = np.flatnonzero(program.upper > program.lower)
    x = program.lower.copy()
    x[free] = 0.0
    boxed = np.flatnonzero(program.constrained[free])
    lower, upper = program.lower[free][boxed], program.upper[free][boxed]
    pick = eye_array(len(free), format="csr")[boxed]
    matrix = vstack([program.A[:, free], pick, -pick], format="csc")
    rhs = np.concatenate([program.rhs - program.A @ x, upper, -lower])
    q, quadratic = program.q[free], program.quadratic[free]
    reach = np.maximum(np.abs(program.lower[free]), np.abs(program.upper[free]))
    scale = largest_cost / max(float(np.max(np.abs(q) + quadratic * reach, initial=0.0)), 1e-300)
    cones = [made for cone in program.cones for made in _cones(cone)]
    if len(boxed):
        cones.append(clarabel.NonnegativeConeT(2 * len(boxed)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iterations
    settings.max_threads = 1
    if max_seconds is not None:
        settings.time_limit = max_seconds
    solver = clarabel.DefaultSolver(
        csc_matrix(diags_array(scale * quadratic, format="csc")), scale * q, csc_matrix(csc_array(matrix)), rhs, cones,
        settings,
    )  # fmt: skip
    answer = solver.solve()
    x[free] = answer.x
    value = program.constant + float(program.q @ x + 0.5 * program.quadratic @ (x * x))
    z = np.asarray(answer.z)[: len(program.rhs)] / scale
    return Outcome(str(answer.status), value, x, z, int(answer.iterations), perf_counter() - started)


def _cones(cone: Cone) -> list[object]:
    if cone.kind == "zero":
        return [clarabel.ZeroConeT(cone.count)]
    if cone.kind == "nonnegative":
        return [clarabel.NonnegativeConeT(cone.count)]
    return [clarabel.SecondOrderConeT(cone.dimension)] * cone.count
