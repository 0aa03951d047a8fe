"""The page of an advice: the recommendation in words, one figure, and every setting that was tried. INTERNAL."""

from __future__ import annotations

from math import isfinite, log10
from typing import Any

from gridveil.advice.recommend import Advice, Line
from gridveil.report.page import render

WIDTH, HEIGHT, LEFT, BOTTOM = 640.0, 330.0, 60.0, 44.0
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Of sets of groups, in the order in which they appear."""


def advice_page(case: str, found: Advice) -> str:
    """The page as HTML text."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates, an extra

    groups = list(dict.fromkeys(line.choice.groups for line in found.lines))
    return render(
        "advice.html",
        case=case,
        found=found,
        figure=Markup(figure(found)),
        groups=[(name, COLOURS[i % len(COLOURS)]) for i, name in enumerate(groups)],
        rows=[_row(line, line is found.best) for line in found.lines],
        minutes=f"{found.seconds / 60:.1f}",
    )


def _row(line: Line, best: bool) -> dict[str, Any]:
    seen = line.outcome
    return {
        "words": line.choice.words,
        "best": best,
        "hidden": _figure(seen.hidden_pct, 1),
        "cost": _figure(seen.cost_off_pct, 2),
        "gap": _figure(seen.gap_change_points, 2),
        "similarity": _figure(seen.similarity, 0),
        "excess": _figure(seen.excess, 0),
        "failed": f"{seen.failed} of {seen.trials}",
        "left": "" if line.left is None else f"{line.left:.3g}",
        "score": f"{line.score:.2f}",
        "standing": f"{line.standing:.0%}",
    }


def _figure(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if isfinite(value) else ""


def figure(found: Advice) -> str:
    """How much every setting hides (across) and how far it is from what may be lost (up), the wanted corner marked."""
    points = [(line, line.outcome.hidden_pct, _loss(line)) for line in found.lines if isfinite(line.outcome.hidden_pct)]
    if not points:
        return ""
    goal = 100 * found.goals.hide
    across = _axis([goal, *(max(x, 0.1) for _, x, _ in points)])
    up = _axis([1.0, *(y for _, _, y in points)])
    groups = list(dict.fromkeys(line.choice.groups for line in found.lines))

    def at(x: float, y: float) -> tuple[float, float]:
        across_share, up_share = _share(x, across), _share(y, up)
        return LEFT + across_share * (WIDTH - LEFT - 10), (1 - up_share) * (HEIGHT - BOTTOM - 10) + 10

    left, top = at(goal, 1.0)
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="settings by what they hide and keep">',
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{WIDTH - 10 - left:.1f}" height="{HEIGHT - BOTTOM - top:.1f}" '
        'fill="#009E73" opacity=".12"/>',
    ]
    for value in _ticks(across):
        x, _ = at(value, up[0])
        parts.append(f'<path d="M{x:.1f} 10V{HEIGHT - BOTTOM:g}" stroke="currentColor" opacity=".15"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16:g}" text-anchor="middle">{value:g} %</text>')
    for value in _ticks(up):
        _, y = at(across[0], value)
        parts.append(f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - 10:g}" stroke="currentColor" opacity=".15"/>')
        parts.append(f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{value:g}×</text>')
    for line, hidden, lost in points:
        x, y = at(hidden, lost)
        colour = COLOURS[groups.index(line.choice.groups) % len(COLOURS)]
        best = line is found.best
        ring = ' stroke="currentColor" stroke-width="2.5"' if best else ""
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{8 if best else 5}" fill="{colour}"{ring}>')
        parts.append(f"<title>{line.choice.words}</title></circle>")
    parts.append(f'<text x="{(LEFT + WIDTH) / 2:g}" y="{HEIGHT - 8:g}" text-anchor="middle">')
    parts.append("a reactance is hidden by</text>")
    parts.append("</svg>")
    return "".join(parts)


def _loss(line: Line) -> float:
    """How many times more is lost than may be, of what is kept worst."""
    kept = [value for name, value in line.margins.items() if name != "hide"]
    return 1 / min(kept, default=1.0)


def _axis(values: list[float]) -> tuple[float, float]:
    return min(values) / 1.3, max(values) * 1.3


def _share(value: float, axis: tuple[float, float]) -> float:
    """Where a value lies on a logarithmic axis, from 0 to 1."""
    low, high = axis
    return (log10(max(value, low)) - log10(low)) / (log10(high) - log10(low))


def _ticks(axis: tuple[float, float]) -> list[float]:
    low, high = axis
    return [v for power in range(-3, 5) for v in (10.0**power, 3 * 10.0**power) if low <= v <= high]
