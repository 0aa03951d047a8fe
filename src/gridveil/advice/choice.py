"""`Choice`: what there is to choose of a release, as a plan and as options of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gridveil.errors import PrivacyError
from gridveil.publish.plan import Plan
from gridveil.wall.mechanisms import OF_LINES
from gridveil.wall.protection import Group

LETTERS = dict(zip("LRDGC", Group, strict=True))
"""Groups of numbers in short: lines, ratings, loads (demands), limits of units, costs."""


@dataclass(frozen=True, order=True)
class Choice:
    """Protected groups by their letters, α (relative, or p.u. for `additive` and `paper`), ε, β and the mechanism."""

    groups: str
    alpha: float
    epsilon: float
    beta: float
    mechanism: str = "log"

    def plan(self, fixed: Mapping[str, Any]) -> Plan:
        """The plan of a release, with whatever else is `fixed` of it."""
        of_groups = {name: value for name, value in fixed.items() if _concerns(name, value, self.groups)}
        protect = None if self.mechanism in OF_LINES and self.mechanism != "log" else self.protect
        return Plan(self.epsilon, self.alpha, self.beta, self.mechanism, protect=protect, **of_groups)

    @property
    def protect(self) -> list[str]:
        return [str(LETTERS[one]) for one in self.groups]

    @property
    def words(self) -> str:
        """What is chosen, for people."""
        unit = f"{self.alpha:.3g} p.u." if self.relative is False else percent(self.alpha)
        named = "" if self.mechanism == "log" else f", {self.mechanism}"
        return f"{self.groups}, α {unit}, ε {self.epsilon:g}, β {percent(self.beta)}{named}"

    @property
    def relative(self) -> bool:
        return self.mechanism == "log"

    def options(self, fixed: Mapping[str, Any]) -> list[str]:
        """The options of `gridveil release` that ask for it."""
        alpha = percent(self.alpha) if self.relative else f"{self.alpha:.6g}pu"
        found = ["--epsilon", f"{self.epsilon:g}", "--alpha", alpha, "--beta", percent(self.beta)]
        if self.mechanism != "log":
            found += ["--mechanism", self.mechanism]
        if self.groups != "L":
            found += ["--protect", "all" if self.groups == "".join(LETTERS) else ",".join(self.protect)]
        for name, value in fixed.items():
            if not _concerns(name, value, self.groups):
                continue
            if name == "alphas":
                for group, own in value.items():
                    found += [f"--alpha-{group}", percent(own)]
            elif value is True:
                found.append(f"--{FLAGS.get(name, name)}")
            else:
                found += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
        return found


FLAGS = {"classes": "cost-classes"}
NEEDS = {"ratings": "LR", "classes": "C"}
"""What some fixed words of a plan need to be protected."""


def _concerns(name: str, value: Any, groups: str) -> bool:
    """Has a plan that protects these groups a use for a word?"""
    if name == "alphas":
        return all(group in [str(LETTERS[one]) for one in groups] for group in value)
    if name == "totals":
        return any(one in groups for one in "DGC")
    return set(NEEDS.get(name, "")) <= set(groups)


def percent(share: float) -> str:
    """10%, 0.5%, 12.5%."""
    return f"{100 * share:.10g}%"


def letters(text: str) -> str:
    """Groups as somebody writes them (`lines,ratings`, `all`, `LRDG`) as letters in their order."""
    given = [one.strip() for one in text.split(",") if one.strip()]
    if given and all(set(one) <= set(LETTERS) for one in given):
        found = set("".join(given))
    elif [one.lower() for one in given] == ["all"]:
        found = set(LETTERS)
    else:
        names = {str(group): letter for letter, group in LETTERS.items()}
        if unknown := [one for one in given if one.lower() not in names]:
            raise PrivacyError(f"there is no group '{unknown[0]}'; choose from {', '.join(names)}, or all")
        found = {names[one.lower()] for one in given}
    if not found:
        raise PrivacyError(f"no group is named; choose from {', '.join(Group)}, or all")
    return "".join(one for one in LETTERS if one in found)
