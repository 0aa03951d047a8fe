"""Two histograms with the same bins, before in grey and after in colour, as SVG text. INTERNAL."""

from __future__ import annotations

from html import escape

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.charts.numbers import number
from gridveil.report.comparison import BOTTOM, HEIGHT, LEFT, MORE, RIGHT, TOP, WIDTH

LABELS = 5
"""Along the axis, at most."""


def twins(before: FloatArray, after: FloatArray, edges: FloatArray, words: str) -> str:
    """How many of each lie between the edges; the outermost bins have no end."""
    counts = [
        np.bincount(np.searchsorted(edges, one, side="right"), minlength=len(edges) + 1) for one in (before, after)
    ]
    most, wide = max(int(max(one.max() for one in counts)), 1), (WIDTH - LEFT - RIGHT) / (len(edges) + 1)
    ground, parts = HEIGHT - BOTTOM, []
    for share in (0.5, 1.0):
        y = ground - (ground - TOP - 22) * share
        parts.append(f'<line x1="{LEFT:.0f}" y1="{y:.1f}" x2="{WIDTH - RIGHT:.0f}" y2="{y:.1f}" class="rule"/>')
        parts.append(_text(LEFT - 5, y + 4, f"{most * share:g}", "end"))
    for side, (found, paint) in enumerate(zip(counts, ('class="middle"', f'fill="{MORE}"'), strict=True)):
        for k, n in enumerate(found.tolist()):
            tall = (ground - TOP - 22) * n / most
            left = LEFT + k * wide + (0.06 + 0.44 * side) * wide
            parts.append(
                f'<rect x="{left:.1f}" y="{ground - tall:.1f}" width="{0.42 * wide:.1f}" height="{tall:.1f}" {paint}/>'
            )
    parts.append(f'<line x1="{LEFT:.0f}" y1="{ground:.0f}" x2="{WIDTH - RIGHT:.0f}" y2="{ground:.0f}" class="ink"/>')
    for k in range(0, len(edges), -(-len(edges) // LABELS)):
        x = LEFT + (k + 1) * wide
        parts.append(f'<line x1="{x:.1f}" y1="{ground:.0f}" x2="{x:.1f}" y2="{ground + 4:.0f}" class="ink"/>')
        parts.append(_text(x, ground + 15, number(float(edges[k]))))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 4, escape(words)))
    for x, paint, name in ((LEFT + 4, 'class="middle"', "before"), (LEFT + 64, f'fill="{MORE}"', "after")):
        parts.append(f'<rect x="{x:.0f}" y="2" width="10" height="10" {paint}/>')
        parts.append(_text(x + 14, 11, name, "start"))
    label = escape(f"{words}, before and after")
    return f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}">{words}</text>'
