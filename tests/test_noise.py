"""The noise has the law it claims, the map it claims, and the tests can tell a wrong scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, laplace

from gridveil.privacy.noise import ExactNoise, Noise, SeededNoise, _measurement

DRAWS = 6000


def p_value(noise: Noise, scale: float) -> float:
    """How plausible the drawn noise is under Laplace noise of a scale."""
    centre = np.linspace(-3, 3, DRAWS)
    drawn = noise.laplace(centre, sensitivity=0.2, epsilon=0.5)
    return float(kstest(drawn - centre, laplace(scale=scale).cdf).pvalue)


@pytest.mark.parametrize("noise", [ExactNoise(), SeededNoise(1)], ids=["exact", "seeded"])
def test_law_is_accepted_and_wrong_scales_are_rejected(noise: Noise) -> None:
    """The exact sampler cannot be seeded: one run in ten million calls it wrong."""
    assert p_value(noise, 0.4) > 1e-7
    assert p_value(noise, 0.7 * 0.4) < 1e-6
    assert p_value(noise, 1.3 * 0.4) < 1e-6


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 500), st.floats(1e-4, 1e3), st.floats(1e-3, 20))
def test_map_never_exceeds_epsilon(size: int, sensitivity: float, epsilon: float) -> None:
    measurement = _measurement(size, sensitivity, epsilon)
    assert measurement.map(sensitivity) <= epsilon
    assert measurement.map(sensitivity) >= epsilon * (1 - 1e-9)
    # half the distance costs half, and twice the distance is not hidden
    assert measurement.map(2 * sensitivity) > epsilon


def test_exact_noise_is_fresh_and_seeded_noise_is_not() -> None:
    values = np.zeros(5)
    assert not np.array_equal(ExactNoise().laplace(values, 1, 1), ExactNoise().laplace(values, 1, 1))
    assert np.array_equal(SeededNoise(3).laplace(values, 1, 1), SeededNoise(3).laplace(values, 1, 1))
    assert ExactNoise().private
    assert not SeededNoise(3).private
    assert ExactNoise().laplace(np.zeros(0), 1, 1).size == 0
