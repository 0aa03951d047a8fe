"""`leakcheck`: what a reader of a released file could learn of the true reactances, channel by channel. INTERNAL.

It compares with the truth, so its output is for the operator only. Each channel predicts x of every line from released
or public columns; the figure to beat is the released value itself, whose error is the noise that was meant to be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.casefile import Case
from gridveil.casefile import columns as c
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError
from gridveil.grid import Network, line_levels_kv, operating_point, violations

RECOVERED = 1e-6
NEAR = 0.01
STATE = 1e-6


@dataclass(frozen=True)
class Channel:
    """How well one channel predicts the true reactance: median error, and the share of lines within 1 % of it."""

    name: str
    lines: int
    median_error: float
    share_within_1_percent: float
    recovered: int
    leaks: bool
    meaning: str


def leakcheck(original: Case, released: Case) -> tuple[Channel, ...]:
    """Every channel; a release is clean if none of them `leaks`."""
    truth, public = to_network(original), to_network(released)
    if truth.grid.n_line != public.grid.n_line or not np.array_equal(truth.grid.buses.number, public.grid.buses.number):
        raise ReleaseError("the two files do not have the same buses and lines in service; is this the right original?")
    return (*reconstructions(truth, public), _solved_state(original, released, public))


def reconstructions(truth: Network, public: Network) -> tuple[Channel, ...]:
    """Every channel that predicts reactances from the numbers of the released network."""
    x = truth.lines.impedance()[1]
    return (
        _released_value(x, public),
        _same_numbers(truth, public),
        _ratio(truth, public),
        _charging(x, public),
        _ratings(x, public),
    )


def _channel(name: str, true: FloatArray, guess: FloatArray, known: BoolArray, meaning: str, limit: float) -> Channel:
    error = np.abs(guess[known] / true[known] - 1) if np.any(known) else np.full(1, np.inf)
    recovered = int(np.count_nonzero(error <= RECOVERED)) if np.any(known) else 0
    leaks = recovered > limit * max(int(np.count_nonzero(known)), 1)
    near = float(np.mean(error <= NEAR))
    return Channel(name, int(np.count_nonzero(known)), float(np.median(error)), near, recovered, bool(leaks), meaning)


def _released_value(x: FloatArray, public: Network) -> Channel:
    guess = public.lines.impedance()[1]
    return _channel("released value", x, guess, x != 0, "the noise that protects the line", 0.02)


def _same_numbers(truth: Network, public: Network) -> Channel:
    """Protected numbers of the original that stand unchanged in the released file."""
    (r0, x0), (r1, x1) = truth.lines.impedance(), public.lines.impedance()
    same = np.zeros(len(x0), dtype=bool)
    for old, new in ((r0, r1), (x0, x1)):
        same |= (old != 0) & (np.abs(new - old) <= 1e-8 * np.abs(old))
    guess = np.where(same, x0, np.inf)
    meaning = "r or x of the original to eight digits" if np.any(same) else "none of the original's r and x appears"
    return _channel("unchanged numbers", x0, guess, x0 != 0, meaning, 0.02)


def _ratio(truth: Network, public: Network) -> Channel:
    """r and x have few decimals, so an exact ratio, scaled to the released size, gives both back."""
    x = truth.lines.impedance()[1]
    r1, x1 = public.lines.impedance()
    known = (r1 != 0) & (x1 != 0)
    guess = np.full(len(x), np.inf)
    for i in np.flatnonzero(known):
        fraction = Fraction(abs(float(r1[i] / x1[i]))).limit_denominator(20000)
        if fraction and abs(float(fraction) - abs(r1[i] / x1[i])) <= 1e-8 * abs(r1[i] / x1[i]):
            for decimals in (4, 5):
                step = fraction.denominator / 10**decimals
                guess[i] = np.sign(x1[i]) * step * max(round(abs(x1[i]) / step), 1)
                if abs(guess[i] / x[i] - 1) <= RECOVERED:
                    break
    return _channel("ratio x/r as a fraction", x, guess, known, "rational reconstruction from the released ratio", 0.02)


def _charging(x: FloatArray, public: Network) -> Channel:
    """Lines of one level have nearly one surge impedance: x ≈ constant·bc."""
    x1 = public.lines.impedance()[1]
    known = (public.lines.bc > 0) & (x1 > 0) & (x != 0)
    guess = _by_level(public, known, x1, np.where(known, public.lines.bc, 1.0))
    return _channel("charging", x, guess, known, "surge impedance of the level, times the released charging", 0.02)


def _ratings(x: FloatArray, public: Network) -> Channel:
    """Ratings are public; where somebody had derived them from impedance, x ≈ constant/rating."""
    x1 = public.lines.impedance()[1]
    known = np.isfinite(public.grid.lines.rating) & (x1 > 0) & (x != 0)
    inverse = 1.0 / np.where(known, public.grid.lines.rating, 1.0)
    return _channel(
        "rating", x, _by_level(public, known, x1, inverse), known, "one constant per level over the rating", 0.02
    )


def _by_level(public: Network, known: BoolArray, x: FloatArray, proxy: FloatArray) -> FloatArray:
    guess, level = np.full(len(x), np.inf), line_levels_kv(public.grid)
    for kv in np.unique(level[known]):
        here = known & (level == kv)
        guess[here] = np.median(x[here] / proxy[here]) * proxy[here]
    return guess


def _solved_state(original: Case, released: Case, public: Network) -> Channel:
    """Voltages and dispatch must be those of the released network: the original's would give its lines away."""
    base = released.base_mva
    point = operating_point(
        public.grid, public.lines, released.bus[:, c.VM], np.deg2rad(released.bus[:, c.VA]),
        released.gen[:, c.PG] / base, released.gen[:, c.QG] / base,
    )  # fmt: skip
    judged = violations(public.grid, public.lines, point)
    residual = max(judged.balance_p, judged.balance_q)
    live = np.isin(original.bus[:, c.BUS_NUMBER], released.bus[:, c.BUS_NUMBER])
    flat = np.ptp(released.bus[:, c.VA]) == 0 and len(released.bus) > 1
    same = np.array_equal(original.bus[live][:, [c.VM, c.VA]], released.bus[:, [c.VM, c.VA]]) and not flat
    leaks = bool(not residual <= STATE or same)
    meaning = (
        f"solves the released network to {residual:.0e} p.u." if not leaks else "is not that of the released network"
    )
    return Channel("solved state", len(released.bus), float("inf"), 0.0, 0, leaks, meaning)
