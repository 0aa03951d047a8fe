"""`compare_steps`: how a release does at every step of its horizon, against the original network. INTERNAL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gridveil.casefile.profile import read_csv_bytes
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.grid.profile import base_profile
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.publish import bundle
from gridveil.publish.archive import read_bundle
from gridveil.publish.manifest import read_manifest


@dataclass(frozen=True)
class StepComparison:
    """Optimal cost of the original and of the released network at one step; `away` is relative, `None` without both."""

    step: int
    used: bool
    status: str
    true_cost: float
    released_cost: float
    away: float | None


def compare_steps(original: Network, path: Path | str) -> tuple[StepComparison, ...]:
    """Solve both networks at every step of a bundle that `verify` accepts."""
    path = Path(path)
    files = read_bundle(path).files
    released = to_network(read_bytes(path / bundle.NETWORK, files[bundle.NETWORK]))
    if released.grid.buses.number.tolist() != original.grid.buses.number.tolist():
        raise ReleaseError(f"{path} was not released from this network: it has other buses")
    horizon, profile = read_manifest(files[bundle.MANIFEST]).horizon, base_profile(released.grid)
    if horizon is not None:
        profile = read_csv_bytes(path / bundle.PROFILE, files[bundle.PROFILE], released.grid)
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
