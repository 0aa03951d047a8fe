"""Maps as HTML: a block for pages of ours, a frame for notebooks."""

from __future__ import annotations

from html import escape
from importlib.resources import files

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Network, OperatingPoint
from gridveil.grid.structure import Structure
from gridveil.report.maps.picture import Picture, picture_of
from gridveil.report.page import safe_json

_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>:root {{ color-scheme: light dark; }}
body {{ margin: 0; padding: .4rem; background: light-dark(#fff, #14181d); }}
{style}</style></head><body>
{block}
<script>{script}</script></body></html>"""


def map_style() -> str:
    """The rules that every page with maps has once."""
    return _asset("map.css")


def map_script() -> str:
    """The script that every page with maps has once, after them."""
    return _asset("paint.js") + _asset("map.js")


def _asset(name: str) -> str:
    return (files("gridveil.report.maps") / name).read_text(encoding="utf-8")


def map_block(picture: Picture) -> str:
    """A map to stand in a page that has `map_style` and, after it, `map_script`; a still picture without the script."""
    still = _still(picture.place, picture.ends, picture.title, 960)
    return (
        f'<div class="gv-map">\n{still}\n<script type="application/json">{safe_json(picture.record())}</script>\n</div>'
    )


def map_html(
    network: Network | Structure,
    *,
    point: OperatingPoint | None = None,
    original: Network | None = None,
    coordinates: FloatArray | None = None,
    names: tuple[str, ...] | None = None,
    title: str = "",
    height: int = 760,
) -> str:
    """An interactive map that needs nothing else, for a notebook: as often as you like on one page.

    It stands in a frame of its own, which loads nothing and sees nothing of the page around it. With an `original` it
    is INTERNAL.

    Args:
        network: A network, or a `Structure` for a map without any number that may be protected.
        point: An operating point, to colour lines by how loaded they are.
        original: What the network was made from, to colour lines by their change.
        coordinates: Where buses stand, from `read_coordinates`; without them, places are made from the topology.
        names: A name for every bus, to search by.
        title: What the map is called by a screen reader.
        height: Of the frame, in pixels.

    Returns:
        One HTML element.
    """
    picture = picture_of(network, point=point, original=original, coordinates=coordinates, names=names, title=title)
    page = _FRAME.format(style=map_style(), block=map_block(picture), script=map_script())
    return (
        f'<iframe title="{escape(picture.title)}" sandbox="allow-scripts" width="100%" height="{height:d}" '
        f'frameborder="0" srcdoc="{escape(page)}"></iframe>'
    )


def _still(place: FloatArray, ends: np.ndarray, words: str, width: int) -> str:
    """Every corridor once, as one path; buses as dots while they can be told apart."""
    flat = place * np.array([1.0, -1.0])
    extent = np.maximum(np.ptp(flat, axis=0), 1e-9)
    unit = 10 if width < 500 and len(place) <= 1000 else 1
    height = int(np.clip(width * extent[1] / extent[0], 0.25 * width, 0.9 * width))
    scale = min((width - 12) / extent[0], (height - 12) / extent[1]) * unit
    spot = np.round((flat - flat.min(axis=0)) * scale).astype(np.int64)  # tenths of a pixel on a card
    edge = (np.array([width, height]) * unit - np.ptp(spot, axis=0)) // 2
    spot = spot + edge
    drawn = np.unique(np.sort(ends, axis=1), axis=0) if len(ends) else ends
    moves = np.concatenate([spot[drawn[:, 0]], spot[drawn[:, 1]] - spot[drawn[:, 0]]], axis=1)
    moves = np.unique(moves[np.any(moves[:, 2:] != 0, axis=1)], axis=0)
    path = "".join(f"M{x} {y}l{u} {v}" for x, y, u, v in moves.tolist())
    thick = (1.4 if len(place) <= 200 else 0.8 if len(place) <= 3000 else 0.5) * unit
    dot = 5.0 if len(place) <= 60 else 3.2 if len(place) <= 400 else 0.0
    dot *= unit * width / (320 if width < 500 else 640)
    dots = "".join(f"M{x} {y}h0" for x, y in spot.tolist()) if dot else ""
    marks = f'<path d="{dots}" stroke-width="{dot:g}" stroke-linecap="round"/>' if dot else ""
    return (
        f'<svg viewBox="0 0 {width * unit} {height * unit}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(words)}" fill="none" stroke="currentColor">'
        f'<path d="{path}" stroke-width="{thick:g}" opacity=".55"/>{marks}</svg>'
    )
