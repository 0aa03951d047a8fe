"""What the studies share: one release of a draw, the bare Laplace baseline, and costs of networks.

The paper takes the dispatch cost to be public, and so do its studies: the true cost counts as published, unless a study
has the setting `source`.
"""

from __future__ import annotations

from functools import lru_cache

from gridveil.api.solving import gap
from gridveil.conic.gap import Gap
from gridveil.grid import Network
from gridveil.grid.profile import Profile
from gridveil.nlp.opf import Solution, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import Workshops, release
from gridveil.publish.plan import Plan
from gridveil.publish.release import Release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.study.declare import Settings
from gridveil.wall.draw import NoisyLines
from gridveil.wall.facts import Source
from gridveil.wall.mechanisms import OF_LINES

LAPLACE = "laplace"
SMALL = ("case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
"""The networks of the paper's Table II."""
ALPHAS = (0.001, 0.01, 0.1, 1.0)
EPSILON, BETA = 1.0, 0.01
"""Unless the settings say otherwise."""
RELEASES = tuple(reversed(OF_LINES))
SOURCES = tuple(str(source) for source in Source)


def plan_of(settings: Settings, network: Network, profile: Profile | None = None) -> Plan:
    """The plan of a draw: ε = 1 and β = 1 %, with the true cost as published, unless the settings say otherwise."""
    source = Source(str(settings.get("source", Source.PUBLISHED)))
    return Plan(
        epsilon=float(settings.get("epsilon", EPSILON)),
        alpha=float(settings["alpha"]),
        beta=float(settings.get("beta", BETA)),
        mechanism=str(settings["mechanism"]),
        steps=int(settings["steps"]) if "steps" in settings else None,
        published_cost=_true_costs(network, profile) if source is Source.PUBLISHED else None,
        cost=source,
    )


@lru_cache(maxsize=64)
def _true_costs(network: Network, profile: Profile | None) -> tuple[float, ...]:
    """The true cost of every step; the studies' profiles hold the used steps alone."""
    if profile is None:
        return (true_optimum(network).cost,)
    model, demands = opf_model(network.grid), zip(profile.pd, profile.qd, strict=True)
    return tuple(solve_opf(model, network.lines, Demand(*one)).require().cost for one in demands)


def released(
    network: Network, settings: Settings, seed: int, profile: Profile | None = None, workshop: Workshops = Workshop
) -> Release:
    """One release in research mode; the repair runs in this process, since nothing here is published."""
    plan = plan_of(settings, network, profile)
    return release(split(network), plan, noise=SeededNoise(seed), workshop=workshop, profile=profile)


def drawn(network: Network, settings: Settings, seed: int) -> NoisyLines:
    """The noisy values of a draw, before any repair."""
    method = mechanism(str(settings["mechanism"]))
    return method.perturb(
        split(network), float(settings.get("epsilon", EPSILON)), float(settings["alpha"]), SeededNoise(seed)
    )


def bare(network: Network, settings: Settings, seed: int) -> Network:
    """The network as drawn, unrepaired: the paper's Laplace baseline with `mechanism` laplace."""
    return Network(network.grid, drawn(network, settings, seed).lines)


def optimum(network: Network) -> Solution:
    """The AC-OPF of a network."""
    return solve_opf(opf_model(network.grid), network.lines)


@lru_cache(maxsize=32)
def true_optimum(network: Network) -> Solution:
    """The AC-OPF of the original, solved once per worker."""
    return optimum(network).require()


@lru_cache(maxsize=32)
def true_gap(network: Network) -> Gap:
    """The gaps of the original, solved once per worker."""
    return gap(network)
