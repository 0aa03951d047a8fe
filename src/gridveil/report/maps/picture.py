"""What an interactive map shows, as plain data: places, colourings to choose from, columns of its tables.

Built of whatever the caller may see: a `Structure` gives a map without any number that may be protected, a network one
with loads, an operating point loadings, an original besides changes. The last is INTERNAL, and so is a page with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Network, OperatingPoint
from gridveil.grid.structure import Structure
from gridveil.report.maps.change_map import ChangeMap
from gridveil.report.maps.colourings import Colouring, by_change, by_loading, by_voltage, ratio_words
from gridveil.report.maps.line_paths import bows
from gridveil.report.maps.loading_map import loading
from gridveil.report.maps.places import places_of

FINE = 20_000
"""Places are whole numbers up to this along the longer side: finer than any screen, and short to write."""


@dataclass(frozen=True)
class Column:
    """A column of the table of buses or lines; None where there is nothing to say."""

    head: str
    values: Sequence[float | str | None]
    view: int | None = None
    """The colouring that it belongs to: shown with that one alone, so that a table of many stays narrow."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A map before it is HTML: rows of `ends` are lines, `size` is the area of a bus's disc."""

    title: str
    place: FloatArray
    number: Sequence[int]
    ends: IntArray
    views: tuple[Colouring, ...]
    size: FloatArray
    units: IntArray
    bus_columns: tuple[Column, ...] = ()
    line_columns: tuple[Column, ...] = ()
    names: tuple[str, ...] | None = None
    fixed: bool = False
    """Places are the user's: the map is not turned to fit a window."""

    def record(self) -> dict[str, Any]:
        """The same as JSON for the script of the page."""
        place = self.place * np.array([1.0, -1.0])  # screens count downwards
        place = place - place.min(axis=0)
        place = np.round(place * FINE / max(float(place.max(initial=0.0)), 1e-9)).astype(np.int64)
        bow = bows(self.ends[:, 0], self.ends[:, 1], len(place))
        return {
            "title": self.title,
            "fixed": self.fixed,
            "buses": {
                "x": place[:, 0].tolist(),
                "y": place[:, 1].tolist(),
                "number": list(self.number),
                "name": None if self.names is None else list(self.names),
                "size": [float(f"{one:.4g}") for one in self.size],
                "columns": [_column(one) for one in self.bus_columns],
            },
            "lines": {
                "from": self.ends.min(axis=1, initial=len(place)).tolist(),
                "to": self.ends.max(axis=1, initial=0).tolist(),
                "bow": {str(i): round(float(bow[i]), 3) for i in np.flatnonzero(bow).tolist()},
                "columns": [_column(one) for one in self.line_columns],
            },
            "units": self.units.tolist(),
            "views": [one.record() for one in self.views],
        }


def _column(one: Column) -> dict[str, Any]:
    def short(value: float | str | None) -> float | str | None:
        if not isinstance(value, int | float):
            return value
        return float(f"{value:.5g}") if np.isfinite(value) else None

    return {"head": one.head, "values": [short(value) for value in one.values], "view": one.view}


def picture_of(
    network: Network | Structure,
    *,
    point: OperatingPoint | None = None,
    original: Network | None = None,
    coordinates: FloatArray | None = None,
    names: tuple[str, ...] | None = None,
    title: str = "",
) -> Picture:
    """The picture of a network: by voltage level, by loading if there is a point, by change if there is an original."""
    grid = network.grid if isinstance(network, Network) else network
    lines, kv = grid.lines, grid.buses.base_kv
    ends = np.stack([lines.bus_from, lines.bus_to], axis=1)
    views, line_columns = list[Colouring](), list[Column]()
    levels = kv[ends] if len(ends) else np.zeros((0, 2))
    kv_words = [f"{one:g}" if one == other else f"{one:g}/{other:g}" for one, other in levels.tolist()]
    line_columns.append(Column("kV", kv_words))
    bus_columns = [Column("kV", kv.tolist())]
    size, units = np.zeros(grid.n_bus), np.zeros(0, np.int64)
    if isinstance(network, Network):
        full = network.grid
        size = np.maximum(full.buses.pd, 0.0) * full.base_mva
        units = np.unique(full.generators.bus[full.generators.pmax > 0])
        _original_loads(bus_columns, full.buses.pd * full.base_mva, original)
        if original is not None:
            ratio = _change(original, network)
            views.append(by_change(ratio, "change of the impedance"))
            line_columns.append(Column("|z| changed", [ratio_words(one) for one in ratio.tolist()]))
        if point is not None:
            share = loading(network, point)
            views.append(by_loading(share))
            line_columns.append(Column("loading, %", np.round(100 * share, 1).tolist()))
            flow = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt)) * full.base_mva
            line_columns.append(Column("flow, MVA", np.round(flow, 1).tolist()))
    place = places_of(grid.n_bus, lines.bus_from, lines.bus_to)[0] if coordinates is None else coordinates
    words = title or f"Map of {grid.n_bus:,} buses and {len(ends):,} lines"
    return Picture(
        words, place, grid.buses.number.tolist(), ends, (*views, by_voltage(kv, ends)), size, units,
        tuple(bus_columns), tuple(line_columns), names, coordinates is not None,
    )  # fmt: skip


def picture_of_changes(chart: ChangeMap) -> Picture:
    """The picture of a study's releases, each a colouring to choose, the first one first."""
    ends = np.array(chart.ends, dtype=np.int64).reshape(-1, 2)
    order = [chart.first, *(name for name in chart.changes if name != chart.first)]
    views = tuple(by_change(np.array(chart.changes[name]), name) for name in order)
    columns = tuple(
        Column(f"|z|, {name}", [ratio_words(one) for one in chart.changes[name]], k) for k, name in enumerate(order)
    )
    title = f"Map of {chart.case}: how the impedance of every line changed"
    none = np.zeros(len(chart.buses))
    return Picture(
        title, np.array(chart.place), chart.buses, ends, views, none, np.zeros(0, np.int64), line_columns=columns
    )


def _original_loads(columns: list[Column], load: FloatArray, original: Network | None) -> None:
    before = None if original is None else original.grid.buses.pd * original.grid.base_mva
    if before is None or bool(np.array_equal(before, load)):
        columns.append(Column("load, MW", np.round(load, 3).tolist()))
        return
    columns.append(Column("load before, MW", np.round(before, 3).tolist()))
    columns.append(Column("load after, MW", np.round(load, 3).tolist()))


def _change(original: Network, released: Network) -> FloatArray:
    """|z̃|/|z| of every line; 1 where neither has an impedance."""
    before, after = (np.hypot(*one.lines.impedance()) for one in (original, released))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = after / before
    return np.where((before == 0) & (after == 0), 1.0, ratio)
