"""`make_manifest`: the record of one release, from its plan, facts, repair and receipts."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import ceil, floor, log10
from re import match

from msgspec import UNSET, UnsetType, structs

from gridveil.errors import ReleaseError
from gridveil.grid import Grid
from gridveil.grid.profile import Profile
from gridveil.privacy.chain import Entry
from gridveil.privacy.composition import Within
from gridveil.privacy.ledger import Receipt
from gridveil.privacy.noise import Noise
from gridveil.publish.describe import (
    BY_CLASS,
    BY_PLANT,
    NEEDS_DISPATCH,
    RESEARCH,
    bared,
    given,
    known_conditions,
    needs_dispatch,
    scrubbed,
    statement,
    stays_public,
    unprotected_lines,
)
from gridveil.publish.digests import Digests
from gridveil.publish.manifest import (
    FIRST_DAY,
    FORMAT,
    VERSION,
    FidelityRecord,
    Horizon,
    Manifest,
    MechanismRecord,
    Part,
    Parts,
    Privacy,
    ProtectionRecord,
    RepairRecord,
    Software,
    WithinRecord,
    format_of,
    totals_part,
)
from gridveil.publish.plan import Plan
from gridveil.wall.draw import SIGNIFICANT, Repair
from gridveil.wall.facts import Fact, FactKind, Source, in_order
from gridveil.wall.mechanisms import COST, JOINT, TOTALS, place
from gridveil.wall.protection import Group, Protection


def make_manifest(
    plan: Plan,
    grid: Grid,
    facts: Sequence[Fact],
    result: Repair,
    noise: Noise,
    loss: float,
    receipts: Sequence[Receipt],
    profile: Profile | None,
    checked: int = 0,
) -> Manifest:
    """The record, without publisher, key and digests, which come later. `loss` is that of the lines; `checked` is how
    many unused steps are reported."""
    words, last = plan.words, receipts[-1] if receipts else None
    parts = spent_parts(plan, loss, asked=any(one.kind is FactKind.SURCHARGE for one in facts))
    within = within_records(last.within) if last else []
    before = earlier_conditions(receipts, plan.protection)
    used = [fact.step for fact in facts if fact.kind is FactKind.COST and fact.step is not None]
    record = Manifest(
        format=FORMAT,
        warning=None if noise.private else RESEARCH,
        publisher=None,
        date=today(),
        mechanism=MechanismRecord(words.name, words.version, words.adjacency),  # type: ignore[arg-type]
        privacy=Privacy(
            differentially_private=noise.private,
            epsilon=plan.epsilon,
            alpha=plan.reach,
            alpha_unit=words.unit,  # type: ignore[arg-type]
            loss=total_loss(parts) if noise.private else None,
            parts=parts,
            given=given(facts),
            given_before=before,
            statement=statement(
                parts,
                facts,
                before,
                private=noise.private,
                dispatch=needs_dispatch(plan.source, attended=not plan.unattended),
                joint=plan.joint,
            ),
            cumulative_loss=total_spent(last, words.name) if last else None,
            cumulative_within=within if last else None,
            limit=last.limit if last else None,
            ledger_entries=[one.entry for one in receipts],
            ledger_head=(receipts[0].head or None) if receipts else None,
            noise=noise.description,
        ),
        fidelity=FidelityRecord(
            plan.share, plan.bound_factor * result.widening, plan.loss_within, plan.fidelity.target
        ),
        public_inputs=in_order(facts),
        horizon=None if profile is None else Horizon(int(profile.step[0]), len(profile), used, used[0], checked),
        attended=not plan.unattended,
        not_protected=stays_public(
            words,
            grid,
            plan.source,
            parts,
            [one.mechanism for one in within],
            attended=not plan.unattended,
            protection=plan.protection if plan.joint else None,
            shape_public=plan.shape_public and profile is not None,
        ),
        unprotected_lines=unprotected_lines(words, grid, plan.protection),
        scrubbed=scrubbed(names_kept=plan.keep_names, ids_kept=plan.keep_ids),
        repair=RepairRecord(result.path, result.cuts, SIGNIFICANT),  # type: ignore[arg-type]
        software=_software(),
        public_key=None,
        sha256=Digests(),
        protection=_protection(plan, profile),
        ids_kept=True if plan.keep_ids else UNSET,
        invented_cost=UNSET if plan.invented_cost is None else plan.invented_cost,
    )
    return structs.replace(record, format=format_of(record))


def within_records(found: Sequence[Within]) -> list[WithinRecord]:
    """Up to which change a cumulative loss holds, as a manifest has it."""
    said = [
        WithinRecord(
            one.mechanism,  # type: ignore[arg-type]
            one.alpha,
            one.unit,  # type: ignore[arg-type]
            {group: one.groups[group] for group in Group if group in one.groups} or UNSET,
        )
        for one in found
    ]
    return sorted(said, key=lambda one: place(one.mechanism))


def _protection(plan: Plan, profile: Profile | None) -> ProtectionRecord | UnsetType:
    if not plan.joint:
        return UNSET
    chosen = plan.protection
    return ProtectionRecord(
        dict(chosen.alpha), chosen.ratings, chosen.classes, plan.room, plan.shape_public and profile is not None
    )


def check_clock() -> None:
    """Refuse a clock that nobody would believe, before anything is charged."""
    if datetime.now(UTC).date() < FIRST_DAY:
        raise ReleaseError(f"this machine's clock says {today()}; set it: a release states its day")


def today() -> str:
    """The date of a release, in UTC and no finer: that tells when to look in the ledger, and nothing of the machine."""
    return datetime.now(UTC).date().isoformat()


def conditions(plan: Plan, facts: Sequence[Fact]) -> dict[str, list[str] | bool]:
    """What the ledger has to remember of a release beside its loss: its conditions, and if costs were of classes."""
    words = given(facts)
    if needs_dispatch(plan.source, attended=not plan.unattended):
        words.append(NEEDS_DISPATCH)
    bare = [str(group) for group in Group if group not in plan.protection]
    return {"given": words, "bare": bare, "classes": plan.protection.classes}


def earlier_conditions(receipts: Sequence[Receipt], protection: Protection) -> list[str]:
    """Conditions of earlier releases of the network; and what is protected now that one of them left as it is."""
    own = {one.entry for one in receipts}
    charges = [entry for entry in (receipts[-1].earlier if receipts else ()) if entry.number not in own]
    found = [words for entry in charges for words in entry.details.get("given", [])]
    bare = {group for entry in charges if entry.kind == "charge" for group in _bare(entry)}
    found += [bared(group) for group in Group if group in bare and group in protection]
    return known_conditions([*found, *_other_owners(charges, protection)])


def _other_owners(charges: Sequence[Entry], protection: Protection) -> list[str]:
    """Costs are numbers of plants, or of classes of units: what earlier releases took them for, if not for the same.

    Classes are structure that only releases by class publish. And who changes a class changes all of its plants: in
    releases by plant that is a change of each. Entries of earlier versions do not say, and may be either.
    """
    if Group.COSTS not in protection:
        return []
    drawn = [one for one in charges if one.kind == "charge" and one.details["mechanism"] == JOINT]
    taken = {one.details.get("classes") for one in drawn if Group.COSTS not in _bare(one)}
    return [BY_PLANT if protection.classes else BY_CLASS] if taken - {protection.classes} else []


def _bare(entry: Entry) -> Sequence[str]:
    """Groups that a release left as they are; before they could be chosen, all but lines. Questions left none."""
    if entry.details["mechanism"] in (COST, TOTALS):
        return ()
    stated: Sequence[str] = entry.details.get("bare", [group for group in Group if group is not Group.LINES])
    return stated


def spent_parts(plan: Plan, loss: float, *, asked: bool) -> Parts:
    """The parts of ε, and what is spent of each if the cost is `asked` for."""
    lines = Part(plan.epsilon_lines, plan.reach, plan.words.unit, True, loss)  # type: ignore[arg-type]
    spent = plan.epsilon_cost if asked else None
    cost = Part(plan.epsilon_cost, plan.cost_sensitivity, "surcharge", asked, spent)
    part = plan.epsilon_totals
    totals: Part | UnsetType = Part(part, plan.totals_sensitivity, "total", True, part) if part else UNSET
    return Parts(lines, cost if plan.source is Source.PRIVATE else None, totals)


def total_loss(parts: Parts) -> float:
    """What a release has really spent."""
    found = (parts.lines, parts.cost, totals_part(parts))
    return sum((one.loss or 0.0) for one in found if one is not None)


def total_spent(receipt: Receipt, name: str) -> float:
    """What the network has spent. The loss of `paper` tells max|b/g|, so that releases by others round it up."""
    spent, limit = receipt.cumulative, receipt.limit
    if name == "paper" or all(one.mechanism != "paper" for one in receipt.within):
        return spent
    power = floor(log10(spent)) - 1
    count = ceil(spent / 10.0**power)
    up = next(value for more in (0, 1) if (value := float(f"{count + more}e{power}")) >= spent)
    return up if limit is None else min(up, limit)


@cache
def _software() -> Software:
    names = ("gridveil", "numpy", "scipy", "casadi", "opendp")
    return Software(_public(platform.python_version()), *map(_installed, names))


def _installed(package: str) -> str:
    try:
        return _public(version(package))
    except PackageNotFoundError:
        return "absent"


def _public(text: str) -> str:
    """A version without what its builder added to it."""
    found = match(VERSION, text)
    return found[0] if found else "absent"
