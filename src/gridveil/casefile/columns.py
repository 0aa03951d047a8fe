"""Column numbers of the MATPOWER version-2 tables (0-based), and how wide each table may be.

The widths run from what the format requires to what tools add of their own: a generator table has 10 columns at the
least, 21 with ramp rates, 25 with the multipliers of a solved OPF, and more where somebody keeps fuel or owners beside
them. `branch` without its two angle columns (11) is still common.
"""

from __future__ import annotations

BUS_NUMBER, BUS_TYPE, PD, QD, GS, BS = 0, 1, 2, 3, 4, 5
AREA, VM, VA, BASE_KV, ZONE, VMAX, VMIN = 6, 7, 8, 9, 10, 11, 12

GEN_BUS, PG, QG, QMAX, QMIN, VG, MBASE, GEN_STATUS, PMAX, PMIN = range(10)
PC1, PC2, QC1MIN, QC1MAX, QC2MIN, QC2MAX = range(10, 16)

FROM, TO, R, X, B, RATE_A, RATE_B, RATE_C, RATIO, SHIFT, BRANCH_STATUS, ANGLE_MIN, ANGLE_MAX = range(13)

COST_MODEL, COST_STARTUP, COST_SHUTDOWN, COST_COUNT, COST_FIRST = range(5)
PIECEWISE, POLYNOMIAL = 1, 2

DCLINE_STATUS = 2

PQ_BUS, PV_BUS, REFERENCE_BUS, ISOLATED_BUS = 1, 2, 3, 4

WIDTHS = {"bus": (13, 25), "gen": (10, 41), "branch": (11, 25), "gencost": (5, None), "dcline": (17, 23)}
"""Table -> (least, greatest) number of columns, less than two rows on one line have; `None` where there is no limit."""
KNOWN = {"bus": 17, "gen": 25, "branch": 21}
"""Table -> how many columns the format gives a meaning; what stands beyond is somebody's own, and not read."""
GEN_WIDTH = 21
"""Columns of the generator table that every tool takes: with capability curves and ramp rates, all 0 where unknown."""

MEANING = {
    "bus": ("bus_i", "type", "Pd", "Qd", "Gs", "Bs", "area", "Vm", "Va", "baseKV", "zone", "Vmax", "Vmin"),
    "gen": ("bus", "Pg", "Qg", "Qmax", "Qmin", "Vg", "mBase", "status", "Pmax", "Pmin"),
    "branch": (
        "fbus", "tbus", "r", "x", "b", "rateA", "rateB", "rateC", "ratio", "angle", "status", "angmin", "angmax",
    ),
    "gencost": ("model", "startup", "shutdown", "n"),
}  # fmt: skip
"""Table -> the header names of its leading columns, for the writer and for error messages."""


def column_name(table: str, column: int) -> str:
    """What a column (0-based) is called in the table's header, or its number."""
    names = MEANING.get(table, ())
    return names[column] if column < len(names) else f"column {column + 1}"
