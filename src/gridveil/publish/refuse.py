"""Networks that a plan cannot protect, told before anything is charged; by structure, but for the order of limits."""

from __future__ import annotations

import numpy as np

from gridveil.casefile.labels import Labels
from gridveil.errors import ReleaseError
from gridveil.grid import LineKind, Structure
from gridveil.publish.labels import LONGEST_LABEL, fit_label
from gridveil.publish.plan import Plan
from gridveil.sealed.refuse import require_limits_in_order
from gridveil.sealed.split import Sealed
from gridveil.wall.protection import Group
from gridveil.wall.shares import takes_shares


def check_labels(plan: Plan, labels: Labels) -> None:
    """Refuse to keep names or ids that a network has not, or that cannot stand in a file."""
    labels = labels.kept(names=plan.keep_names, ids=plan.keep_ids)
    for words, wanted, texts in (
        ("names", plan.keep_names, (labels.bus_name,)),
        ("ids", plan.keep_ids, (labels.branch_id, labels.gen_id)),
    ):
        if wanted and None in texts:
            raise ReleaseError(f"{words} are to be kept, and the network has none; leave {words} out of --keep")
        if wanted and not all(fit_label(text) for part in texts for text in part or ()):
            raise ReleaseError(
                f"one of the {words} has an unseen character or more than {LONGEST_LABEL} letters; "
                "correct it, or keep none"
            )


def check_sealed(network: object, plan: object = None) -> None:
    """Refuse what is no sealed network, and what is no plan."""
    if not isinstance(network, Sealed):
        given = repr(network) if isinstance(network, str) else f"an object of type '{type(network).__name__}'"
        raise ReleaseError(f"{given} is no sealed network; give what gv.seal makes of it")
    if plan is not None and not isinstance(plan, Plan):
        raise ReleaseError(f"an object of type '{type(plan).__name__}' is no plan; give gv.Plan(epsilon, alpha, beta)")


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
    if takes_shares(plan.protection):
        _check_breakpoints(structure)
    if Group.COSTS in groups:
        if np.any(units.reactive):
            raise ReleaseError("costs of reactive power cannot be protected; take them out, or leave costs out")
        if not np.any(units.priced):
            raise ReleaseError("no unit has a cost, so that there is none to protect; give costs, or leave costs out")
    if Group.LIMITS in groups:
        require_limits_in_order(network)


def _check_breakpoints(structure: Structure) -> None:
    """Refuse piecewise costs whose breakpoints would tell limits: they are taken as shares of pmax, or not at all."""
    units = structure.generators
    without = np.flatnonzero(units.piecewise & ((units.pmax_sign == 0) | np.isinf(units.pmax_sign)))
    if len(without):
        bus = structure.buses.number[units.bus[without[0]]]
        raise ReleaseError(
            f"a unit at bus {bus} has a piecewise cost, and a pmax that is zero or infinite, of which its breakpoints "
            "cannot be shares: give it a polynomial cost, or leave limits and costs out of what is protected"
        )
    if np.any(units.piecewise_q):
        raise ReleaseError(
            "piecewise costs of reactive power have breakpoints, which tell limits as they are: take them out, or "
            "leave limits and costs out of what is protected"
        )
