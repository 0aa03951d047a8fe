"""Fig. 3 and 11: do releases keep the optimality gaps of the SOC and QC relaxations?"""

from __future__ import annotations

from gridveil.api.solving import gap
from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, box_series, deviation, ordered, sheet_of
from gridveil.charts.statistics import box_of, mean_of
from gridveil.grid import Network
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import ALPHAS, RELEASES, released, true_gap
from gridveil.study.saying import SETTING, boxes_by_mechanism, median, together, usual, where


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Gaps in per cent, original and released; a gap is null where one of its solves did not end."""
    before, after = true_gap(network), gap(released(network, settings, seed).network)
    return [
        {"relaxation": "soc", "original_pct": before.soc_pct, "released_pct": after.soc_pct},
        {"relaxation": "qc", "original_pct": before.qc_pct, "released_pct": after.qc_pct},
    ]


def section(results: Results) -> Section:
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
        {**SETTING, "beta": "β", "relaxation": "relaxation"},
        [
            ("original (%)", lambda part: number(median(part, "original_pct"))),
            ("released (%), mean ± sd", lambda part: deviation(mean_of(part.column("released_pct")))),
            ("median (%)", lambda part: number(median(part, "released_pct"))),
            ("no gap", lambda part: str(sum(row["released_pct"] is None for row in part.rows))),
        ],
        "“No gap” counts draws where a solve did not end.",
    )
    answer = Chart(
        f"How much the optimality gaps of {where(results)} change",
        "Released gap minus original gap in percentage points; the dashed line is no change. Quartiles, and whiskers "
        f"at the outermost values within 1.5 interquartile ranges; all β together.{together(results)}",
        tuple(
            Panel(one.upper(), boxes_by_mechanism(results.where(relaxation=one), _changes), "α",
                  "change of the gap (points)", reference=0.0)
            for one in ordered(results.values("relaxation"))
        ),
        2,
    )  # fmt: skip
    a, found = usual(results.values("alpha")), []
    for one in ordered(results.values("relaxation")):
        here = results.where(alpha=a, relaxation=one)
        half = (
            (m, box_of(abs(v) for v in _changes(here.where(mechanism=m)))) for m in ordered(here.values("mechanism"))
        )
        said = [f"{NAMES[m]} {number(box.median)}" for m, box in half if box is not None]
        if said:
            found.append(
                f"At α = {setting(a)} the {one.upper()} gap moves, at the median, by {', '.join(said)} points; the "
                f"originals' is {number(median(here, 'original_pct'))} %."
            )
    ended = sum(row["released_pct"] is None for row in results.rows)
    if ended:
        found.append(f"{counted(ended, 'gap')} of {len(results.rows):,} could not be computed: a solve did not end.")
    return Section(tuple(found), answer, tuple(charts), (sheet,))


def _changes(part: Results) -> list[float]:
    """Released minus original, where both are there."""
    both = ((row["released_pct"], row["original_pct"]) for row in part.rows)
    return [after - before for after, before in both if after is not None and before is not None]


STUDY = Study(
    name="gaps",
    title="Optimality gaps of the original and of releases",
    question="Is the released network as hard to optimise: are the gaps of its relaxations those of the original?",
    paper="Figures 3 and 11",
    cases=("case39_epri",),
    settings={"mechanism": RELEASES, "alpha": ALPHAS, "beta": (0.01, 0.1)},
    columns={"relaxation": str, "original_pct": float, "released_pct": float},
    work=measure,
    section=section,
    version=2,
)
