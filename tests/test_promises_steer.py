"""Steering: a step brings every cost inside its own tolerance, and is no longer than it must be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridveil.grid import LineParameters
from gridveil.repair import repair as repair_module
from gridveil.repair.bounds import Box
from gridveil.repair.steer import INSIDE, beyond, excess, inside, shortest_step
from gridveil.wall.draw import Fidelity

RANDOM = np.random.default_rng(5)
GRADIENTS = RANDOM.normal(size=(4, 7))
WEIGHT = RANDOM.uniform(0.5, 2.0, 7)
AWAY = np.array([3.0, -2.0, 0.01, -0.001])  # too dear, too cheap, and two that are well already
TOLERANCE = np.array([0.1, 0.4, 2.5, 10.0])
FAR = np.full(7, 100.0)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_puts_every_cost_inside_its_own_tolerance(sign: int) -> None:
    away = sign * AWAY
    step = shortest_step(*inside(GRADIENTS, away, TOLERANCE), WEIGHT, -FAR, FAR)
    assert step is not None
    after = away + GRADIENTS @ step
    assert 0 < INSIDE < 1
    assert np.all(np.abs(after) <= INSIDE * TOLERANCE + 1e-9)
    assert after[0] == pytest.approx(sign * INSIDE * TOLERANCE[0])  # no further than it must be
    assert excess(after, TOLERANCE) < 0 < excess(away, TOLERANCE) == pytest.approx(2.9)


def test_what_is_inside_needs_no_step() -> None:
    """At 0.7 of the tolerance nothing is asked for, at 0.9 of it something is."""
    for share, moves in ((0.7, False), (-0.7, False), (0.9, True), (-0.9, True)):
        step = shortest_step(*inside(GRADIENTS, share * TOLERANCE, TOLERANCE), WEIGHT, -FAR, FAR)
        assert step is not None
        assert np.any(np.abs(step) > 1e-9) == moves


def test_the_step_is_the_shortest_in_its_metric() -> None:
    """One condition has its answer in a formula; heavy coordinates move less."""
    row, right = GRADIENTS[:1], np.array([1.5])
    step = shortest_step(row, right, WEIGHT, -FAR, FAR)
    assert step == pytest.approx(right * row[0] / WEIGHT / np.sum(row[0] ** 2 / WEIGHT))


def test_a_step_keeps_to_its_range_and_says_where_there_is_none() -> None:
    row, right = np.array([[1.0, 1.0, 1.0]]), np.array([3.0])
    low, high = np.array([-5.0, -5.0, 0.0]), np.array([0.5, 5.0, 0.0])
    step = shortest_step(row, right, np.ones(3), low, high)
    assert step == pytest.approx([0.5, 2.5, 0.0])
    assert shortest_step(-row, right, np.ones(3), -high, -low) == pytest.approx([-0.5, -2.5, 0.0])
    # 1 ≤ d and d ≤ −1
    assert shortest_step(np.array([[1.0], [-1.0]]), np.ones(2), np.ones(1), -np.ones(1), np.ones(1)) is None


def test_what_a_failed_step_has_shown_holds_where_the_step_began() -> None:
    """Exactly the costs that lie outside give a row each; it asks them inside, counted from before the step."""
    moved = RANDOM.normal(size=7)
    away = np.array([0.09, -0.31, 3.0, -0.5])  # the first lies inside its tolerance, and not inside what is aimed at
    rows, right = beyond(GRADIENTS, away, TOLERANCE, moved)
    out = np.array([True, False, True, False])
    assert rows.shape == (2, 7)
    for step in RANDOM.normal(scale=3.0, size=(200, 7)):
        there = away + GRADIENTS @ (step - moved)
        wanted = np.sign(away[out]) * there[out] <= INSIDE * TOLERANCE[out]
        assert np.array_equal(rows @ step >= right, wanted)


def test_steering_learns_from_a_kink(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is the larger of two planes: the first step falls on the other one, and the second knows both."""
    begin = np.array([2.0, -3.0, 0.5])
    box = Box(np.array([[0], [1], [2]]), begin - 9.0, begin + 9.0, begin, np.ones(3))
    planes, heights = np.array([[-1.0, -0.1, 0.0], [3.0, -1.0, 0.0]]), np.array([0.5, -0.3])
    tolerance, seen = 0.1, []

    def at(lines: LineParameters) -> np.ndarray:
        return np.asarray(heights + planes @ (np.concatenate([lines.g, lines.b, lines.bc]) - begin))

    def optima(_: Any, lines: LineParameters, __: Any) -> list[Any]:
        seen.append(lines)
        return [SimpleNamespace(cost=100.0 * (1.0 + at(lines).max()))]

    def slopes(_: Any, __: Any, lines: LineParameters, *___: Any) -> np.ndarray:
        return np.asarray(planes[[int(np.argmax(at(lines)))]])

    monkeypatch.setattr(repair_module, "_optima", optima)
    monkeypatch.setattr(repair_module, "_slopes", slopes)
    monkeypatch.setattr(repair_module, "_all_optimal", lambda *_: True)
    monkeypatch.setattr(repair_module, "_keeps_losses", lambda *_: True)
    monkeypatch.setattr(repair_module, "_faithful", lambda found, *_: int(abs(found[0].cost / 100.0 - 1.0) > tolerance))
    monkeypatch.setattr(repair_module, "rounded", lambda lines: lines)
    snapshot: Any = [SimpleNamespace(cost=100.0)]
    first = box.lines(begin)
    nothing: Any = None
    found = repair_module._steer(
        nothing, box, first, optima(None, first, None), snapshot, Fidelity(tolerance), [tolerance], 2
    )
    assert found is not None
    assert at(seen[1]).max() > tolerance  # beyond the kink
    assert at(found[0]) == pytest.approx([INSIDE * tolerance] * 2)
