"""The manifest as a type: what was done, what it cost, what is public, what is not protected. Its JSON Schema follows.

Nothing in it differs between two secrets with the same noisy values and facts: no timing of a sealed step, no seed, no
true value. What each field means stands in docs/bundle.md.
"""

from __future__ import annotations

from datetime import date
from re import fullmatch
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gridveil.errors import OtherFormat, ReleaseError
from gridveil.publish.digests import Digests, Hash
from gridveil.publish.labels import shows_all
from gridveil.shown import as_card
from gridveil.wall.codec import from_json, json_schema
from gridveil.wall.facts import Fact
from gridveil.wall.protection import Group, Protection, Ratings
from gridveil.wall.target import Target

LARGEST = 1e18
"""No number of a manifest is larger."""
Name = Literal["log", "additive", "paper", "joint"]
Charged = Literal["log", "additive", "paper", "joint", "cost", "totals"]
Unit = Literal["relative", "conductance", "surcharge", "total"]
Positive = Annotated[float, Meta(gt=0, lt=LARGEST)]
Share = Annotated[float, Meta(gt=0, lt=1)]
Count = Annotated[int, Meta(ge=0, lt=2**53)]
# ends are (?![\s\S]): in Python, but not in JSON Schema's language, $ also matches before a last line break
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
"""Words of the publisher's own: one line that shows all it holds, wherever it is printed (`shows_all`)."""
Key = Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/]{43}=(?![\s\S])")]
Day = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\s\S])")]
VERSION = r"[0-9]{1,4}([.][0-9]{1,6}){0,3}((a|b|rc)[0-9]{1,3})?([.]post[0-9]{1,3})?([.]dev[0-9]{1,12})?"
"""A version as PEP 440 has it, without the label of a build."""
Version = Annotated[str, Meta(pattern=rf"^(absent|{VERSION})(?![\s\S])")]
FIRST_DAY = date(2026, 1, 1)
"""No release is older: the first format is of that year."""
Format = Literal["gridveil-release-5", "gridveil-release-6", "gridveil-release-7", "gridveil-release-8"]
FORMAT: Format = "gridveil-release-5"
JOINT_FORMAT: Format = "gridveil-release-6"
"""Of releases that protect more than lines."""
WIDER_FORMAT: Format = "gridveil-release-7"
"""Of releases with translations, with ids of elements, or with an invented cost."""
GROUP_FORMAT: Format = "gridveil-release-8"
"""Of releases whose cumulative loss holds up to an α of its own for each group."""
READ = (FORMAT, JOINT_FORMAT, WIDER_FORMAT, GROUP_FORMAT)


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
    totals: Part | UnsetType = UNSET


class ProtectionRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """What is protected beside lines, or instead of them: the α of every group, and how ratings and costs are taken."""

    groups: dict[Group, Positive]
    ratings: Ratings
    cost_classes: bool
    room: Annotated[float, Meta(ge=0, lt=0.5)]
    shape_public: bool


class WithinRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to which change a cumulative loss holds, by what was charged; where groups have an α each, `alpha` is the
    least."""

    mechanism: Charged
    alpha: Positive
    unit: Unit
    groups: dict[Group, Positive] | UnsetType = UNSET

    @property
    def by_group(self) -> dict[Group, float]:
        """The α of every group, where they are not all `alpha`."""
        return {} if isinstance(self.groups, UnsetType) else dict(self.groups)


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
    ledger_head: Hash | None
    noise: str


class FidelityRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """What the repair promised, and what it stayed near to."""

    beta: Share
    bound_factor: Annotated[float, Meta(gt=1, lt=LARGEST)]
    loss_within: Annotated[float, Meta(gt=1, lt=LARGEST)] | None
    target: Target


class Horizon(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of profile.csv; of the unused ones, so many were solved and are reported, equally spaced."""

    first: int
    steps: Count
    used: list[int]
    step_in_network_file: int
    checked: Count


class RepairRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """How the network was found."""

    path: Literal["as drawn", "as shrunk", "steered", "projected"]
    cuts: Count
    significant_digits: Count


class Publisher(Struct, frozen=True, forbid_unknown_fields=True):
    """Who publishes, where to write to them, and under which licence, in their own words."""

    name: Text
    contact: Text | None = None
    licence: Text | None = None

    def __post_init__(self) -> None:
        for words in (self.name, self.contact, self.licence):
            if words is not None and not shows_all(words):
                raise ValueError("words with characters that nobody sees, or with more than single spaces between them")


class Software(Struct, frozen=True, forbid_unknown_fields=True):
    """Versions of what made a release; their labels of builds are left out, which would be words."""

    python: Version
    gridveil: Version
    numpy: Version
    scipy: Version
    casadi: Version
    opendp: Version


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The record of one release; the bundle adds the digests and the key that signs them. docs/bundle.md has every
    field.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> made.manifest.privacy.epsilon, made.manifest.warning is not None
        (1.0, True)
    """

    format: Format
    warning: str | None
    publisher: Publisher | None
    date: Day
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
    software: Software
    public_key: Key | None
    sha256: Digests
    protection: ProtectionRecord | UnsetType = UNSET
    ids_kept: Literal[True] | UnsetType = UNSET
    invented_cost: Annotated[float, Meta(gt=-LARGEST, lt=LARGEST)] | UnsetType = UNSET

    _repr_html_ = as_card

    def __repr__(self) -> str:
        private = "private" if self.privacy.differentially_private else "NOT private"
        epsilon = f"epsilon {self.privacy.epsilon:g}, alpha {self.privacy.alpha:g}"
        return f"Manifest({self.mechanism.name}, {epsilon}, {private}, {self.date}, {self.format})"


def format_of(record: Manifest) -> Format:
    """The least format that has all of a manifest's fields."""
    if any(one.by_group for one in record.privacy.cumulative_within or []):
        return GROUP_FORMAT
    if record.sha256.translated or record.ids_kept is not UNSET or record.invented_cost is not UNSET:
        return WIDER_FORMAT
    return FORMAT if record.protection is UNSET else JOINT_FORMAT


def protection_of(record: Manifest) -> Protection | None:
    """What a manifest says is protected, if that is more than lines."""
    stated = record.protection
    if isinstance(stated, UnsetType) or not stated.groups:
        return None
    return Protection(dict(stated.groups), stated.ratings, stated.cost_classes)


def groups_stated(record: Manifest) -> list[Group]:
    """The protected groups in the order in which a manifest has them."""
    return [] if isinstance(record.protection, UnsetType) else list(record.protection.groups)


def ids_kept(record: Manifest) -> bool:
    """Does a manifest say that ids of branches and units were kept?"""
    return record.ids_kept is True


def invented_cost(record: Manifest) -> float | None:
    """The price of units that nobody gave a cost, if a manifest says that there are such."""
    return None if isinstance(record.invented_cost, UnsetType) else record.invented_cost


def room(record: Manifest) -> float:
    """The share of every range that a joint release says was left free."""
    return 0.0 if isinstance(record.protection, UnsetType) else record.protection.room


def shape_public(record: Manifest) -> bool:
    """Does a manifest say that the shape of its profile is public, bus by bus?"""
    return not isinstance(record.protection, UnsetType) and record.protection.shape_public


def totals_part(parts: Parts) -> Part | None:
    """The part for totals, if there is one."""
    return None if isinstance(parts.totals, UnsetType) else parts.totals


def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    return json_schema(Manifest)


class _Head(Struct):
    """As much of any format's manifest as says which it is."""

    format: str = ""
    software: Any = None


def read_manifest(data: bytes) -> Manifest:
    """A manifest from its file; `OtherFormat` names who reads a format that this version does not."""
    try:
        head = from_json(data, _Head)
    except ReleaseError:
        head = _Head()
    if head.format not in READ and fullmatch(r"gridveil-release-[0-9]{1,6}", head.format):
        raise OtherFormat(
            f"this bundle has format {head.format}, and this version reads {', '.join(READ)}; {_readers(head)}"
        )
    return from_json(data, Manifest)


def _readers(head: _Head) -> str:
    if int(head.format.rpartition("-")[2]) < 5:
        return (
            "only versions in development, before 0.1.0, wrote and read it: ask the publisher to write it again with "
            "GridVeil 0.1.0 or later"
        )
    made = head.software.get("gridveil") if isinstance(head.software, dict) else None
    if isinstance(made, str) and fullmatch(r"[0-9][0-9A-Za-z.+!_-]{0,39}", made):
        return f"GridVeil {made} wrote it: install that version or a later one"
    return "a later version of GridVeil wrote it: install the newest"
