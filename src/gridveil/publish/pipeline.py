"""A release, step by step: read, seal, charge, perturb ═ wall ═ estimate, ask if need be, repair, certify, publish.

After the lines are drawn the secret is touched once more at most: where the noisy lines leave the dispatch cost too
uncertain, which is decided from them alone, it is asked for, charged and noised like the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol, Self

from gridveil.casefile.from_network import from_network
from gridveil.casefile.read import parse
from gridveil.casefile.to_network import to_network
from gridveil.casefile.write import to_text
from gridveil.errors import CertificateFailed, ReleaseError, RepairFailed
from gridveil.grid import Network, PublicGrid
from gridveil.grid.profile import Profile, base_profile
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.composition import Assets
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import ExactNoise, Noise
from gridveil.process.cores import core_dumps_off
from gridveil.publish import bundle
from gridveil.publish.costs import aimed_costs, aimed_losses, copper_plates, levels, worth_asking
from gridveil.publish.describe import file_notes
from gridveil.publish.elements import SameAs, identities
from gridveil.publish.plan import Plan
from gridveil.publish.preview import charges, preview
from gridveil.publish.record import conditions, make_manifest
from gridveil.publish.release import Release
from gridveil.publish.spending import Purse, spending
from gridveil.repair.certify import bounds_check, certify, report_unused
from gridveil.repair.child import ChildWorkshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import SecretNetwork
from gridveil.wall.certificate import true_cost
from gridveil.wall.codec import pack
from gridveil.wall.draw import Estimate, Fidelity, NoisyLines, Repair, Snapshot
from gridveil.wall.facts import AIM, SENSITIVITY, SHARE, Fact, FactKind, Source


class Shop(Protocol):
    """Where a draw is estimated and repaired: in this process, or in one that has never seen the secret."""

    def begin(self, grid: PublicGrid, noisy: NoisyLines, fidelity: Fidelity) -> Self: ...

    def estimate(self, demands: Sequence[Demand], *, needed: bool = ..., enough: float = ...) -> Estimate: ...

    def repair(self, snapshots: Sequence[Snapshot]) -> Repair: ...

    def close(self) -> None: ...


Workshops = Callable[[], Shop]
Progress = Callable[[str], None]
"""Is told what a release is at, for the operator."""


def quiet(stage: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class _Public:
    """All that is public of a release once everything is drawn."""

    grid: PublicGrid
    plan: Plan
    profile: Profile | None
    horizon: Profile
    used: Sequence[int]
    names: tuple[str, ...] | None
    noisy: NoisyLines
    facts: tuple[Fact, ...]


@core_dumps_off()
def release(
    network: SecretNetwork,
    plan: Plan,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
    workshop: Workshops = ChildWorkshop,
    profile: Profile | None = None,
    *,
    deliver: Callable[[Release], object] | None = None,
    confirmed: bool = False,
    same_as: SameAs | None = None,
    progress: Progress = quiet,
) -> Release:
    """Make one release. `ledger` is needed unless the noise is seeded, which makes the release not private at all.

    With a `profile` the promises hold at `plan.steps` of its steps. The lines are drawn once, whatever the profile.
    `deliver` takes the release where it belongs; if that fails, the failure says what is spent, as every failure after
    the charge does (`Spent`). What is likely to be a slip is refused unless it is `confirmed`. `same_as` says as what
    the ledger knows renumbered buses.
    """
    grid, method = network.grid, mechanism(plan.mechanism)
    plan.check_network(grid)
    noise = noise or ExactNoise()
    horizon = profile or base_profile(grid)
    if horizon.pd.shape[1] != grid.n_bus:
        raise ReleaseError(f"the profile has {horizon.pd.shape[1]} buses, the network {grid.n_bus}; make one for it")
    used = plan.used(len(horizon)).tolist()
    demands = [Demand(horizon.pd[index], horizon.qd[index]) for index in used]
    plates = [] if plan.source.conditional else copper_plates(grid, demands)
    book = (ledger or Ledger.open()) if noise.private else None
    if book is not None:
        preview(network, plan, book, same_as=same_as).require(confirmed=confirmed)
    truth = Truth(network, horizon, used)
    unused = Truth(network, horizon, sorted(set(range(len(horizon))) - set(used)))
    if plan.source is not Source.DERIVED and not plan.unattended:
        progress("solving the original")
        truth.require_optima()
        if plan.declare_unused:
            unused.require_optima()
    facts = _stated(plan, horizon, used, truth, unused)
    loss = method.loss(network, plan.epsilon_lines)
    first, *second = charges(plan, loss)
    purse = Purse(book, book.assets(network.name, identities(grid, same_as)) if book else Assets("", ()))

    def ask() -> Fact:
        progress("asking for the dispatch cost, with noise")
        purse.pay(second[0])
        answer = truth.ask_surcharge(plates, plan.epsilon_cost, plan.cost_sensitivity, noise)
        purse.keep(pack(answer))
        return answer

    noise.prepare()
    progress("starting the repair process")
    with spending(purse), closing(workshop()) as shop:
        purse.pay(first, conditions(plan, facts), then=second)
        progress("drawing" if book is None else f"charged: entry {purse.receipts[0].entry} of the ledger; drawing")
        noisy = method.perturb(network, plan.epsilon_lines, float(plan.alpha), noise)
        purse.keep(pack(noisy))
        # ════════ wall: below, the secret is seen by `ask` alone, whose answer is paid for and noised ════════
        names = network.bus_names if plan.keep_names else None
        public = _Public(grid, plan, profile, horizon, used, names, noisy, facts)
        public, result = _repaired(public, shop.begin(grid, noisy, plan.fidelity), demands, plates, ask, progress)
        progress("certifying what is written")
        made = _publish(public, result, noise, loss, purse)
        if deliver is not None:
            progress("writing")
            deliver(made)
    return made


def _stated(plan: Plan, horizon: Profile, used: Sequence[int], truth: Truth, unused: Truth) -> tuple[Fact, ...]:
    """Facts that are public as they are: published ones, and those that the plan declares."""
    steps = [int(horizon.step[index]) for index in used]
    facts: tuple[Fact, ...] = ()
    if plan.published_costs is not None:
        pairs = zip(steps, plan.published_costs, strict=True)
        facts = tuple(Fact(FactKind.COST, step, cost, Source.PUBLISHED) for step, cost in pairs)
    elif plan.source is Source.DECLARED:
        facts = truth.declare(FactKind.COST)
        if plan.loss_within is not None:
            facts += truth.declare(FactKind.LOSSES)
    return facts + (unused.declare(FactKind.UNUSED_COST) if plan.declare_unused else ())


def _repaired(
    public: _Public,
    shop: Shop,
    demands: Sequence[Demand],
    plates: Sequence[float],
    ask: Callable[[], Fact],
    progress: Progress,
) -> tuple[_Public, Repair]:
    """Repair at the public costs; at estimated ones, nearer to what the draw can reach where nothing has the first."""
    progress("estimating the dispatch cost from the noisy lines")
    choices = _fused(public, shop, demands, plates, ask)
    for number, facts in enumerate(choices):
        progress("repairing" if not number else f"repairing, nearer to the draw (try {number + 1})")
        aimed = replace(public, facts=public.facts + facts)
        try:
            return aimed, shop.repair(_snapshots(aimed))
        except RepairFailed:
            if facts is choices[-1]:
                raise
    raise AssertionError("there is always a choice")


def _fused(
    public: _Public, shop: Shop, demands: Sequence[Demand], plates: Sequence[float], ask: Callable[[], Fact]
) -> list[tuple[Fact, ...]]:
    """Facts that come from the noisy values, in the order in which a repair tries them.

    The truth is asked only if the noisy values leave the cost too uncertain, and once.
    """
    plan, steps = public.plan, [int(public.horizon.step[index]) for index in public.used]
    losses = plan.loss_within is not None and plan.source is not Source.DECLARED
    if plan.source.conditional and not losses:
        return [()]
    enough = plan.cost_scale if plan.source is Source.PRIVATE else SENSITIVITY / SHARE
    found = shop.estimate(demands, needed=plan.source is Source.DERIVED or losses, enough=enough)
    if plan.source.conditional:
        return [aimed_losses(steps, found)]
    answer = ask() if plan.source is Source.PRIVATE and worth_asking(found, plan.cost_scale) else None
    return [
        aimed_costs(steps, plates, found, answer, level) + (aimed_losses(steps, found, level) if losses else ())
        for level in levels(found, answer)
    ]


def _snapshots(public: _Public) -> list[Snapshot]:
    """Demand, public cost and losses of every used step."""
    by_kind = {kind: {one.step: one for one in public.facts if one.kind is kind} for kind in FactKind}
    result = []
    for index in public.used:
        step = int(public.horizon.step[index])
        cost, lost = by_kind[FactKind.COST][step], by_kind[FactKind.LOSSES].get(step)
        demand = public.horizon.pd[index], public.horizon.qd[index]
        aim = 1.0 if cost.source.conditional else AIM
        result.append(Snapshot(*demand, cost.value, step, cost.slack, None if lost is None else lost.value, aim))
    return result


def _publish(public: _Public, result: Repair, noise: Noise, loss: float, purse: Purse) -> Release:
    """Write the network as text, read it back, certify what was read, and describe it."""
    grid, plan, snapshots = public.grid, public.plan, _snapshots(public)
    shown = replace(grid, buses=replace(grid.buses, pd=snapshots[0].pd, qd=snapshots[0].qd))
    case = from_network("released", shown, result.lines, result.points[0], public.names)
    step = snapshots[0].step if public.profile else None
    text = to_text(case, file_notes(private=noise.private, step=step))
    again = to_network(parse(text, bundle.NETWORK))
    alone = tuple((~public.noisy.protected).nonzero()[0].tolist())
    certificate = certify(again.grid, again.lines, result.points, snapshots, plan.fidelity, alone, from_written=True)
    in_bounds = bounds_check(again.grid, again.lines, public.noisy, plan.bound_factor * result.widening)
    certificate = replace(certificate, checks=(*certificate.checks, in_bounds), truth=true_cost(public.facts))
    if not certificate.passed:
        raise CertificateFailed(
            f"the repaired network fails its own certificate ({', '.join(certificate.failed)}) and is not released",
            certificate.failed,
        )  # fmt: skip
    if public.profile is not None:
        costs = {one.step: one.value for one in public.facts if one.kind is FactKind.UNUSED_COST and one.step}
        used = [one.step for one in snapshots]
        certificate = replace(certificate, unused=report_unused(again.grid, again.lines, public.profile, used, costs))
    record = make_manifest(plan, grid, public.facts, result, noise, loss, purse.receipts, public.profile)
    return Release(Network(*again), result.points, certificate, record, text, public.profile)
