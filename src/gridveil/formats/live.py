"""What writers take from a case: rows in service, without solved flows, second ratings, areas or fields of one's own.

A writer's input is `released.m`, which has nothing else; a case that is converted may, and the same must come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.service import branches_in_service, buses_in_service, generators_in_service
from gridveil.errors import GridVeilError
from gridveil.formats.imported import Identity

LEFT_OUT = (
    "rows out of service, second and third ratings, areas, zones, costs of starting, ramp rates, capability curves and "
    "solved flows are not written"
)
"""What no writer of this room shows, whatever its format could hold: a release has none of it."""


@dataclass(frozen=True, eq=False)
class Live:
    """The rows in service: buses, units (21 columns), branches (13, absent angle limits as ±360), costs and ids.

    `cost_p` and `cost_q` have a row of gencost per unit; both are None where there are no such costs.
    """

    base_mva: float
    bus: FloatArray
    gen: FloatArray
    branch: FloatArray
    cost_p: FloatArray | None
    cost_q: FloatArray | None
    circuit: tuple[str, ...]
    machine: tuple[str, ...]
    bus_names: tuple[str, ...] | None


def live(case: Case, identity: Identity) -> Live:
    """The rows of a case that a writer may show."""
    buses, units, branches = buses_in_service(case), generators_in_service(case), branches_in_service(case)
    count = len(case.gen)
    costs = case.gencost if len(case.gencost) and count else None
    names = identity.bus_names
    return Live(
        base_mva=case.base_mva,
        bus=_buses(case.bus[buses, :13]),
        gen=_units(case.gen[units] if count else case.gen, case.base_mva),
        branch=_branches(case.branch[branches] if len(case.branch) else case.branch),
        cost_p=None if costs is None else _costs(costs[:count][units]),
        cost_q=None if costs is None or len(costs) == count else _costs(costs[count:][units]),
        circuit=_kept(identity.circuit, branches),
        machine=_kept(identity.machine, units),
        bus_names=None if names is None else _kept(names, buses),
    )


def _kept(names: Sequence[str], mask: BoolArray) -> tuple[str, ...]:
    return tuple(name for name, kept in zip(names, mask.tolist(), strict=True) if kept)


def _width(table: FloatArray, kept: int, width: int) -> FloatArray:
    """The first columns of a table, filled up with zeros."""
    result = np.zeros((len(table), width))
    result[:, :kept] = table[:, :kept] if len(table) else 0
    return result


def _buses(bus: FloatArray) -> FloatArray:
    """In one area and one zone."""
    result = bus.copy()
    result[:, [c.AREA, c.ZONE]] = 1
    return result


def _units(gen: FloatArray, base_mva: float) -> FloatArray:
    """21 columns; the base of a unit is that of the system, for its own is a nameplate."""
    result = _width(gen, 10, c.GEN_WIDTH)
    result[:, c.MBASE], result[:, c.GEN_STATUS] = base_mva, 1
    return result


def _costs(costs: FloatArray) -> FloatArray:
    """Without costs of starting, and with zeros behind the terms that count."""
    result = costs.copy()
    result[:, [c.COST_STARTUP, c.COST_SHUTDOWN]] = 0
    for row in result:
        row[c.COST_FIRST + len(terms(row)[1]) :] = 0
    longest = max((len(terms(row)[1]) for row in result), default=1)
    return result[:, : c.COST_FIRST + longest]


def _branches(branch: FloatArray) -> FloatArray:
    """13 columns; the second and third rating are not shown, and limits of 0 and 0, or beyond 360, are none."""
    result = _width(branch, min(13, branch.shape[1]) if len(branch) else 13, 13)
    low, high = result[:, c.ANGLE_MIN], result[:, c.ANGLE_MAX]
    none = (low == 0) & (high == 0)
    result[:, c.ANGLE_MIN] = np.where(none | (low <= -360), -360.0, low)
    result[:, c.ANGLE_MAX] = np.where(none | (high >= 360), 360.0, high)
    result[:, [c.RATE_B, c.RATE_C]], result[:, c.BRANCH_STATUS] = 0, 1
    result[np.isinf(result[:, c.RATE_A]), c.RATE_A] = 0
    return result


def joined(blocks: Sequence[FloatArray]) -> FloatArray:
    """Costs of active and of reactive power as one table, the narrower filled up."""
    width = max(block.shape[1] for block in blocks)
    return np.concatenate([_width(block, block.shape[1], width) for block in blocks])


def terms(row: FloatArray) -> tuple[int, list[float]]:
    """Model and terms of a row of gencost: coefficients from the highest power down, or points one after another."""
    model, count = int(row[c.COST_MODEL]), int(row[c.COST_COUNT])
    length = 2 * count if model == c.PIECEWISE else count
    return model, [float(value) for value in row[c.COST_FIRST : c.COST_FIRST + length]]


def quadratic(row: FloatArray, format_name: str, unit: str) -> tuple[float, float, float]:
    """(c0, c1, c2) of a polynomial cost; a format that has no more refuses a higher power."""
    model, found = terms(row)
    rising = found[::-1]
    if model != c.POLYNOMIAL or any(rising[3:]):
        raise GridVeilError(
            f"{format_name} has costs up to the square of power, and {unit} has another kind; write another format, "
            "or give costs of that kind"
        )
    c0, c1, c2 = [*rising, 0.0, 0.0, 0.0][:3]
    return c0, c1, c2


def unit_name(table: Live, row: int) -> str:
    """The words for a unit."""
    return f"unit {table.machine[row]} at bus {table.gen[row, c.GEN_BUS]:.0f}"


def require_voltages(table: Live, format_name: str) -> None:
    """Refuse buses without a base voltage, for a format in ohms."""
    without = table.bus[table.bus[:, c.BASE_KV] <= 0, c.BUS_NUMBER]
    if without.size:
        raise GridVeilError(
            f"{format_name} has impedances in ohms, and bus {without[0]:.0f} has no base voltage (baseKV); "
            "give it one, or write a format in per unit"
        )
