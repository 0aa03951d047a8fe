"""Small words for sentences."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 load`, `2 loads`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
