"""Networks that a plan cannot protect, told before anything is charged; by structure, but for the order of limits."""

from __future__ import annotations

import numpy as np

from gridveil.errors import ReleaseError
from gridveil.grid import LineKind
from gridveil.publish.plan import Plan
from gridveil.sealed.refuse import require_limits_in_order
from gridveil.sealed.split import Sealed
from gridveil.wall.protection import Group


def check_network(plan: Plan, network: Sealed) -> None:
    """Refuse a network in which there is nothing to protect."""
    groups, structure = plan.protect or (), network.structure
    units = structure.generators
    if Group.LINES in groups and not np.any(structure.lines.kind == LineKind.LOSSY):
        raise ReleaseError(
            "no line of the network has a positive resistance, so the paper's secret does not exist in it; "
            "check the branch table's r column"
        )
    if not plan.joint:
        return
    if Group.LOADS in groups and not np.any(structure.buses.pd_sign > 0):
        raise ReleaseError("no bus draws power, so that there is no load to protect; leave loads out")
    if Group.LIMITS in groups and not np.any(units.pmax_sign > 0):
        raise ReleaseError("no unit gives power, so that there is no capacity to protect; leave limits out")
    if Group.RATINGS in groups and not np.any(structure.lines.rated):
        raise ReleaseError("no line has a rating, so that there is none to protect; leave ratings out")
    if np.any(units.piecewise) and (Group.COSTS in groups or Group.LIMITS in groups):
        raise ReleaseError(
            "piecewise costs have breakpoints, which tell limits and prices as they are: give polynomial costs, or "
            "leave limits and costs out of what is protected"
        )
    if Group.COSTS in groups:
        if np.any(units.reactive):
            raise ReleaseError("costs of reactive power cannot be protected; take them out, or leave costs out")
        if not np.any(units.cost_sign[:, 1:]):
            raise ReleaseError("no unit has a cost, so that there is none to protect; give costs, or leave costs out")
    if Group.LIMITS in groups:
        require_limits_in_order(network)
