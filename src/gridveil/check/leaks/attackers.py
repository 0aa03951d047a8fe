"""The attackers: one table of names, what each does, and how. They hold readers, never the truth.

One of them is given all true lines but a few, as differential privacy supposes of the worst reader; it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import BoolArray
from gridveil.check.leaks.averaging import averaged
from gridveil.check.leaks.charging import by_charging
from gridveil.check.leaks.cost import Others, one_among_known, spread_over_all
from gridveil.check.leaks.knowledge import Reader, View, lines_from, view
from gridveil.check.leaks.posterior import best_guess
from gridveil.check.leaks.prior import engineering
from gridveil.check.leaks.ratings import explain, likeliest_scale
from gridveil.check.leaks.ratios import from_fractions
from gridveil.check.leaks.state import from_state
from gridveil.grid import LineParameters


@dataclass(frozen=True, eq=False)
class Held:
    """What readers have together: all releases, the most precise one of them, and the average of all."""

    readers: tuple[Reader, ...]
    one: View
    all: View


@dataclass(frozen=True, eq=False)
class Guess:
    """Lines as an attacker thinks they are, and which of them he was asked for."""

    lines: LineParameters
    asked: BoolArray


Attack = Callable[[Held], LineParameters | None]


@dataclass(frozen=True)
class Attacker:
    """A name, what the attacker does in words, and his method: a guess of all lines, or `None` if he has no way."""

    name: str
    words: str
    attack: Attack


def held_by(readers: Sequence[Reader]) -> Held:
    """What the readers of one or several releases hold."""
    scaled = [one if one.scale is not None else replace(one, scale=likeliest_scale(one.network)) for one in readers]
    views = [view(one) for one in scaled]
    best = min(range(len(views)), key=lambda k: float(np.median(views[k].noise.size.scale)))
    return Held(tuple(readers), views[best], averaged(scaled))


def _released(held: Held) -> LineParameters | None:
    return held.one.network.lines


def _averaging(held: Held) -> LineParameters | None:
    return held.all.network.lines if len(held.readers) > 1 else None


def _prior(held: Held) -> LineParameters | None:
    return lines_from(held.all, *engineering(held.all))


def _ratings(held: Held) -> LineParameters | None:
    found = explain(held.all.network.grid, held.all.seen, held.all.noise)
    return lines_from(held.all, best_guess(found.size), best_guess(found.ratio), engineering(held.all)[2])


def _charging(held: Held) -> LineParameters | None:
    return lines_from(held.all, *by_charging(held.all)) if np.any(held.all.seen.has_charging) else None


def _ratios(held: Held) -> LineParameters | None:
    return from_fractions(held.one)


def _cost(held: Held) -> LineParameters | None:
    return spread_over_all(held.readers, held.all)


def _state(held: Held) -> LineParameters | None:
    return next((found for one in held.readers if (found := from_state(one, held.all)) is not None), None)


KNOWS_OTHERS = "cost, all other lines known"
ATTACKERS = (
    Attacker("released value", "takes the released numbers as they are", _released),
    Attacker("averaging", "takes the middle of all releases", _averaging),
    Attacker("engineering prior", "moves values to what is usual for level, kind and rating", _prior),
    Attacker("rating provenance", "reads the formulas that make ratings backwards", _ratings),
    Attacker("charging", "uses that lines of one level have one surge impedance", _charging),
    Attacker("ratios", "reads x/r as a fraction of numbers with few decimals", _ratios),
    Attacker("cost, no line known", "moves all lines to meet the public cost", _cost),
    Attacker("solved state", "moves all lines to be solved by the state in the file", _state),
)
OTHERS_WORDS = "knows all lines but one circuit, and moves that to meet the public cost"


def guesses(held: Held) -> dict[str, Guess]:
    """What every attacker with public data says of the lines."""
    every = np.ones(held.one.network.grid.n_line, dtype=bool)
    said = {one.name: one.attack(held) for one in ATTACKERS}
    return {name: Guess(lines, every) for name, lines in said.items() if lines is not None}


def guess_with_others(held: Held, others: Others) -> Guess | None:
    """What the attacker says who is told all true lines but those of one circuit, circuit by circuit."""
    found = one_among_known(held.readers, held.all, others)
    return None if found is None else Guess(*found)
