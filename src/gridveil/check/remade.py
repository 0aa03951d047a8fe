"""A release made again from what the ledger kept of its draw: its public side, its figures, its network. INTERNAL."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log

import numpy as np

from gridveil.casefile.profile import read_csv_bytes
from gridveil.check.finding import FALSE_ALARM, Finding, size
from gridveil.errors import ReleaseError
from gridveil.grid.profile import base_profile
from gridveil.publish import bundle
from gridveil.publish.archive import Contents
from gridveil.publish.behind import Public, joint_world, moved_world, network_text, repaired, within_limits
from gridveil.publish.costs import copper_plates
from gridveil.publish.kept import KeptDraw, kept_horizon, recorded_plan
from gridveil.publish.manifest import Manifest, totals_part
from gridveil.repair.workshop import Workshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.split import Sealed
from gridveil.wall.draw import Drawn
from gridveil.wall.facts import Fact, FactKind, Source, in_order, private_surcharge
from gridveil.wall.protection import Group


def public_side(
    contents: Contents, record: Manifest, network: Sealed, kept: KeptDraw, totals: tuple[Fact, ...]
) -> Public:
    """The public side of the release, as it was before its figures were fused."""
    plan, profile = recorded_plan(kept.plan), None
    grid = network.public_grid(plan.protection) if kept.grid is None else kept.grid
    if kept.profile:
        profile = read_csv_bytes(contents.path / bundle.PROFILE, contents.files.get(bundle.PROFILE, b""), grid)
    horizon = profile or base_profile(grid)
    labels = network.labels.kept(names=plan.keep_names, ids=plan.keep_ids)
    used = plan.used(len(horizon)).tolist()
    facts = tuple(one for one in record.public_inputs if one.source.conditional)
    if kept.grid is not None:
        drawn = Drawn(kept.grid, kept.noisy)
        steps = kept_horizon(kept, horizon)
        return joint_world(drawn, plan, facts + totals, steps, used, labels, profile=profile is not None)
    return Public(grid, plan, profile, horizon, used, labels, kept.noisy, facts)


def facts_of_original(
    record: Manifest, public: Public, network: Sealed, kept: KeptDraw, totals: tuple[Fact, ...], answer: Fact | None
) -> Iterator[Finding]:
    """Are declared and private figures those of this original?"""
    horizon = kept_horizon(kept, public.horizon)
    truth = Truth(network, horizon, public.used)
    unused = Truth(network, horizon, sorted(set(range(len(horizon))) - set(public.used)))
    declared = [one for one in record.public_inputs if one.kind.total and one.source is Source.DECLARED]
    if declared:
        same = declared == list(truth.declare_totals([one.kind for one in declared]))
        yield Finding("declared totals", same, "those of this original" if same else "others")
    asked = totals_part(record.privacy.parts)
    if totals and asked is not None:
        true = truth.totals([one.kind for one in totals])
        noise = np.array([log(one.value / value) for one, value in zip(totals, true, strict=True)])
        yield size("noise on totals", noise * asked.epsilon / asked.reach)
    for kind in (FactKind.COST, FactKind.LOSSES, FactKind.UNUSED_COST):
        stated = [one for one in record.public_inputs if one.kind is kind and one.digits is not None]
        if stated:
            same = stated == list((unused if kind is FactKind.UNUSED_COST else truth).declare(kind))
            yield Finding(f"declared {kind}", same, "those of this original" if same else "others")
    part = record.privacy.parts.cost
    if answer is not None and part is not None:
        plan = public.plan
        lawful = answer == private_surcharge(answer.value, part.epsilon, part.reach, plan.lowest)
        own = plan.joint and Group.COSTS not in plan.protection
        plates = None if own else _plates(public)
        away = abs(answer.value - truth.surcharge(plates, plan.lowest)) * part.epsilon / part.reach
        chance = min(exp(-away), 1.0 - exp(-away))  # of noise as large as this, or as small
        words = f"{away:.3g} scales (chance {chance:.3g})" + ("" if lawful else ", and it states another law")
        yield Finding("noise on the cost", lawful and chance >= FALSE_ALARM, words)


def _plates(public: Public) -> list[float]:
    """The copper-plate costs that a surcharge is one over: public, or those of the noisy network."""
    if public.plan.joint:
        return [one.value for one in public.facts if one.kind is FactKind.MERIT and one.step is not None]
    return [] if public.plan.source.conditional else copper_plates(public.grid, public.demands)


def made_again(contents: Contents, record: Manifest, public: Public, answer: Fact | None) -> Finding:
    """Do the draw and the answer, repaired again, give this network and these figures?"""
    question = "made from this draw"

    def ask() -> Fact:
        if answer is None:
            raise ReleaseError("the noisy lines ask for the cost, which was never charged")
        return answer

    plates = _plates(public)
    shop = Workshop().begin(public.grid, public.noisy, public.plan.fidelity)
    try:
        again, result = repaired(public, shop, plates, ask, lambda stage: None)
    except ReleaseError as failure:
        return Finding(question, False, f"it makes no release: {failure}")
    moved = moved_world(again, result)
    text = network_text(moved, within_limits(moved, result), private=True)
    if text.encode() != contents.files.get(bundle.NETWORK):
        return Finding(question, False, "it gives another network")
    if in_order(again.facts) != record.public_inputs:
        return Finding(question, False, "it would have other public figures")
    promised = (public.plan.bound_factor * result.widening, result.path, result.cuts)
    if promised != (record.fidelity.bound_factor, record.repair.path, record.repair.cuts):
        return Finding(question, False, "it was repaired otherwise")
    return Finding(question, True, "byte for byte")
