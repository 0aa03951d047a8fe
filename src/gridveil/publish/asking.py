"""What the truth is asked for beside its draw: paid for first, noised, and kept for an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gridveil.privacy.composition import Charge
from gridveil.privacy.noise import Noise
from gridveil.publish.plan import Plan
from gridveil.publish.spending import Purse
from gridveil.sealed.facts import Truth
from gridveil.wall.codec import pack
from gridveil.wall.facts import Fact
from gridveil.wall.mechanisms import COST, TOTALS
from gridveil.wall.protection import Group


@dataclass(frozen=True, eq=False)
class Asking:
    """The questions of one release, with the charges that each may cost."""

    truth: Truth
    plan: Plan
    noise: Noise
    purse: Purse
    charges: Sequence[Charge]
    progress: Callable[[str], None]

    def cost(self, plates: Sequence[float]) -> Fact:
        """The dispatch cost, as a surcharge over public copper-plate costs.

        Where loads or limits are secret and costs are not, it is one over the true ones: a demand that is off by some
        per cent costs some per cent more, and no network has it for less.
        """
        plan = self.plan
        own = plan.joint and Group.COSTS not in plan.protection
        self.progress("asking for the dispatch cost, with noise")
        self.purse.pay(self._charge(COST))
        over = None if own else plates
        answer = self.truth.ask_surcharge(over, plan.epsilon_cost, plan.cost_sensitivity, self.noise, plan.lowest)
        self.purse.keep(pack(answer))
        return answer

    def totals(self) -> tuple[Fact, ...]:
        """Totals of what is protected, if the plan has them private."""
        plan = self.plan
        if not plan.epsilon_totals:
            return ()
        self.progress("asking for totals, with noise")
        self.purse.pay(self._charge(TOTALS), then=[one for one in self.charges if one.mechanism == COST])
        answers = self.truth.ask_totals(plan.asked_totals, plan.epsilon_totals, plan.totals_sensitivity, self.noise)
        self.purse.keep(pack(tuple(answers)))
        return tuple(answers)

    def _charge(self, name: str) -> Charge:
        return next(one for one in self.charges if one.mechanism == name)
