"""The three mechanisms and the paper's baseline. Each states its adjacency, its sensitivities and its exact loss."""

from __future__ import annotations

from gridveil.errors import PrivacyError
from gridveil.sealed.mechanisms.additive import AdditiveMechanism
from gridveil.sealed.mechanisms.base import Mechanism
from gridveil.sealed.mechanisms.laplace import LaplaceBaseline
from gridveil.sealed.mechanisms.log import LogMechanism
from gridveil.sealed.mechanisms.paper import PaperMechanism

MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (LogMechanism(), AdditiveMechanism(), PaperMechanism(), LaplaceBaseline())
}


def mechanism(name: str) -> Mechanism:
    """A mechanism by its name."""
    if name not in MECHANISMS:
        raise PrivacyError(f"there is no mechanism '{name}'; choose one of {', '.join(MECHANISMS)}")
    return MECHANISMS[name]
