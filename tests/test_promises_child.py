"""The repair in another process is asked just as the one in this process is."""

from __future__ import annotations

import inspect

import pytest

from gridveil.repair.child import ChildWorkshop
from gridveil.repair.workshop import Workshop


@pytest.mark.parametrize("name", ["begin", "estimate", "repair", "close"])
def test_both_workshops_take_the_same_and_suppose_the_same(name: str) -> None:
    here, there = (inspect.signature(getattr(one, name)).parameters for one in (Workshop, ChildWorkshop))
    assert {key: one.default for key, one in here.items()} == {key: one.default for key, one in there.items()}
