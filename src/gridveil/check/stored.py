"""The certificate that stands in a bundle, against the one computed again: the same claims, the same values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from gridveil.repair.judge import BALANCE, EQUAL, LIMITS, Kept, kept_claims, promised
from gridveil.wall.certificate import WORD_DIGITS, Basis, Certificate, Check, CheckKind, StoredCertificate
from gridveil.wall.draw import Fidelity, Snapshot
from gridveil.wall.facts import significant

ROUNDING = 1e-11
"""What differs between two computers that judge the same written point (p.u., or relative)."""
SOLVER = 1e-5
"""What differs between two solves of the same AC-OPF (of the cost, relative; of losses, as a factor)."""
Claim = tuple[CheckKind, int | None]
"""A kind of check, and the step of the horizon that it is about."""
WORD: Claim = (CheckKind.BOUNDS, None)
"""The one claim that cannot be computed again: it needs the noisy values. Its limit is known all the same."""


def tolerance(kind: CheckKind, limit: float, *, written: bool) -> float:
    """How far a stored value may lie from the one found.

    The operating point of the first used step is in the bundle, so that what is judged of it differs by rounding only.
    Points of other steps are solved for anew, and lie anywhere within the limits that a solver keeps.
    """
    if kind is CheckKind.COST:
        return SOLVER
    if kind in (CheckKind.BALANCE, CheckKind.LIMITS):
        return ROUNDING if written else limit
    return SOLVER if kind is CheckKind.LOSSES and not written else ROUNDING


def expected_claims(snapshots: Sequence[Snapshot], fidelity: Fidelity, kept: Kept | None = None) -> dict[Claim, float]:
    """What a certificate of such a bundle claims, in its order, with the limits; nothing is solved for that."""
    claims = dict[Claim, float]()
    for one, allowed in zip(snapshots, promised(snapshots, fidelity), strict=True):
        step = one.step if len(snapshots) > 1 else None
        claims |= {(CheckKind.BALANCE, step): BALANCE, (CheckKind.LIMITS, step): LIMITS}
        if fidelity.loss_within is not None and one.losses is not None:
            claims[CheckKind.LOSSES, step] = fidelity.loss_within
        claims[CheckKind.COST, step] = allowed
    claims |= {(CheckKind.SIGNS, None): 0.0, (CheckKind.TWINS, None): EQUAL}
    claims |= {} if kept is None else {(kind, None): limit for kind, limit in kept_claims(kept).items()}
    return claims | {WORD: EQUAL}


def other_claims(
    stored: StoredCertificate, expected: Mapping[Claim, float], used: Sequence[int], unused: Sequence[int]
) -> list[str]:
    """Where the stored certificate does not claim what is claimed of such a bundle, or claims that something failed.

    It reports on the `used` and `unused` steps of the profile.
    """
    claims = [(one.kind, one.step) for one in stored.checks]
    faults = [f"failed: {one.name}" for one in stored.checks if not one.passed]
    faults += [f"missing: {kind}" for kind, step in expected if (kind, step) not in claims]
    if not faults and claims != list(expected):
        faults.append("other claims, or in another order")
    for key, one in zip(claims, stored.checks, strict=True):
        if one.basis is not (Basis.WORD if key == WORD else Basis.RECOMPUTED) or one.detail or one.steps != 1:
            faults.append(f"another basis: {one.kind}")
        if one.limit != expected.get(key):
            faults.append(f"another limit: {one.kind}")
        if one.value is None or not 0 <= one.value <= one.limit:
            faults.append(f"a value beyond its limit: {one.kind}")
        elif key == WORD and one.value != significant(one.value, WORD_DIGITS):
            faults.append(f"more digits than a word has: {one.kind}")
    if ([one.step for one in stored.used_steps], [one.step for one in stored.unused_steps]) != (
        list(used),
        list(unused),
    ):
        faults.append("other steps")
    return faults if stored.passed else [*faults, "it does not say that it passed"]


def other_ends(stored: StoredCertificate, found: Certificate) -> list[str]:
    """Where steps without a promise end otherwise than is found by solving."""
    if [one.status for one in stored.unused_steps] == [one.status for one in found.unused]:
        return []
    return ["unused steps that end otherwise"]


def value_check(stored: StoredCertificate, found: Certificate) -> Check:
    """The stored value that lies farthest from the one found, in units of its tolerance."""
    worst, where = max(_away(stored, found), default=(0.0, ""))
    passed = worst <= 1.0
    value = None if worst == inf else float(worst)
    return Check(CheckKind.VALUES, value, 1.0, passed, detail="" if passed else where)


def _away(stored: StoredCertificate, found: Certificate) -> Iterator[tuple[float, str]]:
    claims = {(one.kind, one.step): one for one in stored.checks}
    first = next((one.step for one in found.checks if one.step is not None), None)
    for one in found.checks:
        claim = claims.get((one.kind, one.step))
        if claim is not None:
            allowed = tolerance(one.kind, one.limit, written=one.step == first or one.step is None)
            yield _shares(claim.value, one.value, allowed), f"{one.name}, stated {_text(claim.value)}"
    costs = {one.step: one.cost for one in found.used} | {one.step: one.cost for one in found.unused}
    stated = [(one.step, one.cost) for one in stored.used_steps]
    for step, cost in [*stated, *((one.step, one.cost) for one in stored.unused_steps)]:
        if step in costs:
            yield _shares(cost, costs[step], SOLVER * abs(costs[step] or 1.0)), f"the cost of step {step}"
    others = {one.step: one for one in found.unused}
    for claimed in stored.unused_steps:
        if claimed.step in others:
            other = others[claimed.step]
            yield _shares(claimed.away, other.away, SOLVER), f"the distance of the cost of step {claimed.step}"
            yield _shares(claimed.violation, other.violation, LIMITS), f"the violation of step {claimed.step}"


def _shares(stated: float | None, found: float | None, allowed: float) -> float:
    if stated is None or found is None:
        return 0.0 if stated is found else inf
    away = abs(stated - found) / allowed
    return away if away < inf else inf  # what is no number is no value


def _text(value: float | None) -> str:
    return "as none" if value is None else f"as {value:.4g}"
