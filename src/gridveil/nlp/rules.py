"""What an operator may do after an attack: the two sets of rules of load restoration."""

from __future__ import annotations

from enum import StrEnum


class Rules(StrEnum):
    """What the operator may do after an attack."""

    SWITCHABLE = "switchable"
    LITERAL = "literal"
