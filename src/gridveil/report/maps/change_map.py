"""A map of how the impedance of every line changed from the original to a release. INTERNAL: it needs both."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from gridveil.charts.numbers import setting
from gridveil.charts.results import Results, Row
from gridveil.charts.series import ordered
from gridveil.report.maps.line_paths import line_paths
from gridveil.report.maps.places import places_of

EDGES = (0.5, 0.8, 0.95, 0.99, 1.01, 1.05, 1.25, 2.0)
"""Where the classes of |z̃|/|z| meet: even steps to both sides on a scale of ratios."""
CLASSES = (
    "less than half", "−20 to −50 %", "−5 to −20 %", "−1 to −5 %", "within 1 %", "+1 to +5 %", "+5 to +25 %",
    "+25 to +100 %", "more than double",
)  # fmt: skip
# purple for less, orange for more (Brewer's PuOr, safe for colour-blind readers), grey where little changed
COLOURS = ("#2D004B", "#542788", "#8073AC", "#B2ABD2", "#B8BDC4", "#FDB863", "#E08214", "#B35806", "#7F3B08")
FULL = 400
"""Lines beyond which only the default release is drawn: every other would weigh as much again."""


@dataclass(frozen=True)
class ChangeMap:
    """Original against released as a map: where the lines lie, and how |z| changed in each of some releases."""

    case: str
    place: tuple[tuple[float, float], ...]
    buses: tuple[int, ...]
    ends: tuple[tuple[int, int], ...]
    """Of every line: the places of its two buses in `buses`."""
    paths: tuple[tuple[tuple[float, float], ...], ...]
    lines: tuple[str, ...]
    changes: dict[str, tuple[float, ...]]
    first: str


def change_class(ratio: float) -> int:
    """The class of a ratio |z̃|/|z|."""
    return bisect_right(EDGES, ratio)


def change_maps(results: Results) -> tuple[ChangeMap, ...]:
    """A map per case, with every mechanism and α to choose from; first the `log` release at α = 0.1 if there is one."""
    return tuple(_change_map(results.where(case=case), case) for case in results.values("case"))


def _change_map(results: Results, case: str) -> ChangeMap:
    drawings: dict[str, list[Row]] = {}
    for mechanism in ordered(results.values("mechanism")):
        for alpha in results.values("alpha"):
            part = results.where(mechanism=mechanism, alpha=alpha).rows
            if part:
                first = min(row["draw"] for row in part)
                name = f"{mechanism}, α = {setting(alpha)}"
                drawings[name] = sorted((row for row in part if row["draw"] == first), key=lambda row: row["line"])
    chosen = "log, α = 0.1" if "log, α = 0.1" in drawings else list(drawings)[-1]
    lines = drawings[chosen]
    buses, ends = np.unique([(row["bus_from"], row["bus_to"]) for row in lines], return_inverse=True)
    ends = ends.reshape(-1, 2)
    place, _ = places_of(len(buses), ends[:, 0], ends[:, 1])
    paths = line_paths(ends[:, 0], ends[:, 1], place)
    if len(lines) > FULL:
        drawings = {chosen: lines}
    return ChangeMap(
        case,
        tuple((float(x), float(y)) for x, y in np.round(place, 3)),
        tuple(int(bus) for bus in buses),
        tuple((int(one), int(other)) for one, other in ends),
        tuple(tuple((float(x), float(y)) for x, y in path) for path in np.round(paths, 3)),
        tuple(f"line {row['line']}, {row['bus_from']}–{row['bus_to']}" for row in lines),
        {name: tuple(_ratio(row) for row in rows) for name, rows in drawings.items()},
        chosen,
    )


def _ratio(row: Row) -> float:
    """|z̃|/|z|; 1 where the original has no impedance at all and the release has none either."""
    before, after = float(np.hypot(row["r"], row["x"])), float(np.hypot(row["released_r"], row["released_x"]))
    if before == 0:
        return 1.0 if after == 0 else float("inf")
    return after / before
