"""`verify`: what anyone can check of a bundle without the secret: digests, schema, and the certificate anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile import Case, read
from gridveil.casefile import columns as c
from gridveil.casefile.profile import read_profile
from gridveil.casefile.to_network import to_network
from gridveil.errors import GridVeilError, ReleaseError
from gridveil.exchange.types import Certificate, Check, Fidelity, PublicFacts, Snapshot
from gridveil.grid import PublicGrid, operating_point
from gridveil.grid.profile import Profile, base_profile
from gridveil.publish import bundle
from gridveil.publish.manifest import COST, LOSSES, SCHEMA, UNUSED_COST, schema_faults
from gridveil.repair.certify import certify, report_unused


def verify(directory: Path | str) -> Certificate:
    """Every check of a bundle; it stands if all of them pass."""
    folder = Path(directory)
    record, stored = _load(folder, bundle.MANIFEST), _load(folder, bundle.CERTIFICATE)
    checks = [_count("faults of the manifest against its schema", schema_faults(record, SCHEMA))]
    if not checks[0].passed:
        return Certificate(tuple(checks))
    names = (bundle.NETWORK, bundle.CERTIFICATE, *((bundle.PROFILE,) if record["horizon"] else ()))
    if (folder / bundle.REPORT).exists():
        names = (*names, bundle.REPORT)
    stated = {name: digest for name, digest in record["sha256"].items() if name not in names}
    wrong = [name for name in names if record["sha256"].get(name) != bundle.digest(_file(folder, name))]
    wrong += [
        name for name, digest in stated.items()
        if Path(name).name != name or digest != bundle.digest(_file(folder, name))
    ]  # fmt: skip
    checks.append(_count("files whose digest is not the manifest's", wrong))
    checks.append(_count("failed checks in the stored certificate", _failed(stored)))
    case = read(_file(folder, bundle.NETWORK))
    grid, lines = to_network(case)
    profile = read_profile(folder / bundle.PROFILE, grid) if record["horizon"] else base_profile(grid)
    inputs = {one["name"]: one for one in record["public_inputs"]}
    foreign = _foreign(case, grid, record, inputs, profile)
    checks.append(_count("things that no release has", foreign))
    if foreign:
        return Certificate(tuple(checks))
    facts = _facts(inputs, profile)
    fidelity = Fidelity(
        record["fidelity"]["beta"], record["fidelity"]["bound_factor"], record["fidelity"]["loss_within"]
    )
    base = case.base_mva
    point = operating_point(
        grid,
        lines,
        case.bus[:, c.VM],
        np.deg2rad(case.bus[:, c.VA]),
        case.gen[:, c.PG] / base,
        case.gen[:, c.QG] / base,
    )
    flows = np.stack([point.pf, point.qf, point.pt, point.qt], axis=1) * base
    wrong_flows = float(np.max(np.abs(case.branch[:, 13:17] - flows), initial=0.0)) / base
    checks.append(Check("written flows against recomputed ones (p.u.)", wrong_flows, 1e-6, wrong_flows <= 1e-6))
    alone = tuple(number - 1 for number in record["unprotected_lines"])
    written = (point, *[None] * (len(facts.snapshots) - 1))
    certified = certify(grid, lines, written, facts, fidelity, alone)
    others = inputs.get(UNUSED_COST, {"steps": [], "value": []})
    costs = dict(zip(others["steps"], others["value"], strict=True))
    unused = report_unused(grid, lines, profile, inputs[COST]["steps"], costs)
    return Certificate((*checks, *certified.checks), unused)


def _facts(inputs: Mapping[str, Any], profile: Profile) -> PublicFacts:
    costs, losses = inputs[COST], inputs.get(LOSSES)
    snapshots = []
    for step, cost in zip(costs["steps"], costs["value"], strict=True):
        index = step - int(profile.step[0])
        snapshots.append(Snapshot(profile.pd[index], profile.qd[index], cost, step))
    return PublicFacts(tuple(snapshots), costs["source"], costs["digits"], tuple(losses["value"]) if losses else None)


def _foreign(
    case: Case, grid: PublicGrid, record: dict[str, Any], inputs: Mapping[str, Any], profile: Profile
) -> list[str]:
    """What of a bundle cannot have been written by this program, so that the rest cannot be recomputed from it."""
    faults = []
    if (len(case.bus), len(case.gen)) != (grid.n_bus, grid.n_generator) or case.branch.shape != (grid.n_line, 17):
        faults.append("elements out of service or other columns in released.m")
    given = list(inputs.values())
    if COST not in inputs or any(len(one["value"]) != len(one["steps"]) or not all(one["value"]) for one in given):
        faults.append("public inputs without a value")
    if not all(set(one["steps"]) <= set(profile.step.tolist()) for one in given):
        faults.append("public inputs of steps that the profile does not have")
    if not all(1 <= number <= grid.n_line for number in record["unprotected_lines"]):
        faults.append("unprotected lines that the network does not have")
    if not 0 < record["fidelity"]["beta"] < 1:
        faults.append("a beta that promises nothing")
    if not faults:
        faults += _foreign_steps(grid, record["horizon"], inputs, profile)
    return faults


def _foreign_steps(
    grid: PublicGrid, horizon: dict[str, Any] | None, inputs: Mapping[str, Any], profile: Profile
) -> list[str]:
    """The manifest's horizon must be that of profile.csv, and released.m must show the step it says."""
    used = inputs[COST]["steps"]
    if not used or (LOSSES in inputs and inputs[LOSSES]["steps"] != used):
        return ["public inputs without a step"]
    index = used[0] - int(profile.step[0])
    if not np.allclose([grid.buses.pd, grid.buses.qd], [profile.pd[index], profile.qd[index]], rtol=1e-9, atol=1e-12):
        return ["loads in released.m that are not those of its step"]
    stated = horizon and (horizon["first"], horizon["steps"], horizon["used"], horizon["step_in_network_file"])
    if stated and stated != (int(profile.step[0]), len(profile), used, used[0]):
        return ["a horizon that is not that of profile.csv"]
    return []


def _load(folder: Path, name: str) -> dict[str, Any]:
    try:
        value = json.loads(_file(folder, name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{folder / name} cannot be read ({error}); is {folder} a release?") from error
    if not isinstance(value, dict):
        raise ReleaseError(f"{folder / name} is not a JSON object; is {folder} a release?")
    return value


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ReleaseError(f"{path} is missing; is {folder} a release?")
    return path


def _failed(stored: dict[str, Any]) -> list[str]:
    try:
        return list(bundle.read_certificate(stored).failed)
    except (GridVeilError, KeyError, TypeError) as error:
        return [f"unreadable: {error}"]


def _count(name: str, faults: list[str]) -> Check:
    shown = f"{name}: {'; '.join(faults[:3])}" if faults else name
    return Check(shown, float(len(faults)), 0.0, not faults)
