"""`compare_steps`: how a release does at every step of its horizon, against the original network. INTERNAL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gridveil.casefile import Case
from gridveil.casefile.profile import read_csv_bytes
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError
from gridveil.formats.find import load
from gridveil.grid import Network
from gridveil.grid.profile import base_profile
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.publish import bundle
from gridveil.publish.archive import read_bundle
from gridveil.publish.manifest import read_manifest
from gridveil.shown import as_card


@dataclass(frozen=True)
class StepComparison:
    """The original and the released network at one step, by `gv.compare_steps`. INTERNAL.

    Attributes:
        step: Its number.
        used: Whether the bundle promises something of it.
        status: How the solves ended.
        true_cost: Of the original.
        released_cost: Of the released network.
        away: How far it is away, relatively; None unless both are solved.

    Examples:
        >>> gv.StepComparison(1, True, "optimal", 100.0, 101.0, 0.01).away
        0.01
    """

    step: int
    used: bool
    status: str
    true_cost: float
    released_cost: float
    away: float | None

    _repr_html_ = as_card

    def __repr__(self) -> str:
        return f"StepComparison(step {self.step}, {'used' if self.used else 'unused'}, {self.status}; INTERNAL)"


def compare_steps(original: str | Path | Case | Network, path: Path | str) -> tuple[StepComparison, ...]:
    """Solve the original and the released network at every step of a bundle that `verify` accepts. INTERNAL.

    Args:
        original: The true network.
        path: The bundle: a directory or a .zip.

    Returns:
        A row per step, with both costs and how far they are apart; `used` says where the bundle promises something.

    Raises:
        ReleaseError: The bundle cannot be read, or was made of another network.

    Examples:
        >>> from tempfile import mkdtemp
        >>> day = gv.make_profile("case14_ieee", 3, "sine", low=0.8, high=1.0)
        >>> plan = gv.Plan(epsilon=1.0, alpha="10%", beta="1%", steps=2)
        >>> made = gv.release(gv.seal("case14_ieee"), plan, noise=gv.SeededNoise(1), profile=day)
        >>> [(one.step, one.used) for one in gv.compare_steps("case14_ieee", made.write(mkdtemp() + "/day"))]
        [(1, True), (2, False), (3, True)]
    """
    path, original = Path(path), load(original)
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
