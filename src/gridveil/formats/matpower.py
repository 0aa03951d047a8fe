"""MATPOWER version-2 `.m` files, as one format among others: the work is done in `gridveil.casefile`."""

from __future__ import annotations

from pathlib import Path

from gridveil.casefile.case import Case
from gridveil.casefile.read import read_bytes
from gridveil.casefile.write import to_text
from gridveil.formats.imported import Identity, Imported, numbered
from gridveil.formats.registry import Data


def read_m(path: Path, data: Data) -> Imported:
    """Rows have no ids there: circuits and units count from 1 in the file's order."""
    assert isinstance(data, bytes)
    case = read_bytes(path, data)
    return Imported(case, numbered(case))


def write_m(case: Case, identity: Identity) -> bytes:
    """The text; ids have no place in it."""
    return to_text(case).encode()
