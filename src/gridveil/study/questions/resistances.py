"""Fig. 1: the resistances of lines, before and after."""

from __future__ import annotations

from math import isfinite

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.charts.chart import Chart, Panel, Section, Series
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, ordered, sheet_of
from gridveil.grid import Network
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import ALPHAS, LAPLACE, RELEASES, bare, released
from gridveil.study.saying import SETTING, boxes_by_mechanism, together, usual, where

POINTS = 400
"""Lines of a scatter plot at most; of larger networks every so many-th is shown."""


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """r and x of every line, original and after the mechanism."""
    bare_draw = settings["mechanism"] == LAPLACE
    lines = bare(network, settings, seed).lines if bare_draw else released(network, settings, seed).lines
    (r0, x0), (r1, x1) = network.lines.impedance(), lines.impedance()
    ends, number = network.grid.lines, network.grid.buses.number
    return [
        {
            "line": i + 1,
            "bus_from": int(number[ends.bus_from[i]]),
            "bus_to": int(number[ends.bus_to[i]]),
            "r": r0[i],
            "x": x0[i],
            "released_r": r1[i],
            "released_x": x1[i],
        }
        for i in range(network.grid.n_line)
    ]


def section(results: Results) -> Section:
    """Fig. 1: line resistances before and after, one draw."""
    charts = []
    for case in results.values("case"):
        here = results.where(case=case)
        if not here.rows:
            continue
        largest = max(row["r"] for row in here.rows) or 1.0
        frame, panels = (-0.75 * largest, 2.5 * largest), []
        for alpha in here.values("alpha"):
            series, outside = [], 0
            for mechanism in ordered(here.values("mechanism")):
                part = here.where(alpha=alpha, mechanism=mechanism)
                first = min((row["draw"] for row in part.rows), default=0)
                drawn = [row for row in part.rows if row["draw"] == first and isfinite(row["released_r"])]
                drawn = drawn[:: max(1, -(-len(drawn) // POINTS))]
                x, y = tuple(row["r"] for row in drawn), tuple(row["released_r"] for row in drawn)
                outside += sum(not frame[0] <= value <= frame[1] for value in y)
                words = tuple(f"line {row['line']}, {row['bus_from']}–{row['bus_to']}" for row in drawn)
                series.append(Series(NAMES[mechanism], mechanism, "points", x, y, words=words))
            note = f"outside the frame: {outside}" if outside else ""
            panels.append(
                Panel(f"α = {setting(alpha)}", tuple(series), "original r (p.u.)", "r afterwards (p.u.)",
                      y_range=frame, x_range=(-0.05 * largest, 1.08 * largest), diagonal=True, note=note)
            )  # fmt: skip
        charts.append(
            Chart(
                f"Line resistances of {case}, original against released",
                f"The first of {counted(len(here.values('draw')), 'draw')} (n = 1); the line is y = x. The frame is "
                "the same in all panels and cuts off the wildest values.",
                tuple(panels),
                min(len(panels), 4),
            )
        )
    sheet = sheet_of(
        "Change of resistances over all draws",
        results,
        SETTING,
        [
            ("median |r̃/r − 1| (%)", lambda part: number(_quantile(part, 50))),
            ("90th percentile (%)", lambda part: number(_quantile(part, 90))),
            ("within 1 % (%)", lambda part: number(_within(part))),
        ],
        "Lines without resistance are left out.",
    )
    changes = boxes_by_mechanism(results, _changes)
    positive = all(box.low > 0 for one in changes for box in one.boxes)
    answer = Chart(
        f"How much resistances of {where(results)} change",
        "|r̃/r − 1| of every line with a resistance, over all draws: quartiles, and whiskers at the outermost values "
        f"within 1.5 interquartile ranges; n counts lines of all draws.{together(results)}",
        (Panel("", changes, "α", "change of r (%)", y_log=positive, y_zero=not positive),),
        1,
    )
    a = usual(results.values("alpha"))
    parts = ((m, _quantile(results.where(alpha=a, mechanism=m), 50)) for m in ordered(results.values("mechanism")))
    half = [f"{NAMES[m]} {number(value)} %" for m, value in parts if value is not None]
    found = (f"At α = {setting(a)} half of the lines change their resistance by more than: {', '.join(half)}.",)
    return Section(found, answer, tuple(charts), (sheet,))


def _changes(part: Results) -> FloatArray:
    """|r̃/r − 1| in per cent, of lines that have a resistance before and a finite one afterwards."""
    pairs = np.array([(row["r"], row["released_r"]) for row in part.rows], dtype=np.float64).reshape(-1, 2)
    r, released = pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] != 0)].T
    change: np.ndarray = 100 * np.abs(released / r - 1)
    return change


def _quantile(part: Results, percent: float) -> float | None:
    change = _changes(part)
    return float(np.percentile(change, percent)) if len(change) else None


def _within(part: Results) -> float | None:
    change = _changes(part)
    return float(100 * np.mean(change <= 1)) if len(change) else None


STUDY = Study(
    name="resistances",
    title="Line resistances before and after",
    question="How far are the released resistances of lines from the true ones?",
    paper="Figure 1",
    cases=("case39_epri",),
    settings={"mechanism": (LAPLACE, *RELEASES), "alpha": ALPHAS},
    columns={
        "line": int, "bus_from": int, "bus_to": int, "r": float, "x": float, "released_r": float, "released_x": float,
    },
    work=measure,
    section=section,
    draws=10,
    version=2,
)  # fmt: skip
