"""The manifest: what was done, what it cost, what is public, what is not protected; and the schema it obeys.

No timing of a sealed step, no seed, no true value, nothing that differs between two secrets with the same noisy values.
"""

from __future__ import annotations

import platform
from collections.abc import Collection
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import ceil, floor, log10
from typing import Any

import numpy as np

from gridveil.exchange.types import PublicFacts, Repair
from gridveil.grid import PublicGrid
from gridveil.grid.profile import Profile
from gridveil.privacy.ledger import Receipt
from gridveil.privacy.noise import Noise
from gridveil.publish.plan import Plan
from gridveil.repair.repair import DIGITS
from gridveil.sealed.facts import DIGITS as DECLARED
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.mechanisms.base import Mechanism

FORMAT = "gridveil-release-3"
COST = "optimal dispatch cost of the original network"
UNUSED_COST = f"{COST}, at steps without a promise"
LOSSES = "active losses of the original network (p.u.)"
RESEARCH = (
    "RESEARCH MODE: the noise came from a seeded generator. This release is NOT differentially private and must not be "
    "published as if it were."
)


def manifest(
    plan: Plan,
    grid: PublicGrid,
    facts: PublicFacts,
    result: Repair,
    noise: Noise,
    loss: float,
    receipt: Receipt | None,
    profile: Profile | None = None,
    others: PublicFacts | None = None,
) -> dict[str, Any]:
    """The record of one release, without the digests, which the bundle adds. `others` are declared unused steps."""
    method = plan.method
    unprotected = np.flatnonzero(method.unprotected(grid))
    private = noise.private
    within = receipt.within if receipt else ()
    return {
        "format": FORMAT,
        "warning": None if private else RESEARCH,
        "mechanism": {"name": method.name, "version": method.version, "adjacency": method.adjacency},
        "privacy": {
            "differentially_private": private,
            "epsilon": plan.epsilon,
            "alpha": plan.alpha,
            "alpha_unit": method.alpha_unit,
            "loss": loss if private else None,
            "cumulative_loss": _total(receipt, method.name) if receipt else None,
            "cumulative_within": [one._asdict() for one in within] if receipt else None,
            "limit": receipt.limit if receipt else None,
            "ledger_entry": receipt.entry if receipt else None,
            "draws": 1,
            "noise": noise.description,
        },
        "fidelity": {
            "beta": plan.beta,
            "bound_factor": plan.bound_factor * result.widening,
            "loss_within": plan.loss_within,
        },
        "public_inputs": [
            _public_costs(COST, facts),
            *_public_losses(facts),
            *([_public_costs(UNUSED_COST, others)] if others else []),
        ],
        "horizon": _horizon(profile, facts),
        "not_protected": stays_public(plan.method, grid, [one.mechanism for one in within]),
        "unprotected_lines": (unprotected + 1).tolist(),
        "scrubbed": [
            "comments, names and extra tables of the input"
            + (" (bus names kept on request)" if plan.keep_names else ""),
            "solved voltages, dispatch and flows (those in the file belong to the released network)",
            "elements out of service, areas, zones, ramp rates, ratings B and C",
        ],
        "repair": {"path": result.path, "cuts": result.cuts, "significant_digits": DIGITS},
        "software": dict(_software()),
    }


def _public_costs(name: str, facts: PublicFacts) -> dict[str, Any]:
    return {
        "name": name,
        "steps": [snapshot.step for snapshot in facts.snapshots],
        "value": [snapshot.cost for snapshot in facts.snapshots],
        "source": facts.source,
        "digits": facts.digits,
    }


def _public_losses(facts: PublicFacts) -> list[dict[str, Any]]:
    if facts.losses is None:
        return []
    costs = _public_costs(LOSSES, facts)
    return [{**costs, "value": list(facts.losses), "source": "declared", "digits": DECLARED}]


def _horizon(profile: Profile | None, facts: PublicFacts) -> dict[str, Any] | None:
    if profile is None:
        return None
    used = [snapshot.step for snapshot in facts.snapshots]
    return {"first": int(profile.step[0]), "steps": len(profile), "used": used, "step_in_network_file": used[0]}


def _total(receipt: Receipt, name: str) -> float:
    """What the network has spent. The loss of `paper` tells max|b/g|, so that releases by others round it up."""
    spent, limit = receipt.cumulative, receipt.limit
    if name == "paper" or all(one.mechanism != "paper" for one in receipt.within):
        return spent
    power = floor(log10(spent)) - 1
    count = ceil(spent / 10.0**power)
    up = next(value for more in (0, 1) if (value := float(f"{count + more}e{power}")) >= spent)
    return up if limit is None else min(up, limit)


def stays_public(method: Mechanism, grid: PublicGrid, earlier: Collection[str] = ()) -> list[str]:
    """What a release by this mechanism does not protect, in words, and what `earlier` ones of the network did not."""
    stated = [
        "the topology: buses, lines and what they join",
        "loads, generators, their limits and costs",
        "bus shunts, voltage limits, base voltages",
        "ratings, angle limits, tap ratios and phase shifts",
        "which lines are lossless, and the signs of r, x and charging",
        "that the original network has an optimal power flow, at every step if there is a profile",
    ]
    stated += _left_open(method, grid)
    for name in sorted(set(earlier) - {method.name}):
        found = [one for one in _left_open(mechanism(name), grid) if one not in stated]
        stated += [f"{one}, by an earlier release of this network" for one in found]
    return stated


def _left_open(method: Mechanism, grid: PublicGrid) -> list[str]:
    """Line parameters that a mechanism leaves as they are."""
    if method.name == "log":
        return []
    digits = "exactly" if method.name == "paper" else "to two digits"
    stated = [f"the ratio of susceptance to conductance of every line, {digits}", "the charging of every line"]
    if count := np.count_nonzero(method.unprotected(grid)):
        stated.append(f"all parameters of {count} lines with negative resistance")
    return stated


@cache
def _software() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("gridveil", "numpy", "scipy", "casadi", "opendp"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


LARGEST = 1e18
"""No number of a manifest is larger, and none is NaN."""
_NUMBER, _TEXT, _COUNT = {"type": "number"}, {"type": "string"}, {"type": "integer"}
_MECHANISM = {"enum": ["log", "additive", "paper"]}


def _maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "GridVeil release manifest",
    **_object(
        format={"const": FORMAT},
        warning=_maybe(_TEXT),
        mechanism=_object(name=_MECHANISM, version=_COUNT, adjacency=_TEXT),
        privacy=_object(
            differentially_private={"type": "boolean"}, epsilon=_NUMBER, alpha=_NUMBER, alpha_unit=_TEXT,
            loss=_maybe(_NUMBER), cumulative_loss=_maybe(_NUMBER),
            cumulative_within=_maybe(_list(_object(mechanism=_MECHANISM, alpha=_NUMBER, unit=_TEXT))),
            limit=_maybe(_NUMBER), ledger_entry=_maybe(_COUNT), draws={"const": 1}, noise=_TEXT,
        ),
        fidelity=_object(beta=_NUMBER, bound_factor=_NUMBER, loss_within=_maybe(_NUMBER)),
        public_inputs=_list(
            _object(
                name=_TEXT, steps=_list(_COUNT), value=_list(_NUMBER), source={"enum": ["published", "declared"]},
                digits=_maybe(_COUNT),
            )
        ),
        horizon=_maybe(_object(first=_COUNT, steps=_COUNT, used=_list(_COUNT), step_in_network_file=_COUNT)),
        not_protected=_list(_TEXT),
        unprotected_lines=_list(_COUNT),
        scrubbed=_list(_TEXT),
        repair=_object(path={"enum": ["as drawn", "projected"]}, cuts=_COUNT, significant_digits=_COUNT),
        software={"type": "object"},
        sha256={"type": "object"},
    ),
}  # fmt: skip


def schema_faults(value: Any, schema: dict[str, Any], where: str = "manifest") -> list[str]:
    """Where a JSON value does not obey a schema, in the few words of JSON Schema that ours uses."""
    if "anyOf" in schema:
        return (
            []
            if any(not schema_faults(value, one, where) for one in schema["anyOf"])
            else [f"{where} has a wrong value"]
        )
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where} is not {schema['const']!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where} is not one of {schema['enum']}"]
    kinds: dict[str, tuple[type, ...]] = {
        "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
        "integer": (int,), "number": (int, float),
    }  # fmt: skip
    if not isinstance(value, kinds[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return [f"{where} is not of type {schema['type']}"]
    if isinstance(value, int | float) and not isinstance(value, bool) and not -LARGEST < value < LARGEST:
        return [f"{where} is no finite number, or too large"]
    faults: list[str] = []
    if isinstance(value, list):
        for i, item in enumerate(value):
            faults += schema_faults(item, schema["items"], f"{where}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        faults += [f"{where}.{name} is missing" for name in schema["required"] if name not in value]
        faults += [f"{where}.{name} is unknown" for name in value if name not in schema["properties"]]
        for name, part in schema["properties"].items():
            if name in value:
                faults += schema_faults(value[name], part, f"{where}.{name}")
    return faults
