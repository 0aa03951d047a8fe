"""A network and its operating points as pandas frames, in the units of files: MW, Mvar, MVA, degrees, bus numbers.

pandas is loaded when a frame is made, and not before. A frame of a true network is as secret as the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridError
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import Grid, LineKind, Network, OperatingPoint
from gridveil.libraries import needed

Frame: TypeAlias = Any
"""A `pandas.DataFrame`."""


class Frames(NamedTuple):
    """A network as pandas frames, in MW, Mvar, MVA and degrees.

    Attributes:
        buses: By their numbers.
        generators: Counted from 1 in the order of the network.
        lines: Likewise.

    Examples:
        >>> gv.load("case14_ieee").frames().lines.loc[1, ["from_bus", "to_bus", "x_pu"]].tolist()
        [1.0, 2.0, 0.05917]
    """

    buses: Frame
    generators: Frame
    lines: Frame

    def __repr__(self) -> str:
        return f"Frames(buses: {len(self.buses)} rows, generators: {len(self.generators)}, lines: {len(self.lines)})"

    def table(self, name: str) -> Frame:
        """One of the frames by its name."""
        if name not in self._fields:
            raise GridError(f"there is no frame '{name}'; there are {', '.join(self._fields)}")
        return getattr(self, name)


def network_frames(network: Network, names: Sequence[str] | None = None) -> Frames:
    """The numbers of a network; `names` are those of its buses. A limit that there is not is infinite."""
    numbers = network_columns(network)
    named = {} if names is None else {"name": list(names)}
    return _framed(network.grid, numbers._replace(buses=named | numbers.buses))


def point_frames(grid: Grid, point: OperatingPoint) -> Frames:
    """Voltages, generation and flows of an operating point; the loading is that of the fuller end, in per cent."""
    return _framed(grid, point_columns(grid, point))


class Columns(NamedTuple):
    """The same without any library: columns by their names, whose ends are their units."""

    buses: dict[str, Any]
    generators: dict[str, Any]
    lines: dict[str, Any]


def place_columns(grid: Grid) -> Columns:
    """What every element is called, and where it is."""
    number, ends = grid.buses.number, grid.lines
    return Columns(
        {"bus": number},
        {"generator": np.arange(1, grid.n_generator + 1), "bus": number[grid.generators.bus]},
        {
            "line": np.arange(1, grid.n_line + 1), "from_bus": number[ends.bus_from], "to_bus": number[ends.bus_to],
        },
    )  # fmt: skip


def network_columns(network: Network) -> Columns:
    """The numbers of a network."""
    grid, base = network.grid, network.grid.base_mva
    buses, units, lines = grid.buses, grid.generators, grid.lines
    r, x = network.lines.impedance()
    return Columns(
        {
            "base_kv": buses.base_kv, "pd_mw": buses.pd * base, "qd_mvar": buses.qd * base,
            "gs_mw": buses.gs * base, "bs_mvar": buses.bs * base, "vmin_pu": buses.vmin, "vmax_pu": buses.vmax,
            "is_reference": buses.is_reference,
        },
        {
            "pmin_mw": units.pmin * base, "pmax_mw": units.pmax * base, "qmin_mvar": units.qmin * base,
            "qmax_mvar": units.qmax * base, **_costs(grid.cost_p, base),
        },
        {
            "r_pu": r, "x_pu": x, "bc_pu": network.lines.bc, "rating_mva": lines.rating * base, "tap": lines.tap,
            "shift_deg": np.rad2deg(lines.shift), "angle_min_deg": np.rad2deg(lines.angle_min),
            "angle_max_deg": np.rad2deg(lines.angle_max),
            "kind": [LineKind(kind).name.lower() for kind in lines.kind.tolist()],
        },
    )  # fmt: skip


def point_columns(grid: Grid, point: OperatingPoint) -> Columns:
    """Voltages, generation and flows of an operating point."""
    base = grid.base_mva
    fuller = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt))
    return Columns(
        {"vm_pu": point.vm, "va_deg": np.rad2deg(point.va)},
        {"pg_mw": point.pg * base, "qg_mvar": point.qg * base},
        {
            "pf_mw": point.pf * base, "qf_mvar": point.qf * base, "pt_mw": point.pt * base, "qt_mvar": point.qt * base,
            "loading_pct": 100 * fuller / grid.lines.rating,
        },
    )  # fmt: skip


def beside(numbers: Frames, solved: Frames) -> Frames:
    """Numbers of a network with those of an operating point in further columns."""
    pairs = zip(numbers, solved, strict=True)
    return Frames(*(one.assign(**{name: other[name] for name in other if name not in one}) for one, other in pairs))


def frame(data: dict[str, Any], index: Any, name: str) -> Frame:
    """Columns by their names, with rows that have names of their own."""
    pandas = needed("pandas", "frames")
    return pandas.DataFrame(data, index=pandas.Index(index, name=name))


def _framed(grid: Grid, columns: Columns) -> Frames:
    """Frames whose rows are named by the first of their places."""
    made = list[Frame]()
    for places, data in zip(place_columns(grid), columns, strict=True):
        name, *_ = places
        made.append(frame({key: places[key] for key in places if key != name} | data, places[name], name))
    return Frames(*made)


def _costs(curves: CostCurves, base: float) -> dict[str, FloatArray]:
    """c0 in $/h, c1 in $/MWh, c2 in $/MW²h, ...; of a piecewise curve, how many segments it has."""
    powers = curves.polynomial / base ** np.arange(curves.polynomial.shape[1])
    segments = np.bincount(curves.segment_generator, minlength=len(curves.polynomial))
    return {f"c{degree}": powers[:, degree] for degree in range(powers.shape[1])} | {"segments": segments}
