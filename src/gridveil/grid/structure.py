"""`Structure`: a network without any number that may be protected. What a plan hides, it does not have.

Sites, topology and what stands in no group (voltage limits, shunts, taps, angle limits) are here as they are; of loads,
limits, ratings and costs only which there are, and their signs. Noise never changes that, so that it is public whatever
a plan protects (docs/proofs/joint.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.grid.network import Grid, LineKind, columns, freeze
from gridveil.shown import as_card


def signs(values: FloatArray) -> FloatArray:
    """−1, 0 or 1 of every number; an infinite one, which is none, stays."""
    return np.where(np.isfinite(values), np.sign(values), values)


def structure_of(grid: Grid) -> Structure:
    """The structure of a grid."""
    buses, units, lines = grid.buses, grid.generators, grid.lines
    piecewise, piecewise_q = (np.zeros(grid.n_generator, bool) for _ in range(2))
    piecewise[grid.cost_p.segment_generator] = piecewise_q[grid.cost_q.segment_generator] = True
    reactive = np.any(grid.cost_q.polynomial != 0, axis=1) | piecewise_q
    priced = np.any(grid.cost_p.polynomial[:, 1:] != 0, axis=1)
    priced[grid.cost_p.segment_generator[grid.cost_p.segment_slope != 0]] = True
    return Structure(
        grid.base_mva,
        BusStructure(
            buses.number, buses.base_kv, signs(buses.pd), signs(buses.qd), buses.gs, buses.bs, buses.vmin, buses.vmax,
            buses.is_reference,
        ),
        UnitStructure(
            units.bus, signs(units.pmin), signs(units.pmax), signs(units.qmin), signs(units.qmax),
            signs(grid.cost_p.polynomial), piecewise, priced, reactive, piecewise_q,
        ),
        LineStructure(
            lines.bus_from, lines.bus_to, lines.tap, lines.shift, np.isfinite(lines.rating), lines.angle_min,
            lines.angle_max, lines.kind,
        ),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class BusStructure:
    """`Buses`, with the signs of the demand instead of the demand."""

    number: IntArray
    base_kv: FloatArray
    pd_sign: FloatArray
    qd_sign: FloatArray
    gs: FloatArray
    bs: FloatArray
    vmin: FloatArray
    vmax: FloatArray
    is_reference: BoolArray

    def __post_init__(self) -> None:
        freeze(self, len(self.number))

    def __repr__(self) -> str:
        return columns(self, len(self.number))


@dataclass(frozen=True, eq=False)
class UnitStructure:
    """`Generators` by their buses, with signs of their limits and of their cost coefficients (unit × degree); who has a
    `piecewise` curve, whose power is `priced` at all, whose `reactive` power is, and by a piecewise curve (`_q`)."""

    bus: IntArray
    pmin_sign: FloatArray
    pmax_sign: FloatArray
    qmin_sign: FloatArray
    qmax_sign: FloatArray
    cost_sign: FloatArray
    piecewise: BoolArray
    priced: BoolArray
    reactive: BoolArray
    piecewise_q: BoolArray

    def __post_init__(self) -> None:
        freeze(self, len(self.bus))

    def __repr__(self) -> str:
        return columns(self, len(self.bus))


@dataclass(frozen=True, eq=False)
class LineStructure:
    """`Lines`, with which of them are `rated` instead of their ratings."""

    bus_from: IntArray
    bus_to: IntArray
    tap: FloatArray
    shift: FloatArray
    rated: BoolArray
    angle_min: FloatArray
    angle_max: FloatArray
    kind: IntArray

    def __post_init__(self) -> None:
        freeze(self, len(self.bus_from))

    def __repr__(self) -> str:
        return columns(self, len(self.bus_from))


@dataclass(frozen=True, eq=False)
class Structure:
    """What is public of a network under every plan: which elements there are, how they are joined, signs and zeros.

    Attributes:
        base_mva: What 1 per unit is.
        buses: With signs of loads instead of loads.
        generators: With signs of limits and costs.
        lines: With which of them are rated instead of ratings.

    Examples:
        >>> gv.seal("case39_epri").structure.n_lossless
        4
    """

    base_mva: float
    buses: BusStructure
    generators: UnitStructure
    lines: LineStructure

    _repr_html_ = as_card

    @property
    def n_bus(self) -> int:
        return len(self.buses.number)

    @property
    def n_generator(self) -> int:
        return len(self.generators.bus)

    @property
    def n_line(self) -> int:
        return len(self.lines.bus_from)

    @property
    def n_lossless(self) -> int:
        return int(np.count_nonzero(self.lines.kind == LineKind.LOSSLESS))

    def __repr__(self) -> str:
        return f"Structure({self.n_bus} buses, {self.n_generator} generators, {self.n_line} lines)"
