"""Draw the picture of the README and the site: the shipped 39-bus network before and after a release.

python scripts/make_picture.py

The noise is seeded: the picture is the same every time, and what it shows is research, not private. The case is public.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.collections import LineCollection

import gridveil as gv
from gridveil.report.maps.layout import layout

TARGET = Path(__file__).parents[1] / "docs" / "assets" / "release.png"
BEFORE, AFTER, INK, SOFT = "#12404d", "#e07b1a", "#1d2b30", "#8b999e"
COLOURS = "YlOrBr"


def main() -> None:
    """Make the release, draw both halves, write the file."""
    mpl.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "axes.labelcolor": INK})
    network = gv.load("case39_epri")
    made = gv.release(gv.seal("case39_epri"), gv.Plan(1.0, "10%", 0.01), noise=gv.SeededNoise(7))
    before, after = network.lines.impedance()[1], made.network.lines.impedance()[1]
    change = np.abs(after / before - 1)
    assert change.min() > 0, "the title says that every line changes"

    pyplot.switch_backend("Agg")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 4.5), width_ratios=(1.15, 1))
    shades = _map(left, network, change)
    _reactances(right, before, after)
    cost = gv.solve_opf(network).require().cost
    figure.suptitle(
        f"Every line has new numbers; the cheapest dispatch costs {made.point.cost:,.0f} an hour, not {cost:,.0f}",
        fontsize=10.5, fontweight="bold", x=0.5, y=0.975,
    )  # fmt: skip
    figure.text(
        0.5, 0.012, "39-bus network case39_epri · ε = 1, α = 10 %, β = 1 % · one draw with seeded noise", ha="center",
        fontsize=7.5, color=SOFT,
    )  # fmt: skip
    bar = figure.colorbar(shades, ax=left, orientation="horizontal", fraction=0.045, pad=0.02, aspect=40, extend="max")
    bar.set_label("change of a line's reactance")
    bar.ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    bar.outline.set_visible(False)
    figure.subplots_adjust(left=0.02, right=0.985, top=0.88, bottom=0.13, wspace=0.1)
    figure.savefig(TARGET, dpi=160, facecolor="white", metadata={"Software": None})
    print(TARGET.name, f"{TARGET.stat().st_size / 1000:.0f} kB")


def _map(axes: Any, network: gv.Network, change: Any) -> Any:
    """The lines, coloured by how much they change; places are made from who is joined to whom."""
    place = layout(network.grid)
    lines = network.grid.lines
    ends = np.stack([place[lines.bus_from], place[lines.bus_to]], axis=1)
    axes.add_collection(LineCollection(list(ends), colors=INK, linewidths=4.6, capstyle="round"))
    shades = LineCollection(list(ends), cmap=COLOURS, linewidths=3.4, capstyle="round")
    shades.set_array(change)
    shades.set_clim(0, max(0.5, float(np.quantile(change, 0.95))))
    axes.add_collection(shades)
    plants = np.isin(np.arange(len(place)), network.grid.generators.bus)
    axes.scatter(*place[~plants].T, s=16, color=INK, zorder=3, label="bus")
    axes.scatter(
        *place[plants].T, s=42, marker="s", color=BEFORE, edgecolor="white", zorder=3, label="bus with a plant"
    )
    axes.legend(loc="upper left", frameon=False, fontsize=7.5, borderpad=0, handletextpad=0.2)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.margins(0.03)
    axes.axis("off")
    return shades


def _reactances(axes: Any, before: Any, after: Any) -> None:
    """Every line's reactance, from the true value to the released one."""
    order = np.argsort(before)
    rank = np.arange(len(order))
    axes.hlines(rank, before[order], after[order], color="#c9d1d3", linewidth=1.4, zorder=1)
    axes.scatter(before[order], rank, s=16, color=BEFORE, zorder=2, label="original")
    axes.scatter(after[order], rank, s=16, color=AFTER, zorder=3, label="released")
    axes.set_xscale("log")
    axes.set_xticks([0.003, 0.01, 0.03, 0.06])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    axes.set_xlabel("reactance (per unit)")
    axes.set_ylabel(f"the {len(order)} lines, by original reactance")
    axes.set_yticks([])
    axes.legend(loc="upper left", frameon=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
