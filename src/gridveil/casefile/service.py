"""Which rows of a case are in service: switched on, and not attached to an isolated (type 4) bus."""

from __future__ import annotations

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case


def buses_in_service(case: Case) -> BoolArray:
    """Buses that are not isolated."""
    return np.asarray(case.bus[:, c.BUS_TYPE] != c.ISOLATED_BUS)


def generators_in_service(case: Case) -> BoolArray:
    """Generators with a positive status at a bus in service."""
    if len(case.gen) == 0:
        return np.zeros(0, dtype=bool)
    return np.asarray((case.gen[:, c.GEN_STATUS] > 0) & _at_live_bus(case, case.gen[:, c.GEN_BUS]))


def branches_in_service(case: Case) -> BoolArray:
    """Branches with a non-zero status between two buses in service."""
    branch = case.branch
    if len(branch) == 0:
        return np.zeros(0, dtype=bool)
    ends = _at_live_bus(case, branch[:, c.FROM]) & _at_live_bus(case, branch[:, c.TO])
    return np.asarray((branch[:, c.BRANCH_STATUS] != 0) & ends)


def bus_rows(case: Case, number: FloatArray) -> IntArray:
    """Row of `case.bus` that has each bus number, -1 where there is none."""
    known = case.bus[:, c.BUS_NUMBER]
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known, number, sorter=order), len(known) - 1)
    row = order[place]
    return np.where(known[row] == number, row, -1)


def _at_live_bus(case: Case, number: FloatArray) -> BoolArray:
    row = bus_rows(case, number)
    return np.asarray((row >= 0) & buses_in_service(case)[row])
