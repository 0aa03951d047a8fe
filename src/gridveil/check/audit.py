"""`audit`: did a release come from this original, by the draw that the ledger has, with the noise it should? INTERNAL.

For an auditor whom the operator admits to ledger and original. What it shows: the manifest's entries stand in the
ledger with the losses and the head that it states; the noisy values that the ledger kept differ from this original by
noise of the stated scale and law, as far as so many numbers can tell; repaired again, they give this very network and
these public figures. What it cannot show: that nothing was drawn outside the ledger (by another one, or by whoever has
its key), that the noise was not chosen among several, or that the original is the operator's true network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import Case
from gridveil.casefile.profile import read_csv_bytes
from gridveil.errors import LedgerError, ReleaseError
from gridveil.grid import LineParameters, PublicGrid
from gridveil.grid.profile import base_profile
from gridveil.privacy.chain import Entry
from gridveil.privacy.ledger import Ledger
from gridveil.publish import bundle
from gridveil.publish.archive import Contents, read_bundle
from gridveil.publish.behind import Public, network_text, repaired
from gridveil.publish.costs import copper_plates
from gridveil.publish.elements import SameAs, identities
from gridveil.publish.kept import KeptDraw, recorded_plan
from gridveil.publish.manifest import Manifest, read_manifest
from gridveil.repair.workshop import Workshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.split import SecretNetwork, split
from gridveil.wall.codec import unpack
from gridveil.wall.coordinates import conductances, encode, log_structure
from gridveil.wall.draw import NoisyLines
from gridveil.wall.facts import Fact, FactKind

FALSE_ALARM = 1e-6
"""How often an honest draw is called wrong, for each of the tests of its noise."""


@dataclass(frozen=True)
class Finding:
    """One question of an audit and its answer."""

    question: str
    passed: bool
    answer: str


def audit(path: Path, ledger: Ledger, original: Case, same_as: SameAs | None = None) -> list[Finding]:
    """Every question; the later ones are left out where an earlier answer leaves them without meaning."""
    contents = read_bundle(path)
    record = read_manifest(contents.files[bundle.MANIFEST])
    if not record.privacy.differentially_private:
        raise ReleaseError("a research release was charged to no ledger; there is nothing to audit")
    network = split(original)
    found, charges = _entries(record, ledger, network, same_as)
    if not charges:
        return found
    kept, answer = _drawn(ledger, charges)
    if not _fits(network.grid, kept.noisy):
        return [*found, Finding("drawn from this original", False, "its lines are not those of the draw")]
    found += _noise(network, kept.noisy)
    public = _public(contents, record, network, kept)
    found += _facts(record, public, network, answer)
    return [*found, _made_again(contents, record, public, answer)]


def _entries(
    record: Manifest, ledger: Ledger, network: SecretNetwork, same_as: SameAs | None
) -> tuple[list[Finding], list[Entry]]:
    """Are the charges that the manifest names in the ledger, for this network, and as it says?"""
    history, privacy = ledger.history(), record.privacy
    by_number = {entry.number: entry for entry in history.of("charge")}
    charges = [by_number[number] for number in privacy.ledger_entries if number in by_number]
    question = "charged as stated"
    if len(charges) != len(privacy.ledger_entries) or not charges:
        return [Finding(question, False, "the ledger has no such entries")], []
    parts = [privacy.parts.lines, *([privacy.parts.cost] if privacy.parts.cost and privacy.parts.cost.asked else [])]
    stated = [(one.loss, one.reach, one.unit) for one in parts]
    wrong = [(entry.details["loss"], entry.details["alpha"], entry.details["unit"]) for entry in charges] != stated
    found = [Finding(question, not wrong, f"entries {', '.join(str(entry.number) for entry in charges)}")]
    head = charges[0].hash == privacy.ledger_head
    found.append(Finding("the ledger's head at that entry", head, "as stated" if head else "another one"))
    charged = history.networks[charges[0].details["network"]]
    own = sorted(ledger.assets(network.name, identities(network.grid, same_as)).keys)
    same = sorted(charged.keys) == own
    found.append(Finding("charged to the lines of this original", same, f"{len(own)} corridors"))
    return found, charges


def _drawn(ledger: Ledger, charges: Sequence[Entry]) -> tuple[KeptDraw, Fact | None]:
    """What the ledger kept of the draws."""
    papers = {entry.details["charge"]: entry for entry in ledger.history().of("draw")}
    missing = [entry.number for entry in charges if entry.number not in papers]
    if missing:
        raise LedgerError(f"the ledger has kept no draw for entry {missing[0]}; this release cannot be audited")
    first, *rest = (ledger.paper(papers[entry.number]) for entry in charges)
    return unpack(first, KeptDraw), unpack(rest[0], Fact) if rest else None


def _fits(grid: PublicGrid, noisy: NoisyLines) -> bool:
    return len(noisy.group) == grid.n_line


def residuals(grid: PublicGrid, lines: LineParameters, noisy: NoisyLines) -> FloatArray | None:
    """(noisy − true)/scale of every protected coordinate; `None` if the two have not the same coordinates."""
    if noisy.relative:
        ours, theirs = log_structure(grid, lines), log_structure(grid, noisy.lines)
        same = all(np.array_equal(a, b) for a, b in zip(ours.sign, theirs.sign, strict=True))
        if not same or not np.array_equal(ours.group, noisy.group):
            return None
        return (encode(theirs, noisy.lines) - encode(ours, lines)) / noisy.scale
    (true, _, _), (drawn, _, _) = (conductances(grid, one, noisy.group) for one in (lines, noisy.lines))
    asked = np.unique(noisy.group[noisy.protected])
    return (drawn[asked] - true[asked]) / noisy.scale


def _noise(network: SecretNetwork, noisy: NoisyLines) -> list[Finding]:
    """Is the difference of the draw and the original noise of the right scale and law?"""
    from scipy import stats  # noqa: PLC0415 - heavy, and for this command alone

    question = "drawn from this original"
    found = residuals(network.grid, network.lines._open(), noisy)
    if found is None or not np.all(np.isfinite(found)):
        return [Finding(question, False, "its signs or twins are not those of the draw")]
    count = len(found)
    # 2·Σ|z| of Laplace noise of scale 1 has a χ² law with 2n degrees of freedom
    total = 2.0 * float(np.abs(found).sum())
    low, high = (float(stats.chi2.ppf(share, 2 * count)) for share in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    interval = [2 * total / (2 * float(stats.chi2.ppf(share, 2 * count))) for share in (0.975, 0.025)]
    scale = f"{total / (2 * count):.3g} of the stated scale (95 %: {interval[0]:.3g} to {interval[1]:.3g})"
    law = stats.kstest(found, "laplace")
    return [
        Finding(question, low <= total <= high, f"{count} numbers with noise of {scale}"),
        Finding("Laplace noise", float(law.pvalue) >= FALSE_ALARM, f"Kolmogorov-Smirnov p = {float(law.pvalue):.3g}"),
    ]


def _public(contents: Contents, record: Manifest, network: SecretNetwork, kept: KeptDraw) -> Public:
    """The public side of the release, as it was before its figures were fused."""
    plan, grid = recorded_plan(kept.plan), network.grid
    profile = None
    if kept.profile:
        profile = read_csv_bytes(contents.path / bundle.PROFILE, contents.files.get(bundle.PROFILE, b""), grid)
    horizon = profile or base_profile(grid)
    names = network.bus_names if plan.keep_names else None
    facts = tuple(one for one in record.public_inputs if one.source.conditional)
    return Public(grid, plan, profile, horizon, plan.used(len(horizon)).tolist(), names, kept.noisy, facts)


def _facts(record: Manifest, public: Public, network: SecretNetwork, answer: Fact | None) -> list[Finding]:
    """Are declared and private figures those of this original?"""
    found, truth = list[Finding](), Truth(network, public.horizon, public.used)
    for kind in (FactKind.COST, FactKind.LOSSES):
        stated = [one for one in record.public_inputs if one.kind is kind and one.digits is not None]
        if stated:
            same = stated == list(truth.declare(kind))
            found.append(Finding(f"declared {kind}", same, "those of this original" if same else "others"))
    if answer is not None and answer.scale is not None:
        plates = copper_plates(network.grid, public.demands)
        away = abs(answer.value - truth.surcharge(plates)) / answer.scale
        chance = exp(-away)
        found.append(Finding("noise on the cost", chance >= FALSE_ALARM, f"{away:.3g} scales (chance {chance:.3g})"))
    return found


def _made_again(contents: Contents, record: Manifest, public: Public, answer: Fact | None) -> Finding:
    """Do the draw and the answer, repaired again, give this network and these figures?"""
    question = "made from this draw"

    def ask() -> Fact:
        if answer is None:
            raise ReleaseError("the noisy lines ask for the cost, which was never charged")
        return answer

    plates = [] if public.plan.source.conditional else copper_plates(public.grid, public.demands)
    shop = Workshop().begin(public.grid, public.noisy, public.plan.fidelity)
    try:
        again, result = repaired(public, shop, plates, ask, lambda stage: None)
    except ReleaseError as failure:
        return Finding(question, False, f"it makes no release: {failure}")
    same = network_text(again, result, private=True).encode() == contents.files.get(bundle.NETWORK)
    if list(again.facts) != record.public_inputs:
        return Finding(question, False, "it would have other public figures")
    return Finding(question, same, "byte for byte" if same else "it gives another network")
