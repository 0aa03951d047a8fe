"""Which solver: our own where it is installed, Ipopt where that is not there or ends other than optimal.

Ipopt is the referee. What our own finds is judged by whoever asked (`grid.physics`), and where it is rejected, or is no
optimum, Ipopt solves the same problem from the same start, in its own way. Where the caller itself ended the solve, by
its patience or its limits of time and effort, there is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridveil.nlp import ipopt
from gridveil.nlp.native import interior_point
from gridveil.nlp.native.library import load
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import Bounds, Outcome, Progress, SolverOptions, Start, Status


def attempts(
    evaluator: Evaluator, bounds: Bounds, start: Start, options: SolverOptions, progress: Progress | None = None
) -> Iterator[Outcome]:
    """The ends of one start, one after the other: go on until one pleases you."""
    own = options.solver == "own" or (options.solver == "auto" and _is_suited(options))
    if own:
        outcome = interior_point.solve(evaluator, bounds, start, options, progress)
        yield outcome
        if options.solver == "own" or outcome.halted or outcome.status is Status.TIME_LIMIT:
            return
    yield ipopt.solve(evaluator, bounds, start, options, progress)


def _is_suited(options: SolverOptions) -> bool:
    """Is our own there, and nothing asked for that only Ipopt has?"""
    return load() is not None and not options.verbose and options.library is None and options.linear_solver == "mumps"


def solve(
    evaluator: Evaluator, bounds: Bounds, start: Start, options: SolverOptions, progress: Progress | None = None
) -> Outcome:
    """The first optimal end, else the last one."""
    for outcome in attempts(evaluator, bounds, start, options, progress):
        if outcome.status is Status.OPTIMAL:
            break
    return outcome
