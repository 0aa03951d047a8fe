"""`verify`: what anyone can check of a bundle without the secret: digests, schema, and the certificate anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gridveil.casefile import Case, read
from gridveil.casefile import columns as c
from gridveil.casefile.profile import read_profile
from gridveil.casefile.to_network import to_network
from gridveil.check.consistency import foreign_certificate, foreign_files, foreign_manifest
from gridveil.errors import ReleaseError, RepairFailed
from gridveil.grid import Network, OperatingPoint, operating_point
from gridveil.grid.profile import Profile, base_profile
from gridveil.publish import bundle
from gridveil.publish.manifest import Manifest
from gridveil.repair.certify import certify, report_unused
from gridveil.repair.repair import promised
from gridveil.wall.certificate import Certificate, Check, CheckKind, StoredCertificate, true_cost
from gridveil.wall.codec import from_json
from gridveil.wall.draw import Fidelity, Snapshot
from gridveil.wall.facts import Fact, FactKind


def verify(directory: Path | str) -> Certificate:
    """Every check of a bundle; it stands if all of them pass."""
    folder = Path(directory)
    manifest, stored_text = (_file(folder, name).read_bytes() for name in (bundle.MANIFEST, bundle.CERTIFICATE))
    try:
        record = from_json(manifest, Manifest)
    except ReleaseError as error:
        return Certificate((_count(CheckKind.MANIFEST, [str(error)]),))
    checks = [_count(CheckKind.MANIFEST, []), _count(CheckKind.FILES, foreign_files(folder, record))]
    path = _file(folder, bundle.NETWORK)
    case, text = read(path), path.read_text(encoding="utf-8")
    grid, lines = to_network(case)
    profile = read_profile(folder / bundle.PROFILE, grid) if record.horizon else base_profile(grid)
    promise = record.fidelity
    fidelity = Fidelity(promise.beta, promise.bound_factor, promise.loss_within, promise.target)
    foreign = foreign_manifest(case, text, grid, record, profile)
    snapshots = [] if foreign else _snapshots(record.public_inputs, profile)
    if not foreign:
        try:
            promised(snapshots, fidelity)
        except RepairFailed as fault:
            foreign = [str(fault)]
    checks.append(_count(CheckKind.FOREIGN, foreign))
    if foreign:
        return Certificate(tuple(checks))
    point = _written_point(case, Network(grid, lines))
    checks.append(_flows(case, point))
    alone = tuple(number - 1 for number in record.unprotected_lines)
    certified = certify(grid, lines, (point, *[None] * (len(snapshots) - 1)), snapshots, fidelity, alone)
    costs = {one.step: one.value for one in record.public_inputs if one.kind is FactKind.UNUSED_COST and one.step}
    used = [one.step for one in snapshots]
    unused = report_unused(grid, lines, profile, used, costs)
    certified = replace(certified, unused=unused, truth=true_cost(record.public_inputs))
    try:
        faults = foreign_certificate(from_json(stored_text, StoredCertificate), certified)
    except ReleaseError as error:
        faults = [f"it cannot be read ({error})"]
    checks.append(_count(CheckKind.STORED, faults))
    return replace(certified, checks=(*checks, *certified.checks))


def _snapshots(facts: Sequence[Fact], profile: Profile) -> list[Snapshot]:
    losses = {one.step: one.value for one in facts if one.kind is FactKind.LOSSES}
    result = []
    for one in facts:
        if one.kind is FactKind.COST and one.step is not None:
            index = one.step - int(profile.step[0])
            demand = profile.pd[index], profile.qd[index]
            result.append(Snapshot(*demand, one.value, one.step, one.slack, losses.get(one.step)))
    return result


def _written_point(case: Case, network: Network) -> OperatingPoint:
    base = case.base_mva
    return operating_point(
        network.grid,
        network.lines,
        case.bus[:, c.VM],
        np.deg2rad(case.bus[:, c.VA]),
        case.gen[:, c.PG] / base,
        case.gen[:, c.QG] / base,
    )


def _flows(case: Case, point: OperatingPoint) -> Check:
    flows = np.stack([point.pf, point.qf, point.pt, point.qt], axis=1) * case.base_mva
    wrong = float(np.max(np.abs(case.branch[:, 13:17] - flows), initial=0.0)) / case.base_mva
    return Check(CheckKind.FLOWS, wrong, 1e-6, wrong <= 1e-6)


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ReleaseError(f"{path} is missing; is {folder} a release?")
    return path


def _count(kind: CheckKind, faults: list[str]) -> Check:
    return Check(kind, float(len(faults)), 0.0, not faults, detail="; ".join(faults[:3]))
