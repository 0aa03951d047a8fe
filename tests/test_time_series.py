"""Releases over a horizon: one draw, a promise at every used step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import gridveil as gv
import gridveil.repair.bench as bench_module
from gridveil.check.steps import compare_steps
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.grid.profile import Profile, base_profile, equally_spaced, scaled
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.manifest import Horizon
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release
from gridveil.repair.bounds import parameter_box
from gridveil.repair.cost_steps import steer
from gridveil.repair.projection import Cut, numbers, projection
from gridveil.repair.steer import shortest_step
from gridveil.repair.workshop import Workshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.codec import to_json, to_plain
from gridveil.wall.draw import Repair, Snapshot
from gridveil.wall.facts import FactKind, declared
from tests.conftest import charged
from tests.test_problem import check_derivatives
from tests.test_release import FixedNoise, Recording, bundle_bytes, two_secrets

PLAN = gv.Plan(1.0, 0.1, 0.01, steps=3, cost="declared")


def make(name: str, profile: Profile | None, plan: gv.Plan = PLAN, seed: int = 0) -> Release:
    return release(split(gv.load(name)), plan, noise=SeededNoise(seed), workshop=Workshop, profile=profile)


@pytest.mark.parametrize(("name", "alpha"), [("case14", 0.1), ("case5", 1.0)])
def test_one_step_is_the_single_release(name: str, alpha: float) -> None:
    plan = gv.Plan(1.0, alpha, 0.01, cost="declared")
    alone, one = make(name, None, plan), make(name, base_profile(gv.load(name).grid), plan)
    for part in ("g", "b", "bc"):
        assert np.array_equal(getattr(alone.lines, part), getattr(one.lines, part))
    assert [check.value for check in alone.certificate.checks] == [check.value for check in one.certificate.checks]
    assert alone.text == one.text.replace("%   Loads and operating point are those of step 1 of profile.csv.\n", "")


@pytest.mark.parametrize(
    ("name", "method", "alpha"), [("case14", "log", 1.0), ("case5", "additive", 1.0), ("case5", "paper", 0.1)]
)
def test_every_used_step_keeps_the_promise(name: str, method: str, alpha: float, tmp_path: Path) -> None:
    """Seen from outside: written, verified, and every used step solved anew against the original."""
    profile = gv.make_profile(name, 7, seed=1)
    made = make(name, profile, gv.Plan(1.0, alpha, 0.01, method, steps=3, cost="declared"))
    folder = made.write(tmp_path / "out")
    assert gv.verify(folder).passed
    assert made.manifest.horizon == Horizon(1, 7, [1, 4, 7], 1, 4)
    compared = compare_steps(gv.load(name), folder)
    assert [one.step for one in compared if one.used] == [1, 4, 7]
    for one in compared:
        if one.used:
            assert one.away is not None
            assert abs(one.away) <= 0.01
    kinds = {(check.kind, check.step) for check in made.certificate.checks}
    assert {("balance", 4), ("limits", 7), ("cost", 1)} <= kinds
    assert [one.step for one in made.certificate.unused] == [2, 3, 5, 6]


def test_projection_and_cuts_over_steps() -> None:
    """This draw is projected for some steps and cut for others; every step keeps its promise all the same."""
    made = make("case5", gv.make_profile("case5", 4, seed=1), gv.Plan(1.0, 1.0, 0.01, cost="declared"), seed=4)
    assert made.manifest.repair.path == "projected"
    assert made.manifest.repair.cuts > 0
    assert made.certificate.passed


def test_order_of_steps_has_no_influence() -> None:
    profile = gv.make_profile("case5", 4, seed=1)
    order = [2, 0, 3, 1]
    plan = gv.Plan(1.0, 1.0, 0.01)
    one = make("case5", profile, plan)
    two = make("case5", Profile(profile.step, profile.pd[order], profile.qd[order]), plan)
    for part in ("g", "b", "bc"):
        assert np.array_equal(getattr(one.lines, part), getattr(two.lines, part))
    assert [two.points[at].cost for at in np.argsort(order)] == [point.cost for point in one.points]


def test_equal_steps_count_once() -> None:
    grid = gv.load("case5").grid
    plan = gv.Plan(1.0, 1.0, 0.01)
    one, many = make("case5", scaled(grid, np.ones(1)), plan), make("case5", scaled(grid, np.ones(4)), plan)
    assert np.array_equal(one.lines.g, many.lines.g)
    assert len(many.points) == 4


def test_shuffled_rows_give_the_same_bundle(tmp_path: Path) -> None:
    from gridveil.casefile.profile import profile_text

    network = gv.load("case5")
    head, *rows = profile_text(network.grid, gv.make_profile(network, 4)).splitlines()
    bundles = []
    for name, lines in (("a", rows), ("b", rows[::-1])):
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join([head, *lines]))
        bundles.append(bundle_bytes(make("case5", gv.read_profile(path, network)).write(tmp_path / name)))
    assert bundles[0] == bundles[1]


@pytest.mark.parametrize("mechanism_name", ["log", "additive", "paper"])
def test_non_interference_over_steps(tmp_path: Path, mechanism_name: str) -> None:
    """Two secrets, the same noisy values and published costs: every byte of the bundle is the same.

    The unused step's cost differs between the two and is not public, so it must show nowhere.
    """
    profile = gv.make_profile("case14", 3)
    network = gv.load("case14")
    costs = [gv.solve_opf(network, gv.Demand(profile.pd[i], profile.qd[i])).cost for i in (0, 2)]
    plan = gv.Plan(1.0, 0.1, 0.05, mechanism_name, published_cost=costs, steps=2)
    recorded = Recording(5)
    release(split(network), plan, noise=recorded, workshop=Workshop, profile=profile)
    made = []
    for number, secret in enumerate(two_secrets("case14")):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        result = release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop, profile=profile)
        made.append(bundle_bytes(result.write(tmp_path / f"out{number}")))
    assert made[0] == made[1]
    louder = replace(plan, declare_unused=True)
    texts = [
        to_json(release(split(secret), louder, noise=FixedNoise(recorded.outcomes), workshop=Workshop, ledger=gv.Ledger.open(tmp_path / f"{k}.db"), profile=profile).manifest)
        for k, secret in enumerate(two_secrets("case14"))
    ]  # fmt: skip
    assert "unused_cost" in texts[0]  # on request it is public, and the test above can tell
    assert texts[0] != texts[1]


def test_privacy_does_not_depend_on_the_steps(tmp_path: Path) -> None:
    losses = []
    for steps in (1, 3, 5):
        book = gv.Ledger.open(tmp_path / f"{steps}.db")
        plan = gv.Plan(0.7, 0.1, 0.01, "paper", steps=steps, cost="declared")
        made = release(split(gv.load("case5")), plan, book, workshop=Workshop, profile=gv.make_profile("case5", 5))
        losses.append(made.manifest.privacy.loss)
        assert [one.step for one in made.costs] == (1 + equally_spaced(5, steps)).tolist()
        assert len(charged(book)) == 1
    assert losses[0] == losses[1] == losses[2]


def test_an_infeasible_step_is_named_and_nothing_is_charged(tmp_path: Path) -> None:
    grid = gv.load("case5").grid
    book = gv.Ledger.open(tmp_path / "l.db")
    unused = gv.Plan(1.0, 0.1, 0.01, steps=2, cost="declared", declare_unused=True)
    for plan in (PLAN, unused):
        with pytest.raises(ReleaseError, match=r"no optimal power flow at step 2 \(infeasible\); nothing was charged"):
            release(split(gv.load("case5")), plan, book, profile=scaled(grid, np.array([1.0, 9.0, 1.0])))
    dear = gv.Plan(1.0, 0.1, 0.01, published_cost=(17550.0, 9e4, 17550.0))
    with pytest.raises(ReleaseError, match="at step 2"):  # published costs or not
        release(split(gv.load("case5")), dear, book, profile=scaled(grid, np.array([1.0, 9.0, 1.0])))
    with pytest.raises(ReleaseError, match="dispatch cost of step 2 is zero"):
        release(split(gv.load("case5")), PLAN, book, profile=scaled(grid, np.array([1.0, 0.0, 1.0])))
    assert not charged(book)
    with pytest.raises(ReleaseError, match="14 buses, the network 5"):
        make("case5", gv.make_profile("case14", 3))


def _coupled() -> tuple[list[Snapshot], Network]:
    network = gv.load("case5")
    profile = gv.make_profile(network, 3)
    truth = Truth(split(network), profile, [0, 1, 2])
    pairs = zip(truth.declare(FactKind.COST), truth.declare(FactKind.LOSSES), strict=True)
    return [
        Snapshot(profile.pd[i], profile.qd[i], cost.value, i + 1, cost.slack, lost.value)
        for i, (cost, lost) in enumerate(pairs)
    ], network


def test_coupled_derivatives_against_finite_differences() -> None:
    facts, network = _coupled()
    noisy = mechanism("log").perturb(split(network), 1.0, 0.1, SeededNoise(0))
    box = parameter_box(network.grid, noisy, 50.0)
    random = np.random.Generator(np.random.PCG64(0))
    program = projection(network.grid, box, facts, [Cut(random.normal(size=len(box.target)), 0.0)], True)
    check_derivatives(program.problem, program.problem.evaluator(numbers(program, box)), seed=1)


def test_the_pattern_grows_linearly() -> None:
    """Snapshots share the parameters and nothing else: variables, rows and nonzeros are affine in their number."""
    facts, network = _coupled()
    noisy = mechanism("log").perturb(split(network), 1.0, 0.1, SeededNoise(0))
    box = parameter_box(network.grid, noisy, 50.0)
    sizes = []
    for r in (1, 2, 3):
        problem = projection(network.grid, box, facts[:r], [], False).problem
        sizes.append([problem.n_variable, problem.n_constraint, len(problem.jacobian_rows), len(problem.hessian_rows)])
    assert np.array_equal(np.diff(sizes, axis=0)[0], np.diff(sizes, axis=0)[1])


def test_golden_run_over_steps() -> None:
    """Seed 1 on 14 buses with `log`, α = 0.01: as drawn, so the lines are those of the single release."""
    made = make("case14", gv.make_profile("case14", 5), gv.Plan(1.0, 0.01, 0.01, steps=3, cost="declared"), seed=1)
    r, x = made.lines.impedance()
    assert (r[0], x[0], made.lines.bc[0]) == pytest.approx((0.0192633352, 0.0592237522, 0.0538074978), rel=1e-8)
    assert [point.cost for point in made.points] == pytest.approx(GOLDEN_COSTS, rel=1e-6)


GOLDEN_COSTS = (1893.142577, 2109.452499, 1914.784445)


def test_verify_rejects_other_steps(tmp_path: Path) -> None:
    folder = make("case14", gv.make_profile("case14", 5)).write(tmp_path / "b")
    assert gv.verify(folder).passed
    record = json.loads((folder / "manifest.json").read_text())

    def spoiled(**change: object) -> tuple[str, ...]:
        (folder / "manifest.json").write_text(to_json({**record, **change}))
        failed = gv.verify(folder).failed
        assert not any("not written as" in name for name in failed)
        return failed

    assert any("no release has" in name for name in spoiled(horizon={**record["horizon"], "used": [1, 2, 3]}))
    assert any("no release has" in name for name in spoiled(horizon=None))
    costs = record["public_inputs"]
    other = [costs[0], costs[1], {**costs[2], "step": 9}]
    assert any("no release has" in name for name in spoiled(public_inputs=other))
    dear = declared(FactKind.COST, 3, 1.05 * costs[1]["value"])
    failed = spoiled(public_inputs=[costs[0], to_plain(dear), costs[2]])
    assert "cost, re-optimised, away from the public cost (relative), step 3" in failed
    assert not any(name.startswith("cost") and name.endswith(("step 1", "step 5")) for name in failed)
    text = (folder / "profile.csv").read_text()
    (folder / "profile.csv").write_text(text.replace("\n3,2,", "\n3,2,1", 1))
    assert any("digest" in name for name in spoiled())


def test_losses_over_steps() -> None:
    for cost, source in (("declared", "declared"), ("private", "derived")):
        plan = gv.Plan(1.0, 0.3, 0.01, loss_within=1.3, cost=cost)
        made = make("case14", gv.make_profile("case14", 3), plan)
        assert sum(check.kind == "losses" for check in made.certificate.checks) == 3
        lost = [one for one in made.manifest.public_inputs if one.kind is FactKind.LOSSES]
        assert [(one.step, one.source) for one in lost] == [(1, source), (2, source), (3, source)]


def test_command_line_with_a_profile(tmp_path: Path) -> None:
    run = CliRunner().invoke
    profile = tmp_path / "p.csv"
    assert run(app, ["profile", "case5", "--steps", "6", "--rule", "sine", "--out", str(profile)]).exit_code == 0
    assert run(app, ["profile", "case5", "--out", str(profile)]).exit_code == 2  # exists
    common = ["release", "case5", "--profile", str(profile), "--research", "--seed", "1", "--cost", "declared"]
    done = run(app, [*common, "--steps", "2", "--declare-unused", "--json", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["manifest"]["horizon"]["used"] == [1, 6]
    assert [one["step"] for one in record["unused_steps"]] == [2, 3, 4, 5]
    assert all(one["away"] is not None for one in record["unused_steps"])
    checked = run(app, ["verify", str(tmp_path / "out"), "--against", "case5", "--json"])
    assert checked.exit_code == 7, checked.output
    verified = json.loads(checked.stdout)
    assert "INTERNAL" in verified["stamp"]
    assert len(verified["steps"]) == 6
    assert verified["unused_steps"] == record["unused_steps"]
    table = run(app, ["verify", str(tmp_path / "out"), "--against", "case5"])
    assert "worst of 2 steps" in table.stdout
    assert "INTERNAL" in table.stdout
    for steps in ("7", "0"):
        refused = run(app, [*common, "--steps", steps, "--out", str(tmp_path / "no")])
        assert refused.exit_code == 2
        assert "steps" in refused.stderr
    assert run(app, ["release", "case5", "--steps", "2", "--research", "--out", str(tmp_path / "no")]).exit_code == 2
    options = ["--steps", "3", "--cost", "declared", "--declare-unused", "--loss-within", "1.5", "--dry-run", "--json"]
    dry = json.loads(run(app, ["release", "case5", "--profile", str(profile), *options]).stdout)
    assert (dry["public_costs"], dry["public_costs_of_unused_steps"], dry["public_losses"]) == (3, 3, 3)


def test_the_repair_sees_used_steps_only() -> None:
    """The cost of an unused step is secret: it never crosses the wall."""
    seen: list[int] = []

    class Watching(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            seen.extend(one.step for one in snapshots)
            return super().repair(snapshots, patient=patient)

    release(split(gv.load("case5")), PLAN, noise=SeededNoise(0), workshop=Watching, profile=gv.make_profile("case5", 7))
    assert seen == [1, 4, 7]


@given(st.integers(0, 10_000))
def test_the_shortest_step_is_feasible_and_no_longer_than_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, weight = random.normal(size=(4, 9)), random.uniform(0.5, 2, 9)
    inner = random.normal(size=9)  # some step that does it
    right = rows @ inner - random.uniform(0, 1, 4)
    free = np.full(9, np.inf)
    step = shortest_step(rows, right, weight, -free, free)
    assert step is not None
    assert np.all(rows @ step >= right - 1e-7)
    assert weight @ step**2 <= weight @ inner**2 + 1e-9
    low, high = np.minimum(inner, 0) - 0.1, np.maximum(inner, 0) + 0.1
    low[0] = high[0] = 0.0
    boxed = shortest_step(rows[:, 1:], right - rows[:, 0] * 0.0, weight[1:], low[1:], high[1:])
    if boxed is not None:
        assert np.all(rows[:, 1:] @ boxed >= right - 1e-6)
        assert np.all((boxed >= low[1:]) & (boxed <= high[1:]))
    assert shortest_step(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]), np.ones(1), -free[:1], free[:1]) is None


def test_steering_where_cuts_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one round of cuts only, this draw's steps are too cheap and too dear at once."""
    monkeypatch.setattr(bench_module, "MOST_ROUNDS", 1)
    steered = []

    def watched(*arguments: Any) -> Any:
        steered.append(steer(*arguments))
        return steered[-1]

    monkeypatch.setattr(bench_module, "steer", watched)
    made = make("case5", gv.make_profile("case5", 4, seed=1), gv.Plan(1.0, 1.0, 0.01, cost="declared"), seed=3)
    assert made.certificate.passed
    assert steered[-1] is not None


def test_a_shape_that_no_network_has_gives_way_to_one_that_there_is() -> None:
    """Four steps on five buses at alpha = 1: near this draw no network has costs that differ between the steps as the
    noisy network's do. How they differ is known from noisy values alone, so that another's will do."""
    network = gv.load("case5")
    made = release(
        split(network), gv.Plan(1.0, 1.0, 0.01, "log"), noise=SeededNoise(4), workshop=Workshop,
        profile=gv.make_profile(network, 4),
    )  # fmt: skip
    assert made.certificate.passed and len(made.certificate.used) == 4
