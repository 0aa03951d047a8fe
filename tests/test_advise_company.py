"""Several stand-ins: how choices stand over all of them, who they are beside a draw, and what else a draw may be of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.advice import recommend, stand_in
from gridveil.advice.choice import Choice
from gridveil.advice.company import COMPANY, TWICE, WORK, accompanied, company
from gridveil.advice.explore import Explored, next_task
from gridveil.advice.journal import begun_as
from gridveil.advice.plausible import BY_IMPEDANCES, by_impedances, other_reading, readings, spread
from gridveil.advice.recommend import COMPARED
from gridveil.advice.search import WHOLE, coarse, following, ranked
from gridveil.advice.standing import STAND_IN, standings
from gridveil.advice.trials import Task, trial
from gridveil.cli.main import app
from gridveil.errors import Spent
from gridveil.grid.ratings import bound_size, likely_angles
from gridveil.publish.spending import NOT_CERTIFIED

from .conftest import PretendExact
from .test_advise import row, shifted

ONE, TWO, THREE = (Choice("L", alpha, 1.0, 0.01) for alpha in (0.1, 0.3, 1.0))
FORMULA, OWN = "case14_ieee", "case30_ieee"
"""Networks whose ratings were made from impedances, and were not."""


def on(which: int, hidden: float) -> dict[str, Any]:
    """A trial on one stand-in, whose score is a tenth of what is hidden (the other goals are met ten times)."""
    return {**row(hidden, 0.01, 0.01), STAND_IN: which}


# ---- standing ----


def test_shares_of_the_best_are_averaged_not_scores() -> None:
    """On the second network everything is easy, and its scores would decide."""
    rows = {ONE: [on(0, 10.0), on(1, 60.0)], TWO: [on(0, 5.0), on(1, 100.0)]}
    found = standings(rows, gv.Goals())
    assert found[ONE] == pytest.approx((1.0 * 0.6) ** 0.5)
    assert found[TWO] == pytest.approx((0.5 * 1.0) ** 0.5)
    assert ranked(rows, gv.Goals())[0] == ONE


def test_what_is_hopeless_on_one_stand_in_is_not_made_good_by_two_others() -> None:
    rows = {ONE: [on(0, 1.0), on(1, 20.0), on(2, 20.0)], TWO: [on(0, 10.0), on(1, 13.0), on(2, 13.0)]}
    assert ranked(rows, gv.Goals())[0] == TWO


def test_a_stand_in_counts_as_its_weight_says() -> None:
    rows = {ONE: [on(0, 10.0), on(1, 10.0)], TWO: [on(0, 20.0), on(1, 4.0)]}
    assert ranked(rows, gv.Goals(), (1.0, 1.0))[0] == ONE
    assert ranked(rows, gv.Goals(), (5.0, 1.0))[0] == TWO


def test_with_one_stand_in_the_least_margin_decides_as_ever() -> None:
    rows = {ONE: [row(10.0)], TWO: [row(15.0)], THREE: [row(5.0)]}
    assert ranked(rows, gv.Goals()) == [TWO, ONE, THREE]


def test_what_was_tried_on_fewer_stand_ins_than_others_is_not_recommended() -> None:
    """It would be the best where it was tried."""
    others = {Choice("L", alpha, 1.0, 0.01): [on(0, 11.0), on(1, 11.0)] for alpha in np.linspace(0.11, 0.2, COMPARED)}
    best = recommended({ONE: [on(0, 12.0), on(1, 12.0)], TWO: [on(0, 50.0)], **others})
    assert (best.choice, best.tried_on) == (ONE, 2)


def test_the_first_of_a_table_that_was_begun_is_not_recommended_for_that() -> None:
    others = {Choice("L", alpha, 1.0, 0.01): [on(0, 11.0)] for alpha in np.linspace(0.11, 0.2, COMPARED)}
    assert recommended({ONE: [on(0, 5.0), on(1, 5.0)], TWO: [on(0, 50.0), on(0, 50.0)], **others}).choice == TWO


def recommended(rows: Any) -> recommend.Line:
    found = recommend.advice("c.m", gv.seal(FORMULA), Explored(rows, 1.0, settled=False), gv.Goals(), [], {})
    assert found.best is not None
    return found.best


# ---- search ----


def test_the_table_is_made_on_one_stand_in_after_the_other_and_the_hopeless_fall_out() -> None:
    space, weights = gv.Space(groups=("L",), epsilons=(1.0,), betas=(0.01,), mechanisms=("log",)), [1.0] * 6
    playing = [stand_in.StandIn(str(i), gv.load("case5_pjm"), "") for i in range(6)]
    rows: dict[Choice, list[dict[str, Any]]] = {}
    asked = list[tuple[int, Choice]]()
    for _ in range(60):
        choice = following(rows, gv.Goals(), space, weights)
        assert choice is not None
        task = next_task(choice, rows, playing)
        asked.append((task.stand_in, choice))
        rows.setdefault(choice, []).append(on(task.stand_in, 100 * choice.alpha if choice.alpha < 1 else 1.0))
    table = coarse(space)
    assert asked[: WHOLE * len(table)] == [(which, one) for which in range(WHOLE) for one in table]
    often = Counter(choice for _, choice in asked)
    assert often[TWO] >= 6
    assert often[THREE] == WHOLE
    assert {which for which, choice in asked if choice == TWO} == set(range(6))


def test_numbers_beside_the_lines_are_guessed_in_later_draws_only() -> None:
    small = [stand_in.StandIn("a", gv.load("case5_pjm"), "")]
    assert not next_task(ONE, {}, small).beside
    assert next_task(ONE, {ONE: [row(1.0)]}, small).beside


# ---- who stands in ----


@pytest.mark.parametrize("secret", ["case39_epri", "case118_ieee"])
def test_the_company_is_chosen_by_structure_alone(secret: str) -> None:
    network = gv.load(secret)
    found, other = (company(gv.seal(one).structure) for one in (network, shifted(network)))
    assert begun_as(found, {}) == begun_as(other, {})
    assert secret not in [one.name.removesuffix(BY_IMPEDANCES) for one in found]
    assert len(found) <= COMPANY + TWICE
    assert sum(one.network.grid.n_line for one in found) <= WORK
    assert any(one.name.endswith(BY_IMPEDANCES) for one in found)


def test_several_smaller_networks_stand_in_for_a_large_one() -> None:
    """The nearest is larger than what may stand in beside others; it does where nothing else is there."""
    structure = gv.seal("case118_ieee").structure
    first = stand_in.nearest(structure, 1)[0].network.grid.n_line
    small = stand_in.nearest(structure, 3, lines=first - 1)
    assert [one.network.grid.n_line < first for one in small] == [True] * len(small)
    assert len(stand_in.nearest(structure, 3, lines=1)) == 1


def test_the_less_noise_a_draw_has_the_more_it_counts(tmp_path: Path) -> None:
    sealed = gv.seal(FORMULA)
    found = [
        stand_in.charged(sealed, epsilon, gv.Ledger.init(tmp_path / f"{epsilon}"), noise=PretendExact(1), keep=file)
        for epsilon, file in ((0.5, None), (2.0, tmp_path / "b"))
    ]
    assert [one.weight for one in found] == pytest.approx([2.5, 10.0])
    again = stand_in.given(tmp_path / "b", sealed.structure)
    assert again.weight == pytest.approx(found[1].weight)
    beside = accompanied(found[1], sealed.structure)
    assert beside[0].name == stand_in.RELEASED
    assert begun_as(beside, {}) == begun_as(accompanied(again, sealed.structure), {})
    assert accompanied(replace(found[1], weight=0.5), sealed.structure)[0].name != stand_in.RELEASED


# ---- ratings, read both ways ----


def test_ratings_by_impedances_are_those_of_libraries() -> None:
    made = by_impedances(gv.load(OWN))
    assert made is not None
    size = np.log(np.hypot(*made.lines.impedance()[:2]))
    assert any(np.allclose(bound_size(made.grid, theta), size) for theta in likely_angles(made.grid))


def test_a_draw_is_read_both_ways_where_its_noise_leaves_it_open() -> None:
    """The planted bug is the first: noise of its own on ratings and lines hides that they went together."""
    noisy = stand_in.StandIn("d", gv.load(OWN), "a draw", weight=0.5)
    assert [one.weight for one in readings(noisy)] == [0.25, 0.25]
    sure = replace(noisy, weight=50.0)
    assert readings(sure) == [sure]


def test_a_public_network_is_read_the_other_way_only_if_that_is_another() -> None:
    assert spread(gv.load(FORMULA)) < spread(gv.load(OWN))
    assert other_reading(stand_in.StandIn("a", gv.load(FORMULA), "")) is None
    assert other_reading(stand_in.StandIn("a", gv.load(OWN), "")) is not None


def test_lines_alone_hide_nothing_where_ratings_follow_impedances() -> None:
    """Why readings matter: the same setting, on the two readings of one network."""
    one = stand_in.StandIn("a", gv.load(OWN), "")
    other = other_reading(one)
    assert other is not None
    hidden = [trial(each, Task(TWO, 0, 0, beside=False), {})["reactance_error_pct"] for each in (one, other)]
    assert hidden[1] < 0.5 * hidden[0]


# ---- a draw that no repair mends ----


def test_a_draw_that_is_not_repaired_leaves_the_public_networks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is charged, said, and decided by noisy values: the advice goes on without it."""

    def failing(*_: Any, **__: Any) -> stand_in.StandIn:
        raise Spent("the privacy of this draw is spent all the same", entries=(1,), loss=0.1, reason=NOT_CERTIFIED)

    seen = list[list[str]]()
    monkeypatch.setattr("gridveil.advice.stand_in.charged", failing)
    monkeypatch.setattr("gridveil.advice.advise.explore", lambda trying, *_, **__: _noted(seen, trying))
    done = CliRunner().invoke(
        app, ["advise", FORMULA, "--stand-in-epsilon", "0.1", "--yes", "--ledger", str(tmp_path / "l")]
    )
    assert "public networks alone" in " ".join(done.output.split())
    assert seen
    assert stand_in.RELEASED not in seen[0]


def _noted(seen: list[list[str]], trying: Any) -> Explored:
    seen.append([one.name for one in trying])
    return Explored({ONE: [on(0, 20.0)]}, 1.0, settled=True)
