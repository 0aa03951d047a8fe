"""What the ledger keeps of a draw, so that it can be audited: noisy values, which are private already, and the plan."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gridveil.arrays import FloatArray
from gridveil.grid import Grid
from gridveil.grid.profile import Profile
from gridveil.publish.plan import Plan
from gridveil.wall.draw import Drawn, NoisyLines
from gridveil.wall.horizon import Horizon, Shape


@dataclass(frozen=True, eq=False)
class KeptDraw:
    """The noisy lines of a release, its plan, whether it has a profile; of a joint one the noisy grid,
    what came out by coordinates, and the public shape of the profile."""

    noisy: NoisyLines
    plan: dict[str, Any]
    profile: bool
    grid: Grid | None = None
    outcome: FloatArray | None = None
    factors: tuple[FloatArray, FloatArray] | None = None


def kept_draw(drawn: Drawn, plan: Plan, *, profile: bool, horizon: Horizon) -> KeptDraw:
    """What is kept of a draw; of its horizon the shape, if that is what is public of it."""
    if not plan.joint:
        return KeptDraw(drawn.lines, plan_record(plan), profile)
    factors = (horizon.pd, horizon.qd) if isinstance(horizon, Shape) else None
    return KeptDraw(drawn.lines, plan_record(plan), profile, drawn.grid, drawn.outcome, factors)


def kept_horizon(kept: KeptDraw, profile: Profile) -> Horizon:
    """The public horizon again, from that and the demands that were released."""
    return profile if kept.factors is None else Shape(profile.step, *kept.factors)


def plan_record(plan: Plan) -> dict[str, Any]:
    """A plan in plain values."""
    record = {one.name: getattr(plan, one.name) for one in fields(plan)}
    costs = plan.published_costs
    return {
        **record,
        "published_cost": None if costs is None else list(costs),
        "target": str(plan.target),
        "protect": [str(one) for one in plan.protect or ()],
    }


def recorded_plan(record: dict[str, Any]) -> Plan:
    """The plan again."""
    return Plan(**record)
