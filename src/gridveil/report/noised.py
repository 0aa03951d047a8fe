"""What a joint release has noised, and by how much, in words of people who trade and plan; from the release alone."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from gridveil.charts.numbers import number
from gridveil.grid import Network
from gridveil.report.quantities import Numbers, protected_numbers, spread
from gridveil.wall.protection import GROUP_WORDS, Group, Protection, Ratings

WIDE, EDGE = 260.0, 8.0
"""Of a bar: its width in pixels, and the factor at either end."""
HALF, MOST = 0.5, 0.95


def noised(network: Network, protection: Protection, epsilon: float) -> list[dict[str, Any]]:
    """A row per quantity: how many, α, what noise does to the middle one in half of all cases, and in 19 of 20."""
    rows: list[dict[str, Any]] = []
    for one in protected_numbers(network, protection):
        group = one.quantity.group
        scale = protection.alpha[group] / epsilon
        half, most = (spread(scale, _other(one, protection, epsilon), share) for share in (HALF, MOST))
        middle = float(np.median(np.abs(one.value)))
        words, unit = one.quantity.people, one.quantity.unit
        rows.append(
            {
                "group": GROUP_WORDS[group],
                "first": not rows or rows[-1]["group"] != GROUP_WORDS[group],
                "words": "marginal costs" if group is Group.COSTS else words,
                "count": len(one.value),
                "alpha": f"{number(100 * protection.alpha[group])} %",
                "half": _about(half),
                "most": _about(most),
                "example": f"{f'{number(middle)} {unit}'.strip()}: {number(middle / half)} to {number(middle * half)}",
                "bar": _bar(half, most),
            }
        )
    return rows


def _other(one: Numbers, protection: Protection, epsilon: float) -> float:
    """The scale of the number that most of these are ratios to; 0 if they are noised by themselves."""
    group = one.quantity.group
    if group is Group.LINES:
        return 0.0  # of lines, sizes and ratios are what is shown
    if group is Group.RATINGS and protection.ratings is not Ratings.WITH_IMPEDANCE:
        return 0.0
    if 2 * one.pivots >= len(one.value):
        return 0.0
    of = Group.LINES if group is Group.RATINGS else group
    return protection.alpha[of] / epsilon


def _about(factor: float) -> str:
    """A factor either way, in per cent below a doubling, as a factor beyond."""
    if factor > 2:
        return f"÷ or × {number(factor, 2)}"
    return f"−{number(100 * (1 - 1 / factor), 2)} to +{number(100 * (factor - 1), 2)} %"


def _bar(half: float, most: float) -> str:
    """Where noise takes a number, on a scale of ratios from an eighth to eight times."""

    def at(ratio: float) -> float:
        return round(WIDE / 2 * (1 + float(np.clip(log(ratio) / log(EDGE), -1, 1))), 1)

    def box(factor: float, top: int, height: int, colour: str) -> str:
        left, right = at(1 / factor), at(factor)
        return f'<rect x="{left}" y="{top}" width="{right - left:.1f}" height="{height}" rx="2" fill="{colour}"/>'

    ticks = "".join(
        f'<line x1="{at(one)}" x2="{at(one)}" y1="2" y2="20" stroke="#B8BDC4" stroke-width="1"/>'
        for one in (0.25, 0.5, 2.0, 4.0)
    )
    middle = f'<line x1="{at(1)}" x2="{at(1)}" y1="1" y2="21" stroke="#22272e" stroke-width="1.5"/>'
    boxes = box(most, 7, 8, "#A8D5C2") + box(half, 5, 12, "#2C8DBE")
    return (
        f'<svg viewBox="0 0 {WIDE:.0f} 22" role="img" aria-label="half within a factor of {half:.2g}, nineteen of '
        f'twenty within {most:.2g}">{ticks}{boxes}{middle}</svg>'
    )
