"""What GridVeil does itself because loading SciPy takes longer: the same answers as SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls as reference
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gridveil.arrays import FloatArray
from gridveil.grid.topology import components
from gridveil.nlp.sparse import sparse
from gridveil.repair.nnls import nnls

RANDOM = np.random.default_rng(11)


def test_a_product_has_the_same_digits() -> None:
    for _ in range(300):
        height, width, count = RANDOM.integers(1, 30), RANDOM.integers(1, 30), RANDOM.integers(0, 60)
        place, values = (RANDOM.integers(0, height, count), RANDOM.integers(0, width, count)), RANDOM.normal(size=count)
        if len({*zip(*place, strict=True)}) < count:
            values = np.sign(values)  # several in one place: in which order they are added is nobody's promise
        vector = RANDOM.normal(size=width)
        known: FloatArray = coo_array((values, place), shape=(height, width)).tocsr() @ vector
        assert (sparse(int(height), *place, values) @ vector).tobytes() == known.tobytes()


def test_components() -> None:
    for _ in range(300):
        count, links = RANDOM.integers(1, 60), RANDOM.integers(0, 80)
        one, two = RANDOM.integers(0, count, (2, links))
        _, known = connected_components(coo_array((np.ones(links), (one, two)), shape=(count, count)), directed=False)
        first = np.unique(known, return_index=True)[1]
        assert components(int(count), one, two).tolist() == first[known].tolist()


def test_a_long_path_in_any_order() -> None:
    order = RANDOM.permutation(5000)
    assert not np.any(components(5000, order[:-1], order[1:]))


@pytest.mark.parametrize(
    "kind", ["any", "twins", "whole numbers", "positive", "a column of zeros", "reachable", "zero"]
)
def test_non_negative_least_squares(kind: str) -> None:
    for _ in range(100):
        matrix = RANDOM.normal(size=(RANDOM.integers(1, 30), RANDOM.integers(1, 20)))
        aim = RANDOM.normal(size=len(matrix))
        if kind == "twins":
            matrix = np.repeat(matrix, 2, axis=1)
        elif kind == "whole numbers":
            matrix = np.sign(np.round(matrix))
        elif kind == "positive":
            matrix = np.abs(matrix)
        elif kind == "a column of zeros":
            matrix[:, 0] = 0.0
        elif kind == "reachable":
            aim = matrix @ np.maximum(RANDOM.normal(size=matrix.shape[1]), 0.0)
        elif kind == "zero":
            aim = 0.0 * aim
        x, distance = nnls(matrix, aim)
        assert np.all(x >= 0)
        assert distance == pytest.approx(float(np.linalg.norm(matrix @ x - aim)))
        assert distance == pytest.approx(reference(matrix, aim)[1], abs=1e-9)
