"""Data frames of other libraries as rows of plain values, without their libraries."""

from __future__ import annotations

import math
from typing import Any


def frame_rows(frame: Any) -> dict[Any, dict[str, Any]]:
    """The rows of a data frame by their index; an index that stands twice is an error of its owner's."""
    keys, columns = frame.index.tolist(), [str(name) for name in frame.columns]
    cells = [[_plain(value) for value in frame.iloc[:, place].tolist()] for place in range(len(columns))]
    return {key: {name: cells[i][row] for i, name in enumerate(columns)} for row, key in enumerate(keys)}


def _plain(value: Any) -> Any:
    """A value of NumPy or pandas as Python has it; what is missing is None."""
    if value is None or isinstance(value, str | list):
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value
