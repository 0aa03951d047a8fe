"""Facts beside the noise: what the dispatch cost costs, by which source, and audits of whole releases that look at it."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from typer.testing import CliRunner

import gridveil as gv
from gridveil.check.exposure import Exposure, exposure
from gridveil.cli.main import app
from gridveil.errors import GridError, PrivacyError, ReleaseError, RepairFailed
from gridveil.grid import LineParameters, Network
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.grid.cost import CostCurves
from gridveil.grid.profile import base_profile, scaled
from gridveil.grid.ratings import bound_size
from gridveil.privacy.noise import SeededNoise
from gridveil.publish import behind
from gridveil.publish.costs import aimed_costs, fused, nearer, worth_asking
from gridveil.publish.describe import statement
from gridveil.publish.manifest import schema
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release
from gridveil.repair.shrinkage import shrink, shrink_lines
from gridveil.repair.workshop import Workshop
from gridveil.report.public import public_report
from gridveil.sealed.facts import Truth
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.codec import to_json
from gridveil.wall.draw import Estimate
from gridveil.wall.facts import HIGHEST, Fact, FactKind, Source, cost_interval, private_surcharge
from tests.conftest import Bend, charged
from tests.release_audit import Pair, audit, is_adjacent, neighbours, pairs_within, surcharge
from tests.test_release import FixedNoise, Recording, bundle_bytes, two_secrets

SOURCES = ("private", "derived", "declared", "published")


def make(name: str, source: str, alpha: float = 0.1, seed: int = 0, **more: Any) -> Release:
    network = gv.load(name)
    cost = gv.solve_opf(network).require().cost if source == "published" else None
    plan = gv.Plan(1.0, alpha, 0.01, cost=source, published_cost=cost, **more)
    return release(split(network), plan, noise=SeededNoise(seed), workshop=Workshop)


# ---- the copper plate ----


def test_the_merit_order_is_the_linear_program() -> None:
    """On linear costs: the same as HiGHS, within 1e-9."""
    for name in ("case5", "case39", "case118"):
        grid = gv.load(name).grid
        linear = replace(grid.cost_p, polynomial=grid.cost_p.polynomial[:, :2])
        flat, demand = replace(grid, cost_p=linear), float(grid.buses.pd.sum())
        bounds = list(zip(grid.generators.pmin, grid.generators.pmax, strict=True))
        best = linprog(linear.polynomial[:, 1], A_eq=np.ones((1, grid.n_generator)), b_eq=[demand], bounds=bounds)
        assert copper_plate_cost(flat, demand) == pytest.approx(best.fun + linear.polynomial[:, 0].sum(), rel=1e-9)


def test_the_merit_order_bounds_the_optimum_and_piecewise_costs_agree(tiny: Bend) -> None:
    for name in ("case3", "case14", "case30", "case57"):
        network = gv.load(name)
        plate = copper_plate_cost(network.grid, float(network.grid.buses.pd.sum()))
        assert plate < gv.solve_opf(network).cost
    cost = "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;"
    points = "	1	0	0	3	0	0	50	500	200	9500;\n	1	0	0	2	0	0	110	2200	0	0;"
    grid = gv.load(tiny((cost, points))).grid
    # 150 MW: the first 50 at 10, then 80 of the second unit at 20, the last 20 at 60
    assert copper_plate_cost(grid, 1.5) == pytest.approx(500 + 1600 + 20 * 60, rel=1e-9)
    with pytest.raises(GridError, match="no dispatch, with or without a network"):
        copper_plate_cost(grid, 9.0)


# ---- the query ----


def test_the_surcharge_is_clamped_and_always_defined() -> None:
    network = gv.load("case5")
    steps = scaled(network.grid, np.array([1.0, 0.9]))
    assert surcharge(network) == pytest.approx(log(17551.89 / 14810.0), rel=1e-5)
    dark = Network(network.grid, LineParameters(0.01 * network.lines.g, 0.01 * network.lines.b, network.lines.bc))
    assert gv.solve_opf(dark).status != "optimal"
    assert surcharge(dark) == HIGHEST
    assert 0 < surcharge(network, steps) < HIGHEST
    mean = np.mean([surcharge(network), surcharge(network, scaled(network.grid, np.array([0.9])))])
    assert surcharge(network, steps) == pytest.approx(mean)


def test_the_answer_has_the_noise_it_states() -> None:
    truth = Truth(split(gv.load("case5")), base_profile(gv.load("case5").grid), [0])
    noise, true = SeededNoise(3), surcharge(gv.load("case5"))
    answers = [truth.ask_surcharge([14810.0], 0.2, 0.0025, noise) for _ in range(4000)]
    errors = np.array([one.value for one in answers]) - true
    assert np.mean(np.abs(errors)) == pytest.approx(0.0125, rel=0.06)
    inside = np.mean([one.low <= true <= one.high for one in answers if one.low is not None and one.high is not None])
    assert inside == pytest.approx(0.95, abs=0.01)
    assert answers[0] == private_surcharge(answers[0].value, 0.2, 0.0025)


def test_where_nothing_has_the_fused_cost_the_aim_moves_towards_the_draw(tmp_path: Path) -> None:
    """The answer's noise has tails: on 39 buses, α = 30 %, one budget in 2,000 was lost to them."""
    far = Estimate(0.05, 0.05, 0.05, (0.04, 0.08), None)
    answer = private_surcharge(0.02, 0.2, 0.0025)
    first = fused(far, answer)
    half, whole, farthest = nearer(first, far, answer)
    assert half == pytest.approx((first + 0.06) / 2)
    assert whole == pytest.approx(0.02 + 3 * 0.0125)  # no farther than the answer's noise goes nineteen times in twenty
    assert farthest == pytest.approx(0.06)  # at last, as far as it goes but for once in 22,000
    assert nearer(first, replace(far, shape=(0.5, 0.5)), answer)[-1] == pytest.approx(0.02 + 10 * 0.0125)
    assert nearer(first, replace(far, shape=None), answer) == []

    class Hard(Workshop):
        """Finds nothing at the first cost it is asked for."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.asked = list[float]()

        def repair(self, snapshots: Any, *, patient: bool = True) -> Any:
            self.asked.append(snapshots[0].cost)
            if self.asked[-1] == self.asked[0]:
                raise RepairFailed("nothing is so cheap")
            return super().repair(snapshots, patient=patient)

    shops = list[Hard]()

    def shop(*given: Any) -> Hard:
        shops.append(Hard(*given))
        return shops[0]

    book = gv.Ledger.open(tmp_path / "ledger.db")
    made = release(split(gv.load("case30")), gv.Plan(1.0, 0.1, 0.01), book, workshop=shop)
    made.write(tmp_path / "out")
    assert gv.verify(tmp_path / "out").passed
    assert made.costs[0].value == shops[0].asked[-1] != shops[0].asked[0]
    assert len(charged(book)) == 2  # lines and cost, each drawn once


def test_fusion() -> None:
    sure = Estimate(0.05, 0.06, 0.001, (0.05, 0.05), None)
    unsure = replace(sure, spread=0.1)
    answer = private_surcharge(0.08, 0.2, 0.0025)
    assert not worth_asking(sure, 0.0125) and worth_asking(unsure, 0.0125)
    assert worth_asking(Estimate(None, None, float("inf"), None, None), 0.0125)
    assert fused(sure, None) == pytest.approx(0.055)
    assert fused(unsure, answer) == pytest.approx(0.08, abs=0.002)
    assert fused(replace(sure, own=0.5, shrunk=0.5), answer) == pytest.approx(
        0.08 + 3 * 0.0125
    )  # never too far from it
    assert fused(replace(sure, own=-0.2, shrunk=-0.2), None) == 0.005
    tilted = replace(sure, shape=(0.04, 0.06))
    costs = aimed_costs([1, 2], [100.0, 200.0], tilted, None, 0.08)
    assert [one.value for one in costs] == pytest.approx(
        [100 * exp(0.07), 200 * exp(0.09)]
    )  # its own shape, another level


@pytest.mark.parametrize("source", SOURCES)
def test_sources(source: str, tmp_path: Path) -> None:
    """What is spent, what ε is conditional on, and that anyone can verify it."""
    made = make("case30", source)
    privacy, cost = made.manifest.privacy, made.costs[0]
    assert gv.verify(made.write(tmp_path / "out")).passed
    conditional = source in ("declared", "published")
    assert bool(privacy.given) is conditional
    said = statement(privacy.parts, made.manifest.public_inputs, dispatch=source != "derived")
    assert ("holds only among networks that share" in said) is conditional
    assert privacy.statement == "Nothing is claimed: the noise can be taken off again by whoever knows the seed."
    assert (privacy.parts.cost is not None) is (source == "private")
    assert privacy.parts.lines.epsilon == (0.8 if source == "private" else 1.0)
    assert cost.source == source
    assert ("moves the dispatch cost" in " ".join(made.manifest.not_protected)) is (source == "private")
    assert ("has an optimal power flow" in " ".join(made.manifest.not_protected)) is (source != "derived")
    if source == "private":
        answer = made.manifest.public_inputs[0]
        assert (answer.kind, answer.epsilon, answer.sensitivity) == ("surcharge", 0.2, 0.0025)
        assert answer.scale == pytest.approx(0.0125)
        assert cost.low is not None and cost.high is not None and cost.low < cost.value < cost.high
        assert "0.8*d/0.1 + 0.2*D/0.0025" in said
    assert (made.certificate.truth is not None) is (source == "private")
    assert gv.verify(tmp_path / "out").truth == made.certificate.truth


def test_what_is_not_needed_is_not_asked_and_not_charged(tmp_path: Path) -> None:
    """39 buses at α = 10 %: the noisy lines tell the cost to 0.1 %, so that a fifth of ε stays unspent."""
    book = gv.Ledger.open(tmp_path / "l.db")
    made = release(split(gv.load("case39")), gv.Plan(1.0, 0.1, 0.01), book, workshop=Workshop)
    assert made.manifest.privacy.loss == 0.8
    assert made.manifest.privacy.parts.cost is not None and not made.manifest.privacy.parts.cost.asked
    assert made.costs[0].source is Source.DERIVED
    assert charged(book) == [0.8]
    book = gv.Ledger.open(tmp_path / "other.db")
    asked = release(split(gv.load("case30")), gv.Plan(1.0, 0.1, 0.01), book, workshop=Workshop)
    assert asked.manifest.privacy.loss == 1.0
    entries = [entry for entry in book.entries() if entry.kind == "charge"]
    units = [(entry.details["loss"], entry.details["unit"]) for entry in entries]
    assert units == [(0.8, "relative"), (0.2, "surcharge")]
    assert asked.manifest.privacy.ledger_entries == [entry.number for entry in entries]
    plan = gv.Plan(1.0, 0.1, 0.01, cost_sensitivity=0.005)
    again = release(split(gv.load("case30")), plan, book, workshop=Workshop, confirmed=True)
    # the first answer, for changes up to 0.25 %, costs twice as much for changes up to 0.5 %
    assert again.manifest.privacy.cumulative_loss == pytest.approx(0.8 + 0.2 * 2 + 0.8 + 0.2)
    reaches = {one.mechanism: one.alpha for one in again.manifest.privacy.cumulative_within or []}
    assert reaches == {"log": 0.1, "cost": 0.005}


def test_a_limit_leaves_room_for_the_answer(tmp_path: Path) -> None:
    book = gv.Ledger.open(tmp_path / "l.db")
    network = split(gv.load("case30"))
    book.set_limit(None, 0.9)
    with pytest.raises(PrivacyError, match="would cost 1"):
        release(network, gv.Plan(1.0, 0.1, 0.01), book, workshop=Workshop)
    assert charged(book) == []


def test_conditions_of_earlier_releases_stay(tmp_path: Path) -> None:
    """A declared cost told some networks apart for certain; no later release of the network may forget it."""
    book, network = gv.Ledger.open(tmp_path / "l.db"), split(gv.load("case14"))
    release(network, gv.Plan(1.0, 0.1, 0.01, cost="declared"), book, workshop=Workshop)
    later = release(network, gv.Plan(1.0, 0.1, 0.01, cost="derived"), book, workshop=Workshop)
    privacy = later.manifest.privacy
    assert privacy.given == []
    assert privacy.given_before == [
        "optimal dispatch cost, declared to 4 digits, without noise",
        "an optimal power flow at every used step",
    ]
    assert "share also: optimal dispatch cost, declared to 4 digits" in privacy.statement
    assert "what earlier releases stated: optimal dispatch cost" in public_report(later)
    assert gv.verify(later.write(tmp_path / "out")).passed
    book = gv.Ledger.open(tmp_path / "other.db")
    asked = release(split(gv.load("case30")), gv.Plan(1.0, 0.1, 0.01), book, workshop=Workshop)
    after = release(split(gv.load("case30")), gv.Plan(1.0, 0.1, 0.01, cost="derived"), book, workshop=Workshop)
    assert asked.manifest.privacy.given_before == []
    assert any("bottlenecks" in one and "earlier release" in one for one in after.manifest.not_protected)


def test_intervals_at_the_ends_of_the_clamp() -> None:
    """A network fed by its shunts may cost less than the copper plate: below it nothing is claimed."""
    low = private_surcharge(-0.05, 0.2, 0.0025)
    assert low.low == 0.0 and low.high is not None and low.high > 0
    assert cost_interval(low, 1000.0)[0] is None
    assert cost_interval(low, 1000.0)[1] == pytest.approx(1000 * exp(low.high))
    high = private_surcharge(0.6, 0.2, 0.0025)
    assert high.high == HIGHEST and high.low is not None and high.low < HIGHEST
    assert cost_interval(high, 1000.0)[1] is None
    middle = cost_interval(private_surcharge(0.2, 0.2, 0.0025), 1000.0)
    assert middle[0] is not None and middle[1] is not None and middle[0] < 1000 * exp(0.2) < middle[1]


def test_whatever_fails_after_a_charge_says_what_is_spent(tmp_path: Path) -> None:
    class Broken(Workshop):
        def estimate(self, *_: Any, **__: Any) -> Estimate:
            raise ValueError("a bug")

    book = gv.Ledger.open(tmp_path / "l.db")
    with pytest.raises(
        ReleaseError, match=r"internal failure, ValueError in test_facts.*spent all the same: .* loss 0\.8"
    ):
        release(split(gv.load("case14")), gv.Plan(1.0, 0.1, 0.01), book, workshop=Broken)
    assert charged(book) == [0.8]


def test_derived_never_solves_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the original was solved")

    monkeypatch.setattr(Truth, "_optima", property(never))
    assert make("case14", "derived").certificate.passed


def test_derived_and_private_where_nothing_is_feasible() -> None:
    """α = 300 % on 5 buses: some draws have no dispatch, and get one all the same."""
    for seed in range(4):
        assert make("case5", "derived", 3.0, seed).certificate.passed
        assert make("case5", "private", 3.0, seed).certificate.passed


# ---- nothing after the noise depends on the secret ----


@pytest.mark.parametrize("source", ["private", "derived"])
@pytest.mark.parametrize(("name", "alpha"), [("case14", 0.1), ("case5", 1.0)])
def test_non_interference(tmp_path: Path, source: str, name: str, alpha: float) -> None:
    """Two secrets of different cost, the same noisy values and the same answer: every byte is the same."""
    recorded = Recording(5)
    plan = gv.Plan(1.0, alpha, 0.05, cost=source)
    release(split(gv.load(name)), plan, noise=recorded, workshop=Workshop)
    assert len(recorded.outcomes) == (2 if (source, name) == ("private", "case5") else 1)
    bundles = []
    for number, secret in enumerate(two_secrets(name)):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        made = release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop)
        bundles.append(bundle_bytes(made.write(tmp_path / f"out{number}")))
    assert bundles[0] == bundles[1]


def test_non_interference_sees_an_exact_cost(tmp_path: Path) -> None:
    """The same comparison with a declared cost finds the difference."""
    recorded = Recording(5)
    plan = gv.Plan(1.0, 0.1, 0.3, cost="declared")
    release(split(gv.load("case14")), plan, noise=recorded, workshop=Workshop)
    texts = [
        release(
            split(one), plan, gv.Ledger.open(tmp_path / f"{k}.db"), FixedNoise(recorded.outcomes), Workshop
        ).manifest
        for k, one in enumerate(two_secrets("case14"))
    ]
    assert texts[0] != texts[1]


def test_unattended_says_nothing_of_a_network_without_a_dispatch(tmp_path: Path) -> None:
    """An infeasible secret is released like any other, byte for byte; attended, the operator is told."""
    network = gv.load("case5")
    dark = Network(network.grid, LineParameters(0.01 * network.lines.g, 0.01 * network.lines.b, network.lines.bc))
    plan = gv.Plan(1.0, 0.1, 0.05, unattended=True)
    recorded = Recording(0)
    release(split(network), plan, noise=recorded, workshop=Workshop)
    bundles = []
    for number, secret in enumerate((network, dark)):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        made = release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop)
        bundles.append(bundle_bytes(made.write(tmp_path / f"out{number}")))
        assert gv.verify(tmp_path / f"out{number}").passed
    assert bundles[0] == bundles[1]
    with pytest.raises(ReleaseError, match="no optimal power flow"):
        release(split(dark), replace(plan, unattended=False), noise=SeededNoise(0), workshop=Workshop)


def test_bad_input_is_refused_before_a_charge(tmp_path: Path, tiny: Bend) -> None:
    book = gv.Ledger.open(tmp_path / "l.db")
    free = gv.load(
        tiny(
            (
                "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;",
                "	2	0	0	3	0	0	0;\n	2	0	0	3	0	0	0;",
            )
        )
    )
    with pytest.raises(ReleaseError, match=r"would cost nothing .*Nothing was charged"):
        release(split(free), gv.Plan(1.0, 0.1, 0.01), book)
    steps = scaled(gv.load("case5").grid, np.array([1.0, 9.0]))
    with pytest.raises(ReleaseError, match=r"there is no dispatch.*nothing was charged"):
        release(split(gv.load("case5")), gv.Plan(1.0, 0.1, 0.01), book, profile=steps)
    two = gv.Plan(1.0, 0.1, 0.01, published_cost=(1.0, 2.0), steps=1)
    with pytest.raises(ReleaseError, match="2 published costs for 1 used steps"):
        release(split(gv.load("case5")), two, book, profile=steps)
    assert charged(book) == []


# ---- forged facts ----


@pytest.fixture(scope="module")
def private_record(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = make("case30", "private").write(tmp_path_factory.mktemp("facts") / "out")
    return folder, (folder / "manifest.json").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["public_inputs"][0].update(value=m["public_inputs"][0]["value"] + 0.2),
        lambda m: m["public_inputs"][0].update(epsilon=0.02),
        lambda m: m["public_inputs"][0].update(scale=0.001, low=0.1, high=0.2),
        lambda m: m["public_inputs"][1].update(low=1.0, high=2.0),
        lambda m: m["public_inputs"][1].update(source="derived"),
        lambda m: m["public_inputs"][1].update(source="published"),
        lambda m: m["public_inputs"].pop(0),
        lambda m: m["privacy"]["parts"].update(cost=None),
        lambda m: m["privacy"]["parts"]["cost"].update(asked=False, loss=None),
        lambda m: m["privacy"]["parts"]["cost"].update(reach=0.01),
        lambda m: m["privacy"].update(given=["nothing"]),
        lambda m: m.update(not_protected=[one for one in m["not_protected"] if "bottleneck" not in one]),
        lambda m: m.update(attended=False),
    ],
)
def test_forged_facts_are_found(private_record: tuple[Path, str], change: Any) -> None:
    folder, text = private_record
    record = json.loads(text)
    change(record)
    try:
        (folder / "manifest.json").write_text(to_json(record))
        verdict = gv.verify(folder)
        assert not verdict.passed and not any("not written as" in name for name in verdict.failed)
    finally:
        (folder / "manifest.json").write_text(text)
    assert gv.verify(folder).passed


def test_the_schema_is_the_type() -> None:
    text = json.dumps(schema())
    for word in ("parts", "given", "statement", "public_inputs", "sensitivity", "additionalProperties"):
        assert word in text


# ---- shrinkage ----


@given(st.integers(0, 10_000), st.floats(0.05, 2.0))
def test_shrinkage_keeps_order_and_never_overshoots(seed: int, noise: float) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=40) + random.laplace(scale=noise, size=40)
    guess, weight = shrink(values, 2 * noise**2, np.ones((40, 1)))
    assert np.all((weight > 0) & (weight <= 1))
    assert np.all(np.abs(guess - values.mean()) <= np.abs(values - values.mean()) + 1e-12)
    assert np.array_equal(np.argsort(guess), np.argsort(values))


@pytest.mark.parametrize("method", ["log", "additive", "paper"])
def test_shrunk_lines_are_nearer_and_keep_what_is_public(method: str) -> None:
    network = gv.load("case118")
    errors = []
    for seed in range(3):
        noisy = mechanism(method).perturb(split(network), 1.0, 1.0, SeededNoise(seed))
        lines = shrink_lines(network.grid, noisy).lines
        assert np.all(np.sign(lines.g) == np.sign(network.lines.g))
        for group in np.unique(noisy.group):
            assert np.ptp(lines.b[noisy.group == group]) <= 1e-9 * np.abs(lines.b).max()
        true = network.lines.impedance()[1]
        errors.append([np.median(np.abs(one.impedance()[1] / true - 1)) for one in (noisy.lines, lines)])
    assert np.mean(errors, axis=0)[1] < np.mean(errors, axis=0)[0]


def test_ratings_made_of_impedances_are_read() -> None:
    """On 57 buses nine ratings in ten are the bound at 15 degrees: most of the noise on |z| can be taken off."""
    network = gv.load("case57")
    r, x = network.lines.impedance()
    size = np.hypot(r, x)
    told = bound_size(network.grid, np.full(network.grid.n_line, np.deg2rad(15.0)))
    assert np.median(np.abs(told - np.log(size))) < 0.01
    errors = []
    for seed in range(8):
        noisy = mechanism("log").perturb(split(network), 1.0, 0.2, SeededNoise(seed))
        both = noisy.lines, shrink_lines(network.grid, noisy).lines
        errors.append([np.median(np.abs(np.hypot(*one.impedance()) / size - 1)) for one in both])
    assert np.mean(errors, axis=0)[1] < 0.35 * np.mean(errors, axis=0)[0]


@pytest.mark.parametrize("target", ["drawn", "shrunk"])
def test_targets(target: str, tmp_path: Path) -> None:
    made = make("case39", "private", 1.0, seed=2, target=target)
    assert made.manifest.fidelity.target == target
    assert gv.verify(made.write(tmp_path / "out")).passed


# ---- exposure ----


def test_exposure_of_30_buses() -> None:
    """MECHANISM: 17 of 41 corridors move a declared cost; s = 0.25 % covers 88 %."""
    found = exposure(gv.load("case30"))
    assert (len(found.moved), found.declared) == (41, 17)
    assert found.covered(0.0025) == pytest.approx(0.878, abs=0.001)
    assert found.loss(0.0025, 0.2) > 1 > found.loss(0.0025, 0.2, 0.95)
    assert found.solved.all() and len(found.infeasible) == 0


def test_exposure_command(tmp_path: Path) -> None:
    run = CliRunner().invoke
    record = json.loads(run(app, ["exposure", "case5", "--json"]).stdout)
    assert "INTERNAL" in record["stamp"] and "disclosure" in record["warning"]
    assert record["covered"] == pytest.approx(1 / 6, abs=0.01)  # a third for longer lines alone
    assert {"worst_loss", "loss_95", "table", "bottlenecks", "infeasible"} <= set(record)
    text = " ".join(run(app, ["exposure", "case5"]).stdout.split())
    assert "disclosure" in text and "bottleneck: corridor" in text
    assert run(app, ["exposure", "case5", "--s", "2"]).exit_code == 2


# ---- audits of whole releases ----


def within() -> Pair:
    """3 buses: a pair that moves the cost by as much as s allows."""
    return pairs_within(gv.load("case3"), 0.1, 0.0025, 1)[0]


PLAN = gv.Plan(1.0, 0.1, 0.05)


def test_pairs_are_adjacent_by_the_packages_own_measure() -> None:
    for name in ("case3", "case5"):
        assert all(is_adjacent(one, 0.1) for one in neighbours(gv.load(name), 0.1))


@pytest.mark.parametrize("source", ["private", "derived"])
def test_default_path_keeps_its_claim(source: str) -> None:
    """Short, in every run; `benchmarks/audit.py` does it long, on twenty pairs."""
    assert max(audit(within(), replace(PLAN, cost=source), 60).values()) <= 1.0


@pytest.mark.parametrize("method", ["additive", "paper"])
def test_other_mechanisms_keep_their_claims(method: str) -> None:
    """The claim of `paper` is its true loss, and that of the answer."""
    network = gv.load("case5")
    pair = min(neighbours(network, 0.5, method), key=lambda one: one.moved)
    assert pair.moved <= 0.0025 and gv.distance(pair.one, pair.other, 0.5, method).total == pytest.approx(1.0)
    claim = mechanism(method).loss(split(network), 0.8) + 0.2
    assert max(audit(pair, gv.Plan(1.0, 0.5, 0.05, method), 40).values()) <= claim


def test_the_audit_sees_a_declared_cost() -> None:
    """The defect that this file is about: an exact, uncharged query beside the noise."""
    found = audit(within(), replace(PLAN, cost="declared"), 60, confidence=0.99)
    assert found["public cost"] > 1.0


def always_asked(estimate: Estimate, scale: float) -> bool:
    return True


def test_the_audit_finds_an_answer_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(
        self: Truth, plates: list[float], epsilon: float, sensitivity: float, noise: object, lowest: float
    ) -> Fact:
        return private_surcharge(self.surcharge(plates), epsilon, sensitivity)

    monkeypatch.setattr(Truth, "ask_surcharge", bare)
    monkeypatch.setattr(behind, "worth_asking", always_asked)
    assert audit(within(), PLAN, 60, confidence=0.99)["answer"] > 1.0


def test_the_audit_finds_a_sensitivity_from_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Truth.ask_surcharge

    def measured(
        self: Truth, plates: list[float], epsilon: float, sensitivity: float, noise: Any, lowest: float
    ) -> Fact:
        return honest(self, plates, epsilon, sensitivity * (1 + self.surcharge(plates)), noise)

    monkeypatch.setattr(Truth, "ask_surcharge", measured)
    monkeypatch.setattr(behind, "worth_asking", always_asked)
    assert audit(within(), PLAN, 60, confidence=0.99)["scale"] > 1.0


def test_the_audit_finds_a_flag_that_the_truth_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = within()
    middle = 0.5 * (surcharge(pair.one) + surcharge(pair.other))
    seen: list[float] = []
    honest = Truth.require_optima

    def watched(self: Truth) -> None:
        honest(self)
        seen.append(surcharge(self._network._open()))

    monkeypatch.setattr(Truth, "require_optima", watched)
    monkeypatch.setattr(behind, "worth_asking", lambda estimate, scale: seen[-1] > middle)
    assert audit(pair, PLAN, 60, confidence=0.99)["asked"] > 1.0


def test_the_audit_finds_a_step_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over two steps: the shape of the true costs instead of the noisy network's."""
    pair = within()
    profile = scaled(pair.one.grid, np.array([1.0, 0.8]))
    truths: list[Truth] = []
    honest, start = aimed_costs, Truth.__init__

    def remembered(self: Truth, *given: Any) -> None:
        start(self, *given)
        truths.append(self)

    def shaped(
        steps: Any, plates: Any, estimate: Estimate, answer: Fact | None, level: float, lowest: float
    ) -> tuple[Fact, ...]:
        true = [log(one.cost / plate) for one, plate in zip(truths[-2]._optima, plates, strict=True)]
        return honest(steps, plates, replace(estimate, shape=tuple(true)), answer, level)

    monkeypatch.setattr(Truth, "__init__", remembered)
    monkeypatch.setattr(behind, "aimed_costs", shaped)
    assert audit(pair, PLAN, 50, profile, confidence=0.95)["shape"] > 1.0


def test_a_pair_beyond_s_is_found_beyond_epsilon() -> None:
    """As it must: the answer protects D = s by ε_cost, and this corridor moves the cost by many times s."""
    network = gv.load("case5")
    pair = max(neighbours(network, 0.5), key=lambda one: one.moved)
    assert pair.moved > 50 * 0.0025
    assert audit(pair, replace(PLAN, alpha=0.5), 60, confidence=0.95)["answer"] > 1.0


def test_kinds_and_sources_have_words() -> None:
    from gridveil.wall.facts import KIND_WORDS

    assert set(KIND_WORDS) == set(FactKind)


def test_costs_and_base_are_public_too() -> None:
    """Networks that differ in what is public are told apart by it: their distance has no meaning."""
    network = gv.load("case5")
    grid = network.grid
    for other in (replace(grid, base_mva=50.0), replace(grid, cost_p=CostCurves.zero(grid.n_generator))):
        with pytest.raises(GridError, match="differ in public data"):
            gv.distance(network, gv.Network(other, network.lines))


def test_a_network_without_a_dispatch_has_no_exposure(tiny: Bend) -> None:
    with pytest.raises(ReleaseError, match="no optimal power flow"):
        exposure(gv.load(tiny(("	2	1	90	30", "	2	1	90	900"))))


def test_a_quantile_is_that_of_a_corridor() -> None:
    """For 95 % of six corridors at most: the loss of the worst, not one between two of them."""
    moved = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.9])
    found = Exposure(0.1, 0.0, moved, np.ones(6, bool), np.zeros(0, np.int64), ((1, 2),) * 6, 0)
    assert found.loss(0.1, 0.2, 0.95) == pytest.approx(1.8)


def test_lists_that_declare_nothing_are_refused() -> None:
    with pytest.raises(ReleaseError, match="is empty"):
        gv.Plan(1.0, 0.1, 0.01, published_cost=[])
    assert gv.Plan(1.0, 0.1, 0.01, published_cost=np.array([1.0, 2.0])).published_costs == (1.0, 2.0)
    declared = gv.Plan(1.0, 0.1, 0.01, cost="declared", declare_unused=True)
    with pytest.raises(ReleaseError, match="every step is used"):
        declared.used(3)
