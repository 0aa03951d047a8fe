"""What attacks leave: load restored by attacker and budget, and what a release adds to the damage."""

from __future__ import annotations

from itertools import product

from gridveil.charts.chart import Chart, Panel, Section, Series, Sheet
from gridveil.charts.numbers import number, setting
from gridveil.charts.results import Results, grouped
from gridveil.charts.series import NAMES, in_order, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, percent_of, points_of
from gridveil.study.saying import SETTING, by_mechanism, each, mean, together, usual, where

MODELS = "Literal is the paper's restoration model; switchable lets the operator switch generators and shunts off."
_WORDS = {"alpha": "α", "steps": "r"}


def restored(results: Results, settings: tuple[str, ...]) -> Section:
    """Load restored by budget: a column of panels per value of the settings, a row per restoration model."""
    charts = []
    for case in results.values("case"):
        here, panels = results.where(case=case), []
        across = list(product(*(here.values(name) for name in settings)))
        for rules in ordered(here.values("restoration")):
            for values in across:
                part = here.where(restoration=rules, **dict(zip(settings, values, strict=True)))
                chosen = ", ".join(f"{_WORDS[name]} = {setting(v)}" for name, v in zip(settings, values, strict=True))
                panels.append(
                    Panel(f"{chosen} · {rules}", _by_attacker(part), "budget (% of lines)",
                          "load restored (%)", y_range=(0, 104))
                )  # fmt: skip
        charts.append(
            Chart(
                f"Load restored after attacks on {case}",
                "Means with 95 % intervals. Lower is worse for the operator. Attackers who do not look at the lines of "
                f"the release one by one are shown once, over the draws of all mechanisms. {MODELS}",
                tuple(panels),
                len(across),
            )
        )
    keys = {**SETTING, **({"steps": "r"} if "steps" in settings else {}), "restoration": "restoration"}
    sheet = sheet_of(
        "Load restored",
        results,
        {**keys, "attacker": "attacker", "budget": "budget (%)"},
        [
            ("restored (%), 95 % interval", lambda part: interval(percent_of(part.column("restored_pct")))),
            ("similarity (%)", lambda part: number(mean(part, "similarity"))),
            ("not optimal", lambda part: str(sum(row["outcome"] != "optimal" for row in part.rows))),
        ],
        "“Not optimal” counts restorations that ended otherwise; an infeasible island restores nothing in the paper's "
        "model. Similarity is the share of the real flow attack's lines that the attacker cuts too.",
    )
    return Section(_found(results), _answer(results, settings[1:]), tuple(charts), (_harm_sheet(results, keys), sheet))


def _answer(results: Results, across: tuple[str, ...]) -> Chart:
    """Marginal harm over α, a panel per restoration model (and number of steps), at the usual budget."""
    budget = _budget(results)
    rules = ordered(results.values("restoration"))
    panels = []
    for values in product(rules, *(results.values(name) for name in across)):
        here = results.where(budget=budget, **dict(zip(("restoration", *across), values, strict=True)))
        title = " · ".join(
            [values[0], *(f"{_WORDS[n]} = {setting(v)}" for n, v in zip(across, values[1:], strict=True))]
        )
        series = by_mechanism(here, _harm, "points", " points")
        panels.append(Panel(title, series, "α", "harm that the release adds (points)", reference=0.0))
    return Chart(
        f"What the release adds to the damage on {where(results)}, budget {setting(budget)} %",
        "Load that cannot be restored after an attack on the flows of the release, minus the same without line data, "
        "in percentage points of the load, draw by draw. Above the dashed line the release helps the attacker; below "
        f"it misleads. Whiskers are 95 % intervals.{together(results)} {MODELS}",
        tuple(panels),
        2 if len(panels) > 1 else 1,
    )


def _budget(results: Results) -> float:
    budgets = results.values("budget")
    return float(10.0 if 10.0 in budgets else budgets[-1])


def _found(results: Results) -> tuple[str, ...]:
    a, budget = usual(results.values("alpha")), _budget(results)
    found = []
    for rules in ordered(results.values("restoration")):
        here = results.where(alpha=a, budget=budget, restoration=rules)
        lost = each(here, lambda part: percent_of(100 - v for v in part.column("restored_pct")), name="attacker")
        found.append(
            f"With a budget of {setting(budget)} % and {rules} restoration, at α = {setting(a)}, the load that cannot "
            f"be restored is, by attacker: {lost}."
        )
        harm = each(here, _harm, " points")
        if harm:
            found.append(f"Of that the release adds, against an attacker without line data: {harm}.")
    return tuple(found)


def _by_attacker(part: Results) -> tuple[Series, ...]:
    budgets, series = part.values("budget"), []

    def curve(chosen: Results, name: str, look: str) -> None:
        points = [(b, percent_of(chosen.where(budget=b).column("restored_pct"))) for b in budgets]
        series.append(mean_series(name, look, "lines", points, unit=" %"))

    for attacker in ordered({row["attacker"] for row in part.rows}):
        chosen = part.where(attacker=attacker)
        if attacker == "released":
            for mechanism in ordered(part.values("mechanism")):
                curve(chosen.where(mechanism=mechanism), f"flows of the release, {mechanism}", mechanism)
        else:
            curve(chosen, NAMES[attacker], attacker)
    return tuple(series)


def _harm_sheet(results: Results, keys: dict[str, str]) -> Sheet:
    """What the release adds to the damage that is possible without line data, draw by draw."""
    budgets, rows = results.values("budget"), []
    for key, part in grouped(results, list(keys), in_order).items():
        cells = [setting(value) for value in key]
        stats = [_harm(part.where(budget=budget)) for budget in budgets]
        draws = len({row["key"] for row in part.rows})
        rows.append((*cells, *(interval(stat) for stat in stats), str(draws), str(len(part.failed))))
    return Sheet(
        "Marginal harm: damage with the release minus damage without line data",
        (*keys.values(), *(f"budget {setting(budget)} %" for budget in budgets), "n (draws)", "failed"),
        tuple(rows),
        len(keys),
        "Points of load, with 95 % intervals. Positive: the release helps the attacker. Negative: it misleads.",
    )


def _harm(part: Results) -> Mean | None:
    by_task: dict[str, dict[str, float]] = {}
    for row in part.rows:
        if row["restored_pct"] is not None:
            by_task.setdefault(row["key"], {})[row["attacker"]] = row["restored_pct"]
    both = [(one["released"], one["public"]) for one in by_task.values() if {"released", "public"} <= set(one)]
    return points_of(public - released for released, public in both)
