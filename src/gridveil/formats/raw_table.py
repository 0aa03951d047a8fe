"""One kind of PSS/E record as columns by name, be it from RAW (cells of text by position) or from RAWX (values).

Names are those of RAWX. A message names the field and the line or record, and never shows what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import CaseFileError

_LARGEST = 1e100
"""No quantity of a network is larger; products of such numbers are still numbers."""


@dataclass(frozen=True)
class Table:
    """Rows of one kind. `fields` has the place of each field; what a row or the file lacks takes its default."""

    path: Path
    name: str
    rows: Sequence[Sequence[Any]]
    fields: Mapping[str, int]
    lines: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def fail(self, row: int, problem: str, advice: str) -> NoReturn:
        """Raise `CaseFileError` at a row."""
        if self.lines is not None:
            raise CaseFileError(self.path, self.lines[row], problem, advice)
        raise CaseFileError(self.path, None, f"{problem} (record {row + 1} of {self.name})", advice)

    def refuse(self, bad: BoolArray, problem: str, advice: str) -> None:
        """Fail at the first row where `bad` holds."""
        rows = np.flatnonzero(bad)
        if rows.size:
            self.fail(int(rows[0]), problem, advice)

    def has(self, field: str) -> bool:
        """Whether any row says something of a field."""
        return any(not _blank(cell) for cell in self._cells(field))

    def number(self, field: str, default: float = 0.0) -> FloatArray:
        """A field of every row as finite numbers."""
        cells = self._cells(field)
        try:
            values = np.array(list(map(float, cells)))
            if np.all(np.abs(values) <= _LARGEST) and not any("_" in cell for cell in cells if isinstance(cell, str)):
                return values
        except (ValueError, TypeError, OverflowError):
            pass
        return np.array([self._number(row, field, cell, default) for row, cell in enumerate(cells)])

    def _number(self, row: int, field: str, cell: Any, default: float) -> float:
        if _blank(cell):
            return default
        try:
            # Fortran writes exponents with D, too
            value = float(cell.replace("D", "E").replace("d", "e")) if isinstance(cell, str) else float(cell)
        except (ValueError, TypeError, OverflowError):
            value = float("nan")
        if not abs(value) <= _LARGEST or (isinstance(cell, str) and "_" in cell):
            self.fail(row, f"{field} of {self.name} is not a number", "write a plain number there")
        return value

    def whole(self, field: str, default: int = 0) -> IntArray:
        """A field of every row as integers."""
        values = self.number(field, default)
        bad = (values != np.floor(values)) | (np.abs(values) > 2**53)
        self.refuse(bad, f"{field} of {self.name} is not an integer", "write a whole number there")
        return values.astype(np.int64)

    def code(self, field: str, default: int, allowed: Sequence[int]) -> IntArray:
        """A field that has one of a few values."""
        values = self.whole(field, default)
        words = ", ".join(map(str, allowed))
        known = np.logical_or.reduce([values == one for one in allowed])
        self.refuse(~known, f"{field} of {self.name} is none of {words}", "correct it")
        return values

    def text(self, field: str, default: str = "") -> tuple[str, ...]:
        """A field of every row as text, without quotes and spaces around it."""
        cells = self._cells(field)
        return tuple(default if _blank(cell) else str(cell).strip().strip("'\"").strip() or default for cell in cells)

    def only(self, keep: BoolArray) -> Table:
        """Some of the rows."""
        rows = np.flatnonzero(keep).tolist()
        lines = None if self.lines is None else [self.lines[row] for row in rows]
        return Table(self.path, self.name, [self.rows[row] for row in rows], self.fields, lines)

    def _cells(self, field: str) -> list[Any]:
        place = self.fields.get(field)
        if place is None:
            return [None] * len(self.rows)
        try:
            return [row[place] for row in self.rows]
        except IndexError:
            return [row[place] if place < len(row) else None for row in self.rows]


def _blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())
