"""What a mechanism is on the secret side: how it draws, and what that costs. Its words are in `wall/mechanisms.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from gridveil.privacy.noise import Noise
from gridveil.sealed.split import Sealed
from gridveil.wall.draw import NoisyLines
from gridveil.wall.mechanisms import MechanismWords, mechanism_words


class Mechanism(ABC):
    """Noise for the lines of a network. `loss` is exact: no smaller number is true for every adjacent pair."""

    name: str

    @property
    def words(self) -> MechanismWords:
        """What is public of it."""
        return mechanism_words(self.name)

    @abstractmethod
    def loss(self, network: Sealed, epsilon: float) -> float:
        """The privacy loss of one release at nominal ε."""

    @abstractmethod
    def perturb(self, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        """Draw once."""
