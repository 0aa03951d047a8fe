"""A PyPSA network as records: from a folder of CSV files, or from tables in memory."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gridveil.errors import CaseFileError
from gridveil.formats.fields import Fields
from gridveil.formats.recognise import json_object

TABLES = (
    "buses", "lines", "transformers", "generators", "loads", "shunt_impedances", "links", "stores", "storage_units",
    "processes",
)  # fmt: skip
Rows: TypeAlias = dict[str, dict[str, Any]]
"""Rows of a table by their names."""
TEXTS = {"name", "bus", "bus0", "bus1", "control", "type", "model", "carrier"}
"""Columns that stay text; of all others the cells are numbers or flags."""
SERIES = {
    "buses": ("v_mag_pu_set",), "lines": ("s_max_pu",), "transformers": ("s_max_pu",), "loads": ("p_set", "q_set"),
    "generators": ("p_set", "q_set", "p_min_pu", "p_max_pu", "marginal_cost", "marginal_cost_quadratic"),
}  # fmt: skip
"""What may differ between snapshots, of what is read."""
STATE = "v_ang"
"""Solved angles of buses in radians, as far as a case has them. No model uses them."""
_NUMBER = re.compile(r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|inf|nan)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class PypsaNet:
    """Records by name for each table, and what the network says of itself beside them."""

    path: Path
    tables: Mapping[str, Mapping[str, Fields]]
    meta: Mapping[str, Any]
    name: str = ""

    def __getitem__(self, table: str) -> Mapping[str, Fields]:
        return self.tables.get(table, {})


def from_folder(path: Path, files: Mapping[str, bytes]) -> PypsaNet:
    """The network in a folder: one file per table, and one per column that differs between snapshots."""
    if "buses.csv" not in files:
        raise CaseFileError(path, None, "there is no buses.csv", "give a folder that PyPSA exported")
    tables: dict[str, Rows] = {}
    for table in TABLES:
        if (file := f"{table}.csv") in files:
            tables[table] = _rows(path / file, *_csv(path / file, files[file]))
        for column in SERIES.get(table, ()):
            if (file := f"{table}-{column}.csv") in files:
                names, rows = _csv(path / file, files[file])
                values = [_cell(cell) for cell in rows[0][1:]] if len(rows) == 1 else []
                add_series(path / file, tables.get(table, {}), column, names[1:], len(rows), values)
    if (file := f"buses-{STATE}.csv") in files:
        names, rows = _csv(path / file, files[file])
        if len(rows) == 1:
            add_series(path / file, tables["buses"], STATE, names[1:], 1, [_cell(cell) for cell in rows[0][1:]])
    meta = json_object(path / "meta.json", files["meta.json"]) if "meta.json" in files else {}
    return from_tables(path, tables, meta, path.name)


def from_tables(path: Path, tables: Mapping[str, Rows], meta: Mapping[str, Any], name: str = "") -> PypsaNet:
    """The network of tables in memory. A record is known by its place: a name may say what is not to be shown."""
    found = {
        table: {
            key: Fields(path, f"row {place} of {table}", values) for place, (key, values) in enumerate(rows.items(), 1)
        }
        for table, rows in tables.items()
        if table in TABLES
    }
    return PypsaNet(path, found, meta, name)


def add_series(path: Path, rows: Rows, column: str, names: Sequence[str], count: int, values: Sequence[Any]) -> None:
    """Give rows the values of the only snapshot; `count` is how many there are."""
    if names and count != 1:
        raise CaseFileError(
            path, None, f"there are {count} snapshots, and a case is of one moment",
            "choose one with network.set_snapshots and save it",
        )  # fmt: skip
    if len(set(names)) < len(names):
        raise CaseFileError(path, None, "a column stands twice", "keep one of the two")
    for name, value in zip(names, values, strict=True):
        if name in rows:
            rows[name][column] = value


def _csv(path: Path, data: bytes) -> tuple[list[str], list[list[str]]]:
    """Header and rows, all of one length."""
    try:
        found = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True) if row]
    except UnicodeDecodeError:
        raise CaseFileError(path, None, "the file is not UTF-8", "save it as UTF-8") from None
    except csv.Error:
        raise CaseFileError(path, None, "this is not CSV as PyPSA writes it", "the file looks damaged") from None
    if not found:
        return [], []
    for number, row in enumerate(found, 1):
        if len(row) != len(found[0]):
            raise CaseFileError(path, number, "the row has more or fewer cells than the header", "correct it")
    return found[0], found[1:]


def _rows(path: Path, columns: list[str], rows: list[list[str]]) -> Rows:
    if len(set(columns)) < len(columns):
        raise CaseFileError(path, 1, "a column stands twice", "keep one of the two")
    found: Rows = {}
    for number, row in enumerate(rows, 2):
        if not row[0] or row[0] in found:
            raise CaseFileError(path, number, "a name is empty or stands twice", "give every row its own name")
        found[row[0]] = {key: cell if key in TEXTS else _cell(cell) for key, cell in zip(columns, row, strict=True)}
    return found


def _cell(cell: str) -> Any:
    """A number, a flag, nothing, or, in columns of one's own, text."""
    if cell == "":
        return None
    if cell in ("True", "False"):
        return cell == "True"
    if len(cell) < 400 and _NUMBER.fullmatch(cell):
        value = float(cell)
        return None if math.isnan(value) else value
    return cell
