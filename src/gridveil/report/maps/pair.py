"""Two maps of one network, before and after, at the same places and in the same colours, so that one can lie on the
other. SVG text; colours are classes, whose rules a page takes from `pair_style`: for light and for dark paper."""

from __future__ import annotations

from html import escape

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid
from gridveil.report.maps.colourings import Look, by_loading
from gridveil.report.maps.line_paths import line_paths
from gridveil.report.maps.places import places_of

WIDTH, EDGE = 960.0, 14.0
DOTTED = 400
"""Buses up to which each has a dot."""


def looks() -> tuple[Look, ...]:
    """Classes of loading, the least first; the last is that of lines without a rating."""
    return by_loading(np.zeros(0)).classes


def pair_style() -> str:
    """The rules of both maps and of their legend."""
    found = looks()
    light = " ".join(f".gv-pair .c{k} {{ stroke: {one.light}; }}" for k, one in enumerate(found))
    dark = " ".join(f".gv-pair .c{k} {{ stroke: {one.dark}; }}" for k, one in enumerate(found))
    return (
        f".gv-pair path {{ fill: none; }} .gv-pair .dots {{ stroke: currentColor; stroke-linecap: round; }}\n{light}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n"
    )


def pair_of_maps(grid: Grid, before: FloatArray, after: FloatArray) -> tuple[str, str]:
    """The map by two loadings of its lines, as shares of their ratings."""
    place = _fitted(places_of(grid.n_bus, grid.lines.bus_from, grid.lines.bus_to)[0])
    paths = line_paths(grid.lines.bus_from, grid.lines.bus_to, place)
    return _map(grid, place, paths, before, "before"), _map(grid, place, paths, after, "after")


def legend() -> list[tuple[int, str]]:
    """The number of each class, and its words."""
    return [(k, one.words) for k, one in enumerate(looks())]


def _fitted(place: FloatArray) -> FloatArray:
    flat = place * np.array([1.0, -1.0])  # screens count downwards
    flat = flat - flat.min(axis=0)
    result: FloatArray = flat * ((WIDTH - 2 * EDGE) / max(float(flat[:, 0].max()), 1e-9)) + EDGE
    return result


def _map(grid: Grid, place: FloatArray, paths: FloatArray, share: FloatArray, when: str) -> str:
    colouring = by_loading(share)
    thick = 3.0 if grid.n_line <= 200 else 1.6 if grid.n_line <= 2000 else 0.7
    parts = [
        f'<path class="c{k}" stroke-width="{thick * look.width:.2g}" d="{_curves(paths[colouring.lines == k])}"/>'
        for k, look in _widest_last(colouring.classes)
        if np.any(colouring.lines == k)
    ]
    if grid.n_bus <= DOTTED:
        dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in place.tolist())
        parts.append(f'<path class="dots" stroke-width="{7 if grid.n_bus <= 60 else 4}" d="{dots}"/>')
    words = escape(f"Map of the network {when}: {_full(colouring.lines)}")
    height = float(place[:, 1].max()) + EDGE
    return f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def _widest_last(classes: tuple[Look, ...]) -> list[tuple[int, Look]]:
    return sorted(enumerate(classes), key=lambda pair: pair[1].width)


def _full(classes: IntArray) -> str:
    many = int(np.count_nonzero(classes == len(looks()) - 2))
    return f"{many} {'line is' if many == 1 else 'lines are'} loaded to 90 % and more"


def _curves(paths: FloatArray) -> str:
    """Each as a quadratic curve through the middle of its three points; straight ones as they are."""
    middle = 2 * paths[:, 1] - 0.5 * (paths[:, 0] + paths[:, 2])
    straight = np.abs(paths[:, 1] - 0.5 * (paths[:, 0] + paths[:, 2])).max(axis=1) < 0.05
    rows = np.concatenate([paths[:, 0], middle, paths[:, 2]], axis=1)
    return "".join(
        "M{:.0f} {:.0f}L{:.0f} {:.0f}".format(*row[:2], *row[4:])
        if plain
        else "M{:.0f} {:.0f}Q{:.0f} {:.0f} {:.0f} {:.0f}".format(*row)
        for row, plain in zip(rows.tolist(), straight.tolist(), strict=True)
    )
