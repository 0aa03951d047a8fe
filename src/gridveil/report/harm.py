"""Sections on what an attacker gains: the studies of attacks, their similarity, and of the attacker who searches."""

from __future__ import annotations

from itertools import product

from gridveil.attacks.scores import Interval, marginal_harm
from gridveil.report.chart import Chart, Panel, Section, Series, Sheet
from gridveil.report.series import NAMES, in_order, interval, mean_series, ordered, setting, sheet_of
from gridveil.report.statistics import Mean, Results, grouped, mean_of, percent_of
from gridveil.report.words import number

_SETTING = {"case": "case", "mechanism": "mechanism", "alpha": "α"}
_MODELS = "Literal is the paper's restoration model; switchable lets the operator switch generators and shunts off."
_WORDS = {"alpha": "α", "steps": "r"}


def attacks(results: Results) -> Section:
    """Fig. 4 to 6: load restored by budget, a column of panels per α, a row per restoration model."""
    return _restored(results, ("alpha",))


def time_series_attacks(results: Results) -> Section:
    """Fig. 7 and 8: the same for releases over r steps."""
    return _restored(results, ("alpha", "steps"))


def _restored(results: Results, settings: tuple[str, ...]) -> Section:
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
                          "load restored (%)", y_range=(-3, 104))
                )  # fmt: skip
        charts.append(
            Chart(
                f"Load restored after attacks on {case}",
                "Means with 95 % intervals. Lower is worse for the operator. Attackers who do not look at the lines of "
                f"the release one by one are shown once, over the draws of all mechanisms. {_MODELS}",
                tuple(panels),
                len(across),
            )
        )
    keys = {**_SETTING, **({"steps": "r"} if "steps" in settings else {}), "restoration": "restoration"}
    sheet = sheet_of(
        "Load restored",
        results,
        {**keys, "attacker": "attacker", "budget": "budget (%)"},
        [
            ("restored (%), 95 % interval", lambda part: interval(percent_of(part.column("restored_pct")))),
            ("similarity (%)", lambda part: number(_mean(part, "similarity"))),
            ("not optimal", lambda part: str(sum(row["outcome"] != "optimal" for row in part.rows))),
        ],
        "“Not optimal” counts restorations that ended otherwise; an infeasible island restores nothing in the paper's "
        "model. Similarity is the share of the real flow attack's lines that the attacker cuts too.",
    )
    return Section(tuple(charts), (_harm_sheet(results, keys), sheet))


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


def _mean(part: Results, name: str) -> float | None:
    stat: Mean | None = mean_of(part.column(name))
    return None if stat is None else stat.mean


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
        (*keys.values(), *(f"budget {setting(budget)} %" for budget in budgets), "draws", "failed"),
        tuple(rows),
        len(keys),
        "Points of load, with 95 % intervals. Positive: the release helps the attacker. Negative: it misleads.",
    )


def _harm(part: Results) -> Interval | None:
    by_task: dict[str, dict[str, float]] = {}
    for row in part.rows:
        if row["restored_pct"] is not None:
            by_task.setdefault(row["key"], {})[row["attacker"]] = row["restored_pct"]
    both = [(one["released"], one["public"]) for one in by_task.values() if {"released", "public"} <= set(one)]
    if not both:
        return None
    return marginal_harm([released for released, _ in both], [public for _, public in both])


def attack_score(results: Results) -> Section:
    """Fig. 9: similarity over the number of used steps."""
    charts = []
    for case in results.values("case"):
        panels = []
        for alpha in results.values("alpha"):
            here = results.where(case=case, alpha=alpha)
            series = tuple(
                mean_series(NAMES[m], m, "lines", [
                    (r, percent_of(here.where(mechanism=m, steps=r).column("similarity")))
                    for r in results.values("steps")], unit=" %")
                for m in ordered(results.values("mechanism"))
            )  # fmt: skip
            panels.append(Panel(f"α = {setting(alpha)}", series, "steps used, r", "similarity (%)", y_range=(-3, 104)))
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
        ("similarity (%), 95 % interval", lambda part: interval(percent_of(part.column("similarity")))),
        ("restored (%)", lambda part: number(_mean(part, "restored_pct"))),
    ]
    return Section(tuple(charts), (sheet_of("Similarity", results, {**_SETTING, "steps": "r"}, columns),))


def interdiction(results: Results) -> Section:
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
                "lines on the released network; the damage is that of the real one. " + _MODELS,
                tuple(panels),
                max(len(results.values("mechanism")), 1),
            )
        )
    keys = {**_SETTING, "restoration": "restoration", "attacker": "attacker", "budget": "budget (%)"}
    columns = [("not restored (%), 95 % interval", lambda part: interval(_damage(part)))]
    return Section(tuple(charts), (sheet_of("Damage", results, keys, columns),))


def _damage(part: Results) -> Mean | None:
    return percent_of(100 - value for value in part.column("restored_pct"))
