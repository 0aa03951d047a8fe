"""A map of a released network as SVG text: lines by how loaded they are, buses by their load. No library, no truth."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid, Network, OperatingPoint
from gridveil.report.maps.layout import layout
from gridveil.report.maps.line_paths import line_paths

EDGES = (0.25, 0.5, 0.75, 0.9)
CLASSES = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 to 90 %", "90 % and more", "no rating")
# from light to dark, so that the order can be read in grey and by colour-blind readers (Brewer's YlGnBu)
COLOURS = ("#A8D5C2", "#5FB8C4", "#2C8DBE", "#2453A0", "#081D58", "#B8BDC4")
WIDTH = 1000.0
ALONE = 2000
"""Lines beyond which those of a class are one path, without words on hover: the page stays light."""


def loading(network: Network, point: OperatingPoint) -> FloatArray:
    """Apparent power over rating at the more loaded end of every line; NaN where there is no rating."""
    rating = network.grid.lines.rating
    flow = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt))
    known = np.isfinite(rating) & (rating > 0)
    result = np.full(len(rating), np.nan)
    result[known] = flow[known] / rating[known]
    return result


def loading_class(share: FloatArray) -> IntArray:
    """The class of every line's loading; the last is that of lines without a rating."""
    classes = np.searchsorted(EDGES, share, side="right")
    return np.where(np.isfinite(share), classes, len(EDGES) + 1)


def map_places(grid: Grid) -> FloatArray:
    """Where buses stand on the map, in whole pixels: what might differ far behind the point cannot be seen."""
    place = layout(grid)
    low, extent = place.min(axis=0), np.ptp(place, axis=0)
    scale = (WIDTH - 80) / max(float(extent[0]), 1e-9) if extent[0] > 0 else 1.0
    height = float(np.clip(scale * extent[1], 120.0, 1.2 * WIDTH)) + 80
    squeeze = np.array([scale, (height - 80) / extent[1] if extent[1] > 0 else 1.0])
    position = (place - low) * squeeze + 40
    position[:, 1] = height - position[:, 1]
    return np.asarray(np.round(position), np.float64)


def loading_map(network: Network, point: OperatingPoint) -> str:
    """The map as one svg element; every text in it is a number or ours."""
    grid = network.grid
    position = map_places(grid)
    height = float(position[:, 1].max()) + 40
    paths = line_paths(grid.lines.bus_from, grid.lines.bus_to, position)
    body = [*_lines(network, point, paths), *_buses(network, position)]
    head = f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="Map of the released network">'
    return head + "\n" + "\n".join(body) + "\n</svg>"


def _lines(network: Network, point: OperatingPoint, paths: FloatArray) -> list[str]:
    grid, share = network.grid, loading(network, point)
    classes = loading_class(share)
    thick = 3.0 if grid.n_line <= 200 else 1.6 if grid.n_line <= ALONE else 0.7
    middle = 2 * paths[:, 1] - 0.5 * (paths[:, 0] + paths[:, 2])
    numbers = np.concatenate([paths[:, 0], middle, paths[:, 2]], axis=1)
    curves = ["M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*row) for row in numbers.tolist()]
    parts = []
    for group, colour in enumerate(COLOURS):
        members = np.flatnonzero(classes == group).tolist()
        if not members:
            continue
        width = thick * (0.8 + 0.25 * (group % 5))
        parts.append(f'<g fill="none" stroke="{colour}" stroke-width="{width:.2f}" stroke-linecap="round">')
        if grid.n_line > ALONE:
            parts.append(f'<path d="{"".join(curves[i] for i in members)}"/>')
        for i in members if grid.n_line <= ALONE else ():
            start, end = grid.buses.number[grid.lines.bus_from[i]], grid.buses.number[grid.lines.bus_to[i]]
            words = f"{100 * share[i]:.0f} % of its rating" if np.isfinite(share[i]) else "no rating"
            parts.append(f'<path d="{curves[i]}"><title>line {i + 1}, {start}–{end}: {words}</title></path>')
        parts.append("</g>")
    return parts


def _buses(network: Network, position: FloatArray) -> list[str]:
    grid = network.grid
    load = np.maximum(grid.buses.pd, 0.0)
    biggest = 13.0 if grid.n_bus <= 60 else 7.0 if grid.n_bus <= 400 else 2.5
    radius = np.maximum(biggest * np.sqrt(load / max(float(load.max(initial=0.0)), 1e-9)), biggest / 5)
    generates = np.isin(np.arange(grid.n_bus), grid.generators.bus[grid.generators.pmax > 0])
    parts = ['<g fill="#22272E" stroke="#22272E" stroke-width="1.2">']
    for i, (x, y) in enumerate(position.tolist()):
        words = f"bus {grid.buses.number[i]}: {grid.buses.pd[i] * grid.base_mva:,.1f} MW" if grid.n_bus <= ALONE else ""
        title = f"<title>{words}</title>" if words else ""
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius[i]:.1f}" stroke="none">{title}</circle>')
        if generates[i]:
            side = 2 * radius[i] + 5
            corner = f'x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}"'
            parts.append(f'<rect {corner} fill="none"/>')
    parts.append("</g>")
    if grid.n_bus <= 60:
        parts.append('<g font-size="13" font-family="system-ui, sans-serif" fill="#22272E">')
        for i, (x, y) in enumerate(position.tolist()):
            away = 0.7 * radius[i] + 6
            parts.append(f'<text x="{x + away:.1f}" y="{y - away:.1f}">{grid.buses.number[i]}</text>')
        parts.append("</g>")
    return parts
