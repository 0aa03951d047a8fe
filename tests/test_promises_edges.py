"""Edges of promises that whole releases seldom come to: forks of a ledger, links, widened boxes, aims, ends of solves."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import LedgerError, PrivacyError, RepairFailed
from gridveil.grid import LineKind, LineParameters, Network
from gridveil.grid.copper_plate import marginal_cost
from gridveil.grid.cost import CostCurves
from gridveil.grid.profile import base_profile
from gridveil.grid.ratings import bound_size
from gridveil.nlp import ipopt, ipopt_library
from gridveil.nlp.blocks import DistanceBlock
from gridveil.nlp.island import _model, _spread, _state, dark, energise, judge
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.problem import Layout, LinearTerms, build
from gridveil.nlp.restoration import Ending, _trial, _Work, capacity_bound, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import Bounds, SolverOptions, Start, Status
from gridveil.privacy.chain import Chain
from gridveil.privacy.composition import Assets, Charge
from gridveil.privacy.keeping import backup
from gridveil.privacy.keeping import restore as put_back
from gridveil.privacy.keyfile import KeyFile
from gridveil.privacy.ledger import Ledger, Receipt
from gridveil.privacy.migration import Known, migrate
from gridveil.privacy.noise import ExactNoise, SeededNoise
from gridveil.publish import archive
from gridveil.publish.costs import aimed_losses
from gridveil.publish.elements import identities
from gridveil.publish.pipeline import release
from gridveil.publish.spending import Purse, told
from gridveil.repair import bench as bench_module
from gridveil.repair.bounds import parameter_box
from gridveil.repair.certify import bounds_check, certify
from gridveil.repair.estimate import Solved, estimate
from gridveil.repair.projection import Aim, Effort, project, projection, starts
from gridveil.repair.promise import Promise
from gridveil.repair.repair import repair
from gridveil.repair.shrinkage import read_ratings, shrink_lines
from gridveil.repair.trial import drawn_trial
from gridveil.repair.workshop import Workshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Estimate, Fidelity, NoisyLines, Repair, Snapshot

from .conftest import Bend
from .test_ledger import OLD

LINES = Charge(1.0, 0.1, "relative", "log")


# ---- ledgers ----


def test_a_fork_of_a_ledger_is_no_backup_of_it(tmp_path: Path) -> None:
    """The same key, and another last entry."""
    book = Ledger.init(tmp_path / "l.db")
    book.charge(book.assets("n", ["x"]), LINES)
    (tmp_path / "fork").mkdir()
    fork = tmp_path / "fork" / "l.db"
    book.accounts(book.assets("n", ["x"]))
    with closing(sqlite3.connect(book.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(book.path, fork)
    shutil.copy(KeyFile.beside(book.path), KeyFile.beside(fork))  # both of them, as somebody may
    other = Ledger.open(fork)
    for one, loss in ((book, 0.5), (other, 0.25), (other, 0.25)):
        one.charge(one.assets("n", ["x"]), LINES._replace(loss=loss))
    copy = tmp_path / "copy.db"
    backup(other, copy)
    count = len(book.entries())
    book.path.unlink()
    with pytest.raises(LedgerError, match="their entries differ"):
        put_back(copy, book.path)
    assert count == 4 and not book.path.exists()


def test_a_ledger_is_restored_where_nothing_was(tmp_path: Path) -> None:
    book, far = Ledger.init(tmp_path / "l.db"), tmp_path / "new" / "l.db"
    backup(book, tmp_path / "copy.db")
    before = os.umask(0o022)
    try:
        put_back(tmp_path / "copy.db", far, 0.0)
    finally:
        os.umask(before)
    assert far.parent.stat().st_mode & 0o777 == 0o700
    assert [one.kind for one in Ledger.open(far).entries()][1:] == ["lost"]  # nobody knows how many
    assert sorted(one.name for one in far.parent.iterdir() if not one.name.endswith(("-wal", "-shm"))) == [
        "l.db",
        "l.db.key",
    ]


# ---- bundles ----


def test_files_are_opened_without_following_and_without_waiting(tmp_path: Path) -> None:
    """What was a file when it was listed may be a link or a pipe when it is opened."""
    (tmp_path / "file").write_bytes(b"12345")
    assert archive._bytes(tmp_path / "file", 5) == b"12345"
    assert archive._bytes(tmp_path / "file", 4) == "is larger than any release"
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="symbolic links"):
        archive._bytes(tmp_path / "link", 5)
    os.mkfifo(tmp_path / "pipe")
    code = f"from gridveil.publish.archive import _bytes; from pathlib import Path; print(_bytes(Path({str(tmp_path / 'pipe')!r}), 5))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True, text=True)
    assert done.stdout.strip() == "is not a regular file"


# ---- releases ----


def test_a_widened_box_is_the_one_that_is_certified(tmp_path: Path) -> None:
    """Admittances eight times those drawn: outside a factor of 1.5, inside one of 15."""

    class Far(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            lines = LineParameters(8 * self.noisy.g, 8 * self.noisy.b, self.noisy.bc)
            point = gv.solve_opf(Network(self.grid, lines)).require().point
            return Repair(Network(self.grid, lines), (point,), "projected", 0, self.widening, 1)

        widening = 10.0

    network = gv.load("case5")
    cost = gv.solve_opf(
        Network(network.grid, LineParameters(8 * network.lines.g, 8 * network.lines.b, network.lines.bc))
    ).cost
    plan = gv.Plan(1.0, 1e-4, 0.01, bound_factor=1.5, published_cost=cost)
    made = release(split(network), plan, noise=SeededNoise(1), workshop=Far)
    assert made.manifest.fidelity.bound_factor == 15.0
    Far.widening = 4.0
    with pytest.raises(gv.GridVeilError, match="fails its own certificate"):
        release(split(network), plan, noise=SeededNoise(1), workshop=Far)


def test_questions_are_asked_of_the_lines_that_were_renumbered(tmp_path: Path) -> None:
    book, case = Ledger.init(tmp_path / "l.db"), gv.read_case("case5")
    book.charge(book.assets("", identities(split(case).structure)), LINES)
    bus, gen, branch = case.bus.copy(), case.gen.copy(), case.branch.copy()
    for table, columns in ((bus, [0]), (gen, [0]), (branch, [0, 1])):
        table[:, columns] += 100
    moved = split(replace(case, bus=bus, gen=gen, branch=branch))
    with pytest.raises(PrivacyError, match="more than doubles"):
        release(moved, gv.Plan(1.5, 0.1, 0.01, cost="derived"), book, same_as={n + 100: n for n in range(1, 6)})
    assert len(book.entries()) == 3  # limit, network, charge


# ---- the repair ----


def test_a_process_that_is_left_alone_ends_with_its_owner() -> None:
    code = "from gridveil.repair.child import ChildWorkshop; shop = ChildWorkshop(); print(shop._process.pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True, text=True)
    assert int(done.stdout) > 0


def test_networks_of_lossless_lines_are_shrunk_too() -> None:
    network = gv.load("case30")
    kind = np.full(network.grid.n_line, LineKind.LOSSLESS)
    lossless = Network(
        replace(network.grid, lines=replace(network.grid.lines, kind=kind)),
        LineParameters(0 * network.lines.g, network.lines.b, network.lines.bc),
    )
    noisy = mechanism("additive").perturb(split(lossless), 1.0, 3.0, SeededNoise(0))
    found = shrink_lines(lossless.grid, noisy)
    assert np.all(found.weight < 1) and np.all(found.lines.g == 0) and np.all(found.lines.b < 0)
    true = network.lines.b
    assert np.abs(found.lines.b - true).mean() < np.abs(noisy.b - true).mean()


@pytest.fixture(scope="module")
def case14() -> tuple[Network, NoisyLines]:
    network = gv.load("case14")
    return network, mechanism("log").perturb(split(network), 1.0, 0.02, SeededNoise(3))


@pytest.mark.parametrize("away", [0.004, -0.004])
def test_a_cost_within_beta_is_still_brought_nearer_to_its_aim(case14: tuple[Network, NoisyLines], away: float) -> None:
    network, noisy = case14
    grid, model = network.grid, opf_model(network.grid)
    box = parameter_box(grid, noisy, 50.0)
    cost = solve_opf(model, box.lines(box.target)).require().cost
    public = [Snapshot(grid.buses.pd, grid.buses.qd, cost * (1 + away), aim=0.05)]
    found = repair(grid, noisy, public, Fidelity(0.01))
    assert found.path == "steered"
    assert abs(found.points[0].cost / public[0].cost - 1) <= 0.0005 * (1 + 1e-6)
    usual = repair(grid, noisy, [replace(public[0], aim=1.0)], Fidelity(0.01))
    assert usual.path == "as drawn"


def test_what_was_too_dear_is_aimed_at_lower(
    case14: tuple[Network, NoisyLines], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, noisy = case14
    grid, model = network.grid, opf_model(network.grid)
    optimum = solve_opf(model, network.lines).require()
    aims: list[float] = []
    script: list[float] = []

    def project(_: Any, box: Any, *arguments: Any) -> Any:
        aims.append(arguments[2][0].above)
        return SimpleNamespace(status=Status.OPTIMAL, x=box.target)

    monkeypatch.setattr(bench_module, "projection", lambda *_: SimpleNamespace(parameters=slice(None)))
    monkeypatch.setattr(bench_module, "starts", lambda *_: [None])
    monkeypatch.setattr(bench_module, "project", project)
    monkeypatch.setattr(bench_module, "solve_all", lambda *_: [replace(optimum, cost=script.pop(0))])
    monkeypatch.setattr(bench_module, "steer", lambda model, box, found, *_: found)
    public = Promise.of([Snapshot(grid.buses.pd, grid.buses.qd, 100.0)], Fidelity(0.01))

    def found(*costs: float) -> tuple[Repair | None, int]:
        aims.clear()
        script[:] = costs
        trial = drawn_trial(grid, noisy, 50.0)
        bench = bench_module.Bench(noisy, public, trial, trial)
        return bench._in_box(trial.box, None, (), Effort(0.0), public), bench.tries

    made, tried = found(101.5, 100.9)
    assert made is not None and (made.path, made.projections, made.widening, tried) == ("projected", 2, 1.0, 2)
    assert aims == pytest.approx([0.0098, 0.0098 - 0.005 - 0.001])
    assert found(103.0) == (None, 1)  # no aim is low enough
    assert found(100.0)[1] == 1


# ---- solves ----


def test_a_problem_without_constraints_is_minimised() -> None:
    variables, rows = Layout(), Layout(start=1)
    columns = variables.add("x", 3)
    none = np.zeros(0, np.int64)
    problem = build(variables, rows, [DistanceBlock("d", columns, 0)], [LinearTerms(none, none, np.zeros(0))], 2.0)
    target, weight = np.array([1.0, -2.0, 9.0]), np.array([1.0, 2.0, 3.0])
    bounds = Bounds(np.full(3, -5.0), np.full(3, 5.0), np.zeros(0), np.zeros(0))
    found = ipopt.solve(problem.evaluator({"d": (target, weight)}), bounds, Start(np.zeros(3), 0.1), SolverOptions())
    assert found.status is Status.OPTIMAL
    assert found.x == pytest.approx([1.0, -2.0, 5.0], abs=1e-5)
    assert found.objective == pytest.approx(2.0 + 3.0 * 16.0, abs=1e-4)
    assert found.multipliers.upper[2] == pytest.approx(24.0, rel=1e-4)


def test_every_problem_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ipopt_library.load(ipopt_library.find_library(None))
    counts = {"CreateIpoptProblem": 0, "FreeIpoptProblem": 0}

    class Counting:
        def __getattr__(self, name: str) -> Any:
            if name in counts:
                counts[name] += 1
            return getattr(library, name)

    monkeypatch.setattr(ipopt, "load", lambda _: Counting())
    asked = SolverOptions(solver="ipopt")
    gv.solve_opf("case3", options=asked)

    def stop(*_: object) -> None:
        raise KeyError("enough")

    network = gv.load("case3")
    with pytest.raises(KeyError, match="enough"):
        solve_opf(opf_model(network.grid), network.lines, options=asked, progress=stop)
    assert counts == {"CreateIpoptProblem": 2, "FreeIpoptProblem": 2}


def test_an_island_is_solved_once_where_the_first_start_succeeds() -> None:
    network = gv.load("case14")
    found = energise(network, Rules.SWITCHABLE, SolverOptions())
    assert (found.status, found.attempts) == (Status.OPTIMAL, 1)


def test_ranges_without_zero_are_spread_within_them() -> None:
    assert _spread(2.0, np.array([0.5, 0.0]), np.array([1.0, 3.0])) == pytest.approx([1.0, 1.0])
    assert _spread(-2.0, np.array([-1.0, -3.0]), np.array([-0.5, 0.0])) == pytest.approx([-1.0, -1.0])


def test_what_could_be_served_is_no_less_than_the_capacity(tiny: Bend) -> None:
    """Narrow lines keep load from being served; that this is the optimum of one start is no proof of it."""
    network = gv.load(
        tiny(
            ("0.02	150	150	150	0	0	1", "0.02	20	20	20	0	0	1"),
            ("0.03	150", "0.03	20"),
            ("0.02	150", "0.02	20"),
        )
    )
    done = restore(network, [])
    (island,) = done.islands
    assert island.ending is Ending.OPTIMAL and island.served < 0.9 * island.load
    assert island.bound == done.bound == pytest.approx(capacity_bound(network))


def test_nothing_served_is_judged_as_nothing(tiny: Bend) -> None:
    network = gv.load(tiny(("50	-50	1	100	1	80", "50	25	1	100	1	80")))
    literal = restore(network, [1, 2], Rules.LITERAL)
    assert literal.ending is Ending.INFEASIBLE and literal.violations.largest == 0.0 and not np.any(literal.state.vm)


def test_ratings_hold_where_some_lines_have_none(tiny: Bend) -> None:
    free = gv.solve_opf(gv.load(tiny())).require()
    network = gv.load(
        tiny(
            ("0.03	150	150	150", "0.03	50	50	50"),
            ("	2	3	0.01	0.08	0.02	150", "	2	3	0.01	0.08	0.02	0"),
        )
    )
    assert np.isfinite(network.grid.lines.rating).tolist() == [True, True, False]
    found = gv.solve_opf(network).require()
    load = np.maximum(np.hypot(found.point.pf, found.point.qf), np.hypot(found.point.pt, found.point.qt))
    assert load[1] <= 0.5 + 1e-5 and found.cost > free.cost


def test_networks_without_ratings_are_solved_too(tiny: Bend) -> None:
    network = gv.load(tiny())
    none = replace(network.grid, lines=replace(network.grid.lines, rating=np.full(3, np.inf)))
    wide = replace(network.grid, lines=replace(network.grid.lines, rating=np.full(3, 99.0)))
    costs = [gv.solve_opf(network._replace(grid=grid)).require().cost for grid in (none, wide)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)


def test_islands_try_their_starts_until_one_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    network, real = gv.load("case5"), ipopt.solve

    def attempts(*endings: str) -> tuple[int, str]:
        script = iter(endings)

        def solve(evaluator: Any, bounds: Any, start: Any, options: Any, *_: Any) -> Any:
            status = Status(next(script))
            most = 100 if status is Status.OPTIMAL else 1
            return replace(real(evaluator, bounds, start, replace(options, max_iterations=most)), status=status)

        monkeypatch.setattr(ipopt, "solve", solve)
        found = energise(network, Rules.SWITCHABLE, SolverOptions(solver="ipopt"))
        return found.attempts, found.status

    assert attempts("optimal") == (1, "optimal")
    assert attempts("numerical_failure", "optimal") == (2, "optimal")
    assert attempts("infeasible", "infeasible") == (2, "infeasible")
    assert attempts("infeasible", "iteration_limit", "infeasible") == (3, "infeasible")
    assert attempts("time_limit") == (1, "time_limit")


def test_dark_islands_say_why(tiny: Bend) -> None:
    done = restore(gv.load(tiny()), [0, 1, 2])
    assert {int(one.buses[0]): one.detail for one in done.islands if one.ending is Ending.DARK} == {
        0: "no load",
        1: "no generation",
    }


def test_a_negative_voltage_is_no_dark_bus() -> None:
    network = gv.load("case5")
    state = replace(dark(network.grid), vm=np.array([-0.5, 0, 0, 0, 0.0]))
    assert judge(network, state, Rules.SWITCHABLE).voltage == pytest.approx(0.5)


# ---- facts and estimates ----


def test_a_dispatch_cheaper_than_the_copper_plate_has_no_surcharge() -> None:
    network = gv.load("case5")
    truth = Truth(split(network), base_profile(network.grid), [0])
    assert truth.surcharge([1e9]) == 0.0 and truth.surcharge([1e-3]) == 0.5


def test_losses_of_an_estimate_are_all_that_is_generated_and_not_used() -> None:
    network = gv.load("case5")
    grid, model = network.grid, opf_model(network.grid)
    noisy = mechanism("log").perturb(split(network), 1.0, 0.001, SeededNoise(1))
    demand = Demand(grid.buses.pd, grid.buses.qd)
    solved = Solved(Network(grid, noisy.lines), [solve_opf(model, noisy.lines, demand).require()])
    found = estimate(model, noisy, [demand], solved, lambda: None, shrink_lines(grid, noisy), 1.0)
    point = solved.optima[0].point
    assert found.losses is not None and len(found.losses) == 1
    assert found.losses[0] == pytest.approx(float(np.sum(point.pf + point.pt)), abs=1e-5)


def test_ratings_that_are_certain_are_certain() -> None:
    """Hardly any noise, and predictions that are far off: only the ratings can be right."""
    grid = gv.load("case30").grid
    n = grid.n_line
    theta = np.full(n, np.deg2rad(15.0))
    size = bound_size(grid, theta)
    value, odds = read_ratings(grid, np.arange(n), size, 1e-3, size + 50.0, np.full(n, 0.5))
    assert value == pytest.approx(size) and odds == pytest.approx(np.ones(n))


def test_a_parameter_that_is_zero_in_its_box_may_not_be_another(case14: tuple[Network, NoisyLines]) -> None:
    network, noisy = case14
    lines = noisy.lines
    assert bounds_check(network.grid, Network(network.grid, lines), noisy, 50.0).passed
    none = int(np.flatnonzero(lines.bc == 0)[0])
    more = replace(lines, bc=lines.bc + 0.1 * np.eye(network.grid.n_line)[none])
    assert not bounds_check(network.grid, Network(network.grid, more), noisy, 50.0).passed


def test_nothing_is_noised_to_nothing() -> None:
    for noise in (ExactNoise(), SeededNoise(1)):
        assert noise.laplace(np.zeros(0), 1.0, 1.0).shape == (0,)


@pytest.mark.parametrize(("entries", "words"), [([3], "entry 3 of"), ([3, 5], "entries 3 and 5 of")])
def test_a_failure_names_its_entries(entries: list[int], words: str) -> None:
    purse = Purse(None, Assets("", ()), None, [Receipt(one, "h", 0.5, 1.0, (), None) for one in entries])
    spent = told(purse, RepairFailed("why"))
    assert words in str(spent) and f"loss {0.5 * len(entries):g}" in str(spent)
    assert (spent.entries, spent.loss, spent.reason) == (tuple(entries), 0.5 * len(entries), "not repaired")


# ---- more of ledgers, grids and projections ----


def test_a_ledger_is_made_with_its_folders(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "some" / "where" / "l.db")
    assert book.path.exists() and book.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_ledger_taken_over_has_the_limits_it_had(tmp_path: Path) -> None:
    """One that had none gets the usual one, even if more was spent under it."""
    old, key, shape = tmp_path / "old.db", bytes(range(32)), b"[[1, 230.0]]"
    KeyFile.beside(old).write_text(key.hex())
    chain, name = Chain(old, key), hmac.new(key, b"network" + shape, hashlib.sha256).hexdigest()[:32]
    details = {"mechanism": "log", "alpha": 0.1, "unit": "relative"}
    body = json.dumps({"time": "2026", "kind": "charge", "network": name, "loss": 12.0, "details": details})
    link = chain._link(chain.start, 1, body)
    with closing(sqlite3.connect(old)) as connection, connection:
        for statement in OLD:
            connection.execute(statement)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (1, body, link))
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (1, link))
    assert migrate(old, tmp_path / "new.db", [Known("grid", shape, ("1 2",))]) == 1
    book = Ledger.open(tmp_path / "new.db")
    found = book.accounts(book.assets("grid", ["1 2"]))
    assert (found.largest, found.largest_limit) == (12.0, 10.0)


def test_shares_lie_between_nothing_and_all_whatever_the_solver_leaves() -> None:
    grid = gv.load("case14").grid
    model = _model(grid)
    for value, wanted in ((-1e-8, 0.0), (1 + 1e-8, 1.0)):
        state = _state(model, np.full(model.problem.n_variable, value))
        assert np.all(state.share[model.loads] == wanted) and np.all(state.on[model.shunts] == wanted)
    assert np.all(np.delete(state.share, model.loads) == 1) and np.all(np.delete(state.on, model.shunts) == 1)


def test_piecewise_costs_bound_a_projection(tiny: Bend) -> None:
    rows = "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;"
    kinked = "	1	0	0	3	0	0	100	1000	200	3000;\n	2	0	0	3	0.01	20	0	0	0	0;"
    network = gv.load(tiny((rows, kinked)))
    grid = network.grid
    noisy = mechanism("log").perturb(split(network), 1.0, 0.01, SeededNoise(0))
    box = parameter_box(grid, noisy, 50.0)
    cost = gv.solve_opf(network).require().cost
    public = [Snapshot(grid.buses.pd, grid.buses.qd, cost)]
    model = projection(grid, box, public, [], keep_losses=False)
    (start, *_) = starts(model, box, None, box.network(box.target))
    outcome = project(model, box, public, Fidelity(0.01), [Aim(0.01, 0.01)], start, Effort(0.0))
    assert outcome.status is Status.OPTIMAL
    assert grid.cost_p.total(outcome.x[model.flows[0].pg]) <= 1.0101 * cost
    floor = cost * outcome.x[model.problem.variables.ranges["epigraph_p_0"]]
    assert np.all(floor >= [max(10 * p, 20 * p - 1000) - 1e-3 for p in 100 * outcome.x[model.flows[0].pg][:1]])
    cheap = project(model, box, public, Fidelity(0.01), [Aim(1.0, -0.5)], start, Effort(0.0))
    assert cheap.status is not Status.OPTIMAL  # no dispatch costs half as much


def test_a_kink_is_met_at_any_scale() -> None:
    """Where two segments meet, the slope is the one to the right, whatever rounding makes of their values."""
    chance = np.random.default_rng(0)
    for _ in range(200):
        at, (low, high) = float(chance.uniform(0.1, 3.0)), np.sort(chance.uniform(1e5, 1e8, 2))
        curves = CostCurves(
            np.zeros((1, 1)), np.zeros(2, np.int64), np.array([low, high]), np.array([0.0, (low - high) * at])
        )
        assert marginal_cost(curves, np.array([at])).tolist() == [high]


def test_no_step_is_left_out_silently(case14: tuple[Network, NoisyLines]) -> None:
    """A certificate of fewer points than steps, or losses of fewer, would pass for all of them."""
    network, _ = case14
    grid, point = network.grid, gv.solve_opf(network).require().point
    public = [Snapshot(grid.buses.pd, grid.buses.qd, point.cost, step) for step in (1, 2)]
    with pytest.raises(ValueError, match="shorter"):
        certify(grid, network.lines, [point], public, Fidelity(0.01))
    with pytest.raises(ValueError, match="shorter"):
        aimed_losses([1, 2], Estimate(0.1, None, 0.1, (0.1,), (0.02,)))


def test_a_trial_counts_what_it_feeds(tiny: Bend) -> None:
    """Line 1-2 open: bus 2 has no generation, and buses 1 and 3 are fed; with the others open too, bus 3 alone."""
    network = gv.load(tiny())
    work, island = _Work(network, Rules.SWITCHABLE, SolverOptions()), np.arange(3)
    for opened, fed in (([True, False, True], [0, 2]), ([True, True, True], [2])):
        trial, failed = _trial(work, island, np.array(opened))
        assert [one.tolist() for one, _ in trial.fed] == [fed] and failed == []
        assert trial.served == pytest.approx(0.6, abs=1e-5) and trial.opened.tolist() == opened
    assert _trial(work, island[:2], np.array([True, True, True]))[0].served == 0.0


@pytest.mark.parametrize("name", ["additive", "laplace", "paper"])
def test_twins_have_one_conductance_and_one_ratio(tiny: Bend, name: str) -> None:
    """Two parallel lines of one rating are asked about once, by their mean; a ratio of one of them alone costs nothing."""
    twin = "	1	2	0.002	0.1	0.02	150	150	150	0	0	1	-30	30;\n"
    network = gv.load(tiny(("	1	2	0.01	0.1", f"{twin}	1	2	0.01	0.1")))
    drawn = mechanism(name).perturb(split(network), 1.0, 0.1, SeededNoise(0))
    assert drawn.group[0] == drawn.group[1] and len(set(drawn.group.tolist())) == 3
    assert drawn.g[0] == drawn.g[1] and drawn.b[0] == drawn.b[1]
    g, b = network.lines.g, network.lines.b
    ratios = np.abs([(b[0] + b[1]) / (g[0] + g[1]), b[2] / g[2], b[3] / g[3]])
    assert ratios.argmax() == 0 and abs(b[0] / g[0]) > ratios[0]
    wanted = (2 + ratios[0]) / 3 if name == "paper" else 1.0
    assert mechanism(name).loss(split(network), 1.0) == pytest.approx(wanted)
