"""The table of protected numbers: what is one coordinate, to coordinates and back, and how far networks are apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import GridError, PrivacyError
from gridveil.grid import Generators, Network
from gridveil.grid.cost import CostCurves
from gridveil.wall.coordinates import encode as encode_lines
from gridveil.wall.coordinates import log_structure
from gridveil.wall.cost_numbers import cost_numbers, with_cost_numbers
from gridveil.wall.distance import distance
from gridveil.wall.numbers import Table, decode, encode, logs, orderly, rebuilt
from gridveil.wall.protection import PLACE, Element, Group, Protection, Ratings, group
from gridveil.wall.tables import table

CASES = ("case3", "case5", "case14", "case30", "case39", "case57", "case118")
ALL = Protection(dict.fromkeys(Group, 0.1))


def numbers(network: Network) -> dict[str, np.ndarray]:
    grid = network.grid
    r, x = network.lines.impedance()
    limits = {name: getattr(grid.generators, name) for name in ("pmin", "pmax", "qmin", "qmax")}
    return {
        "r": r, "x": x, "bc": network.lines.bc, "rating": grid.lines.rating, "pd": grid.buses.pd, "qd": grid.buses.qd,
        "cost": cost_numbers(grid.cost_p), **limits,
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ratings", list(Ratings))
def test_coordinates_and_back(name: str, ratings: Ratings) -> None:
    network = gv.load(name)
    made = table(network, Protection(ALL.alpha, ratings))
    found = logs(network)
    again = rebuilt(made, decode(made, encode(made, found), found), network)
    before, after = numbers(network), numbers(again)
    twins = np.bincount(made.own)[made.own]
    for key, values in before.items():
        assert np.array_equal(np.sign(values), np.sign(after[key])), key
        rows = made.rows({"r": "z", "x": "z", "bc": "z"}.get(key, key))
        alone = made.member[rows[twins[rows] == 1]]  # the mean over twins is their own value where there is one
        assert np.allclose(values[alone], after[key][alone], rtol=1e-12), key


@pytest.mark.parametrize("name", CASES)
def test_lines_alone_are_what_log_draws(name: str) -> None:
    network = gv.load(name)
    structure = log_structure(network.grid, network.lines)
    made = table(network, Protection({Group.LINES: 0.1}))
    assert np.allclose(encode(made, logs(network)), encode_lines(structure, network.lines), rtol=1e-14, atol=1e-14)


def plant(pmax: list[float], pmin: list[float], qmax: list[float], qmin: list[float], bus: list[int]) -> Table:
    network = gv.load("case3")
    made = Generators(np.array(bus), np.array(pmin), np.array(pmax), np.array(qmin), np.array(qmax))
    return table(Network(replace(network.grid, generators=made), network.lines), Protection({Group.LIMITS: 0.1}))


def test_equal_limits_of_a_plant_are_one_number() -> None:
    """pmin = pmax, qmin = −qmax, qmin = qmax and equal units share a draw; equal numbers of other buses do not."""
    fixed = plant([2.0], [2.0], [1.0], [-1.0], [0])
    assert fixed.size == 2 and fixed.own.tolist() == [0, 0, 1, 1] and fixed.sign.tolist() == [1, 1, 1, -1]
    assert fixed.pivot.tolist() == [-1, 0] and fixed.power.tolist() == [0, -1]
    both = plant([2.0, 2.0], [0.0, 0.5], [1.0, 1.0], [1.0, -0.5], [1, 1])
    assert both.size == 4  # 2, 0.5 (p), 1, 0.5 (q)
    apart = plant([2.0, 2.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1, 2])
    assert apart.size == 2 and apart.element.tolist() == [1, 2]
    condenser = plant([0.0], [0.0], [3.0], [-1.0], [0])
    assert condenser.size == 2 and condenser.pivot.tolist().count(-1) == 1
    endless = plant([np.inf], [-1.0], [np.inf], [-np.inf], [0])
    assert endless.size == 1 and endless.quantity.tolist() == [PLACE["pmin"]]
    # one unit's lower limit is another's upper one: a number that is a pivot is no ratio
    chain = plant([4.0, 2.0], [2.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0, 0])
    level = {4.0: 0, 2.0: 0, 1.0: 0}
    assert chain.size == len(level)
    assert all(chain.pivot[chain.pivot[one]] == -1 for one in np.flatnonzero(chain.pivot >= 0))


def test_loads_and_costs() -> None:
    network = gv.load("case3")
    buses = replace(network.grid.buses, pd=np.array([1.0, 0.0, -2.0]), qd=np.array([0.5, 0.3, 0.0]))
    network = Network(replace(network.grid, buses=buses), network.lines)
    made = table(network, Protection({Group.LOADS: 0.1}))
    assert made.size == 4 and made.element.tolist() == [0, 2, 0, 1]
    assert np.allclose(encode(made, logs(network)), [0.0, np.log(2.0), np.log(0.5), np.log(0.3)])
    again = rebuilt(made, decode(made, np.log([3.0, 4.0, 0.25, 0.6]), logs(network)), network).grid.buses
    assert np.allclose(again.pd, [3.0, 0.0, -4.0]) and np.allclose(again.qd, [0.75, 0.6, 0.0])
    polynomial = np.array([[0.0, 2.0, 1.0], [5.0, 2.0, 1.0], [0.0, 2.0, 1.0]])
    curves = CostCurves(polynomial, np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    network = Network(replace(network.grid, cost_p=curves), network.lines)
    single = table(network, Protection({Group.COSTS: 0.1}))
    assert single.size == 7
    shared = table(network, Protection({Group.COSTS: 0.1}, classes=True))
    assert shared.size == 5 and sorted(shared.element.tolist()) == [0, 0, 1, 1, 1]
    assert np.allclose(encode(shared, logs(network))[shared.pivot >= 0], np.log([0.5, 0.5, 2.5]))


def test_segments_stay_convex_and_meet_where_they_met() -> None:
    segments = np.array([0, 0, 0, 2, 2])
    curves = CostCurves(
        np.zeros((3, 1)), segments, np.array([1.0, 2.0, 4.0, 3.0, 5.0]), np.array([7.0, 5.0, -1.0, 0.0, -4.0])
    )
    values = cost_numbers(curves)
    same = with_cost_numbers(curves, values)
    assert np.allclose(same.segment_intercept, curves.segment_intercept)
    values[3:6] = [2.0, 1.5, 9.0]
    other = with_cost_numbers(curves, values)
    assert other.segment_slope.tolist()[:3] == [1.5, 2.0, 9.0]
    for a, b, at in ((0, 1, 2.0), (1, 2, 3.0), (3, 4, 2.0)):
        left = other.segment_slope[a] * at + other.segment_intercept[a]
        assert left == pytest.approx(other.segment_slope[b] * at + other.segment_intercept[b])


def test_the_order_of_limits_is_put_right() -> None:
    network = gv.load("case3")
    made = Generators(
        np.array([0, 1, 2]), *(np.array(v) for v in ([3.0, 1.0, -4.0], [2.0, 2.0, -5.0], [0.0] * 3, [1.0] * 3))
    )
    grid = replace(network.grid, generators=made)
    right = orderly(grid, table(Network(grid, network.lines), Protection({Group.LIMITS: 0.1}))).generators
    assert np.all(right.pmin <= right.pmax) and right.pmin[1] == 1.0
    assert right.pmin[0] == pytest.approx(1.98) and right.pmax[2] == pytest.approx(-3.96)


def changed(network: Network, **buses: np.ndarray) -> Network:
    return Network(replace(network.grid, buses=replace(network.grid.buses, **buses)), network.lines)


def test_distance_says_what_a_change_costs() -> None:
    network = gv.load("case14")
    assert distance(network, network, ALL) == {}
    pd, qd = network.grid.buses.pd.copy(), network.grid.buses.qd.copy()
    pd[2], qd[2] = 1.1 * pd[2], 1.1 * qd[2]
    assert distance(network, changed(network, pd=pd, qd=qd), ALL) == {
        (Element.LOAD, 2): pytest.approx(np.log(1.1) / 0.1)
    }
    pd[2] /= 1.1  # q alone
    assert distance(network, changed(network, qd=qd), ALL)[Element.LOAD, 2] == pytest.approx(np.log(1.1) / 0.1)
    with pytest.raises(GridError, match="buses: pd"):
        distance(network, changed(network, pd=2 * pd), Protection({Group.LINES: 0.1}))
    with pytest.raises(GridError, match="structure"):
        distance(network, changed(network, pd=-pd), ALL)
    # a line 10 % longer with a rating that follows costs its length alone in the one coordinate, more in the other
    r, x = network.lines.impedance()
    longer = np.where(np.arange(len(r)) == 3, 1.1, 1.0)
    lines = gv.LineParameters.from_impedance(r * longer, x * longer, network.lines.bc * longer)
    other = Network(
        replace(network.grid, lines=replace(network.grid.lines, rating=network.grid.lines.rating / longer)), lines
    )
    step = np.log(1.1) / 0.1
    own, product = (sum(distance(network, other, Protection(ALL.alpha, ratings)).values()) for ratings in Ratings)
    assert own == pytest.approx(2 * step) and product == pytest.approx(step)


def test_groups_have_names() -> None:
    assert group(" Loads ") is Group.LOADS
    with pytest.raises(PrivacyError, match="no group 'load'"):
        group("load")
    with pytest.raises(PrivacyError, match="nothing is protected"):
        Protection({})
    assert Protection({Group.COSTS: 1.0, Group.LINES: 0.1}).groups == (Group.LINES, Group.COSTS)
    assert not ALL.only_lines and Protection({Group.LINES: 1.0}).only_lines
    assert ALL.elements == (Element.CORRIDOR, Element.LOAD, Element.PLANT)
