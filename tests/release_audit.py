"""An audit of whole releases, facts and all: what does an attacker learn who knows both networks and everything else?

He looks at every number of a release in turn, and at the likelihood ratio of the changed corridor and the private
answer together. Each statistic gives a lower bound of the loss; the largest counts, at a confidence that allows for
having looked at several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import gridveil as gv
from gridveil.errors import ReleaseError
from gridveil.grid import LineParameters, Network, corridors
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.grid.profile import Profile, base_profile
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.split import split
from gridveil.wall.coordinates import distance, encode, log_structure, shifted
from gridveil.wall.facts import FactKind
from tests.audit import lower_bound

FAILED = -1e9


@dataclass(frozen=True, eq=False)
class Pair:
    """Two networks that differ in one coordinate of one corridor, and what that does to the surcharge."""

    one: Network
    other: Network
    coordinate: int
    corridor: int
    moved: float


def surcharge(network: Network, profile: Profile | None = None) -> float:
    """What a release would ask for."""
    steps = profile or base_profile(network.grid)
    plates = [copper_plate_cost(network.grid, float(row.sum())) for row in steps.pd]
    return Truth(split(network), steps, range(len(steps))).surcharge(plates)


def neighbours(network: Network, alpha: float, mechanism: str = "log") -> Iterator[Pair]:
    """Every protected coordinate moved by α, up and down."""
    u, line = protected(network, mechanism)
    base = surcharge(network)
    for k in range(len(u)):
        for sign in (1.0, -1.0):
            other = Network(network.grid, moved_lines(network, mechanism, k, sign * alpha))
            change = abs(surcharge(other) - base)
            yield Pair(network, other, k, int(corridors(network.grid)[line[k]]), change)


def protected(network: Network, mechanism: str) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates that a mechanism protects, and a line of each."""
    if mechanism == "log":
        structure = log_structure(network.grid, network.lines)
        return encode(structure, network.lines), structure.line_of()
    return network.lines.g, np.arange(network.grid.n_line)  # networks without parallel or lossless lines


def moved_lines(network: Network, mechanism: str, place: int, by: float) -> LineParameters:
    """The lines with one coordinate moved."""
    if mechanism == "log":
        return shifted(log_structure(network.grid, network.lines), network.lines, [(place, by)])
    factor = np.ones(network.grid.n_line)
    factor[place] = (network.lines.g[place] + by) / network.lines.g[place]
    return LineParameters(network.lines.g * factor, network.lines.b * factor, network.lines.bc)


def pairs_within(network: Network, alpha: float, s: float, count: int) -> list[Pair]:
    """Adjacent pairs within s, those that move the cost most first, one of each corridor where there are so many."""
    found = sorted((one for one in neighbours(network, alpha) if one.moved <= s), key=lambda one: -one.moved)
    first = {one.corridor: one for one in reversed(found)}
    chosen = sorted(first.values(), key=lambda one: -one.moved)
    rest = [one for one in found if one not in chosen]
    return [*chosen, *rest][:count]


def numbers(made: Release | None, pair: Pair, kappas: tuple[float, float]) -> dict[str, float]:
    """What an attacker looks at."""
    names = ("coordinate", "answer", "public cost", "shape", "scale", "asked", "released cost", "likelihood")
    if made is None:
        return dict.fromkeys(names, FAILED)
    method, privacy = made.manifest.mechanism.name, made.manifest.privacy
    u = [protected(one, method)[0][pair.coordinate] for one in (pair.one, pair.other)]
    seen = float(protected(made.network, method)[0][pair.coordinate])
    width = privacy.alpha / privacy.parts.lines.epsilon
    likelihood = (abs(seen - u[1]) - abs(seen - u[0])) / width
    answer = next((one for one in made.manifest.public_inputs if one.kind is FactKind.SURCHARGE), None)
    costs = [one.value for one in made.costs]
    if answer is not None and answer.scale is not None:
        likelihood += (abs(answer.value - kappas[1]) - abs(answer.value - kappas[0])) / answer.scale
    return {
        "coordinate": seen,
        "answer": FAILED if answer is None else answer.value,
        "public cost": costs[0],
        "shape": costs[-1] / costs[0],
        "scale": FAILED if answer is None or answer.scale is None else answer.scale,
        "asked": float(answer is not None),
        "released cost": made.point.cost,
        "likelihood": likelihood,
    }


def collect(
    network: Network,
    plan: gv.Plan,
    draws: int,
    noise: SeededNoise,
    profile: Profile | None = None,
    make: Callable[..., Release] = release,
) -> list[Release | None]:
    """Whole releases of a network; `None` where one was refused."""
    found: list[Release | None] = []
    for _ in range(draws):
        try:
            found.append(make(split(network), plan, noise=noise, workshop=Workshop, profile=profile))
        except ReleaseError:
            found.append(None)
    return found


def compare(
    pair: Pair,
    ones: list[Release | None],
    others: list[Release | None],
    profile: Profile | None = None,
    confidence: float = 0.999,
) -> dict[str, float]:
    """The lower bound that each statistic gives; the loss is at least the largest, with this confidence of all together."""
    kappas = surcharge(pair.one, profile), surcharge(pair.other, profile)
    rows = [[numbers(made, pair, kappas) for made in side] for side in (ones, others)]
    names = list(rows[0][0])
    each = 1.0 - (1.0 - confidence) / len(names)
    return {
        name: lower_bound(np.array([row[name] for row in rows[0]]), np.array([row[name] for row in rows[1]]), each)
        for name in names
    }


def audit(
    pair: Pair, plan: gv.Plan, draws: int, profile: Profile | None = None, seed: int = 0, confidence: float = 0.999
) -> dict[str, float]:
    """Releases of both networks of a pair, compared."""
    noise = SeededNoise(seed)
    ones, others = (collect(one, plan, draws, noise, profile) for one in (pair.one, pair.other))
    return compare(pair, ones, others, profile, confidence)


def is_adjacent(pair: Pair, alpha: float) -> bool:
    """By the package's own measure: one corridor, at a distance of 1 at most."""
    apart = distance(pair.one, pair.other, alpha)
    return apart.changed == 1 and apart.total <= 1 + 1e-9
