"""PSS/E RAW files of revisions 32 to 35."""

from __future__ import annotations

from pathlib import Path

from gridveil.formats.imported import Imported
from gridveil.formats.raw_build import build
from gridveil.formats.raw_text import take_apart
from gridveil.formats.registry import Data


def read_raw(path: Path, data: Data) -> Imported:
    """The network of a file; it says which revision it has."""
    assert isinstance(data, bytes)
    text = take_apart(path, data)
    notes: list[str] = []
    if text.latin:
        notes.append("the text is not UTF-8: names were read as Latin-1")
    if text.corrections:
        notes.append("tables of impedance corrections are in the file, and no transformer in service uses one")
    if text.nodes:
        notes.append("substations and their nodes were left out: the buses of the file stand for them")
    return build(path, text.base, text.tables, notes)
