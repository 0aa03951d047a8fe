"""Fig. 9: how similar are attacks on releases over r steps to the real one?"""

from __future__ import annotations

from gridveil.attacks.attack import attack
from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, percent_of
from gridveil.grid import Network
from gridveil.study.attacked import over_steps, target
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES
from gridveil.study.saying import SETTING, each, mean, together, usual, where


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Similarity of the flow attacks on the released and on the real network at a budget of 10 %."""
    made = attack(target(network, "switchable"), "released", budget=10.0, released=over_steps(network, settings, seed))
    return [{"similarity": made.similarity, "restored_pct": made.restored_percent}]


def section(results: Results) -> Section:
    """Fig. 9: similarity over the number of used steps."""
    charts = []
    for case in results.values("case"):
        panels = []
        for alpha in results.values("alpha"):
            here = results.where(case=case, alpha=alpha)
            series = tuple(
                mean_series(NAMES[m], m, "lines", [
                    (r, _similarity(here.where(mechanism=m, steps=r)))
                    for r in results.values("steps")], unit=" %")
                for m in ordered(results.values("mechanism"))
            )  # fmt: skip
            panels.append(Panel(f"α = {setting(alpha)}", series, "steps used, r", "similarity (%)", y_range=(0, 104)))
        charts.append(
            Chart(
                f"Similarity of flow attacks on {case} to the real one",
                "Share of the lines of the real flow attack that the flows of the release lead to as well, with a "
                "budget of 10 %; means with 95 % intervals.",
                tuple(panels),
                max(len(panels), 1),
            )
        )
    columns = [
        ("similarity (%), 95 % interval", lambda part: interval(_similarity(part))),
        ("restored (%)", lambda part: number(mean(part, "restored_pct"))),
    ]
    sheet = sheet_of("Similarity", results, {**SETTING, "steps": "r"}, columns)
    several = len(results.values("case")) > 1
    return Section(_found(results), _answer(results) if several else charts[0], tuple(charts[not several :]), (sheet,))


def _similarity(part: Results) -> Mean | None:
    return percent_of(part.column("similarity"))


def _answer(results: Results) -> Chart:
    """All networks together, a panel per α."""
    panels = []
    for alpha in results.values("alpha"):
        here = results.where(alpha=alpha)
        series = tuple(
            mean_series(NAMES[m], m, "lines", [
                (r, _similarity(here.where(mechanism=m, steps=r))) for r in results.values("steps")], unit=" %")
            for m in ordered(results.values("mechanism"))
        )  # fmt: skip
        panels.append(Panel(f"α = {setting(alpha)}", series, "steps used, r", "similarity (%)", y_range=(0, 104)))
    return Chart(
        f"Similarity of flow attacks on {where(results)} to the real ones",
        f"Means with 95 % intervals, budget 10 %.{together(results)}",
        tuple(panels),
        max(len(panels), 1),
    )


def _found(results: Results) -> tuple[str, ...]:
    a, steps = usual(results.values("alpha")), results.values("steps")
    said = (
        f"{each(results.where(alpha=a, steps=r), _similarity)} with r = {r}"
        for r in dict.fromkeys((steps[0], steps[-1]))
    )
    return (
        f"Share of the real flow attack's lines that the flows of the release lead to, at α = {setting(a)}: "
        f"{'; '.join(said)}.",
    )


STUDY = Study(
    name="attack-score",
    title="Similarity of the attacks by steps used",
    question="Does a release that serves more steps lead an attacker to more of the right lines?",
    paper="Figure 9",
    cases=("case39_epri",),
    settings={"mechanism": RELEASES, "alpha": (0.01, 0.1), "steps": (1, 4, 7, 15, 31)},
    columns={"similarity": float, "restored_pct": float},
    work=measure,
    section=section,
    version=2,
)
