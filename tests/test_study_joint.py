"""The study of joint releases: one place that measures, whatever comes of a draw."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gridveil as gv
from gridveil.publish.plan import Plan
from gridveil.study.declare import Settings
from gridveil.study.measured import COLUMNS, measured
from gridveil.study.questions.joint import STUDY, joint_plan
from gridveil.wall.protection import Group

SETTINGS: Settings = {"groups": "LRDGC", "alpha": 0.3, "room": 0.001, "source": "private"}


def test_a_draw_fills_every_column_and_is_the_same_again() -> None:
    network = gv.load("case14")
    (row,) = STUDY.work(network, SETTINGS, 7)
    assert list(row) == list(COLUMNS)
    assert row["certified"]
    assert [name for name, value in row.items() if value is None] == ["why"]
    assert row["wrong_signs"] == row["wrong_order"] == 0
    assert row["excess"] == row["similarity"] - row["floor"]
    assert row["reactance_error_pct"] <= row["reactance_released_pct"]
    again = measured(network, joint_plan(SETTINGS), 7, reactances=False)
    left_out = {"release_seconds", "reactance_error_pct", "reactance_released_pct"}
    assert {name: again[name] for name in COLUMNS if name not in left_out} == {
        name: row[name] for name in COLUMNS if name not in left_out
    }
    assert again["reactance_error_pct"] is None
    assert measured(network, joint_plan(SETTINGS), 8, reactances=False)["load_error_pct"] != row["load_error_pct"]


def test_a_draw_without_a_release_is_a_row_that_says_why() -> None:
    plan = replace(joint_plan(SETTINGS), alpha=3.0, alphas=None, effort=10.0)
    row = next(
        row for seed in range(40) if not (row := measured(gv.load("case30"), plan, seed, reactances=False))["certified"]
    )
    assert "effort" in row["why"]
    assert row["effort"] > 0
    assert {name for name, value in row.items() if value is not None} == {
        "certified", "why", "effort", "release_seconds",
    }  # fmt: skip


@pytest.mark.parametrize("letters", ["D", "G", "LR"])
def test_figures_of_groups_that_are_public_are_nothing(letters: str) -> None:
    plan: Plan = joint_plan({**SETTINGS, "groups": letters, "alpha": 0.1})
    row = measured(gv.load("case14"), plan, 1, reactances=False)
    assert row["certified"]
    assert (row["load_released_pct"] > 0) == (Group.LOADS in plan.protection)
    assert (row["load_error_pct"] is None) == (Group.LOADS not in plan.protection)
    assert row["cost_coefficient_released_pct"] == 0
    assert row["cost_coefficient_error_pct"] is None
    assert (row["demand_away_pct"] is None) == (Group.LOADS not in plan.protection)
