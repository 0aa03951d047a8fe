"""The statistics of reports, the numbers from the paper, and the reductions of studies to series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.charts.chart import LOOKS, Chart, Panel, Section
from gridveil.charts.numbers import number
from gridveil.charts.results import Results, grouped, natural
from gridveil.charts.series import interval, mean_series, ordered
from gridveil.charts.statistics import (
    FEW,
    Mean,
    box_of,
    geometric_of,
    mean_of,
    percent_of,
    points_of,
    share_of,
    size_of,
)
from gridveil.report.maps.change_map import CLASSES, COLOURS, EDGES, change_class, change_maps
from gridveil.study.catalogue import STUDIES
from gridveil.study.published import laplace_feasible, nesta_name, release_seconds
from gridveil.study.questions import attacks, costs, feasibility, runtimes
from gridveil.study.sections import measured, methods, read_studies, section

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


def rows(*records: dict[str, Any]) -> Results:
    """Results of tasks that ended well, one row each."""
    return Results(tuple({"key": f"k{i}", "status": "ok", "draw": i, **one} for i, one in enumerate(records)), ())


def test_geometric_means_survive_single_draws_far_out() -> None:
    stat = geometric_of([1.0, 4.0, 2.0])
    assert stat is not None
    assert stat.mean == pytest.approx(2.0)
    assert 0 < stat.low < 2.0 < stat.high
    assert (stat.low, stat.high) == pytest.approx((1.0, 4.0))  # of three draws the smallest and the largest
    five = geometric_of([1.0, 4.0, 2.0, 0.5, 8.0])
    assert five is not None and 0 < five.low < 0.7 and five.high > 6
    assert five.low * five.high == pytest.approx(4.0)
    one = geometric_of([3.0])
    assert one is not None
    assert one.mean == pytest.approx(3.0)
    assert geometric_of([]) is None


@given(numbers)
def test_a_mean_lies_in_its_interval(values: list[float]) -> None:
    stat = mean_of(values)
    assert stat is not None
    assert stat.low <= stat.mean <= stat.high
    assert stat.n == len(values)
    assert stat.mean == pytest.approx(np.mean(values), abs=1e-6)


bounded = st.lists(st.floats(0, 100), min_size=1, max_size=30)


@given(bounded)
def test_intervals_stay_where_their_measure_does(values: list[float]) -> None:
    """A share of a whole is within 0 and 100, a size is not negative, a difference of shares within ±100."""
    for stat, least, most in ((percent_of, 0, 100), (size_of, 0, np.inf), (points_of, -100, 100)):
        found = stat(values)
        assert found is not None
        assert least - 1e-9 <= found.low <= found.mean <= found.high <= most + 1e-9


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_intervals_of_ratios_are_positive(values: list[float]) -> None:
    stat = geometric_of(values)
    assert stat is not None
    assert 0 < stat.low * (1 - 1e-9) <= stat.mean * (1 + 1e-9) <= stat.high * (1 + 2e-9)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8))
def test_few_draws_have_a_range_and_no_interval(values: list[float]) -> None:
    stat = points_of(values)
    assert stat is not None
    assert stat.is_range == (len(values) < FEW)
    if stat.is_range:
        assert (stat.low, stat.high) == (min(values), max(values))
    words = interval(stat)
    assert ("one draw" in words) == (len(values) == 1)
    assert (f"n = {len(values)}: " in words) == (1 < len(values) < FEW)


def test_two_draws_far_apart_claim_nothing_impossible() -> None:
    """Student's interval of these two reaches from −526 to 616 points of load."""
    words = interval(points_of([0.0, 89.8]), unit=" points")
    assert words == "44.9 points (n = 2: 0 … 89.8)"


def test_figures_say_how_many_draws_are_behind_a_mark() -> None:
    two, nine = mean_of([1.0, 2.0]), mean_of([float(i) for i in range(9)])

    def drawn(*stats: Mean | None) -> str:
        series = mean_series("log", "log", "points", [(str(i), stat) for i, stat in enumerate(stats)])
        return Chart("", "", (Panel("", (series,), "", ""),), 1).draws()

    assert drawn(nine, nine) == "n = 9 for every mark."
    assert drawn(two, nine) == "n = 2 to 9 by mark. Whiskers of fewer than five draws are their smallest and largest."


def all_panels(made: Section) -> list[Panel]:
    return [panel for chart in (made.answer, *made.charts) if chart is not None for panel in chart.panels]


def test_axes_begin_where_their_measure_does(tmp_path: Path) -> None:
    """Shares at 0, sizes of errors at 0, ratios on a logarithmic scale."""
    from tests.fake_results import fill

    for study in STUDIES.values():
        fill(tmp_path, study, study.cases[:1], draws=1)
    for name, results in read_studies(tmp_path).items():
        for panel in all_panels(section(name, results)):
            label = panel.y_label
            if label.startswith(("AC-feasible", "broken", "load ", "similarity")) or panel.title in (
                "Attack similarity", "Load restored",
            ):  # fmt: skip
                assert panel.y_range == (0, 104), (name, panel.title)
            elif "time /" in label or label == "×":
                assert (panel.y_log and panel.reference == 1.0) or label == "time / AC-OPF", (name, panel.title)
            elif "error" in panel.title.lower() or "error" in label:
                assert panel.y_zero, (name, panel.title)


def test_a_mean_of_known_draws() -> None:
    """Student's t with four degrees of freedom: 2.776445."""
    stat = mean_of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert stat is not None
    half = 2.776445 * np.sqrt(2.5 / 5)
    assert stat == pytest.approx((3.0, np.sqrt(2.5), 3 - half, 3 + half, 5, False), abs=1e-5)
    assert mean_of([]) is None
    assert interval(mean_of([2.0])) == "2 (one draw)"


def test_shares_by_wilson() -> None:
    """Wilson's interval at 95 %, from the textbook formula: 0 of 10 → 0 … 27.75; 5 of 10 → 23.66 … 76.34."""
    none, half = share_of([False] * 10), share_of([True, False] * 5)
    assert none is not None and half is not None
    assert (none.mean, none.low, none.high) == pytest.approx((0, 0, 27.753), abs=2e-3)
    assert (half.mean, half.low, half.high) == pytest.approx((50, 23.659, 76.341), abs=2e-3)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_shares_stay_within_bounds(flags: list[bool]) -> None:
    stat = share_of(flags)
    assert stat is not None
    assert 0 <= stat.low <= stat.mean + 1e-9 and stat.mean - 1e-9 <= stat.high <= 100
    assert stat.low < stat.high


@settings(deadline=None)  # the first example imports Matplotlib
@given(numbers)
def test_boxes_are_those_of_matplotlib(values: list[float]) -> None:
    cbook = pytest.importorskip("matplotlib.cbook")
    theirs, ours = cbook.boxplot_stats(values)[0], box_of(values)
    assert ours is not None
    # with values between two quartiles only, Matplotlib draws the whisker at the quartile and we at the value
    assert (ours.q1, ours.median, ours.q3) == pytest.approx((theirs["q1"], theirs["med"], theirs["q3"]))
    assert min(ours.low, ours.q1) == pytest.approx(theirs["whislo"])
    assert max(ours.high, ours.q3) == pytest.approx(theirs["whishi"])


def test_names_are_sorted_by_their_numbers() -> None:
    assert sorted(["case118_ieee", "case39_epri", "case5"], key=natural) == ["case5", "case39_epri", "case118_ieee"]
    assert ordered(["log", "laplace", "paper"]) == ["laplace", "paper", "log"]
    assert [number(v) for v in (None, float("inf"), -0.5, 12345.6, 0.012345)] == ["–", "–", "−0.5", "12,346", "0.0123"]


def test_failed_tasks_are_counted_where_they_belong() -> None:
    good = [{"case": "a", "alpha": 0.1, "attacker": who, "y": 1.0} for who in ("random", "real")]
    lost = {"key": "x", "status": "failed", "error": "E", "case": "a", "alpha": 0.1, "attacker": None, "y": None}
    alone = {**lost, "case": "b"}
    results = Results(rows(*good).rows, (lost, alone))
    assert {k: (len(v.rows), len(v.failed)) for k, v in grouped(results, ["case", "alpha"]).items()} == {
        ("a", 0.1): (2, 1),
        ("b", 0.1): (0, 1),
    }
    assert {k: len(v.failed) for k, v in grouped(results, ["case", "attacker"]).items()} == {
        ("a", "random"): 1,
        ("a", "real"): 1,
    }
    assert results.tasks == 4
    assert results.errors() == [("E", 2)]


def test_the_papers_numbers() -> None:
    """Tables II and III of the paper."""
    assert laplace_feasible("case57_ieee", 0.01) == 61
    assert laplace_feasible("nesta_case39_epri", 0.01) == 0
    assert laplace_feasible("case118_ieee", 1.0) == 0
    assert laplace_feasible("case118_ieee", 0.05) is None
    assert laplace_feasible("case14_ieee", 0.01) is None
    assert release_seconds("nesta_case89_pegase", 0.1) == 44.96
    assert release_seconds("pglib_opf_case162_ieee_dtc", 1.0) == 50.43
    assert release_seconds("case3_lmbd", 0.5) is None
    assert (nesta_name("case39"), nesta_name("case30"), nesta_name("case6"), nesta_name("mine")) == (
        "case39_epri",
        "case30_ieee",
        None,
        None,
    )


def test_cost_bars_are_means_of_feasible_draws() -> None:
    base = {"case": "c", "mechanism": "log", "alpha": 0.1, "beta": 0.01}
    results = rows(*({**base, "feasible": v is not None, "cost": v, "difference_pct": v} for v in (1.0, 3.0, None)))
    bars, boxes = costs.section(results).charts
    (one,) = bars.panels[0].series
    assert (one.x, one.y) == (("0.1",), (2.0,))
    assert (*one.low, *one.high) == pytest.approx((2 - np.sqrt(2), 2 + np.sqrt(2)))
    assert boxes.panels[0].series[0].boxes[0].median == 2.0
    assert costs.section(results).sheets[0].rows == (("c", "log", "0.1", "0.01", "2 ± 1.41", "2", "3", "1", "3", "0"),)


def test_an_uncertified_release_is_not_feasible() -> None:
    base = {"case": "case57_ieee", "alpha": 0.01, "detail": ""}
    results = rows(
        {**base, "mechanism": "log", "feasible": True, "certified": True},
        {**base, "mechanism": "log", "feasible": True, "certified": False},
        {**base, "mechanism": "laplace", "feasible": True, "certified": None},
    )
    section_ = feasibility.section(results)
    assert [(one.name, one.y) for one in section_.charts[0].panels[0].series] == [
        ("bare Laplace noise", (100.0,)), ("bare Laplace noise, as published", (61.0,)), ("log", (50.0,)),
    ]  # fmt: skip
    assert [row[4] for row in section_.sheets[0].rows] == ["61", "–"]


def test_marginal_harm_is_paired_by_draw() -> None:
    records = []
    for draw, (released, public) in enumerate([(10.0, 30.0), (50.0, 60.0)]):
        for who, value in (("released", released), ("public", public)):
            records.append(
                {
                    "case": "c",
                    "mechanism": "log",
                    "alpha": 0.1,
                    "restoration": "literal",
                    "budget": 5.0,
                    "attacker": who,
                    "restored_pct": value,
                    "similarity": 50.0,
                    "outcome": "optimal",
                    "key": f"d{draw}",
                }
            )
    results = Results(tuple({"status": "ok", "draw": 0, **one} for one in records), ())
    harm_sheet = attacks.section(results).sheets[0]
    assert harm_sheet.rows[0][:4] == ("c", "log", "0.1", "literal")
    assert harm_sheet.rows[0][4].startswith("15 (")
    assert harm_sheet.rows[0][5:] == ("2", "0")


def test_time_ratios_are_within_tasks() -> None:
    base = {"case": "case14_ieee", "mechanism": "log", "alpha": 0.1, "release_seconds": 1.0, "path": "as drawn"}
    results = rows({**base, "opf_seconds": 1.0, "seconds": 2.0}, {**base, "opf_seconds": 10.0, "seconds": 40.0})
    ratio, seconds = runtimes.section(results).charts
    assert list(ratio.panels[0].series[0].y) == pytest.approx([8**0.5])
    assert [(one.name, one.y) for one in seconds.panels[0].series] == [
        ("log", (21.0,)),
        ("the paper's mechanism, as published", (0.44,)),
    ]


@given(st.floats(0, 100))
def test_classes_of_change_have_one_place_each(ratio: float) -> None:
    place = change_class(ratio)
    assert len(CLASSES) == len(COLOURS) == len(EDGES) + 1
    assert (place == 0 or EDGES[place - 1] <= ratio) and (place == len(EDGES) or ratio < EDGES[place])


def test_a_map_shows_the_relative_change_of_impedance() -> None:
    base = {"case": "c", "mechanism": "log", "alpha": 0.1}
    lines = [(1, 10, 20, 0.3, 0.4, 0.6, 0.8), (2, 20, 30, 0.0, 0.1, 0.0, 0.05), (3, 10, 30, 0.0, 0.0, 0.0, 0.0)]
    names = ("line", "bus_from", "bus_to", "r", "x", "released_r", "released_x")
    results = rows(*({**base, "draw": 0, **dict(zip(names, line, strict=True))} for line in lines))
    (made,) = change_maps(results)
    assert made.changes == {"log, α = 0.1": pytest.approx((2.0, 0.5, 1.0))}
    assert made.buses == (10, 20, 30)
    assert len(made.paths) == 3 and made.paths[0][0] == made.place[0]


def test_every_study_has_a_section_and_known_looks(tmp_path: Path) -> None:
    from tests.fake_results import fill

    for study in STUDIES.values():
        fill(tmp_path, study)
    for name, results in read_studies(tmp_path).items():
        made = section(name, results)
        assert made.answer is not None and made.found and made.sheets, name
        for chart in (made.answer, *made.charts):
            assert chart.panels and {one.look for panel in chart.panels for one in panel.series} <= set(LOOKS)
        assert all(len(row) == len(sheet.header) for sheet in made.sheets for row in sheet.rows)
        assert any(row[-1] == "1" for sheet in made.sheets for row in sheet.rows), name  # the failed task is counted
        assert STUDIES[name].question.endswith("?"), name
        said = measured(STUDIES[name], results)
        assert "1 failed and is in no figure" in said and "SolveError" in said and "2 draws" in said
        words = methods(STUDIES[name], results, tmp_path)
        assert all(case in words for case in results.values("case"))
        assert "1 failed" in words and f"version {STUDIES[name].version}" in words
        assert f"the study declares {STUDIES[name].draws}" in words
        assert ("β = 0.01" in words) == ("beta" not in STUDIES[name].settings)


def test_a_box_of_nothing_and_a_single_mean() -> None:
    assert box_of([]) is None
    assert share_of([]) is None
    assert isinstance(mean_of([1.0]), Mean)
