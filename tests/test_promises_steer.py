"""Steering: a step brings every cost inside its own tolerance, and is no longer than it must be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.grid import Network
from gridveil.repair import cost_steps
from gridveil.repair import search as search_module
from gridveil.repair.bounds import Box
from gridveil.repair.cost_steps import Tried, steer
from gridveil.repair.promise import Promise
from gridveil.repair.search import search
from gridveil.repair.steer import INSIDE, beyond, excess, inside, shortest_step
from gridveil.wall.draw import Fidelity, Snapshot

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


class Planes:
    """A promise about a cost of 1 that is the largest of some planes, and networks without a dispatch where one ends."""

    def __init__(self, planes: Any, heights: Any, tolerance: float, begin: Any, monkeypatch: Any) -> None:
        self.planes, self.heights = np.array(planes), np.array(heights)
        self.tolerance, self.begin = np.array([tolerance]), np.array(begin)
        self.seen: list[Network] = []
        self.ends = np.inf
        wide, zero = np.full(3, 9.0), np.zeros(3)
        grid: Any = None
        self.box = Box(grid, None, np.array([[0], [1], [2]]), self.begin, -wide, wide, zero, np.ones(3))
        monkeypatch.setattr(cost_steps, "tried", lambda model, network, _: self.at(network))
        monkeypatch.setattr(search_module, "tried", lambda model, network, _: self.at(network))
        monkeypatch.setattr(search_module, "_loaded", lambda *_: [])
        for module in (cost_steps, search_module):
            monkeypatch.setattr(module, "slopes", self.slopes)

    def values(self, network: Network) -> FloatArray:
        return np.asarray(self.heights + self.planes @ self.box.parameters(network))

    def at(self, network: Network) -> Any:
        self.seen.append(network)
        height = self.values(network).max()
        optima: list[Any] = [SimpleNamespace(away=height)] if height <= self.ends else []
        return Tried(network, optima)

    def slopes(self, _: Any, network: Network, *__: Any) -> FloatArray:
        return np.asarray(self.planes[[int(np.argmax(self.values(network)))]])

    def away(self, optima: Any) -> FloatArray:
        return np.array([one.away for one in optima])

    def solved(self, optima: Any) -> bool:
        return bool(optima)

    def kept(self, optima: Any) -> bool:
        return bool(optima) and abs(optima[0].away) <= self.tolerance[0]

    def excess(self, optima: Any) -> float:
        return abs(optima[0].away) - self.tolerance[0] if optima else np.inf


MODEL: Any = SimpleNamespace(grid=None)


def test_steering_learns_from_a_kink(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is the larger of two planes: the first step falls on the other one, and the second knows both."""
    one: Any = Planes([[-1.0, -0.1, 0.0], [3.0, -1.0, 0.0]], [0.5, -0.3], 0.1, [2.0, -3.0, 0.5], monkeypatch)
    found = steer(MODEL, one.box, one.at(one.box.network(np.zeros(3))), one, 2)
    assert one.values(one.seen[1]).max() > 0.1  # beyond the kink
    assert one.kept(found.optima)
    assert one.values(found.network) == pytest.approx([INSIDE * 0.1] * 2)


def test_a_step_that_helps_is_followed_by_a_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cost that answers half as much as its slope says: each step goes half of what is left, and none twice as far."""
    one: Any = Planes([[1.0, 0.0, 0.0]], [0.05], 0.01, [2.0, -3.0, 0.5], monkeypatch)
    monkeypatch.setattr(cost_steps, "slopes", lambda *_: np.array([[2.0, 0.0, 0.0]]))
    steer(MODEL, one.box, one.at(one.box.network(np.zeros(3))), one, 20)
    steps = np.diff([one.box.parameters(network)[0] for network in one.seen])
    assert len(steps) >= 4 and steps[0] == pytest.approx(-(0.05 - 0.008) / 2)
    assert steps[1:] == pytest.approx(0.5 * steps[:-1])


def test_a_step_to_no_dispatch_is_halved_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    one: Any = Planes([[-1.0, 0.0, 0.0]], [-0.05], 0.01, [2.0, -3.0, 0.5], monkeypatch)
    one.ends = -0.05 + 1e-12
    begin = one.at(one.box.network(np.zeros(3)))
    assert steer(MODEL, one.box, begin, one, 20) is begin  # the best there is
    steps = [one.box.parameters(network)[0] for network in one.seen[1:]]
    assert steps == pytest.approx([-0.042, -0.021, -0.0105])  # what lies at the edge is soon left
    one.ends, one.seen[:] = -0.03, []
    found = steer(MODEL, one.box, begin, one, 20)
    assert -0.04 < float(one.away(found.optima)[0]) <= -0.03  # as near as there is a dispatch


def test_rays_see_what_slopes_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flat where it begins, and steep from somewhere on: slopes lead nowhere, a bracket leads there."""
    one: Any = Planes([[0.0, 0.0, 0.0], [0.0, 0.0, 4.0]], [-0.3, -1.5], 0.02, [2.0, -3.0, 0.5], monkeypatch)
    begin = one.at(one.box.network(np.zeros(3)))
    assert not one.kept(steer(MODEL, one.box, begin, one, 20).optima)
    found = search(MODEL, one.box, begin, one, [], 200)
    assert one.kept(found.optima)
    assert one.box.parameters(found.network)[2] == pytest.approx(1.5 / 4.0, abs=0.02)  # by the charging alone
    assert found.network.lines.g == pytest.approx([2.0]) and found.network.lines.b == pytest.approx([-3.0])
    assert len(one.seen) < 40
    assert all(one.box.outside(network) <= 1e-9 for network in one.seen)


def test_rays_come_as_near_as_there_is_a_dispatch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cost that ends before it is dear enough: the best of all rays is given back, and no worse than the beginning."""
    one: Any = Planes([[0.0, 0.0, 0.0], [0.0, 0.0, 4.0]], [-0.3, -1.5], 0.02, [2.0, -3.0, 0.5], monkeypatch)
    one.ends = -0.1
    begin = one.at(one.box.network(np.zeros(3)))
    found = search(MODEL, one.box, begin, one, [], 200)
    assert not one.kept(found.optima)
    assert -0.3 < float(one.away(found.optima)[0]) <= -0.1
    one.ends = -0.3
    one.seen.clear()
    assert one.away(search(MODEL, one.box, begin, one, [], 200).optima) == pytest.approx([-0.3])
    everywhere = len(one.seen)
    one.seen.clear()
    search(MODEL, one.box, begin, one, [], 1)
    assert 1 <= len(one.seen) < everywhere  # no other ray is begun


def test_the_way_to_another_network_is_a_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    one: Any = Planes([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [-0.3, -0.5], 0.02, [2.0, -3.0, 0.5], monkeypatch)
    other = one.box.network(np.array([1.0, 0.0, 0.0]))
    begin = one.at(one.box.network(np.zeros(3)))
    found = search(MODEL, one.box, begin, one, [other], 200)
    assert one.kept(found.optima) and one.box.parameters(found.network)[0] == pytest.approx(0.5, abs=0.03)


def test_a_loaded_line_that_is_made_stiffer_is_a_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    one: Any = Planes([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [-0.3, -0.8], 0.02, [2.0, -3.0, 0.5], monkeypatch)
    monkeypatch.setattr(search_module, "_loaded", lambda *_: [0])
    found = search(MODEL, one.box, one.at(one.box.network(np.zeros(3))), one, [], 1)
    assert one.kept(found.optima)
    moved = one.box.parameters(found.network)
    assert moved == pytest.approx([0.4, 0.4, 0.0], abs=0.02)  # both admittances alike, no charging


def test_the_most_loaded_lines_come_first_but_those_that_bind() -> None:
    network = gv.load("case5")
    optimum = gv.solve_opf(network).require()
    point, rating = optimum.point, network.grid.lines.rating
    loading = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt)) / rating
    binding = np.flatnonzero(loading > 0.999)
    promise = Promise.of([Snapshot(network.grid.buses.pd, network.grid.buses.qd, 1.1 * optimum.cost)], Fidelity(0.01))
    found = search_module._loaded(Tried(network, [optimum]), promise)
    assert len(binding) > 0 and not set(found) & set(binding.tolist())
    assert len(found) == min(search_module.LOADED, len(loading) - len(binding))
    assert np.all(np.diff(loading[found]) <= 0) and loading[found[0]] == loading[loading <= 0.999].max()
