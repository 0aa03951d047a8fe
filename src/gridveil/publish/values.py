"""Numbers as people write them in a plan."""

from __future__ import annotations

from math import isfinite

from gridveil.errors import PrivacyError, ReleaseError
from gridveil.wall.mechanisms import MechanismWords


def alpha_value(alpha: float | str, words: MechanismWords) -> float:
    """α as a number; it may carry its unit."""
    if not isinstance(alpha, str):
        return float(alpha)
    text = alpha.strip()
    unit = next((unit for unit in ("%", "pu") if text.endswith(unit)), "")
    try:
        value = float(text.removesuffix(unit))
    except ValueError:
        raise PrivacyError(f"alpha = '{alpha}' is not a number; write 0.1, 10% or 0.1pu") from None
    if unit and unit != words.suffix:
        wanted = {"%": "relative: write 0.1 or 10%", "pu": "in per unit of conductance: write 0.1 or 0.1pu"}[
            words.suffix
        ]
        raise PrivacyError(f"alpha = '{alpha}' has the wrong unit: for the mechanism '{words.name}' it is {wanted}")
    return value / 100 if unit == "%" else value


def share_value(name: str, value: float | str) -> float:
    """A share as a number; it may be written in per cent."""
    if not isinstance(value, str):
        return float(value)
    text = value.strip()
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise ReleaseError(f"{name} = '{value}' is not a share; write 0.01 or 1%") from None


def require_positive(name: str, value: float) -> None:
    """Refuse what is no positive number."""
    if not (isfinite(value) and value > 0):
        raise PrivacyError(f"{name} = {value} must be a positive, finite number")
