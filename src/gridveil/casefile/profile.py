"""Profiles on disk, CSV or Parquet: `step, bus, p_mw, q_mvar`, or one `scale` of all loads per step.

Buses that a step does not name keep their base load. Steps count from 0 or 1 and none may be missing. Messages name
steps and buses, and show no text of the file: it may be another file than was meant.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import CaseFileError
from gridveil.grid import Grid
from gridveil.grid.profile import Profile, scaled
from gridveil.regular import refuse_size, regular_bytes

LOADS = ("step", "bus", "p_mw", "q_mvar")
SCALES = ("step", "scale")


def read_profile(path: Path | str, grid: Grid) -> Profile:
    """The demand of every step for a grid, in per unit."""
    path = Path(path)
    content = regular_bytes(path, "give a CSV or Parquet file of demands")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _profile(_Table(path, *_parquet(path, content)), grid)
    return read_csv_bytes(path, content, grid)


def read_csv_bytes(path: Path, data: bytes, grid: Grid) -> Profile:
    """The same of a CSV file's bytes that were read before; `path` is for errors."""
    return _profile(_Table(path, *_csv(path, data)), grid)


def _profile(table: _Table, grid: Grid) -> Profile:
    step = table.whole("step")
    first, horizon = _horizon(table, step)
    if "scale" in table.columns:
        scale = table.columns["scale"]
        table.refuse(~(scale >= 0) | np.isinf(scale), "is no scale", "give a share such as 0.95")
        table.once(step)
        scales = np.empty(horizon)
        scales[step - first] = scale
        return scaled(grid, scales, first)
    bus = table.whole("bus")
    place = {int(number): at for at, number in enumerate(grid.buses.number)}
    at = np.array([place.get(number, -1) for number in bus.tolist()], dtype=np.int64)
    table.refuse(at < 0, "names a bus that the network does not have in service", "name buses as in its bus table")
    table.once(step, bus)
    pd, qd = np.tile(grid.buses.pd, (horizon, 1)), np.tile(grid.buses.qd, (horizon, 1))
    for target, name in ((pd, "p_mw"), (qd, "q_mvar")):
        values = table.columns[name]
        table.refuse(~np.isfinite(values), f"has no finite {name}", "give a number for every bus it names")
        target[step - first, at] = values / grid.base_mva
    return Profile(np.arange(first, first + horizon), pd, qd)


def as_read_back(profile: Profile, base_mva: float) -> Profile:
    """The profile that a file holds: in MW and back, the last digit of a number may be another, and then stays.

    Whoever promises something of a profile that is written promises it of this one.
    """
    return Profile(profile.step, profile.pd * base_mva / base_mva, profile.qd * base_mva / base_mva)


def profile_text(grid: Grid, profile: Profile) -> str:
    """A profile as CSV: a row for every step and every bus that has a load in any; it reads `as_read_back`."""
    used = np.flatnonzero(np.any([*profile.pd, *profile.qd, grid.buses.pd, grid.buses.qd], axis=0))
    used = used if used.size else np.zeros(1, dtype=np.int64)  # a step without a row would be missing
    rows = [",".join(LOADS)]
    for index, step in enumerate(profile.step.tolist()):
        for bus in used.tolist():
            p, q = float(profile.pd[index, bus] * grid.base_mva), float(profile.qd[index, bus] * grid.base_mva)
            rows.append(f"{step},{grid.buses.number[bus]},{p!r},{q!r}")
    return "\n".join([*rows, ""])


class _Table:
    """Columns of a profile file with the place of every row, for errors."""

    def __init__(self, path: Path, columns: Mapping[str, FloatArray], lines: Sequence[int] | None) -> None:
        self.path, self.columns, self.lines = path, columns, lines
        if len(columns["step"]) == 0:
            self.fail(None, "there is no row", "give at least one step")

    def fail(self, row: int | None, problem: str, advice: str) -> NoReturn:
        line = None if row is None or self.lines is None else self.lines[row]
        place = f"row {row + 1}: " if row is not None and self.lines is None else ""
        raise CaseFileError(self.path, line, place + problem, advice)

    def refuse(self, wrong: BoolArray, problem: str, advice: str) -> None:
        """Fail at the first row that is wrong, naming its step."""
        for row in np.flatnonzero(wrong)[:1].tolist():
            step = self.columns["step"][row]
            self.fail(row, f"step {step:g} {problem}" + self._bus(row), advice)

    def _bus(self, row: int) -> str:
        return f" (bus {self.columns['bus'][row]:g})" if "bus" in self.columns else ""

    def whole(self, name: str) -> IntArray:
        values = self.columns[name]
        wrong = ~(np.abs(values) < 1e15) | (values != np.round(np.where(np.isfinite(values), values, 0.5)))
        for row in np.flatnonzero(wrong)[:1].tolist():
            self.fail(row, f"the {name} is no whole number", f"number every {name} with a whole number")
        return values.astype(np.int64)

    def once(self, *keys: IntArray) -> None:
        """No step, or bus of a step, may come twice."""
        order = np.lexsort(keys[::-1])
        same = np.ones(len(order) - 1, dtype=bool)
        for key in keys:
            same &= np.diff(key[order]) == 0
        twice = np.zeros(len(order), dtype=bool)
        twice[order[1:][same]] = True
        self.refuse(twice, "comes twice", "keep one of the rows")


def _horizon(table: _Table, step: IntArray) -> tuple[int, int]:
    """First step and number of steps; none may be missing."""
    first, last = int(step.min()), int(step.max())
    if first not in (0, 1):
        table.fail(int(step.argmin()), f"the first step is {first}", "count steps from 0 or 1")
    there = np.unique(step)
    if len(there) <= last - first:
        missing = first + int(np.argmax(there != np.arange(first, first + len(there))))
        table.fail(None, f"step {missing} of {last} is missing", "give every step a row, if only with its base load")
    return first, last - first + 1


def _csv(path: Path, content: bytes) -> tuple[dict[str, FloatArray], list[int]]:
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        rows = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise CaseFileError(path, None, f"it cannot be read ({why})", "give a CSV file in UTF-8") from None
    names = _names(path, rows[0][1] if rows else [])
    values = np.empty((len(names), max(len(rows) - 1, 0)))
    for at, (line, row) in enumerate(rows[1:]):
        if len(row) != len(names):
            raise CaseFileError(path, line, f"{len(row)} values under {len(names)} names", "write one value per name")
        for name, column, cell in zip(names, values, row, strict=True):
            try:
                column[at] = float(cell.replace("_", "?"))  # Python's 1_000 is nobody else's number
            except ValueError:
                raise CaseFileError(path, line, f"{name} is not a number", "write numbers") from None
    return dict(zip(names, values, strict=True)), [line for line, _ in rows[1:]]


def _names(path: Path, header: Sequence[str]) -> list[str]:
    """The columns, which must be those of a profile, each once."""
    names = [name.strip().lower() for name in header]
    if sorted(names) not in (sorted(LOADS), sorted(SCALES)):
        wanted = f"name them {', '.join(LOADS)} in the first line, or step, scale"
        raise CaseFileError(path, None, "the columns are not those of a profile", wanted)
    return names


def _parquet(path: Path, content: bytes) -> tuple[dict[str, FloatArray], None]:
    try:
        # an extra: only those who have Parquet files need it
        from pyarrow import ArrowException, BufferReader, compute, float64, parquet
    except ImportError:
        raise CaseFileError(
            path, None, "reading Parquet needs pyarrow", "install gridveil[parquet], or give a CSV file"
        ) from None
    try:
        with parquet.ParquetFile(BufferReader(content)) as file:
            names = _names(path, file.schema_arrow.names)
            refuse_size(path, file.metadata.num_rows * len(names) * 8)  # compressed, it may be very small
            table = file.read()
        columns = [compute.cast(column, float64()).to_numpy() for column in table.columns]
    except (ArrowException, OSError):  # what they say may show a cell
        raise CaseFileError(
            path, None, "it is no readable Parquet file, or has a column that is no number", "write it again"
        ) from None
    return dict(zip(names, columns, strict=True)), None
