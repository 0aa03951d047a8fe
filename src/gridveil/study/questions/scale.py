"""How do time and memory grow with the network?"""

from __future__ import annotations

import pickle

from gridveil.charts.chart import Chart, Panel, Section
from gridveil.charts.numbers import number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import deviation, interval, mean_series, ordered, sheet_of
from gridveil.charts.statistics import mean_of, size_of
from gridveil.errors import SolveError
from gridveil.grid import Network
from gridveil.process.start import isolated
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.saying import SETTING, mean


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Time and peak memory of an AC-OPF and of a release, in a process of its own."""
    given = pickle.dumps((network, settings, seed))
    with isolated("gridveil.study.peak") as process:
        try:
            answer, words = process.communicate(given)
        finally:
            process.kill()
    if process.returncode != 0:
        raise SolveError("failed", words.decode(errors="replace")[-300:].strip())
    row: Row = pickle.loads(answer)
    return [{"buses": network.grid.n_bus, "lines": network.grid.n_line, **row}]


def section(results: Results) -> Section:
    """Ours: time and memory against the number of buses."""
    sizes, panels = results.values("buses"), []
    for measure, words in (("seconds", "seconds"), ("mb", "peak memory above the start (MB)")):
        opf = [(float(n), size_of(_positive(results.where(buses=n), f"opf_{measure}"))) for n in sizes]
        series = [mean_series("one AC-OPF", "opf", "lines", opf)]
        for rank, alpha in enumerate(results.values("alpha")):
            for mechanism in ordered(results.values("mechanism")):
                here = results.where(alpha=alpha, mechanism=mechanism)
                points = [(float(n), size_of(_positive(here.where(buses=n), f"release_{measure}"))) for n in sizes]
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
        SETTING,
        [
            ("buses", lambda part: number(mean(part, "buses"), 6)),
            ("lines", lambda part: number(mean(part, "lines"), 6)),
            ("AC-OPF (s)", lambda part: number(mean(part, "opf_seconds"))),
            ("release (s), mean ± sd", lambda part: deviation(mean_of(part.column("release_seconds")))),
            ("AC-OPF (MB)", lambda part: number(mean(part, "opf_mb"))),
            ("release (MB)", lambda part: number(mean(part, "release_mb"))),
        ],
    )
    return Section(_found(results), chart, (), (sheet,))


def _found(results: Results) -> tuple[str, ...]:
    """The smallest and the largest network."""
    sizes = results.values("buses")
    if not sizes:
        return ()
    said = []
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        here = results.where(buses=size)
        seconds, memory = size_of(_positive(here, "release_seconds")), size_of(_positive(here, "release_mb"))
        words = f"{size:,} buses take {interval(seconds, unit=' s')}" + (
            "" if memory is None else f" and {interval(memory, unit=' MB')}"
        )
        said.append(words)
    return (f"A release of {', one of '.join(said)}, all α together.",)


def _positive(part: Results, name: str) -> list[float]:
    return [value for value in part.column(name) if value > 0]


STUDY = Study(
    name="scale",
    title="Time and memory by size of the network",
    question="How do the time and the memory of a release grow with the network?",
    paper="ours",
    cases=("case39_epri", "case57_ieee", "case118_ieee"),
    settings={"mechanism": ("log",), "alpha": (0.01, 0.1)},
    columns={
        "buses": int, "lines": int, "opf_seconds": float, "release_seconds": float, "opf_mb": float,
        "release_mb": float, "path": str,
    },
    work=measure,
    section=section,
    draws=3,
    version=3,
)  # fmt: skip
