"""Settings of a release, as a form has them: a `Choice`, which is both a plan and options of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from math import exp, isfinite
from typing import Any

import numpy as np

from gridveil.advice.choice import LETTERS, Choice, letters, percent
from gridveil.errors import PrivacyError
from gridveil.privacy.ledger import Ledger
from gridveil.publish.plan import Plan
from gridveil.publish.preview import Preview, asked_too, preview
from gridveil.publish.refuse import check_labels, check_network
from gridveil.wall.changes import cost_of_changes
from gridveil.wall.mechanisms import OF_LINES
from gridveil.wall.protection import GROUP_WORDS, Group
from gridveil.web.opened import Opened

SOURCES = {"private": "noised and charged", "derived": "told from the noisy numbers, nothing is asked",
           "declared": "to four digits without noise: the promise is then conditional"}  # fmt: skip
DIGITS = 6
"""Of a number of a form: as many as options of the command line keep."""


USUAL = Choice("L", 0.1, 1.0, 0.01)


@dataclass(frozen=True)
class Settings:
    """What is chosen."""

    choice: Choice = USUAL
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def plan(self, opened: Opened) -> Plan:
        """The plan, checked against the network as the command does it."""
        plan = self.choice.plan(self.fixed)
        check_network(plan, opened.sealed)
        check_labels(plan, opened.sealed.labels)
        return plan

    @property
    def words(self) -> str:
        """For people."""
        one = self.choice
        kinds = "everything" if one.groups == "".join(LETTERS) else ", ".join(one.protect)
        own = ", ".join(f"{name} α {percent(alpha)}" for name, alpha in self.alphas.items())
        return f"{kinds}: {one.words.partition(', ')[2]}{f' ({own})' if own else ''}"

    @property
    def alphas(self) -> Mapping[str, float]:
        """Groups that have an α of their own."""
        found: Mapping[str, float] = self.fixed.get("alphas", {})
        return found

    @property
    def alpha_of_lines(self) -> float:
        return self.alphas.get(str(Group.LINES), self.choice.alpha)

    @property
    def options(self) -> list[str]:
        return self.choice.options(self.fixed)

    @property
    def own(self) -> dict[str, str]:
        """The α of each group as a form shows it, by the group's letter; nothing of one that has the common one."""
        return {letter: f"{100 * self.alphas[group]:.6g}" for letter, group in LETTERS.items() if group in self.alphas}

    @property
    def values(self) -> dict[str, str]:
        """As a form shows them."""
        one = self.choice
        return {
            "groups": one.groups, "alpha": f"{100 * one.alpha if one.relative else one.alpha:.6g}",
            "epsilon": f"{one.epsilon:.6g}", "beta": f"{100 * one.beta:.6g}", "mechanism": one.mechanism,
            "cost": str(self.fixed.get("cost", "private")), "totals": str(self.fixed.get("totals", "private")),
        }  # fmt: skip

    def record(self) -> dict[str, Any]:
        return {"choice": asdict(self.choice), "fixed": dict(self.fixed)}


def from_record(record: Mapping[str, Any]) -> Settings:
    """What was kept."""
    return Settings(Choice(**record["choice"]), dict(record["fixed"]))


def from_form(form: Mapping[str, str]) -> Settings:
    """What was filled in; numbers are judged by the plan, which says what is wrong with them."""
    mechanism = form.get("mechanism", "log")
    if mechanism not in OF_LINES:
        raise PrivacyError(f"there is no such mechanism; choose from {', '.join(OF_LINES)}")
    groups = letters("".join(one for one in LETTERS if form.get(f"group-{one}")))
    if mechanism != "log" and groups != "L":
        raise PrivacyError(f"the mechanism '{mechanism}' protects lines alone; choose log, or leave the others out")
    alpha, beta = _number(form, "alpha", "α"), _number(form, "beta", "β") / 100
    fixed: dict[str, Any] = {name: form[name] for name in ("cost", "totals") if form.get(name, "private") != "private"}
    if strange := [one for one in fixed.values() if one not in SOURCES]:
        raise PrivacyError(f"there is no source '{strange[0][:20]}'; choose from {', '.join(SOURCES)}")
    alpha = alpha / 100 if mechanism == "log" else alpha
    own = _alphas(form, groups) if mechanism == "log" else {}
    if len(groups) == 1 and own:  # the one group's α is the release's
        alpha, own = next(iter(own.values())), {}
    if own:
        fixed["alphas"] = own
    return Settings(Choice(groups, _short(alpha), _number(form, "epsilon", "ε"), _short(beta), mechanism), fixed)


def _alphas(form: Mapping[str, str], groups: str) -> dict[str, float]:
    """Those of groups that are chosen and have one of their own; an empty field is the common one."""
    given = [one for one in groups if form.get(f"alpha-{one}", "").strip()]
    return {str(LETTERS[one]): _short(_number(form, f"alpha-{one}", f"α of {LETTERS[one]}") / 100) for one in given}


def _number(form: Mapping[str, str], name: str, sign: str) -> float:
    try:
        value = float(form.get(name, "")[:40])
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise PrivacyError(f"{sign} is not a number; give one such as 10")
    return _short(value)


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def looked(opened: Opened, settings: Settings, ledger: Ledger | None) -> tuple[Plan, Preview]:
    """What a release would come to, as the command sees it."""
    plan = settings.plan(opened)
    return plan, asked_too(preview(opened.sealed, plan, ledger), plan, opened.imported.exposed)


def seal(opened: Opened, settings: Settings, seen: Preview, nonce: str) -> str:
    """A digest of all that was shown before a confirmation: of the file, the settings and what they come to."""
    shown = [
        opened.digest, settings.record(), nonce, seen.loss, seen.before.spent.tolist(), seen.after.spent.tolist(),
        seen.after.limit.tolist(), list(seen.questions), list(seen.not_protected), seen.impossible,
    ]  # fmt: skip
    return sha256(json.dumps(shown, default=str, sort_keys=True).encode()).hexdigest()


def in_words(opened: Opened, settings: Settings, plan: Plan) -> list[str]:
    """What the numbers mean, on the owner's own network. INTERNAL."""
    one = settings.choice
    found = [_reach(opened, settings), *_own(settings), _odds(one.epsilon)]
    found.append(
        f"β: the released network's optimal cost lies within {percent(one.beta)} of the cost that is published. "
        "Less is more faithful, and harder to repair."
    )
    if "L" in one.groups and one.relative:
        changes = "; ".join(
            f"{words}: {distance * plan.epsilon_lines:.2g}"
            for words, distance in cost_of_changes(settings.alpha_of_lines)
        )
        found.append(f"What a reader's ln(odds) may move by, for one line: {changes}.")
    return found


def _odds(epsilon: float) -> str:
    much = f"{exp(epsilon):.3g} times" if epsilon < 20 else "beyond all bounds"
    return (
        f"ε: whatever a reader believed of two networks that differ by such a change, the release moves his odds by "
        f"at most e^{epsilon:g}: {much}."
    )


def _reach(opened: Opened, settings: Settings) -> str:
    """α on an element of his own, an ordinary one."""
    one = settings.choice
    if not one.relative:
        return f"α: a change of {one.alpha:g} p.u. of a line's conductance or susceptance is protected."
    network, grid = opened.network, opened.network.grid
    if "L" in one.groups and grid.n_line:
        _, x = network.lines.impedance()
        line = int(np.argsort(np.abs(x), kind="stable")[len(x) // 2])
        ends = [int(grid.buses.number[side[line]]) for side in (grid.lines.bus_from, grid.lines.bus_to)]
        between = _between(float(x[line]), settings.alpha_of_lines)
        return (
            f"α: your line {ends[0]}–{ends[1]} has a reactance of {x[line]:.4g} p.u.; that it might as well be "
            f"{between} p.u., the line being shorter or longer, is what is protected."
        )
    return f"α: that a number might as well be {percent(one.alpha)} larger or smaller is what is protected."


def _own(settings: Settings) -> list[str]:
    """Groups with an α of their own; that of lines is said on a line."""
    own = {name: alpha for name, alpha in settings.alphas.items() if name != Group.LINES}
    if not own:
        return []
    each = ", ".join(f"one of {name} {percent(alpha)}" for name, alpha in own.items())
    return [
        f"α by groups: a number might as well be larger or smaller, {each}, others {percent(settings.choice.alpha)}; "
        "half of one such change and half of another add up to a whole."
    ]


def _between(value: float, share: float) -> str:
    low, high = sorted((value / (1 + share), value * (1 + share)))
    return f"{low:.4g} or {high:.4g}"


def group_names() -> dict[str, str]:
    """Letters of groups and what they are."""
    return {letter: GROUP_WORDS[group] for letter, group in LETTERS.items()}
