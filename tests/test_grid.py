"""Topology and physics against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridveil as gv
from gridveil.casefile.to_network import to_network
from gridveil.errors import GridError
from gridveil.grid import (
    LineParameters,
    circuits,
    corridors,
    islands,
    line_flows,
    line_levels_kv,
    operating_point,
    reference_buses,
)
from gridveil.grid.cost import CostCurves

from .conftest import Bend


def test_flow_of_a_line_by_hand(tiny: Bend) -> None:
    """z = 0.3 + 0.4j, so y = 1.2 − 1.6j; V = 1 and 0.9∠0; charging 0.2, no tap.

    I_f = y·0.1 + 0.1j·1 = 0.12 − 0.06j → S_f = 0.12 + 0.06j
    I_t = −y·0.1 + 0.1j·0.9 = −0.12 + 0.25j → S_t = 0.9·(−0.12 − 0.25j) = −0.108 − 0.225j
    """
    network = to_network(tiny(("0.01	0.1	0.02", "0.3	0.4	0.2")))
    s_from, s_to = line_flows(network.grid, network.lines, np.array([1.0, 0.9, 1.0], dtype=complex))
    assert s_from[0] == pytest.approx(0.12 + 0.06j)
    assert s_to[0] == pytest.approx(-0.108 - 0.225j)


def test_tap_and_shift_by_hand(tiny: Bend) -> None:
    """An ideal transformer: behind the tap 0.5·e^(j90°) a voltage of 1 looks like 2·e^(−j90°) to the line."""
    network = to_network(
        tiny(
            (
                "0.02	0.12	0.03	150	150	150	0.98	2",
                "0	0.5	0	150	150	150	0.5	90",
            )
        )
    )
    s_from, s_to = line_flows(network.grid, network.lines, np.array([1.0, 1.0, 1.0], dtype=complex))
    # −2j·(2·e^(−j90°) − 1) flows from the tap: I = −4 + 2j, S_f = −2j·conj(I), S_t = 1·conj(−I)
    assert s_from[1] == pytest.approx(-2j * (-4 - 2j))
    assert s_to[1] == pytest.approx(4 + 2j)
    # without losses what goes in comes out
    assert (s_from[1] + s_to[1]).real == pytest.approx(0)


def test_violations_see_each_limit(tiny: Bend) -> None:
    network = to_network(tiny())
    solution = gv.solve_opf(network).require()
    point, grid = solution.point, network.grid
    assert solution.violations.largest < 1e-6

    def judge(**change: np.ndarray) -> gv.OperatingPoint:
        parts = {name: getattr(point, name).copy() for name in ("vm", "va", "pg", "qg")} | change
        return operating_point(grid, network.lines, parts["vm"], parts["va"], parts["pg"], parts["qg"])

    more = gv.violations(grid, network.lines, judge(pg=point.pg + np.array([0.5, 0])))
    assert more.balance_p == pytest.approx(0.5, abs=1e-6)
    assert more.balance_q < 1e-6
    assert gv.violations(grid, network.lines, judge(pg=point.pg * 0 - 0.25)).generation_p == pytest.approx(0.25)
    assert gv.violations(grid, network.lines, judge(qg=point.qg * 0 + 0.75)).generation_q == pytest.approx(0.25)
    assert gv.violations(grid, network.lines, judge(vm=point.vm * 0 + 1.25)).voltage == pytest.approx(0.15)
    turned = gv.violations(grid, network.lines, judge(va=np.array([0, 1.0, 0])))
    assert turned.angle_difference == pytest.approx(1 - np.pi / 6)
    assert turned.rating > 1
    nan = gv.violations(grid, network.lines, judge(vm=point.vm * np.nan))
    assert not nan.largest <= 1e9


def test_islands_references_corridors_levels(tiny: Bend) -> None:
    case = tiny(
        ("	3	2	60	20	0	5	1	1	0	230	1	1.1	0.9;\n",
         "	3	2	60	20	0	5	1	1	0	345	1	1.1	0.9;\n	9	1	0	0	0	0	1	1	0	0	1	1.1	0.9;\n"
         "	5	1	0	0	0	0	1	1	0	0	1	1.1	0.9;\n	4	3	0	0	0	0	1	1	0	0	1	1.1	0.9;\n"),
        ("	2	3	0.01", "	9	5	0.01	0.1	0	0	0	0	0	0	1	0	0;\n	3	1	0.3	0.5	0	0	0	0	0	0	1	0	0;\n	2	3	0.01"),
    )  # fmt: skip
    grid = to_network(case).grid
    island = islands(grid)
    assert island.tolist() == [0, 0, 0, 1, 1, 2]
    assert reference_buses(grid, island).tolist() == [0, 3, 5]
    assert corridors(grid).tolist() == [0, 1, 2, 1, 3]
    assert line_levels_kv(grid).tolist() == [230, 345, 0, 345, 345]


def test_circuits_split_where_ratings_differ_twofold(tiny: Bend) -> None:
    line = "	3	1	0.3	0.5	0	{}	0	0	0	0	1	0	0;\n"
    more = "".join(line.format(rating) for rating in (290, 300, 310, 1000, 0, 70))
    grid = to_network(tiny(("	2	3	0.01", more + "	2	3	0.01"))).grid
    # the corridor's lines, by rating in MVA: 150, 290, 300, 310, 1000, none, 70 (the weakest)
    found = circuits(grid)[[1, 2, 3, 4, 5, 6, 7]].tolist()
    assert found[1:4] == [found[1]] * 3 != found[4:5] * 3
    assert len({found[0], found[1], found[4], found[5], found[6]}) == 5
    assert len(set(circuits(gv.load("case118").grid))) == 179  # ratings of its parallel lines differ by 12 % at most


def test_reference_falls_to_the_first_generator(tiny: Bend) -> None:
    grid = to_network(tiny(("	1	3	0	0", "	1	1	0	0"), ("1	80	0;", "1	800	0;"))).grid
    assert grid.generators.bus.tolist()[0] == reference_buses(grid, islands(grid)).tolist()[0]


@given(st.floats(-10, 10), st.floats(-10, 10).filter(lambda x: abs(x) > 1e-3), st.floats(-1, 1))
def test_impedance_and_admittance_are_inverse(r: float, x: float, bc: float) -> None:
    lines = LineParameters.from_impedance(np.array([r]), np.array([x]), np.array([bc]))
    again = lines.impedance()
    assert again[0][0] == pytest.approx(r, rel=1e-9, abs=1e-9)
    assert again[1][0] == pytest.approx(x, rel=1e-9, abs=1e-9)


def test_cost_of_segments() -> None:
    curves = CostCurves(np.array([[1.0], [0.0]]), np.array([1, 1]), np.array([10.0, 30.0]), np.array([0.0, -20.0]))
    assert curves.total(np.array([5.0, 0.5])) == pytest.approx(1 + 5)
    assert curves.total(np.array([5.0, 2.0])) == pytest.approx(1 + 40)
    assert CostCurves.zero(2).total(np.array([1.0, 2.0])) == 0


def test_arrays_are_frozen_and_checked(tiny: Bend) -> None:
    network = to_network(tiny())
    with pytest.raises(ValueError, match="read-only"):
        network.grid.buses.pd[0] = 1
    with pytest.raises(GridError, match="expected 2 entries"):
        LineParameters(np.zeros(2), np.zeros(3), np.zeros(2))
    with pytest.raises(GridError, match="expected 3 entries"):
        gv.solve_opf(network, gv.Demand(np.zeros(4), np.zeros(4)))
