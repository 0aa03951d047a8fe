"""The interior point of our own (native/ipm.c), behind the same `solve` as Ipopt."""

from __future__ import annotations

from ctypes import CFUNCTYPE, Structure, addressof, c_double, c_int, c_longlong, c_void_p
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid.network import Multipliers
from gridveil.nlp.effort import current
from gridveil.nlp.interrupted import interruptible
from gridveil.nlp.native.evaluate import functions_of
from gridveil.nlp.native.library import require
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import Bounds, Outcome, Progress, SolverOptions, Start, Status
from gridveil.nlp.watch import Watch

_PROGRESS = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_double, c_double)
_PUSH, _WARM_PUSH, _KNOWN_PUSH = 1e-2, 1e-6, 1e-9
"""How far a start is pushed inside its bounds: an ordinary one, one that is trusted, one with its multipliers."""

# ipm_status of native/ipm.h
_ENDS = (
    (Status.OPTIMAL, "solved"),
    (Status.OPTIMAL, "solved to the acceptable level"),
    (Status.INFEASIBLE, "converged to a point of local infeasibility"),
    (Status.NUMERICAL_FAILURE, "stopped by the caller"),
    (Status.ITERATION_LIMIT, "iteration limit"),
    (Status.TIME_LIMIT, "time limit"),
    (Status.NUMERICAL_FAILURE, "no step helps, nor does a restoration"),
    (Status.NUMERICAL_FAILURE, "invalid number in a function or derivative"),
    (Status.INFEASIBLE, "contradictory bounds, or more equations than variables"),
    (Status.NUMERICAL_FAILURE, "not enough memory"),
)


class _Options(Structure):
    _fields_ = (
        *((name, c_double) for name in ("tolerance", "violation", "acceptable", "mu", "push", "max_seconds")),
        *((name, c_int) for name in ("max_iterations", "restored", "multipliers")),
        ("progress", _PROGRESS),
        ("context", c_void_p),
    )  # fmt: skip


class _Result(Structure):
    _fields_ = (
        *((name, c_int) for name in (
            "status", "iterations", "factorisations", "refinements", "restorations", "corrected")),
        ("entries", c_longlong),
        *((name, c_double) for name in ("objective", "error", "violation", "seconds_evaluation")),
    )  # fmt: skip


@lru_cache(maxsize=1)
def _minimise() -> Any:
    function = require().gv_minimise
    function.argtypes, function.restype = [c_void_p] * 11, c_int
    return function


def solve(
    evaluator: Evaluator, bounds: Bounds, start: Start, options: SolverOptions, progress: Progress | None = None
) -> Outcome:
    """Minimise from one start. Raises only if the solver itself cannot run; a bad end is a status."""
    minimise, functions, problem = _minimise(), functions_of(evaluator), evaluator.problem
    effort, iterations = current(), options.max_iterations
    if effort is not None:
        iterations = min(iterations, effort.allowed(problem.order))
    watch = Watch(progress, options.patience, restoring=start.restored)
    push = _KNOWN_PUSH if start.multipliers is not None else _WARM_PUSH if start.warm else _PUSH
    told = _PROGRESS(lambda _, mode, number, objective, violation: int(watch(mode, number, objective, violation)))
    chosen = _Options(
        options.tolerance, 1e-6, 1e-6, start.mu, push, options.max_seconds or 0.0,
        iterations, start.restored, start.multipliers is not None, told, None,
    )  # fmt: skip
    limits = [_given(one) for one in (bounds.x_lower, bounds.x_upper, bounds.row_lower, bounds.row_upper)]
    n, m = problem.n_variable, problem.n_constraint
    known = start.multipliers or Multipliers(np.zeros(m), np.zeros(n), np.zeros(n))
    x, rows, lower, upper = (np.array(one, dtype=np.float64) for one in (start.x, known.rows, known.lower, known.upper))
    lower, upper = np.abs(lower), np.abs(upper)
    result = _Result()
    begin = perf_counter()
    with interruptible(watch):
        minimise(
            addressof(functions.structure), *(one.ctypes.data for one in limits), addressof(chosen),
            *(one.ctypes.data for one in (x, rows, lower, upper)), addressof(result),
        )  # fmt: skip
    seconds = perf_counter() - begin
    if effort is not None:
        effort.count(problem.order, result.iterations)
    functions.check()
    watch.check()
    status, detail = _ENDS[result.status]
    return Outcome(
        status=status,
        detail=detail,
        x=x,
        objective=result.objective,
        multipliers=Multipliers(rows, lower, upper),
        iterations=result.iterations,
        seconds_evaluation=result.seconds_evaluation,
        seconds_solver=seconds - result.seconds_evaluation,
        solver="own",
        halted=watch.halted,
    )


def _given(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)
