"""Plans by settings: every combination of what `--set NAME=A,B` gives is one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from gridveil.errors import StudyError
from gridveil.publish.plan import Plan
from gridveil.wall.protection import Group

NUMBERS = (
    "epsilon", "cost_share", "cost_sensitivity", "totals_share", "totals_sensitivity", "room", "effort", "bound_factor",
    "loss_within",
)  # fmt: skip
WORDS = ("alpha", "beta", "mechanism", "cost", "target", "ratings", "totals")
"""Settings that a plan reads itself, such as 10%."""
OF_GROUPS = {f"alpha_{group}": str(group) for group in Group}
DEFAULTS = {"epsilon": 1.0, "alpha": 0.1, "beta": 0.01}


def plans_of(given: Sequence[str], protect: str = "lines") -> list[Plan]:
    """Every combination of the settings; what is not given is as in `gridveil release`."""
    values: dict[str, list[Any]] = {}
    for text in given:
        name, _, choices = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in (*NUMBERS, *WORDS, *OF_GROUPS):
            known = ", ".join((*WORDS, *NUMBERS, *OF_GROUPS))
            raise StudyError(f"there is no setting '{name}' of draws; there are {known} (and --protect)")
        if name in values:
            raise StudyError(f"the setting '{name}' is given twice; write {name}=A,B")
        values[name] = [_value(text, name, one.strip()) for one in choices.split(",") if one.strip()]
        if not values[name]:
            raise StudyError(f"'{text}' gives no value; write {name}=A,B")
    plans = list[Plan]()
    for chosen in product(*values.values()):
        settings = DEFAULTS | dict(zip(values, chosen, strict=True))
        alphas = {OF_GROUPS[name]: settings.pop(name) for name in OF_GROUPS if name in settings}
        plan = Plan(**settings, protect=protect, alphas=alphas or None)
        if plan not in plans:
            plans.append(plan)
    return plans


def _value(text: str, name: str, value: str) -> Any:
    if name not in NUMBERS:
        return value
    try:
        return float(value)
    except ValueError:
        raise StudyError(f"'{text}' cannot be read; write {name}=A,B with numbers") from None
