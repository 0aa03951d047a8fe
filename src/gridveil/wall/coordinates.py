"""The coordinates in which lines are protected, and the distance of two networks in them: pure functions of networks.

For `log` the secret of a corridor is u = (ln|z|, ln|x/r|, ln|bc/x|), for the others its conductance g (its susceptance
where it is lossless), each as the mean over twin lines. Which coordinates exist, and all signs, are structure: public,
because no mechanism changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import GridError
from gridveil.grid import Grid, LineKind, LineParameters, Network, circuits, corridors
from gridveil.shown import as_card
from gridveil.wall.mechanisms import RELATIVE, mechanism_words


def groups(twins: IntArray, *signatures: IntArray) -> IntArray:
    """Group of every line: its twins, split where the public signatures of its members differ."""
    if len(twins) == 0:
        return np.zeros(0, np.int64)
    key = np.asarray(twins, np.int64)
    for one in signatures:  # one number per line, in the order of the tuples: many times faster than unique rows
        key = key * (int(np.ptp(one)) + 1) + (one - one.min())
    return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)


def group_mean(values: FloatArray, group: IntArray) -> FloatArray:
    """Mean over the members of every group.

    A corridor is one secret: moving all its members by at most α in this coordinate moves the mean by at most α.
    """
    return np.bincount(group, weights=values) / np.bincount(group)


def signs(lines: LineParameters) -> tuple[IntArray, IntArray, IntArray]:
    """Signs of r, x and bc."""
    return (
        np.sign(lines.g).astype(np.int64),
        np.sign(-lines.b).astype(np.int64),
        np.sign(lines.bc).astype(np.int64),
    )


# ---- log ----


@dataclass(frozen=True, eq=False)
class LogStructure:
    """What is public of the coordinates of `log`: who shares a draw, which coordinates exist, signs by line."""

    group: IntArray
    charging_group: IntArray
    exists: tuple[BoolArray, BoolArray, BoolArray]
    sign: tuple[IntArray, IntArray, IntArray]

    @property
    def by_line(self) -> tuple[IntArray, IntArray, IntArray]:
        """The group of every line in each coordinate."""
        return self.group, self.group, self.charging_group

    @property
    def cuts(self) -> IntArray:
        """Where the second and the third coordinate begin in the vector of all."""
        return np.cumsum([one.sum() for one in self.exists])[:-1]

    def line_of(self) -> IntArray:
        """A line (the last) of every entry of the vector of all coordinates."""
        found = []
        for exists, group in zip(self.exists, self.by_line, strict=True):
            line = np.zeros(len(exists), np.int64)
            line[group] = np.arange(len(group))
            found.append(line[exists])
        return np.concatenate(found)


def log_structure(grid: Grid, lines: LineParameters, twins: IntArray | None = None) -> LogStructure:
    """The structure of a network's coordinates; the same for its noisy values, which keep all signs.

    `twins` says which lines share a draw if they have the same signs: those of one circuit, unless it is given.
    """
    sign_r, sign_x, sign_bc = signs(lines)
    twins = circuits(grid) if twins is None else twins
    group, charging = groups(twins, sign_r, sign_x), groups(twins, sign_r, sign_x, sign_bc)
    exists = (
        np.ones(int(group.max(initial=-1)) + 1, dtype=bool),
        _of_groups((sign_r != 0) & (sign_x != 0), group),
        _of_groups((sign_x != 0) & (sign_bc != 0), charging),
    )
    return LogStructure(group, charging, exists, (sign_r, sign_x, sign_bc))


def encode(structure: LogStructure, lines: LineParameters) -> FloatArray:
    """All coordinates that exist, as one vector: ln|z|, then ln|x/r|, then ln|bc/x|."""
    pairs = zip(coordinates(lines), structure.by_line, structure.exists, strict=True)
    return np.concatenate([group_mean(values, group)[exists] for values, group, exists in pairs])


def decode(structure: LogStructure, u: FloatArray) -> LineParameters:
    """The lines that have these coordinates."""
    full = []
    for part, group, exists in zip(np.split(u, structure.cuts), structure.by_line, structure.exists, strict=True):
        values = np.zeros(len(exists))
        values[exists] = part
        full.append(values[group])
    return from_coordinates(*full, *(one.astype(float) for one in structure.sign))


def shifted(structure: LogStructure, lines: LineParameters, changes: Sequence[tuple[int, float]]) -> LineParameters:
    """Lines with some entries of their vector of coordinates changed; twins keep what differs between them."""
    values = [one.copy() for one in coordinates(lines)]
    begins = [0, *structure.cuts.tolist()]
    for place, change in changes:
        part = int(np.searchsorted(begins, place, side="right")) - 1
        group = int(np.flatnonzero(structure.exists[part])[place - begins[part]])
        values[part][structure.by_line[part] == group] += change
    return from_coordinates(*values, *(one.astype(float) for one in structure.sign))


def coordinates(lines: LineParameters) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(ln|z|, ln|x/r|, ln|bc/x|) of every line, 0 where a coordinate does not exist.

    With y = 1/z: |z| = 1/|y| and x/r = −b/g.
    """
    r, x = lines.impedance()
    return _log(np.hypot(r, x)), _log(_ratio(x, r)), _log(_ratio(lines.bc, x))


def from_coordinates(
    size: FloatArray,
    ratio: FloatArray,
    charging: FloatArray,
    sign_r: FloatArray,
    sign_x: FloatArray,
    sign_bc: FloatArray,
) -> LineParameters:
    """The inverse of `coordinates`, given the signs."""
    z, k = np.exp(size), np.exp(ratio)
    both = (sign_r != 0) & (sign_x != 0)
    r: FloatArray = sign_r * np.where(both, z / np.sqrt(1 + k * k), z)
    x: FloatArray = sign_x * np.where(both, z * k / np.sqrt(1 + k * k), z)
    bc: FloatArray = sign_bc * np.exp(charging) * np.abs(x)
    return LineParameters.from_impedance(r, x, bc)


def _of_groups(flag: BoolArray, group: IntArray) -> BoolArray:
    """A flag that all members of a group share, by group."""
    result = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    result[group] = flag
    return result


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.where(below == 0, 0.0, above / np.where(below == 0, 1.0, below))


def _log(values: FloatArray) -> FloatArray:
    return np.where(values == 0, 0.0, np.log(np.where(values == 0, 1.0, np.abs(values))))


# ---- conductance ----


def conductance_groups(grid: Grid, lines: LineParameters, unprotected: BoolArray) -> IntArray:
    """Corridors, split by kind and by the sign of x; unprotected lines stand alone."""
    alone = np.where(unprotected, 1 + np.arange(grid.n_line), 0)
    return groups(circuits(grid), grid.lines.kind, np.sign(-lines.b).astype(np.int64), alone)


def conductances(grid: Grid, lines: LineParameters, group: IntArray) -> tuple[FloatArray, BoolArray, FloatArray]:
    """(secret, lossless, ratio) of every group: g and b/g, or b and 0 where the group is lossless."""
    g, b = group_mean(lines.g, group), group_mean(lines.b, group)
    lossless = group_mean((grid.lines.kind == LineKind.LOSSLESS).astype(float), group) > 0
    return np.where(lossless, b, g), lossless, np.where(lossless, 0.0, b / np.where(lossless, 1.0, g))


# ---- the distance of two networks ----


@dataclass(frozen=True, eq=False)
class Distance:
    """How far two networks are apart, in units of α: a loss of ε·d for every corridor.

    Attributes:
        by_corridor: A number per corridor, in the order of the network.

    Examples:
        >>> gv.distance("case14_ieee", "case14_ieee")
        Distance(0 of 20 corridors differ)
    """

    by_corridor: FloatArray

    _repr_html_ = as_card

    def __repr__(self) -> str:
        return f"Distance({self.changed} of {len(self.by_corridor)} corridors differ)"

    @property
    def total(self) -> float:
        """The sum over corridors. Two networks are adjacent if one corridor differs and this is at most 1."""
        return float(self.by_corridor.sum())

    @property
    def changed(self) -> int:
        """In how many corridors the networks differ."""
        return int(np.count_nonzero(self.by_corridor))


def distance(one: Network, other: Network, alpha: float, mechanism: str = "log") -> Distance:
    """The distance of two networks with the same public half, by a mechanism: its losses are ε times this.

    Where the change touches what the mechanism leaves public (a sign, a zero, with `additive` and `paper` a ratio or
    the charging), the two can be told apart whatever the noise, and the distance is infinite.
    """
    grid, words = one.grid, mechanism_words(mechanism)
    _same_public(one, other)
    corridor = corridors(grid)
    result = np.zeros(int(corridor.max(initial=-1)) + 1)
    open_change = np.asarray(grid.lines.kind != other.grid.lines.kind)
    if words.unit == RELATIVE:
        structures = [log_structure(grid, network.lines) for network in (one, other)]
        for a, b in zip(structures[0].sign, structures[1].sign, strict=True):
            open_change |= a != b
        if not np.any(open_change):
            change = np.abs(encode(structures[0], one.lines) - encode(structures[1], other.lines))
            np.add.at(result, corridor[structures[0].line_of()], change / alpha)
    else:
        alone = words.unprotected(grid)
        group = conductance_groups(grid, one.lines, alone)
        (secret, _, ratio), (changed, _, other_ratio) = (conductances(n.grid, n.lines, group) for n in (one, other))
        moved = np.abs(changed - secret) / alpha
        member = np.zeros(len(secret), np.int64)
        member[group] = np.arange(grid.n_line)
        np.add.at(result, corridor[member], np.where(alone[member], 0.0, moved))
        open_change |= ~np.isclose(ratio, other_ratio, rtol=1e-9, atol=0.0)[group]
        open_change |= (one.lines.bc != other.lines.bc) | (alone & (one.lines.b != other.lines.b))
    result[np.where(result < 1e-12, True, False)] = 0.0  # the logarithms' rounding
    np.maximum.at(result, corridor[open_change], np.inf)
    return Distance(result)


def _same_public(one: Network, other: Network) -> None:
    if one.grid.base_mva != other.grid.base_mva:
        raise GridError("the networks differ in public data (base MVA); they can be told apart by that")
    for part in ("buses", "generators", "lines", "cost_p", "cost_q"):
        mine, theirs = vars(getattr(one.grid, part)), vars(getattr(other.grid, part))
        for name, values in mine.items():
            if name != "kind" and not np.array_equal(values, theirs[name], equal_nan=values.dtype.kind == "f"):
                raise GridError(f"the networks differ in public data ({part}: {name}); they can be told apart by that")
