"""Attackers of ratings, loads, limits and costs, as `attackers.py` is for lines. They never see the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gridveil.arrays import FloatArray
from gridveil.check.leaks.alike import equal_units, equal_values
from gridveil.check.leaks.knowledge import Reader
from gridveil.check.leaks.roundness import round_numbers
from gridveil.check.leaks.sight import Sight, by_row, merged, sharpest, sights
from gridveil.check.leaks.surroundings import by_neighbours, unscaled, usual_values


@dataclass(frozen=True, eq=False)
class HeldNumbers:
    """`each` release; of every number the sharpest; that, and the middle of all, with scaling to totals undone."""

    each: tuple[Sight, ...]
    one: Sight
    unscaled: Sight
    all: Sight


@dataclass(frozen=True)
class NumberAttacker:
    """A name, what the attacker does in words, and his method: ln|number| by row, or `None` if he has no way."""

    name: str
    words: str
    attack: Callable[[HeldNumbers], FloatArray | None]


def numbers_held_by(readers: Sequence[Reader]) -> HeldNumbers:
    """What the readers of one or several releases see of protected numbers beside the lines."""
    seen = sights(readers)
    one = sharpest(seen)
    return HeldNumbers(tuple(seen), one, unscaled(one), merged([unscaled(each) for each in seen]))


def _by(method: Callable[[Sight], FloatArray]) -> Callable[[HeldNumbers], FloatArray | None]:
    """An attacker of coordinates."""
    return lambda held: by_row(held.all.table, method(held.all))


RELEASED = "released value"
NUMBER_ATTACKERS = (
    NumberAttacker(RELEASED, "takes the released numbers as they are", lambda held: held.one.rows),
    NumberAttacker(
        "averaging", "takes the middle of all releases", lambda held: held.all.rows if len(held.each) > 1 else None
    ),
    NumberAttacker(
        "totals", "takes back that noisy numbers were scaled to a public total", lambda held: held.unscaled.rows
    ),
    NumberAttacker("usual values", "moves numbers to what is usual for level, degree and site", _by(usual_values)),
    NumberAttacker("neighbours", "expects them by what else is released of the place", _by(by_neighbours)),
    NumberAttacker("equal values", "pools numbers that seem to be equal, as power factors are", _by(equal_values)),
    NumberAttacker("equal units", "pools units, loads and curves that seem to be of one make", _by(equal_units)),
    NumberAttacker("round numbers", "takes the likeliest round number", lambda held: round_numbers(held.all)),
)


def number_guesses(held: HeldNumbers) -> dict[str, FloatArray]:
    """What every attacker says of every number, as logarithms by row of the table."""
    said = {one.name: one.attack(held) for one in NUMBER_ATTACKERS}
    return {name: rows for name, rows in said.items() if rows is not None}
