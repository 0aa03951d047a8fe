"""`verify`: what anyone can check of a bundle without the secret: digests, schema, and the certificate anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile import columns as c
from gridveil.casefile import read
from gridveil.casefile.profile import read_profile
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError, RepairFailed
from gridveil.exchange.types import Certificate, Check, Fidelity, PublicFacts, Snapshot
from gridveil.grid import operating_point
from gridveil.grid.profile import Profile, base_profile
from gridveil.publish import bundle
from gridveil.publish.foreign import foreign_certificate, foreign_files, foreign_manifest
from gridveil.publish.manifest import COST, LOSSES, SCHEMA, UNUSED_COST, schema_faults
from gridveil.repair.certify import certify, report_unused
from gridveil.repair.repair import promised


def verify(directory: Path | str) -> Certificate:
    """Every check of a bundle; it stands if all of them pass."""
    folder = Path(directory)
    record, stored = _load(folder, bundle.MANIFEST), _load(folder, bundle.CERTIFICATE)
    checks = [_count("faults of the manifest against its schema", schema_faults(record, SCHEMA))]
    if not checks[0].passed:
        return Certificate(tuple(checks))
    checks.append(_count("files or digests that are not the manifest's", foreign_files(folder, record)))
    case = read(_file(folder, bundle.NETWORK))
    grid, lines = to_network(case)
    profile = read_profile(folder / bundle.PROFILE, grid) if record["horizon"] else base_profile(grid)
    foreign = foreign_manifest(case, grid, record, profile)
    promise = record["fidelity"]
    fidelity = Fidelity(promise["beta"], promise["bound_factor"], promise["loss_within"])
    inputs = {one["name"]: one for one in record["public_inputs"]}
    if not foreign:
        try:
            promised(_facts(inputs, profile), fidelity)
        except RepairFailed as fault:
            foreign = [str(fault)]
    checks.append(_count("things that no release has", foreign))
    if foreign:
        return Certificate(tuple(checks))
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
    facts = _facts(inputs, profile)
    alone = tuple(number - 1 for number in record["unprotected_lines"])
    written = (point, *[None] * (len(facts.snapshots) - 1))
    certified = certify(grid, lines, written, facts, fidelity, alone)
    others = inputs.get(UNUSED_COST, {"steps": [], "value": []})
    costs = dict(zip(others["steps"], others["value"], strict=True))
    certified = replace(certified, unused=report_unused(grid, lines, profile, inputs[COST]["steps"], costs))
    checks.append(_count("faults of the stored certificate", foreign_certificate(stored, certified)))
    return Certificate((*checks, *certified.checks), certified.unused)


def _facts(inputs: Mapping[str, Any], profile: Profile) -> PublicFacts:
    costs, losses = inputs[COST], inputs.get(LOSSES)
    snapshots = []
    for step, cost in zip(costs["steps"], costs["value"], strict=True):
        index = step - int(profile.step[0])
        snapshots.append(Snapshot(profile.pd[index], profile.qd[index], cost, step))
    return PublicFacts(tuple(snapshots), costs["source"], costs["digits"], tuple(losses["value"]) if losses else None)


def _load(folder: Path, name: str) -> dict[str, Any]:
    try:
        value = json.loads(_file(folder, name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ReleaseError(f"{folder / name} cannot be read ({error}); is {folder} a release?") from error
    if not isinstance(value, dict):
        raise ReleaseError(f"{folder / name} is not a JSON object; is {folder} a release?")
    return value


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ReleaseError(f"{path} is missing; is {folder} a release?")
    return path


def _count(name: str, faults: list[str]) -> Check:
    shown = f"{name}: {'; '.join(faults[:3])}" if faults else name
    return Check(shown, float(len(faults)), 0.0, not faults)
