"""Cost inversion: the public dispatch cost is one equation in the line parameters.

Around released values ln cost is nearly linear in the log coordinates; its slope comes from the multipliers of one
AC-OPF. Who knows no line spreads what is missing over all of them; who knows all lines but one gives it to that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.check.leaks.coordinates import Seen, seen
from gridveil.check.leaks.knowledge import Reader, View, lines_from
from gridveil.grid import Grid, LineParameters, Network, OperatingPoint
from gridveil.nlp.opf import Near, opf_model, solve_opf
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.nlp.solver import SolverOptions
from gridveil.status import Status

SOLVER = 1e-6
"""A computed cost is not better known than this."""
SAMPLE, SEED = 60, 2019
"""At most this many circuits are tried, drawn with a fixed seed: each takes two AC-OPFs."""
STEP = 1e-6


@dataclass(frozen=True, eq=False)
class Others:
    """The true lines, of which a reader is handed all but some."""

    lines: LineParameters

    def around(self, unknown: BoolArray, guess: LineParameters) -> LineParameters:
        """The true lines, with a guess in the place of the unknown ones."""
        return LineParameters(
            *(np.where(unknown, getattr(guess, one), getattr(self.lines, one)) for one in ("g", "b", "bc"))
        )


def public_cost(readers: Sequence[Reader]) -> tuple[float, float] | None:
    """ln of the public cost and its standard deviation, from all releases that have one."""
    told = [one for one in readers if one.cost is not None and one.cost > 0]
    if not told:
        return None
    spread = np.array([max(one.cost_spread or 0.0, SOLVER) for one in told])
    value = np.log([one.cost for one in told if one.cost is not None])
    return float(np.average(value, weights=spread**-2)), float(np.sum(spread**-2) ** -0.5)


def spread_over_all(readers: Sequence[Reader], held: View) -> LineParameters | None:
    """Who knows no line: the likeliest move of all coordinates at once, were their noise Gaussian."""
    known = public_cost(readers)
    slope = known and _slope(held, held.network.lines, None)
    if not known or not slope:
        return None
    (wanted, spread), (value, by_coordinate, _) = known, slope
    by_secret = [_sum_over(held.seen, one) for one in by_coordinate]
    room = [2 * one.scale**2 for one in held.noise]
    variance = sum(float(np.sum(held.seen.share * v * j * j)) for v, j in zip(room, by_secret, strict=True))
    gain = (wanted - value) / (variance + spread**2)
    seen = held.seen
    moved = [
        now + gain * v * j
        for now, v, j in zip((seen.size, seen.ratio, seen.charging), room, by_secret, strict=True)
    ]  # fmt: skip
    return lines_from(held, *moved)


def one_among_known(readers: Sequence[Reader], held: View, others: Others) -> tuple[LineParameters, BoolArray] | None:
    """Who knows all lines but one circuit: its likeliest coordinates, and the lines that were tried.

    Laplace noise is likeliest to have moved the one coordinate that explains most of the cost per unit of noise. Where
    more than lines is hidden, all other lines do not tell him the cost that one would have.
    """
    known = public_cost(readers)
    if known is None or not all(one.protection is None or one.protection.only_lines for one in readers):
        return None
    circuits = np.unique(held.seen.group)
    if len(circuits) > SAMPLE:
        circuits = np.sort(np.random.default_rng(SEED).choice(circuits, SAMPLE, replace=False))
    found = {one: getattr(held.network.lines, one).copy() for one in ("g", "b", "bc")}
    tried, near = np.zeros(len(held.seen.group), dtype=bool), None
    for circuit in circuits:
        mine = held.seen.group == circuit
        guess, near = _invert(known, held, others, mine, near)
        if guess is not None:
            tried |= mine
            for one, values in found.items():
                values[mine] = getattr(guess, one)[mine]
    return (LineParameters(**found), tried) if np.any(tried) else None


def _invert(
    known: tuple[float, float], held: View, others: Others, mine: BoolArray, near: OperatingPoint | None
) -> tuple[LineParameters | None, OperatingPoint | None]:
    wanted, spread = known
    move, best = 0.0, -1
    guess: LineParameters | None = None
    scales = np.array([float(one.scale[mine].mean()) for one in held.noise])
    for _ in range(2):
        own = _moved(held, mine, best, move)
        slope = _slope(held, others.around(mine, own), near, mine)
        if slope is None:
            return guess, near
        value, by_coordinate, near = slope
        by_noise = np.array([float(np.sum(one[mine])) for one in by_coordinate]) * scales
        best = int(np.argmax(np.abs(by_noise))) if best < 0 else best
        steep = by_noise[best]
        if abs(steep) < 1e-9:
            return own, near
        # the least of |move|/scale + (what is then missing)²/(2·spread²) is a soft threshold
        exact = move / scales[best] + (wanted - value) / steep
        kept = np.sign(exact) * max(abs(exact) - (spread / steep) ** 2, 0.0)
        move = float(np.clip(kept, -6.0, 6.0) * scales[best])
        guess = _moved(held, mine, best, move)
    return guess, near


def _moved(held: View, mine: BoolArray, coordinate: int, by: float) -> LineParameters:
    now = (held.seen.size, held.seen.ratio, held.seen.charging)
    return lines_from(held, *(value + by * mine * (k == coordinate) for k, value in enumerate(now)))


def _slope(
    held: View, lines: LineParameters, near: OperatingPoint | None, mine: BoolArray | None = None
) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray], OperatingPoint] | None:
    """ln cost, its derivative by every coordinate of every line, and the optimal point; `None` if there is none."""
    grid: Grid = held.network.grid
    options = SolverOptions(max_iterations=150, starts=1 if near is None else 2)
    solution = solve_opf(opf_model(grid), lines, options=options, near=None if near is None else Near(near))
    if solution.status is not Status.OPTIMAL or not solution.cost > 0:
        return None
    gradient = cost_gradient(grid, lines, solution) / solution.cost
    at = seen(Network(grid, lines))
    here = View(Network(grid, lines), at, held.noise, held.charging_exact)
    values = (at.size, at.ratio, at.charging)
    exists = (np.ones(grid.n_line, dtype=bool), at.has_ratio, at.has_charging & (not held.charging_exact))
    result = []
    for k in range(3):
        up, down = (
            lines_from(here, *(value + sign * STEP * (j == k) for j, value in enumerate(values))) for sign in (1, -1)
        )
        change = np.stack([getattr(up, one) - getattr(down, one) for one in ("g", "b", "bc")]) / (2 * STEP)
        by: FloatArray = np.einsum("kn,kn->n", gradient, change)
        result.append(np.where(exists[k] if mine is None else exists[k] & mine, by, 0.0))
    return float(np.log(solution.cost)), (result[0], result[1], result[2]), solution.point


def _sum_over(at: Seen, values: FloatArray) -> FloatArray:
    """The sum over the lines of one secret, at each of them."""
    return np.asarray(np.bincount(at.group, weights=values), dtype=float)[at.group]
