"""What of a bundle no release has: contradictions that would make `verify` recompute the wrong thing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from math import isclose, log

import numpy as np

from gridveil.check.groups import (
    close,
    counted_at,
    facts_of,
    foreign_protection,
    foreign_reaches,
    foreign_totals,
    lowest_surcharge,
    moves_apart,
    possible_total,
)
from gridveil.errors import GridError
from gridveil.grid import Grid
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.grid.profile import Profile, equally_spaced
from gridveil.publish.describe import (
    RESEARCH,
    given,
    known_conditions,
    needs_dispatch,
    noise_words,
    scrubbed,
    statement,
    stays_public,
    unprotected_lines,
)
from gridveil.publish.manifest import (
    FIRST_DAY,
    Manifest,
    Privacy,
    format_of,
    ids_kept,
    protection_of,
    shape_public,
    totals_part,
)
from gridveil.wall.draw import SIGNIFICANT
from gridveil.wall.facts import (
    FARTHEST,
    LOWEST_TARGET,
    Fact,
    FactKind,
    Source,
    cost_interval,
    declared,
    in_order,
    private_surcharge,
)
from gridveil.wall.mechanisms import COST, JOINT, SURCHARGE, TOTAL, TOTALS, mechanism_words, place
from gridveil.wall.protection import Group, Protection

ASKED = {COST: SURCHARGE, TOTALS: TOTAL}
"""Units of what is asked for beside the draw."""


def foreign_manifest(grid: Grid, record: Manifest, profile: Profile) -> list[str]:
    """Contradictions within a manifest, and with the network and profile beside it."""
    faults = []
    words, protection = mechanism_words(record.mechanism.name), protection_of(record)
    if (protection is None) is (words.name == JOINT) or record.format != format_of(record):
        return ["a protection that is not that of its mechanism, or a format that is not that of its fields"]
    if protection is not None and foreign_protection(record, protection):
        return ["a protection that no plan has"]
    if record.unprotected_lines != unprotected_lines(words, grid, protection):
        faults.append("unprotected lines that are not those of its mechanism")
    faults += _foreign_facts(record, profile)
    faults = faults or [*_foreign_privacy(grid, record), *_foreign_answer(grid, record, profile)]
    return faults or _foreign_steps(grid, record, profile)


def _foreign_privacy(grid: Grid, record: Manifest) -> list[str]:
    privacy, words, faults = record.privacy, mechanism_words(record.mechanism.name), list[str]()
    if (record.mechanism.version, record.mechanism.adjacency) != (words.version, words.adjacency):
        faults.append("another meaning of its mechanism")
    spent = privacy.differentially_private
    charged = (privacy.loss, privacy.cumulative_loss, privacy.cumulative_within)
    noise = noise_words(private=spent, opendp=record.software.opendp)
    if record.warning != (None if spent else RESEARCH) or privacy.noise != noise:
        faults.append("research mode that is not called so, or is called so without being it")
    if any((one is None) is spent for one in charged) or bool(privacy.ledger_entries) is not spent:
        faults.append("privacy without a charge, or a charge without privacy")
    if privacy.ledger_head is not None and not spent:
        faults.append("a ledger for what nothing was charged for")
    if not _possible_day(record.date):
        faults.append("a date that no calendar has, before the first release or after today")
    faults += _foreign_parts(privacy, words.unit, words.name)
    if spent:
        faults += _foreign_losses(privacy, words.name, protection_of(record))
    return faults + _foreign_conditions(grid, record)


def _foreign_conditions(grid: Grid, record: Manifest) -> list[str]:
    """Words of what is claimed, and on which condition, that are not those of such a release."""
    privacy, words, faults = record.privacy, mechanism_words(record.mechanism.name), list[str]()
    spent = privacy.differentially_private
    if privacy.given != given(record.public_inputs):
        faults.append("conditions that are not those of its public inputs")
    source, before = _source(record), privacy.given_before
    if before != known_conditions(before) or (before and not spent):
        faults.append("conditions that no earlier release can have had")
    needs = needs_dispatch(source, attended=record.attended)
    protection = protection_of(record)
    said = statement(
        privacy.parts, record.public_inputs, before, private=spent, dispatch=needs, joint=protection is not None
    )
    if privacy.statement != said:
        faults.append("a statement that is not that of its parts")
    within = [one.mechanism for one in privacy.cumulative_within or []]
    stays = stays_public(words, grid, source, privacy.parts, within, attended=record.attended,
                         protection=protection, shape_public=shape_public(record))  # fmt: skip
    if record.not_protected != stays:
        faults.append("another list of what is not protected than its mechanism has")
    if not record.attended and (source is Source.DECLARED or words.name == "paper"):
        faults.append("an unattended release that no plan allows")
    if record.scrubbed not in [scrubbed(names_kept=kept, ids_kept=ids_kept(record)) for kept in (False, True)]:
        faults.append("another list of what was taken out")
    repaired = record.repair
    if repaired.significant_digits != SIGNIFICANT or (repaired.cuts > 0 and repaired.path != "projected"):
        faults.append("a repair that no release has")
    return faults


def _possible_day(text: str) -> bool:
    """A day more is allowed: clocks differ, and to tell the time is not the point."""
    try:
        return FIRST_DAY <= date.fromisoformat(text) <= datetime.now(UTC).date() + timedelta(days=1)
    except ValueError:
        return False


def _source(record: Manifest) -> Source:
    """The plan's source of the cost: a private one that was not asked for shows as derived."""
    cost = next(one for one in record.public_inputs if one.kind is FactKind.COST)
    return Source.PRIVATE if record.privacy.parts.cost is not None else cost.source


def _foreign_parts(privacy: Privacy, unit: str, name: str) -> list[str]:
    """Parts that are not those of ε, or lose other than they may."""
    lines, cost, totals = privacy.parts.lines, privacy.parts.cost, totals_part(privacy.parts)
    faults = []
    whole = lines.epsilon + (cost.epsilon if cost else 0.0) + (totals.epsilon if totals else 0.0)
    if not isclose(whole, privacy.epsilon, rel_tol=1e-9) or (lines.reach, lines.unit) != (privacy.alpha, unit):
        faults.append("parts that are not those of its epsilon and alpha")
    if privacy.alpha_unit != unit or not lines.asked or lines.loss is None:
        faults.append("another meaning of its mechanism")
    elif not mechanism_words(name).line_factor(lines.loss, lines.epsilon):
        faults.append("a loss that is not that of its epsilon")
    if cost is not None and (cost.unit != SURCHARGE or cost.loss != (cost.epsilon if cost.asked else None)):
        faults.append("a part for the cost that is not what was asked")
    if totals is not None and (totals.unit != TOTAL or not totals.asked or totals.loss != totals.epsilon):
        faults.append("a part for totals that is not what was asked")
    total = sum((one.loss or 0.0) for one in (lines, cost, totals) if one is not None)
    if privacy.loss is not None and not isclose(privacy.loss, total, rel_tol=1e-9):
        faults.append("a loss that is not the sum of its parts")
    return faults


def _foreign_losses(privacy: Privacy, name: str, protection: Protection | None) -> list[str]:
    """A total that leaves out this release, or one beyond its limit."""
    faults, total = [], privacy.cumulative_loss or 0.0
    parts = [(name, privacy.parts.lines), (COST, privacy.parts.cost), (TOTALS, totals_part(privacy.parts))]
    stated = {str(one.mechanism): one for one in privacy.cumulative_within or []}
    if list(stated) != sorted(stated, key=place):
        return ["a cumulative loss within changes in another order"]
    units = all(one.unit == ASKED.get(who, mechanism_words(who).unit if who not in ASKED else "")
                for who, one in stated.items())  # fmt: skip
    if len(stated) < len(privacy.cumulative_within or []) or not units:
        faults.append("a cumulative loss in units that are not those of its mechanisms")
    if foreign_reaches(privacy.cumulative_within or [], name, protection):
        faults.append("a cumulative loss up to changes of groups that no release has")
    least = 0.0
    for who, part in parts:
        if part is None or not part.asked:
            continue
        times = counted_at(part, stated.get(who), protection)
        if times < 1:
            faults.append("a cumulative loss that leaves out this release")
        least += (part.loss or 0.0) * times
    entries, asked = privacy.ledger_entries, sum(part is not None and part.asked for _, part in parts)
    if total < (1 - 1e-9) * least:
        faults.append("a cumulative loss that leaves out this release")
    if len(entries) != asked or entries[:1] == [0] or any(b <= a for a, b in pairwise(entries)):
        faults.append("ledger entries that are not those of its draws")
    if privacy.limit is not None and total > privacy.limit * (1 + 1e-9):
        faults.append("a cumulative loss above its limit")
    return faults


def _foreign_facts(record: Manifest, profile: Profile) -> list[str]:
    """Facts that no release states: twice, of steps that are not there, or with a source that cannot be."""
    cost, answer = record.privacy.parts.cost, facts_of(record, FactKind.SURCHARGE)
    used = [one.step for one in facts_of(record, FactKind.COST)]
    unused, losses = facts_of(record, FactKind.UNUSED_COST), facts_of(record, FactKind.LOSSES)
    steps = set(profile.step.tolist())
    stepped = [one for one in record.public_inputs if one.kind is not FactKind.SURCHARGE and not one.kind.total]
    if not used or any(one.step is None for one in stepped):
        return ["public inputs without a step"]
    faults = [f"{one.kind} that is zero or too large" for one in record.public_inputs if not 0 < abs(one.value) < 1e18]
    if list(record.public_inputs) != in_order(record.public_inputs):
        faults.append("public inputs in another order")
    keys = [(one.kind, one.step) for one in record.public_inputs]
    if len(set(keys)) < len(keys):
        faults.append("public inputs stated twice")
    if not {one.step for one in (*facts_of(record, FactKind.COST), *unused, *losses)} <= steps:
        faults.append("public inputs of steps that the profile does not have")
    if {one.step for one in unused} & set(used):
        faults.append("unused steps that are used")
    kept = record.fidelity.loss_within is not None
    if [one.step for one in losses] != (used if kept else []) or any(one.value <= 0 for one in losses):
        faults.append("losses without a promise, or a promise without losses")
    if len({one.source for one in facts_of(record, FactKind.COST)}) > 1:
        faults.append("costs of several sources")
    if unused and {one.step for one in unused} != steps - set(used):
        faults.append("declared costs of some of the unused steps only")
    if len(answer) != (1 if cost is not None and cost.asked else 0):
        faults.append("a private cost that was not asked for, or one without its answer")
    faults += foreign_totals(record, [step for step in used if step is not None])
    return faults + [
        f"a source that {one.kind} cannot have"
        for one in record.public_inputs
        if not (possible_total if one.kind.total else _possible)(one, record)
    ]


def _possible(fact: Fact, record: Manifest) -> bool:
    """Could a release state this fact so?"""
    cost, sources = record.privacy.parts.cost, {one.source for one in facts_of(record, FactKind.COST)}
    bare = fact == Fact(fact.kind, fact.step, fact.value, fact.source)
    if fact.kind is FactKind.SURCHARGE:
        lowest = lowest_surcharge(record)
        return cost is not None and fact == private_surcharge(fact.value, cost.epsilon, cost.reach, lowest)
    if fact.source is Source.DECLARED:
        allowed = sources == {Source.DECLARED} or (fact.kind is FactKind.UNUSED_COST and sources == {Source.PUBLISHED})
        return allowed and cost is None and fact == declared(fact.kind, fact.step or 0, fact.value)
    if fact.kind is FactKind.LOSSES:
        return fact.source is Source.DERIVED and bare and sources != {Source.DECLARED}
    if fact.kind is FactKind.UNUSED_COST:
        return False
    if fact.source is Source.PRIVATE:
        return cost is not None and cost.asked and (fact.digits, fact.epsilon) == (None, None)
    derived = fact.source is Source.DERIVED and (cost is None or not cost.asked)
    return bare and (derived or (fact.source is Source.PUBLISHED and cost is None))


def _foreign_answer(grid: Grid, record: Manifest, profile: Profile) -> list[str]:
    """Private costs that do not follow from the private answer."""
    answers, costs = facts_of(record, FactKind.SURCHARGE), facts_of(record, FactKind.COST)
    if not answers:
        return []
    answer, scale = answers[0], answers[0].scale or 0.0
    rows = [profile.pd[(one.step or 0) - int(profile.step[0])] for one in costs]
    plates = [one.value for one in facts_of(record, FactKind.MERIT) if one.step is not None]  # of a noisy network
    try:
        plates = plates or [copper_plate_cost(grid, float(row.sum())) for row in rows]
    except GridError:
        return ["demand that its generators cannot meet"]
    if min(plates) <= 0 or any(one.value <= 0 for one in costs):
        return ["a private cost that is not positive"]
    level = float(np.mean([log(one.value / plate) for one, plate in zip(costs, plates, strict=True)]))
    reach = FARTHEST * scale + 1e-9
    lowest = lowest_surcharge(record)
    low, high = answer.value - reach, max(answer.value + reach, (LOWEST_TARGET if lowest == 0 else lowest) + 1e-9)
    faults = [] if low <= level <= high else ["private costs that are not those of their answer"]
    exact = lowest < 0 or not any(one.kind.total and one.step is None for one in record.public_inputs)
    wanted = cost_interval(answer, plates[0], lowest) if len(plates) == 1 and exact else (None, None)
    if any(not close((one.low, one.high), wanted) for one in costs):
        faults.append("an interval of the cost that is not that of its noise")
    if any((one.sensitivity, one.scale) != (answer.sensitivity, answer.scale) for one in costs):
        faults.append("private costs that are not those of their answer")
    return faults


def _foreign_steps(grid: Grid, record: Manifest, profile: Profile) -> list[str]:
    """The manifest's horizon must be that of profile.csv, and released.m must show the step it says."""
    used, horizon = [one.step for one in facts_of(record, FactKind.COST)], record.horizon
    index = (used[0] or 0) - int(profile.step[0])
    if not np.allclose([grid.buses.pd, grid.buses.qd], [profile.pd[index], profile.qd[index]], rtol=1e-9, atol=1e-12):
        return ["loads in released.m that are not those of its step"]
    stated = horizon and (horizon.first, horizon.steps, horizon.used, horizon.step_in_network_file)
    if stated and stated != (int(profile.step[0]), len(profile), used, used[0]):
        return ["a horizon that is not that of profile.csv"]
    protection = protection_of(record)
    if protection is not None and Group.LOADS in protection and not shape_public(record) and moves_apart(profile):
        return ["a profile that moves each load for itself, which the manifest does not say"]
    if used != profile.step[equally_spaced(len(profile), len(used))].tolist():
        return ["used steps that are not equally spaced"]
    if horizon and horizon.checked > len(profile) - len(used):
        return ["more steps that are reported than there are unused ones"]
    return []
