"""MATPOWER version-2 `.m` files, as one format among others: the work is done in `gridveil.casefile`."""

from __future__ import annotations

from dataclasses import replace
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
    return Imported(case, replace(numbered(case), bus_names=bus_names(case)))


def write_m(case: Case, identity: Identity) -> bytes:
    """The text; ids have no place in it."""
    extras = {name: value for name, value in case.extras.items() if name != "bus_name"}
    if identity.bus_names is not None:
        extras["bus_name"] = tuple((name,) for name in identity.bus_names)
    return to_text(replace(case, extras=extras)).encode()


def bus_names(case: Case) -> tuple[str, ...] | None:
    """The names of buses that a case has, a text for each."""
    names = case.extras.get("bus_name")
    if not isinstance(names, tuple) or len(names) != len(case.bus):
        return None
    return tuple(str(row[0]) if row else "" for row in names)
