"""Two networks of one structure, number by number: before, after, relative change. INTERNAL: one is the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridError
from gridveil.grid.frames import Frame, Frames, frame, network_frames
from gridveil.grid.network import Grid, Network
from gridveil.internal import INTERNAL
from gridveil.shown import as_card


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two networks of one structure, number by number, by `gv.compare`. INTERNAL.

    A frame has a row per element and quantity: `before`, `after` and `change`, which is after/before − 1. Numbers that
    neither network has (zero or without a limit) are left out. Every frame carries the stamp in its `attrs`, too.

    Attributes:
        lines: Resistances, reactances, charging.
        ratings: Of lines.
        loads: Active and reactive.
        limits: Of units.
        costs: Coefficients, or slopes of piecewise curves.
        stamp: That it is INTERNAL.

    Examples:
        >>> gv.compare("case14_ieee", "case14_ieee")
        Comparison(lines: 41 rows, ratings: 20 rows, loads: 22 rows, limits: 10 rows, costs: 2 rows; INTERNAL: ...)
    """

    lines: Frame
    ratings: Frame
    loads: Frame
    limits: Frame
    costs: Frame
    stamp: str = INTERNAL

    _repr_html_ = as_card

    def __repr__(self) -> str:
        names = ("lines", "ratings", "loads", "limits", "costs")
        return f"Comparison({', '.join(f'{name}: {len(getattr(self, name))} rows' for name in names)}; {self.stamp})"


def compare(original: Network, released: Network) -> Comparison:
    """Every number that may be protected, in the original and in a released network of the same structure."""
    _same_elements(original.grid, released.grid)
    before, after = network_frames(original), network_frames(released)
    one, other = _with_slopes(before, original), _with_slopes(after, released)
    shared = [name for name in one if name in other]
    return Comparison(
        _rows(before.lines, after.lines, ("r_pu", "x_pu", "bc_pu")),
        _rows(before.lines, after.lines, ("rating_mva",)),
        _rows(before.buses, after.buses, ("pd_mw", "qd_mvar")),
        _rows(before.generators, after.generators, ("pmin_mw", "pmax_mw", "qmin_mvar", "qmax_mvar")),
        _changes(before.generators, shared, [one[name] for name in shared], [other[name] for name in shared]),
    )


def _same_elements(one: Grid, other: Grid) -> None:
    for name, a, b in (
        ("buses", one.buses.number, other.buses.number),
        ("generators", one.buses.number[one.generators.bus], other.buses.number[other.generators.bus]),
        ("lines", _ends(one), _ends(other)),
    ):
        if not np.array_equal(a, b):
            raise GridError(
                f"the two networks have different {name}; compare a release with the network it was made of"
            )


def _ends(grid: Grid) -> FloatArray:
    return np.stack([grid.buses.number[grid.lines.bus_from], grid.buses.number[grid.lines.bus_to]]).astype(float)


def _with_slopes(frames: Frames, network: Network) -> dict[str, FloatArray]:
    """Coefficients of the cost, and of piecewise curves the slope of each segment, which units have by their order."""
    units, curves = frames.generators, network.grid.cost_p
    found = {name: units[name].to_numpy() for name in units.columns if name[0] == "c" and name[1:].isdigit()}
    place = np.zeros(network.grid.n_generator, np.int64)
    for unit, slope in zip(curves.segment_generator.tolist(), curves.segment_slope.tolist(), strict=True):
        place[unit] += 1
        column = found.setdefault(f"slope{place[unit]}", np.zeros(network.grid.n_generator))
        column[unit] = slope / network.grid.base_mva
    return found


def _rows(before: Frame, after: Frame, names: Sequence[str]) -> Frame:
    one, other = ([table[name].to_numpy(float) for name in names] for table in (before, after))
    return _changes(before, names, one, other)


def _changes(elements: Frame, names: Sequence[str], one: Sequence[FloatArray], other: Sequence[FloatArray]) -> Frame:
    """All quantities of some elements, below each other; places are the bus of a unit and the ends of a line."""
    count = len(elements)
    before, after = (np.concatenate(values) if len(values) else np.zeros(0) for values in (one, other))
    index = np.tile(elements.index.to_numpy(), len(names))
    data = {
        place: np.tile(elements[place].to_numpy(), len(names))
        for place in ("bus", "from_bus", "to_bus")
        if place in elements
    }
    change = np.full(len(before), np.nan)
    known = np.isfinite(before) & np.isfinite(after)
    np.divide(after, before, out=change, where=known & (before != 0))
    data |= {"quantity": np.repeat(list(names), count), "before": before, "after": after, "change": change - 1}
    there = known & ((before != 0) | (after != 0))
    result = frame(data, index, elements.index.name)[there]
    result.attrs["stamp"] = INTERNAL
    return result
