"""`.plot()` of networks and releases: a map drawn by matplotlib, which is loaded now."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridveil.grid import Network
from gridveil.libraries import needed
from gridveil.report.maps.layout import layout
from gridveil.report.maps.line_paths import line_paths

NUMBERED = 60
"""Buses up to which each has its number."""
UNITS, INK, LINE = "#2f86d6", "#22272e", "#7b8794"


def plot(thing: Any, axes: Any = None, *, title: str | None = None) -> Any:
    """Draw a network, or a release with the loading of its lines; where there are no axes, some are made. The axes."""
    needed("matplotlib", "plot")
    from matplotlib import pyplot  # noqa: PLC0415
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    network: Network = thing if isinstance(thing, Network) else thing.network
    grid, place = network.grid, layout(network.grid)
    if axes is None:
        axes = pyplot.subplots(figsize=(8, 5), layout="constrained")[1]
    thick = 1.6 if grid.n_bus <= 400 else 0.6
    paths = list(line_paths(grid.lines.bus_from, grid.lines.bus_to, place))
    loading = None if isinstance(thing, Network) else _loading(thing)
    if loading is None:
        axes.add_collection(LineCollection(paths, colors=LINE, linewidths=thick, zorder=1))
    else:
        lines = LineCollection(paths, cmap="viridis_r", linewidths=1.5 * thick, zorder=1)
        lines.set_array(loading)
        lines.set_clim(0, 100)
        axes.add_collection(lines)
        axes.figure.colorbar(lines, ax=axes, label="loading of the line (%)", shrink=0.7)
    unit = np.isin(np.arange(grid.n_bus), grid.generators.bus)
    size = 28 if grid.n_bus <= 400 else 4
    axes.scatter(*place[~unit].T, s=size, color=INK, zorder=2, label="bus")
    axes.scatter(*place[unit].T, s=1.6 * size, color=UNITS, marker="s", zorder=3, label="bus with a generator")
    if grid.n_bus <= NUMBERED:
        for number, point in zip(grid.buses.number.tolist(), place, strict=True):
            axes.annotate(str(number), point, xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.set_title(f"{grid.n_bus:,} buses, {grid.n_line:,} lines" if title is None else title, loc="left")
    axes.set_aspect("equal")
    axes.margins(0.05)
    axes.axis("off")
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=2, frameon=False)
    return axes


def _loading(made: Any) -> Any:
    from gridveil.grid.frames import point_columns  # noqa: PLC0415

    return point_columns(made.network.grid, made.point).lines["loading_pct"]
