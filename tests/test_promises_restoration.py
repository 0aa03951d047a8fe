"""Load restoration where an island cannot be fed as it is: what is released of it is the best of what was tried."""

from __future__ import annotations

import numpy as np
import pytest

import gridveil as gv
from gridveil.grid.parts import part
from gridveil.nlp.island import allowed, energise
from gridveil.nlp.restoration import Ending, restore
from gridveil.nlp.rules import Rules

from .conftest import Bend

ALL = [0, 1, 2]
COSTS = (
    "	2	0	0	3	0.01	20	0;",
    "	2	0	0	3	0.01	20	0;\n	2	0	0	3	0.01	20	0;",
)

# bus 1 feeds its own 40 MW; each of its two lines makes 300 Mvar that nobody takes
TWO_CHARGED = (
    ("1	3	0	0", "1	3	40	10"),
    ("1	2	0.01	0.1	0.02", "1	2	0.01	0.3	3"),
    ("1	3	0.02	0.12	0.03", "1	3	0.02	0.3	3"),
    ("2	1	90	30", "2	1	5	1"),
    ("3	2	60	20	0	5", "3	2	6	2	0	0"),
    ("50	-50	1	100	1	80", "0	0	1	100	1	4"),
)


def test_of_all_ways_to_open_lines_the_one_that_serves_most_is_taken(tiny: Bend) -> None:
    """Opening one of the two lines feeds nobody at bus 1; cutting both ends off feeds the 40 MW there."""
    network = gv.load(tiny(*TWO_CHARGED))
    done = restore(network, [2])
    (island,) = done.islands
    assert island.ending is Ending.FALLBACK
    assert done.violations.largest <= 1e-5
    assert done.opened.tolist() == [0, 1]
    assert done.served == island.served == pytest.approx(0.4 + done.state.share[2] * 0.06, abs=1e-5)
    assert done.served <= done.bound <= done.load == pytest.approx(0.51)
    assert np.all(done.state.on >= 0)


def test_every_generator_may_shut_down_under_switchable_rules(tiny: Bend) -> None:
    """Ranges that do not hold 0, on either side of it, are widened to it; those of the literal model stay."""
    network = gv.load(
        tiny(
            ("100	-100	1	100	1	200	0", "-10	-100	1	100	1	-20	-50"),
            ("50	-50	1	100	1	80	0", "50	20	1	100	1	80	30"),
        )
    )
    own = allowed(network.grid, Rules.SWITCHABLE)
    assert [own.pmin.tolist(), own.pmax.tolist()] == [[-0.5, 0.0], [0.0, 0.8]]
    assert [own.qmin.tolist(), own.qmax.tolist()] == [[-1.0, 0.0], [0.0, 0.5]]
    assert allowed(network.grid, Rules.LITERAL) is network.grid.generators


@pytest.mark.parametrize("buses", [range(20), range(20, 39), range(38, -1, -2)])
def test_a_part_has_the_lines_among_its_buses_and_no_others(buses: range) -> None:
    network = gv.load("case39_epri")
    grid, own = network.grid, part(network, np.array(buses))
    ends = [(int(a), int(b)) for a, b in zip(grid.lines.bus_from, grid.lines.bus_to, strict=True)]
    inside = [k for k, (a, b) in enumerate(ends) if a in buses and b in buses]
    assert own.lines.b.tolist() == network.lines.b[inside].tolist()
    number = own.grid.buses.number
    assert number.tolist() == grid.buses.number[list(buses)].tolist()
    assert number[own.grid.lines.bus_from].tolist() == grid.buses.number[grid.lines.bus_from[inside]].tolist()
    assert number[own.grid.lines.bus_to].tolist() == grid.buses.number[grid.lines.bus_to[inside]].tolist()
    assert set(number[own.grid.generators.bus]) <= set(grid.buses.number[grid.generators.bus])


def test_generators_of_a_lone_bus_share_what_it_needs(tiny: Bend) -> None:
    """Bus 3 alone with two generators of 40 MW each: both together give its 60 MW, no more."""
    network = gv.load(
        tiny(
            (
                "50	-50	1	100	1	80	0;",
                "50	-50	1	100	1	40	0;\n	3	0	0	50	-50	1	100	1	40	0;",
            ),
            COSTS,
        )
    )
    done = restore(network, ALL)
    assert done.violations.largest <= 1e-6
    assert done.served == pytest.approx(0.6)
    assert sorted(done.state.pg) == pytest.approx([0.0, 0.2, 0.4])
    assert done.state.qg.sum() == pytest.approx(0.2 - 0.05 * done.state.vm[2] ** 2 * done.state.on[2])


def test_culprits_are_the_buses_that_cannot_be_fed(tiny: Bend) -> None:
    """Line 2-3 makes 300 Mvar: its ends are what stands in the way, not bus 1."""
    network = gv.load(tiny(("2	3	0.01	0.08	0.02", "2	3	0.01	0.3	9")))
    found = energise(network, Rules.SWITCHABLE, gv.SolverOptions())
    assert found.state is None
    assert len(found.culprits) < network.grid.n_bus
    assert set(found.culprits.tolist()) & {1, 2}


def test_the_shunt_of_a_lone_bus_is_on_as_far_as_its_load_needs(tiny: Bend) -> None:
    """Bus 3 alone takes its 20 Mvar from a capacitor of 50: on·vm² = 0.4, at a voltage within its limits."""
    network = gv.load(
        tiny(
            ("50	-50	1	100	1	80", "0	0	1	100	1	80"),
            ("60	20	0	5", "60	20	0	50"),
        )
    )
    done = restore(network, ALL)
    assert done.violations.largest <= 1e-6
    assert done.state.on[2] * done.state.vm[2] ** 2 == pytest.approx(0.4)
    assert 0.9 <= done.state.vm[2] <= 1.1
