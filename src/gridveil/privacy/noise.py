"""Laplace noise: exact for releases, seeded for research.

Floating-point Laplace noise leaks through its rounding, so releases use OpenDP's exact sampler with the operating
system's randomness. Proof that the loss stays at ε or below: docs/proofs/noise.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import version
from math import floor, log2, nextafter
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import PrivacyError


class Noise(ABC):
    """A source of Laplace noise for one release."""

    private: bool
    description: str

    @abstractmethod
    def prepare(self) -> None:
        """Meet whatever keeps this from drawing, before anything is charged."""

    @abstractmethod
    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        """`values` with noise for which changing them by `sensitivity` in L1 distance costs at most `epsilon`."""


class ExactNoise(Noise):
    """OpenDP's discrete Laplace on a grid of 2^k, which is far below every scale in use."""

    private = True

    def __init__(self) -> None:
        self.description = f"OpenDP {version('opendp')} make_laplace, randomness of the operating system"

    def prepare(self) -> None:
        """Load the sampler, and draw once from nothing."""
        try:
            self.laplace(np.zeros(1), 1.0, 1.0)
        except PrivacyError:
            raise
        except Exception as error:
            raise PrivacyError(
                f"the sampler of exact noise cannot be used ({type(error).__name__}: {error}); nothing was charged. "
                "Install GridVeil again, or see 'gridveil doctor'"
            ) from error

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        if values.size == 0:
            return values.copy()
        measurement = _measurement(values.size, sensitivity, epsilon)
        if not measurement.map(sensitivity) <= epsilon:
            raise PrivacyError(f"the sampler states a loss above {epsilon}; nothing was drawn")
        return np.array(measurement(values.tolist()))


class SeededNoise(Noise):
    """Reproducible noise for studies. Whoever knows the seed can take it off again: it protects nothing.

    Args:
        seed: A whole number from 0 on.

    Raises:
        PrivacyError: It is none.

    Examples:
        >>> gv.SeededNoise(7).private
        False
    """

    private = False

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise PrivacyError(f"a seed is a whole number from 0 on, not {seed}")
        self._generator = np.random.default_rng(seed)
        self.description = "RESEARCH MODE: seeded generator (NumPy PCG64), offers no privacy"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description})"

    def prepare(self) -> None:
        """It is ready."""

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        return values + self._generator.laplace(scale=sensitivity / epsilon, size=values.shape)


def _measurement(size: int, sensitivity: float, epsilon: float) -> Any:  # opendp is not typed
    """A Laplace measurement whose privacy map at `sensitivity` is at most `epsilon`.

    Sampling on the finest grid of doubles is exact but slow. A grid of 2^k with k 56 binary places below the scale is
    five times faster; rounding the values to it can add size·2^k to their distance, and the scale is enlarged by just
    that, about one part in 10^13 for 10,000 values.
    """
    # heavy, and needed on the secret side only; by their parts, for the library's prelude loads all that it has
    from opendp.domains import atom_domain, vector_domain  # noqa: PLC0415
    from opendp.measurements import make_laplace  # noqa: PLC0415
    from opendp.metrics import l1_distance  # noqa: PLC0415
    from opendp.mod import enable_features  # noqa: PLC0415

    enable_features("contrib")
    scale = sensitivity / epsilon
    k = floor(log2(scale)) - 56
    domain = vector_domain(atom_domain(T=float, nan=False), size=size)
    scale = (sensitivity + size * 2.0**k) / epsilon
    measurement: Any = make_laplace(domain, l1_distance(T=float), scale=scale, k=k)
    while not measurement.map(sensitivity) <= epsilon:
        scale = nextafter(scale * (1 + 1e-15), float("inf"))
        measurement = make_laplace(domain, l1_distance(T=float), scale=scale, k=k)
    return measurement
