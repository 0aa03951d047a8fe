"""The solver's door: libraries that are not there, errors and interrupts inside callbacks."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

import gridveil as gv
from gridveil.nlp import ipopt
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import SolverOptions


def test_missing_library_is_a_sentence() -> None:
    with pytest.raises(gv.SolveError, match="no Ipopt library at"):
        gv.solve_opf("case3", options=SolverOptions(library="nowhere.so"))


def test_wrong_library_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "libipopt.so").write_text("not a library")
    with pytest.raises(gv.SolveError, match="not a usable Ipopt"):
        gv.solve_opf("case3", options=SolverOptions(library=str(tmp_path / "libipopt.so")))


def test_another_library_by_option_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "libother.so"
    link.symlink_to(ipopt.find_library(None))
    assert gv.solve_opf("case3", options=SolverOptions(library=str(link))).status is gv.Status.OPTIMAL
    monkeypatch.setenv("GRIDVEIL_IPOPT", str(link))
    assert SolverOptions().library == str(link)
    monkeypatch.setenv("GRIDVEIL_LINEAR_SOLVER", "ma57")
    assert SolverOptions().linear_solver == "ma57"


def test_unknown_linear_solver_is_a_sentence() -> None:
    with pytest.raises(gv.SolveError, match="no linear solver 'abacus'"):
        gv.solve_opf("case3", options=SolverOptions(linear_solver="abacus"))


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
    assert ipopt.find_library(None).name.startswith("libipopt")
