"""What a format cannot hold, taken off a case before it is written: what is left, and a sentence if that is less.

What is written is exactly what is left, so that a file can be read again and compared with it to the last digit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.labels import IDS, NAMES
from gridveil.casefile.service import branches_in_service, bus_rows, buses_in_service, generators_in_service
from gridveil.formats.imported import Identity, Imported, numbered
from gridveil.formats.words import counted

UNLIMITED = 9999.0
"""What PSS/E has for a limit that is none."""
_SHORT = re.compile(r"[A-Za-z0-9&@*_#.+-]{1,2}")


def held(found: Imported, cannot_hold: Sequence[str]) -> Imported:
    """What is left of a case; its `losses` say what is not, in addition to those of its reading."""
    for name in cannot_hold:
        found, sentence = _LOSSES[name](found)
        if sentence is not None:
            found = replace(found, losses=(*found.losses, sentence))
    return found


def _with(found: Imported, case: Case) -> Imported:
    return replace(found, case=case)


def _costs(found: Imported) -> tuple[Imported, str | None]:
    count = len(found.case.gencost)
    if count == 0:
        return found, None
    return _with(found, replace(found.case, gencost=np.zeros((0, 0)))), "the generator costs"


def _reactive_costs(found: Imported) -> tuple[Imported, str | None]:
    case, units = found.case, len(found.case.gen)
    if len(case.gencost) <= units:
        return found, None
    return _with(found, replace(case, gencost=case.gencost[:units])), "the costs of reactive power"


def _startup(found: Imported) -> tuple[Imported, str | None]:
    cost = found.case.gencost.copy()
    if len(cost) == 0 or not np.any(cost[:, [c.COST_STARTUP, c.COST_SHUTDOWN]]):
        return found, None
    cost[:, [c.COST_STARTUP, c.COST_SHUTDOWN]] = 0
    return _with(found, replace(found.case, gencost=cost)), "the costs of starting and stopping units"


def _angle_limits(found: Imported) -> tuple[Imported, str | None]:
    branch = found.case.branch
    if len(branch) == 0 or branch.shape[1] <= c.ANGLE_MAX:
        return found, None
    low, high = branch[:, c.ANGLE_MIN], branch[:, c.ANGLE_MAX]
    limited = ~(((low == 0) & (high == 0)) | ((low <= -360) & (high >= 360)))
    branch = branch.copy()
    branch[:, c.ANGLE_MIN], branch[:, c.ANGLE_MAX] = -360, 360
    count = int(np.count_nonzero(limited))
    said = f"the angle limits of {counted(count, 'branch', 'branches')}" if count else None
    return _with(found, replace(found.case, branch=branch)), said


def _transformer_charging(found: Imported) -> tuple[Imported, str | None]:
    """Half of it stands at each end, behind the tap at the first: as shunts of the buses the currents are the same."""
    case = found.case
    if len(case.branch) == 0:
        return found, None
    branch, bus = case.branch.copy(), case.bus.copy()
    moved = ((branch[:, c.RATIO] != 0) | (branch[:, c.SHIFT] != 0)) & (branch[:, c.B] != 0)
    live = moved & branches_in_service(case)
    tap = np.where(branch[:, c.RATIO] == 0, 1.0, branch[:, c.RATIO])
    half = branch[:, c.B] / 2 * case.base_mva
    np.add.at(bus[:, c.BS], bus_rows(case, branch[live, c.FROM]), (half / (tap * tap))[live])
    np.add.at(bus[:, c.BS], bus_rows(case, branch[live, c.TO]), half[live])
    branch[moved, c.B] = 0
    count = int(np.count_nonzero(live))
    if count == 0:
        return _with(found, replace(case, branch=branch)), None
    said = f"the charging of {counted(count, 'transformer')} within their ratings (as shunts of their ends)"
    return _with(found, replace(case, bus=bus, branch=branch)), said


def _infinite(found: Imported) -> tuple[Imported, str | None]:
    """Limits of units that are infinite become PSS/E's 9999; ratings that are become 0, which means none."""
    case = found.case
    gen, branch, bus = case.gen.copy(), case.branch.copy(), case.bus.copy()
    said = None
    if len(gen):
        limits = gen[:, [c.QMAX, c.QMIN, c.PMAX, c.PMIN]]
        count = int(np.count_nonzero(np.any(np.isinf(limits), axis=1)))
        gen = np.nan_to_num(gen, nan=0.0, posinf=UNLIMITED, neginf=-UNLIMITED)
        said = f"the infinite limits of {counted(count, 'unit')}: {UNLIMITED:g} stands for them" if count else None
    if len(branch):
        rates = branch[:, [c.RATE_A, c.RATE_B, c.RATE_C]]
        branch[:, [c.RATE_A, c.RATE_B, c.RATE_C]] = np.where(np.isfinite(rates), rates, 0.0)
        branch = np.nan_to_num(branch, nan=0.0, posinf=360.0, neginf=-360.0)
    bus = np.nan_to_num(bus, nan=0.0, posinf=UNLIMITED, neginf=-UNLIMITED)
    return _with(found, replace(case, gen=gen, branch=branch, bus=bus)), said


def _out_of_service(found: Imported) -> tuple[Imported, str | None]:
    """Rows out of service, areas and zones, second ratings and bases of units: nothing that a network needs."""
    case, identity = found.case, found.identity
    buses, units, lines = buses_in_service(case), generators_in_service(case), branches_in_service(case)
    names = identity.bus_names
    count = sum(int(np.count_nonzero(~live)) for live in (buses, units, lines))
    said = [counted(count, "row") + " out of service"] if count else []
    bus, gen, branch = case.bus[buses].copy(), case.gen[units].copy(), case.branch[lines].copy()
    if np.any(bus[:, [6, 10]] != 1):
        said.append("areas and zones")
    bus[:, [6, 10]] = 1
    if len(branch) and np.any(branch[:, [c.RATE_B, c.RATE_C]]):
        said.append("second and third ratings")
    if len(branch):
        branch[:, [c.RATE_B, c.RATE_C]] = 0
        branch[np.isinf(branch[:, c.RATE_A]), c.RATE_A] = 0
    if len(gen) and np.any(gen[:, c.MBASE] != case.base_mva):
        said.append("bases of units")
    if len(gen):
        gen[:, c.MBASE] = case.base_mva
    cost = case.gencost
    if len(cost):
        cost = cost[np.resize(units, len(cost))]
    case = replace(case, bus=bus, gen=gen, branch=branch, gencost=cost)
    identity = Identity(
        tuple(name for name, live in zip(identity.circuit, lines, strict=True) if live),
        tuple(name for name, live in zip(identity.machine, units, strict=True) if live),
        None if names is None else tuple(name for name, live in zip(names, buses, strict=True) if live),
    )
    return replace(found, case=case, identity=identity), ", ".join(said) or None


def _extra_columns(found: Imported) -> tuple[Imported, str | None]:
    """Ramp rates, capability curves, participation; flows and multipliers of a solved case."""
    case, said = found.case, []
    gen, branch, bus = case.gen, case.branch, case.bus
    if len(gen) and np.any(np.nan_to_num(gen[:, 10:]) != 0):
        said.append("ramp rates, capability curves or multipliers of units")
    if len(branch) and np.any(np.nan_to_num(branch[:, 13:]) != 0):
        said.append("the solved flows of branches")
    if np.any(np.nan_to_num(bus[:, 13:]) != 0):
        said.append("columns of buses beyond the 13th")
    said += [f"the field {name}" for name in case.extras if name not in (*NAMES, *IDS)]
    units = np.zeros((len(gen), 21))
    if len(gen):
        units[:, :10] = gen[:, :10]
        units[:, c.GEN_STATUS] = gen[:, c.GEN_STATUS] > 0
    lines = branch[:, :13].copy() if len(branch) else np.zeros((0, 13))
    if len(branch) and branch.shape[1] <= c.ANGLE_MAX:
        lines = np.hstack([branch[:, : c.ANGLE_MIN], np.tile([-360.0, 360.0], (len(branch), 1))])
    if len(lines):
        lines[:, c.BRANCH_STATUS] = lines[:, c.BRANCH_STATUS] != 0
        shifted = (lines[:, c.RATIO] == 0) & (lines[:, c.SHIFT] != 0)
        lines[shifted, c.RATIO] = 1  # a tap of 0 means 1, and beside a shift it is one
    case = replace(case, gen=units, branch=lines, bus=bus[:, :13], extras={})
    return _with(found, case), ", ".join(said) or None


def _state(found: Imported) -> tuple[Imported, str | None]:
    """Voltages, and the dispatch of slack buses and of reactive power: a power flow finds them. What a format has of
    them is written all the same."""
    return found, "the solved state, but for set points"


def _ids(found: Imported) -> tuple[Imported, str | None]:
    plain = numbered(found.case)
    changed = (found.identity.circuit, found.identity.machine) != (plain.circuit, plain.machine)
    return replace(found, identity=replace(plain, bus_names=found.identity.bus_names)), (
        "the ids of circuits and units: they count from 1" if changed else None
    )


def _long_ids(found: Imported) -> tuple[Imported, str | None]:
    identity = found.identity
    if all(_SHORT.fullmatch(name) for name in (*identity.circuit, *identity.machine)):
        return found, None
    return _ids(found)


def _bus_names(found: Imported) -> tuple[Imported, str | None]:
    if found.identity.bus_names is None:
        return found, None
    return replace(found, identity=replace(found.identity, bus_names=None)), "the names of buses"


def _long_names(found: Imported) -> tuple[Imported, str | None]:
    names = found.identity.bus_names
    if names is None:
        return found, None
    short = tuple(re.sub(r"[^ -&(-~]", "_", name)[:12].strip() for name in names)
    said = None if short == names else "the names of buses beyond 12 plain characters"
    return replace(found, identity=Identity(found.identity.circuit, found.identity.machine, short)), said


_LOSSES: dict[str, Callable[[Imported], tuple[Imported, str | None]]] = {
    "costs": _costs,
    "out of service": _out_of_service,
    "reactive costs": _reactive_costs,
    "startup costs": _startup,
    "angle limits": _angle_limits,
    "transformer charging": _transformer_charging,
    "infinite limits": _infinite,
    "extra columns": _extra_columns,
    "state": _state,
    "ids": _ids,
    "long ids": _long_ids,
    "bus names": _bus_names,
    "long names": _long_names,
}
