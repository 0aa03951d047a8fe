"""Advice says how far its time goes before it begins, and its table fits a narrow terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import gridveil as gv
from gridveil.advice import recommend
from gridveil.advice.choice import Choice
from gridveil.advice.clock import in_time, require_a_trial, table_seconds, trial_seconds
from gridveil.advice.explore import Explored, State, explore
from gridveil.advice.stand_in import StandIn
from gridveil.cli.advice_table import table
from gridveil.cli.main import app
from gridveil.errors import StudyError

from .test_advise import row

ROOT = Path(__file__).parents[1]


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["advise", *map(str, arguments)])


def test_the_table_takes_longer_on_more_stand_ins_and_shorter_by_more_hands() -> None:
    one = StandIn("a", gv.load("case14_ieee"), "")
    single, double = (table_seconds([one, one], gv.Space(), workers) for workers in (1, 2))
    assert single[0] < single[1]
    assert double[1] < single[1]
    assert trial_seconds(2000) > 10 * trial_seconds(20)


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (10.0, "then finer until 10 are over"),
        (3.0, "go as far as 2 of them"),
        (0.5, "the first table would take about 1.0 minutes, and there are 0.5"),
    ],
)
def test_it_is_said_at_once_how_far_the_time_goes(minutes: float, words: str) -> None:
    assert words in in_time([60.0, 120.0, 300.0], minutes)


def test_time_for_less_than_a_trial_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="Nothing was charged"):
        require_a_trial(100_000, 1.0)
    book = tmp_path / "l"
    done = run("case118_ieee", "--stand-in-epsilon", "0.1", "--yes", "--ledger", book, "--minutes", "0.01")
    assert done.exit_code == 2
    assert "can try nothing" in " ".join(done.output.split())
    assert not book.exists()


def test_a_table_that_does_not_fit_is_warned_of_before_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.advice.advise.explore", lambda *_, **__: Explored({}, 1.0, settled=False))
    done = run("case118_ieee", "--minutes", "0.1", "--workers", "1")
    assert "the first table would take about" in " ".join(done.output.split())


def test_what_comes_before_the_trials_is_a_part_of_the_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    given = list[float]()

    def exploring(*_: Any, minutes: float, **__: Any) -> Explored:
        given.append(minutes)
        return Explored({}, 1.0, settled=False)

    monkeypatch.setattr("gridveil.advice.advise.explore", exploring)
    run("case118_ieee", "--minutes", "10")
    assert 5.0 <= given[0] < 10.0


def test_how_long_a_charged_draw_took_has_no_part_in_the_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It depends on the network, and how many trials are made must not."""
    given = list[float]()

    def exploring(*_: Any, minutes: float, **__: Any) -> Explored:
        given.append(minutes)
        return Explored({}, 1.0, settled=False)

    monkeypatch.setattr("gridveil.advice.advise.explore", exploring)
    run("case14_ieee", "--stand-in-epsilon", "1", "--yes", "--ledger", tmp_path / "l", "--minutes", "10")
    assert given == [10.0]


def test_how_long_the_table_still_takes_is_told_by_the_pace_so_far() -> None:
    seen, one = list[State](), StandIn("a", gv.load("case5_pjm"), "")
    space = gv.Space(groups=("L",), alphas=(0.1, 0.3, 1.0), epsilons=(1.0,), betas=(0.01,), mechanisms=("log",))
    explore([one], gv.Goals(), space, {}, minutes=1.0, workers=1, progress=seen.append, stop=lambda: len(seen) > 40)
    told = {state.trials: state.table for state in seen if state.trials}
    assert told[1] > 0
    assert told[max(told)] == 0.0


def test_no_word_of_the_table_is_cut_at_eighty_columns() -> None:
    seen = row(120.1, 100.55, 12.25, similarity=100.0, excess=-50.0)
    rows = {
        Choice("LRDGC", 0.035, 1.0, 0.005): [seen] * 24,
        Choice("L", 123.0, 0.5, 0.01, "additive"): [seen] * 8,
    }
    found = recommend.advice("c", gv.seal("case14_ieee"), Explored(rows, 1.0, settled=True), gv.Goals(), [], {})
    console = Console(width=80, record=True, highlight=False)
    console.print(table(found, "INTERNAL"))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for word in ("setting", "guess", "repairs", "margin", "LRDGC, α 3.5%", "additive", "100.55%", "0 of 24"):
        assert word in text


def test_no_page_teaches_to_choose_by_the_secret() -> None:
    """`grid.m` is the reader's own network: results on it decide nothing, and pages that begin name the other way."""
    page = (ROOT / "docs" / "howto" / "choose-parameters.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ (gridveil .*)$", page, re.MULTILINE)
    looking = ("leakcheck", "study", "attack")
    assert not [one for one in shown if one.split()[1] in looking and "grid.m" in one]
    assert not [one for one in shown if "--research" in one and "grid.m" in one]
    assert "tells of the network" in " ".join(page.split())
    for name in ("start.md", "index.md", "reference/in-brief.md", "howto/choose-parameters.md"):
        assert "gridveil advise" in (ROOT / "docs" / name).read_text(encoding="utf-8"), name
