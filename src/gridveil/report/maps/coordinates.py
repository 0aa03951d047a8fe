"""Where buses stand, as the user says: a CSV file `bus,x,y`. For INTERNAL maps only: true places name a network.

Nothing that makes a public page may import this file; a contract in pyproject.toml sees to it.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray, frozen
from gridveil.errors import ReportError
from gridveil.grid import Grid
from gridveil.grid.structure import Structure
from gridveil.regular import regular_bytes

HEADS = ("bus", "x", "y")


def read_coordinates(path: Path | str, grid: Grid | Structure) -> FloatArray:
    """Places (n_bus, 2) in the order of the network's buses; y grows upwards, in any unit.

    Raises:
        ReportError: The file is no such table, or has no place for a bus; buses that the network lacks are passed over.
    """
    path = Path(path)
    try:
        text = regular_bytes(path, "give a CSV file with the columns bus,x,y").decode("utf-8-sig")
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if any(one.strip() for one in row)
        ]
    except (UnicodeDecodeError, csv.Error):
        raise ReportError(f"{path.name} is not a CSV file in UTF-8; write the columns bus,x,y") from None
    if not rows or tuple(one.strip().lower() for one in rows[0]) != HEADS:
        raise ReportError(f"{path.name} does not begin with bus,x,y; name these three columns in its first row")
    found: dict[int, tuple[float, float]] = {}
    for at, row in enumerate(rows[1:], start=2):
        try:
            bus, x, y = int(row[0]), float(row[1]), float(row[2])
            known = len(row) == 3 and np.isfinite([x, y]).all()
        except (ValueError, IndexError):
            known = False
        if not known:
            raise ReportError(f"row {at} of {path.name} is not a bus number and two numbers; correct it")
        if bus in found:
            raise ReportError(f"row {at} of {path.name} names bus {bus} again; keep one place for each bus")
        found[bus] = (x, y)
    lacking = [int(one) for one in grid.buses.number if int(one) not in found]
    if lacking:
        more = f" and {len(lacking) - 5} others" if len(lacking) > 5 else ""
        raise ReportError(
            f"{path.name} has no place for bus {', '.join(map(str, lacking[:5]))}{more}; add a row for each, or leave "
            "coordinates away"
        )
    return frozen(np.array([found[int(one)] for one in grid.buses.number], dtype=np.float64))
