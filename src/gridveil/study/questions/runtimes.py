"""Table III: how long does a release take?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from time import perf_counter

import numpy as np

from gridveil.charts.chart import Chart, Panel, Section, Series
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, deviation, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import Mean, geometric_of, mean_of, share_of, size_of
from gridveil.grid import Network
from gridveil.repair.workshop import Workshop
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES, SMALL, drawn, optimum, released, true_optimum
from gridveil.study.published import NETWORKS, release_seconds
from gridveil.study.saying import SETTING, each, mean, usual
from gridveil.wall.draw import Repair, Snapshot


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Seconds of noise and repair, as the paper's table has them; of the AC-OPF, and of a whole release.

    The repair is timed inside the release, so that it is made once.
    """
    taken: list[tuple[float, Repair]] = []

    class Timed(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            begin = perf_counter()
            result = super().repair(snapshots, patient=patient)
            taken.append((perf_counter() - begin, result))
            return result

    true, clock = true_optimum(network), [perf_counter()]
    optimum(network)
    clock.append(perf_counter())
    drawn(network, settings, seed)
    clock.append(perf_counter())
    released(network, settings, seed, workshop=Timed)
    clock.append(perf_counter())
    opf, noise, whole = np.diff(clock).tolist()
    seconds, result = taken[-1]
    row = {"opf_seconds": opf, "seconds": noise + seconds, "release_seconds": whole}
    return [{**row, "path": result.path, "projections": result.projections, "true_cost": true.cost}]


def section(results: Results) -> Section:
    """Table III: seconds of noise and repair, as a multiple of one AC-OPF, and beside the paper's."""
    cases = results.values("case")
    begin = _common(cases) if len(cases) > 1 else ""
    ratio_panels, second_panels = [], []
    for alpha in results.values("alpha"):
        here, ratios, seconds = results.where(alpha=alpha), [], []
        for mechanism in ordered(results.values("mechanism")):
            parts = [(case.removeprefix(begin), here.where(case=case, mechanism=mechanism)) for case in cases]
            ratios.append(mean_series(NAMES[mechanism], mechanism, "points", [(x, _ratio(part)) for x, part in parts]))
            means = [(x, size_of(part.column("seconds"))) for x, part in parts]
            seconds.append(mean_series(NAMES[mechanism], mechanism, "points", means, unit=" s"))
        stated = [
            (case.removeprefix(begin), value) for case in cases if (value := release_seconds(case, alpha)) is not None
        ]
        if stated:
            seconds.append(
                Series("the paper's mechanism, as published", "published", "points", tuple(case for case, _ in stated),
                       tuple(value for _, value in stated), words=tuple(f"{value:g} s" for _, value in stated))
            )  # fmt: skip
        title, name = f"α = {setting(alpha)}", f"{begin}…" if begin else ""
        ratio_panels.append(Panel(title, tuple(ratios), name, "time / AC-OPF", y_log=True))
        second_panels.append(Panel(title, tuple(seconds), name, "seconds", y_log=True))
    charts = (
        Chart(
            "Noise and repair as a multiple of one AC-OPF of the same network",
            "Geometric means with 95 % intervals. Ratios within one task do not depend on how fast the machine is.",
            tuple(ratio_panels),
            max(len(ratio_panels), 1),
        ),
        Chart(
            "Seconds of noise and repair",
            f"Means with 95 % intervals. {NETWORKS}",
            tuple(second_panels),
            max(len(second_panels), 1),
        ),
    )

    def published(part: Results) -> str:
        row = (*part.rows, *part.failed)[0]
        return number(release_seconds(row["case"], row["alpha"]))

    sheet = sheet_of(
        "Seconds",
        results,
        SETTING,
        [
            ("noise and repair (s), mean ± sd", lambda part: deviation(mean_of(part.column("seconds")))),
            ("AC-OPF (s)", lambda part: number(mean(part, "opf_seconds"))),
            ("ratio, geometric mean and 95 % interval", lambda part: interval(_ratio(part))),
            ("whole release (s)", lambda part: number(mean(part, "release_seconds"))),
            ("as drawn (%)", lambda part: _share(row["path"] == "as drawn" for row in part.rows)),
            ("the paper (s)", published),
        ],
        f"{NETWORKS} “As drawn” is the share of draws that needed no projection.",
    )
    a = usual(results.values("alpha"))
    here = results.where(alpha=a)
    answer = Chart(
        f"Time of noise and repair over that of one AC-OPF, α = {setting(a)}",
        "Geometric means with 95 % intervals; below the dashed line a release is faster than solving the network once.",
        (
            Panel(
                "",
                tuple(
                    mean_series(NAMES[m], m, "points", [
                        (case.removeprefix(begin), _ratio(here.where(case=case, mechanism=m))) for case in cases])
                    for m in ordered(here.values("mechanism"))
                ),
                f"{begin}…" if begin else "", "time / AC-OPF", y_log=True, reference=1.0,
            ),
        ),
        1,
    )  # fmt: skip
    found = (
        f"At α = {setting(a)} noise and repair take, in AC-OPFs of the same network: {each(here, _ratio, '')}.",
        f"Of {counted(len(results.rows), 'draw')} at any α, "
        f"{_share(row['path'] == 'as drawn' for row in results.rows)} % needed no projection.",
    )
    return Section(found, answer, charts, (sheet,))


def _common(names: list[str]) -> str:
    """How all names begin, up to their numbers."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike).rstrip("0123456789")


def _ratio(part: Results) -> Mean | None:
    return geometric_of(row["seconds"] / row["opf_seconds"] for row in part.rows if row["opf_seconds"])


def _share(flags: Iterable[bool]) -> str:
    stat = share_of(flags)
    return "–" if stat is None else number(stat.mean)


STUDY = Study(
    name="runtimes",
    title="Seconds of a release",
    question="How long does it take to make a release?",
    paper="Table III",
    cases=("case3_lmbd", "case5_pjm", "case14_ieee", *SMALL),
    settings={"mechanism": RELEASES, "alpha": (0.01, 0.1, 1.0)},
    columns={
        "opf_seconds": float, "seconds": float, "release_seconds": float, "path": str, "projections": int,
        "true_cost": float,
    },
    work=measure,
    section=section,
    version=2,
)  # fmt: skip
