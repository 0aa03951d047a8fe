"""The network in per unit as arrays: its `Grid` and its line parameters, held apart. Of some world: the true one, a
noisy one, a released one.

Angles are in radians, buses are numbered 0..n-1, only elements in service are here. Names follow docs/notation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray, check_length, frozen
from gridveil.grid.cost import CostCurves
from gridveil.shown import as_card, plotted

if TYPE_CHECKING:
    from gridveil.grid.frames import Frame, Frames


class LineKind(IntEnum):
    """What the sign of a line's resistance says about it; public, because the mechanisms never change it."""

    LOSSY = 0
    LOSSLESS = 1
    NEGATIVE_RESISTANCE = 2


def freeze(instance: Any, length: int) -> None:
    """Replace every array field of a dataclass by a read-only one of `length` rows."""
    for field in fields(instance):
        value = getattr(instance, field.name)
        dtype = np.int64 if value.dtype.kind in "iu" else np.bool_ if value.dtype.kind == "b" else np.float64
        object.__setattr__(instance, field.name, frozen(value, dtype))
        check_length(length, **{field.name: value})


def columns(instance: Any, length: int) -> str:
    """For a `repr`: how many rows there are and which columns, and no number of them, which may be secret."""
    return f"{type(instance).__name__}({length} × {', '.join(field.name for field in fields(instance))})"


@dataclass(frozen=True, eq=False)
class Buses:
    """One entry per bus. `number` is the bus's name in the file; `pd`, `qd` the demand; `gs`, `bs` the shunt."""

    number: IntArray
    base_kv: FloatArray
    pd: FloatArray
    qd: FloatArray
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
class Generators:
    """One entry per generator in service; `bus` is an index into `Buses`."""

    bus: IntArray
    pmin: FloatArray
    pmax: FloatArray
    qmin: FloatArray
    qmax: FloatArray

    def __post_init__(self) -> None:
        freeze(self, len(self.bus))

    def __repr__(self) -> str:
        return columns(self, len(self.bus))


@dataclass(frozen=True, eq=False)
class Lines:
    """Each line or transformer in service, but for its parameters; an absent `rating` or angle limit is infinite."""

    bus_from: IntArray
    bus_to: IntArray
    tap: FloatArray
    shift: FloatArray
    rating: FloatArray
    angle_min: FloatArray
    angle_max: FloatArray
    kind: IntArray

    def __post_init__(self) -> None:
        freeze(self, len(self.bus_from))

    def __repr__(self) -> str:
        return columns(self, len(self.bus_from))


@dataclass(frozen=True, eq=False)
class LineParameters:
    """Series conductance and susceptance and total charging of each line, in per unit, wherever they came from.

    Attributes:
        g: Conductance.
        b: Susceptance.
        bc: Charging.

    Examples:
        >>> r, x = gv.load("case14_ieee").lines.impedance()
        >>> round(float(x[0]), 5)
        0.05917
    """

    g: FloatArray
    b: FloatArray
    bc: FloatArray

    def __post_init__(self) -> None:
        freeze(self, len(self.g))

    def __repr__(self) -> str:
        return columns(self, len(self.g))

    @staticmethod
    def from_impedance(r: FloatArray, x: FloatArray, bc: FloatArray) -> LineParameters:
        """g = r/(r²+x²), b = −x/(r²+x²)."""
        square = r * r + x * x
        return LineParameters(r / square, -x / square, np.asarray(bc))

    def impedance(self) -> tuple[FloatArray, FloatArray]:
        """(r, x) of every line: the inverse of `from_impedance`."""
        square = self.g * self.g + self.b * self.b
        return self.g / square, -self.b / square


@dataclass(frozen=True, eq=False)
class Grid:
    """Everything about a network but its line parameters, in per unit, with the numbers that it has in some world.

    Attributes:
        base_mva: What 1 per unit is.
        buses: A column per quantity: `number`, `pd`, `qd`, `vmin`, ...
        generators: Likewise: `bus`, `pmin`, `pmax`, ...
        lines: Likewise: `bus_from`, `bus_to`, `tap`, `rating`, ...
        cost_p: Costs of active power.
        cost_q: Costs of reactive power.

    Examples:
        >>> grid = gv.load("case14_ieee").grid
        >>> grid.n_bus, round(float(grid.buses.pd.sum()) * grid.base_mva)
        (14, 259)
    """

    base_mva: float
    buses: Buses
    generators: Generators
    lines: Lines
    cost_p: CostCurves
    cost_q: CostCurves

    @property
    def n_bus(self) -> int:
        return len(self.buses.number)

    @property
    def n_generator(self) -> int:
        return len(self.generators.bus)

    @property
    def n_line(self) -> int:
        return len(self.lines.bus_from)

    def __repr__(self) -> str:
        return f"Grid({self.n_bus} buses, {self.n_generator} generators, {self.n_line} lines)"


class Network(NamedTuple):
    """A grid together with the line parameters it has in some world: the true one, a noisy one, a released one.

    Attributes:
        grid: All but line parameters.
        lines: Line parameters.

    Examples:
        >>> network = gv.load("case14_ieee")
        >>> network
        Network(14 buses, 5 generators, 20 lines)
        >>> network.frame("generators")["pmax_mw"].tolist()
        [340.0, 59.0, 0.0, 0.0, 0.0]
    """

    grid: Grid
    lines: LineParameters

    def _repr_html_(self) -> str | None:
        return as_card(self)

    def __repr__(self) -> str:
        grid = self.grid
        return f"Network({grid.n_bus} buses, {grid.n_generator} generators, {grid.n_line} lines)"

    def frames(self) -> Frames:
        """Buses, generators and lines as pandas frames in MW, Mvar, MVA and degrees."""
        from gridveil.grid.frames import network_frames  # noqa: PLC0415 - it knows this class

        return network_frames(self)

    def frame(self, table: str = "buses") -> Frame:
        """One of them: `buses`, `generators` or `lines`."""
        return self.frames().table(table)

    def plot(self, axes: Any = None, *, title: str | None = None) -> Any:
        """Draw a map with matplotlib, on `axes` if there are some; gives back the axes."""
        return plotted(self, axes, title=title)


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """A state of the network, in per unit and radians: voltages and generation, and what follows from them.

    Attributes:
        vm: Magnitudes of voltages.
        va: Their angles.
        pg: Active generation.
        qg: Reactive generation.
        pf: Active flow into each line at its first end.
        qf: Reactive flow there.
        pt: Active flow into it at its second end.
        qt: Reactive flow there.
        cost: Of the generation, in $/h.

    Examples:
        >>> gv.solve_opf("case14_ieee").point
        OperatingPoint(14 buses, 5 generators, 20 lines, cost 2,178.08)
    """

    vm: FloatArray
    va: FloatArray
    pg: FloatArray
    qg: FloatArray
    pf: FloatArray
    qf: FloatArray
    pt: FloatArray
    qt: FloatArray
    cost: float

    _repr_html_ = as_card

    def __post_init__(self) -> None:
        for name in ("vm", "va", "pg", "qg", "pf", "qf", "pt", "qt"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __repr__(self) -> str:
        counts = f"{len(self.vm)} buses, {len(self.pg)} generators, {len(self.pf)} lines"
        return f"OperatingPoint({counts}, cost {self.cost:,.2f})"


@dataclass(frozen=True, eq=False)
class Multipliers:
    """What a solver knows of an optimum beside its point: the multipliers of rows, of lower and of upper bounds, in
    the order of the problem that was solved."""

    rows: FloatArray
    lower: FloatArray
    upper: FloatArray

    def __post_init__(self) -> None:
        for name in ("rows", "lower", "upper"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __repr__(self) -> str:
        return f"Multipliers({len(self.rows)} rows, {len(self.lower)} variables)"
