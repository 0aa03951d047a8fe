"""What of a bundle no release has: contradictions that would make `verify` recompute the wrong thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile import Case
from gridveil.exchange.types import Certificate
from gridveil.grid import PublicGrid
from gridveil.grid.profile import Profile
from gridveil.publish import bundle
from gridveil.publish.manifest import COST, LOSSES, UNUSED_COST, stays_public
from gridveil.repair.certify import BOUNDS
from gridveil.sealed.facts import DIGITS
from gridveil.sealed.mechanisms import mechanism


def foreign_files(folder: Path, record: Mapping[str, Any]) -> list[str]:
    """Files that the manifest does not know, that are not there, or whose digest is another."""
    stated: dict[str, Any] = record["sha256"]
    needed = {bundle.NETWORK, bundle.CERTIFICATE, *([bundle.PROFILE] if record["horizon"] else [])}
    there = {file.name for file in folder.iterdir()} - {bundle.MANIFEST}
    odd = sorted((needed | there) ^ set(stated))
    return odd + [
        name
        for name in sorted(there & set(stated))
        if not (folder / name).is_file() or stated[name] != bundle.digest(folder / name)
    ]


def foreign_manifest(case: Case, grid: PublicGrid, record: Mapping[str, Any], profile: Profile) -> list[str]:
    """Contradictions within a manifest, and with the network and profile beside it."""
    faults = []
    if (len(case.bus), len(case.gen)) != (grid.n_bus, grid.n_generator) or case.branch.shape != (grid.n_line, 17):
        faults.append("elements out of service or other columns in released.m")
    unprotected = np.flatnonzero(mechanism(record["mechanism"]["name"]).unprotected(grid)) + 1
    if record["unprotected_lines"] != unprotected.tolist():
        faults.append("unprotected lines that are not those of its mechanism")
    if not 0 < record["fidelity"]["beta"] < 1:
        faults.append("a beta that promises nothing")
    faults += _foreign_privacy(grid, record) + _foreign_inputs(record, profile)
    return faults or _foreign_steps(grid, record, profile)


def foreign_certificate(stored: Mapping[str, Any], certified: Certificate) -> list[str]:
    """Where the stored certificate does not claim what is claimed of such a bundle, or claims that something failed."""
    try:
        claims = {str(one["name"]): (float(one["limit"]), one["passed"] is True) for one in stored["checks"]}
        unused = [(int(one["step"]), str(one["status"])) for one in stored.get("unused_steps", [])]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        return [f"it cannot be read ({type(error).__name__})"]
    # the bounds need the noisy values, and so are the one check that cannot be made again
    faults = [f"failed: {name}" for name, (_, passed) in claims.items() if not passed]
    wanted = {one.name: one.limit for one in certified.checks}
    faults += [f"missing: {name}" for name in [*wanted, BOUNDS] if name not in claims]
    faults += [f"unknown: {name}" for name in claims if name not in wanted and name != BOUNDS]
    faults += [
        f"another limit: {name}"
        for name, limit in wanted.items()
        if name in claims and not np.isclose(claims[name][0], limit, rtol=1e-6, atol=0.0)
    ]
    if unused != [(one.step, one.status) for one in certified.unused]:
        faults.append("unused steps that end otherwise")
    return faults if stored.get("passed") is True else [*faults, "it does not say that it passed"]


def _foreign_privacy(grid: PublicGrid, record: Mapping[str, Any]) -> list[str]:
    privacy, named = record["privacy"], record["mechanism"]
    method, faults = mechanism(named["name"]), list[str]()
    if not (privacy["epsilon"] > 0 and privacy["alpha"] > 0):
        faults.append("an epsilon or alpha that is not positive")
    stated = (named["version"], named["adjacency"], privacy["alpha_unit"])
    if stated != (method.version, method.adjacency, method.alpha_unit):
        faults.append("another meaning of its mechanism")
    spent = privacy["loss"] is not None and privacy["loss"] > 0 and privacy["ledger_entry"] is not None
    if privacy["differentially_private"] is not spent or spent is not (record["warning"] is None):
        faults.append("privacy without a charge, or research mode without its warning")
    if spent:
        faults += _foreign_losses(privacy, method.name)
    within = [one["mechanism"] for one in privacy["cumulative_within"] or []]
    if not set(stays_public(method, grid, within)) <= set(record["not_protected"]):
        faults.append("less left unprotected than its mechanism leaves")
    return faults


def _foreign_losses(privacy: Mapping[str, Any], name: str) -> list[str]:
    """A loss that is not that of ε, a total that leaves out this release, or one beyond its limit."""
    faults, loss, total = [], privacy["loss"], privacy["cumulative_loss"] or 0.0
    if loss < privacy["epsilon"] or (name != "paper" and loss > privacy["epsilon"]):
        faults.append("a loss that is not that of its epsilon")
    stated = {one["mechanism"]: one for one in privacy["cumulative_within"] or []}
    reach = stated[name]["alpha"] if name in stated else 0.0
    units = all(one["unit"] == mechanism(other).alpha_unit for other, one in stated.items())
    if not units or reach < privacy["alpha"] or total < (1 - 1e-9) * loss * reach / privacy["alpha"]:
        faults.append("a cumulative loss that leaves out this release")
    if privacy["limit"] is not None and total > privacy["limit"] * (1 + 1e-9):
        faults.append("a cumulative loss above its limit")
    return faults


def _foreign_inputs(record: Mapping[str, Any], profile: Profile) -> list[str]:
    given = record["public_inputs"]
    names = Counter(one["name"] for one in given)
    if not set(names) <= {COST, LOSSES, UNUSED_COST} or any(number > 1 for number in names.values()):
        return ["public inputs that are unknown or stated twice"]
    if COST not in names or any(len(one["value"]) != len(one["steps"]) or not all(one["value"]) for one in given):
        return ["public inputs without a value"]
    inputs = {one["name"]: one for one in given}
    faults = []
    steps = set(profile.step.tolist())
    if any(len(set(one["steps"])) < len(one["steps"]) or not set(one["steps"]) <= steps for one in given):
        faults.append("public inputs of steps that the profile does not have")
    if set(inputs.get(UNUSED_COST, {"steps": []})["steps"]) & set(inputs[COST]["steps"]):
        faults.append("unused steps that are used")
    if any((one["source"] == "declared") is not (one["digits"] == DIGITS) for one in given):
        faults.append("declared values of other digits")
    if (LOSSES in names) is not (record["fidelity"]["loss_within"] is not None):
        faults.append("losses without a promise, or a promise without losses")
    elif LOSSES in names and not all(value > 0 for value in inputs[LOSSES]["value"]):
        faults.append("losses that are not positive")
    return faults


def _foreign_steps(grid: PublicGrid, record: Mapping[str, Any], profile: Profile) -> list[str]:
    """The manifest's horizon must be that of profile.csv, and released.m must show the step it says."""
    inputs, horizon = {one["name"]: one for one in record["public_inputs"]}, record["horizon"]
    used = inputs[COST]["steps"]
    if not used or (LOSSES in inputs and inputs[LOSSES]["steps"] != used):
        return ["public inputs without a step"]
    index = used[0] - int(profile.step[0])
    if not np.allclose([grid.buses.pd, grid.buses.qd], [profile.pd[index], profile.qd[index]], rtol=1e-9, atol=1e-12):
        return ["loads in released.m that are not those of its step"]
    stated = horizon and (horizon["first"], horizon["steps"], horizon["used"], horizon["step_in_network_file"])
    if stated and stated != (int(profile.step[0]), len(profile), used, used[0]):
        return ["a horizon that is not that of profile.csv"]
    return []
