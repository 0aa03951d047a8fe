"""Draws by the thousand are those of `gv.release`, cost little more than their repair, and say that they are research."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import PrivacyError, ReleaseError, StudyError
from gridveil.nlp import opf, problem, solve
from gridveil.nlp.solver import Outcome
from gridveil.privacy.noise import SeededNoise
from gridveil.process.hand import Hand
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.study import many
from gridveil.wall.draw import Repair
from tests.conftest import Bend

PLANS = [gv.Plan(1.0, 0.1, 0.01), gv.Plan(1.0, 0.3, 0.05, cost="declared")]


def same(one: gv.ResearchDraw, other: gv.ResearchDraw) -> bool:
    assert one.network is not None and other.network is not None
    numbers = ((one.network.lines.b, other.network.lines.b), (one.network.lines.g, other.network.lines.g))
    return (one.seed, one.cost, one.path, one.effort) == (other.seed, other.cost, other.path, other.effort) and all(
        np.array_equal(*pair) for pair in numbers
    )


def test_every_plan_with_every_seed_as_released() -> None:
    sealed = gv.seal("case14_ieee")
    draws = list(gv.release_many(sealed, PLANS, range(3)))
    assert [(one.plan, one.seed) for one in draws] == [(plan, seed) for plan in PLANS for seed in range(3)]
    for one in draws:
        made = release(sealed, one.plan, noise=SeededNoise(one.seed), workshop=Workshop)
        assert one.network is not None and one.point is not None
        np.testing.assert_allclose(one.network.lines.b, made.lines.b, rtol=1e-12)
        np.testing.assert_allclose(one.network.lines.g, made.lines.g, rtol=1e-12, atol=1e-12)
        assert one.cost == pytest.approx(made.point.cost, rel=1e-6)
        assert (one.certified, one.detail, one.path) == (True, "", made.manifest.repair.path)
        assert one.effort > 0 and "NOT private" in repr(one) and len(repr(one)) < 150


def test_joint_plans_are_as_released() -> None:
    sealed, plan = gv.seal("case14_ieee"), gv.Plan(1.0, 0.1, 0.05, protect="all")
    (one,) = gv.release_many(sealed, plan, [4])
    made = release(sealed, plan, noise=SeededNoise(4), workshop=Workshop)
    assert one.network is not None and one.certified
    np.testing.assert_allclose(one.network.grid.buses.pd, made.network.grid.buses.pd, rtol=1e-9)
    np.testing.assert_allclose(one.network.grid.lines.rating, made.network.grid.lines.rating, rtol=1e-9)
    np.testing.assert_allclose(one.network.grid.cost_p.polynomial, made.network.grid.cost_p.polynomial, rtol=1e-9)


def test_several_processes_make_the_same() -> None:
    sealed = gv.seal("case5_pjm")
    one, two = (list(gv.release_many(sealed, PLANS, range(6), workers=workers)) for workers in (1, 2))
    assert len(one) == len(two) == 12 and all(map(same, one, two))
    grids = {id(draw.network.grid) for draw in two if draw.network is not None}
    assert len(grids) == 1  # so that solving each of them needs one pattern


def test_who_stops_listening_ends_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    class Watched(Hand):
        def __enter__(self) -> Hand:
            begun.append(self)
            return super().__enter__()

    monkeypatch.setattr(many, "Hand", Watched)
    draws = gv.release_many(gv.seal("case5_pjm"), PLANS[0], range(1000), workers=2)
    assert next(draws).certified
    draws.close()  # type: ignore[attr-defined]
    assert len(begun) == 2 and all(hand._process.poll() is not None for hand in begun)


def test_a_process_that_dies_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.study.many.pickle.dumps", lambda _: b"nothing that could be read")
    with pytest.raises(StudyError, match="a process ended while it drew seed 3; give workers=1 to see why"):
        list(gv.release_many(gv.seal("case5_pjm"), PLANS[0], [3], workers=2))


def test_a_draw_costs_little_more_than_its_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    """In iterations of the solver, which are the same on every machine; and its pattern is built once."""
    iterations: list[int] = []
    attempts, build = solve.attempts, problem.build
    built: list[object] = []

    def counted(*given: object) -> Iterator[Outcome]:
        for outcome in attempts(*given):  # type: ignore[arg-type]
            iterations.append(outcome.iterations)
            yield outcome

    asked: list[tuple[object, object]] = []

    class Kept(Workshop):
        def repair(self, snapshots: object, *, patient: bool = True) -> Repair:
            asked.append((self, snapshots))
            return super().repair(snapshots, patient=patient)  # type: ignore[arg-type]

    def counted_build(*given: object) -> object:
        built.append(given)
        return build(*given)  # type: ignore[arg-type]

    sealed, plan = gv.seal("case39_epri"), gv.Plan(1.0, 0.1, 0.01)
    draws = gv.release_many(sealed, plan, range(10))
    monkeypatch.setattr(solve, "attempts", counted)
    monkeypatch.setattr(opf, "attempts", counted)
    monkeypatch.setattr(opf, "build", counted_build)
    monkeypatch.setattr(many, "Workshop", Kept)
    assert all(one.certified for one in draws) and not built
    whole, bare = sum(iterations), 0
    for shop, snapshots in asked:
        iterations.clear()
        assert isinstance(shop, Workshop)
        Workshop().begin(shop.grid, shop.noisy, shop.fidelity).repair(snapshots)  # type: ignore[arg-type]
        bare += sum(iterations)
    assert 0 < bare <= whole <= 1.3 * bare


def test_what_is_not_repaired_says_why() -> None:
    (failed,) = gv.release_many(gv.seal("case5_pjm"), gv.Plan(1.0, 10.0, 1e-6, effort=10), [1])
    assert not failed.certified and (failed.network, failed.cost, failed.path) == (None, None, None)
    assert "effort" in failed.detail and failed.effort >= 10 and "no network" in repr(failed)


def test_a_network_that_fails_its_certificate_is_not_called_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bent(Workshop):
        def repair(self, snapshots: object, *, patient: bool = True) -> Repair:
            made = super().repair(snapshots, patient=patient)  # type: ignore[arg-type]
            lines = gv.LineParameters(0.5 * made.lines.g, 0.5 * made.lines.b, made.lines.bc)
            object.__setattr__(made, "network", gv.Network(made.network.grid, lines))
            return made

    monkeypatch.setattr(many, "Workshop", Bent)
    (bent,) = gv.release_many(gv.seal("case14_ieee"), PLANS[0], [1])
    assert not bent.certified and "balance residual" in bent.detail


def test_slips_are_refused_before_the_first_draw(tiny: Bend) -> None:
    sealed = gv.seal("case5_pjm")
    with pytest.raises(StudyError, match="0 workers cannot do anything"):
        gv.release_many(sealed, PLANS, workers=0)
    with pytest.raises(PrivacyError, match="a seed is a whole number from 0 on, not -1"):
        gv.release_many(sealed, PLANS, [3, -1])
    starved = gv.seal(tiny(("2\t1\t90", "2\t1\t9000")))
    with pytest.raises(ReleaseError, match="there is no dispatch, with or without a network"):
        gv.release_many(starved, PLANS)
    assert list(gv.release_many(sealed, PLANS, [])) == []
