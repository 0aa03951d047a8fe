"""Advice: goals and margins by their definition, a search that finds the best, stand-ins that are never the secret, the
same advice for two secrets of one structure, trials that go on where they were, time that is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridveil as gv
from gridveil.advice import explore, recommend, stand_in
from gridveil.advice.choice import Choice, letters
from gridveil.advice.goals import MOST, Outcome, goals, margins, outcome, score
from gridveil.advice.journal import Journal, begun_as
from gridveil.advice.search import BEST, DRAWS, coarse, following, near, ranked
from gridveil.advice.trials import Task
from gridveil.errors import PrivacyError, ReleaseError, StudyError
from gridveil.grid import Network
from gridveil.publish.plan import Plan

LITTLE = gv.Space(groups=("L",), alphas=(0.1, 0.3), epsilons=(1.0,), betas=(0.01,), mechanisms=("log",))


def row(hidden: float, cost: float = 0.5, gap: float = 0.5, *, certified: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "certified": certified, "reactance_error_pct": hidden, "cost_error_pct": cost, "gap_change_points": gap,
        "similarity": 50.0, "excess": 5.0, "effort": 3.0, "release_seconds": 0.1, **more,
    }  # fmt: skip


# ---- goals ----


def test_margins_are_ratios_to_what_is_wanted() -> None:
    wanted = goals("10%", "1%", 1.0)
    found = margins(wanted, outcome([row(20.0, 0.5, -0.25)]))
    assert found == pytest.approx({"hide": 2.0, "keep-cost": 2.0, "keep-gap": 4.0})
    assert score(wanted, outcome([row(20.0, 0.5, -0.25)])) == pytest.approx(2.0)
    assert score(wanted, outcome([row(5.0)])) == pytest.approx(0.5)
    assert score(wanted, outcome([row(1000.0, 0.0, 0.0)])) == MOST


def test_failed_repairs_count_against_a_choice() -> None:
    wanted = gv.Goals()
    some = outcome([row(20.0)] * 9 + [row(0.0, certified=False)])
    assert some.failed == 1
    assert margins(wanted, some)["repairs"] == pytest.approx(0.5)
    assert score(wanted, outcome([row(0.0, certified=False)])) == pytest.approx(1 / MOST)


def test_what_nobody_measured_is_left_out() -> None:
    found = outcome([{**row(20.0), "gap_change_points": None}])
    assert "keep-gap" not in margins(gv.Goals(), found)


@pytest.mark.parametrize("bad", [{"hide": "-1%"}, {"hide": "much"}, {"keep_cost": "0"}, {"keep_gap": float("nan")}])
def test_a_goal_must_be_a_positive_number(bad: dict[str, Any]) -> None:
    with pytest.raises(ReleaseError):
        goals(**{"hide": "10%", "keep_cost": "1%", "keep_gap": 1.0, **bad})


# ---- choices ----


def test_a_choice_as_options_is_the_plan_that_was_tried() -> None:
    """The command is parsed again by the release command's own means."""
    fixed = {"ratings": "with-impedance", "alphas": {"ratings": 0.1}, "totals": "derived"}
    chosen = Choice("LRDG", 0.3, 2.0, 0.005)
    given_options = chosen.options(fixed)
    read = dict(zip(given_options[::2], given_options[1::2], strict=True))
    plan = chosen.plan(fixed)
    again = Plan(
        float(read["--epsilon"]), read["--alpha"], read["--beta"], protect=read["--protect"],
        alphas={"ratings": read["--alpha-ratings"]}, ratings=read["--ratings"], totals=read["--totals"],
    )  # fmt: skip
    assert again == plan


def test_words_that_a_choice_has_no_use_for_are_left_out() -> None:
    fixed = {"ratings": "with-impedance", "totals": "derived", "cost": "derived"}
    assert Choice("L", 0.1, 1.0, 0.01).options(fixed)[-2:] == ["--cost", "derived"]
    assert Choice("L", 0.1, 1.0, 0.01).plan(fixed).mechanism == "log"
    assert Choice("L", 0.7, 1.0, 0.01, "additive").plan({}).words.suffix == "pu"


@pytest.mark.parametrize(("text", "found"), [("all", "LRDGC"), ("loads,lines", "LD"), ("LRD", "LRD"), ("lines", "L")])
def test_groups_by_name_or_letter(text: str, found: str) -> None:
    assert letters(text) == found


def test_an_unknown_group_is_a_sentence() -> None:
    with pytest.raises(PrivacyError, match="there is no group 'wires'"):
        letters("lines,wires")


# ---- search ----


def made(space: gv.Space, truth: Any, most: int = 400) -> dict[Choice, list[dict[str, Any]]]:
    """A search to its end, on a truth that is a function of the choice."""
    rows: dict[Choice, list[dict[str, Any]]] = {}
    for _ in range(most):
        choice = following(rows, gv.Goals(), space)
        if choice is None:
            return rows
        rows.setdefault(choice, []).append(truth(choice))
    raise AssertionError("the search does not end")


@settings(max_examples=15, deadline=None)
@given(best=st.floats(0.02, 1.5))
def test_the_search_comes_near_the_best_alpha(best: float) -> None:
    """What hides grows with α, what is kept falls: the best α is where they cross, wherever that is."""
    space = replace(gv.Space(), groups=("L",), epsilons=(1.0,), betas=(0.01,), mechanisms=("log",))
    rows = made(space, lambda choice: row(10 * choice.alpha / best, choice.alpha / best, 0.1))
    first = ranked(rows, gv.Goals())[0]
    assert first.alpha == pytest.approx(best, rel=0.25)
    assert len(rows[first]) == DRAWS[-1]


def test_the_coarse_table_comes_first_and_nothing_twice_at_once() -> None:
    rows: dict[Choice, list[dict[str, Any]]] = {}
    space, seen = gv.Space(), []
    for _ in coarse(space):
        choice = following(rows, gv.Goals(), space)
        assert choice is not None
        seen.append(choice)
        rows[choice] = [{}]  # under way
    assert seen == coarse(space)


def test_neighbours_differ_in_one_thing() -> None:
    here = Choice("L", 0.1, 1.0, 0.01)
    found = near(here, [here, replace(here, alpha=0.3)], gv.Space(conductance=5.0))
    assert {one.alpha for one in found if one.relative} == {0.17, 0.05, 0.1}
    assert [one for one in found if not one.relative] == [Choice("L", 0.5, 1.0, 0.01, "additive")]
    assert len(found) <= 2 + 2 * len(DRAWS) + BEST


# ---- stand-ins ----


def test_the_secret_never_stands_in_for_itself() -> None:
    sealed = gv.seal("case39_epri")
    names = [one.name for one in stand_in.nearest(sealed.structure, 3)]
    assert names
    assert "case39_epri" not in names
    with pytest.raises(ReleaseError, match="as many buses, lines and units"):
        stand_in.given("case39_epri", sealed.structure)


def test_a_network_without_dispatch_cannot_stand_in() -> None:
    network = gv.load("case14_ieee")
    heavy = replace(network.grid, buses=replace(network.grid.buses, pd=20 * network.grid.buses.pd))
    assert not stand_in.has_dispatch(Network(heavy, network.lines))
    assert stand_in.has_dispatch(network)


def shifted(network: Network) -> Network:
    """Another secret of the same structure: every load and every impedance is another one."""
    grid, lines = network.grid, network.lines
    other = replace(grid, buses=replace(grid.buses, pd=0.9 * grid.buses.pd, qd=0.9 * grid.buses.qd))
    return Network(other, replace(lines, g=1.1 * lines.g, b=1.1 * lines.b))


def test_two_secrets_of_one_structure_have_the_same_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = gv.load("case14_ieee")
    found = [_advice(one, monkeypatch) for one in (secret, shifted(secret))]
    assert found[0] == found[1]


def test_a_look_at_the_secret_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: trials on the secret itself."""
    secret = gv.load("case14_ieee")
    found = [_advice(one, monkeypatch, look=True) for one in (secret, shifted(secret))]
    assert found[0] != found[1]


def _advice(secret: Network, monkeypatch: pytest.MonkeyPatch, *, look: bool = False) -> dict[str, Any]:
    """The record of an advice by one draw of one choice, without its time."""
    monkeypatch.setattr("gridveil.advice.search.DRAWS", (1,))
    monkeypatch.setattr("gridveil.advice.search.near", lambda *_: [])
    stand_ins = (
        [stand_in.StandIn("itself", secret, "itself")]
        if look
        else [stand_in.StandIn("case5_pjm", gv.load("case5_pjm"), "a small one")]
    )
    made = gv.advise(gv.seal(secret), stand_ins=stand_ins, space=replace(LITTLE, alphas=(0.3,)), minutes=5.0, workers=1)
    record = made.record()
    del record["seconds"]
    for one in record["settings"]:
        del one["seconds"]
    del record["recommended"]["seconds"]
    return record


# ---- trials on disk, time ----


def test_trials_go_on_where_they_were(tmp_path: Path) -> None:
    file, one = tmp_path / "trials.jsonl", stand_in.StandIn("case14_ieee", gv.load("case14_ieee"), "a small one")
    about, task = begun_as([one], {}), Task(Choice("L", 0.1, 1.0, 0.01), 0, 0)
    kept = Journal(file, about)
    kept.add(task, row(20.0))
    with file.open("ab") as stream:
        stream.write(b'{"task": [["L", 0.1')  # torn
    again = Journal(file, about)
    assert again.rows == [(task, json.loads(json.dumps(row(20.0))))]
    again.add(task, row(30.0))
    assert len(Journal(file, about).rows) == 2
    with pytest.raises(StudyError, match="another network"):
        Journal(file, begun_as([one], {"cost": "derived"}))
    (tmp_path / "other").write_text("hello\n")
    with pytest.raises(StudyError, match="no file of trials"):
        Journal(tmp_path / "other", about)


def test_the_time_is_kept_and_what_was_tried_is_judged() -> None:
    begin, small = monotonic(), stand_in.StandIn("case5_pjm", gv.load("case5_pjm"), "a small one")
    found = gv.advise(gv.seal("case39_epri"), stand_ins=[small], space=LITTLE, minutes=0.3, workers=1)
    assert monotonic() - begin < 25
    assert found.best is not None
    assert found.command.startswith("gridveil release")


def test_who_says_stop_is_heard() -> None:
    one = stand_in.StandIn("case14_ieee", gv.load("case14_ieee"), "a small one")
    found = explore.explore([one], gv.Goals(), LITTLE, {}, minutes=5.0, workers=1, stop=lambda: True)
    assert not found.rows
    assert not found.settled


@pytest.mark.parametrize(("minutes", "workers"), [(0.0, 1), (-1.0, 1), (1.0, 0), (float("nan"), 1)])
def test_nothing_can_be_tried_in_no_time(minutes: float, workers: int) -> None:
    one = stand_in.StandIn("case14_ieee", gv.load("case14_ieee"), "a small one")
    with pytest.raises(StudyError):
        explore.explore([one], gv.Goals(), LITTLE, {}, minutes=minutes, workers=workers)


# ---- judgement ----


def test_what_the_budget_does_not_allow_is_not_recommended(tmp_path: Path) -> None:
    book = gv.Ledger.open(tmp_path / "grid.ledger")
    book.set_limit(None, 0.7)
    rows = {Choice("L", 0.3, 1.0, 0.01): [row(30.0, 0.2, 0.2)], Choice("L", 0.3, 0.5, 0.01): [row(15.0)]}
    sealed, found = gv.seal("case14_ieee"), explore.Explored(rows, 1.0, settled=True)
    made = recommend.advice("case14_ieee", sealed, found, gv.Goals(), [], {}, book)
    assert made.best is not None
    assert made.best.choice.epsilon == 0.5
    assert made.lines[0].left is not None
    assert made.lines[0].left < 0


def test_of_equals_the_one_that_spends_less_is_recommended() -> None:
    rows = {Choice("L", 0.3, one, 0.01): [row(20.0)] for one in (1.0, 0.5, 2.0)}
    made = recommend.advice(
        "c.m", gv.seal("case14_ieee"), explore.Explored(rows, 1.0, settled=True), gv.Goals(), [], {}, None
    )
    assert made.best is not None
    assert made.best.choice.epsilon == 0.5
    assert made.met
    assert "--epsilon 0.5" in made.command


def test_goals_that_nothing_meets_are_said_to_be_missed() -> None:
    rows = {Choice("L", 0.3, 1.0, 0.01): [row(2.0)]}
    made = recommend.advice(
        "c.m", gv.seal("case14_ieee"), explore.Explored(rows, 1.0, settled=True), gv.Goals(), [], {}, None
    )
    assert not made.met
    assert "misses what a reader can guess of a reactance by a factor of 5" in made.reason


def test_what_was_tried_once_is_recommended_only_where_nothing_was_tried_twice() -> None:
    lucky, known = Choice("L", 0.3, 1.0, 0.01), Choice("L", 0.1, 1.0, 0.01)
    for rows, best in (
        ({lucky: [row(50.0)], known: [row(12.0), row(12.0)]}, known),
        ({lucky: [row(50.0)], known: [row(12.0)]}, lucky),
    ):
        found = explore.Explored(rows, 1.0, settled=False)
        made = recommend.advice("c.m", gv.seal("case14_ieee"), found, gv.Goals(), [], {}, None)
        assert made.best is not None
        assert made.best.choice == best


def test_a_goal_that_was_not_measured_is_not_met_and_said() -> None:
    rows = {Choice("L", 0.3, 1.0, 0.01): [{**row(20.0), "reactance_error_pct": None}] * 2}
    found = explore.Explored(rows, 1.0, settled=True)
    made = recommend.advice("c.m", gv.seal("case14_ieee"), found, gv.Goals(), [], {}, None)
    assert made.best is not None
    assert made.best.score >= 1
    assert not made.met
    assert "what a reader can guess of a reactance could not be measured" in made.reason
    assert "every goal that was measured" in made.reason


def test_medians_are_over_repaired_draws() -> None:
    found = outcome([row(10.0), row(30.0), row(20.0), row(99.0, certified=False)])
    assert (found.trials, found.failed, found.hidden_pct) == (4, 1, 20.0)
    assert isinstance(found, Outcome)
    assert np.isnan(outcome([row(1.0, certified=False)]).hidden_pct)
