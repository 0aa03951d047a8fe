"""A pandapower net as records: from its JSON, without pandapower, or from the tables of a net in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.errors import CaseFileError
from gridveil.formats.fields import Fields
from gridveil.formats.frames import frame_rows
from gridveil.formats.recognise import json_object

RESULTS = ("res_bus", "res_gen", "res_ext_grid")
"""The state that a net was solved to, as far as a case has it. No model uses it."""
OLDEST = 3
"""The first version whose tap changers say what they are."""


LARGEST_STATE = 1e100


@dataclass(frozen=True)
class Net:
    """The tables by name: records by their index, which is what other tables name them by."""

    path: Path
    top: Fields
    tables: Mapping[str, Mapping[int, Fields]]

    def __getitem__(self, table: str) -> Mapping[int, Fields]:
        return self.tables.get(table, {})

    def live(self, table: str) -> Iterator[tuple[int, Fields]]:
        """The records in service."""
        return ((index, one) for index, one in self[table].items() if one.flag("in_service", True))

    def result(self, table: str, index: int, column: str, default: float) -> float:
        """A number of the solved state; what is missing or infinite is the default."""
        one = self[f"res_{table}"].get(index)
        value = None if one is None else one.values.get(column)
        return float(value) if isinstance(value, int | float) and abs(value) < LARGEST_STATE else default

    def has(self, table: str, column: str) -> bool:
        """Whether a table has a column: pandapower reads an absent one otherwise than an empty one."""
        return any(column in one.values for one in self[table].values())


def from_json(path: Path, data: bytes) -> Net:
    """The net in a file of pandapower 3 or later."""
    found = json_object(path, data)
    content = found.get("_object")
    if not isinstance(content, dict):
        raise CaseFileError(path, None, "this is no pandapower net", "save it with pandapower.to_json")
    tables = {name: _frame(path, name, value) for name, value in content.items() if _is_frame(value)}
    return _checked(path, content, tables)


def from_net(path: Path, net: Mapping[str, Any]) -> Net:
    """The tables of a net in memory."""
    frames = {name: value for name, value in net.items() if hasattr(value, "to_dict") and hasattr(value, "columns")}
    wanted = {n: value for n, value in frames.items() if n in RESULTS or not n.startswith(("_", "res_"))}
    tables = {
        name: {int(index): Fields(path, f"{name} {index}", row) for index, row in frame_rows(value).items()}
        for name, value in wanted.items()
    }
    return _checked(path, net, tables)


def _checked(path: Path, content: Mapping[str, Any], tables: dict[str, dict[int, Fields]]) -> Net:
    top = Fields(
        path, "the net", {key: content.get(key) for key in ("version", "format_version", "sn_mva", "f_hz", "name")}
    )
    version = top.text("format_version", top.text("version")).split(".")[0]
    if not (version.isascii() and version.isdecimal() and int(version[:4]) >= OLDEST):
        top.fail(
            f"it was saved by a pandapower before version {OLDEST}, which says less of tap changers",
            "load it with a newer pandapower and save it again",
        )
    if not tables.get("bus"):
        top.fail("it has no buses", "save a net with buses")
    return Net(path, top, tables)


def _is_frame(value: Any) -> bool:
    return isinstance(value, dict) and value.get("_class") == "DataFrame"


def _frame(path: Path, name: str, value: dict[str, Any]) -> dict[int, Fields]:
    """The records of a data frame; its body is JSON within JSON."""
    body = value.get("_object")
    if isinstance(body, str):
        body = json_object(path, body.encode())
    if not isinstance(body, dict) or value.get("orient", "split") != "split":
        raise CaseFileError(
            path, None, f"the table {name} is not in the form 'split'", "save it with pandapower.to_json"
        )
    columns, index, rows = (body.get(key) for key in ("columns", "index", "data"))
    if not (isinstance(columns, list) and isinstance(index, list) and isinstance(rows, list)):
        raise CaseFileError(path, None, f"the table {name} has no columns, index and data", "the file looks damaged")
    if len(index) != len(rows) or len(set(map(str, columns))) < len(columns):
        raise CaseFileError(path, None, f"the table {name} does not fit together", "the file looks damaged")
    if name.startswith("res_") and name not in RESULTS:
        return {}
    found: dict[int, Fields] = {}
    for key, row in zip(index, rows, strict=True):
        if not isinstance(key, int) or isinstance(key, bool) or key < 0 or key in found:
            raise CaseFileError(
                path, None, f"the table {name} has an index that is no number or stands twice", "number it"
            )
        if not isinstance(row, list) or len(row) != len(columns):
            raise CaseFileError(path, None, f"{name} {key}: the row has more or fewer cells than columns", "correct it")
        found[key] = Fields(path, f"{name} {key}", dict(zip(map(str, columns), row, strict=True)))
    return found
