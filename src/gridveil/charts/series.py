"""From groups of rows to series and tables: the few forms that all studies use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from gridveil.attacks.attackers import ATTACKERS
from gridveil.charts.chart import Kind, Series, Sheet
from gridveil.charts.numbers import counted, number, setting
from gridveil.charts.results import Key, Results, grouped, natural
from gridveil.charts.statistics import Box, Mean

_ORDER = ("laplace", "paper", "additive", "log", *ATTACKERS, "literal", "switchable", "qc", "soc")
NAMES = {
    "laplace": "bare Laplace noise",
    "paper": "paper",
    "additive": "additive",
    "log": "log",
    **{one.name: one.words for one in ATTACKERS.values()},
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


def interval(stat: Mean | None, digits: int = 3, unit: str = "") -> str:
    """A mean with its interval, or with its draws if they are few."""
    if stat is None:
        return "–"
    if stat.n == 1 and stat.is_range:
        return f"{number(stat.mean, digits)}{unit} (one draw)"
    few = f"n = {stat.n}: " if stat.is_range else ""
    return f"{number(stat.mean, digits)}{unit} ({few}{number(stat.low, digits)} … {number(stat.high, digits)})"


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
        low.append(ends[0])
        high.append(ends[1])
        words.append(f"{deviation(stat) if spread == 'sd' else interval(stat)}{unit}, {counted(stat.n, 'draw')}")
    xs, n = tuple(x for x, _ in kept), tuple(stat.n for _, stat in kept)
    heights, few = tuple(stat.mean for _, stat in kept), spread == "interval" and any(stat.is_range for _, stat in kept)
    return Series(name, look, kind, xs, heights, tuple(low), tuple(high), (), tuple(words), n, few)


def box_series(name: str, look: str, points: Sequence[tuple[str, Box | None]]) -> Series:
    """Boxes of draws."""
    kept = [(x, box) for x, box in points if box is not None]
    boxes, n = tuple(box for _, box in kept), tuple(box.n for _, box in kept)
    return Series(name, look, "boxes", tuple(x for x, _ in kept), boxes=boxes, n=n)


def sheet_of(title: str, results: Results, keys: Mapping[str, str], columns: Sequence[Column], note: str = "") -> Sheet:
    """A table with a row per combination of `keys` (column → heading), its draws and failed tasks counted."""
    rows = []
    for key, part in grouped(results, list(keys), in_order).items():
        cells = [setting(value) for value in key]
        shown = [words(part) for _, words in columns]
        draws = len({row["key"] for row in part.rows})
        rows.append((*cells, *shown, str(draws), str(len(part.failed))))
    header = (*keys.values(), *(heading for heading, _ in columns), "n (draws)", "failed")
    return Sheet(title, header, tuple(rows), len(keys), note)
