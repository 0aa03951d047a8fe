"""The verdict: every attacker's error, the best against the noise. Only here, and in `groups.py` for what is protected
beside lines, do guesses meet the truth. The rule is `rule.py`'s. INTERNAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

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
from gridveil.check.leaks.groups import GroupReport, examine_groups
from gridveil.check.leaks.knowledge import Reader
from gridveil.check.leaks.law import noise_error
from gridveil.check.leaks.rule import MANY, SAME, VERDICTS, Error, believed, compared, read_off, relative_error
from gridveil.check.leaks.state import SOLVES, imbalance
from gridveil.errors import ReleaseError
from gridveil.grid import LineParameters, Network
from gridveil.shown import as_card

TRUE_STATE = "the solved state in the file is that of the original network"


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
    """What `gv.leakcheck` found. Errors are medians of reactances, relative. INTERNAL.

    Where more than lines is protected, `groups` have verdicts of their own and the worst of all counts; where lines are
    public, nobody attacks them, and the errors are those of the quantity that decides.

    Attributes:
        verdict: `clean`, `weak` or `leaks`.
        reason: Why, in a sentence.
        best_attacker: Who knows most.
        best_error: How far off he is.
        noise_error: How far off the noise alone leaves everybody.
        attackers: A row each.
        silent: Attackers who have no way here: one release cannot be averaged, a cost that was not told not be
            inverted.
        groups: Verdicts on ratings, loads, limits and costs.
        unjudged: Groups that were changed in a file without a manifest: nobody says how, so that nobody is asked about
            them.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> gv.leakcheck("case14_ieee", made).attackers[0].name
        'released value'
    """

    verdict: str
    reason: str
    best_attacker: str
    best_error: float
    noise_error: float
    attackers: tuple[Attacked, ...]
    silent: tuple[str, ...] = ()
    """Attackers who have no way here: one release cannot be averaged, a cost that was not told not be inverted."""
    groups: tuple[GroupReport, ...] = ()
    unjudged: tuple[str, ...] = ()
    """Groups that were changed in a file without a manifest: nobody says how, so that nobody is asked about them."""

    _repr_html_ = as_card

    def __repr__(self) -> str:
        return f"LeakReport({self.verdict}: {self.reason}; INTERNAL)"


def best_attack(truth: Network, readers: Sequence[Reader]) -> Attacked:
    """The attacker who knows the reactances best."""
    return min(attacked(truth, held_by(readers)), key=lambda one: one.x.median)


def examine(truth: Network, readers: Sequence[Reader], *, true_state: bool = False) -> LeakReport:
    """Run every attacker and judge. `true_state` says that a file shows the state of the original."""
    check_same(truth, [one.network for one in readers])
    groups = examine_groups(truth, readers)
    if groups and not any(one.hides_lines for one in readers):
        return _without_lines(groups, true_state=true_state)
    report = _of_lines(truth, readers, true_state=true_state)
    worst = max(groups, key=lambda one: VERDICTS.index(one.verdict), default=None)
    if worst is None or VERDICTS.index(worst.verdict) <= VERDICTS.index(report.verdict):
        return replace(report, groups=groups)
    return replace(report, verdict=worst.verdict, reason=worst.reason, groups=groups)


def _of_lines(truth: Network, readers: Sequence[Reader], *, true_state: bool) -> LeakReport:
    held = held_by(readers)
    rows = attacked(truth, held)
    best, noise = min(rows, key=lambda one: one.x.median), _noise(rows[0].x.median, readers, held)
    found = _leak(truth, readers, rows, best, true_state=true_state)
    verdict, reason = compared(best.name, best.x.median, noise) if found is None else ("leaks", found)
    spoke = {one.name for one in rows}
    silent = tuple(name for name in (*(one.name for one in ATTACKERS), KNOWS_OTHERS) if name not in spoke)
    return LeakReport(verdict, reason, best.name, best.x.median, noise, rows, silent)


def _without_lines(groups: tuple[GroupReport, ...], *, true_state: bool) -> LeakReport:
    """The report of releases that leave lines as they are."""
    worst = max(groups, key=lambda one: VERDICTS.index(one.verdict))
    one = max(worst.quantities, key=lambda one: VERDICTS.index(one.verdict))
    verdict, reason = worst.verdict, worst.reason
    if true_state:
        verdict, reason = "leaks", TRUE_STATE
    return LeakReport(verdict, reason, one.best_attacker, one.best_error, one.noise_error, (), (), groups)


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
    errors = [relative_error(old[guess.asked], new[guess.asked]) for old, new in pairs]
    return Attacked(name, words, *errors)


def _noise(released: float, readers: Sequence[Reader], held: Held) -> float:
    """The error that the noise of this draw leaves; nobody knows the law of a release that does not tell its scale."""
    if any(one.scale is None for one in readers):
        return released
    return believed(released, noise_error(held.one))


def _leak(
    truth: Network, readers: Sequence[Reader], rows: Sequence[Attacked], best: Attacked, *, true_state: bool
) -> str | None:
    """The sentence that says what can be read off, if anything can."""
    for reader in readers:
        if (same := _unchanged(truth.lines, reader.network.lines)) > MANY:
            return f"r or x of the original stands unchanged in {same:.0%} of the lines"
    if true_state:
        return TRUE_STATE
    off = [imbalance(one.network, one.state) for one in readers if one.state is not None]
    if off and not max(off) <= SOLVES:
        return f"the solved state in the file is not that of the released network: it is off by {max(off):.0e} p.u."
    return read_off("reactances", {one.name: one.x for one in rows}, best.name)


def _unchanged(truth: LineParameters, released: LineParameters) -> float:
    """Share of the lines whose r or x is the original's to eight digits."""
    (r0, x0), (r1, x1) = truth.impedance(), released.impedance()
    same = np.zeros(len(x0), dtype=bool)
    for old, new in ((r0, r1), (x0, x1)):
        same |= (old != 0) & (np.abs(new - old) <= SAME * np.abs(old))
    return float(np.mean(same)) if len(same) else 0.0
