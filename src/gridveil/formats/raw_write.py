"""A case as PSS/E RAW of revision 33 or 35: every number with the digits that bring it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gridveil.casefile.case import Case
from gridveil.casefile.write import number_text
from gridveil.formats.imported import Identity
from gridveil.formats.raw_layout import fields, sections, transformer_records
from gridveil.formats.raw_records import Records, records

_TITLES = {
    "bus": "BUS", "load": "LOAD", "fixshunt": "FIXED SHUNT", "generator": "GENERATOR", "acline": "BRANCH",
    "sysswd": "SYSTEM SWITCHING DEVICE", "transformer": "TRANSFORMER", "area": "AREA", "twotermdc": "TWO-TERMINAL DC",
    "vscdc": "VOLTAGE SOURCE CONVERTER", "impcor": "IMPEDANCE CORRECTION", "ntermdc": "MULTI-TERMINAL DC",
    "msline": "MULTI-SECTION LINE", "zone": "ZONE", "iatrans": "INTER-AREA TRANSFER", "owner": "OWNER",
    "facts": "FACTS CONTROL DEVICE", "swshunt": "SWITCHED SHUNT", "gne": "GNE DEVICE", "indmach": "INDUCTION MACHINE",
    "substation": "SUBSTATION",
}  # fmt: skip


def write_raw33(case: Case, identity: Identity) -> bytes:
    """The text of revision 33."""
    return _text(case, identity, 33)


def write_raw35(case: Case, identity: Identity) -> bytes:
    """The text of revision 35."""
    return _text(case, identity, 35)


def _text(case: Case, identity: Identity, revision: int) -> bytes:
    lines = [f"0, {number_text(case.base_mva)}, {revision}, 0, 0, 60.0 / ", "", ""]
    if revision >= 34:
        lines.append("0 / END OF SYSTEM-WIDE DATA, BEGIN BUS DATA")
    tables = records(case, identity)
    order = sections(revision)
    for name, following in zip(order, (*order[1:], None), strict=True):
        table = tables.get(name)
        if table is not None and name == "transformer":
            lines += _transformers(table, revision)
        elif table is not None:
            lines += _rows(table, tuple(fields(name, revision)))
        lines.append(f"0 / END OF {_TITLES[name]} DATA" + (f", BEGIN {_TITLES[following]} DATA" if following else ""))
    return "\n".join([*lines, "Q", ""]).encode("ascii")


def _rows(table: Records, names: Sequence[str]) -> Iterator[str]:
    """The lines of a table with these fields."""
    columns = [list(map(_cell, table.column(name))) for name in names]
    return (",".join(row) for row in zip(*columns, strict=True))


def _transformers(table: Records, revision: int) -> Iterator[str]:
    """Four lines of each."""
    head, impedance, first, second, _ = transformer_records(revision)
    parts = (head, impedance[:3], first, second[:2])
    for four in zip(*(_rows(table, names) for names in parts), strict=True):
        yield from four


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return number_text(value) if isinstance(value, float) else str(value)
