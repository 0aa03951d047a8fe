"""What the studies share: one release of a draw, the bare Laplace baseline, and costs of networks."""

from __future__ import annotations

from functools import lru_cache

from gridveil.exchange.types import NoisyLines
from gridveil.grid import LineParameters, Network
from gridveil.grid.profile import Profile
from gridveil.nlp.opf import Solution, opf_model, solve_opf
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import Release, Repairer, release
from gridveil.publish.plan import Plan
from gridveil.repair.repair import repair
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.study.declare import Settings

LAPLACE = "laplace"
RELEASES = ("paper", "additive", "log")


def plan_of(settings: Settings) -> Plan:
    """The plan of a draw: ε = 1 and β = 1 % unless the settings say otherwise."""
    return Plan(
        epsilon=float(settings.get("epsilon", 1.0)),
        alpha=float(settings["alpha"]),
        beta=float(settings.get("beta", 0.01)),
        mechanism=str(settings["mechanism"]),
        steps=int(settings["steps"]) if "steps" in settings else None,
    )


def released(
    network: Network, settings: Settings, seed: int, profile: Profile | None = None, repairer: Repairer = repair
) -> Release:
    """One release in research mode; the repair runs in this process, since nothing here is published."""
    return release(split(network), plan_of(settings), noise=SeededNoise(seed), repairer=repairer, profile=profile)


def drawn(network: Network, settings: Settings, seed: int) -> NoisyLines:
    """The noisy values of a draw, before any repair."""
    method = mechanism(str(settings["mechanism"]))
    return method.perturb(
        split(network), float(settings.get("epsilon", 1.0)), float(settings["alpha"]), SeededNoise(seed)
    )


def bare(network: Network, settings: Settings, seed: int) -> Network:
    """The network as drawn, unrepaired: the paper's Laplace baseline with `mechanism` laplace."""
    noisy = drawn(network, settings, seed)
    return Network(network.grid, LineParameters(noisy.g, noisy.b, noisy.bc))


def optimum(network: Network) -> Solution:
    """The AC-OPF of a network."""
    return solve_opf(opf_model(network.grid), network.lines)


@lru_cache(maxsize=32)
def true_optimum(network: Network) -> Solution:
    """The AC-OPF of the original, solved once per worker."""
    return optimum(network).require()
