"""Shipped cases hold PGLib's numbers, and no more than that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridveil import cases
from gridveil.casefile import read

EXPECTED = ("case3_lmbd", "case5_pjm", "case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")


def test_names() -> None:
    assert cases.names() == EXPECTED
    assert cases.path("case39") == cases.path("case39_epri")
    assert cases.path("case4") is None


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_are_those_of_pglib(name: str, pglib: Path) -> None:
    shipped = cases.path(name)
    assert shipped is not None
    ours, theirs = read(shipped), read(pglib / f"pglib_opf_{name}.m")
    for table in ("bus", "gen", "branch", "gencost"):
        assert np.array_equal(getattr(ours, table), getattr(theirs, table))
    comments = [line for line in shipped.read_text().splitlines() if line.startswith("%   ")]
    assert "CC BY 4.0" in comments[0]
    assert len(comments) == 2
