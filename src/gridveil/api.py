"""The functions of the facade: what a script needs, taking a case in whatever form it is at hand.

Relaxations and attacks load solvers of their own, and are loaded when they are called.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from gridveil.casefile import Case
from gridveil.casefile.labels import labels
from gridveil.casefile.profile import read_profile as read_profile_file
from gridveil.casefile.read import read_bytes
from gridveil.errors import AttackError, WallBreach
from gridveil.formats.find import load, read_case
from gridveil.grid import Grid, Network
from gridveil.grid.changes import Comparison
from gridveil.grid.changes import compare as networks_compared
from gridveil.grid.frames import Frames, network_frames, point_frames
from gridveil.grid.profile import Profile
from gridveil.grid.profile import make_profile as profile_by_rule
from gridveil.nlp.opf import Solution, opf_model
from gridveil.nlp.opf import solve_opf as solve_model
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import Progress, SolverOptions
from gridveil.sealed.split import Sealed, split
from gridveil.status import Status
from gridveil.wall.coordinates import Distance
from gridveil.wall.coordinates import distance as distance_of

if TYPE_CHECKING:
    from gridveil.attacks.attack import Attack, Target
    from gridveil.conic.gap import Gap, GapChange
    from gridveil.conic.relaxation import Formulation, Relaxation
    from gridveil.publish.release import Release


def seal(case: str | Path | Case | Network) -> Sealed:
    """Seal a network: its structure can be seen, its numbers only be released."""
    return split(case if isinstance(case, Case | Network) else read_case(case))


def read_profile(path: str | Path, case: str | Path | Case | Network) -> Profile:
    """The demand of every step of a horizon, from a CSV or Parquet file."""
    return read_profile_file(path, _grid(case))


def make_profile(
    case: str | Path | Case | Network,
    steps: int,
    rule: str = "uniform",
    *,
    per_bus: bool = True,
    low: float = 0.8,
    high: float = 1.1,
    seed: int = 0,
) -> Profile:
    """A horizon of demands by the rule `ramp`, `sine` or `uniform`, scaled between `low` and `high`."""
    return profile_by_rule(_grid(case), steps, rule, per_bus=per_bus, low=low, high=high, seed=seed)


def frames(case: str | Path | Case | Network | Release | Any) -> Frames:
    """Buses, generators and lines as pandas frames in MW, Mvar, MVA and degrees, buses by their numbers.

    What is a case has names of its buses, if it has them; a release has its operating point beside its numbers.
    """
    from gridveil.publish.release import Release

    if isinstance(case, str | Path):
        case = read_case(case)
    if isinstance(case, Case):
        return network_frames(load(case), labels(case, live=True).bus_name)
    if not isinstance(case, Release):
        return network_frames(load(case))
    own, solved = network_frames(case.network), point_frames(case.network.grid, case.point)
    pairs = zip(own, solved, strict=True)
    return Frames(*(one.assign(**{name: other[name] for name in other if name not in one}) for one, other in pairs))


def compare(original: str | Path | Case | Network, released: str | Path | Case | Network | Release) -> Comparison:
    """Lines, ratings, loads, limits and costs before and after, with their relative change, as frames. INTERNAL."""
    from gridveil.publish.release import Release

    return networks_compared(load(original), released.network if isinstance(released, Release) else load(released))


def to_pypower(case: str | Path | Case | Network | Release) -> dict[str, Any]:
    """A PYPOWER dict of a case, a network or a release; a network alone has no operating point, and is written flat."""
    from gridveil.formats import objects

    return objects.to_pypower(_case(case))


def to_pandapower(case: str | Path | Case | Network | Release) -> Any:
    """The same as a pandapower net; pandapower is loaded now."""
    from gridveil.formats import objects

    return objects.to_pandapower(_case(case))


def to_pypsa(case: str | Path | Case | Network | Release) -> Any:
    """The same as a PyPSA network; PyPSA is loaded now."""
    from gridveil.formats import objects

    return objects.to_pypsa(_case(case))


def _case(case: str | Path | Case | Network | Release) -> Case:
    from gridveil.formats.objects import case_of
    from gridveil.publish.release import Release

    if isinstance(case, Release):  # what is written is what is certified
        return read_bytes("released.m", case.text.encode())
    if isinstance(case, Network):
        return case_of(case)
    return case if isinstance(case, Case) else read_case(case)


def _grid(case: str | Path | Case | Network | Sealed) -> Grid:
    if isinstance(case, Sealed):
        raise WallBreach("a sealed network shows no loads to make a profile of; give the case that was sealed")
    return load(case).grid


@overload
def solve_opf(
    case: str | Path | Case | Network,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    formulation: Literal["ac"] = "ac",
) -> Solution: ...


@overload
def solve_opf(
    case: str | Path | Case | Network,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    *,
    formulation: Formulation,
) -> Relaxation: ...


def solve_opf(
    case: str | Path | Case | Network,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    formulation: Literal["ac"] | Formulation = "ac",
) -> Solution | Relaxation:
    """Solve the AC-OPF of a case, or bound its cost from below with the relaxation "soc", "qc" or "qc-lambda".

    For many AC solves of one grid, build `opf_model` once and use `nlp.opf.solve_opf`. Of the options, a relaxation
    heeds the two limits.
    """
    network = load(case)
    if formulation == "ac":
        return solve_model(opf_model(network.grid), network.lines, demand, options, progress)
    from gridveil.conic.relaxation import Limits, solve_relaxation

    limits = Limits() if options is None else Limits(options.max_iterations, options.max_seconds)
    return solve_relaxation(network.grid, network.lines, formulation, demand, limits)


def gap(case: str | Path | Case | Network, demand: Demand | None = None, options: SolverOptions | None = None) -> Gap:
    """AC cost, SOC and QC bounds and the gaps between them; a relaxation's proof of infeasibility is final."""
    from gridveil.conic.gap import Gap

    network = load(case)
    soc = solve_opf(network, demand, options, formulation="soc")
    qc = solve_opf(network, demand, options, formulation="qc")
    if Status.INFEASIBLE in (soc.status, qc.status):
        return Gap(Status.INFEASIBLE, math.inf, soc, qc)
    ac = solve_opf(network, demand, options)
    return Gap(ac.status, ac.cost, soc, qc)


def gap_change(
    original: str | Path | Case | Network, released: str | Path | Case | Network, options: SolverOptions | None = None
) -> GapChange:
    """How a release moves the optimality gaps (the paper's Fig. 3, for one pair of networks)."""
    from gridveil.conic.gap import GapChange

    return GapChange(gap(original, options=options), gap(released, options=options))


def distance(
    one: str | Path | Case | Network,
    other: str | Path | Case | Network,
    alpha: float = 0.1,
    mechanism: str = "log",
) -> Distance:
    """How far two networks are apart, corridor by corridor, in units of α: a mechanism's loss is ε times that.

    They must be equal in all that is public. A change that a mechanism leaves open is at an infinite distance.
    """
    return distance_of(load(one), load(other), alpha, mechanism)


def attack(
    case: str | Path | Case | Network | Target,
    released: str | Path | Case | Network | None = None,
    *,
    attacker: str = "real",
    budget: float | None = None,
    count: int | None = None,
    restoration: str | None = None,
    seed: int = 0,
) -> Attack:
    """Attack a network: `budget` in per cent of its lines, or a `count`; the damage is that of the real network.

    `restoration` is 'switchable' (unless said otherwise) or 'literal'. For many attacks of one network, make a `Target`
    once, which has its own, and give it instead: equal line sets are then restored once.
    """
    from gridveil.attacks.attack import Target
    from gridveil.attacks.attack import attack as attack_target

    target = case if isinstance(case, Target) else Target(load(case), restoration or Rules.SWITCHABLE)
    if restoration not in (None, target.rules):
        raise AttackError(f"this target is restored by '{target.rules}'; make another for '{restoration}'")
    return attack_target(target, attacker, budget, count, None if released is None else load(released), seed)
