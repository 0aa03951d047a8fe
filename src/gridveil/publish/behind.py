"""A release behind the wall: from what was drawn to what is published. Nothing here has seen the secret.

All of it follows from noisy values, facts and public data, by the same steps every time: an audit makes a release again
from what the ledger kept of its draw (`check/audit.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol, Self

from gridveil.casefile.from_network import from_network
from gridveil.casefile.labels import Labels, labelled
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.casefile.write import to_text
from gridveil.errors import CertificateFailed, OutOfEffort, RepairFailed
from gridveil.grid import Grid, Network
from gridveil.grid.profile import Profile, checked_steps
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.ledger import Receipt
from gridveil.privacy.noise import Noise
from gridveil.publish import bundle
from gridveil.publish.costs import aimed_costs, aimed_losses, fused, nearer, shape_of, worth_asking
from gridveil.publish.describe import file_notes
from gridveil.publish.manifest import read_manifest
from gridveil.publish.plan import Plan
from gridveil.publish.record import make_manifest
from gridveil.publish.release import Release
from gridveil.publish.worlds import derived_totals, plates, released, settled
from gridveil.repair.certify import bounds_check, certify
from gridveil.repair.inside import inside_limits
from gridveil.repair.judge import Kept
from gridveil.repair.repair import SOON
from gridveil.repair.unused import Hands, alone, report_unused
from gridveil.wall.certificate import Certificate, true_cost
from gridveil.wall.codec import to_json
from gridveil.wall.draw import Drawn, Estimate, Fidelity, NoisyLines, Repair, Snapshot
from gridveil.wall.facts import AIM, SENSITIVITY, SHARE, Fact, FactKind, Source
from gridveil.wall.horizon import Horizon, demands_in

UNKNOWN = Estimate(None, None, inf, None, None)
SHAPES = 3
"""Of costs over a horizon, that are taken from networks which repairs have come to."""
Progress = Callable[[str], None]
"""Is told what a release is at, for the operator."""


class Shop(Protocol):
    """Where a draw is estimated and repaired: in this process, or in one that has never seen the secret."""

    def begin(self, grid: Grid, noisy: NoisyLines, fidelity: Fidelity, told: Callable[[float], None] = ...) -> Self: ...

    def estimate(self, demands: Sequence[Demand], *, needed: bool = ..., enough: float = ...) -> Estimate: ...

    def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = ...) -> Repair: ...

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class Public:
    """All that is public of a release once everything is drawn."""

    grid: Grid
    plan: Plan
    profile: Profile | None
    horizon: Profile
    used: Sequence[int]
    labels: Labels
    noisy: NoisyLines
    facts: tuple[Fact, ...]

    @property
    def demands(self) -> list[Demand]:
        """The demand of every used step."""
        return [Demand(self.horizon.pd[index], self.horizon.qd[index]) for index in self.used]


def joint_world(
    drawn: Drawn,
    plan: Plan,
    facts: tuple[Fact, ...],
    horizon: Horizon,
    used: Sequence[int],
    labels: Labels,
    *,
    profile: bool,
) -> Public:
    """The drawn network settled on its totals, with the merit-order cost of every used step; by noisy values alone.

    `profile` says whether its steps are those of a profile, which is then a part of the release.
    """
    if plan.totals == Source.DERIVED:
        facts += derived_totals(drawn, plan)
    totals = [one for one in facts if one.kind.total]
    world = settled(drawn, totals)
    steps = demands_in(horizon, world.grid)
    pairs = zip(used, plates(world.grid, steps, used), strict=True)
    facts += tuple(Fact(FactKind.MERIT, int(steps.step[index]), value, Source.DERIVED) for index, value in pairs)
    return Public(world.grid, plan, steps if profile else None, steps, used, labels, world.lines, facts)


def merits(facts: Sequence[Fact]) -> list[float]:
    """The merit-order cost of every used step of a joint release."""
    return [one.value for one in facts if one.kind is FactKind.MERIT and one.step is not None]


def repaired(
    public: Public,
    shop: Shop,
    plates: Sequence[float],
    ask: Callable[[], Fact],
    progress: Progress,
) -> tuple[Public, Repair]:
    """Repair at the public costs; at estimated ones, nearer to what the draw can reach where nothing has the first."""
    progress("estimating the dispatch cost from the noisy lines")
    missed = list[tuple[float, ...]]()
    choices, tried = _fused(public, shop, plates, ask, missed), list[Public]()

    def attempt(aimed: Public, *, patient: bool) -> Repair | None:
        try:
            return shop.repair(_snapshots(aimed), patient=patient)
        except OutOfEffort:
            raise
        except RepairFailed as failure:
            if patient and aimed is tried[-1]:
                raise
            missed.extend([] if failure.costs is None else [failure.costs])
            return None

    for number, facts in enumerate(choices):
        progress("repairing" if not number else f"repairing, nearer to the draw (try {number + 1})")
        tried.append(replace(public, facts=public.facts + facts))
        for _ in range(SOON):
            if (found := attempt(tried[-1], patient=False)) is not None:
                return tried[-1], found
    progress("repairing with patience")
    for aimed in tried:
        if (found := attempt(aimed, patient=True)) is not None:
            return aimed, found
    raise AssertionError("the last attempt raises")


def _fused(
    public: Public,
    shop: Shop,
    plates: Sequence[float],
    ask: Callable[[], Fact],
    missed: Sequence[tuple[float, ...]],
) -> Iterator[tuple[Fact, ...]]:
    """Facts that come from the noisy values, in the order in which a repair tries them.

    The truth is asked only if the noisy values leave the cost too uncertain, and once. What the draw itself can reach
    is looked for only where nothing is known of it and a repair has failed. `missed` are costs of networks that repairs
    have come to: how costs differ between the steps is known from noisy values alone, and another's is as good.
    """
    plan, steps = public.plan, [int(public.horizon.step[index]) for index in public.used]
    losses = plan.loss_within is not None and plan.source is not Source.DECLARED
    if plan.source.conditional and not losses:
        yield ()
        return
    enough = plan.cost_scale if plan.source is Source.PRIVATE else SENSITIVITY / SHARE
    needed = plan.source is Source.DERIVED or losses
    if plan.joint and plan.source is Source.PRIVATE and len(steps) == 1 and not losses:
        found = UNKNOWN  # the truth is asked in any case, and the shape of a single step is none
    else:
        found = shop.estimate(public.demands, needed=needed, enough=enough)
    if plan.source.conditional:
        yield aimed_losses(steps, found)
        return
    answer = ask() if plan.source is Source.PRIVATE and worth_asking(found, plan.cost_scale) else None

    def facts(level: float, seen: Estimate) -> tuple[Fact, ...]:
        told = None if plan.joint and plan.lowest == 0 and plan.asked_totals else plan.lowest
        costs = aimed_costs(steps, plates, seen, answer, level, told)
        return costs + (aimed_losses(steps, seen, level) if losses else ())

    first, reach = fused(found, answer, plan.lowest), found
    if found.shape is not None or len(steps) == 1:  # else nothing is known of how costs differ between the steps
        yield facts(first, found)
    if found.shape is None:
        try:
            reach = shop.estimate(public.demands, needed=True, enough=enough)
        except OutOfEffort:
            raise
        except RepairFailed:  # nothing is known to be nearer; patience may find something all the same
            pass
    if found.shape is None and len(steps) > 1:
        yield facts(first, reach)
    for _ in range(SHAPES if len(steps) > 1 else 0):
        if missed:
            yield facts(first, replace(reach, shape=shape_of(missed[-1], plates)))
    for level in nearer(first, reach, answer, plan.lowest):
        yield facts(level, reach)


def _snapshots(public: Public) -> list[Snapshot]:
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


def finished(
    public: Public,
    result: Repair,
    noise: Noise,
    loss: float,
    receipts: Sequence[Receipt],
    hands: Hands = alone,
    progress: Progress = lambda stage: None,
) -> Release:
    """Write the network as text, read it back, certify what was read, and describe it. `hands` solve unused steps."""
    drawn, public = public, moved_world(public, result)
    result = within_limits(public, result)
    grid, plan, snapshots = public.grid, public.plan, _snapshots(public)
    text = network_text(public, result, private=noise.private)
    again = to_network(read_bytes(bundle.NETWORK, text.encode()))
    certificate = certified(drawn, public, again, result)
    if not certificate.passed:
        raise CertificateFailed(
            f"the repaired network fails its own certificate ({', '.join(certificate.failed)}) and is not released",
            certificate.failed,
        )  # fmt: skip
    if public.profile is not None:
        costs = {one.step: one.value for one in public.facts if one.kind is FactKind.UNUSED_COST and one.step}
        steps = checked_steps(public.profile, [one.step for one in snapshots], plan.check_steps)

        def told(done: int) -> None:
            progress(f"working: {done} of {len(steps)} unused steps")

        unused = report_unused(*again, public.profile, steps, costs, hands, told)
        certificate = replace(certificate, unused=unused)
    checked = len(certificate.unused)
    record = make_manifest(plan, grid, public.facts, result, noise, loss, receipts, public.profile, checked)
    read_manifest(to_json(record).encode())  # what nobody could read is not released
    return Release(Network(*again), result.points, certificate, record, text, public.profile)


def certified(drawn: Public, public: Public, network: Network, result: Repair) -> Certificate:
    """Everything that is claimed of a repaired network, with its points, judged again; `drawn` is as it was before."""
    plan, bare = public.plan, tuple((~public.noisy.protected).nonzero()[0].tolist())
    certificate = certify(
        network.grid, network.lines, result.points, _snapshots(public), plan.fidelity, bare, result.multipliers,
        Kept(plan.protection, public.facts, public.profile is None) if plan.joint else None,
    )  # fmt: skip
    in_bounds = bounds_check(drawn.grid, network, public.noisy, plan.bound_factor * result.widening)
    return replace(certificate, checks=(*certificate.checks, in_bounds), truth=true_cost(public.facts))


def moved_world(public: Public, result: Repair) -> Public:
    """With the loads, limits, ratings and costs of the repaired network."""
    if not public.plan.joint:
        return public
    horizon = released(public.grid, public.horizon, result)
    profile = None if public.profile is None else horizon
    return replace(public, grid=result.network.grid, horizon=horizon, profile=profile)


def within_limits(public: Public, result: Repair) -> Repair:
    """With operating points that keep every limit exactly: other tools take no voltage above it, however little."""
    demands = [Demand(one.pd, one.qd) for one in _snapshots(public)]
    return inside_limits(public.grid, result, demands)


def network_text(public: Public, result: Repair, *, private: bool) -> str:
    """The network file of a release."""
    first = _snapshots(public)[0]
    shown = replace(public.grid, buses=replace(public.grid.buses, pd=first.pd, qd=first.qd))
    case = labelled(from_network("released", shown, result.lines, result.points[0]), public.labels)
    return to_text(
        case,
        file_notes(
            private=private,
            step=first.step if public.profile else None,
            protection=public.plan.protection if public.plan.joint else None,
        ),
    )
