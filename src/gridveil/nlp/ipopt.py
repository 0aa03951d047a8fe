"""Ipopt through its C interface: this module and `ipopt_library.py` alone know the solver.

The shared library comes with the `casadi` wheel, whose Python part is never imported; a user may point to another
build. Ipopt calls back into an `Evaluator`, which writes its arrays straight into Ipopt's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_double, c_int
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import SolveError
from gridveil.grid.network import Multipliers
from gridveil.nlp.effort import current
from gridveil.nlp.interrupted import interruptible
from gridveil.nlp.ipopt_library import (
    EVAL_F,
    EVAL_G,
    EVAL_GRAD_F,
    EVAL_H,
    EVAL_JAC_G,
    INTERMEDIATE,
    find_library,
    load,
    require_linear_solver,
)
from gridveil.nlp.native import library as kernel
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import Bounds, Outcome, Progress, SolverOptions, Start, Status
from gridveil.nlp.watch import Watch

# Ipopt's return codes (IpReturnCodes_inc.h) that are not a numerical failure.
_STATUS = {
    0: Status.OPTIMAL,
    1: Status.OPTIMAL,  # to the acceptable level, which `_options` sets no looser than what a certificate needs
    2: Status.INFEASIBLE,
    -1: Status.ITERATION_LIMIT,
    -4: Status.TIME_LIMIT,
    -5: Status.TIME_LIMIT,
    -10: Status.INFEASIBLE,
}
_DETAIL = {
    0: "solved",
    1: "solved to the acceptable level",
    2: "converged to a point of local infeasibility",
    3: "search direction became too small",
    4: "iterates diverge",
    5: "stopped by the caller",
    6: "feasible point found",
    -1: "iteration limit",
    -2: "restoration failed",
    -3: "error in step computation",
    -4: "time limit",
    -5: "time limit",
    -10: "more equations than variables",
    -11: "invalid problem definition",
    -12: "invalid option",
    -13: "invalid number in a function or derivative",
    -102: "not enough memory",
}
_INVALID_OPTION = -12


def _options(options: SolverOptions, start: Start) -> dict[str, str | float | int]:
    """Every option this package sets, in one place."""
    chosen: dict[str, str | float | int] = {
        "print_level": 5 if options.verbose else 0,
        "sb": "yes",
        "tol": options.tolerance,
        # unscaled, per unit: what `grid.physics` will measure
        "constr_viol_tol": 1e-6,
        "acceptable_tol": 1e-6,
        "acceptable_constr_viol_tol": 1e-6,
        "acceptable_iter": 10,
        "max_iter": options.max_iterations,
        "mu_init": start.mu,
        "linear_solver": "ma57" if options.linear_solver == "own" else options.linear_solver,
    }
    if start.warm:
        for name in ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"):
            chosen[name] = 1e-6
    if start.restored:
        chosen["start_with_resto"] = "yes"
    if start.multipliers is not None:
        chosen["warm_start_init_point"] = "yes"
        for name in ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push"):
            chosen[f"warm_start_{name}"] = 1e-9
    if options.max_seconds is not None:
        chosen["max_wall_time"] = options.max_seconds
    if options.linear_solver == "own":  # native/ma57.c
        chosen["hsllib"] = str(kernel.file())
    elif options.hsl_library:
        chosen["hsllib"] = options.hsl_library
    if options.linear_solver == "mumps" and not start.default_ordering:
        chosen["mumps_pivot_order"] = 0  # approximate minimum degree: fastest on these patterns
    if options.linear_solver == "mumps" and not options.matching:
        chosen["mumps_permuting_scaling"] = 0
    return chosen


def solve(
    evaluator: Evaluator, bounds: Bounds, start: Start, options: SolverOptions, progress: Progress | None = None
) -> Outcome:
    """Minimise from one start. Raises only if the solver itself cannot run; a bad end is a status."""
    library = load(find_library(options.library))
    if options.linear_solver == "own":
        kernel.require()
    else:
        require_linear_solver(library, options.linear_solver, options.hsl_library)
    effort = current()
    if effort is not None:
        most = effort.allowed(evaluator.problem.order)
        options = replace(options, max_iterations=min(options.max_iterations, most))
    watch = Watch(progress, options.patience, restoring=start.restored)
    calls = _Callbacks(evaluator, watch)
    problem = evaluator.problem
    arrays = [np.ascontiguousarray(a) for a in (bounds.x_lower, bounds.x_upper, bounds.row_lower, bounds.row_upper)]
    arrays = [np.clip(a, -2e19, 2e19) for a in arrays]  # Ipopt's infinity
    n, m = problem.n_variable, problem.n_constraint
    # Ipopt takes no constraints without entries; they are constants, and their truth is the caller's to judge.
    seen = m if len(problem.jacobian_rows) else 0
    handle = library.CreateIpoptProblem(
        n, arrays[0].ctypes.data, arrays[1].ctypes.data, seen, arrays[2].ctypes.data, arrays[3].ctypes.data,
        len(problem.jacobian_rows), len(problem.hessian_rows), 0,
        calls.f, calls.g, calls.grad_f, calls.jac_g, calls.h,
    )  # fmt: skip
    if not handle:
        raise SolveError("no_solver", "Ipopt refused the problem's dimensions")
    try:
        _set_options(library, handle, _options(options, start))
        library.SetIntermediateCallback(handle, calls.intermediate)
        x = np.array(start.x, dtype=np.float64)
        rows = np.zeros(m)
        known = start.multipliers or Multipliers(np.zeros(m), np.zeros(n), np.zeros(n))
        multipliers, lower, upper = (np.array(one) for one in (known.rows, known.lower, known.upper))
        objective = c_double()
        begin = perf_counter()
        with interruptible(watch):
            code = library.IpoptSolve(
                handle, x.ctypes.data, rows.ctypes.data, byref(objective), multipliers.ctypes.data,
                lower.ctypes.data, upper.ctypes.data, None,
            )  # fmt: skip
        seconds = perf_counter() - begin
    finally:
        library.FreeIpoptProblem(handle)
        if options.linear_solver == "own":
            kernel.require().gridveil_ma57_release()
    if effort is not None:
        effort.count(problem.order, watch.iterations)
    watch.check()
    if code == _INVALID_OPTION:
        raise SolveError(
            "no_solver", f"Ipopt rejects its options; is linear solver '{options.linear_solver}' built in?"
        )
    return Outcome(
        status=_STATUS.get(code, Status.NUMERICAL_FAILURE),
        detail=_DETAIL.get(code, f"Ipopt code {code}"),
        x=x,
        objective=objective.value,
        multipliers=Multipliers(multipliers, lower, upper),
        iterations=watch.iterations,
        seconds_evaluation=calls.seconds,
        seconds_solver=seconds - calls.seconds,
        solver="ipopt",
        halted=watch.halted,
    )


def _set_options(library: Any, handle: Any, options: dict[str, str | float | int]) -> None:
    for key, value in options.items():
        if isinstance(value, str):
            done = library.AddIpoptStrOption(handle, key.encode(), value.encode())
        elif isinstance(value, int):
            done = library.AddIpoptIntOption(handle, key.encode(), value)
        else:
            done = library.AddIpoptNumOption(handle, key.encode(), value)
        if not done:
            raise SolveError("no_solver", f"this Ipopt does not accept {key} = {value}")


def _array(address: int, size: int) -> FloatArray:
    """Ipopt's memory as an array."""
    return np.frombuffer(memoryview((c_double * size).from_address(address)))


def _indices(address: int, values: np.ndarray) -> None:
    np.frombuffer(memoryview((c_int * len(values)).from_address(address)), dtype=np.intc)[:] = values


class _Callbacks:
    """The five functions and the per-iteration hook, with their clock; an exception inside stops the solve."""

    def __init__(self, evaluator: Evaluator, watch: Watch) -> None:
        self.evaluator, self.watch = evaluator, watch
        self.problem = evaluator.problem
        self.seconds = 0.0
        self.f = EVAL_F(self._guarded(self._f))
        self.grad_f = EVAL_GRAD_F(self._guarded(self._grad_f))
        self.g = EVAL_G(self._guarded(self._g))
        self.jac_g = EVAL_JAC_G(self._guarded(self._jac_g))
        self.h = EVAL_H(self._guarded(self._h))
        self.intermediate = INTERMEDIATE(self._guarded(self._intermediate))

    def _guarded(self, function: Callable[..., None]) -> Callable[..., int]:
        """Time a callback; keep its exception for the caller, since it cannot pass through Ipopt, and say stop."""

        def call(*arguments: Any) -> int:
            begin = perf_counter()
            try:
                if self.watch.error is None:
                    function(*arguments)
            except BaseException as error:  # noqa: BLE001 - raised again after the solve, KeyboardInterrupt too
                self.watch.error = error
            self.seconds += perf_counter() - begin
            return int(self.watch.error is None and not self.watch.halted)

        return call

    def _move(self, n: int, x: int, new_x: int) -> None:
        if new_x:
            self.evaluator.move(_array(x, n))

    def _f(self, n: int, x: int, new_x: int, value: int, _: Any) -> None:
        self._move(n, x, new_x)
        c_double.from_address(value).value = self.evaluator.objective()

    def _grad_f(self, n: int, x: int, new_x: int, out: int, _: Any) -> None:
        self._move(n, x, new_x)
        self.evaluator.objective_gradient(_array(out, n))

    def _g(self, n: int, x: int, new_x: int, m: int, out: int, _: Any) -> None:
        self._move(n, x, new_x)
        if m:
            _array(out, m)[:] = self.evaluator.constraints()

    def _jac_g(self, n: int, x: int, new_x: int, m: int, size: int, rows: int, columns: int, out: int, _: Any) -> None:
        if rows:
            _indices(rows, self.problem.jacobian_rows)
            _indices(columns, self.problem.jacobian_columns)
        else:
            self._move(n, x, new_x)
            _array(out, size)[:] = self.evaluator.jacobian()

    def _h(
        self, n: int, x: int, new_x: int, factor: float, m: int, multipliers: int, new_multipliers: int,
        size: int, rows: int, columns: int, out: int, _: Any,
    ) -> None:  # fmt: skip
        if rows:
            _indices(rows, self.problem.hessian_rows)
            _indices(columns, self.problem.hessian_columns)
        else:
            self._move(n, x, new_x)
            weight = _array(multipliers, m) if m else np.zeros(self.problem.n_constraint)
            _array(out, size)[:] = self.evaluator.hessian(factor, weight)

    def _intermediate(self, mode: int, iteration: int, objective: float, infeasibility: float, *_: Any) -> None:
        self.watch(mode, iteration, objective, infeasibility)
