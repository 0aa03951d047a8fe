"""Section on joint releases: excess similarity, cost, gaps, losses and prices by group, α and room."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from gridveil.report.chart import Chart, Panel, Section
from gridveil.report.series import interval, mean_series, setting, sheet_of
from gridveil.report.statistics import Results, mean_of, share_of

MEASURES = {
    "excess": ("Attack similarity over who knows the topology alone", "points"),
    "cost_error_pct": ("Cost error", "%"),
    "gap_change_points": ("Change of the SOC gap", "points"),
    "losses_ratio": ("Losses", "×"),
    "price_correlation": ("Correlation of prices", ""),
    "reactance_error_pct": ("Error of a reader's best guess of x", "%"),
    "load_error_pct": ("Error of the best guess of loads", "%"),
    "limit_error_pct": ("Error of the best guess of largest outputs", "%"),
    "cost_coefficient_error_pct": ("Error of the best guess of costs", "%"),
}
MORE = {
    "effort": ("Effort of the repair", "AC-OPFs"),
    "similarity": ("Attack similarity", "%"),
    "congested_in_common": ("Congested lines in common", "share"),
    "reactance_released_pct": ("Released reactances off by", "%"),
    "load_released_pct": ("Released loads off by", "%"),
    "cost_coefficient_released_pct": ("Released cost coefficients off by", "%"),
    "rating_error_pct": ("Error of the best guess of ratings", "%"),
}


def joint(results: Results) -> Section:
    """Small multiples over α, a series per set of groups; a chart for each case, source and room."""
    charts = []
    for case, source, room in product(results.values("case"), results.values("source"), results.values("room")):
        here, panels = results.where(case=case, source=source, room=room), []
        for measure, (words, unit) in MEASURES.items():
            series = []
            for rank, groups in enumerate(results.values("groups")):
                points = [
                    (a, mean_of(here.where(groups=groups, alpha=a).column(measure))) for a in results.values("alpha")
                ]
                series.append(mean_series(str(groups), f"rank{rank % 3}", "lines", points))
            panels.append(Panel(words, tuple(series), "α", unit, x_log=True))
        charts.append(
            Chart(
                f"What is hidden and what is kept on {case}, facts {source}, room {setting(room)}",
                "Means with 95 % intervals; letters: L lines, R ratings, D loads, G limits of units, C costs. An "
                "excess of nothing means that the release tells an attacker no more than a map does.",
                tuple(panels),
                3,
            )
        )

    def mean(measure: str) -> Callable[[Results], str]:
        return lambda part: interval(mean_of(part.column(measure)))

    shown = MEASURES | MORE
    certified = ("Certified (%)", lambda part: interval(share_of(row["certified"] for row in part.rows)))
    columns = [
        certified,
        *((f"{words} ({unit})" if unit else words, mean(name)) for name, (words, unit) in shown.items()),
    ]
    names = {"case": "case", "groups": "groups", "alpha": "α", "room": "room", "source": "facts"}
    return Section(tuple(charts), (sheet_of("Means with 95 % intervals", results, names, columns),))
