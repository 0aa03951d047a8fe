"""The effort limit: the same every time, told while it lasts, and a clear end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import OutOfEffort, ReleaseError, Spent
from gridveil.nlp.effort import ITERATIONS, Effort, EffortSpent, limited
from gridveil.publish.pipeline import release
from gridveil.repair.child import ChildWorkshop
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Fidelity, Snapshot

from .conftest import PretendExact


def test_solves_are_counted_in_iterations_and_end_at_the_limit() -> None:
    network = gv.load("case14")
    model, heard = gv.opf_model(network.grid), list[float]()
    size = model.problem.order
    effort = Effort(0.5, size, heard.append)
    with limited(effort):
        first = gv.solve_opf(network)
        assert first.iterations < 0.5 * ITERATIONS
        assert effort.spent == pytest.approx(first.iterations / ITERATIONS)
        with pytest.raises(EffortSpent):
            for _ in range(5):
                gv.solve_opf(network)
    assert heard == sorted(heard) and 0.5 <= heard[-1] == effort.spent < 0.5 + 2 / ITERATIONS
    assert gv.solve_opf(network).status == "optimal"  # outside nothing is counted
    assert effort.spent == heard[-1]


def test_a_larger_problem_costs_more() -> None:
    effort = Effort(10.0, 100, lambda _: None)
    effort.count(100, ITERATIONS)
    assert effort.spent == 1.0
    effort.count(250, ITERATIONS)
    assert effort.spent == 3.5
    assert effort.allowed(100) == 6.5 * ITERATIONS


@pytest.mark.parametrize("shop", [Workshop, ChildWorkshop])
def test_a_repair_is_given_up_at_its_limit(shop: type[Workshop] | type[ChildWorkshop]) -> None:
    network = gv.load("case5")
    noisy = mechanism("log").perturb(split(network), 1.0, 1.0, PretendExact(1))
    dear = [Snapshot(network.grid.buses.pd, network.grid.buses.qd, 50 * gv.solve_opf(network).cost)]
    ends = []
    for _ in range(2):
        heard = list[float]()
        with closing(shop()) as place:
            begun = place.begin(network.grid, noisy, Fidelity(0.01, effort=6.0), heard.append)
            with pytest.raises(OutOfEffort, match="within an effort of 6 AC-OPFs"):
                begun.repair(dear)
        ends.append(heard)
    assert ends[0] == ends[1]
    assert 6.0 <= ends[0][-1] < 9.0
    assert np.all(np.diff(ends[0]) > 0)


def test_a_release_says_that_it_was_given_up(tmp_path: Path) -> None:
    book, said = gv.Ledger.open(tmp_path / "l.db"), list[str]()
    plan = gv.Plan(1.0, 0.1, 0.01)
    object.__setattr__(plan, "effort", 0.1)  # which no plan takes
    with pytest.raises(Spent, match=r"effort of 0\.1 AC-OPFs; give a larger --effort.*spent all the same") as caught:
        release(gv.seal("case5"), plan, book, workshop=Workshop, progress=said.append)
    assert caught.value.reason == "not repaired"
    assert any(one.startswith("working: ") for one in said)
    for effort in (0.0, 9.0, float("nan")):
        with pytest.raises(ReleaseError, match="number of AC-OPFs from 10 on"):
            gv.Plan(1.0, 0.1, 0.01, effort=effort)
