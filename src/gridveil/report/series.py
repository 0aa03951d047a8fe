"""From groups of rows to series and tables: the few forms that all studies use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal

from gridveil.attacks.scores import Interval
from gridveil.report.chart import Kind, Series, Sheet
from gridveil.report.statistics import Box, Key, Mean, Results, grouped, natural
from gridveil.report.words import number
from gridveil.study.declare import exact

_ORDER = ("laplace", "paper", "additive", "log", "random", "real", "released", "public", "interdiction", "literal",
          "switchable", "qc", "soc")  # fmt: skip
NAMES = {
    "laplace": "bare Laplace noise",
    "paper": "paper",
    "additive": "additive",
    "log": "log",
    "random": "random lines",
    "real": "flows of the real network",
    "released": "flows of the release",
    "public": "flows without line data",
    "interdiction": "search on the release",
}
Column = tuple[str, Callable[[Results], str]]


def in_order(key: Key) -> tuple[Any, ...]:
    """Sorts mechanisms, attackers and models as the paper has them, then other names, and numbers by themselves."""
    return tuple(
        (_ORDER.index(part), []) if part in _ORDER else (len(_ORDER) if isinstance(part, str) else -1, natural(part))
        for part in key
    )


def ordered(values: Iterable[Any]) -> list[Any]:
    """Distinct values in that order."""
    return [key[0] for key in sorted({(value,) for value in values}, key=in_order)]


def setting(value: Any) -> str:
    """A value of a setting in full: two that differ never look alike."""
    return exact(value).replace("-", "−")


def interval(stat: Mean | Interval | None, digits: int = 3) -> str:
    """A mean with its interval."""
    if stat is None:
        return "–"
    if not isfinite(stat.low):
        return f"{number(stat.mean, digits)} (one draw)"
    return f"{number(stat.mean, digits)} ({number(stat.low, digits)} … {number(stat.high, digits)})"


def deviation(stat: Mean | None, digits: int = 3) -> str:
    """A mean with its standard deviation."""
    if stat is None:
        return "–"
    return f"{number(stat.mean, digits)} " + (f"± {number(stat.sd, digits)}" if stat.n > 1 else "(one draw)")


def mean_series(
    name: str,
    look: str,
    kind: Kind,
    points: Sequence[tuple[Any, Mean | None]],
    spread: Literal["interval", "sd"] = "interval",
    unit: str = "",
) -> Series:
    """Means with whiskers; a mean of one draw has none."""
    kept = [(x, stat) for x, stat in points if stat is not None]
    low, high, words = [], [], []
    for _, stat in kept:
        ends = (stat.mean - stat.sd, stat.mean + stat.sd) if spread == "sd" else (stat.low, stat.high)
        ends = ends if isfinite(ends[0]) else (stat.mean, stat.mean)
        low.append(ends[0])
        high.append(ends[1])
        words.append(f"{deviation(stat) if spread == 'sd' else interval(stat)}{unit}, {stat.n} draws")
    xs = tuple(x for x, _ in kept)
    return Series(name, look, kind, xs, tuple(stat.mean for _, stat in kept), tuple(low), tuple(high), (), tuple(words))


def box_series(name: str, look: str, points: Sequence[tuple[str, Box | None]]) -> Series:
    """Boxes of draws."""
    kept = [(x, box) for x, box in points if box is not None]
    return Series(name, look, "boxes", tuple(x for x, _ in kept), boxes=tuple(box for _, box in kept))


def sheet_of(title: str, results: Results, keys: Mapping[str, str], columns: Sequence[Column], note: str = "") -> Sheet:
    """A table with a row per combination of `keys` (column → heading), its draws and failed tasks counted."""
    rows = []
    for key, part in grouped(results, list(keys), in_order).items():
        cells = [setting(value) for value in key]
        shown = [words(part) for _, words in columns]
        draws = len({row["key"] for row in part.rows})
        rows.append((*cells, *shown, str(draws), str(len(part.failed))))
    header = (*keys.values(), *(heading for heading, _ in columns), "draws", "failed")
    return Sheet(title, header, tuple(rows), len(keys), note)
