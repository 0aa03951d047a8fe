"""Does the paper's plain projection keep β, and what do the cuts cost that keep it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from time import perf_counter

from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, geometric_of, share_of
from gridveil.grid import LineParameters, Network
from gridveil.nlp.solver import Status
from gridveil.repair.bounds import parameter_box
from gridveil.repair.judge import promised
from gridveil.repair.projection import Aim, Effort, project, projection, starts
from gridveil.repair.trial import rounded
from gridveil.repair.workshop import Workshop
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import BETA, RELEASES, SMALL, SOURCES, optimum, released, true_optimum
from gridveil.study.saying import SETTING, by_mechanism, each, together, where
from gridveil.wall.draw import Repair, Snapshot


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Does the paper's plain projection keep β once its network is optimised again, and what do the cuts cost?

    `away` is from the public cost, which the promise is about; `true_away` from the true one, by source of the cost.
    """
    rows: list[Row] = []

    class Watched(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            begin, cost = perf_counter(), snapshots[0].cost
            lines = _plain(self, snapshots)
            plain = perf_counter() - begin
            away = None if lines is None else _away(Network(network.grid, lines), cost)
            begin = perf_counter()
            kept = super().repair(snapshots, patient=patient)
            rows.append(
                {
                    "plain_away": away, "plain_broken": away is not None and abs(away) > self.fidelity.beta,
                    "plain_seconds": plain, "away": (kept.points[0].cost - cost) / cost, "cuts": kept.cuts,
                    "seconds": perf_counter() - begin,
                }
            )  # fmt: skip
            return kept

    made = released(network, settings, seed, workshop=Watched)
    return [{**rows[0], "true_away": made.point.cost / true_optimum(network).cost - 1}]


def _plain(shop: Workshop, snapshots: Sequence[Snapshot]) -> LineParameters | None:
    """Algorithm 1, line 5, as printed; `None` if nothing is found."""
    grid, fidelity = shop.grid, shop.fidelity
    box = parameter_box(grid, shop.noisy, fidelity.bound_factor)
    program = projection(grid, box, snapshots, [], False)
    aim = [Aim(tolerance, tolerance) for tolerance in promised(snapshots, fidelity)]
    for start in starts(program, box, None, box.network(box.target)):
        outcome = project(program, box, snapshots, fidelity, aim, start, Effort(0.0))
        if outcome.status is Status.OPTIMAL:
            return rounded(box.network(box.clip(outcome.x[program.parameters]))).lines
    return None


def _away(network: Network, cost: float) -> float | None:
    """Relative change of the re-optimised cost."""
    solution = optimum(network)
    return (solution.cost - cost) / cost if solution.status is Status.OPTIMAL else None


def section(results: Results) -> Section:
    """Ours: how often the plain projection breaks β, and what keeping it costs; by source of the public cost."""
    broken, price = [], []
    sources = results.values("source")
    shown = results.where(source="published" if "published" in sources else sources[0]) if sources else results
    for case in shown.values("case"):
        shares, ratios = [], []
        for mechanism in ordered(results.values("mechanism")):
            parts = [(setting(a), shown.where(case=case, mechanism=mechanism, alpha=a)) for a in shown.values("alpha")]
            name = NAMES[mechanism]
            shares.append(mean_series(name, mechanism, "bars", [(x, _broken(part)) for x, part in parts], unit=" %"))
            ratios.append(mean_series(name, mechanism, "points", [(x, _price(part)) for x, part in parts]))
        broken.append(Panel(case, tuple(shares), "α", "broken promises (%)", y_range=(0, 104)))
        price.append(Panel(case, tuple(ratios), "α", "time / plain projection", y_log=True, reference=1.0))
    charts = (
        Chart(
            "Plain projections that break β",
            "Share of draws where the network of the paper's projection, optimised again, costs more or less than β "
            "allows; whiskers are Wilson's 95 % intervals. Releases of this program never break it: that is certified.",
            tuple(broken),
            2 if len(broken) == 4 else min(len(broken), 3),
        ),
        Chart(
            "What keeping the promise costs",
            "Time of our repair (first as drawn, then projection and cuts) over that of one plain projection of the "
            "same draw, geometric means with 95 % intervals; below 1 it is faster.",
            tuple(price),
            2 if len(price) == 4 else min(len(price), 3),
        ),
    )
    sheet = sheet_of(
        "Promises",
        results,
        {**SETTING, "source": "source of the cost"},
        [
            ("broken (%), 95 % interval", lambda part: interval(_broken(part))),
            ("no answer", lambda part: str(sum(row["plain_away"] is None for row in part.rows))),
            ("largest |cost error| of plain (%)", lambda part: _most(part, "plain_away")),
            ("of ours (%)", lambda part: _most(part, "away")),
            ("released cost from the true one, median (%)", lambda part: _middle(part, "true_away")),
            ("draws with cuts (%)", lambda part: _share(row["cuts"] > 0 for row in part.rows)),
            ("time ratio, 95 % interval", lambda part: interval(_price(part))),
        ],
        "“No answer” counts plain projections that found no network, or one without an AC-OPF solution.",
    )
    answer = Chart(
        f"How often the plain projection breaks β on {where(shown)}",
        "Share of draws where the network of the paper's projection, optimised again, costs more or less than β "
        f"allows; whiskers are Wilson's 95 % intervals.{together(shown)}",
        (Panel("", by_mechanism(shown, _broken, "bars", " %"), "α", "broken promises (%)", y_range=(0, 104)),),
        1,
    )
    kept = [abs(row["away"]) for row in results.rows if row["away"] is not None]
    found = [
        f"Draws in which the plain projection breaks the promise, at any α: {each(shown, _broken)}.",
        f"Time of our repair, which keeps it, over that of one plain projection: {each(shown, _price, '')}.",
    ]
    if kept:
        found.append(
            f"Of {counted(len(kept), 'release')} of this program the one farthest from the public cost is "
            f"{number(100 * max(kept))} % away, and β is {number(100 * BETA)} %."
        )
    return Section(tuple(found), answer, charts, (sheet,))


def _middle(part: Results, name: str) -> str:
    found = [abs(row[name]) for row in part.rows if row.get(name) is not None]
    return number(100 * median(found)) if found else "–"


def _broken(part: Results) -> Mean | None:
    return share_of(row["plain_broken"] for row in part.rows if row["plain_away"] is not None)


def _price(part: Results) -> Mean | None:
    return geometric_of(row["seconds"] / row["plain_seconds"] for row in part.rows if row["plain_seconds"])


def _most(part: Results, name: str) -> str:
    return number(max((100 * abs(value) for value in part.column(name)), default=None))


def _share(flags: Iterable[bool]) -> str:
    stat = share_of(flags)
    return "–" if stat is None else number(stat.mean)


STUDY = Study(
    name="promise",
    title="How often the plain projection breaks β, and what the cuts cost",
    question="Does the paper's plain projection keep the cost within β, and what does keeping it take?",
    paper="ours",
    cases=("case5_pjm", "case14_ieee", *SMALL),
    settings={"mechanism": RELEASES, "alpha": (0.01, 0.1, 1.0), "source": SOURCES},
    columns={
        "plain_away": float, "plain_broken": bool, "plain_seconds": float, "away": float, "cuts": int,
        "seconds": float, "true_away": float,
    },
    work=measure,
    section=section,
    version=3,
)  # fmt: skip
