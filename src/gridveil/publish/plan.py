"""`Plan`: what an operator asks for, checked before anything is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import PrivacyError, ReleaseError
from gridveil.grid.profile import equally_spaced
from gridveil.publish.values import alpha_value, require_positive, share_value
from gridveil.shown import brief
from gridveil.wall.draw import Fidelity
from gridveil.wall.facts import (
    DIGITS,
    LOWEST,
    SENSITIVITY,
    SHARE,
    TOTALS_SENSITIVITY,
    TOTALS_SHARE,
    FactKind,
    Source,
)
from gridveil.wall.mechanisms import JOINT, PUBLISHED, RELATIVE, MechanismWords, mechanism_words
from gridveil.wall.protection import LARGEST_ALPHA, Group, Protection, Ratings, group
from gridveil.wall.target import EFFORT, LEAST_EFFORT, Target

MOST = 1e6
"""Of ε and of factors: what is beyond means nothing, and would have no place in a manifest."""
LARGEST_COST = 1e15


@dataclass(frozen=True)
class Plan:
    """What is asked for: ε, α, β, the mechanism, and what is to be protected. Checked at once; nothing is charged by
    it.

    Attributes:
        epsilon: The total budget.
        alpha: The change that ε protects: '10%' or 0.1 with `log`, '0.1pu' or 0.1 with the others.
        beta: How far the optimal cost may lie from the public one: '1%' or 0.01.
        mechanism: `log`, `additive` or `paper`.
        bound_factor: How far released parameters may lie from the noisy ones.
        published_cost: The dispatch cost, if it is public already; with a profile one per used step.
        loss_within: Keep active losses within this factor, too.
        keep_names: Make names of buses public.
        steps: How many steps of a profile are used, equally spaced; all if None.
        declare_unused: State the costs of unused steps without noise.
        cost: Where the public dispatch cost comes from: 'private' (noised, for the share `cost_share` of ε; the
            default), 'derived' (from the noisy numbers: nothing is asked), 'declared' (rounded, no noise: ε is then
            conditional) or 'published'.
        cost_share: The share of ε for a private cost.
        cost_sensitivity: Changes of the cost up to this share are protected. A constant, not a guess.
        unattended: Leave out the question whether the original has an optimal power flow, for those who answer requests
            of others: then neither a refusal nor an exit code says anything of it.
        target: What the repair stays near to: values as 'drawn', or 'shrunk' by public data.
        effort: A repair that costs more than so many AC-OPFs is given up.
        check_steps: How many unused steps are solved on the released network and reported; all if None.
        protect: 'lines' (the default), 'ratings', 'loads', 'limits', 'costs', several of them, or 'all'.
        alphas: An α of their own for some groups.
        ratings: Protected by themselves ('own') or as rating·|z| ('with-impedance').
        classes: Units of equal cost curves are one element.
        totals: Where demand, capacity and merit-order cost of what is protected come from, as for `cost`.
        published_totals: These, if they are public already.
        totals_share: The share of ε for private totals.
        totals_sensitivity: Changes of them up to this share are protected.
        room: The share of every range that a repaired dispatch leaves free.
        shape_public: With protected loads a profile that moves each load for itself is declared public.
        keep_ids: Make ids of branches and units public.
        invented_cost: The price of units that nobody gave one, for the manifest.

    Raises:
        PrivacyError: A number that protects nothing, or groups and α that contradict each other.
        ReleaseError: Another contradiction.

    Examples:
        >>> gv.Plan(epsilon=1.0, alpha="10%", beta="1%").alpha
        0.1
        >>> gv.Plan(1.0, "30%", "1%", protect="all", alphas={"ratings": "10%"}).mechanism
        'joint'
    """

    epsilon: float
    alpha: float | str
    beta: float | str
    mechanism: str = "log"
    bound_factor: float = 50.0
    published_cost: float | Sequence[float] | FloatArray | None = None
    loss_within: float | None = None
    keep_names: bool = False
    steps: int | None = None
    declare_unused: bool = False
    cost: str | None = None
    cost_share: float = SHARE
    cost_sensitivity: float = SENSITIVITY
    unattended: bool = False
    target: str = Target.DRAWN
    effort: float = EFFORT
    check_steps: int | None = None
    protect: str | Sequence[str] | None = None
    alphas: Mapping[str, float | str] | None = None
    ratings: str = Ratings.OWN
    classes: bool = False
    totals: str = Source.PRIVATE
    published_totals: Mapping[str, float] | None = None
    totals_share: float = TOTALS_SHARE
    totals_sensitivity: float = TOTALS_SENSITIVITY
    room: float = 0.0
    shape_public: bool = False
    keep_ids: bool = False
    invented_cost: float | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.mechanism not in PUBLISHED:
            raise PrivacyError(f"there is no mechanism '{self.mechanism}' for releases; choose {', '.join(PUBLISHED)}")
        self._name_mechanism()
        object.__setattr__(self, "alpha", alpha_value(self.alpha, self.words))
        object.__setattr__(self, "beta", share_value("beta", self.beta))
        for name in ("epsilon", "alpha", "beta"):
            require_positive(name, getattr(self, name))
        if self.epsilon > MOST:
            raise PrivacyError(f"epsilon = {self.epsilon:g} protects nothing; give {MOST:g} or less")
        if self.share >= 1:
            raise ReleaseError(
                f"beta = {self.share:g} would allow any cost; give a share below 1, such as 0.01 for 1 %"
            )
        for alpha in (float(self.alpha), *self.protection.alpha.values()):
            require_positive("alpha", alpha)
            if self.words.unit == RELATIVE and alpha > LARGEST_ALPHA:
                raise PrivacyError(
                    f"alpha = {alpha:g} is relative for the mechanism '{self.mechanism}' (0.1 is ten per cent); "
                    "such a change is no protection but noise, give a value of 10 or less"
                )
        if not 1 < self.bound_factor <= MOST:
            raise ReleaseError(f"the bound factor must be a number above 1, and {MOST:g} at most")
        if self.steps is not None and self.steps < 1:
            raise ReleaseError(f"{self.steps} steps cannot be used; give 1 or more")
        if self.check_steps is not None and self.check_steps < 0:
            raise ReleaseError(f"{self.check_steps} steps cannot be checked; give 0 or more")
        if self.loss_within is not None and not 1 < self.loss_within <= MOST:
            raise ReleaseError(f"losses can be kept within a factor above 1, such as 1.5, and {MOST:g} at most")
        if not (isfinite(self.effort) and self.effort >= LEAST_EFFORT):
            raise ReleaseError(
                f"the effort is a number of AC-OPFs from {LEAST_EFFORT:g} on, which most repairs need, such as 5000"
            )
        if self.target not in tuple(Target):
            raise ReleaseError(f"there is no target '{self.target}'; choose {', '.join(Target)}")
        self._check_cost()
        self._check_totals()

    def _name_mechanism(self) -> None:
        """What protects more than lines is `joint`; a plan keeps its groups and their α in full."""
        if self.ratings not in tuple(Ratings):
            raise PrivacyError(f"ratings cannot be protected '{self.ratings}'; choose {', '.join(Ratings)}")
        named = (
            self.protect if self.protect is not None else tuple(Group) if self.mechanism == JOINT else (Group.LINES,)
        )
        names = [one for one in named.split(",") if one.strip()] if isinstance(named, str) else list(named)
        groups = tuple(Group) if [one.strip().lower() for one in names] == ["all"] else tuple(map(group, names))
        chosen = tuple(one for one in Group if one in groups)
        if chosen != (Group.LINES,):
            if self.mechanism not in ("log", JOINT):
                raise PrivacyError(
                    f"the mechanism '{self.mechanism}' protects lines alone; leave it out for other groups"
                )
            object.__setattr__(self, "mechanism", JOINT)
        elif self.mechanism == JOINT:
            object.__setattr__(self, "mechanism", "log")
        object.__setattr__(self, "protect", chosen)
        given = {group(name): alpha_value(value, self.words) for name, value in (self.alphas or {}).items()}
        if strange := [one for one in given if one not in chosen]:
            raise PrivacyError(
                f"there is an alpha for {strange[0]}, which is not protected; protect it or leave it out"
            )
        if not self.joint and Group.LINES in given:  # what is drawn alone has one α
            object.__setattr__(self, "alpha", given.pop(Group.LINES))
        object.__setattr__(self, "alphas", {str(one): given[one] for one in Group if one in given} or None)

    def _check_totals(self) -> None:
        groups = self.protect or ()
        if self.classes and Group.COSTS not in groups:
            raise PrivacyError("cost classes are those of protected costs; protect costs, or leave --cost-classes out")
        if self.ratings == Ratings.WITH_IMPEDANCE and not {Group.LINES, Group.RATINGS} <= set(groups):
            raise PrivacyError("ratings move with impedances only if both are protected; protect them, or leave it out")
        if self.shape_public and Group.LOADS not in groups:
            raise PrivacyError("the shape of a profile is public anyway, unless loads are protected; leave it out")
        if self.totals not in tuple(Source):
            raise ReleaseError(f"there is no source '{self.totals}' of totals; choose {', '.join(Source)}")
        if not 0 <= self.room < 0.5:
            raise ReleaseError(f"room = {self.room:g} is not a share of a range that can be left free; give 0 to 0.49")
        for name, value in (("the totals' share of epsilon", self.totals_share), ("s", self.totals_sensitivity)):
            if not 0 < value < 1:
                raise PrivacyError(f"{name} = {value:g} must lie between 0 and 1; nothing was charged")
        if self.epsilon_lines <= 0:
            raise PrivacyError("cost and totals take all of epsilon, and leave none for the numbers themselves")
        wanted, have = {str(one) for one in self.asked_totals}, set(self.published_totals or {})
        if self.totals == Source.PUBLISHED and wanted != have:
            raise ReleaseError(
                f"published totals are needed for {', '.join(sorted(wanted)) or 'nothing'}, and no others"
            )
        if self.totals != Source.PUBLISHED and have:
            raise ReleaseError(
                f"published totals and --totals {self.totals} contradict each other; give one of the two"
            )
        if any(not 0 < value < LARGEST_COST for value in (self.published_totals or {}).values()):
            raise ReleaseError(f"a published total must be a positive number below {LARGEST_COST:g}")
        if self.unattended and self.asked_totals and self.totals == Source.DECLARED:
            raise ReleaseError("an unattended release declares nothing; choose --totals private, derived or published")

    @property
    def protection(self) -> Protection:
        """What is protected, with the α of every group."""
        alphas = {group: float((self.alphas or {}).get(group, self.alpha)) for group in self.protect or ()}
        return Protection({Group(name): value for name, value in alphas.items()}, Ratings(self.ratings), self.classes)

    @property
    def joint(self) -> bool:
        """Does it protect more than lines?"""
        return self.mechanism == JOINT

    @property
    def asked_totals(self) -> tuple[FactKind, ...]:
        """Totals of protected numbers."""
        pairs = ((Group.LOADS, FactKind.DEMAND), (Group.LIMITS, FactKind.CAPACITY), (Group.COSTS, FactKind.MERIT))
        return tuple(kind for group, kind in pairs if group in (self.protect or ()))

    @property
    def epsilon_totals(self) -> float:
        """The part of ε for totals."""
        return self.totals_share * self.epsilon if self.asked_totals and self.totals == Source.PRIVATE else 0.0

    @property
    def lowest(self) -> float:
        """The least surcharge that counts: nothing, unless it is told from a noisy merit-order cost."""
        return LOWEST if Group.COSTS in (self.protect or ()) else 0.0

    @property
    def reach(self) -> float:
        """The least α: changes of an element up to this cost no more than ε, whatever their groups."""
        return min(self.protection.alpha.values()) if self.joint else float(self.alpha)

    def _check_cost(self) -> None:
        if self.cost not in (None, *Source):
            raise ReleaseError(f"there is no source '{self.cost}' of the cost; choose {', '.join(Source)}")
        costs = self.published_costs
        if costs == ():
            raise ReleaseError("the list of published costs is empty; give one for each used step, or none at all")
        if not all(0 < abs(cost) < LARGEST_COST for cost in costs or ()):
            raise ReleaseError(f"a published cost must be a number other than 0, below {LARGEST_COST:g}")
        if costs is not None and self.cost not in (None, Source.PUBLISHED):
            raise ReleaseError(f"a published cost and --cost {self.cost} contradict each other; give one of the two")
        if costs is None and self.cost == Source.PUBLISHED:
            raise ReleaseError("--cost published needs the cost: give --published-cost")
        for name, value in (("the cost's share of epsilon", self.cost_share), ("s", self.cost_sensitivity)):
            if not 0 < value < 1:
                raise PrivacyError(f"{name} = {value:g} must lie between 0 and 1; nothing was charged")
        if self.source is Source.DECLARED and self.share <= 0.5 * 10.0 ** (1 - DIGITS) * (1 + self.share):
            raise ReleaseError(
                f"beta = {self.share:g} is finer than a cost declared to {DIGITS} digits; "
                "give --published-cost or a larger beta"
            )
        if self.declare_unused and not self.source.conditional:
            raise ReleaseError(
                f"--declare-unused makes true costs public without noise, which --cost {self.source} promises not to "
                "do; leave it out, or choose --cost declared"
            )
        if self.unattended and self.mechanism == "paper":
            raise PrivacyError(
                "the loss of 'paper' depends on the original's ratios, so that its refusal at a limit would tell them: "
                "an unattended release needs another mechanism"
            )
        if self.unattended and (self.source is Source.DECLARED or self.declare_unused):
            raise ReleaseError(
                "an unattended release cannot declare costs: a network without an optimal power flow would be told "
                "apart; choose --cost private, derived or published"
            )

    @property
    def share(self) -> float:
        """β as a number."""
        return float(self.beta)

    @property
    def source(self) -> Source:
        """Where the public cost comes from."""
        if self.cost is not None:
            return Source(self.cost)
        return Source.PRIVATE if self.published_costs is None else Source.PUBLISHED

    @property
    def published_costs(self) -> tuple[float, ...] | None:
        """One published cost per used step, or `None`."""
        if self.published_cost is None:
            return None
        return tuple(float(cost) for cost in np.ravel(self.published_cost))

    @property
    def words(self) -> MechanismWords:
        """What is public of the mechanism."""
        return mechanism_words(self.mechanism)

    @property
    def epsilon_cost(self) -> float:
        """The part of ε for the dispatch cost, if it is asked for."""
        return self.cost_share * self.epsilon if self.source is Source.PRIVATE else 0.0

    @property
    def epsilon_lines(self) -> float:
        """The part of ε for the lines, and what else is drawn with them."""
        return self.epsilon - self.epsilon_cost - self.epsilon_totals

    @property
    def cost_scale(self) -> float:
        """The scale of the noise on the surcharge."""
        return self.cost_sensitivity / self.epsilon_cost

    @property
    def fidelity(self) -> Fidelity:
        return Fidelity(self.share, self.bound_factor, self.loss_within, Target(self.target), self.effort, self.room)

    def used(self, horizon: int) -> IntArray:
        """Which steps of a horizon are used; refuses what the profile cannot give."""
        if self.steps is not None and self.steps > horizon:
            have = f"the profile has {horizon}" if horizon > 1 else "there is one without a longer profile"
            raise ReleaseError(f"{self.steps} steps are wanted, but {have}; give fewer --steps or another --profile")
        used = equally_spaced(horizon, horizon if self.steps is None else self.steps)
        costs = self.published_costs
        if costs is not None and len(costs) != len(used):
            raise ReleaseError(f"{len(costs)} published costs for {len(used)} used steps; give one for each, in order")
        if self.declare_unused and len(used) == horizon:
            raise ReleaseError("--declare-unused declares nothing: every step is used; leave it out")
        return used
