"""`compare_steps`: how a release does at every step of its horizon, against the original network. INTERNAL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gridveil.casefile import read
from gridveil.casefile.profile import read_profile
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.grid.profile import base_profile
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.publish import bundle
from gridveil.publish.manifest import Manifest
from gridveil.wall.codec import from_json


@dataclass(frozen=True)
class StepComparison:
    """Optimal cost of the original and of the released network at one step; `away` is relative, `None` without both."""

    step: int
    used: bool
    status: str
    true_cost: float
    released_cost: float
    away: float | None


def compare_steps(original: Network, directory: Path | str) -> tuple[StepComparison, ...]:
    """Solve both networks at every step of a bundle that `verify` accepts."""
    folder = Path(directory)
    released = to_network(read(folder / bundle.NETWORK))
    if released.grid.buses.number.tolist() != original.grid.buses.number.tolist():
        raise ReleaseError(f"{folder} was not released from this network: it has other buses")
    horizon = from_json((folder / bundle.MANIFEST).read_bytes(), Manifest).horizon
    profile = read_profile(folder / bundle.PROFILE, released.grid) if horizon else base_profile(released.grid)
    used = set(horizon.used) if horizon else {1}
    models, result = [opf_model(original.grid), opf_model(released.grid)], []
    for index, step in enumerate(profile.step.tolist()):
        demand = Demand(profile.pd[index], profile.qd[index])
        true = solve_opf(models[0], original.lines, demand)
        ours = solve_opf(models[1], released.lines, demand)
        solved = true.status is Status.OPTIMAL and ours.status is Status.OPTIMAL
        away = (ours.cost - true.cost) / abs(true.cost) if solved else None
        status = ours.status if true.status is Status.OPTIMAL else true.status
        result.append(StepComparison(step, step in used, str(status), true.cost, ours.cost, away))
    return tuple(result)
