"""Fig. 2 and 10: the optimal dispatch cost, before and after."""

from __future__ import annotations

from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, box_series, deviation, mean_series, ordered, sheet_of
from gridveil.charts.statistics import box_of, mean_of
from gridveil.grid import Network
from gridveil.nlp.solver import Status
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import ALPHAS, LAPLACE, RELEASES, bare, optimum, released, true_optimum
from gridveil.study.saying import SETTING, boxes_by_mechanism, largest, median, together, where


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Change of the optimal dispatch cost in per cent, by the paper's formula: positive where it is cheaper."""
    true = true_optimum(network).cost
    made = (
        bare(network, settings, seed) if settings["mechanism"] == LAPLACE else released(network, settings, seed).network
    )
    solution = optimum(made)
    if solution.status is not Status.OPTIMAL:
        return [{"feasible": False, "cost": None, "difference_pct": None}]
    return [{"feasible": True, "cost": solution.cost, "difference_pct": 100 * (true - solution.cost) / true}]


def section(results: Results) -> Section:
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
        {**SETTING, "beta": "β"},
        [
            ("difference (%), mean ± sd", lambda part: deviation(mean_of(part.column("difference_pct")))),
            ("median (%)", lambda part: number(median(part, "difference_pct"))),
            ("largest |difference| (%)", lambda part: number(largest(part, "difference_pct"))),
            ("infeasible", lambda part: str(sum(not row["feasible"] for row in part.rows))),
        ],
    )
    answer = Chart(
        f"How far the optimal cost of {where(results)} moves",
        "Size of the cost difference between original and released network, per cent of the original's; quartiles, and "
        f"whiskers at the outermost values within 1.5 interquartile ranges.{together(results)}",
        tuple(
            Panel(f"β = {setting(beta)}", boxes_by_mechanism(results.where(beta=beta), _sizes), "α",
                  "|cost difference| (%)", y_zero=True)
            for beta in results.values("beta")
        ),
        2,
    )  # fmt: skip
    found, solved = [], sum(row["feasible"] for row in results.rows)
    for beta in results.values("beta"):
        here = results.where(beta=beta)
        worst = ((m, largest(here.where(mechanism=m), "difference_pct")) for m in ordered(here.values("mechanism")))
        said = [f"{NAMES[m]} {number(value)} %" for m, value in worst if value is not None]
        if said:
            found.append(f"With β = {setting(beta)} the cost is off by at most: {', '.join(said)}, at any α.")
    found.append(
        f"{solved:,} of {counted(len(results.rows), 'network')} had an AC-OPF solution; only those have a cost."
    )
    return Section(tuple(found), answer, tuple(charts), (sheet,))


def _sizes(part: Results) -> list[float]:
    return [abs(value) for value in part.column("difference_pct")]


STUDY = Study(
    name="costs",
    title="Change of the optimal dispatch cost",
    question="Is it as dear to run the released network as the original?",
    paper="Figures 2 and 10",
    cases=("case39_epri",),
    settings={"mechanism": (LAPLACE, *RELEASES), "alpha": ALPHAS, "beta": (0.01, 0.1)},
    columns={"feasible": bool, "cost": float, "difference_pct": float},
    work=measure,
    section=section,
    version=2,
)
