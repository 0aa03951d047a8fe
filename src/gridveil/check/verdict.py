"""What `verify` answers, in three parts: recomputed by you, the publisher's word, not checkable."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gridveil.publish.manifest import Manifest, invented_cost, protection_of, totals_part
from gridveil.shown import as_card
from gridveil.wall.certificate import Check, TrueCost, UnusedStep
from gridveil.wall.facts import FactKind
from gridveil.wall.mechanisms import UNITS

NOT_CHECKABLE = (
    "that the original network was what the publisher says, and not another or one made up",
    "that the noise was drawn at random, once, and not chosen or drawn again until it pleased",
    "that the original itself was not published under this name, with no noise at all",
    "that nothing else was published of the same network, under another name or from another ledger",
)
"""Nobody who has only the bundle can tell these."""


class Signed(StrEnum):
    """What is known of a signature."""

    UNSIGNED = "unsigned"
    NAMED = "signed by the key you named"
    UNNAMED = "signed by a key you have not named"
    WRONG = "not what it should be"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Signature:
    """Whether a bundle is signed, and by which key; `words` says it to people."""

    state: Signed
    fingerprint: str | None = None

    @property
    def words(self) -> str:
        if self.state is Signed.UNSIGNED:
            return "unsigned: nobody knows who made this bundle"
        if self.state is Signed.NAMED:
            return f"signed by {self.fingerprint}, the key you named"
        if self.state is Signed.UNNAMED:
            return f"signed by {self.fingerprint}, whom you have not named: this tells you nothing of who that is"
        if self.state is Signed.UNCHECKED and self.fingerprint is None:
            return "not checked: the manifest cannot be read"
        if self.state is Signed.UNCHECKED:
            return f"it says it is signed by {self.fingerprint}; not checked here"
        return "the signature is not what it should be: do not trust this bundle"


@dataclass(frozen=True)
class Verdict:
    """What `gv.verify` found. `passed` says that everything that was recomputed holds. It says nothing of ε: that is
    the publisher's word, and whether he means it to be private at all is `private`.

    Attributes:
        checks: That were made, by kind of what they rest on.
        record: The manifest, if it could be read.
        signature: Whether there is one, and whose.
        unused: How the release does at the steps without a promise.
        truth: Where the original's cost lies, if a private answer tells it.
        not_checked: What more can be checked.
        not_checkable: What nobody can.

    Examples:
        >>> from tempfile import mkdtemp
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> gv.verify(made.write(mkdtemp() + "/bundle"), quick=True).sentence
        'NOT private: research mode, whose noise can be taken off again; what was recomputed holds, and ...'
    """

    checks: tuple[Check, ...]
    record: Manifest | None = None
    signature: Signature = Signature(Signed.UNSIGNED)
    unused: tuple[UnusedStep, ...] = ()
    truth: TrueCost | None = None
    not_checked: tuple[str, ...] = ()
    not_checkable: tuple[str, ...] = NOT_CHECKABLE

    _repr_html_ = as_card

    def __repr__(self) -> str:
        found = "all hold" if self.passed else f"FAILED: {', '.join(one.kind for one in self.checks if not one.passed)}"
        private = "private by the publisher's word" if self.private else "NOT private"
        return f"Verdict({len(self.checks)} checks, {found}; {private}; {self.signature.state})"

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if not check.passed)

    @property
    def private(self) -> bool:
        """Does the publisher say that it is differentially private?"""
        return self.record is not None and self.record.privacy.differentially_private

    @property
    def word(self) -> dict[str, str]:
        """What rests on the publisher's word alone, in words, by what it is about."""
        return {} if self.record is None else _word(self.record)

    @property
    def sentence(self) -> str:
        """The whole in a sentence."""
        if not self.passed:
            wrong = sum(not check.passed for check in self.checks)
            return f"NOT verified: {wrong} of {len(self.checks)} checks failed. Do not rely on this bundle."
        found = "what was recomputed holds"
        if self.not_checked:
            found += f", and {len(self.not_checked)} more can be checked"
        if not self.private:
            return f"NOT private: research mode, whose noise can be taken off again; {found}."
        return f"{found}. That it is private was not checked: it is the word of {self._who()}."

    def _who(self) -> str:
        name = self.record.publisher.name if self.record is not None and self.record.publisher is not None else ""
        if self.signature.state is Signed.NAMED:
            return f"{name}, who holds the key you named" if name else "the holder of the key you named"
        under = f", under the name {name}" if name else ""
        if self.signature.state is Signed.UNNAMED:
            return f"whoever holds the key {self.signature.fingerprint}{under}"
        return f"whoever made this bundle{under}, and nobody knows who that is"


def _word(record: Manifest) -> dict[str, str]:
    privacy, parts = record.privacy, record.privacy.parts
    protection = protection_of(record)
    split = f"{parts.lines.epsilon:g} for the {'lines' if protection is None else 'numbers'}"
    if (totals := totals_part(parts)) is not None:
        split += f", {totals.epsilon:g} for totals"
    if parts.cost is not None:
        split += f", {parts.cost.epsilon:g} for the cost" + ("" if parts.cost.asked else ", which was not asked for")
    words = {
        "epsilon": f"{privacy.epsilon:g} ({split})",
        "alpha": f"{privacy.alpha:g} {UNITS[privacy.alpha_unit]}" if protection is None else protection.words,
        "mechanism": f"{record.mechanism.name}, version {record.mechanism.version}",
        "noise": privacy.noise,
        "spent": _spent(record),
        "ledger": _ledger(record),
        "cost": _cost(record),
        "bounds": f"{'line parameters' if protection is None else 'protected numbers'} stay within bounds made from "
        "the noisy values",
    }
    if privacy.given:
        words["condition"] = f"epsilon holds only among networks that share: {'; '.join(privacy.given)}"
    if (price := invented_cost(record)) is not None:
        words["prices"] = f"invented in part: {price:g} per MWh for units that nobody gave a cost"
    words["publisher"] = _publisher(record)
    words["date"] = record.date
    return words


def _spent(record: Manifest) -> str:
    privacy = record.privacy
    if privacy.loss is None or privacy.cumulative_loss is None:
        return "nothing was charged: research mode"
    text = f"{privacy.loss:.6g} by this release, {privacy.cumulative_loss:.6g} in all"
    return text + (f", of a limit of {privacy.limit:.6g}" if privacy.limit is not None else ", without a limit")


def _ledger(record: Manifest) -> str:
    entries = record.privacy.ledger_entries
    if not entries:
        return "no entry"
    text = f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
    head = record.privacy.ledger_head
    return text + ("" if head is None else f", head {head[:16]}…")


def _cost(record: Manifest) -> str:
    costs = [one for one in record.public_inputs if one.kind is FactKind.COST]
    if not costs:
        return "none"
    shown = f"{costs[0].value:,.2f}" + (f" and {len(costs) - 1} more" if len(costs) > 1 else "")
    return f"{shown}, {costs[0].source}: what the released optimum is compared with"


def _publisher(record: Manifest) -> str:
    who = record.publisher
    if who is None:
        return "not named"
    return "; ".join(
        [
            who.name,
            *([f"contact {who.contact}"] if who.contact else []),
            *([f"licence {who.licence}"] if who.licence else []),
        ]
    )
