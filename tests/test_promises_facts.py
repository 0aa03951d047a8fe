"""What a release asks the repair for before it knows a cost, and what it asks the truth for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import gridveil as gv
from gridveil.errors import RepairFailed
from gridveil.privacy.noise import SeededNoise
from gridveil.publish import behind
from gridveil.publish.pipeline import release
from gridveil.repair.repair import SOON
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.wall.draw import Estimate
from gridveil.wall.facts import SENSITIVITY, SHARE, Fact, FactKind, private_surcharge


class Shop:
    """Answers every request for an estimate in the same way, and remembers how it was asked."""

    def __init__(self, spread: float) -> None:
        self.answer = Estimate(0.05, 0.06, spread, (0.05,), (0.02,))
        self.asked: list[tuple[bool, float]] = []

    def estimate(self, _: Any, *, needed: bool, enough: float) -> Estimate:
        self.asked.append((needed, enough))
        return self.answer


@pytest.mark.parametrize(
    ("chosen", "needed", "kinds"),
    [
        ({"cost": "private"}, False, {FactKind.COST}),
        ({"cost": "private", "loss_within": 1.5}, True, {FactKind.COST, FactKind.LOSSES}),
        ({"cost": "derived"}, True, {FactKind.COST}),
        ({"published_cost": 7.0, "loss_within": 1.5}, True, {FactKind.LOSSES}),
        ({"published_cost": 7.0}, None, set()),
        ({"cost": "declared"}, None, set()),
        ({"cost": "declared", "loss_within": 1.5}, None, set()),
    ],
)
@pytest.mark.parametrize("spread", [1e-4, 1.0])
def test_an_estimate_is_made_where_facts_rest_on_it(
    chosen: dict[str, Any], needed: bool | None, kinds: set[FactKind], spread: float
) -> None:
    """It must succeed where nothing else gives the cost or the losses; the truth is asked only if it is unsure."""
    plan = gv.Plan(1.0, 0.1, 0.01, **chosen)
    public: Any = SimpleNamespace(plan=plan, horizon=SimpleNamespace(step=[4]), used=[0], demands=[])
    shop: Any = Shop(spread)
    truth: list[Fact] = []

    def ask() -> Fact:
        truth.append(private_surcharge(0.07, plan.epsilon_cost, plan.cost_sensitivity))
        return truth[-1]

    found = list(behind._fused(public, shop, [100.0], ask, []))
    enough = plan.cost_scale if chosen.get("cost") == "private" else SENSITIVITY / SHARE
    assert shop.asked == ([] if needed is None else [(needed, enough)])
    for facts in found:
        assert {one.kind for one in facts} - {FactKind.SURCHARGE} == kinds
        assert all(one.step == 4 for one in facts if one.kind is not FactKind.SURCHARGE)
    assert len(truth) == int(chosen.get("cost") == "private" and spread > plan.cost_scale)


def test_where_nothing_is_near_at_any_cost_patience_has_its_turn() -> None:
    """Neither network has a dispatch, and none is found nearby at once: the first level is tried again, in every way."""
    tries: list[bool] = []

    class Hard(Workshop):
        def estimate(self, demands: Any, *, needed: bool = False, enough: float = 0.0) -> Estimate:
            if needed:
                raise RepairFailed("there is nothing")
            return Estimate(None, None, float("inf"), None, None)

        def repair(self, snapshots: Any, *, patient: bool = True) -> Any:
            tries.append(patient)
            if not patient:
                raise RepairFailed("not at once")
            return super().repair(snapshots, patient=patient)

    made = release(split(gv.load("case5")), gv.Plan(1.0, 0.01, 0.01), noise=SeededNoise(1), workshop=Hard)
    assert made.certificate.passed and tries == [False] * SOON + [True]
