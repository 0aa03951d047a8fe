"""Stand-ins whose ratings were made from impedances, where it cannot be known whether those of the secret were.

Whoever reads a release of lines alone may read their impedances from such ratings, and no α helps. Structure does not
tell whether they were made so. A draw has noise of its own on ratings and on impedances, which hides that they went
together: tried on it, lines alone look well protected where they are not. So wherever its noise would explain that they
do not go together, a draw stands in twice, as it is and with the ratings that its impedances make; and so do the
nearest public networks. That is a function of the draw, and costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridveil.advice.stand_in import StandIn, has_dispatch, scale_of
from gridveil.grid import Network
from gridveil.grid.ratings import bound_size, likely_angles, rated

BY_IMPEDANCES = ", ratings by impedances"
LEAST = 5
"""Rated lines that it takes to tell."""
SLACK = 2.0
"""The noise explains a variance up to so many times its own."""
MADE = 0.01
"""Below this variance of ln(rating·|z|) ratings were made from impedances."""


def readings(draw: StandIn) -> list[StandIn]:
    """A draw as it is and, where its noise leaves it open, with ratings by impedances."""
    noise = 2 * 2 * scale_of(draw.weight) ** 2  # of a rating and of an impedance
    if spread(draw.network) > SLACK * noise or (made := by_impedances(draw.network)) is None:
        return [draw]
    half = draw.weight / 2
    again = "the same with ratings that impedances make, as its noise leaves it open that they did"
    return [replace(draw, weight=half), StandIn(draw.name + BY_IMPEDANCES, made, again, half)]


def other_reading(public: StandIn) -> StandIn | None:
    """A public network with ratings by impedances; none where they are, or where it has no dispatch then."""
    made = None if spread(public.network) < MADE else by_impedances(public.network)
    words = f"{public.name} with ratings that impedances make, as yours may be"
    return None if made is None else StandIn(public.name + BY_IMPEDANCES, made, words)


def spread(network: Network) -> float:
    """The variance of ln(rating·|z|) over rated lines; infinite where there are too few of them."""
    known = rated(network.grid)
    size = np.hypot(*network.lines.impedance()[:2])
    product = np.log(network.grid.lines.rating[known] * size[known])
    return float(np.var(product)) if len(product) >= LEAST else float("inf")


def by_impedances(network: Network) -> Network | None:
    """The network with ratings as libraries make them of impedances, with the angle that makes them most like its own;
    none where it has no dispatch with any."""
    grid, lines = network
    known, own = rated(grid), np.log(np.where(rated(grid), grid.lines.rating, 1.0))
    size = np.log(np.hypot(*lines.impedance()[:2]))
    made = [np.where(known, bound_size(grid, theta) + own - size, 0.0) for theta in likely_angles(grid)]
    for told in sorted(made, key=lambda one: abs(float(np.mean(one - own)))):
        ratings = np.where(known, np.exp(told), grid.lines.rating)
        other = Network(replace(grid, lines=replace(grid.lines, rating=ratings)), lines)
        if has_dispatch(other):
            return other
    return None
