"""What is claimed of a release: checks by kind, each with what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gridveil.shown import as_card
from gridveil.wall.codec import json_schema
from gridveil.wall.facts import CERTAINTY, Fact, FactKind, Source, significant

WORD_DIGITS = 1
"""Of a value that is the publisher's word: digits that nobody can compute again could carry anything."""


class CheckKind(StrEnum):
    """What a check is about. The first group is part of every certificate, the second of `verify` alone."""

    BALANCE = "balance"
    LIMITS = "limits"
    COST = "cost"
    LOSSES = "losses"
    SIGNS = "signs"
    TWINS = "twins"
    BOUNDS = "bounds"
    TOTALS = "totals"
    ORDER = "order"

    MANIFEST = "manifest"
    FILES = "files"
    FOREIGN = "foreign"
    FLOWS = "flows"
    STORED = "stored"
    VALUES = "values"
    BYTES = "bytes"
    REPORT = "report"
    SIGNATURE = "signature"
    TRANSLATED = "translated"


class Basis(StrEnum):
    """What a check rests on: anyone can compute it again, or it is the publisher's word.

    What nobody can check who has not the original is no check, and stands in `check.verdict`.
    """

    RECOMPUTED = "recomputed"
    WORD = "word"


CHECK_WORDS = {
    CheckKind.BALANCE: ("balance residual (p.u.)", "The power balance holds at every bus."),
    CheckKind.LIMITS: (
        "limit violation (p.u.)",
        "Voltages, generation, line ratings and angles are within their limits.",
    ),
    CheckKind.COST: (
        "cost, re-optimised, away from the public cost (relative)",
        "The optimal dispatch cost is as near to the public one as promised.",
    ),
    CheckKind.LOSSES: (
        "losses, factor to the public ones",
        "The active losses are within the promised factor of the public ones.",
    ),
    CheckKind.SIGNS: ("lines with the wrong sign of resistance", "Resistances have the signs that are public."),
    CheckKind.TWINS: (
        "difference between twin lines of a corridor (relative)",
        "Parallel lines of one corridor are equal, so that noise cannot be averaged out.",
    ),
    CheckKind.BOUNDS: (
        "parameters outside their bounds (relative)",
        "Line parameters stay within bounds made from the noisy values.",
    ),
    CheckKind.TOTALS: (
        "totals away from the public ones (relative)",
        "Total demand and capacity are the public ones; a capacity below 1.05 times the demand is raised to that.",
    ),
    CheckKind.ORDER: ("units with a lower limit above the upper one", "Limits of units are in their order."),
    CheckKind.MANIFEST: ("faults of the manifest against its schema", "The manifest can be read."),
    CheckKind.FILES: ("files or digests that are not the manifest's", "The files are those of the manifest."),
    CheckKind.FOREIGN: ("things that no release has", "The manifest does not contradict itself or its files."),
    CheckKind.FLOWS: ("written flows against recomputed ones (p.u.)", "The written flows are those of the network."),
    CheckKind.STORED: ("faults of the stored certificate", "The stored certificate claims what is found."),
    CheckKind.VALUES: (
        "values of the stored certificate away from those found (shares of their tolerance)",
        "Every value of the stored certificate was computed again.",
    ),
    CheckKind.BYTES: (
        "files that are not, byte for byte, what a release writes",
        "Nothing is hidden in comments, spaces or columns that nobody reads.",
    ),
    CheckKind.REPORT: (
        "faults of report.html",
        "The page is, byte for byte, the one that the other files make.",
    ),
    CheckKind.TRANSLATED: (
        "files in other formats that released.m does not make",
        "The files in other formats hold the network of released.m, and nothing else.",
    ),
    CheckKind.SIGNATURE: ("faults of the signature", "The manifest is signed by the key it names."),
}
"""A check's name, and what it means."""


@dataclass(frozen=True)
class Check:
    """One claim about a released network: its measured value, the limit, and whether it holds.

    `steps` is how many steps stand behind it if it is the worst of several; `detail` says what was found.
    """

    kind: CheckKind
    value: float | None
    limit: float
    passed: bool
    step: int | None = None
    basis: Basis = Basis.RECOMPUTED
    detail: str = ""
    steps: int = 1

    @property
    def name(self) -> str:
        """The check in words."""
        words = CHECK_WORDS[self.kind][0]
        if self.steps > 1:
            return f"{words}, worst of {self.steps} steps"
        words += "" if self.step is None else f", step {self.step}"
        return f"{words}: {self.detail}" if self.detail else words

    @property
    def meaning(self) -> str:
        return CHECK_WORDS[self.kind][1]


@dataclass(frozen=True)
class UsedStep:
    """The optimal cost of the released network at a step with a promise; `None` if it was not solved."""

    step: int
    cost: float | None


@dataclass(frozen=True)
class UnusedStep:
    """How the released network does at a step the repair did not use: reported, not promised.

    `violation` is the largest of its AC-OPF's point; `away` the relative distance of its cost from the public one, if
    that is public.
    """

    step: int
    status: str
    violation: float | None
    cost: float | None
    away: float | None = None


@dataclass(frozen=True)
class TrueCost:
    """Where the original's dispatch cost lies with 95 %, by the law of the noise on a private answer.

    An end is `None` where nothing is known of it.
    """

    low: float | None
    high: float | None
    certainty: float


def true_cost(facts: Sequence[Fact]) -> TrueCost | None:
    """What a private cost of a single step says of the truth; `None` where nothing follows from the noise."""
    costs = [one for one in facts if one.kind is FactKind.COST]
    if len(costs) != 1 or costs[0].source is not Source.PRIVATE or costs[0].low is costs[0].high is None:
        return None
    return TrueCost(costs[0].low, costs[0].high, CERTAINTY)


@dataclass(frozen=True)
class Certificate:
    """All claims about a released network, recomputed from the written file.

    Attributes:
        checks: A value, a limit and whether it holds, each.
        unused: Steps without a promise, and how the network does there.
        truth: Where the original's cost lies, if a private answer tells it.
        used: Steps with a promise.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> made.certificate.passed, made.certificate.failed
        (True, ())
    """

    checks: tuple[Check, ...]
    unused: tuple[UnusedStep, ...] = ()
    truth: TrueCost | None = None
    used: tuple[UsedStep, ...] = ()

    _repr_html_ = as_card

    def __repr__(self) -> str:
        kinds = ", ".join(sorted({str(check.kind) for check in self.checks if not check.passed}))
        return f"Certificate({len(self.checks)} checks, {f'FAILED: {kinds}' if kinds else 'all hold'})"

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if not check.passed)


@dataclass(frozen=True)
class StoredCertificate:
    """A certificate as it stands in a bundle."""

    passed: bool
    checks: tuple[Check, ...]
    used_steps: tuple[UsedStep, ...]
    unused_steps: tuple[UnusedStep, ...] = ()
    truth: TrueCost | None = None


def stored(certificate: Certificate) -> StoredCertificate:
    """A certificate for a bundle."""
    checks = tuple(_shortened(one) if one.basis is Basis.WORD else one for one in certificate.checks)
    return StoredCertificate(certificate.passed, checks, certificate.used, certificate.unused, certificate.truth)


def _shortened(check: Check) -> Check:
    return check if check.value is None else replace(check, value=significant(check.value, WORD_DIGITS))


def schema() -> dict[str, Any]:
    """The JSON Schema of a stored certificate."""
    return json_schema(StoredCertificate)


def worst_of_steps(checks: Sequence[Check]) -> list[Check]:
    """Checks that differ only in their step, as the one that comes nearest to its limit or fails."""
    by_kind: dict[CheckKind, list[Check]] = {}
    for check in checks:
        by_kind.setdefault(check.kind, []).append(check)
    return [
        replace(max(same, key=_nearest), steps=len(same)) if len(same) > 1 else same[0] for same in by_kind.values()
    ]


def _nearest(check: Check) -> tuple[bool, float]:
    return not check.passed, (float("inf") if check.value is None else check.value) - check.limit
