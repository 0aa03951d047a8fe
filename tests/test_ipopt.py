"""The solver's door: libraries that are not there, errors and interrupts inside callbacks."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.nlp import ipopt, ipopt_library
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import Patience, SolverOptions, Start
from gridveil.nlp.watch import Watch


@pytest.fixture(autouse=True)
def _by_ipopt(monkeypatch: pytest.MonkeyPatch) -> None:
    """This door, and not our own."""
    monkeypatch.setenv("GRIDVEIL_SOLVER", "ipopt")


def test_missing_library_is_a_sentence() -> None:
    with pytest.raises(gv.SolveError, match="no Ipopt library at"):
        gv.solve_opf("case3", options=SolverOptions(library="nowhere.so"))


def test_wrong_library_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "libipopt.so").write_text("not a library")
    with pytest.raises(gv.SolveError, match="not a usable Ipopt"):
        gv.solve_opf("case3", options=SolverOptions(library=str(tmp_path / "libipopt.so")))


def test_another_library_by_option_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "libother.so"
    link.symlink_to(ipopt_library.find_library(None))
    assert gv.solve_opf("case3", options=SolverOptions(library=str(link))).status is gv.Status.OPTIMAL
    monkeypatch.setenv("GRIDVEIL_IPOPT", str(link))
    assert SolverOptions().library == str(link)
    monkeypatch.setenv("GRIDVEIL_LINEAR_SOLVER", "ma57")
    assert SolverOptions().linear_solver == "ma57"


def test_an_old_library_is_refused_before_a_release() -> None:
    """Not for AC-OPFs, but before a charge: it would fail the certificate after it."""

    class Old:
        CreateIpoptProblem = None

    ipopt_library.require_recent(ipopt_library.load(ipopt_library.find_library(None)))
    with pytest.raises(gv.SolveError, match=r"older than 3\.14"):
        ipopt_library.require_recent(Old())


def test_unknown_linear_solver_is_a_sentence() -> None:
    with pytest.raises(gv.SolveError, match="no linear solver 'abacus'"):
        gv.solve_opf("case3", options=SolverOptions(linear_solver="abacus"))


FAULTS = """
import resource, sys
import gridveil as gv
from gridveil.nlp.opf import opf_model, solve_opf
network = gv.load(sys.argv[1])
model = opf_model(network.grid)
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    solve_opf(model, network.lines)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no mallopt")
def test_memory_is_kept_between_factorisations(pglib: Path) -> None:
    """The pages that a second solve has to ask for: 500 of them, or 37,000 each time. The user's own word goes first."""
    case = pglib / "pglib_opf_case1354_pegase.m"

    def pages(**more: str) -> int:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} | more
        command = [sys.executable, "-c", FAULTS, str(case)]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert pages() < 5000 < pages(MALLOC_ARENA_MAX="8")


@pytest.mark.parametrize("name", ["pardisomkl", "wsmp", "ma97", "ma57", "pardiso"])
def test_a_linear_solver_that_is_not_there_is_a_sentence(name: str) -> None:
    """... and nothing on standard output, where Ipopt would complain, and no crash, as of ma97."""
    code = f"import gridveil as gv\ngv.solve_opf('case3', options=gv.SolverOptions(linear_solver='{name}'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    if done.returncode == 0:
        pytest.skip(f"{name} is there")
    assert done.returncode == 1 and done.stdout == ""
    assert f"linear solver '{name}'" in done.stderr.splitlines()[-1]


def test_a_linear_solver_that_is_not_there_is_bad_input() -> None:
    with pytest.raises(gv.SolveError, match=r"GRIDVEIL_HSL$") as caught:
        gv.solve_opf("case3", options=SolverOptions(linear_solver="ma57", hsl_library="nowhere.so"))
    assert caught.value.status == "bad_option"


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("method", ["move", "jacobian", "hessian"])
def test_errors_in_callbacks_come_out(monkeypatch: pytest.MonkeyPatch, method: str, error: BaseException) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Evaluator, method, fail)
    with pytest.raises(type(error)):
        gv.solve_opf("case3")


def test_interrupt_ends_the_solve() -> None:
    """A signal that arrives while Ipopt computes ends it at its next call, instead of being lost there."""

    def interrupt(iteration: int, _: float) -> None:
        if iteration == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        gv.solve_opf("case118", progress=interrupt)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_is_called_once_per_iteration() -> None:
    seen: list[int] = []
    solution = gv.solve_opf("case5", progress=lambda iteration, _: seen.append(iteration))
    assert seen == list(range(solution.iterations + 1))


def test_casadi_is_not_imported() -> None:
    """Only the shared library of the wheel is used."""
    gv.solve_opf("case3")
    assert "casadi" not in sys.modules
    assert ipopt_library.find_library(None).name.startswith("libipopt")


class Answering:
    """The solver's library, but for the code that a solve ends with."""

    def __init__(self, library: Any, code: int) -> None:
        self.library, self.code = library, code

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def IpoptSolve(self, *_: object) -> int:
        return self.code


# IpReturnCodes_inc.h: its own names, beside what a user is told
@pytest.mark.parametrize(
    ("code", "name", "status", "detail"),
    [
        (2, "Infeasible_Problem_Detected", "infeasible", "local infeasibility"),
        (3, "Search_Direction_Becomes_Too_Small", "numerical_failure", "too small"),
        (4, "Diverging_Iterates", "numerical_failure", "diverge"),
        (5, "User_Requested_Stop", "numerical_failure", "stopped by the caller"),
        (6, "Feasible_Point_Found", "numerical_failure", "feasible point"),
        (-1, "Maximum_Iterations_Exceeded", "iteration_limit", "iteration limit"),
        (-2, "Restoration_Failed", "numerical_failure", "restoration"),
        (-3, "Error_In_Step_Computation", "numerical_failure", "step computation"),
        (-4, "Maximum_CpuTime_Exceeded", "time_limit", "time limit"),
        (-5, "Maximum_WallTime_Exceeded", "time_limit", "time limit"),
        (-10, "Not_Enough_Degrees_Of_Freedom", "infeasible", "more equations"),
        (-11, "Invalid_Problem_Definition", "numerical_failure", "problem definition"),
        (-13, "Invalid_Number_Detected", "numerical_failure", "invalid number"),
        (-100, "Unrecoverable_Exception", "numerical_failure", "Ipopt code -100"),
        (-102, "Insufficient_Memory", "numerical_failure", "not enough memory"),
        (-199, "Internal_Error", "numerical_failure", "Ipopt code -199"),
    ],
)
def test_return_codes_are_read_as_the_solver_means_them(
    monkeypatch: pytest.MonkeyPatch, code: int, name: str, status: str, detail: str
) -> None:
    library = ipopt_library.load(ipopt_library.find_library(None))
    monkeypatch.setattr(ipopt, "load", lambda _: Answering(library, code))
    solution = gv.solve_opf("case3", options=SolverOptions(starts=1))
    assert (solution.status.value, detail in solution.detail) == (status, True), name


@pytest.mark.parametrize(("code", "said"), [(0, "solver calls it solved"), (1, "solver calls it solved")])
def test_solved_is_only_what_the_judge_accepts(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    """A solver that calls its start a solution is not believed."""
    library = ipopt_library.load(ipopt_library.find_library(None))
    monkeypatch.setattr(ipopt, "load", lambda _: Answering(library, code))
    solution = gv.solve_opf("case3", options=SolverOptions(starts=1))
    assert solution.status is gv.Status.NUMERICAL_FAILURE
    assert said in solution.detail


def test_rejected_options_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ipopt_library.load(ipopt_library.find_library(None))
    monkeypatch.setattr(ipopt, "load", lambda _: Answering(library, -12))
    with pytest.raises(gv.SolveError, match="Ipopt rejects its options; is linear solver 'mumps' built in"):
        gv.solve_opf("case3")


def test_patience_counts_a_restoration_by_itself() -> None:
    """Its infeasibility has units of its own: what falls there is progress, and the first one of a start that is to be
    restored has all the time it wants."""

    def halted(restoring: bool, *told: tuple[int, float]) -> int | None:
        watch = Watch(None, PATIENCE, restoring=restoring)
        for iteration, (mode, infeasibility) in enumerate(told):
            if watch(mode, iteration, 0.0, infeasibility):
                return iteration
        return None

    normal, restoration = (0, 1.0), (1, 50.0)
    assert halted(False, *[normal] * 9) == 3
    assert halted(False, normal, normal, restoration, *[normal] * 9) == 5  # what is new there is progress
    assert halted(False, normal, *[(1, 50.0 / 2**k) for k in range(9)]) is None
    assert halted(False, normal, *[restoration] * 9) == 4
    assert halted(True, normal, *[restoration] * 9) is None
    assert halted(True, normal, restoration, restoration, *[normal] * 9) == 6
    assert halted(True, *[normal] * 9) == 4


PATIENCE = Patience(1e-2, 3)


def test_options_of_starts_and_matching() -> None:
    plain = ipopt._options(SolverOptions(), Start(np.zeros(1), 0.1))
    assert "start_with_resto" not in plain and "mumps_permuting_scaling" not in plain
    assert ipopt._options(SolverOptions(), Start(np.zeros(1), 0.1, restored=True))["start_with_resto"] == "yes"
    assert ipopt._options(SolverOptions(matching=False), Start(np.zeros(1), 0.1))["mumps_permuting_scaling"] == 0
