"""Numbers of buses: those in service decide them, for numbers are released and rows out of service are not."""

from __future__ import annotations

from collections.abc import Sequence

from gridveil.arrays import FloatArray, IntArray
from gridveil.casefile import columns as c

BY_PLACE = "buses have names: their numbers are places in the order of the file"


def step_aside(wanted: Sequence[int], taken: set[int]) -> list[int]:
    """Numbers for buses out of service: their own, or one above all where a bus in service has that or it is none."""
    free, found = max(taken | set(wanted), default=0), list[int]()
    for number in wanted:
        own = number > 0 and number not in taken
        free += not own
        found.append(number if own else free)
    return found


def by_name(live: Sequence[str], dead: Sequence[str] = ()) -> tuple[dict[str, int], bool]:
    """Numbers by name, and whether they are the names: so if those in service are all numbers, else their places."""
    own = all(map(_is_number, live))
    numbers = {name: int(name) if own else place for place, name in enumerate(live, 1)}
    wanted = [int(name) if own and _is_number(name) else 0 for name in dead]
    return numbers | dict(zip(dead, step_aside(wanted, set(numbers.values())), strict=True)), own


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 16 and int(name) > 0


def make_way(bus: FloatArray, star: IntArray, *columns: FloatArray) -> None:
    """Renumber, in a table of buses and in columns that name them, those out of service whose numbers stars took."""
    dead = [int(one[c.BUS_NUMBER]) for one in bus if one[c.BUS_TYPE] == c.ISOLATED_BUS]
    taken = {int(one[c.BUS_NUMBER]) for one in bus if one[c.BUS_TYPE] != c.ISOLATED_BUS} | set(star.tolist())
    for old, new in zip(dead, step_aside(dead, taken), strict=True):
        if old != new:
            for column in (bus[:, c.BUS_NUMBER], *columns):
                column[column == old] = new
