"""`verify`: what anyone can check of a bundle without the secret: digests, schema, and the certificate anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile import columns as c
from gridveil.casefile import read
from gridveil.casefile.to_network import to_network
from gridveil.errors import GridVeilError, ReleaseError
from gridveil.exchange.types import Certificate, Check, Fidelity, PublicFacts, Snapshot
from gridveil.grid import operating_point
from gridveil.publish import bundle
from gridveil.publish.manifest import SCHEMA, schema_faults
from gridveil.repair.certify import certify


def verify(directory: Path | str) -> Certificate:
    """Every check of a bundle; it stands if all of them pass."""
    folder = Path(directory)
    record, stored = _load(folder, bundle.MANIFEST), _load(folder, bundle.CERTIFICATE)
    checks = [_count("faults of the manifest against its schema", schema_faults(record, SCHEMA))]
    if not checks[0].passed:
        return Certificate(tuple(checks))
    names = (bundle.NETWORK, bundle.CERTIFICATE)
    wrong = [name for name in names if record["sha256"].get(name) != bundle.digest(_file(folder, name))]
    checks.append(_count("files whose digest is not the manifest's", wrong))
    checks.append(_count("failed checks in the stored certificate", _failed(stored)))
    case = read(_file(folder, bundle.NETWORK))
    grid, lines = to_network(case)
    costs = record["public_inputs"][0]
    losses = next((tuple(one["value"]) for one in record["public_inputs"][1:] if "losses" in one["name"]), None)
    facts = PublicFacts(
        (Snapshot(grid.buses.pd, grid.buses.qd, costs["value"][0]),), costs["source"], costs["digits"], losses
    )
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
    return Certificate((*checks, *certify(grid, lines, (point,), facts, fidelity, alone).checks))


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
