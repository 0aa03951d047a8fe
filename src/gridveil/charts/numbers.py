"""Numbers and settings as text for people."""

from __future__ import annotations

from math import isfinite
from typing import Any


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: a few significant digits, a true minus, a dash for none."""
    if value is None or not isfinite(value):
        return "–"
    text = f"{value:.{digits}g}" if abs(value) < 1000 or digits > 4 else f"{value:,.0f}"
    if "e" in text and 1e-4 <= abs(value) < 1e6:
        text = f"{value:,.{digits}f}"
    return text.replace("-", "−")


def exact(value: str | float) -> str:
    """A value as short text that no other value has."""
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def setting(value: Any) -> str:
    """A value of a setting in full: two that differ never look alike."""
    return exact(value).replace("-", "−")


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence; of many, the first few and how many there are."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def counted(many: int, one: str, several: str | None = None) -> str:
    """A number with its noun."""
    return f"{many:,} {one if many == 1 else several or one + 's'}"
