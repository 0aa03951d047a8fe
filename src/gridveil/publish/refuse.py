"""Networks that a plan cannot protect, told before anything is charged."""

from __future__ import annotations

import numpy as np

from gridveil.casefile.labels import Labels
from gridveil.errors import ReleaseError
from gridveil.grid import Grid, LineKind
from gridveil.publish.plan import Plan
from gridveil.wall.protection import Group


def check_labels(plan: Plan, labels: Labels) -> None:
    """Refuse to keep names or ids that a network has not, or that cannot stand in a file."""
    for words, wanted, texts in (
        ("names", plan.keep_names, (labels.bus_name,)),
        ("ids", plan.keep_ids, (labels.branch_id, labels.gen_id)),
    ):
        if wanted and None in texts:
            raise ReleaseError(f"{words} are to be kept, and the network has none; leave {words} out of --keep")
        if wanted and not all(text.isprintable() for part in texts for text in part or ()):
            raise ReleaseError(f"one of the {words} has a line break or an unseen character; correct it, or keep none")


def check_network(plan: Plan, grid: Grid) -> None:
    """Refuse a network in which there is nothing to protect."""
    groups = plan.protect or ()
    if Group.LINES in groups and not np.any(grid.lines.kind == LineKind.LOSSY):
        raise ReleaseError(
            "no line of the network has a positive resistance, so the paper's secret does not exist in it; "
            "check the branch table's r column"
        )
    if not plan.joint:
        return
    if Group.LOADS in groups and not np.any(grid.buses.pd > 0):
        raise ReleaseError("no bus draws power, so that there is no load to protect; leave loads out")
    if Group.LIMITS in groups and not np.any(grid.generators.pmax > 0):
        raise ReleaseError("no unit gives power, so that there is no capacity to protect; leave limits out")
    if Group.RATINGS in groups and not np.any(np.isfinite(grid.lines.rating)):
        raise ReleaseError("no line has a rating, so that there is none to protect; leave ratings out")
    if len(grid.cost_p.segment_generator) and (Group.COSTS in groups or Group.LIMITS in groups):
        raise ReleaseError(
            "piecewise costs have breakpoints, which tell limits and prices as they are: give polynomial costs, or "
            "leave limits and costs out of what is protected"
        )
    if Group.COSTS in groups:
        if np.any(grid.cost_q.polynomial != 0) or len(grid.cost_q.segment_generator):
            raise ReleaseError("costs of reactive power cannot be protected; take them out, or leave costs out")
        if not np.any(grid.cost_p.polynomial[:, 1:]) and not len(grid.cost_p.segment_generator):
            raise ReleaseError("no unit has a cost, so that there is none to protect; give costs, or leave costs out")
    wrong = np.flatnonzero(grid.generators.pmin > grid.generators.pmax)
    if Group.LIMITS in groups and len(wrong):
        bus = grid.buses.number[grid.generators.bus[wrong[0]]]
        raise ReleaseError(f"a unit at bus {bus} has pmin above pmax; put its limits right")
