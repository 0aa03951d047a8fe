"""Sections on what a release keeps: `feasibility`, `resistances`, `costs`, `gaps`, `frontier`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from math import isfinite

import numpy as np

from gridveil.report.change_map import change_maps
from gridveil.report.chart import Chart, Panel, Section, Series
from gridveil.report.published import NETWORKS, laplace_feasible
from gridveil.report.series import (
    NAMES,
    box_series,
    deviation,
    interval,
    mean_series,
    ordered,
    setting,
    sheet_of,
)
from gridveil.report.statistics import Box, Mean, Results, box_of, mean_of, percent_of, share_of
from gridveil.report.words import number

POINTS = 400
"""Lines of a scatter plot at most; of larger networks every so many-th is shown."""
_SETTING = {"case": "case", "mechanism": "mechanism", "alpha": "α"}


def feasibility(results: Results) -> Section:
    """Table II: per cent of feasible networks, the paper's numbers beside ours."""
    alphas, panels = results.values("alpha"), []
    for case in results.values("case"):
        series = []
        for mechanism in ordered(results.values("mechanism")):
            points = [(setting(a), _feasible(results.where(case=case, mechanism=mechanism, alpha=a))) for a in alphas]
            series.append(mean_series(NAMES[mechanism], mechanism, "bars", points, unit=" %"))
        stated = [(setting(a), value) for a in alphas if (value := laplace_feasible(case, a)) is not None]
        if stated:
            words = tuple(f"{value:g} % in the paper's Table II" for _, value in stated)
            xs, ys = tuple(x for x, _ in stated), tuple(value for _, value in stated)
            series.insert(1, Series("bare Laplace noise, as published", "published", "bars", xs, ys, words=words))
        panels.append(Panel(case, tuple(series), "α", "AC-feasible (%)", y_range=(0, 104)))

    def published(part: Results) -> str:
        row = (*part.rows, *part.failed)[0]
        value = laplace_feasible(row["case"], row["alpha"]) if row["mechanism"] == "laplace" else None
        return number(value)

    chart = Chart(
        "AC-feasible networks by α",
        "Share of draws whose network has an AC-OPF solution; whiskers are Wilson's 95 % intervals. For releases the "
        "certificate must pass as well.",
        tuple(panels),
        min(len(panels), 4),
    )
    sheet = sheet_of(
        "Feasible networks",
        results,
        _SETTING,
        [("feasible (%), 95 % interval", lambda part: interval(_feasible(part))), ("the paper (%)", published)],
        f"{NETWORKS} It prints numbers for bare Laplace noise, and one column for α ≥ 0.1.",
    )
    return Section((chart,), (sheet,))


def _feasible(part: Results) -> Mean | None:
    return share_of(row["feasible"] and row["certified"] is not False for row in part.rows)


def resistances(results: Results) -> Section:
    """Fig. 1: line resistances before and after, one draw; and maps of the change of |z|."""
    charts = []
    for case in results.values("case"):
        here = results.where(case=case)
        if not here.rows:
            continue
        largest = max(row["r"] for row in here.rows) or 1.0
        frame, panels = (-0.75 * largest, 2.5 * largest), []
        for alpha in here.values("alpha"):
            series, outside = [], 0
            for mechanism in ordered(here.values("mechanism")):
                part = here.where(alpha=alpha, mechanism=mechanism)
                first = min((row["draw"] for row in part.rows), default=0)
                drawn = [row for row in part.rows if row["draw"] == first and isfinite(row["released_r"])]
                drawn = drawn[:: max(1, -(-len(drawn) // POINTS))]
                x, y = tuple(row["r"] for row in drawn), tuple(row["released_r"] for row in drawn)
                outside += sum(not frame[0] <= value <= frame[1] for value in y)
                words = tuple(f"line {row['line']}, {row['bus_from']}–{row['bus_to']}" for row in drawn)
                series.append(Series(NAMES[mechanism], mechanism, "points", x, y, words=words))
            note = f"outside the frame: {outside}" if outside else ""
            panels.append(
                Panel(f"α = {setting(alpha)}", tuple(series), "original r (p.u.)", "r afterwards (p.u.)",
                      y_range=frame, x_range=(-0.05 * largest, 1.08 * largest), diagonal=True, note=note)
            )  # fmt: skip
        charts.append(
            Chart(
                f"Line resistances of {case}, original against released",
                "One draw; the line is y = x. The frame is the same in all panels and cuts off the wildest values.",
                tuple(panels),
                min(len(panels), 4),
            )
        )
    sheet = sheet_of(
        "Change of resistances over all draws",
        results,
        _SETTING,
        [
            ("median |r̃/r − 1| (%)", lambda part: number(_quantile(part, 50))),
            ("90th percentile (%)", lambda part: number(_quantile(part, 90))),
            ("within 1 % (%)", lambda part: number(_within(part))),
        ],
        "Lines without resistance are left out.",
    )
    return Section(tuple(charts), (sheet,), change_maps(results))


def _changes(part: Results) -> np.ndarray:
    """|r̃/r − 1| in per cent, of lines that have a resistance before and a finite one afterwards."""
    pairs = np.array([(row["r"], row["released_r"]) for row in part.rows], dtype=np.float64).reshape(-1, 2)
    r, released = pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] != 0)].T
    change: np.ndarray = 100 * np.abs(released / r - 1)
    return change


def _quantile(part: Results, percent: float) -> float | None:
    change = _changes(part)
    return float(np.percentile(change, percent)) if len(change) else None


def _within(part: Results) -> float | None:
    change = _changes(part)
    return float(100 * np.mean(change <= 1)) if len(change) else None


def costs(results: Results) -> Section:
    """Fig. 2, means with standard deviations, and Fig. 10, box plots."""
    charts = []
    for case in results.values("case"):
        for kind in ("bars", "boxes"):
            panels = []
            for beta in results.values("beta"):
                series = []
                for mechanism in ordered(results.values("mechanism")):
                    name = NAMES[mechanism]
                    parts = [
                        (setting(a), results.where(case=case, beta=beta, mechanism=mechanism, alpha=a).column(
                            "difference_pct")) for a in results.values("alpha")
                    ]  # fmt: skip
                    if kind == "bars":
                        means = [(x, mean_of(values)) for x, values in parts]
                        series.append(mean_series(name, mechanism, "bars", means, "sd", " %"))
                    else:
                        series.append(box_series(name, mechanism, [(x, box_of(values)) for x, values in parts]))
                panels.append(Panel(f"β = {setting(beta)}", tuple(series), "α", "cost difference (%)"))
            words = "mean and standard deviation" if kind == "bars" else "box plots"
            charts.append(
                Chart(
                    f"Dispatch cost of {case}, original minus released: {words}",
                    "100·(O(N) − O(Ñ))/O(N), the paper's formula: positive where the released network is cheaper. "
                    "Only feasible networks have a cost.",
                    tuple(panels),
                    2,
                )
            )
    sheet = sheet_of(
        "Cost differences",
        results,
        {**_SETTING, "beta": "β"},
        [
            ("difference (%), mean ± sd", lambda part: deviation(mean_of(part.column("difference_pct")))),
            ("median (%)", lambda part: number(_median(part, "difference_pct"))),
            ("largest |difference| (%)", lambda part: number(_largest(part, "difference_pct"))),
            ("infeasible", lambda part: str(sum(not row["feasible"] for row in part.rows))),
        ],
    )
    return Section(tuple(charts), (sheet,))


def _median(part: Results, name: str) -> float | None:
    box: Box | None = box_of(part.column(name))
    return None if box is None else box.median


def _largest(part: Results, name: str) -> float | None:
    return max((abs(value) for value in part.column(name)), default=None)


def gaps(results: Results) -> Section:
    """Fig. 3 and 11: gaps of the released networks around that of the original."""
    charts = []
    for case in results.values("case"):
        panels = []
        for relaxation in ordered(results.values("relaxation")):
            for beta in results.values("beta"):
                here = results.where(case=case, relaxation=relaxation, beta=beta)
                series = tuple(
                    box_series(NAMES[m], m, [
                        (setting(a), box_of(here.where(mechanism=m, alpha=a).column("released_pct")))
                        for a in results.values("alpha")])
                    for m in ordered(results.values("mechanism"))
                )  # fmt: skip
                original = mean_of(here.column("original_pct"))
                level = None if original is None else original.mean
                title = f"{relaxation.upper()}, β = {setting(beta)} · original {number(level)} %"
                positive = all(box.low > 0 for one in series for box in one.boxes) and (level or 0) > 0
                panels.append(Panel(title, series, "α", "optimality gap (%)", y_log=positive, reference=level))
        charts.append(
            Chart(
                f"Optimality gaps of {case}",
                "100·|O(N) − Ô(N)|/O(N) for the QC and SOC relaxations; the dashed line is the original's gap.",
                tuple(panels),
                max(len(results.values("beta")), 1),
            )
        )
    sheet = sheet_of(
        "Optimality gaps",
        results,
        {**_SETTING, "beta": "β", "relaxation": "relaxation"},
        [
            ("original (%)", lambda part: number(_median(part, "original_pct"))),
            ("released (%), mean ± sd", lambda part: deviation(mean_of(part.column("released_pct")))),
            ("median (%)", lambda part: number(_median(part, "released_pct"))),
            ("no gap", lambda part: str(sum(row["released_pct"] is None for row in part.rows))),
        ],
        "“No gap” counts draws where a solve did not end.",
    )
    return Section(tuple(charts), (sheet,))


_FRONTIER = {
    "reconstruction_error_pct": ("Error of a reader's best guess of x", "%"),
    "cost_error_pct": ("Cost error", "%"),
    "gap_change_points": ("Change of the QC gap", "points"),
    "similarity": ("Attack similarity", "%"),
    "restored_pct": ("Load restored", "%"),
}


def _frontier_mean(part: Results, measure: str) -> Mean | None:
    return (percent_of if measure in ("similarity", "restored_pct") else mean_of)(part.column(measure))


def frontier(results: Results) -> Section:
    """Privacy against fidelity: small multiples over α, a series per ε; a chart for each source of the public cost."""
    charts = []
    for case, source in product(results.values("case"), results.values("source") or [None]):
        for mechanism in ordered(results.values("mechanism")):
            here, panels = results.where(case=case, mechanism=mechanism), []
            here = here if source is None else here.where(source=source)
            for measure, (words, unit) in _FRONTIER.items():
                series = []
                for rank, epsilon in enumerate(results.values("epsilon")):
                    points = [
                        (a, _frontier_mean(here.where(epsilon=epsilon, alpha=a), measure))
                        for a in results.values("alpha")
                    ]
                    series.append(mean_series(f"ε = {setting(epsilon)}", f"rank{rank % 3}", "lines", points))
                panels.append(Panel(words, tuple(series), "α", unit, x_log=True))
            charts.append(
                Chart(
                    f"What α and ε do on {case}, mechanism {mechanism}" + (f", cost {source}" if source else ""),
                    "Means with 95 % intervals. The first panel is the leak check's: the median error of the "
                    "reactances as told by the attacker that tells them best (released values, engineering prior, "
                    "ratings, charging, ratios, cost); the next two are what an honest user loses; the last two are "
                    "what a flow attack with a budget of 10 % still finds and does.",
                    tuple(panels),
                    3,
                )
            )

    def mean(measure: str) -> Callable[[Results], str]:
        return lambda part: interval(_frontier_mean(part, measure))

    def channel(part: Results) -> str:
        found = Counter(row["channel"] for row in part.rows)
        return ", ".join(f"{name} {count}" for name, count in found.most_common())

    columns = [(f"{words} ({unit})", mean(measure)) for measure, (words, unit) in _FRONTIER.items()]
    columns.insert(1, ("by", channel))
    sheet = sheet_of("Means with 95 % intervals", results, {**_SETTING, "epsilon": "ε", "source": "cost"}, columns)
    return Section(tuple(charts), (sheet,))
