"""The manifest as a type: what was done, what it cost, what is public, what is not protected. Its JSON Schema follows.

Nothing in it differs between two secrets with the same noisy values and facts: no timing of a sealed step, no seed, no
true value.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from gridveil.wall.codec import json_schema
from gridveil.wall.draw import Target
from gridveil.wall.facts import Fact

LARGEST = 1e18
"""No number of a manifest is larger."""
Name = Literal["log", "additive", "paper"]
Charged = Literal["log", "additive", "paper", "cost"]
Unit = Literal["relative", "conductance", "surcharge"]
Positive = Annotated[float, Meta(gt=0, lt=LARGEST)]
Share = Annotated[float, Meta(gt=0, lt=1)]
Count = Annotated[int, Meta(ge=0, lt=2**53)]


class MechanismRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """Which mechanism drew the lines, and what its distance is."""

    name: Name
    version: Count
    adjacency: str


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of ε: a change up to `reach` costs `loss` (`epsilon` unless the mechanism loses more).

    The part for the cost is `asked` only if the noisy lines alone left the cost too uncertain; else it was not spent.
    """

    epsilon: Positive
    reach: Positive
    unit: Unit
    asked: bool
    loss: Positive | None


class Parts(Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of ε."""

    lines: Part
    cost: Part | None


class WithinRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to which change a cumulative loss holds, by what was charged."""

    mechanism: Charged
    alpha: Positive
    unit: Unit


class Privacy(Struct, frozen=True, forbid_unknown_fields=True):
    """What was spent. `loss` is the total that was really spent; it holds among networks that share what is `given`.

    The cumulative loss holds among those that share what earlier releases were conditional on, too (`given_before`).
    """

    differentially_private: bool
    epsilon: Positive
    alpha: Positive
    alpha_unit: Unit
    loss: Positive | None
    parts: Parts
    given: list[str]
    given_before: list[str]
    statement: str
    cumulative_loss: Positive | None
    cumulative_within: list[WithinRecord] | None
    limit: Annotated[float, Meta(ge=0, lt=LARGEST)] | None
    ledger_entries: list[Count]
    draws: Literal[1]
    noise: str


class FidelityRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """What the repair promised, and what it stayed near to."""

    beta: Share
    bound_factor: Annotated[float, Meta(gt=1, lt=LARGEST)]
    loss_within: Annotated[float, Meta(gt=1, lt=LARGEST)] | None
    target: Target


class Horizon(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of profile.csv."""

    first: int
    steps: Count
    used: list[int]
    step_in_network_file: int


class RepairRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """How the network was found."""

    path: Literal["as drawn", "as shrunk", "steered", "projected"]
    cuts: Count
    significant_digits: Count


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The record of one release; the bundle adds the digests."""

    format: Literal["gridveil-release-4"]
    warning: str | None
    mechanism: MechanismRecord
    privacy: Privacy
    fidelity: FidelityRecord
    public_inputs: list[Fact]
    horizon: Horizon | None
    attended: bool
    not_protected: list[str]
    unprotected_lines: list[Count]
    scrubbed: list[str]
    repair: RepairRecord
    software: dict[str, str]
    sha256: dict[str, str]


def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    return json_schema(Manifest)
