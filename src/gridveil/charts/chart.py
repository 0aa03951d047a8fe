"""What a figure shows, before anyone draws it: both renderers, for the screen and for paper, start from these."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal, NamedTuple

from gridveil.charts.statistics import Box

Kind = Literal["bars", "boxes", "lines", "points"]


class Look(NamedTuple):
    """How a series looks: told apart by colour, and in grey by marker, dash or hatch. `dark`: on a dark screen."""

    colour: str
    marker: str
    dash: str
    hatch: str
    dark: str = ""


# Okabe and Ito's colours; a mechanism or an attacker looks the same in every figure
LOOKS = {
    "laplace": Look("#8A8A8A", "x", "dot", ""),
    "paper": Look("#0072B2", "circle", "solid", "//", "#4AA8E0"),
    "additive": Look("#E69F00", "square", "dash", ".."),
    "log": Look("#009E73", "diamond", "dashdot", "xx"),
    "random": Look("#9AA5B1", "triangle-up", "dot", ".."),
    "real": Look("#22272E", "triangle-down", "solid", "", "#F1F3F5"),
    "public": Look("#CC79A7", "star", "dash", "\\\\"),
    "released": Look("#56B4E9", "circle", "solid", "//"),
    "interdiction": Look("#D55E00", "square", "dash", "xx"),
    "opf": Look("#8A8A8A", "triangle-up", "dot", ""),
    "topology": Look("#B8A13A", "star", "dot", ""),
    "published": Look("#22272E", "diamond-open", "solid", "", "#F1F3F5"),
    "rank0": Look("#7FB8DE", "circle", "solid", "", "#2F7FBF"),
    "rank1": Look("#2F7FBF", "square", "dash", "//", "#74B2E2"),
    "rank2": Look("#08306B", "diamond", "dot", "xx", "#BBD9F2"),
}


@dataclass(frozen=True)
class Series:
    """One entry of the legend in one panel. `low` and `high` are the ends of the whiskers; `words` is said on hover.

    `n` is how many draws are behind each mark, where marks are made of draws; `ranges` says that some have too few for
    an interval, and whiskers that are their smallest and largest.
    """

    name: str
    look: str
    kind: Kind
    x: tuple[str, ...] | tuple[float, ...]
    y: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    boxes: tuple[Box, ...] = ()
    words: tuple[str, ...] = ()
    n: tuple[int, ...] = ()
    ranges: bool = False

    def heights(self) -> tuple[float, ...]:
        """What it reaches along y: its points, or the ends of its boxes."""
        return self.y + tuple(end for box in self.boxes for end in (box.low, box.high))


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `reference` is a level drawn as a dashed line; `diagonal` draws y = x.

    `x_zero` and `y_zero` say that nothing smaller than 0 can be: the axis begins there.
    """

    title: str
    series: tuple[Series, ...]
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    y_range: tuple[float, float] | None = None
    x_range: tuple[float, float] | None = None
    reference: float | None = None
    diagonal: bool = False
    note: str = ""
    x_zero: bool = False
    y_zero: bool = False

    def ticks(self, axis: Literal["x", "y"]) -> tuple[float, ...] | None:
        """Values worth naming on an axis of numbers: the data's own along x if few, else 1, 2 and 5 of a logarithm."""
        values = {v for one in self.series for v in (one.x if axis == "x" else one.heights()) if not isinstance(v, str)}
        log = self.x_log if axis == "x" else self.y_log
        if axis == "x" and 1 < len(values) <= 8 and self.x_range is None and not (log and len(values) > 5):
            return tuple(sorted(values))
        if not log or not values or min(values) <= 0:
            return None
        low, high = floor(log10(min(values))) - 1, ceil(log10(max(values))) + 1
        steps = (1, 2, 5) if max(values) < 300 * min(values) else (1,)
        return tuple(float(f"{step}e{power}") for power in range(low, high + 1) for step in steps)


@dataclass(frozen=True)
class Chart:
    """A figure: panels in rows of `columns`, one legend."""

    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int

    def legend(self) -> dict[str, Series]:
        """The first series of every name, in order of appearance."""
        found: dict[str, Series] = {}
        for panel in self.panels:
            for one in panel.series:
                found.setdefault(one.name, one)
        return found

    def draws(self) -> str:
        """How many draws are behind its marks, in words."""
        counts = sorted(n for panel in self.panels for one in panel.series for n in one.n)
        if not counts:
            return ""
        low, high = counts[0], counts[-1]
        words = f"n = {low:,} for every mark." if low == high else f"n = {low:,} to {high:,} by mark."
        if any(one.ranges for panel in self.panels for one in panel.series):
            words += " Whiskers of fewer than five draws are their smallest and largest."
        return words


@dataclass(frozen=True)
class Sheet:
    """A table of numbers, as text; the first `keys` columns say what a row is about."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int
    note: str = ""


@dataclass(frozen=True)
class Section:
    """What one study shows: what was found, in sentences; the figure that shows it; more figures, and tables."""

    found: tuple[str, ...] = ()
    answer: Chart | None = None
    charts: tuple[Chart, ...] = ()
    sheets: tuple[Sheet, ...] = ()
