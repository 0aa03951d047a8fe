"""Colours of maps: by voltage level, loading or change, for light and for dark paper, with words for the legend.

Colours are told apart by colour-blind readers. What is more is darker on light paper and brighter on dark paper, and
drawn wider, so that the order can be read in grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.charts.numbers import number
from gridveil.report.maps.change_map import CLASSES as CHANGES
from gridveil.report.maps.change_map import COLOURS as CHANGE_COLOURS
from gridveil.report.maps.change_map import change_class
from gridveil.report.maps.loading_map import CLASSES as LOADINGS
from gridveil.report.maps.loading_map import COLOURS as LOADING_COLOURS
from gridveil.report.maps.loading_map import loading_class


class Look(NamedTuple):
    """A class in the legend: its colour on light and dark paper, and how wide its lines are; wider ones lie on top."""

    words: str
    light: str
    dark: str
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class Colouring:
    """One way to colour a map: the class of every line, of every bus or of none, and what stands out."""

    title: str
    classes: tuple[Look, ...]
    lines: IntArray
    buses: IntArray | None = None
    rank: FloatArray | None = None

    def record(self) -> dict[str, Any]:
        """The same as JSON for the script of the page."""
        record: dict[str, Any] = {"title": self.title, "classes": [list(one) for one in self.classes]}
        record["lines"] = self.lines.tolist()
        record["buses"] = None if self.buses is None else self.buses.tolist()
        if self.rank is None:
            record["rank"] = None
        else:
            record["rank"] = [None if np.isnan(one) else float(f"{min(one, 1e9):.4g}") for one in self.rank.tolist()]
        return record


_LOADING_DARK = ("#38557F", "#3D8FC4", "#5FC4C4", "#A9E0A0", "#FFE45C", "#6B7280")
_CHANGE_DARK = (
    "#D6A8FF", "#A77BF0", "#7F63C0", "#5D5290", "#5A616B", "#8A6238", "#C07A22", "#F2952B", "#FFC14D",
)  # fmt: skip
_LEVELS = (  # Okabe and Ito's, brighter on dark paper
    ("#D55E00", "#FF8A3D"), ("#0072B2", "#5AB4F0"), ("#009E73", "#2FCB9C"), ("#CC79A7", "#E89AC6"),
    ("#E69F00", "#FFC24D"), ("#56B4E9", "#9AD4F7"), ("#7A6A00", "#D8C93A"),
)  # fmt: skip
OTHER = ("#8A929B", "#7D8690")


def by_loading(share: FloatArray) -> Colouring:
    """Apparent power over rating."""
    looks = [
        Look(words, light, dark, 0.8 if words == LOADINGS[-1] else 0.9 + 0.35 * k)
        for k, (words, light, dark) in enumerate(zip(LOADINGS, LOADING_COLOURS, _LOADING_DARK, strict=True))
    ]
    return Colouring("loading", tuple(looks), loading_class(share), rank=share)


def by_change(ratio: FloatArray, title: str) -> Colouring:
    """Released over original; what changed most is drawn widest."""
    looks = [
        Look(words, light, dark, 0.9 + 0.35 * abs(k - 4))
        for k, (words, light, dark) in enumerate(zip(CHANGES, CHANGE_COLOURS, _CHANGE_DARK, strict=True))
    ]
    with np.errstate(divide="ignore"):
        rank = np.abs(np.log(ratio))
    return Colouring(title, tuple(looks), np.array([change_class(one) for one in ratio.tolist()], np.int64), rank=rank)


def ratio_words(ratio: float) -> str:
    """How much a number changed, for a table."""
    if not np.isfinite(ratio):
        return "from nothing"
    words = f"{100 * (ratio - 1):+.1f} %" if ratio < 10 else f"× {number(ratio)}"
    return words.replace("-", "−")


def by_voltage(kv: FloatArray, ends: IntArray) -> Colouring:
    """The level of both ends; levels beyond the seven with most buses share one colour."""
    levels, which, count = np.unique(kv, return_inverse=True, return_counts=True)
    shown = np.sort(np.argsort(-count, kind="stable")[: len(_LEVELS)])[::-1]  # the highest first
    place = np.full(len(levels), len(shown), dtype=np.int64)
    place[shown] = np.arange(len(shown))
    bus = place[which.reshape(-1)]
    looks = [
        Look(f"{levels[k]:g} kV" if levels[k] > 0 else "no voltage given", *_LEVELS[i], 1.7 - 0.8 * i / len(shown))
        for i, k in enumerate(shown.tolist())
    ]
    looks += [Look("other levels", *OTHER, 0.9), Look("between levels", *OTHER, 0.9)]
    low, high = kv[ends].min(axis=1, initial=np.inf), kv[ends].max(axis=1, initial=-np.inf)
    lines = np.where(low == high, bus[ends[:, 0]], len(looks) - 1) if len(ends) else np.zeros(0, np.int64)
    return Colouring("voltage level", tuple(looks), lines, buses=bus)
