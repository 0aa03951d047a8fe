"""What a release would spend and make public, before anything is charged: for dry runs, for asking, for Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

from gridveil.errors import BudgetExceeded, PrivacyError
from gridveil.formats.exposed import Exposed
from gridveil.privacy.composition import Accounts, Assets, Charge, accounts
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.limit import DEFAULT_LIMIT
from gridveil.privacy.refusal import refusal
from gridveil.publish.describe import stays_public
from gridveil.publish.elements import SameAs, assets, otherwise, way
from gridveil.publish.plan import Plan
from gridveil.publish.record import spent_parts
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import Sealed
from gridveil.wall.facts import Source
from gridveil.wall.mechanisms import COST, RELATIVE, SURCHARGE, TOTAL, TOTALS
from gridveil.wall.protection import GROUP_WORDS, Group

LARGE_EPSILON = 10.0
LARGE_ALPHA = 1.0
"""A relative change; above it, and above that ε, a slip of the fingers is likelier than a wish."""
WIDEST = 1e5
"""Of noise on conductances (p.u.); no line of a network has one so large."""


@dataclass(frozen=True, eq=False)
class Preview:
    """What a release is charged at most, what its network has spent before and would have after, and what it opens.

    `questions` have to be answered with yes, `impossible` says why there can be no release.
    """

    charges: tuple[Charge, ...]
    before: Accounts
    after: Accounts
    not_protected: tuple[str, ...]
    questions: tuple[str, ...]
    impossible: str | None

    @property
    def loss(self) -> float:
        """What the release costs at most."""
        return sum(charge.loss for charge in self.charges)

    @property
    def refused(self) -> bool:
        return self.after.exceeded or self.impossible is not None

    def require(self, *, confirmed: bool) -> None:
        """Refuse what cannot be, what the limit forbids, and what nobody confirmed."""
        if self.impossible is not None:
            raise PrivacyError(f"{self.impossible}; nothing was charged")
        if self.after.exceeded:
            raise BudgetExceeded(refusal(self.before, self.after))
        if self.questions and not confirmed:
            raise PrivacyError(
                f"is this meant? {'; '.join(self.questions)}. Nothing was charged; say yes with --yes "
                "(in Python: confirmed=True)"
            )


def preview(network: Sealed, plan: Plan, ledger: Ledger | None, *, same_as: SameAs | None = None) -> Preview:
    """What a release would come to in a ledger, or in a new one."""
    loss = plan.epsilon_lines if plan.joint else mechanism(plan.mechanism).loss(network, plan.epsilon_lines)
    due = charges(plan, loss)
    found = assets(ledger, network.name, network.structure, same_as, plan.protection)
    if ledger is None:
        before, after = (accounts(found, [(found, one) for one in some], [(None, DEFAULT_LIMIT)]) for some in ([], due))
        namesake = None
    else:
        history = ledger.history()
        before, after = (history.accounts(found, some) for some in ([], due))
        namesake = history.namesake(found)
    public = stays_public(
        plan.words, network.structure, plan.source, spent_parts(plan, loss, asked=True),
        [one.mechanism for one in after.within], attended=not plan.unattended,
        protection=plan.protection if plan.joint else None, shape_public=plan.shape_public,
    )  # fmt: skip
    opened = () if ledger is None else _opened(plan, ledger, network, same_as)
    questions = (*_questions(plan, before, after, namesake), *opened)
    return Preview(tuple(due), before, after, tuple(public), questions, _impossible(plan))


def asked_too(seen: Preview, plan: Plan, exposed: tuple[Exposed, ...]) -> Preview:
    """The preview with a question for all of a protected group that would be published in shunts."""
    groups = {str(group) for group in Group if group in plan.protection}
    return replace(seen, questions=(*seen.questions, *(one.sentence for one in exposed if one.group in groups)))


def charges(plan: Plan, loss: float) -> list[Charge]:
    """What a release is charged for its draw, at a loss, and what it may be charged for its totals and its cost."""
    alphas = {str(group): alpha for group, alpha in plan.protection.alpha.items()}
    ways = way(plan.protection), otherwise(plan.protection)
    found = [Charge(loss, plan.reach, plan.words.unit, plan.mechanism, alphas, *ways)]
    if plan.epsilon_totals:
        s = plan.totals_sensitivity
        found.append(Charge(plan.epsilon_totals, s, TOTAL, TOTALS, dict.fromkeys(alphas, s)))
    if plan.source is Source.PRIVATE:
        s = plan.cost_sensitivity
        found.append(Charge(plan.epsilon_cost, s, SURCHARGE, COST, dict.fromkeys(alphas, s)))
    return found


def _questions(plan: Plan, before: Accounts, after: Accounts, namesake: Assets | None) -> tuple[str, ...]:
    """What is asked about before it is spent; by public data and the ledger alone."""
    found = []
    if plan.epsilon > LARGE_EPSILON:
        found.append(f"epsilon = {plan.epsilon:g} protects hardly anything")
    largest = max(plan.protection.alpha.values())
    if plan.words.unit == RELATIVE and largest > LARGE_ALPHA:
        found.append(f"alpha = {largest:g} means {100 * largest:g} per cent")
    if 0 < 2 * before.largest * (1 + 1e-9) < after.largest:
        found.append(f"what the network has spent more than doubles, from {before.largest:.6g} to {after.largest:.6g}")
    if namesake is not None:
        found.append(
            f"the ledger knows a network '{namesake.name}' of {len(namesake.keys)} elements, most of which this one "
            "does not have: lines of other buses have accounts of their own (if buses were renumbered, give --same-as)"
        )
    return tuple(found)


def _opened(plan: Plan, ledger: Ledger, network: Sealed, same_as: SameAs | None) -> list[str]:
    """Groups that an earlier release protected and this one would publish as they are."""
    everything = assets(ledger, network.name, network.structure, same_as)
    charges = [entry for entry in ledger.history().earlier(everything) if entry.kind == "charge"]
    drawn = [entry.details for entry in charges if entry.details["mechanism"] not in (COST, TOTALS)]
    usual = [group for group in Group if group is not Group.LINES]
    kept = {group for details in drawn for group in Group if group not in details.get("bare", usual)}
    return [
        f"{GROUP_WORDS[group]} would be published as they are, which an earlier release of this network protected"
        for group in Group
        if group in kept and group not in plan.protection
    ]


def _impossible(plan: Plan) -> str | None:
    """Noise that no repair takes back: typically larger than the bounds within which released values lie."""
    scale = max(float(plan.alpha), *plan.protection.alpha.values()) / plan.epsilon_lines
    relative = plan.words.unit == RELATIVE
    most = log(plan.bound_factor) if relative else WIDEST
    if scale <= most:
        return None
    much = f"a factor of {plan.bound_factor:g}, the bounds of the repair" if relative else f"{WIDEST:g} p.u."
    return f"alpha/epsilon = {scale:.3g} means noise beyond {much}: no network could be repaired from it"
