"""Costs and limits that a format lacks, lent by files beside the case or by options; matched by keys, never by rows."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.read import read_bytes
from gridveil.casefile.service import generators_in_service
from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats.checked import checked
from gridveil.formats.imported import Imported
from gridveil.formats.lend_limits import lend_limits
from gridveil.formats.sections import Row, read_rows
from gridveil.formats.words import counted
from gridveil.regular import regular_bytes

POLYNOMIAL = ("bus", "id", "c2", "c1", "c0")
POINTS = ("bus", "id", "p_mw", "cost")
COSTS, LIMITS = ".costs.csv", ".limits.csv"
_SHOWN = 10
Key = tuple[int, str]


def lend(
    found: Imported,
    path: Path,
    costs: Path | str | None = None,
    limits: Path | str | None = None,
    missing_cost: float | None = None,
) -> Imported:
    """A case with what is lent to it. Files beside the case serve where it has nothing of its own; options always."""
    if missing_cost is not None and not (math.isfinite(missing_cost) and abs(missing_cost) < 1e100):
        raise GridVeilError("--missing-cost is not a number; give a price per MWh, such as 20")
    if costs is None and len(found.case.gencost) == 0:
        costs = _beside(path, COSTS)
    if costs is not None or (missing_cost is not None and len(found.case.gencost) == 0):
        found = _with_costs(found, None if costs is None else Path(costs), missing_cost)
    if limits is None and path.suffix.lower() != ".m":
        limits = _beside(path, LIMITS)
    if limits is not None:
        file = Path(limits)
        found = lend_limits(found, file, regular_bytes(file, "give a CSV file of limits"))
    return found


def lend_bytes(found: Imported, costs: bytes | None, limits: bytes | None) -> Imported:
    """The same of CSV files that were read before."""
    if costs is not None:
        found = _with_costs(found, Path(f"released{COSTS}"), None, costs)
    return found if limits is None else lend_limits(found, Path(f"released{LIMITS}"), limits)


def _beside(path: Path, ending: str) -> Path | None:
    """NAME.costs.csv beside NAME.raw, or beside NAME.psse33.raw."""
    for name in (path.with_suffix("").name, path.name.split(".")[0]):
        if name and os.path.isfile(file := path.with_name(name + ending)):
            return file
    return None


def _with_costs(found: Imported, file: Path | None, missing_cost: float | None, data: bytes | None = None) -> Imported:
    case, notes = found.case, list(found.notes)
    lent: dict[Key, list[float]] = {}
    if file is not None:
        lent, said = _read_costs(file, found, data)
        notes += said
    keys = _keys(case, found.identity.machine)
    without = [key for key, live in zip(keys, generators_in_service(case), strict=True) if live and key not in lent]
    if without and missing_cost is None:
        listed = ", ".join(f"{bus}/{name}" for bus, name in without[:_SHOWN]) + ("..." if len(without) > _SHOWN else "")
        problem = f"there is no cost of {counted(len(without), 'unit')} in service (bus/id: {listed})"
        raise CaseFileError(
            file or "--costs", None, problem,
            "add a row for each, or give all of them one price with --missing-cost",
        )  # fmt: skip
    if without:
        notes.append(
            f"{counted(len(without), 'unit')} without a cost: given {missing_cost:g} per MWh by --missing-cost"
        )
    invented = [c.POLYNOMIAL, 0.0, 0.0, 3.0, 0.0, missing_cost or 0.0, 0.0]
    case = replace(case, gencost=padded([lent.get(key, invented) for key in keys]))
    checked(file or Path("--missing-cost"), case, found.identity)
    losses = tuple(one for one in found.losses if one != NO_COSTS)
    return replace(found, case=case, notes=tuple(notes), losses=losses, invented_cost=missing_cost if without else None)


NO_COSTS = "the format has no generator costs: every dispatch costs 0 until costs are lent (--costs)"


def padded(rows: list[list[float]]) -> FloatArray:
    """Rows of different lengths as a table, with zeros at their ends."""
    width = max((len(row) for row in rows), default=0)
    return np.array([row + [0.0] * (width - len(row)) for row in rows]) if rows else np.zeros((0, 0))


def _keys(case: Case, machine: tuple[str, ...]) -> list[Key]:
    buses = case.gen[:, c.GEN_BUS].astype(int).tolist() if len(case.gen) else []
    return list(zip(buses, machine, strict=True))


def _read_costs(file: Path, found: Imported, data: bytes | None) -> tuple[dict[Key, list[float]], list[str]]:
    """Rows of gencost by unit, and what there is to say."""
    if file.suffix.lower() == ".rop":
        raise CaseFileError(file, None, "PSS/E cost files (ROP) are not read", f"write a CSV: {','.join(POLYNOMIAL)}")
    data = regular_bytes(file, "give a CSV file of costs, or a .m file with gencost") if data is None else data
    keys = set(_keys(found.case, found.identity.machine))
    if file.suffix.lower() == ".m":
        return _of_matpower(file, read_bytes(file, data), keys)
    lent: dict[Key, list[float]] = {}
    points: dict[Key, list[tuple[float, float]]] = {}
    first: dict[Key, Row] = {}
    for row in read_rows(file, data, (POLYNOMIAL, POINTS)):
        key = (row.bus("bus"), row.cells["id"].strip("'\" "))
        if key not in keys:
            row.fail("the case has no such unit", "name units by bus number and id, as the case has them")
        if row.header == POLYNOMIAL:
            if key in lent or key in points:
                row.fail("this unit has a cost already", "keep one of the two")
            lent[key] = [c.POLYNOMIAL, 0.0, 0.0, 3.0, *(row.number(name) for name in ("c2", "c1", "c0"))]
        else:
            if key in lent:
                row.fail("this unit has a cost already", "keep one of the two")
            first.setdefault(key, row)
            points.setdefault(key, []).append((row.number("p_mw"), row.number("cost")))
    for key, curve in points.items():
        if len(curve) < 2:
            first[key].fail("a piecewise-linear cost needs two points at the least", "add a point")
        lent[key] = [c.PIECEWISE, 0.0, 0.0, len(curve), *(value for point in sorted(curve) for value in point)]
    return lent, []


def _of_matpower(file: Path, case: Case, keys: set[Key]) -> tuple[dict[Key, list[float]], list[str]]:
    """Costs of a `.m` file. Its units have no ids: they count from 1 at each bus, and where both have one unit at a bus
    that is the one. Costs of reactive power stay behind."""
    if len(case.gencost) == 0 or len(case.gen) == 0:
        raise CaseFileError(file, None, "the case has no gencost", "give one that has costs")
    units: dict[int, list[int]] = {}
    for row, bus in enumerate(case.gen[:, c.GEN_BUS].astype(int).tolist()):
        units.setdefault(bus, []).append(row)
    names: dict[int, list[str]] = {}
    for bus, name in keys:
        names.setdefault(bus, []).append(name)
    lent: dict[Key, list[float]] = {}
    for bus, rows in units.items():
        here = names.get(bus, [])
        if len(rows) == 1 and len(here) == 1:
            lent[bus, here[0]] = case.gencost[rows[0]].tolist()
            continue
        for place, row in enumerate(rows):
            if str(place + 1) in here:
                lent[bus, str(place + 1)] = case.gencost[row].tolist()
    notes = [] if len(case.gencost) == len(case.gen) else ["the costs of reactive power were not lent"]
    return lent, notes
