"""`audit`: did a release come from this original, by the draw that the ledger has, with the noise it should? INTERNAL.

For an auditor whom the operator admits to ledger and original. What it shows: the bundle verifies; the manifest's
entries stand in the ledger with the losses, the totals and the head that it states; the plan kept there is the
manifest's; the noisy values kept there differ from this original by noise of the law and the scale that the mechanism
has for the stated ε and α, as far as so many numbers can tell; repaired again, they give this very network and these
public figures. What it cannot show: that nothing was drawn outside the ledger (by another one, or by whoever has its
key), that the noise was not chosen among several, or that the original is the operator's true network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, isclose
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import Case
from gridveil.casefile.profile import read_csv_bytes
from gridveil.check.redraw import redraw
from gridveil.check.verdict import Verdict
from gridveil.check.verify import Page, verify_contents
from gridveil.errors import GridVeilError, LedgerError, ReleaseError, unforeseen
from gridveil.grid.profile import base_profile
from gridveil.privacy.chain import Entry
from gridveil.privacy.composition import Assets, Charge
from gridveil.privacy.history import History
from gridveil.privacy.ledger import Ledger, Receipt
from gridveil.publish import bundle
from gridveil.publish.archive import Contents, read_bundle
from gridveil.publish.behind import Public, network_text, repaired
from gridveil.publish.costs import copper_plates
from gridveil.publish.describe import scrubbed
from gridveil.publish.elements import SameAs, identities
from gridveil.publish.kept import KeptDraw, recorded_plan
from gridveil.publish.manifest import Manifest
from gridveil.publish.plan import Plan
from gridveil.publish.record import earlier_conditions, spent_parts, total_spent
from gridveil.repair.workshop import Workshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import SecretNetwork, split
from gridveil.wall.codec import unpack
from gridveil.wall.draw import NoisyLines
from gridveil.wall.facts import Fact, FactKind, in_order, private_surcharge
from gridveil.wall.mechanisms import COST, place

FALSE_ALARM = 1e-6
"""How often an honest draw is called wrong, for each of the tests of its noise."""
DRAWN = "drawn from this original"
GOES_ON = "all that is needed for the rest"


@dataclass(frozen=True)
class Finding:
    """One question of an audit and its answer."""

    question: str
    passed: bool
    answer: str


def audit(
    path: Path, ledger: Ledger, original: Case, same_as: SameAs | None = None, page: Page | None = None
) -> list[Finding]:
    """Every question; the later ones are left out where an earlier answer leaves them without meaning. `page` makes the
    report of a bundle again."""
    contents = read_bundle(path)
    verdict = verify_contents(contents, page=page)
    if verdict.record is not None and not verdict.record.privacy.differentially_private:
        raise ReleaseError("a research release was charged to no ledger; there is nothing to audit")
    found = [_bundle(verdict)]
    if verdict.record is None:
        return found
    try:
        for one in _answers(contents, verdict.record, ledger, split(original), same_as):
            found.append(one)  # noqa: PERF402 - one by one: an error takes none away
    except GridVeilError as error:
        found.append(Finding(GOES_ON, False, str(error)))
    except Exception as error:  # noqa: BLE001 - a draw that nobody foresaw is an answer, and no reason to stop
        found.append(Finding(GOES_ON, False, f"what the ledger kept is no draw ({unforeseen(error)})"))
    return found


def _bundle(verdict: Verdict) -> Finding:
    """What anyone finds, with a solver too: the certificate is part of the claim."""
    wrong = "; ".join(verdict.failed[:3])
    return Finding("a bundle that verifies", verdict.passed, wrong or verdict.signature.words)


def _answers(
    contents: Contents, record: Manifest, ledger: Ledger, network: SecretNetwork, same_as: SameAs | None
) -> Iterator[Finding]:
    history = ledger.history()
    by_number = {entry.number: entry for entry in history.of("charge")}
    charges = [by_number[number] for number in record.privacy.ledger_entries if number in by_number]
    if len(charges) != len(record.privacy.ledger_entries) or not charges:
        yield Finding("charged as stated", False, "the ledger has no such entries")
        return
    assets = ledger.assets(network.name, identities(network.grid, same_as))
    yield from _charged(record, history, charges, assets, network)
    yield _totals(record, history, charges, assets)
    yield _ended(history, charges[0])
    kept, answer = _drawn(ledger, history, charges)
    plan = recorded_plan(kept.plan)
    yield _planned(record, plan, kept.profile)
    if len(kept.noisy.group) != network.grid.n_line:
        yield Finding(DRAWN, False, "its lines are not those of the draw")
        return
    yield from _noise(record, network, kept.noisy)
    public = _public(contents, record, network, kept)
    yield from _facts(record, public, network, answer)
    yield _made_again(contents, record, public, answer)


def _charged(
    record: Manifest, history: History, charges: Sequence[Entry], assets: Assets, network: SecretNetwork
) -> Iterator[Finding]:
    """Are the charges those that the manifest states, what the mechanism loses, and for this network?"""
    privacy, lines, cost = record.privacy, record.privacy.parts.lines, record.privacy.parts.cost
    parts = [(record.mechanism.name, lines), *([(COST, cost)] if cost is not None and cost.asked else [])]
    stated = [(one.loss, one.reach, one.unit, name) for name, one in parts]
    same = [tuple(_charge(entry)) for entry in charges] == stated
    yield Finding("charged as stated", same, f"entries {', '.join(str(entry.number) for entry in charges)}")
    loss, charged = mechanism(record.mechanism.name).loss(network, lines.epsilon), _charge(charges[0]).loss
    yield Finding(
        "charged what the mechanism loses", isclose(loss, charged, rel_tol=1e-9), f"{charged:.6g} for {loss:.6g}"
    )
    head = charges[0].hash == privacy.ledger_head
    yield Finding("the ledger's head at that entry", head, "as stated" if head else "another one")
    own = all(sorted(history.networks[one.details["network"]].keys) == sorted(assets.keys) for one in charges)
    yield Finding("charged to the lines of this original", own, f"{len(assets.keys)} corridors")


def _charge(entry: Entry) -> Charge:
    said = entry.details
    return Charge(said["loss"], said["alpha"], said["unit"], said["mechanism"])


def _totals(record: Manifest, history: History, charges: Sequence[Entry], assets: Assets) -> Finding:
    """Is what the network had spent, up to where, of which limit and on which conditions, as the ledger has it?"""
    privacy, receipts = record.privacy, [_receipt(history, entry, assets) for entry in charges]
    last = receipts[-1]
    wrong = []
    if not isclose(privacy.cumulative_loss or 0.0, total_spent(last, record.mechanism.name), rel_tol=1e-9):
        wrong.append("cumulative_loss")
    if [(one.mechanism, one.alpha, one.unit) for one in privacy.cumulative_within or []] != sorted(
        last.within, key=lambda one: place(one.mechanism)
    ):
        wrong.append("cumulative_within")
    if privacy.limit != last.limit:
        wrong.append("limit")
    if privacy.given_before != earlier_conditions(receipts):
        wrong.append("given_before")
    answer = f"others by the ledger: {', '.join(wrong)}" if wrong else f"{last.cumulative:.6g} spent up to this release"
    return Finding("totals of the ledger", not wrong, answer)


def _ended(history: History, charge: Entry) -> Finding:
    """Did the release that was charged end as one?"""
    ends = [one.details for one in history.of("outcome") if one.details["charge"] == charge.number]
    said = ", ".join(str(one["outcome"]) for one in ends) or "no end is known"
    return Finding("ended as a release", all(one["outcome"] == "released" for one in ends), said)


def _receipt(history: History, entry: Entry, assets: Assets) -> Receipt:
    """What the ledger must have answered to a charge, by all that it had before."""
    before, charge = History([one for one in history.entries if one.number < entry.number]), _charge(entry)
    spent = before.accounts(assets, [charge])
    return Receipt(
        entry.number, entry.hash, charge.loss, spent.largest, spent.within, spent.largest_limit, before.earlier(assets)
    )


def _drawn(ledger: Ledger, history: History, charges: Sequence[Entry]) -> tuple[KeptDraw, Fact | None]:
    """What the ledger kept of the draws."""
    draws = history.of("draw")
    papers = {entry.details["charge"]: entry for entry in draws}
    for entry in charges:
        if sum(one.details["charge"] == entry.number for one in draws) > 1:
            raise LedgerError(
                f"the ledger has kept several draws for entry {entry.number}, and one is all that it pays"
            )
    missing = [entry.number for entry in charges if entry.number not in papers]
    if missing:
        raise LedgerError(f"the ledger has kept no draw for entry {missing[0]}; this release cannot be audited")
    first, *rest = (ledger.paper(papers[entry.number]) for entry in charges)
    return unpack(first, KeptDraw), unpack(rest[0], Fact) if rest else None


def _planned(record: Manifest, plan: Plan, profile: bool) -> Finding:
    """Is the plan that the draw was made by the one that the manifest states?"""
    privacy, promise, cost = record.privacy, record.fidelity, record.privacy.parts.cost
    parts = spent_parts(plan, privacy.parts.lines.loss or 0.0, asked=cost is not None and cost.asked)
    pairs = {
        "epsilon": (plan.epsilon, privacy.epsilon),
        "alpha": (plan.alpha, privacy.alpha),
        "parts of epsilon": (parts, privacy.parts),
        "mechanism": (plan.mechanism, record.mechanism.name),
        "beta": (plan.share, promise.beta),
        "loss_within": (plan.loss_within, promise.loss_within),
        "target": (plan.target, promise.target),
        "attended": (not plan.unattended, record.attended),
        "names": (scrubbed(names_kept=plan.keep_names), record.scrubbed),
        "profile": (profile, record.horizon is not None),
    }
    wrong = [name for name, (planned, stated) in pairs.items() if planned != stated]
    return Finding("drawn by the stated plan", not wrong, f"another {', '.join(wrong)}" if wrong else "the same")


def _noise(record: Manifest, network: SecretNetwork, noisy: NoisyLines) -> Iterator[Finding]:
    """Is the difference of the draw and the original noise of the scale and law that the stated ε and α mean?"""
    from scipy import stats  # noqa: PLC0415 - heavy, and for this command alone

    lines = record.privacy.parts.lines
    found = redraw(network, noisy, record.mechanism.name, lines.epsilon, lines.reach)
    answer = f"another {', '.join(found.other)}" if found.other else "in all that it says of itself"
    yield Finding("drawn by the stated mechanism", not found.other, answer)
    if not np.all(np.isfinite(found.lines)):
        yield Finding(DRAWN, False, "its signs or twins are not those of the draw")
        return
    yield _size(DRAWN, found.lines)
    law = stats.kstest(found.lines, "laplace")
    yield Finding("Laplace noise", float(law.pvalue) >= FALSE_ALARM, f"Kolmogorov-Smirnov p = {float(law.pvalue):.3g}")
    yield _extremes(found.lines)
    if found.means.size:
        yield _size("noise on the means", found.means)


def _extremes(found: FloatArray) -> Finding:
    """Has every coordinate noise, and none too much of it? Of n Laplace variables one is below t with a chance of n·t
    at most, and one beyond t with n·exp(−t)."""
    sizes = np.abs(found)
    least, most = float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))
    low, high = FALSE_ALARM / (2 * max(len(sizes), 1)), float(np.log(2 * max(len(sizes), 1) / FALSE_ALARM))
    return Finding("noise on every coordinate", low <= least and most <= high, f"from {least:.2g} to {most:.2g} scales")


def _size(question: str, found: FloatArray) -> Finding:
    """Is noise, in units of the scale that it should have, as large as that?"""
    from scipy import stats  # noqa: PLC0415 - heavy, and for this command alone

    # 2·Σ|z| of Laplace noise of scale 1 has a χ² law with 2n degrees of freedom
    count, total = len(found), 2.0 * float(np.abs(found).sum())
    low, high = (float(stats.chi2.ppf(share, 2 * count)) for share in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    interval = [total / float(stats.chi2.ppf(share, 2 * count)) for share in (0.975, 0.025)]
    scale = f"{total / (2 * count):.3g} of the scale of its mechanism (95 %: {interval[0]:.3g} to {interval[1]:.3g})"
    return Finding(question, low <= total <= high, f"{count} numbers with noise of {scale}")


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


def _facts(record: Manifest, public: Public, network: SecretNetwork, answer: Fact | None) -> Iterator[Finding]:
    """Are declared and private figures those of this original?"""
    truth = Truth(network, public.horizon, public.used)
    unused = Truth(network, public.horizon, sorted(set(range(len(public.horizon))) - set(public.used)))
    for kind in (FactKind.COST, FactKind.LOSSES, FactKind.UNUSED_COST):
        stated = [one for one in record.public_inputs if one.kind is kind and one.digits is not None]
        if stated:
            same = stated == list((unused if kind is FactKind.UNUSED_COST else truth).declare(kind))
            yield Finding(f"declared {kind}", same, "those of this original" if same else "others")
    part = record.privacy.parts.cost
    if answer is not None and part is not None:
        lawful = answer == private_surcharge(answer.value, part.epsilon, part.reach)
        plates = copper_plates(network.grid, public.demands)
        away = abs(answer.value - truth.surcharge(plates)) * part.epsilon / part.reach
        chance = min(exp(-away), 1.0 - exp(-away))  # of noise as large as this, or as small
        words = f"{away:.3g} scales (chance {chance:.3g})" + ("" if lawful else ", and it states another law")
        yield Finding("noise on the cost", lawful and chance >= FALSE_ALARM, words)


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
    if network_text(again, result, private=True).encode() != contents.files.get(bundle.NETWORK):
        return Finding(question, False, "it gives another network")
    if in_order(again.facts) != record.public_inputs:
        return Finding(question, False, "it would have other public figures")
    promised = (public.plan.bound_factor * result.widening, result.path, result.cuts)
    if promised != (record.fidelity.bound_factor, record.repair.path, record.repair.cuts):
        return Finding(question, False, "it was repaired otherwise")
    return Finding(question, True, "byte for byte")
