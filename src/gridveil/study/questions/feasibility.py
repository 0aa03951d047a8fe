"""Table II: is the network that comes out AC-feasible? Bare Laplace noise against releases."""

from __future__ import annotations

from gridveil.charts.chart import Chart, Panel, Section, Series
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, share_of
from gridveil.errors import CertificateFailed, RepairFailed
from gridveil.grid import Network
from gridveil.nlp.solver import Status
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import ALPHAS, LAPLACE, RELEASES, SMALL, bare, optimum, released, true_optimum
from gridveil.study.published import NETWORKS, laplace_feasible
from gridveil.study.saying import SETTING, by_mechanism, each, together, usual, where


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Is the network that comes out AC-feasible, and if released, certified?"""
    if settings["mechanism"] == LAPLACE:
        solution = optimum(bare(network, settings, seed))
        return [{"feasible": solution.status is Status.OPTIMAL, "certified": None, "detail": str(solution.status)}]
    true_optimum(network)  # without one there is nothing to release, and the task fails
    try:
        made = released(network, settings, seed)
    except (RepairFailed, CertificateFailed) as failure:
        return [{"feasible": False, "certified": False, "detail": str(failure)}]
    return [{"feasible": True, "certified": made.certificate.passed, "detail": made.manifest.repair.path}]


def section(results: Results) -> Section:
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
        SETTING,
        [("feasible (%), 95 % interval", lambda part: interval(_feasible(part))), ("the paper (%)", published)],
        f"{NETWORKS} It prints numbers for bare Laplace noise, and one column for α ≥ 0.1.",
    )
    answer = Chart(
        f"AC-feasible networks of {where(results)}",
        "Share of draws whose network has an AC-OPF solution, and of releases also a certificate that passes; whiskers "
        f"are Wilson's 95 % intervals.{together(results)}",
        (Panel("", by_mechanism(results, _feasible, "bars", " %"), "α", "AC-feasible (%)", y_range=(0, 104)),),
        1,
    )
    alphas = results.values("alpha")
    found = [
        f"Draws with an AC-feasible network at α = {setting(a)}: {each(results.where(alpha=a), _feasible)}."
        for a in dict.fromkeys((usual(alphas), alphas[-1]))
    ]
    released = [row for row in results.rows if row["certified"] is not None]
    lost = [row for row in released if not (row["feasible"] and row["certified"])]
    if released:
        found.append(
            f"Of {counted(len(released), 'release')} at any α, {len(released) - len(lost):,} are feasible and certified"
            + (f"; {len(lost):,} are not." if lost else ".")
        )
    return Section(tuple(found), answer, (chart,), (sheet,))


def _feasible(part: Results) -> Mean | None:
    return share_of(row["feasible"] and row["certified"] is not False for row in part.rows)


STUDY = Study(
    name="feasibility",
    title="Share of AC-feasible networks: bare Laplace noise against releases",
    question="How often is the network that comes out one that can be operated: is there an AC-feasible dispatch?",
    paper="Table II",
    cases=SMALL,
    settings={"mechanism": (LAPLACE, *RELEASES), "alpha": ALPHAS},
    columns={"feasible": bool, "certified": bool, "detail": str},
    work=measure,
    section=section,
    version=2,
)
