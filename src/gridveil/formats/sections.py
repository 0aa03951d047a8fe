"""CSV files of keys and numbers in sections: a row that is a known header begins one. Messages show no value."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from gridveil.errors import CaseFileError


@dataclass(frozen=True)
class Row:
    """A row: its line, its section's header, and its cells by their names."""

    path: Path
    line: int
    header: tuple[str, ...]
    cells: dict[str, str]

    def fail(self, problem: str, advice: str) -> NoReturn:
        """Raise `CaseFileError` at the row's line."""
        raise CaseFileError(self.path, self.line, problem, advice)

    def number(self, name: str) -> float:
        """A cell as a finite number."""
        try:
            value = float(self.cells[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail(f"{name} is not a number", "write a plain number there")
        return value

    def bus(self, name: str) -> int:
        """A cell as the number of a bus."""
        value = self.number(name)
        if value != math.floor(value) or not 0 < value < 2**53:
            self.fail(f"{name} is not the number of a bus", "write the bus number of the case")
        return int(value)


def read_rows(path: Path, data: bytes, headers: Sequence[tuple[str, ...]]) -> list[Row]:
    """All rows of a file whose sections have these headers, in any case, with spaces around cells."""
    forms = " or ".join(",".join(one) for one in headers)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CaseFileError(path, None, "the file is not UTF-8", "save it as UTF-8") from None
    found: list[Row] = []
    header: tuple[str, ...] | None = None
    reader = csv.reader(io.StringIO(text))
    try:
        for cells in reader:
            stripped = tuple(cell.strip() for cell in cells)
            if not any(stripped) or stripped[0].startswith("#"):
                continue
            lower = tuple(cell.lower() for cell in stripped)
            if lower in headers:
                header = lower
            elif header is None:
                raise CaseFileError(path, reader.line_num, "this is none of the headers", f"begin with {forms}")
            elif len(stripped) != len(header):
                problem = f"the row has {len(stripped)} cells under a header of {len(header)}"
                raise CaseFileError(path, reader.line_num, problem, "give one cell for each name")
            else:
                found.append(Row(path, reader.line_num, header, dict(zip(header, stripped, strict=True))))
    except csv.Error:
        raise CaseFileError(path, reader.line_num, "this is not CSV", "write cells with commas between") from None
    if header is None:
        raise CaseFileError(path, None, "the file is empty", f"begin with {forms}")
    return found
