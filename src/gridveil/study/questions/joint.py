"""`joint`: what protecting more than lines hides, and what it costs a user; by groups, α and room.

Letters: L lines, R ratings, D loads, G limits of units, C costs. Subsets that others have protected by themselves stand
beside: D (Mak et al. 2020: loads), G (Dvorkin and Botterud 2023: capacities), L with charging and losses kept (CSIRO).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import setting
from gridveil.charts.results import Results
from gridveil.charts.series import interval, mean_series, sheet_of
from gridveil.charts.statistics import Mean, geometric_of, mean_of, percent_of, points_of, share_of, size_of
from gridveil.grid import Network
from gridveil.publish.plan import Plan
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import BETA, EPSILON
from gridveil.study.measured import COLUMNS, measured
from gridveil.study.saying import together, usual, where
from gridveil.wall.facts import Source
from gridveil.wall.protection import Group

LETTERS = dict(zip("LRDGC", Group, strict=True))


def joint_plan(settings: Settings) -> Plan:
    """The plan of a draw; totals come from where the cost does, unless that is published."""
    source = Source(str(settings["source"]))
    totals = Source.DECLARED if source is Source.PUBLISHED else source
    return Plan(
        float(settings.get("epsilon", EPSILON)),
        float(settings["alpha"]),
        float(settings.get("beta", BETA)),
        protect=[LETTERS[letter] for letter in str(settings["groups"])],
        cost=Source.DECLARED if source is Source.PUBLISHED else source,
        totals=totals,
        room=float(settings["room"]),
    )


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """One release, and all that is measured of it."""
    return [measured(network, joint_plan(settings), seed)]


class Measure(NamedTuple):
    """A column in words, and the mean that suits its range."""

    words: str
    unit: str
    stat: Callable[[Iterable[float]], Mean | None] = size_of


def _correlation(values: Iterable[float]) -> Mean | None:
    return mean_of(values, -1.0, 1.0)


def _ratio(values: Iterable[float]) -> Mean | None:
    """Of positive ones: a network whose lines lose nothing has no ratio of losses."""
    return geometric_of(value for value in values if value > 0)


def _part(values: Iterable[float]) -> Mean | None:
    return mean_of(values, 0.0, 1.0)


MEASURES = {
    "excess": Measure("Attack similarity over who knows the topology alone", "points", points_of),
    "cost_error_pct": Measure("Cost error", "%"),
    "gap_change_points": Measure("Change of the SOC gap", "points", mean_of),
    "losses_ratio": Measure("Losses", "×", _ratio),
    "price_correlation": Measure("Correlation of prices", "", _correlation),
    "reactance_error_pct": Measure("Error of a reader's best guess of x", "%"),
    "load_error_pct": Measure("Error of the best guess of loads", "%"),
    "limit_error_pct": Measure("Error of the best guess of largest outputs", "%"),
    "cost_coefficient_error_pct": Measure("Error of the best guess of costs", "%"),
}
MORE = {
    "effort": Measure("Effort of the repair", "AC-OPFs"),
    "similarity": Measure("Attack similarity", "%", percent_of),
    "congested_in_common": Measure("Congested lines in common", "share", _part),
    "reactance_released_pct": Measure("Released reactances off by", "%"),
    "load_released_pct": Measure("Released loads off by", "%"),
    "cost_coefficient_released_pct": Measure("Released cost coefficients off by", "%"),
    "rating_error_pct": Measure("Error of the best guess of ratings", "%"),
}
ALL = MEASURES | MORE
WORDS = "Letters: L lines, R ratings, D loads, G limits of units, C costs."


def section(results: Results) -> Section:
    """Small multiples over α, a series per set of groups; a chart for each case, source and room."""
    charts = []
    for case, source, room in product(results.values("case"), results.values("source"), results.values("room")):
        here = results.where(case=case, source=source, room=room)
        charts.append(
            Chart(
                f"What is hidden and what is kept on {case}, facts {source}, room {setting(room)}",
                f"Means with 95 % intervals, of losses the geometric mean. {WORDS} An excess of nothing means that the "
                "release tells an attacker no more than a map does.",
                tuple(_panel(here, name) for name in MEASURES),
                3,
            )
        )

    def stat(name: str) -> Callable[[Results], str]:
        return lambda part: interval(_mean(part, name))

    columns = [("Certified (%)", lambda part: interval(_certified(part)))]
    columns += [(f"{one.words} ({one.unit})" if one.unit else one.words, stat(name)) for name, one in ALL.items()]
    names = {"case": "case", "groups": "groups", "alpha": "α", "room": "room", "source": "facts"}
    sheet = sheet_of("Means with 95 % intervals", results, names, columns)
    return Section(_found(results), _answer(results), tuple(charts), (sheet,))


def _mean(part: Results, name: str) -> Mean | None:
    return ALL[name].stat(part.column(name))


def _certified(part: Results) -> Mean | None:
    return share_of(row["certified"] for row in part.rows)


def _panel(here: Results, name: str) -> Panel:
    measure, series = MEASURES[name], []
    for rank, groups in enumerate(here.values("groups")):
        points = [(a, _mean(here.where(groups=groups, alpha=a), name)) for a in here.values("alpha")]
        series.append(mean_series(str(groups), f"rank{rank % 3}", "lines", points))
    axes: dict[str, Any] = {"x_log": True, "y_zero": measure.stat is size_of}
    if measure.stat is _ratio:
        axes |= {"y_log": True, "reference": 1.0}
    if name == "excess":
        axes["reference"] = 0.0
    return Panel(measure.words, tuple(series), "α", measure.unit, **axes)


def _usual(results: Results) -> Results:
    """The first source and the smallest room, of which the summary speaks."""
    return results.where(source=results.values("source")[0], room=results.values("room")[0])


def _answer(results: Results) -> Chart:
    """By groups: what an attacker gains, and what a user loses."""
    here, panels = _usual(results), []
    for name in ("excess", "cost_error_pct"):
        series = []
        for rank, a in enumerate(here.values("alpha")):
            points = [(str(g), _mean(here.where(groups=g, alpha=a), name)) for g in here.values("groups")]
            series.append(mean_series(f"α = {setting(a)}", f"rank{rank % 3}", "points", points))
        measure = MEASURES[name]
        zero = {"reference": 0.0} if name == "excess" else {"y_zero": True}
        panels.append(Panel(measure.words, tuple(series), "what is protected", measure.unit, **zero))
    return Chart(
        f"By what is protected, on {where(results)}",
        f"Means with 95 % intervals, facts {here.values('source')[0]}, room {setting(here.values('room')[0])}. {WORDS} "
        f"On the left, 0 means that the release tells an attacker no more than a map does.{together(results)}",
        tuple(panels),
        2,
    )


def _found(results: Results) -> tuple[str, ...]:
    here = _usual(results)
    a = usual(here.values("alpha"))
    found = [f"Draws that gave a certified release, whatever is protected: {interval(_certified(results), unit=' %')}."]
    for groups in here.values("groups"):
        part = here.where(groups=groups, alpha=a)
        excess, cost = _mean(part, "excess"), _mean(part, "cost_error_pct")
        if excess is not None and cost is not None:
            found.append(
                f"{groups} at α = {setting(a)}: an attacker finds {interval(excess, unit=' points')} more of the lines "
                f"than with a map alone; the cost is off by {interval(cost, unit=' %')}."
            )
    return tuple(found)


STUDY = Study(
    name="joint",
    title="More than lines",
    question="What does it hide to protect loads, limits, costs and ratings as well, and what does a user lose by it?",
    paper="ours",
    cases=("case39_epri", "case118_ieee"),
    settings={
        "groups": ("L", "D", "G", "LR", "LRD", "LRDG", "LRDGC"), "alpha": (0.1, 0.3, 1.0), "room": (0.001, 0.05),
        "source": (str(Source.PRIVATE), str(Source.DECLARED)),
    },
    columns=COLUMNS,
    work=measure,
    section=section,
    draws=50,
    version=2,
)  # fmt: skip
