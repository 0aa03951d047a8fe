"""Privacy against fidelity, to choose α and ε by. Noise grows with α/ε; everything else follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

from gridveil.api.solving import gap
from gridveil.attacks.attack import attack
from gridveil.charts.chart import Chart, Panel, Section, Series
from gridveil.charts.numbers import setting
from gridveil.charts.results import Results
from gridveil.charts.series import interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, mean_of, percent_of, size_of
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import best_attack
from gridveil.grid import Network
from gridveil.study.attacked import target
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import SOURCES, released, true_gap, true_optimum
from gridveil.study.saying import SETTING, together, usual, where


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Cost error, gap change, attack similarity, and how well the true reactances can be told from the release."""
    made = released(network, settings, seed)
    true, before, after = true_optimum(network), true_gap(network), gap(made.network)
    best = best_attack(network, [Reader(made.network, **reader_from_manifest(made.manifest))])
    seen = attack(target(network, "switchable"), "released", budget=10.0, released=made.network)
    change = None if after.qc_pct is None or before.qc_pct is None else after.qc_pct - before.qc_pct
    return [
        {
            "cost_error_pct": 100 * abs(made.point.cost - true.cost) / abs(true.cost),
            "gap_change_points": change,
            "similarity": seen.similarity,
            "reconstruction_error_pct": 100 * best.x.median,
            "channel": best.name,
            "restored_pct": seen.restored_percent,
        }
    ]


MEASURES = {
    "reconstruction_error_pct": ("Error of a reader's best guess of x", "%"),
    "cost_error_pct": ("Cost error", "%"),
    "gap_change_points": ("Change of the QC gap", "points"),
    "similarity": ("Attack similarity", "%"),
    "restored_pct": ("Load restored", "%"),
}


def _mean(part: Results, measure: str) -> Mean | None:
    stat = {"similarity": percent_of, "restored_pct": percent_of, "gap_change_points": mean_of}.get(measure, size_of)
    return stat(part.column(measure))


def section(results: Results) -> Section:
    """Privacy against fidelity: small multiples over α, a series per ε; a chart for each source of the public cost."""
    charts = []
    for case, source in product(results.values("case"), results.values("source") or [None]):
        for mechanism in ordered(results.values("mechanism")):
            here, panels = results.where(case=case, mechanism=mechanism), []
            here = here if source is None else here.where(source=source)
            for measure, (words, unit) in MEASURES.items():
                series = []
                for rank, epsilon in enumerate(results.values("epsilon")):
                    points = [
                        (a, _mean(here.where(epsilon=epsilon, alpha=a), measure)) for a in results.values("alpha")
                    ]
                    series.append(mean_series(f"ε = {setting(epsilon)}", f"rank{rank % 3}", "lines", points))
                panels.append(_panel(measure, words, tuple(series), unit))
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
        return lambda part: interval(_mean(part, measure))

    def channel(part: Results) -> str:
        found = Counter(row["channel"] for row in part.rows)
        return ", ".join(f"{name} {count}" for name, count in found.most_common())

    columns = [(f"{words} ({unit})", mean(measure)) for measure, (words, unit) in MEASURES.items()]
    columns.insert(1, ("by", channel))
    sheet = sheet_of("Means with 95 % intervals", results, {**SETTING, "epsilon": "ε", "source": "cost"}, columns)
    return Section(_found(results), _answer(results), tuple(charts), (sheet,))


def _panel(measure: str, words: str, series: tuple[Series, ...], unit: str) -> Panel:
    """A panel whose axis begins where its measure does."""
    if measure in ("similarity", "restored_pct"):
        return Panel(words, series, "α", unit, x_log=True, y_range=(0, 104))
    return Panel(words, series, "α", unit, x_log=True, y_zero=measure != "gap_change_points")


def _answer(results: Results) -> Chart:
    """What is hidden against what is lost, along α."""
    mechanism, panels = ordered(results.values("mechanism"))[-1], []
    for source in results.values("source"):
        series = []
        for rank, epsilon in enumerate(results.values("epsilon")):
            here = results.where(mechanism=mechanism, source=source, epsilon=epsilon)
            pairs = [
                (
                    a,
                    _mean(here.where(alpha=a), "reconstruction_error_pct"),
                    _mean(here.where(alpha=a), "cost_error_pct"),
                )
                for a in results.values("alpha")
            ]
            points = [(a, x, y) for a, x, y in pairs if x is not None and y is not None]
            words = tuple(
                f"α = {setting(a)}: error of x {interval(x, unit=' %')}, cost {interval(y, unit=' %')}"
                for a, x, y in points
            )
            series.append(
                Series(f"ε = {setting(epsilon)}", f"rank{rank % 3}", "lines", tuple(x.mean for _, x, _ in points),
                       tuple(y.mean for _, _, y in points), words=words, n=tuple(y.n for _, _, y in points))
            )  # fmt: skip
        panels.append(
            Panel(f"cost {source}", tuple(series), "error of a reader's best guess of x (%)", "cost error (%)",
                  x_zero=True, y_zero=True)
        )  # fmt: skip
    return Chart(
        f"What is hidden, and what an honest user loses, on {where(results)}: {mechanism}",
        "To the right is more hidden, below is less lost. A point per α, in its order along each line; means."
        + together(results),
        tuple(panels),
        2,
    )


def _found(results: Results) -> tuple[str, ...]:
    a, epsilon = usual(results.values("alpha")), usual(results.values("epsilon") or [1.0])
    found = []
    for source in results.values("source"):
        here = results.where(alpha=a, epsilon=epsilon, source=source)
        error, cost = _mean(here, "reconstruction_error_pct"), _mean(here, "cost_error_pct")
        if error is not None and cost is not None:
            found.append(
                f"At α = {setting(a)}, ε = {setting(epsilon)} and with the cost {source}, a reader's best guess of the "
                f"reactances is off by {interval(error, unit=' %')}, and the cost by {interval(cost, unit=' %')}."
            )
    return tuple(found)


STUDY = Study(
    name="frontier",
    title="Privacy against fidelity",
    question="How much does a release hide for what it costs an honest user, and which α and ε suit?",
    paper="ours",
    cases=("case39_epri",),
    settings={
        "mechanism": ("log",), "alpha": (0.01, 0.03, 0.1, 0.3, 1.0), "epsilon": (0.5, 1.0, 2.0), "source": SOURCES,
    },
    columns={
        "cost_error_pct": float, "gap_change_points": float, "similarity": float, "reconstruction_error_pct": float,
        "channel": str, "restored_pct": float,
    },
    work=measure,
    section=section,
    version=3,
)  # fmt: skip
