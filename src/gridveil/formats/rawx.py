"""PSS/E RAWX: the records of RAW 35 as JSON, with the names of their fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gridveil.casefile.case import Case
from gridveil.errors import CaseFileError
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.raw_build import build
from gridveil.formats.raw_layout import fields, transformer_records
from gridveil.formats.raw_records import records
from gridveil.formats.raw_table import Table
from gridveil.formats.recognise import json_object
from gridveil.formats.registry import Data

_TABLES = (
    "bus", "load", "fixshunt", "generator", "acline", "sysswd", "transformer", "twotermdc", "vscdc", "ntermdc",
    "msline", "facts", "swshunt", "gne", "indmach",
)  # fmt: skip
_SCALARS = (str, int, float, type(None))
_HEADER = ("ic", "sbase", "rev", "xfrrat", "nxfrat", "basfrq", "title1", "title2")


def read_rawx(path: Path, data: Data) -> Imported:
    """The network of a file."""
    assert isinstance(data, bytes)
    network = json_object(path, data).get("network")
    if not isinstance(network, dict):
        raise CaseFileError(path, None, "there is no object 'network', so this is not RAWX", "give a RAWX file")
    header = _table(path, network, "caseid")
    if len(header) != 1:
        raise CaseFileError(path, None, "the table caseid has not one record", "give ic, sbase and rev there")
    if header.whole("ic")[0] != 0:
        header.fail(0, "ic is not 0, so this is no whole case", "write a base case")
    if header.whole("rev")[0] != 35:
        header.fail(0, "rev is missing or not 35", "write the case as RAWX of revision 35")
    tables = {name: _table(path, network, name) for name in _TABLES}
    notes = []
    if len(_table(path, network, "subnode")):
        notes.append("substations and their nodes were left out: the buses of the file stand for them")
    return build(path, str(float(header.number("sbase", 100.0)[0])), tables, notes)


def _table(path: Path, network: dict[str, Any], name: str) -> Table:
    """A table by its name; a file without it has no such records."""
    found = network.get(name)
    if found is None:
        return Table(path, name, [], {})
    names = found.get("fields") if isinstance(found, dict) else None
    rows = found.get("data") if isinstance(found, dict) else None
    if not isinstance(names, list) or not isinstance(rows, list) or not all(isinstance(one, str) for one in names):
        raise CaseFileError(path, None, f"the table {name} has no fields and data", "write both as lists")
    lower = [one.lower() for one in names]
    if len(set(lower)) < len(lower):
        raise CaseFileError(path, None, f"a field stands twice in the table {name}", "keep one of the two")
    if rows and not isinstance(rows[0], list):  # one record, written as such
        rows = [rows]
    table = Table(path, name, rows, {one: place for place, one in enumerate(lower)})
    for at, row in enumerate(rows):
        if not isinstance(row, list) or len(row) > len(lower):
            table.fail(at, "the record has more values than the table has fields", "give one value for each field")
        if not all(isinstance(cell, _SCALARS) and not isinstance(cell, bool) for cell in row):
            table.fail(at, "a value is no number and no text", "write plain numbers and texts")
    return table


def write_rawx(case: Case, identity: Identity) -> bytes:
    """The text of a file."""
    header = [0, case.base_mva, 35, 0, 0, 60.0, "", ""]
    parts = [f'"caseid":{{"fields":{_json(_HEADER)},"data":{_json(header)}}}']
    for name, table in records(case, identity).items():
        if name == "transformer":
            head, impedance, first, second, _ = transformer_records(35)
            names = (*head, *impedance[:3], *first, *second[:2])
        else:
            names = tuple(fields(name, 35))
        rows = ",\n".join(_json(row) for row in zip(*(table.column(one) for one in names), strict=True))
        parts.append(f'"{name}":{{"fields":{_json(names)},"data":[\n{rows}\n]}}')
    return ('{"network":{\n' + ",\n".join(parts) + "\n}}\n").encode("ascii")


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
