"""released.m as other tools take it: transformers are transformers, wide generators, points inside their limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.casefile.from_network import from_network
from gridveil.casefile.quirks import quirks
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.grid import OperatingPoint, violations
from gridveil.grid.physics import operating_point
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.inside import inside_limits, is_inside
from gridveil.repair.judge import BALANCE
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.wall.draw import Repair

from .conftest import Bend


def test_transformers_keep_ratio_one() -> None:
    """The format's ratio 0 says line: two transformers of this case have ratio 1, between 345 and 138 kV."""
    network = gv.load("case118_ieee")
    table = from_network("x", *network, gv.solve_opf(network).point).branch
    kv = dict(zip(network.grid.buses.number.tolist(), network.grid.buses.base_kv.tolist(), strict=True))
    between = [kv[row[0]] != kv[row[1]] for row in table[:, :2].tolist()]
    assert np.count_nonzero(table[between, c.RATIO] == 1) == 2
    assert not np.any(table[between, c.RATIO] == 0)
    assert not np.any(table[np.logical_not(between), c.RATIO] == 1)


def test_a_shifter_has_its_ratio(tiny: Bend) -> None:
    network = to_network(tiny(("0.98	2	1", "1	2	1")))
    assert from_network("x", *network, gv.solve_opf(network).point).branch[:, c.RATIO].tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", ["case14", "case39_epri", "case118_ieee"])
def test_a_release_keeps_every_limit(name: str) -> None:
    made = release(split(gv.load(name)), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(1), workshop=Workshop)
    case = read_bytes("released.m", made.text.encode())
    bus, gen = case.bus, case.gen
    assert gen.shape[1] == 21 and not np.any(gen[:, 10:])
    for table, value, low, high in (
        (bus, c.VM, c.VMIN, c.VMAX),
        (gen, c.PG, c.PMIN, c.PMAX),
        (gen, c.QG, c.QMIN, c.QMAX),
    ):
        assert np.all((table[:, low] <= table[:, value]) & (table[:, value] <= table[:, high]))
    assert np.array_equal(gen[:, c.VG], bus[np.searchsorted(bus[:, c.BUS_NUMBER], gen[:, c.GEN_BUS]), c.VM])
    assert made.certificate.passed
    point = gv.solve_opf(made.network).point
    assert not is_inside(made.network.grid, point), "a solver that keeps limits needs nothing of this"


def _solved(name: str) -> tuple[gv.Network, Repair]:
    network = gv.load(name)
    solution = gv.solve_opf(network)
    return network, Repair(network, (solution.point,), "as drawn", 0, 1.0, 0, (solution.end,))


def _unbalanced(network: gv.Network, point: OperatingPoint) -> float:
    judged = violations(*network, point)
    return max(judged.balance_p, judged.balance_q)


def test_clipping_alone_would_fail_the_certificate() -> None:
    """What is certified balances; a clipped voltage over a large admittance does not."""
    network, repair = _solved("case39_epri")
    buses, made, point = network.grid.buses, network.grid.generators, repair.points[0]
    clipped = operating_point(
        *network, np.clip(point.vm, buses.vmin, buses.vmax), point.va,
        np.clip(point.pg, made.pmin, made.pmax), np.clip(point.qg, made.qmin, made.qmax),
    )  # fmt: skip
    assert _unbalanced(network, clipped) > BALANCE
    moved = inside_limits(network.grid, repair, [Demand(buses.pd, buses.qd)]).points[0]
    assert is_inside(network.grid, moved) and _unbalanced(network, moved) < BALANCE / 100
    assert moved.cost == pytest.approx(point.cost, rel=1e-7)


def test_a_point_that_is_no_dispatch_is_not_mended() -> None:
    """The certificate judges what the repair found, not what could have been found."""
    network, repair = _solved("case14")
    point = repair.points[0]
    wrong = replace(repair, points=(replace(point, vm=point.vm + 0.5),))
    demand = [Demand(network.grid.buses.pd, network.grid.buses.qd)]
    assert inside_limits(network.grid, wrong, demand).points == wrong.points


def test_equal_limits_stay_equal(tiny: Bend) -> None:
    network = to_network(
        tiny(
            (
                "	3	0	0	50	-50	1	100	1	80	0;",
                "	3	0	0	50	-50	1	100	1	33.1	33.1;",
            )
        )
    )
    solution = gv.solve_opf(network)
    repair = Repair(network, (solution.point,), "as drawn", 0, 1.0, 0)
    moved = inside_limits(network.grid, repair, [Demand(network.grid.buses.pd, network.grid.buses.qd)]).points[0]
    assert is_inside(network.grid, moved)
    assert from_network("x", *network, moved).gen[1, c.PG] == 33.1


def test_further_columns_are_read_with_a_note(tiny: Bend) -> None:
    more = [(f"	{row}	1.1	0.9;", f"	{row}	1.1	0.9{'	7' * 5};") for row in (1, 1, 1)]
    case = tiny(*more)
    assert case.bus.shape == (3, 18)
    found = {one.name: one for one in quirks(case)}
    assert found["columns of mpc.bus beyond the format's 17"].reading == "not read"
    assert np.array_equal(to_network(case).grid.buses.vmax, [1.1] * 3)
    assert not any("beyond" in one.name for one in quirks(tiny()))


def test_bundles_of_earlier_versions_have_narrow_generators() -> None:
    """The golden bundles stand for them: ten columns, and points beyond their limits."""
    path = Path(__file__).parent / "golden" / "gridveil-release-5" / "plain"
    assert gv.read(path / "released.m").gen.shape[1] == 10
    assert gv.verify(path).passed
