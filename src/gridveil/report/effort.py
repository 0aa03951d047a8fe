"""Sections on what a release costs: `runtimes`, `promise`, `scale`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from statistics import median

from gridveil.report.chart import Chart, Panel, Section, Series
from gridveil.report.published import NETWORKS, release_seconds
from gridveil.report.series import NAMES, deviation, interval, mean_series, ordered, setting, sheet_of
from gridveil.report.statistics import Mean, Results, geometric_of, mean_of, share_of
from gridveil.report.words import number

_SETTING = {"case": "case", "mechanism": "mechanism", "alpha": "α"}


def runtimes(results: Results) -> Section:
    """Table III: seconds of noise and repair, as a multiple of one AC-OPF, and beside the paper's."""
    cases = results.values("case")
    begin = _common(cases) if len(cases) > 1 else ""
    ratio_panels, second_panels = [], []
    for alpha in results.values("alpha"):
        here, ratios, seconds = results.where(alpha=alpha), [], []
        for mechanism in ordered(results.values("mechanism")):
            parts = [(case.removeprefix(begin), here.where(case=case, mechanism=mechanism)) for case in cases]
            ratios.append(mean_series(NAMES[mechanism], mechanism, "points", [(x, _ratio(part)) for x, part in parts]))
            means = [(x, mean_of(part.column("seconds"))) for x, part in parts]
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
        _SETTING,
        [
            ("noise and repair (s), mean ± sd", lambda part: deviation(mean_of(part.column("seconds")))),
            ("AC-OPF (s)", lambda part: number(_mean(part, "opf_seconds"))),
            ("ratio, geometric mean and 95 % interval", lambda part: interval(_ratio(part))),
            ("whole release (s)", lambda part: number(_mean(part, "release_seconds"))),
            ("as drawn (%)", lambda part: _share(row["path"] == "as drawn" for row in part.rows)),
            ("the paper (s)", published),
        ],
        f"{NETWORKS} “As drawn” is the share of draws that needed no projection.",
    )
    return Section(charts, (sheet,))


def _common(names: list[str]) -> str:
    """How all names begin, up to their numbers."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike).rstrip("0123456789")


def _ratio(part: Results) -> Mean | None:
    return geometric_of(row["seconds"] / row["opf_seconds"] for row in part.rows if row["opf_seconds"])


def _mean(part: Results, name: str) -> float | None:
    stat = mean_of(part.column(name))
    return None if stat is None else stat.mean


def _share(flags: Iterable[bool]) -> str:
    stat = share_of(flags)
    return "–" if stat is None else number(stat.mean)


def promise(results: Results) -> Section:
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
            ratios.append(mean_series(name, mechanism, "bars", [(x, _price(part)) for x, part in parts]))
        broken.append(Panel(case, tuple(shares), "α", "broken promises (%)", y_range=(0, 104)))
        price.append(Panel(case, tuple(ratios), "α", "time / plain projection", reference=1.0))
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
        {**_SETTING, "source": "source of the cost"},
        [
            ("broken (%), 95 % interval", lambda part: interval(_broken(part))),
            ("no answer", lambda part: str(sum(row["plain_away"] is None for row in part.rows))),
            ("largest |cost error| of plain (%)", lambda part: _largest(part, "plain_away")),
            ("of ours (%)", lambda part: _largest(part, "away")),
            ("released cost from the true one, median (%)", lambda part: _median(part, "true_away")),
            ("draws with cuts (%)", lambda part: _share(row["cuts"] > 0 for row in part.rows)),
            ("time ratio, 95 % interval", lambda part: interval(_price(part))),
        ],
        "“No answer” counts plain projections that found no network, or one without an AC-OPF solution.",
    )
    return Section(charts, (sheet,))


def _median(part: Results, name: str) -> str:
    found = [abs(row[name]) for row in part.rows if row.get(name) is not None]
    return number(100 * median(found)) if found else "–"


def _broken(part: Results) -> Mean | None:
    return share_of(row["plain_broken"] for row in part.rows if row["plain_away"] is not None)


def _price(part: Results) -> Mean | None:
    return geometric_of(row["seconds"] / row["plain_seconds"] for row in part.rows if row["plain_seconds"])


def _largest(part: Results, name: str) -> str:
    return number(max((100 * abs(value) for value in part.column(name)), default=None))


def scale(results: Results) -> Section:
    """Ours: time and memory against the number of buses."""
    sizes, panels = results.values("buses"), []
    for measure, words in (("seconds", "seconds"), ("mb", "peak memory above the start (MB)")):
        opf = [(float(n), mean_of(_positive(results.where(buses=n), f"opf_{measure}"))) for n in sizes]
        series = [mean_series("one AC-OPF", "opf", "lines", opf)]
        for rank, alpha in enumerate(results.values("alpha")):
            for mechanism in ordered(results.values("mechanism")):
                here = results.where(alpha=alpha, mechanism=mechanism)
                points = [(float(n), mean_of(_positive(here.where(buses=n), f"release_{measure}"))) for n in sizes]
                name = f"release, {mechanism}, α = {setting(alpha)}"
                series.append(mean_series(name, f"rank{rank % 3}", "lines", points))
        if any(one.x for one in series):
            title = "Time" if measure == "seconds" else "Memory"
            panels.append(Panel(title, tuple(series), "buses", words, x_log=True, y_log=True))
    chart = Chart(
        "Time and memory of a release by size of the network",
        "Means with 95 % intervals, each task in a process of its own.",
        tuple(panels),
        2,
    )
    sheet = sheet_of(
        "Time and memory",
        results,
        _SETTING,
        [
            ("buses", lambda part: number(_mean(part, "buses"), 6)),
            ("lines", lambda part: number(_mean(part, "lines"), 6)),
            ("AC-OPF (s)", lambda part: number(_mean(part, "opf_seconds"))),
            ("release (s), mean ± sd", lambda part: deviation(mean_of(part.column("release_seconds")))),
            ("AC-OPF (MB)", lambda part: number(_mean(part, "opf_mb"))),
            ("release (MB)", lambda part: number(_mean(part, "release_mb"))),
        ],
    )
    return Section((chart,), (sheet,))


def _positive(part: Results, name: str) -> list[float]:
    return [value for value in part.column(name) if value > 0]
