"""Before and after as SVG text: a number against what it was, and how often numbers changed by how much. INTERNAL.

Ink, grey and rules are classes, which the page colours for light and dark paper.
"""

from __future__ import annotations

from math import ceil, floor, log10

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.charts.numbers import number

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT, TOP = 360.0, 260.0, 56.0, 34.0, 12.0, 8.0
LESS, MORE = "#8073AC", "#E08214"
EDGES = (-0.9, -0.75, -0.5, -0.35, -0.25, -0.15, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 3.0)
"""Relative changes at which the bins of a histogram meet; the outermost have no end."""
FEW = 5
"""Labels along an axis."""


def before_after(before: FloatArray, after: FloatArray, unit: str) -> str:
    """Every number as a dot, both scales logarithmic; the line is where nothing changed."""
    one, other = np.abs(before), np.abs(after)
    both = np.log10(np.concatenate([one, other]))
    low, high = float(both.min()) - 0.1, float(both.max()) + 0.1

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value - low) / (high - low), 1)

    parts = [_line(x(low), y(low), x(high), y(high), "middle", dash=True)]
    for tick in _ticks(low, high):
        parts += [_line(x(tick), y(low), x(tick), y(high), "rule"), _line(x(low), y(tick), x(high), y(tick), "rule")]
        parts += [_text(x(tick), HEIGHT - BOTTOM + 14, _round(tick)), _text(LEFT - 5, y(tick) + 4, _round(tick), "end")]
    ratio = np.log(other / one)
    for b, a, moved in zip(np.log10(one).tolist(), np.log10(other).tolist(), ratio.tolist(), strict=True):
        colour = MORE if moved > 0 else LESS
        parts.append(f'<circle cx="{x(b)}" cy="{y(a)}" r="3" fill="{colour}" fill-opacity=".7"/>')
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 4, f"original{f' ({unit})' if unit else ''}"))
    parts.append(
        f'<text x="11" y="{HEIGHT / 2:.0f}" font-size="11" text-anchor="middle" '
        f'transform="rotate(-90 11 {HEIGHT / 2:.0f})">released</text>'
    )
    return _svg("released against original", parts)


def histogram(before: FloatArray, after: FloatArray) -> str:
    """How many numbers changed by how much, relative to what they were."""
    change = after / before - 1.0
    count = np.bincount(np.searchsorted(EDGES, change, side="right"), minlength=len(EDGES) + 1)
    many, wide = max(int(count.max()), 1), (WIDTH - LEFT - RIGHT) / len(count)
    floor_y, parts = HEIGHT - BOTTOM, []
    for k, n in enumerate(count.tolist()):
        tall = (floor_y - TOP - 14) * n / many
        middle = len(EDGES) // 2
        paint = f'fill="{LESS if k <= middle else MORE}"'
        if k == middle + (len(EDGES) % 2):
            paint = 'class="middle"'
        left = LEFT + k * wide
        parts.append(
            f'<rect x="{left + 1:.1f}" y="{floor_y - tall:.1f}" width="{wide - 2:.1f}" height="{tall:.1f}" {paint}/>'
        )
        if n:
            parts.append(_text(left + wide / 2, floor_y - tall - 3, str(n)))
    parts.append(_line(LEFT, floor_y, WIDTH - RIGHT, floor_y, "ink"))
    for k, edge in enumerate(EDGES):
        if edge in (-0.75, -0.25, -0.05, 0.05, 0.25, 3.0):
            place = LEFT + (k + 1) * wide
            parts.append(_line(place, floor_y, place, floor_y + 4, "ink"))
            parts.append(_text(place, floor_y + 15, f"{100 * edge:+.0f} %".replace("-", "−")))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 4, "relative change"))
    return _svg("histogram of relative changes", parts)


def _ticks(low: float, high: float) -> list[float]:
    """Logarithms of round numbers to label: powers of ten, and 2 and 5 times them where there are few."""
    steps = (1, 2, 5) if high - low < 2 else (1,)
    every = [k + log10(step) for k in range(floor(low), ceil(high) + 1) for step in steps]
    inside = [one for one in every if low <= one <= high]
    return inside[:: max(ceil(len(inside) / FEW), 1)]


def _round(exponent: float) -> str:
    return number(10.0**exponent) if -3 <= exponent <= 5 else f"{10.0**exponent:.0e}".replace("-", "−")


def _line(x1: float, y1: float, x2: float, y2: float, name: str, *, dash: bool = False) -> str:
    dashed = ' stroke-dasharray="4 3"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{name}"{dashed}/>'


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}">{words}</text>'


def _svg(words: str, parts: list[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def middle_change(before: FloatArray, after: FloatArray) -> str:
    """The size of the middle change, and the share of numbers that changed by less than a tenth, in words."""
    change = np.abs(after / before - 1.0)
    return (
        f"half changed by {number(100 * float(np.median(change)))} % or less, "
        f"{number(100 * float(np.mean(change <= 0.1)))} % of them by a tenth at most"
    )
