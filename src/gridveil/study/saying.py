"""What the sections of studies share: series by mechanism over α, and the sentences that say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gridveil.charts.chart import Kind, Series
from gridveil.charts.numbers import number, setting
from gridveil.charts.results import Results
from gridveil.charts.series import NAMES, box_series, interval, mean_series, ordered
from gridveil.charts.statistics import Mean, box_of, mean_of

SETTING = {"case": "case", "mechanism": "mechanism", "alpha": "α"}
Stat = Callable[[Results], Mean | None]


def by_mechanism(part: Results, stat: Stat, kind: Kind = "points", unit: str = "") -> tuple[Series, ...]:
    """A series per mechanism over α, all networks of the part together."""
    return tuple(
        mean_series(NAMES[mechanism], mechanism, kind,
                    [(setting(a), stat(part.where(mechanism=mechanism, alpha=a))) for a in part.values("alpha")],
                    unit=unit)
        for mechanism in ordered(part.values("mechanism"))
    )  # fmt: skip


def boxes_by_mechanism(part: Results, values: Callable[[Results], Iterable[float]]) -> tuple[Series, ...]:
    """The same as boxes of draws."""
    return tuple(
        box_series(NAMES[mechanism], mechanism, [
            (setting(a), box_of(values(part.where(mechanism=mechanism, alpha=a)))) for a in part.values("alpha")])
        for mechanism in ordered(part.values("mechanism"))
    )  # fmt: skip


def usual(values: Sequence[Any]) -> Any:
    """The setting to speak of: 0.1 where it is among them, else the middle one."""
    return 0.1 if 0.1 in values else values[len(values) // 2]


def each(part: Results, stat: Stat, unit: str = " %", name: str = "mechanism") -> str:
    """A figure of every mechanism (or attacker) in one sentence's end, those that have none left out."""
    found = [(one, stat(part.where(**{name: one}))) for one in ordered(part.values(name))]
    return ", ".join(f"{NAMES.get(one, one)} {interval(value, unit=unit)}" for one, value in found if value is not None)


def where(results: Results) -> str:
    """The networks in a title."""
    cases = results.values("case")
    return str(cases[0]) if len(cases) == 1 else f"{len(cases)} networks"


def together(results: Results) -> str:
    """What a mark of several networks is."""
    return "" if len(results.values("case")) == 1 else " Draws of all networks count together."


def mean(part: Results, name: str) -> float | None:
    """The mean of a column."""
    stat = mean_of(part.column(name))
    return None if stat is None else stat.mean


def median(part: Results, name: str) -> float | None:
    """The median of a column."""
    box = box_of(part.column(name))
    return None if box is None else box.median


def largest(part: Results, name: str) -> float | None:
    """The largest size in a column."""
    return max((abs(value) for value in part.column(name)), default=None)


def medians(part: Results, name: str, unit: str = " %") -> str:
    """Medians of every mechanism in one sentence's end."""
    found = [(one, median(part.where(mechanism=one), name)) for one in ordered(part.values("mechanism"))]
    return ", ".join(f"{NAMES[one]} {number(value)}{unit}" for one, value in found if value is not None)
