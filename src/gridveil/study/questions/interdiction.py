"""An attacker who searches for the worst lines, beside the one who looks at flows."""

from __future__ import annotations

from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, percent_of
from gridveil.grid import Network
from gridveil.study.attacked import COLUMNS, attacked
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES, released
from gridveil.study.restored import MODELS
from gridveil.study.saying import SETTING, each, together, usual, where


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """The attacker who searches, beside the one who looks at flows, on the released network."""
    seen = released(network, settings, seed).network
    return attacked(network, seen, (10.0,), ("real", "released", "interdiction"), seed)


def section(results: Results) -> Section:
    """Ours: does searching do more damage than looking at flows?"""
    charts = []
    for case in results.values("case"):
        panels = []
        for rules in ordered(results.values("restoration")):
            for mechanism in ordered(results.values("mechanism")):
                here = results.where(case=case, restoration=rules, mechanism=mechanism)
                series = tuple(
                    mean_series(NAMES[who], who, "bars", [
                        (setting(a), _damage(here.where(attacker=who, alpha=a))) for a in results.values("alpha")],
                        unit=" %")
                    for who in ordered(results.values("attacker"))
                )  # fmt: skip
                title = f"{mechanism} · {rules}"
                panels.append(Panel(title, series, "α", "load not restored (%)", y_range=(0, 104)))
        charts.append(
            Chart(
                f"Damage to {case}: search against flows",
                "Share of the load that cannot be restored, means with 95 % intervals. The search looks for the worst "
                "lines on the released network; the damage is that of the real one. " + MODELS,
                tuple(panels),
                max(len(results.values("mechanism")), 1),
            )
        )
    keys = {**SETTING, "restoration": "restoration", "attacker": "attacker", "budget": "budget (%)"}
    columns = [("not restored (%), 95 % interval", lambda part: interval(_damage(part)))]
    a = usual(results.values("alpha"))
    answer = Chart(
        f"Load that cannot be restored on {where(results)}: search against flows",
        f"All mechanisms together, by α; means with 95 % intervals.{together(results)} {MODELS}",
        tuple(
            Panel(rules, tuple(
                mean_series(NAMES[who], who, "bars", [
                    (setting(b), _damage(results.where(restoration=rules, attacker=who, alpha=b)))
                    for b in results.values("alpha")], unit=" %")
                for who in ordered(results.values("attacker"))), "α", "load not restored (%)", y_range=(0, 104))
            for rules in ordered(results.values("restoration"))
        ),
        2,
    )  # fmt: skip
    found = tuple(
        f"With {rules} restoration, at α = {setting(a)}, the load that cannot be restored is, by attacker: "
        f"{each(results.where(restoration=rules, alpha=a), _damage, name='attacker')}."
        for rules in ordered(results.values("restoration"))
    )
    return Section(found, answer, tuple(charts), (sheet_of("Damage", results, keys, columns),))


def _damage(part: Results) -> Mean | None:
    return percent_of(100 - value for value in part.column("restored_pct"))


STUDY = Study(
    name="interdiction",
    title="An attacker who searches for the worst lines",
    question="Does searching on the release do more damage than looking at its flows?",
    paper="ours",
    cases=("case39_epri", "case118_ieee"),
    settings={"mechanism": RELEASES, "alpha": (0.01, 0.1, 1.0)},
    columns=COLUMNS,
    work=measure,
    section=section,
    draws=5,
    version=2,
)
