"""The interior point of our own beside Ipopt, wherever a solver is chosen: the same answers, and who answers when."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.errors import Spent
from gridveil.grid import Network
from gridveil.nlp import ipopt, opf
from gridveil.nlp import solve as choosing
from gridveil.nlp.island import energise
from gridveil.nlp.native import interior_point
from gridveil.nlp.native.library import load, why_absent
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.restoration import Ending, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import Outcome, Patience, SolverOptions, Status
from gridveil.privacy.noise import SeededNoise
from gridveil.repair.bounds import parameter_box
from gridveil.repair.child import ChildWorkshop
from gridveil.repair.projection import Aim, Effort, _bounds, numbers, projection, starts
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Fidelity, Snapshot

from .conftest import charged

if load() is None:
    pytest.skip(f"the compiled library is not there: {why_absent()}", allow_module_level=True)

OWN, IPOPT, AUTO = (SolverOptions(solver=one) for one in ("own", "ipopt", "auto"))
SHIPPED = ("case3", "case5", "case14", "case30", "case39", "case57", "case118")


@pytest.fixture(autouse=True)
def as_nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the user wants of solvers."""
    for name in ("GRIDVEIL_SOLVER", "GRIDVEIL_LINEAR_SOLVER", "GRIDVEIL_IPOPT"):
        monkeypatch.delenv(name, raising=False)


# ---- the same answers ----


@pytest.mark.parametrize("name", SHIPPED)
def test_ac_opfs(name: str) -> None:
    mine, its = (gv.solve_opf(name, options=one) for one in (OWN, IPOPT))
    assert (mine.status, mine.solver, mine.fallbacks) == (Status.OPTIMAL, "own", 0)
    assert (its.status, its.solver, its.fallbacks) == (Status.OPTIMAL, "ipopt", 0)
    assert mine.cost == pytest.approx(its.cost, rel=1e-6)
    assert mine.violations.largest < 1e-6
    assert mine.iterations <= 1.5 * its.iterations + 5
    price = np.abs(its.multipliers["balance_p"]).max()
    assert mine.multipliers["balance_p"] == pytest.approx(its.multipliers["balance_p"], abs=1e-4 * price)


@pytest.mark.parametrize("name", ["case14", "case30", "case39"])
def test_ac_opfs_of_other_demand(name: str) -> None:
    """From light to more than there is; the verdicts agree, too."""
    network = gv.load(name)
    buses = network.grid.buses
    seen = set()
    for share in (0.5, 0.8, 1.05, 1.3, 2.5, 6.0):
        demand = Demand(share * buses.pd, share * buses.qd)
        mine, its = (gv.solve_opf(network, demand, options=one) for one in (OWN, IPOPT))
        assert mine.status is its.status
        seen.add(mine.status)
        if mine.status is Status.OPTIMAL:
            assert mine.cost <= its.cost * (1 + 1e-6)
    assert seen == {Status.OPTIMAL, Status.INFEASIBLE}


@pytest.mark.parametrize("name", ["case30", "case57"])
@pytest.mark.parametrize("rules", Rules)
def test_restorations_after_random_removals(name: str, rules: Rules) -> None:
    """The same ending, and no less served."""
    network = gv.load(name)
    for seed in range(6):
        cut = np.random.default_rng(seed).permutation(network.grid.n_line)[: 1 + 3 * seed]
        mine, its = (restore(network, cut, rules, one) for one in (OWN, IPOPT))
        assert mine.ending is its.ending
        assert mine.served >= its.served - 1e-6 * (1.0 + its.served)
        assert mine.violations.largest <= 1e-5


@pytest.mark.parametrize("name", ["case30", "case57"])
def test_an_island_fed(name: str) -> None:
    network = gv.load(name)
    mine, its = (energise(network, Rules.SWITCHABLE, one) for one in (OWN, IPOPT))
    assert mine.status is its.status is Status.OPTIMAL
    assert mine.state is not None and its.state is not None
    assert mine.state.share == pytest.approx(its.state.share, abs=1e-5)


@pytest.mark.parametrize("name", ["case14", "case30", "case57"])
@pytest.mark.parametrize("seed", range(2))
def test_projections(name: str, seed: int) -> None:
    """The nearest network at the public cost, from the starts that a repair has, one of which is restored first."""
    network, cost = gv.load(name), gv.solve_opf(name).cost
    grid = network.grid
    box = parameter_box(grid, mechanism("log").perturb(split(network), 1.0, 0.3, SeededNoise(seed)), 50.0)
    snapshots, aim = [Snapshot(grid.buses.pd, grid.buses.qd, cost)], [Aim(0.01, 0.01)]
    model = projection(grid, box, snapshots, [], keep_losses=False)
    bounds, evaluator = (
        _bounds(model, box, snapshots, Fidelity(0.01), aim, 0.01),
        model.problem.evaluator(numbers(model, box)),
    )
    begun = starts(model, box, None, Network(grid, network.lines))
    assert {start.restored for start in begun} == {True, False}
    for start in begun:
        options = replace(Effort(0.01).options(box, free=False), tolerance=1e-7)
        mine, its = (one.solve(evaluator, bounds, start, options) for one in (interior_point, ipopt))
        assert mine.status is its.status is Status.OPTIMAL
        assert mine.objective <= its.objective + 1e-6 * (abs(its.objective) + 1e-3)


@pytest.mark.parametrize(("name", "seed"), [("case5", 1), ("case14", 2), ("case30", 3)])
def test_releases(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certified, at costs as near to the public one, whoever solves."""
    for solver in ("own", "ipopt"):
        monkeypatch.setenv("GRIDVEIL_SOLVER", solver)
        made = gv.release(gv.seal(name), gv.Plan(1.0, 0.1, 0.01), noise=gv.SeededNoise(seed))
        assert made.certificate.passed


# ---- who answers ----


class Asked:
    """What solvers were asked for, one after the other; each may be given another end than its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.changes: dict[str, dict[str, Any]] = {}
        for name, module in (("own", interior_point), ("ipopt", ipopt)):
            monkeypatch.setattr(module, "solve", self._of(name, module.solve))

    def _of(self, name: str, honest: Any) -> Any:
        def solve(*arguments: Any, **named: Any) -> Outcome:
            self.names.append(name)
            end: Outcome = honest(*arguments, **named)
            change = self.changes.get(name, {})
            return replace(end, **{key: one(end) if callable(one) else one for key, one in change.items()})

        return solve


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    opf.opf_model.cache_clear()
    yield Asked(monkeypatch)


BAD_ENDS = (Status.NUMERICAL_FAILURE, Status.INFEASIBLE, Status.ITERATION_LIMIT)


def test_an_optimum_of_our_own_is_the_answer(asked: Asked) -> None:
    end = gv.solve_opf("case5", options=AUTO)
    assert (asked.names, end.solver, end.fallbacks, end.attempts) == (["own"], "own", 0, 1)


@pytest.mark.parametrize("status", BAD_ENDS)
def test_another_end_of_our_own_goes_to_ipopt(asked: Asked, status: Status) -> None:
    """... which begins at the same start; iterations of both count."""
    alone = [gv.solve_opf("case5", options=one).iterations for one in (OWN, IPOPT)]
    asked.names.clear()
    asked.changes["own"] = {"status": status, "detail": "planted"}
    end = gv.solve_opf("case5", options=AUTO)
    assert (asked.names, end.status, end.solver) == (["own", "ipopt"], Status.OPTIMAL, "ipopt")
    assert (end.fallbacks, end.attempts, end.iterations) == (1, 1, sum(alone))


def _away(end: Outcome) -> FloatArray:
    return end.x + 0.01


def test_a_point_that_the_judge_rejects_goes_to_ipopt(asked: Asked) -> None:
    """Our own calls it optimal, and `grid.physics` does not."""
    asked.changes["own"] = {"x": _away}
    end = gv.solve_opf("case5", options=AUTO)
    assert (asked.names, end.status, end.solver, end.fallbacks) == (["own", "ipopt"], Status.OPTIMAL, "ipopt", 1)


def test_a_restoration_that_the_judge_rejects_goes_to_ipopt(asked: Asked) -> None:
    network = gv.load("case5")
    asked.changes["own"] = {"x": _away}
    done = restore(network, [0], options=AUTO)
    assert (asked.names, done.ending) == (["own", "ipopt"], Ending.OPTIMAL)
    assert done.violations.largest < 1e-5


def test_every_start_that_goes_to_ipopt_is_counted(asked: Asked) -> None:
    asked.changes = {name: {"status": Status.NUMERICAL_FAILURE, "detail": "planted"} for name in ("own", "ipopt")}
    end = gv.solve_opf("case5", options=AUTO)
    assert asked.names == ["own", "ipopt"] * 4
    assert (end.status, end.detail, end.attempts, end.fallbacks) == (Status.NUMERICAL_FAILURE, "planted", 4, 4)


@pytest.mark.parametrize(
    "change", [{"status": one} for one in BAD_ENDS] + [{"x": _away}], ids=[*map(str, BAD_ENDS), "away"]
)
def test_our_own_alone_never_goes_to_ipopt(asked: Asked, change: dict[str, Any]) -> None:
    asked.changes["own"] = change
    end = gv.solve_opf("case5", options=OWN)
    assert set(asked.names) == {"own"}
    assert end.status is not Status.OPTIMAL
    assert (end.solver, end.fallbacks) == ("own", 0)


def test_ipopt_alone_never_asks_our_own(asked: Asked) -> None:
    gv.solve_opf("case5", options=IPOPT)
    assert asked.names == ["ipopt"]


def test_what_the_caller_ended_is_not_solved_again(asked: Asked) -> None:
    late = gv.solve_opf("case118", options=replace(AUTO, max_seconds=1e-9))
    assert (asked.names, late.status, late.fallbacks) == (["own"], Status.TIME_LIMIT, 0)
    asked.names.clear()
    impatient = gv.solve_opf("case118", options=replace(AUTO, patience=Patience(1e-12, 1, better=1e-9), starts=1))
    assert (asked.names, impatient.fallbacks) == (["own"], 0)
    assert impatient.detail == "stopped by the caller"


@pytest.mark.parametrize("more", [{"verbose": True}, {"linear_solver": "own"}, {"library": "given"}], ids=str)
def test_what_only_ipopt_has_is_ipopts(asked: Asked, more: dict[str, Any]) -> None:
    from gridveil.nlp.ipopt_library import find_library

    more = {name: str(find_library(None)) if one == "given" else one for name, one in more.items()}
    gv.solve_opf("case3", options=replace(AUTO, **more))
    assert asked.names == ["ipopt"]


def test_without_the_library_all_is_ipopts(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "load", lambda: None)
    end = gv.solve_opf("case3", options=AUTO)
    assert (asked.names, end.status, end.fallbacks) == (["ipopt"], Status.OPTIMAL, 0)


# ---- a crash ----


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a crash is another thing on Windows")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE])
@pytest.mark.parametrize("when", ["begin", "repair"])
def test_a_crash_of_compiled_code_costs_what_is_spent_and_says_so(
    number: int, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the repair's process with it, not ours."""
    honest = getattr(ChildWorkshop, when)

    def crash(self: ChildWorkshop, *arguments: Any, **named: Any) -> Any:
        os.kill(self._process.pid, number)
        return honest(self, *arguments, **named)

    monkeypatch.setattr(ChildWorkshop, when, crash)
    book = gv.Ledger.open(tmp_path / "l.db")
    words = rf"the repair process was ended by signal {number} .*spent all the same: entry 3 of the ledger, loss 1$"
    with pytest.raises(Spent, match=words) as caught:
        gv.release(gv.seal("case5"), gv.Plan(1.0, 0.1, 0.01, cost="derived"), book)
    assert (caught.value.entries, caught.value.loss) == ((3,), 1.0)
    assert charged(book) == [1.0]
    end = book.entries()[-1]
    assert (end.kind, end.details["outcome"]) == ("outcome", "failed")
