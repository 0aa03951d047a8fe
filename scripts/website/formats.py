"""The formats that networks come and go in, from the table by which the program reads and writes them."""

from __future__ import annotations

from gridveil.formats.registry import FORMATS, REFUSED, TRANSLATIONS
from website.tables import cell, table


def markdown() -> str:
    """The tables."""
    rows = [
        (
            f"`{one.name}`",
            cell(one.words),
            ", ".join(f"`{end}`" if end else "a folder" for end in one.extensions),
            "yes" if one.reader else "no",
            "yes" if one.writer else "no",
            f"`{TRANSLATIONS[one.name]}`" if one.name in TRANSLATIONS else "",
            cell(", ".join(one.cannot_hold)) or "everything is kept",
        )
        for one in FORMATS
    ]
    head = ("name", "format", "files", "read", "written", "beside a release", "what it cannot hold")
    refused = [(f"`{end}`", cell(why)) for end, why in REFUSED.items()]
    return table(head, rows) + "\n\n## Not read\n\n" + table(("files", "why"), refused) + "\n"
