"""The verdict: every attacker's error, the best against the noise. Only here do guesses meet the truth. INTERNAL.

`leaks`: numbers of the original can be read off. `weak`: somebody does better than four fifths of what the noise alone
would leave him. `clean`: nobody does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.attackers import (
    ATTACKERS,
    KNOWS_OTHERS,
    OTHERS_WORDS,
    Guess,
    Held,
    guess_with_others,
    guesses,
    held_by,
)
from gridveil.check.leaks.cost import Others
from gridveil.check.leaks.knowledge import Reader
from gridveil.check.leaks.law import noise_error
from gridveil.check.leaks.state import SOLVES, imbalance
from gridveil.errors import ReleaseError
from gridveil.grid import LineParameters, Network

RECOVERED = 1e-6
MANY = 0.02
"""Share of lines that may be recovered, or unchanged, by chance."""
HIDDEN = 0.01
"""If half of the reactances are known better than this, nothing is hidden, however it came about."""
WEAK = 0.8
SAME = 1e-8


@dataclass(frozen=True)
class Error:
    """How far guesses of one parameter are from the truth, over the lines that have it."""

    lines: int
    median: float
    within_1_percent: float
    within_10_percent: float
    recovered: int


@dataclass(frozen=True)
class Attacked:
    """One attacker's errors."""

    name: str
    words: str
    r: Error
    x: Error
    bc: Error


@dataclass(frozen=True)
class LeakReport:
    """The verdict, why, and the figures it rests on. Errors are medians of x, relative."""

    verdict: str
    reason: str
    best_attacker: str
    best_error: float
    noise_error: float
    attackers: tuple[Attacked, ...]
    silent: tuple[str, ...] = ()
    """Attackers who have no way here: one release cannot be averaged, a cost that was not told not be inverted."""


def best_attack(truth: Network, readers: Sequence[Reader]) -> Attacked:
    """The attacker who knows the reactances best."""
    return min(attacked(truth, held_by(readers)), key=lambda one: one.x.median)


def examine(truth: Network, readers: Sequence[Reader], *, true_state: bool = False) -> LeakReport:
    """Run every attacker and judge. `true_state` says that a file shows the state of the original."""
    check_same(truth, [one.network for one in readers])
    held = held_by(readers)
    rows = attacked(truth, held)
    best, noise = min(rows, key=lambda one: one.x.median), _noise(rows[0].x.median, readers, held)
    found = _leak(truth, readers, rows, best, true_state=true_state)
    if found is not None:
        verdict, reason = "leaks", found
    elif best.x.median < WEAK * noise:
        reason = f"'{best.name}' is off by {best.x.median:.2%}, where the noise alone would leave {noise:.2%}"
        verdict = "weak"
    else:
        reason = f"the best attacker is off by {best.x.median:.2%}, and the noise alone would leave {noise:.2%}"
        verdict = "clean"
    spoke = {one.name for one in rows}
    silent = tuple(name for name in (*(one.name for one in ATTACKERS), KNOWS_OTHERS) if name not in spoke)
    return LeakReport(verdict, reason, best.name, best.x.median, noise, rows, silent)


def check_same(truth: Network, released: Sequence[Network]) -> None:
    """Refuse what is not a release of this network, and a network without lines."""
    if truth.grid.n_line == 0:
        raise ReleaseError("the network has no line in service, so there is nothing to leak; check the branch table")
    for one in released:
        ends, theirs = truth.grid.lines, one.grid.lines
        if (
            truth.grid.n_line != one.grid.n_line
            or not np.array_equal(truth.grid.buses.number, one.grid.buses.number)
            or not np.array_equal(ends.bus_from, theirs.bus_from)
            or not np.array_equal(ends.bus_to, theirs.bus_to)
        ):
            raise ReleaseError("the files do not have the same buses and lines in service; is this the right original?")


def attacked(truth: Network, held: Held) -> tuple[Attacked, ...]:
    """The errors of every attacker who has something to say, the released value first."""
    words = {one.name: one.words for one in ATTACKERS} | {KNOWS_OTHERS: OTHERS_WORDS}
    said = guesses(held)
    stronger = guess_with_others(held, Others(truth.lines))
    if stronger is not None:
        said[KNOWS_OTHERS] = stronger
    return tuple(_attacked(name, words[name], truth.lines, guess) for name, guess in said.items())


def _attacked(name: str, words: str, truth: LineParameters, guess: Guess) -> Attacked:
    r0, x0 = truth.impedance()
    r1, x1 = guess.lines.impedance()
    pairs = ((r0, r1), (x0, x1), (truth.bc, guess.lines.bc))
    errors = [_error(old[guess.asked], new[guess.asked]) for old, new in pairs]
    return Attacked(name, words, *errors)


def _error(true: FloatArray, guess: FloatArray) -> Error:
    here = (true != 0) & np.isfinite(guess)
    if not np.any(here):
        return Error(0, float("inf"), 0.0, 0.0, 0)
    error = np.abs(guess[here] / true[here] - 1.0)
    near, fair = (float(np.mean(error <= limit)) for limit in (0.01, 0.1))
    return Error(len(error), float(np.median(error)), near, fair, int(np.count_nonzero(error <= RECOVERED)))


def _noise(released: float, readers: Sequence[Reader], held: Held) -> float:
    """The error that the noise of this draw leaves: the law's, or the released value's where chance explains less.

    With 20 lines, the median error of one draw in four is below four fifths of the law's: that is luck, not a leak. A
    released value beyond luck is one, so that the law's luckiest draw in twenty is the least that is believed.
    """
    if any(one.scale is None for one in readers):
        return released
    law = noise_error(held.one)
    return float(np.clip(released, law.lucky, law.middle))


def _leak(
    truth: Network, readers: Sequence[Reader], rows: Sequence[Attacked], best: Attacked, *, true_state: bool
) -> str | None:
    """The sentence that says what can be read off, if anything can."""
    for reader in readers:
        if (same := _unchanged(truth.lines, reader.network.lines)) > MANY:
            return f"r or x of the original stands unchanged in {same:.0%} of the lines"
    if true_state:
        return "the solved state in the file is that of the original network"
    off = [imbalance(one.network, one.state) for one in readers if one.state is not None]
    if off and not max(off) <= SOLVES:
        return f"the solved state in the file is not that of the released network: it is off by {max(off):.0e} p.u."
    for one in rows:
        if one.x.recovered > MANY * max(one.x.lines, 1):
            return f"'{one.name}' recovers {one.x.recovered} of {one.x.lines} reactances to six digits"
    if best.x.median <= HIDDEN:
        return f"'{best.name}' knows half of all reactances to within {best.x.median:.2%}"
    return None


def _unchanged(truth: LineParameters, released: LineParameters) -> float:
    """Share of the lines whose r or x is the original's to eight digits."""
    (r0, x0), (r1, x1) = truth.impedance(), released.impedance()
    same = np.zeros(len(x0), dtype=bool)
    for old, new in ((r0, r1), (x0, x1)):
        same |= (old != 0) & (np.abs(new - old) <= SAME * np.abs(old))
    return float(np.mean(same)) if len(same) else 0.0
