"""A release in eight steps: read, seal, declare, charge, perturb ═ wall ═ repair, certify, publish."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from gridveil.casefile import read, write
from gridveil.casefile.from_network import from_network
from gridveil.casefile.profile import profile_text
from gridveil.casefile.to_network import to_network
from gridveil.errors import CertificateFailed, ReleaseError, RepairFailed
from gridveil.exchange.types import Certificate, Fidelity, NoisyLines, PublicFacts, Repair
from gridveil.grid import LineParameters, Network, OperatingPoint, PublicGrid
from gridveil.grid.profile import Profile, base_profile
from gridveil.privacy.composition import Charge
from gridveil.privacy.ledger import Ledger, Receipt
from gridveil.privacy.noise import ExactNoise, Noise
from gridveil.publish import bundle
from gridveil.publish.manifest import manifest
from gridveil.publish.plan import Plan
from gridveil.repair.certify import bounds_check, certify, report_unused
from gridveil.repair.child import repair_in_child
from gridveil.sealed.facts import declare_facts
from gridveil.sealed.split import SecretNetwork

Repairer = Callable[[PublicGrid, NoisyLines, PublicFacts, Fidelity], Repair]


@dataclass(frozen=True, eq=False)
class Release:
    """A released network with everything that goes into its bundle; it never holds anything of the input file."""

    network: Network
    points: tuple[OperatingPoint, ...]
    certificate: Certificate
    manifest: dict[str, Any]
    text: str
    receipt: Receipt | None
    profile: Profile | None = None

    @property
    def lines(self) -> LineParameters:
        return self.network.lines

    @property
    def point(self) -> OperatingPoint:
        """The operating point in the network file: that of the first used step."""
        return self.points[0]

    def write(self, directory: Path | str, *, force: bool = False, extra: Mapping[str, str] | None = None) -> Path:
        """Write the bundle: released.m, certificate.json, manifest.json, and profile.csv if it has one.

        `extra` texts by file name go into it too, under the manifest's digests; they must be made from this release
        alone, as `report.html` is.
        """
        target = Path(directory)
        bundle.check_target(target, force=force)
        texts = {
            bundle.NETWORK: self.text,
            bundle.CERTIFICATE: bundle.to_json(bundle.certificate_record(self.certificate)),
        }
        if self.profile is not None:
            texts[bundle.PROFILE] = profile_text(self.network.grid, self.profile)
        for name, text in (extra or {}).items():
            if name in (*texts, bundle.MANIFEST) or Path(name).name != name:
                raise ReleaseError(f"'{name}' cannot be added to a bundle; give another file name")
            texts[name] = text
        with bundle.staged(target) as staging:
            for name, text in texts.items():
                (staging / name).write_text(text, encoding="utf-8")
            digests = {name: bundle.digest(staging / name) for name in texts}
            (staging / bundle.MANIFEST).write_text(
                bundle.to_json({**self.manifest, "sha256": digests}), encoding="utf-8"
            )
        return target


def shape(grid: PublicGrid) -> bytes:
    """What makes a network the same source for the ledger: its buses and their base voltages, in any order.

    Not its lines: one that is out of service for a release must not open a fresh account for all the others.
    """
    return json.dumps(sorted(zip(grid.buses.number.tolist(), grid.buses.base_kv.tolist(), strict=True))).encode()


def release(
    network: SecretNetwork,
    plan: Plan,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
    repairer: Repairer = repair_in_child,
    profile: Profile | None = None,
) -> Release:
    """Make one release. `ledger` is needed unless the noise is seeded, which makes the release not private at all.

    With a `profile` the promises hold at `plan.steps` of its steps. The noise is drawn once: the privacy spent does not
    depend on the profile.
    """
    grid, method = network.grid, plan.method
    plan.check_network(grid)
    noise = noise or ExactNoise()
    horizon = profile or base_profile(grid)
    if horizon.pd.shape[1] != grid.n_bus:
        raise ReleaseError(f"the profile has {horizon.pd.shape[1]} buses, the network {grid.n_bus}; make one for it")
    used = plan.used(len(horizon)).tolist()
    unused = sorted(set(range(len(horizon))) - set(used))
    facts = declare_facts(network, plan.published_costs, horizon, used, losses=plan.loss_within is not None)
    others = declare_facts(network, None, horizon, unused)
    loss = method.loss(network, plan.epsilon)
    receipt = None
    if noise.private:
        ledger = ledger or Ledger.open()
        charge = Charge(loss, float(plan.alpha), method.alpha_unit, method.name)
        receipt = ledger.charge(ledger.fingerprint(shape(grid)), charge, {"epsilon": plan.epsilon})
    noisy = method.perturb(network, plan.epsilon, float(plan.alpha), noise)
    names = network.bus_names if plan.keep_names else None
    public = _Public(grid, noisy, facts, others if plan.declare_unused and unused else None, profile, names)
    # ═══════════════════════════════ wall: nothing below sees the secret ═══════════════════════════════
    return _publish(public, plan, noise, loss, receipt, repairer)


class _Public(NamedTuple):
    """All that the public half of a release starts from."""

    grid: PublicGrid
    noisy: NoisyLines
    facts: PublicFacts
    others: PublicFacts | None
    profile: Profile | None
    names: tuple[str, ...] | None


def _publish(
    public: _Public, plan: Plan, noise: Noise, loss: float, receipt: Receipt | None, repairer: Repairer
) -> Release:
    grid, noisy, facts, others, profile, names = public
    spent = loss if receipt else 0.0
    try:
        result = repairer(grid, noisy, facts, plan.fidelity)
    except RepairFailed as failure:
        raise RepairFailed(f"{failure}. The privacy of this draw is spent all the same: {spent:.6g}", spent) from None
    first = facts.snapshots[0]
    shown = replace(grid, buses=replace(grid.buses, pd=first.pd, qd=first.qd))
    case = from_network("released", shown, result.lines, result.points[0], names)
    with tempfile.TemporaryDirectory(prefix="gridveil.") as folder:
        path = Path(folder) / bundle.NETWORK
        write(case, path, _notes(noise, first.step if profile else None))
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
    if profile is not None:
        used = [one.step for one in facts.snapshots]
        costs = {one.step: one.cost for one in others.snapshots} if others else {}
        certificate = replace(certificate, unused=report_unused(again.grid, again.lines, profile, used, costs))
    record = manifest(plan, grid, facts, result, noise, loss, receipt, profile, others)
    return Release(again, result.points, certificate, record, text, receipt, profile)


def _notes(noise: Noise, step: int | None) -> tuple[str, ...]:
    notes = ["Released by GridVeil: line parameters are not those of the original network; see manifest.json."]
    if step is not None:
        notes.append(f"Loads and operating point are those of step {step} of profile.csv.")
    return tuple(notes) if noise.private else (*notes, noise.description)
