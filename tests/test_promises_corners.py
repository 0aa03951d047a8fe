"""Corners of promises: one-sided limits, columns that repeat, aims of declared costs, what a process prints."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile.labels import Labels
from gridveil.errors import SolveError
from gridveil.grid import Network, circuits
from gridveil.grid.parts import part, without
from gridveil.grid.profile import base_profile
from gridveil.nlp import ipopt, restoration
from gridveil.nlp.blocks import ShuntBlock, SwitchedShuntBlock
from gridveil.nlp.island import _lone_bus, energise
from gridveil.nlp.problem import Layout, LinearTerms, build
from gridveil.nlp.restoration import Ending, _open_lines, _Trial, _Work, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import SolverOptions
from gridveil.privacy.composition import Charge
from gridveil.privacy.keeping import backup
from gridveil.privacy.keeping import restore as put_back
from gridveil.privacy.ledger import Ledger
from gridveil.publish import record
from gridveil.publish.behind import Public, _snapshots
from gridveil.publish.costs import fused
from gridveil.publish.manifest import Software
from gridveil.publish.staging import _replace
from gridveil.repair.child import GREETING
from gridveil.repair.judge import judge_lines
from gridveil.repair.shrinkage import shrink
from gridveil.wall.draw import Estimate
from gridveil.wall.facts import Fact, FactKind, Source, declared

from .conftest import Bend
from .test_problem import check_derivatives


def test_a_cost_that_is_certain_counts_alone() -> None:
    assert fused(Estimate(0.08, None, 0.0, None, None), None) == pytest.approx(0.08)


def test_parallel_lines_without_any_capacity_are_split_quietly() -> None:
    grid = gv.load("case5").grid
    ends: dict[str, Any] = {"bus_from": np.zeros(6, np.int64), "bus_to": np.ones(6, np.int64)}
    lines = replace(grid.lines, rating=np.array([0.0, 1.0, 2.0, np.inf, 0.0, 1.0]), **ends)
    found = circuits(replace(grid, lines=lines))
    assert found[0] == found[4]


def test_a_lone_bus_of_the_literal_model_keeps_its_shunt_on() -> None:
    """The shunt takes 1.0·vm² of the 0.9 that is generated at most: 0.81 at the lowest voltage, and 0.09 are left."""
    own = part(gv.load("case5"), np.array([3]))
    numbers = {"pd": 1.0, "qd": 0.0, "gs": 1.0, "bs": 0.0, "vmin": 0.9, "vmax": 1.1}
    buses = replace(own.grid.buses, **{name: np.array([value]) for name, value in numbers.items()})
    made = replace(own.grid.generators, pmin=np.zeros(1), pmax=np.array([0.9]), qmin=np.zeros(1), qmax=np.zeros(1))
    bent = own._replace(grid=replace(own.grid, buses=buses, generators=made))
    literal, switched = _lone_bus(bent, Rules.LITERAL).state, _lone_bus(bent, Rules.SWITCHABLE).state
    assert literal is not None and switched is not None
    assert (float(literal.share[0]), float(literal.on[0]), float(literal.vm[0])) == pytest.approx((0.09, 1.0, 0.9))
    assert (float(switched.share[0]), float(switched.on[0])) == pytest.approx((0.9, 0.0))


def test_what_a_library_prints_is_no_answer() -> None:
    code = (
        "import os; from gridveil.repair import child; child.rehearse = lambda: os.write(1, b'chatter'); child.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=True
    )
    assert done.stdout[8:].startswith(GREETING) and b"chatter" not in done.stdout and b"chatter" in done.stderr


@pytest.mark.parametrize(("source", "aim"), [(Source.PUBLISHED, 1.0), (Source.DERIVED, 0.05), (Source.PRIVATE, 0.05)])
def test_estimated_costs_are_met_more_nearly_than_stated_ones(source: Source, aim: float) -> None:
    network = gv.load("case5")
    horizon = base_profile(network.grid)
    nothing: Any = None
    lost = Fact(FactKind.LOSSES, 1, 0.25, Source.DERIVED)
    stated = Fact(FactKind.COST, 1, 100.0, source)
    for cost in (stated, declared(FactKind.COST, 1, 123.456)) if aim == 1.0 else (stated,):
        public = Public(network.grid, gv.Plan(1.0, 0.1, 0.01), None, horizon, [0], Labels(), nothing, (cost, lost))
        (found,) = _snapshots(public)
        assert (found.cost, found.aim, found.slack, found.losses, found.step) == (cost.value, aim, cost.slack, 0.25, 1)
        assert found.pd.tolist() == network.grid.buses.pd.tolist()
    assert [one.losses for one in _snapshots(replace(public, facts=(cost,)))] == [None]


def test_a_column_that_repeats_another_explains_nothing_more() -> None:
    chance = np.random.default_rng(1)
    design = np.stack([np.ones(40), chance.normal(size=40)], axis=1)
    values = design @ [1.0, 2.0] + chance.laplace(size=40)
    again = design[:, 0] / 3 + design[:, 1] / 7
    for column in (again, again + 1e-12 * chance.normal(size=40)):  # but for rounding
        for one, other in zip(
            shrink(values, 0.8, design), shrink(values, 0.8, np.column_stack([design, column])), strict=True
        ):
            assert one == pytest.approx(other, rel=1e-9)


def test_nothing_counts_as_served_where_the_literal_model_fails(tiny: Bend) -> None:
    network = gv.load(tiny(("50	-50	1	100	1	80", "50	25	1	100	1	80")))
    literal = restore(network, [1, 2], Rules.LITERAL)
    (island,) = literal.islands
    assert (island.ending, island.served, island.bound, literal.served) == (Ending.INFEASIBLE, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("side", "share"), [("angle_min", 1.2), ("angle_max", 0.5)])
def test_an_angle_may_be_limited_on_one_side(tiny: Bend, side: str, share: float) -> None:
    """Where it would lie beyond its limit it rests on it."""
    network = gv.load(tiny())
    ends = network.grid.lines

    def solved(**limits: Any) -> Any:
        free: dict[str, Any] = {"angle_min": np.full(3, -np.inf), "angle_max": np.full(3, np.inf)}
        grid = replace(network.grid, lines=replace(ends, **{**free, **limits}))
        point = gv.solve_opf(Network(grid, network.lines)).require().point
        return point.va[ends.bus_from] - point.va[ends.bus_to]

    turn = solved()
    line = int(np.argmax(turn))
    limit = np.full(3, np.inf if side == "angle_max" else -np.inf)
    limit[line] = share * turn[line]
    assert turn[line] > 0.01
    assert solved(**{side: limit})[line] == pytest.approx(limit[line], abs=1e-5)


def test_single_lines_are_opened_by_their_charging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with most of it first, and sixteen at most."""
    network = gv.load("case14")
    charged = network._replace(lines=replace(network.lines, bc=np.linspace(-1.0, 1.0, 20)[np.arange(20) * 7 % 20]))
    work, tried = _Work(charged, Rules.SWITCHABLE, SolverOptions()), list[int]()
    nothing = _Trial(np.zeros(20, bool), (), 0.0)

    def trial(_: Any, __: Any, opened: Any) -> Any:
        tried.append(int(np.flatnonzero(opened)[0]))
        return replace(nothing, opened=opened, served=0.1 if len(tried) == 3 else 0.0), []

    monkeypatch.setattr(restoration, "_cut_off", lambda *_: nothing)
    monkeypatch.setattr(restoration, "_trial", trial)
    _open_lines(work, np.arange(14), np.array([0]))
    assert tried == np.argsort(-charged.lines.bc)[:16].tolist()
    assert np.flatnonzero(work.opened).tolist() == [tried[2]]  # the one that serves most is taken


def test_a_bundle_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    """Where the new one cannot take its name, the old one has it back; where there was none, there is none."""
    target, retired = tmp_path / "out", tmp_path / "retired"
    retired.mkdir()
    with pytest.raises(OSError, match="missing"):
        _replace(tmp_path / "missing", target, retired)
    assert not target.exists()
    target.mkdir()
    (target / "file").write_text("old")
    with pytest.raises(OSError, match="missing"):
        _replace(tmp_path / "missing", target, retired)
    assert (target / "file").read_text() == "old" and not any((retired / "old").iterdir())
    (retired / "old").rmdir()
    new = tmp_path / "new"
    new.mkdir()
    _replace(new, target, retired)
    assert target.is_dir() and not any(target.iterdir()) and (retired / "old" / "out" / "file").read_text() == "old"


@pytest.mark.parametrize("switched", [False, True])
def test_shunts_at_several_buses_have_derivatives_of_their_own(switched: bool) -> None:
    variables, rows = Layout(), Layout(start=1)
    vm, on = variables.add("vm", 3), variables.add("on", 3)
    balance = np.stack([rows.add("p", 3), rows.add("q", 3)])
    gs, bs = np.array([0.3, 0.0, -0.2]), np.array([0.0, 0.7, 0.4])
    one = SwitchedShuntBlock("s", vm, on, gs, bs, balance) if switched else ShuntBlock("s", vm, gs, bs, balance)
    none = np.zeros(0, np.int64)
    problem = build(variables, rows, [one], [LinearTerms(none, none, np.zeros(0))])
    check_derivatives(problem, problem.evaluator({}), 0)
    evaluator = problem.evaluator({})
    x = np.array([1.1, 0.9, 1.0, 0.5, 0.25, 1.0])
    evaluator.move(x)
    square = x[:3] ** 2 * (x[3:] if switched else 1.0)
    assert evaluator.constraints() == pytest.approx(np.concatenate([gs * square, -bs * square]))


def test_what_was_lost_is_charged_whatever_the_limit(tmp_path: Path) -> None:
    book, copy = Ledger.init(tmp_path / "l.db", 2.0), tmp_path / "copy.db"
    assets, charge = book.assets("n", ["x"]), Charge(1.0, 0.1, "relative", "log")
    book.charge(assets, charge)
    backup(book, copy)
    book.charge(assets, charge)
    book.path.unlink()
    assert put_back(copy, book.path, 50.0) == 1
    found = Ledger.open(book.path).accounts(assets)
    assert (found.largest, found.exceeded) == (51.0, True)


def test_a_restoration_counts_its_attempts() -> None:
    network = gv.load("case14")
    done, alone = restore(network, []), energise(network, Rules.SWITCHABLE, SolverOptions())
    assert (done.attempts, done.iterations) == (alone.attempts, alone.iterations)
    assert alone.iterations > 1


def test_a_network_without_lines_has_none_that_is_wrong() -> None:
    network = without(gv.load("case5"), np.arange(6))
    assert [(one.value, one.passed) for one in judge_lines(*network)] == [(0.0, True), (0.0, True)]


def test_software_that_is_not_there_is_called_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "casadi":
            raise PackageNotFoundError(name)
        return "1.2"

    monkeypatch.setattr(record, "version", version)
    found = record._software.__wrapped__()
    assert found.python.count(".") == 2
    assert found == Software(found.python, gridveil="1.2", numpy="1.2", scipy="1.2", casadi="absent", opendp="1.2")


@pytest.mark.parametrize("value", ["text", 3, 0.5])
def test_an_option_that_the_solver_refuses_is_said(value: Any) -> None:
    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: 0

    with pytest.raises(SolveError, match=f"does not accept key = {value}"):
        ipopt._set_options(Refusing(), None, {"key": value})


def test_no_more_starts_are_tried_than_wanted(tiny: Bend) -> None:
    """Line 2-3 makes more reactive power than anybody takes: no start feeds the island."""
    network = gv.load(tiny(("2	3	0.01	0.08	0.02", "2	3	0.01	0.3	9")))
    assert energise(network, Rules.SWITCHABLE, SolverOptions(starts=1)).attempts == 1
    assert energise(network, Rules.SWITCHABLE, SolverOptions()).attempts > 1
