"""A release in eight steps: read, seal, declare, charge, perturb ═ wall ═ repair, certify, publish."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridveil.casefile import read, write
from gridveil.casefile.from_network import from_network
from gridveil.casefile.to_network import to_network
from gridveil.errors import CertificateFailed, RepairFailed
from gridveil.exchange.types import Certificate, Fidelity, NoisyLines, PublicFacts, Repair
from gridveil.grid import LineParameters, Network, OperatingPoint, PublicGrid
from gridveil.privacy.ledger import Ledger, Receipt
from gridveil.privacy.noise import ExactNoise, Noise
from gridveil.publish import bundle
from gridveil.publish.manifest import manifest
from gridveil.publish.plan import Plan
from gridveil.repair.certify import bounds_check, certify
from gridveil.repair.child import repair_in_child
from gridveil.sealed.facts import declare_facts
from gridveil.sealed.split import SecretNetwork

Repairer = Callable[[PublicGrid, NoisyLines, PublicFacts, Fidelity], Repair]


@dataclass(frozen=True, eq=False)
class Release:
    """A released network with everything that goes into its bundle; it never holds anything of the input file."""

    network: Network
    point: OperatingPoint
    certificate: Certificate
    manifest: dict[str, Any]
    text: str
    receipt: Receipt | None

    @property
    def lines(self) -> LineParameters:
        return self.network.lines

    def write(self, directory: Path | str, *, force: bool = False) -> Path:
        """Write the bundle: released.m, certificate.json, manifest.json."""
        target = Path(directory)
        bundle.check_target(target, force=force)
        with bundle.staged(target) as staging:
            (staging / bundle.NETWORK).write_text(self.text, encoding="utf-8")
            (staging / bundle.CERTIFICATE).write_text(
                bundle.to_json(bundle.certificate_record(self.certificate)), encoding="utf-8"
            )
            digests = {name: bundle.digest(staging / name) for name in (bundle.NETWORK, bundle.CERTIFICATE)}
            (staging / bundle.MANIFEST).write_text(
                bundle.to_json({**self.manifest, "sha256": digests}), encoding="utf-8"
            )
        return target


def shape(grid: PublicGrid) -> bytes:
    """What makes a network the same source for the ledger: its buses and what its lines join, in any order."""
    number = grid.buses.number
    ends = sorted(
        (int(min(a, b)), int(max(a, b)))
        for a, b in zip(number[grid.lines.bus_from], number[grid.lines.bus_to], strict=True)
    )
    return json.dumps([sorted(number.tolist()), ends]).encode()


def release(
    network: SecretNetwork,
    plan: Plan,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
    repairer: Repairer = repair_in_child,
) -> Release:
    """Make one release. `ledger` is needed unless the noise is seeded, which makes the release not private at all."""
    grid, method = network.grid, plan.method
    plan.check_network(grid)
    noise = noise or ExactNoise()
    facts = declare_facts(network, plan.published_cost, losses=plan.loss_within is not None)
    loss = method.loss(network, plan.epsilon)
    receipt = None
    if noise.private:
        ledger = ledger or Ledger.open()
        details = {"mechanism": method.name, "epsilon": plan.epsilon, "alpha": plan.alpha, "unit": method.alpha_unit}
        receipt = ledger.charge(ledger.fingerprint(shape(grid)), loss, details)
    noisy = method.perturb(network, plan.epsilon, float(plan.alpha), noise)
    # ═══════════════════════════════ wall: nothing below sees the secret ═══════════════════════════════
    names = network.bus_names if plan.keep_names else None
    return _publish(grid, noisy, facts, plan, noise, loss, receipt, names, repairer)


def _publish(
    grid: PublicGrid,
    noisy: NoisyLines,
    facts: PublicFacts,
    plan: Plan,
    noise: Noise,
    loss: float,
    receipt: Receipt | None,
    names: tuple[str, ...] | None,
    repairer: Repairer,
) -> Release:
    spent = loss if receipt else 0.0
    try:
        result = repairer(grid, noisy, facts, plan.fidelity)
    except RepairFailed as failure:
        raise RepairFailed(f"{failure}. The privacy of this draw is spent all the same: {spent:.6g}", spent) from None
    case = from_network("released", grid, result.lines, result.points[0], names)
    with tempfile.TemporaryDirectory(prefix="gridveil.") as folder:
        path = Path(folder) / bundle.NETWORK
        write(case, path, _notes(noise))
        text = path.read_text(encoding="utf-8")
        again = to_network(read(path))
    alone = tuple((~noisy.protected).nonzero()[0].tolist())
    certificate = certify(again.grid, again.lines, result.points, facts, plan.fidelity, alone, from_written=True)
    in_bounds = bounds_check(again.grid, again.lines, noisy, plan.bound_factor * result.widening)
    certificate = replace(certificate, checks=(*certificate.checks, in_bounds))
    if not certificate.passed:
        raise CertificateFailed(
            f"the repaired network fails its own certificate ({', '.join(certificate.failed)}) and is not released; "
            f"the privacy of this draw is spent all the same: {spent:.6g}",
            certificate.failed, spent,
        )  # fmt: skip
    record = manifest(plan, grid, facts, result, noise, loss, receipt)
    return Release(again, result.points[0], certificate, record, text, receipt)


def _notes(noise: Noise) -> tuple[str, ...]:
    head = "Released by GridVeil: line parameters are not those of the original network; see manifest.json."
    return (head,) if noise.private else (head, noise.description)
