"""A release, step by step: read, seal, charge, perturb ═ wall ═ estimate, ask if need be, repair, certify, publish.

After the lines are drawn the secret is touched once more at most: where the noisy lines leave the dispatch cost too
uncertain, which is decided from them alone, it is asked for, charged and noised like the lines. What comes after the
wall is `publish/behind.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from gridveil.casefile.profile import as_read_back
from gridveil.errors import LedgerError, ReleaseError
from gridveil.grid.profile import Profile
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.composition import Assets
from gridveil.privacy.ledger import Ledger, default_path
from gridveil.privacy.noise import ExactNoise, Noise
from gridveil.process.cores import core_dumps_off
from gridveil.publish.asking import Asking
from gridveil.publish.behind import Progress, Public, Shop, finished, joint_world, merits, repaired
from gridveil.publish.costs import check_scale, copper_plates
from gridveil.publish.elements import SameAs, assets
from gridveil.publish.kept import kept_draw
from gridveil.publish.plan import Plan
from gridveil.publish.preview import charges, preview
from gridveil.publish.record import check_clock, conditions
from gridveil.publish.refuse import check_labels, check_network, check_sealed
from gridveil.publish.release import Release
from gridveil.publish.spending import Purse, spending
from gridveil.repair.child import ChildWorkshop
from gridveil.repair.unused import Hands, alone
from gridveil.sealed.facts import Truth
from gridveil.sealed.horizon import public_horizon
from gridveil.sealed.mechanisms import joint, mechanism
from gridveil.sealed.shares import on_public_shares
from gridveil.sealed.split import Sealed
from gridveil.wall.codec import pack
from gridveil.wall.draw import Drawn, Repair
from gridveil.wall.facts import Fact, FactKind, Source
from gridveil.wall.horizon import Horizon, demands_in
from gridveil.wall.protection import EVERYTHING, Group

Workshops = Callable[[], Shop]
DEFAULT = "default"
"""Names the user's own ledger."""


def quiet(stage: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release up to its draw: what is refused by then is refused, and any number of draws may follow."""

    network: Sealed
    plan: Plan
    profile: Profile | None
    horizon: Horizon
    used: Sequence[int]
    plates: Sequence[float]
    truth: Truth
    unused: Truth


def prepared(network: Sealed, plan: Plan, profile: Profile | None = None) -> Prepared:
    """Look at all that depends on no draw and no ledger."""
    check_sealed(network, plan)
    check_network(plan, network)
    check_labels(plan, network.labels)
    network = on_public_shares(network, plan.protection)
    profile = _read_back(network, plan, profile)
    horizon = public_horizon(network, plan.protection, profile, shape_public=plan.shape_public)
    used = plan.used(len(horizon)).tolist()
    plates = _plates(network, plan, horizon, used)
    unused = sorted(set(range(len(horizon))) - set(used))
    truths = Truth(network, horizon, used), Truth(network, horizon, unused)
    return Prepared(network, plan, profile, horizon, used, plates, *truths)


def stated(ready: Prepared, progress: Progress = quiet) -> tuple[Fact, ...]:
    """What is public of the original as it is, once the operator has seen that it has a dispatch."""
    plan = ready.plan
    _require_optima(plan, ready.truth, ready.unused, progress)
    facts = _stated(plan, ready.horizon, ready.used, ready.truth, ready.unused)
    check_scale(plan.share, [one.value for one in facts if one.kind is FactKind.COST])
    return facts


@core_dumps_off()
def release(
    network: Sealed,
    plan: Plan,
    ledger: Ledger | str | None = None,
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
    """Make one release: charge the ledger, draw the noise once, repair the network without looking at the original
    again, certify what is written.

    Args:
        network: What `gv.seal` gave.
        plan: What is asked for.
        ledger: An open one, or "default" for the user's own, which nothing is spent from unless it is asked for. Needed
            unless the noise is seeded.
        noise: `gv.SeededNoise(7)` for research, which makes the release not private at all; else exact noise.
        workshop: What repairs; a process of its own, unless tests say otherwise.
        profile: Demands of a horizon: the promises hold at `plan.steps` of its steps. The numbers are drawn once,
            whatever the profile.
        deliver: Takes the release where it belongs; if that fails, the failure says what is spent.
        confirmed: What is likely to be a slip is refused unless this is set.
        same_as: As what the ledger knows renumbered buses.
        progress: Called with the name of every stage.
        hands: Who solves the unused steps on the released network (`repair/unused.py`).

    Returns:
        The release, to be written with its method `write`.

    Raises:
        PrivacyError: No ledger, no budget left, or a likely slip; nothing was charged.
        ReleaseError: The original has no dispatch, or the plan does not fit it; nothing was charged.
        Spent: Whatever fails after the charge: which entries of the ledger, what loss, and why.

    Examples:
        >>> plan = gv.Plan(epsilon=1.0, alpha="10%", beta="1%")
        >>> made = gv.release(gv.seal("case14_ieee"), plan, noise=gv.SeededNoise(1))  # research: NOT private
        >>> made.certificate
        Certificate(6 checks, all hold)
        >>> gv.release(gv.seal("case14_ieee"), plan)
        Traceback (most recent call last):
        gridveil.errors.LedgerError: ...
    """
    ready = prepared(network, plan, profile)
    network, noise = ready.network, noise or ExactNoise()
    book = _book(ledger) if noise.private else None
    if book is not None:
        preview(network, plan, book, same_as=same_as).require(confirmed=confirmed)
    facts = stated(ready, progress)
    loss = draw_loss(network, plan)
    first, *later = charges(plan, loss)
    purse = _purse(book, network, plan, same_as)
    asking = Asking(ready.truth, plan, noise, purse, later, progress)
    check_clock()
    noise.prepare()
    if book is not None:
        book.require_room()
    progress("starting the repair process")
    with spending(purse), closing(workshop()) as shop:
        purse.pay(first, conditions(plan, facts), then=later)
        progress("drawing" if book is None else f"charged: entry {purse.receipts[0].entry} of the ledger; drawing")
        drawn = draw(network, plan, noise)
        purse.keep(pack(kept_draw(drawn, plan, profile=profile is not None, horizon=ready.horizon)))
        public, result = repaired_draw(ready, facts, drawn, asking, shop, progress)
        progress("certifying what is written")
        made = finished(public, result, noise, loss, purse.receipts, hands, progress)
        if deliver is not None:
            progress("writing")
            deliver(made)
    return made


def repaired_draw(
    ready: Prepared, facts: tuple[Fact, ...], drawn: Drawn, asking: Asking, shop: Shop, progress: Progress = quiet
) -> tuple[Public, Repair]:
    """Ask for what the plan wants beside its draw, and repair it."""
    plan, horizon, used, plates = ready.plan, ready.horizon, ready.used, ready.plates
    totals = asking.totals()
    # ════════ wall: below, the secret is seen by `asking` alone, whose answers are paid for and noised ════════
    kept = ready.network.labels.kept(names=plan.keep_names, ids=plan.keep_ids)
    if plan.joint:
        public = joint_world(drawn, plan, facts + totals, horizon, used, kept, profile=ready.profile is not None)
        plates = merits(public.facts)
    else:
        demands = demands_in(horizon, drawn.grid)
        public = Public(drawn.grid, plan, ready.profile, demands, used, kept, drawn.lines, facts)
    begun = shop.begin(public.grid, public.noisy, plan.fidelity, partial(_so_far, progress))
    return repaired(public, begun, plates, partial(asking.cost, plates), progress)


def _read_back(network: Sealed, plan: Plan, profile: Profile | None) -> Profile | None:
    """The profile as the bundle will hold it: what is drawn for, certified and made again by an audit is what is read.

    Refuse one of another network, and one whose refusal would tell loads.
    """
    if profile is None:
        return None
    if plan.unattended and Group.LOADS in plan.protection:
        raise ReleaseError(
            "an unattended release with protected loads takes no profile: whether it fits the loads would be told by a "
            "refusal"
        )
    have, there = profile.pd.shape[1], network.structure.n_bus
    if have != there:
        raise ReleaseError(f"the profile has {have} buses, the network {there}; make one for it")
    return as_read_back(profile, network.structure.base_mva)


def _book(ledger: Ledger | str | None) -> Ledger:
    """The ledger to spend from; nobody's is taken without a word."""
    if isinstance(ledger, Ledger):
        return ledger
    if ledger == DEFAULT:
        return Ledger.open()
    given = "none was given" if ledger is None else f"'{ledger}' is none"
    raise LedgerError(
        f"a private release is charged to a ledger, and {given}; give ledger=gv.Ledger.open(path), or "
        f'ledger="{DEFAULT}" for your own ({default_path()}). Nothing was charged'
    )


def _purse(book: Ledger | None, network: Sealed, plan: Plan, same_as: SameAs | None) -> Purse:
    """Charges the elements that the plan protects; what was released before is asked for of all that there are."""
    if book is None:
        return Purse(None, Assets("", ()))
    charged, related = (
        assets(book, network.name, network.structure, same_as, one) for one in (plan.protection, EVERYTHING)
    )
    return Purse(book, charged, related)


def _require_optima(plan: Plan, truth: Truth, unused: Truth, progress: Progress) -> None:
    """The operator's own question; an unattended release leaves it out, and a derived cost does not need it."""
    if plan.source is Source.DERIVED or plan.unattended:
        return
    progress("solving the original")
    truth.require_optima()
    if plan.declare_unused:
        unused.require_optima()


def _plates(network: Sealed, plan: Plan, horizon: Horizon, used: Sequence[int]) -> list[float]:
    """Copper-plate costs, where they are public. Of protected numbers nothing is told by a refusal: what depends on
    them is looked at after the noise."""
    plates = list[float]()
    if not (plan.source.conditional or plan.joint):
        grid = network.public_grid(plan.protection)
        demands = demands_in(horizon, grid)
        plates = copper_plates(grid, [Demand(demands.pd[index], demands.qd[index]) for index in used])
    check_scale(plan.share, plates or plan.published_costs or ())
    return plates


def _so_far(progress: Progress, spent: float) -> None:
    progress(f"working: {spent:.0f} AC-OPFs so far")


def draw_loss(network: Sealed, plan: Plan) -> float:
    """What the draw itself costs."""
    return plan.epsilon_lines if plan.joint else mechanism(plan.mechanism).loss(network, plan.epsilon_lines)


def draw(network: Sealed, plan: Plan, noise: Noise) -> Drawn:
    """Draw what the plan protects, once."""
    if plan.joint:
        return joint.perturb(network, plan.protection, plan.epsilon_lines, noise)
    method = mechanism(plan.mechanism)
    return Drawn(
        network.public_grid(plan.protection), method.perturb(network, plan.epsilon_lines, float(plan.alpha), noise)
    )


def _stated(plan: Plan, horizon: Horizon, used: Sequence[int], truth: Truth, unused: Truth) -> tuple[Fact, ...]:
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
    if plan.asked_totals and plan.totals == Source.PUBLISHED:
        known = plan.published_totals or {}
        facts += tuple(Fact(kind, None, known[kind], Source.PUBLISHED) for kind in plan.asked_totals)
    elif plan.asked_totals and plan.totals == Source.DECLARED:
        facts += truth.declare_totals(plan.asked_totals)
    return facts + (unused.declare(FactKind.UNUSED_COST) if plan.declare_unused else ())
