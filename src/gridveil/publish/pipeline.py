"""A release, step by step: read, seal, charge, perturb ═ wall ═ estimate, ask if need be, repair, certify, publish.

After the lines are drawn the secret is touched once more at most: where the noisy lines leave the dispatch cost too
uncertain, which is decided from them alone, it is asked for, charged and noised like the lines. What comes after the
wall is `publish/behind.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from gridveil.errors import ReleaseError
from gridveil.grid.profile import Profile, base_profile
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.composition import Assets
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import ExactNoise, Noise
from gridveil.process.cores import core_dumps_off
from gridveil.publish.behind import Progress, Public, Shop, finished, repaired
from gridveil.publish.costs import check_scale, copper_plates
from gridveil.publish.elements import SameAs, identities
from gridveil.publish.kept import KeptDraw, plan_record
from gridveil.publish.plan import Plan
from gridveil.publish.preview import charges, preview
from gridveil.publish.record import check_clock, conditions
from gridveil.publish.release import Release
from gridveil.publish.spending import Purse, spending
from gridveil.repair.child import ChildWorkshop
from gridveil.repair.unused import Hands, alone
from gridveil.sealed.facts import Truth
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import SecretNetwork
from gridveil.wall.codec import pack
from gridveil.wall.facts import Fact, FactKind, Source

Workshops = Callable[[], Shop]


def quiet(stage: str) -> None:
    """Say nothing."""


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
    hands: Hands = alone,
) -> Release:
    """Make one release. `ledger` is needed unless the noise is seeded, which makes the release not private at all.

    With a `profile` the promises hold at `plan.steps` of its steps. The lines are drawn once, whatever the profile.
    `deliver` takes the release where it belongs; if that fails, the failure says what is spent, as every failure after
    the charge does (`Spent`). What is likely to be a slip is refused unless it is `confirmed`. `same_as` says as what
    the ledger knows renumbered buses. `hands` solve the unused steps on the released network (`repair/unused.py`).
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
    check_scale(plan.share, plates or plan.published_costs or ())
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
    check_scale(plan.share, [one.value for one in facts if one.kind is FactKind.COST])
    loss = method.loss(network, plan.epsilon_lines)
    first, *second = charges(plan, loss)
    purse = Purse(book, book.assets(network.name, identities(grid, same_as)) if book else Assets("", ()))

    def ask() -> Fact:
        progress("asking for the dispatch cost, with noise")
        purse.pay(second[0])
        answer = truth.ask_surcharge(plates, plan.epsilon_cost, plan.cost_sensitivity, noise)
        purse.keep(pack(answer))
        return answer

    check_clock()
    noise.prepare()
    if book is not None:
        book.require_room()
    progress("starting the repair process")
    with spending(purse), closing(workshop()) as shop:
        purse.pay(first, conditions(plan, facts), then=second)
        progress("drawing" if book is None else f"charged: entry {purse.receipts[0].entry} of the ledger; drawing")
        noisy = method.perturb(network, plan.epsilon_lines, float(plan.alpha), noise)
        purse.keep(pack(KeptDraw(noisy, plan_record(plan), profile is not None)))
        # ════════ wall: below, the secret is seen by `ask` alone, whose answer is paid for and noised ════════
        names = network.bus_names if plan.keep_names else None
        public = Public(grid, plan, profile, horizon, used, names, noisy, facts)
        begun = shop.begin(grid, noisy, plan.fidelity, lambda spent: progress(f"working: {spent:.0f} AC-OPFs so far"))
        public, result = repaired(public, begun, plates, ask, progress)
        progress("certifying what is written")
        made = finished(public, result, noise, loss, purse.receipts, hands, progress)
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
