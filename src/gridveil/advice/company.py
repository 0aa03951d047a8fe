"""Who plays the truth beside a noisy draw of it: public networks, as a draw with much noise tells little.

At ε = 0.1 for changes of ten per cent every logarithm has noise of scale 1: whether ratings follow impedances, how
loaded lines are and what the gap is are gone from the draw, and what is tried on it is true of it alone. Public
networks say what is usual; how much the draw counts beside them follows from its noise, which is public.
"""

from __future__ import annotations

from gridveil.advice.plausible import other_reading, readings
from gridveil.advice.stand_in import StandIn, nearest
from gridveil.errors import ReleaseError
from gridveil.grid import Structure

COMPANY, TWICE = 6, 2
"""Public networks that are tried on, alone or beside a draw, and how many of them with other ratings too."""
WORK = 5000
"""Lines of all together: to guess at lines takes longest."""
LARGEST = 1700
"""Lines of each, where there are such: several networks tell more than a large one, and take as long."""


def company(structure: Structure) -> list[StandIn]:
    """The public networks that are nearest to a network, the nearest first, as far as there is time for them."""
    first, *others = nearest(structure, COMPANY, lines=LARGEST)
    again = [made for one in (first, *others) if (made := other_reading(one)) is not None][:TWICE]
    found, lines = [first], first.network.grid.n_line
    for one in (*others[:1], *again[:1], *others[1:], *again[1:]):
        if lines + one.network.grid.n_line <= WORK:
            found.append(one)
            lines += one.network.grid.n_line
    return found


def accompanied(draw: StandIn, structure: Structure) -> list[StandIn]:
    """A draw in all its readings and the public networks beside it, what counts most first; without these where there
    are none."""
    mine = readings(draw)
    try:
        first, *others = company(structure)
    except ReleaseError:
        return mine
    return [*mine, first, *others] if draw.weight > 1 else [first, *others, *mine]
