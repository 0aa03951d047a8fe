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
from dataclasses import replace
from math import isclose
from pathlib import Path

import numpy as np

from gridveil.casefile import Case
from gridveil.check.finding import FALSE_ALARM, Finding, extremes, size
from gridveil.check.redraw import redraw, redraw_joint
from gridveil.check.remade import facts_of_original, made_again, public_side
from gridveil.check.verdict import Verdict
from gridveil.check.verify import Page, verify_contents
from gridveil.errors import GridVeilError, LedgerError, ReleaseError, unforeseen
from gridveil.privacy.chain import Entry
from gridveil.privacy.composition import Assets
from gridveil.privacy.history import History, charge_of
from gridveil.privacy.ledger import Ledger, Receipt
from gridveil.publish.archive import Contents, read_bundle
from gridveil.publish.describe import scrubbed
from gridveil.publish.elements import LINES_ALONE, SameAs, assets
from gridveil.publish.kept import KeptDraw, recorded_plan
from gridveil.publish.manifest import Manifest, invented_cost, protection_of, room, shape_public, totals_part
from gridveil.publish.plan import Plan
from gridveil.publish.record import earlier_conditions, spent_parts, total_spent, within_records
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.shares import on_public_shares
from gridveil.sealed.split import Sealed, split
from gridveil.wall.codec import unpack
from gridveil.wall.facts import Fact
from gridveil.wall.mechanisms import COST, JOINT, TOTALS
from gridveil.wall.protection import Group, Protection

DRAWN = "drawn from this original"
GOES_ON = "all that is needed for the rest"


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
    contents: Contents, record: Manifest, ledger: Ledger, network: Sealed, same_as: SameAs | None
) -> Iterator[Finding]:
    history = ledger.history()
    by_number = {entry.number: entry for entry in history.of("charge")}
    charges = [by_number[number] for number in record.privacy.ledger_entries if number in by_number]
    if len(charges) != len(record.privacy.ledger_entries) or not charges:
        yield Finding("charged as stated", False, "the ledger has no such entries")
        return
    protection = protection_of(record) or LINES_ALONE
    own = assets(ledger, network.name, network.structure, same_as, protection)
    if "groups" not in charges[0].details:  # an earlier version counted assets as a whole, at the least α
        own = replace(own, groups=())
    yield from _charged(record, history, charges, own, network)
    everything = assets(ledger, network.name, network.structure, same_as)
    yield _totals(record, history, charges, own, everything)
    yield _ended(history, charges[0])
    kept, totals, answer = _drawn(ledger, history, charges)
    plan = recorded_plan(kept.plan)
    yield _planned(record, plan, kept.profile)
    if len(kept.noisy.group) != network.structure.n_line:
        yield Finding(DRAWN, False, "its lines are not those of the draw")
        return
    network = on_public_shares(network, plan.protection)
    yield from _noise(record, network, kept, plan)
    public = public_side(contents, record, network, kept, totals)
    yield from facts_of_original(record, public, network, kept, totals, answer)
    yield made_again(contents, record, public, answer)


def _charged(
    record: Manifest, history: History, charges: Sequence[Entry], assets: Assets, network: Sealed
) -> Iterator[Finding]:
    """Are the charges those that the manifest states, what the mechanism loses, and for this network?"""
    privacy, lines, cost = record.privacy, record.privacy.parts.lines, record.privacy.parts.cost
    parts = [(record.mechanism.name, lines), (TOTALS, totals_part(privacy.parts)), (COST, cost)]
    stated = [(one.loss, one.reach, one.unit, name) for name, one in parts if one is not None and one.asked]
    same = [tuple(charge_of(entry))[:4] for entry in charges] == stated
    alphas = (protection_of(record) or Protection({Group.LINES: lines.reach})).alpha
    for entry in charges if "groups" in charges[0].details else ():
        charge = charge_of(entry)
        same &= charge.groups == (alphas if entry is charges[0] else dict.fromkeys(alphas, charge.alpha))
    yield Finding("charged as stated", same, f"entries {', '.join(str(entry.number) for entry in charges)}")
    joint, charged = record.mechanism.name == JOINT, charge_of(charges[0]).loss
    loss = lines.epsilon if joint else mechanism(record.mechanism.name).loss(network, lines.epsilon)
    yield Finding(
        "charged what the mechanism loses", isclose(loss, charged, rel_tol=1e-9), f"{charged:.6g} for {loss:.6g}"
    )
    head = charges[0].hash == privacy.ledger_head
    yield Finding("the ledger's head at that entry", head, "as stated" if head else "another one")
    own = all(sorted(history.networks[one.details["network"]].keys) == sorted(assets.keys) for one in charges)
    whose, many = ("elements", "elements") if joint else ("lines", "corridors")
    yield Finding(f"charged to the {whose} of this original", own, f"{len(assets.keys)} {many}")


def _totals(
    record: Manifest, history: History, charges: Sequence[Entry], assets: Assets, everything: Assets
) -> Finding:
    """Is what the network had spent, up to where, of which limit and on which conditions, as the ledger has it?"""
    privacy, receipts = record.privacy, [_receipt(history, entry, assets, everything) for entry in charges]
    last = receipts[-1]
    wrong = []
    if not isclose(privacy.cumulative_loss or 0.0, total_spent(last, record.mechanism.name), rel_tol=1e-9):
        wrong.append("cumulative_loss")
    if privacy.cumulative_within != within_records(last.within):
        wrong.append("cumulative_within")
    if privacy.limit != last.limit:
        wrong.append("limit")
    protection = protection_of(record) or LINES_ALONE
    if privacy.given_before != earlier_conditions(receipts, protection):
        wrong.append("given_before")
    answer = f"others by the ledger: {', '.join(wrong)}" if wrong else f"{last.cumulative:.6g} spent up to this release"
    return Finding("totals of the ledger", not wrong, answer)


def _ended(history: History, charge: Entry) -> Finding:
    """Did the release that was charged end as one?"""
    ends = [one.details for one in history.of("outcome") if one.details["charge"] == charge.number]
    said = ", ".join(str(one["outcome"]) for one in ends) or "no end is known"
    return Finding("ended as a release", all(one["outcome"] == "released" for one in ends), said)


def _receipt(history: History, entry: Entry, assets: Assets, everything: Assets) -> Receipt:
    """What the ledger must have answered to a charge, by all that it had before."""
    before, charge = History([one for one in history.entries if one.number < entry.number]), charge_of(entry)
    spent = before.accounts(assets, [charge])
    return Receipt(
        entry.number,
        entry.hash,
        charge.loss,
        spent.largest,
        spent.within,
        spent.largest_limit,
        before.earlier(everything),
    )


def _drawn(
    ledger: Ledger, history: History, charges: Sequence[Entry]
) -> tuple[KeptDraw, tuple[Fact, ...], Fact | None]:
    """What the ledger kept of the draws: the numbers, totals, and the answer about the cost."""
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
    by_name = {entry.details["mechanism"]: ledger.paper(papers[entry.number]) for entry in charges[1:]}
    totals = unpack(by_name[TOTALS], tuple[Fact, ...]) if TOTALS in by_name else ()
    answer = unpack(by_name[COST], Fact) if COST in by_name else None
    return unpack(ledger.paper(papers[charges[0].number]), KeptDraw), totals, answer


def _planned(record: Manifest, plan: Plan, profile: bool) -> Finding:
    """Is the plan that the draw was made by the one that the manifest states?"""
    privacy, promise, cost = record.privacy, record.fidelity, record.privacy.parts.cost
    parts = spent_parts(plan, privacy.parts.lines.loss or 0.0, asked=cost is not None and cost.asked)
    pairs = {
        "epsilon": (plan.epsilon, privacy.epsilon),
        "alpha": (plan.reach, privacy.alpha),
        "protection": (plan.protection if plan.joint else None, protection_of(record)),
        "parts of epsilon": (parts, privacy.parts),
        "mechanism": (plan.mechanism, record.mechanism.name),
        "beta": (plan.share, promise.beta),
        "loss_within": (plan.loss_within, promise.loss_within),
        "target": (plan.target, promise.target),
        "attended": (not plan.unattended, record.attended),
        "names": (scrubbed(names_kept=plan.keep_names, ids_kept=plan.keep_ids), record.scrubbed),
        "profile": (profile, record.horizon is not None),
        "invented cost": (plan.invented_cost, invented_cost(record)),
        "room": (plan.room if plan.joint else 0.0, room(record)),
        "public shape": (plan.joint and profile and plan.shape_public, shape_public(record)),
    }
    wrong = [name for name, (planned, stated) in pairs.items() if planned != stated]
    return Finding("drawn by the stated plan", not wrong, f"another {', '.join(wrong)}" if wrong else "the same")


def _noise(record: Manifest, network: Sealed, kept: KeptDraw, plan: Plan) -> Iterator[Finding]:
    """Is the difference of the draw and the original noise of the scale and law that the stated ε and α mean?"""
    from scipy import stats  # noqa: PLC0415 - heavy, and for this command alone

    lines = record.privacy.parts.lines
    if plan.joint:
        found = redraw_joint(network, kept, plan.protection, lines.epsilon)
    else:
        found = redraw(network, kept.noisy, record.mechanism.name, lines.epsilon, lines.reach)
    answer = f"another {', '.join(found.other)}" if found.other else "in all that it says of itself"
    yield Finding("drawn by the stated mechanism", not found.other, answer)
    if not np.all(np.isfinite(found.lines)):
        yield Finding(DRAWN, False, "its signs or twins are not those of the draw")
        return
    yield size(DRAWN, found.lines)
    law = stats.kstest(found.lines, "laplace")
    yield Finding("Laplace noise", float(law.pvalue) >= FALSE_ALARM, f"Kolmogorov-Smirnov p = {float(law.pvalue):.3g}")
    yield extremes(found.lines)
    if found.means.size:
        yield size("noise on the means", found.means)
