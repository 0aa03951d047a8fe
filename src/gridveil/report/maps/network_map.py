"""The damaged network as a picture: lines cut, islands, load that stays unserved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import ReportError
from gridveil.grid import Grid, Network
from gridveil.libraries import how_to_install
from gridveil.nlp.restoration import Ending, Restoration
from gridveil.report.maps.layout import layout
from gridveil.report.maps.line_paths import line_paths

# Okabe and Ito's colours, which colour-blind readers can tell apart; vermilion is kept for damage
ISLANDS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#F0E442")
CUT, DARK, LINE, INK = "#D55E00", "#8A8A8A", "#9AA5B1", "#22272E"
KINDS = (".svg", ".png")


def draw_attack(network: Network, restoration: Restoration, path: Path | str, title: str = "") -> Path:
    """Draw into an .svg or .png file: discs are loads by area, filled as far as they are served."""
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise ReportError(f"cannot draw into '{target.name}'; give a file that ends in {' or '.join(KINDS)}")
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - an extra, and slow to import
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise ReportError(f"drawing needs matplotlib; {how_to_install('plot')}") from None
    grid, place = network.grid, layout(network.grid)
    width = 8.0 if grid.n_bus <= 60 else 11.0 if grid.n_bus <= 400 else 15.0
    extent = np.ptp(place, axis=0) + 1e-9
    height = float(np.clip(width * extent[1] / extent[0], 0.5 * width, 0.9 * width)) + 1.0
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.axis("off")
    _draw_lines(axes, grid, restoration, place)
    _draw_buses(axes, grid, restoration, place)
    axes.set_title(_title(grid, restoration, title), loc="left", fontsize=11, color=INK)
    _legend(axes)
    axes.margins(0.04)
    try:
        with rc_context({"svg.hashsalt": "gridveil"}):
            figure.savefig(target, dpi=160, metadata={"Date": None} if target.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise ReportError(f"cannot write {target}: {error.strerror or error}") from None
    return target


def _title(grid: Grid, restoration: Restoration, title: str) -> str:
    served = f"{restoration.percent:.1f} % of {restoration.load * grid.base_mva:,.0f} MW restored"
    if restoration.ending is not Ending.OPTIMAL:
        served += f" ({restoration.ending})"
    return f"{title}\n{len(restoration.cut)} of {grid.n_line} lines cut, {served}"


def _draw_lines(axes: Any, grid: Grid, restoration: Restoration, place: FloatArray) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    paths = line_paths(grid.lines.bus_from, grid.lines.bus_to, place)
    thick = 1.1 if grid.n_bus <= 400 else 0.5
    cut, opened = np.isin(np.arange(grid.n_line), restoration.cut), np.isin(np.arange(grid.n_line), restoration.opened)
    dead = restoration.state.vm[grid.lines.bus_from] == 0
    for chosen, colour, style, label in (
        (~cut & ~opened & ~dead, LINE, "solid", None),
        (~cut & ~opened & dead, "#C9CDD2", "solid", None),
        (opened, INK, "dotted", "line opened by the operator"),
        (cut, CUT, "dashed", "line cut"),
    ):
        if chosen.any():
            wide = thick * (1.6 if label else 1.0)
            axes.add_collection(
                LineCollection(
                    list(paths[chosen]), colors=colour, linestyles=style, linewidths=wide, label=label, zorder=1
                )
            )
    if cut.any():
        middle = paths[cut][:, 1]
        axes.scatter(*middle.T, marker="x", s=34 if grid.n_bus <= 400 else 9, color=CUT, linewidths=1.6, zorder=4)


def _draw_buses(axes: Any, grid: Grid, restoration: Restoration, place: FloatArray) -> None:
    load = np.maximum(grid.buses.pd, 0.0)
    biggest = 420.0 if grid.n_bus <= 60 else 170.0 if grid.n_bus <= 400 else 60.0
    smallest = biggest / 25
    area = biggest * load / max(float(load.max(initial=0.0)), 1e-9)
    live = restoration.state.vm > 0
    share = np.where(live, restoration.state.share, 0.0)
    colour = _island_colours(restoration, live)
    unserved = load * (1 - share) > 1e-4 * max(float(load.max(initial=0.0)), 1e-9)
    if unserved.any():
        axes.scatter(
            *place[unserved].T, s=np.maximum(area, smallest)[unserved], facecolors="#FBE3D6", edgecolors=CUT,
            linewidths=0.9, zorder=2, label="load not served",
        )  # fmt: skip
    labels = _labels(restoration, live)
    for name, members in labels.items():
        axes.scatter(
            *place[members].T, s=np.maximum(area * share, smallest)[members], color=colour[members[0]], linewidths=0,
            zorder=3, label=name,
        )  # fmt: skip
    at = np.unique(grid.generators.bus[grid.generators.pmax > 0])
    axes.scatter(
        *place[at].T, s=np.maximum(area, smallest)[at] * 1.9 + smallest, marker="s", facecolors="none",
        edgecolors=INK, linewidths=0.8, zorder=3, label="generation",
    )  # fmt: skip
    if grid.n_bus <= 60:
        away = np.sqrt(np.maximum(area, smallest))  # the discs' diameters, in points
        for bus in range(grid.n_bus):
            axes.annotate(
                str(grid.buses.number[bus]),
                place[bus],
                xytext=(0.55 * away[bus] + 3, 0.4 * away[bus] + 3),
                textcoords="offset points",
                fontsize=7,
                color=INK,
            )


def _legend(axes: Any) -> None:
    """The legend with marks of one size: on the map their size is the load."""
    handles, words = axes.get_legend_handles_labels()
    box = axes.legend(
        handles, words, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False, fontsize=9,
        labelcolor=INK,
    )  # fmt: skip
    for handle in box.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([45.0])


def _live_islands(restoration: Restoration, live: np.ndarray) -> IntArray:
    """Islands with a live bus, the largest first."""
    size = np.bincount(restoration.island[live], minlength=1)
    order = np.lexsort((np.arange(len(size)), -size))
    return order[size[order] > 0]


def _island_colours(restoration: Restoration, live: np.ndarray) -> np.ndarray:
    colours = np.full(len(live), DARK, dtype=object)
    for rank, island in enumerate(_live_islands(restoration, live)):
        colours[live & (restoration.island == island)] = ISLANDS[min(rank, len(ISLANDS) - 1)]
    return colours


def _labels(restoration: Restoration, live: np.ndarray) -> dict[str, IntArray]:
    """The buses of each colour, under the words of the legend."""
    groups: dict[str, IntArray] = {}
    islands = _live_islands(restoration, live)
    for rank, island in enumerate(islands[: len(ISLANDS) - 1]):
        groups["island in service" if rank == 0 else f"island {rank + 1}"] = np.flatnonzero(
            live & (restoration.island == island)
        )
    others = np.flatnonzero(live & np.isin(restoration.island, islands[len(ISLANDS) - 1 :]))
    if others.size:
        groups["smaller islands"] = others
    dark = np.flatnonzero(~live)
    if dark.size:
        groups["dark"] = dark
    return groups
