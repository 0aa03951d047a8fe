"""The public grid by its definitions: profiles, ratings read backwards, corridors and circuits, merit order, judge."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import GridError
from gridveil.grid import Grid, LineKind, LineParameters, Network, circuits, corridors
from gridveil.grid.copper_plate import copper_plate_cost, marginal_cost
from gridveil.grid.cost import CostCurves
from gridveil.grid.parts import part, without
from gridveil.grid.physics import operating_point, violations
from gridveil.grid.profile import Profile, base_profile, equally_spaced, make_profile, scaled
from gridveil.grid.ratings import bound_size, likely_angles, rated
from gridveil.grid.topology import islands, line_levels_kv, reference_buses
from gridveil.repair.judge import at_most, judge_lines, judge_point, promised
from gridveil.wall.certificate import CheckKind
from gridveil.wall.draw import Fidelity, Snapshot


def case(name: str = "case14") -> Network:
    return gv.load(name)


# ---- profiles ----


def test_profiles_follow_their_rules() -> None:
    grid = case().grid
    n = grid.n_bus
    loaded = grid.buses.pd != 0

    def shares(**options: Any) -> Any:
        found = make_profile(grid, 5, low=0.5, high=1.5, **options)
        assert found.step.tolist() == [1, 2, 3, 4, 5] and len(found) == 5
        table = found.pd[:, loaded] / grid.buses.pd[loaded]
        moved = grid.buses.qd != 0
        assert found.qd[:, moved] / grid.buses.qd[moved] == pytest.approx(
            (found.pd / np.where(loaded, grid.buses.pd, np.nan))[:, moved], nan_ok=True
        )
        return table - 0.5

    rise = np.linspace(0, 1, 5)
    assert shares(rule="ramp", per_bus=False) == pytest.approx(np.tile(rise[:, None], loaded.sum()))
    even = (np.arange(n) % 2 == 0)[loaded]
    assert shares(rule="ramp") == pytest.approx(np.where(even, rise[:, None], 1 - rise[:, None]))
    wave = 0.5 + 0.5 * np.sin(2 * np.pi * np.arange(5) / 5)
    assert shares(rule="sine", per_bus=False) == pytest.approx(np.tile(wave[:, None], loaded.sum()))
    phase = np.random.Generator(np.random.PCG64(3)).random(n)[loaded]
    each = 0.5 + 0.5 * np.sin(2 * np.pi * (np.arange(5)[:, None] / 5 + phase))
    assert shares(rule="sine", seed=3) == pytest.approx(each)
    drawn = np.random.Generator(np.random.PCG64(0)).random((5, n))[:, loaded]
    assert shares(rule="uniform") == pytest.approx(drawn)
    assert shares() == pytest.approx(drawn)
    same = shares(rule="uniform", per_bus=False)
    assert same == pytest.approx(np.tile(same[:, :1], loaded.sum())) and len(set(same[:, 0])) == 5
    usual = make_profile(grid, 50).pd[:, loaded] / grid.buses.pd[loaded]
    assert 0.8 <= usual.min() < 0.81 and 1.09 < usual.max() <= 1.1


def test_profiles_that_are_none() -> None:
    grid = case("case5").grid
    for options in (
        {"rule": "saw"}, {"horizon": 0}, {"low": -0.1}, {"low": 1.2, "high": 1.1}, {"high": np.inf}, {"low": np.nan}, {"seed": -1},
    ):  # fmt: skip
        with pytest.raises(GridError):
            make_profile(grid, **{"horizon": 2, **options})  # type: ignore[arg-type]
    make_profile(grid, 1, low=0.0, high=0.0, seed=0)
    one = np.ones((2, 5))
    Profile(np.array([7, 8]), one, one)
    for step, pd, qd in (
        ([7, 9], one, one), ([8, 7], one, one), ([], one[:0], one[:0]), ([7], one, one), ([7, 8], one, one[:, :4]),
        ([7, 8], one, one[:1]), ([7, 8], one[0], one[0]), ([7, 8], one * [[1], [np.nan]], one), ([7, 8], one, one * [[np.inf], [1]]),
    ):  # fmt: skip
        with pytest.raises(GridError):
            Profile(np.array(step, dtype=np.int64), pd, qd)
    with pytest.raises(GridError, match="step 8 is not finite"):
        Profile(np.array([7, 8]), one * [[1], [np.nan]], one)


def test_steps_of_a_horizon() -> None:
    assert [equally_spaced(9, count).tolist() for count in (1, 2, 3, 5)] == [[0], [0, 8], [0, 4, 8], [0, 2, 4, 6, 8]]
    assert equally_spaced(1, 1).tolist() == [0] and equally_spaced(4, 4).tolist() == [0, 1, 2, 3]
    for horizon, count in ((3, 0), (3, 4)):
        with pytest.raises(GridError):
            equally_spaced(horizon, count)
    grid = case("case5").grid
    base = base_profile(grid)
    assert (base.step.tolist(), base.pd.tolist(), base.qd.tolist()) == (
        [1],
        [grid.buses.pd.tolist()],
        [grid.buses.qd.tolist()],
    )
    assert scaled(grid, np.array([2.0, 3.0]), first=6).step.tolist() == [6, 7]


# ---- ratings ----


def test_a_rating_by_the_bound_gives_the_impedance() -> None:
    """The largest current at both voltage limits and an angle, times the larger voltage, over |z|."""
    grid = case("case30").grid
    v = np.linspace(0.9, 1.2, grid.n_bus)
    grid = replace(grid, buses=replace(grid.buses, vmax=v))
    theta = np.linspace(0.1, 0.6, grid.n_line)
    a, b = v[grid.lines.bus_from], v[grid.lines.bus_to]
    z = np.linspace(0.01, 0.5, grid.n_line)
    rating = np.maximum(a, b) * np.abs(a - b * np.exp(1j * theta)) / z
    rating[3], rating[7] = np.inf, 0.0
    grid = replace(grid, lines=replace(grid.lines, rating=rating))
    found = bound_size(grid, theta)
    known = rated(grid)
    assert np.flatnonzero(~known).tolist() == np.flatnonzero(np.isnan(found)).tolist() == [3, 7]
    assert found[known] == pytest.approx(np.log(z[known]))


@pytest.mark.parametrize(
    ("limit", "own"),
    [
        (np.deg2rad(30.0), None), (np.deg2rad(15.0), None), (0.0, None), (np.inf, None), (2 * np.pi, None),
        (0.3, 0.3), (-0.3, 0.3), (np.pi / 2, np.pi / 2), (np.pi / 2 + 0.01, None),
    ],
)  # fmt: skip
def test_angles_that_ratings_may_be_made_by(limit: float, own: float | None) -> None:
    """15 and 30 degrees, and the file's own limit if it is one and another."""
    grid = case("case5").grid
    grid = replace(grid, lines=replace(grid.lines, angle_max=np.full(grid.n_line, limit)))
    found = [one.tolist() for one in likely_angles(grid)]
    wanted = [np.deg2rad(15.0), np.deg2rad(30.0), *([] if own is None else [own])]
    assert found == [pytest.approx([angle] * grid.n_line) for angle in wanted]


# ---- topology ----


def joined(grid: Grid, pairs: list[tuple[int, int]], rating: list[float]) -> Grid:
    """The buses of a grid with other lines."""
    rows = np.arange(len(pairs)) % grid.n_line
    taken = replace(grid.lines, **{one.name: getattr(grid.lines, one.name)[rows] for one in fields(grid.lines)})
    ends = np.array(pairs)
    return replace(
        grid, lines=replace(taken, bus_from=ends[:, 0], bus_to=ends[:, 1], rating=np.array(rating, dtype=float))
    )


def test_corridors_circuits_and_islands() -> None:
    grid = case("case5").grid
    pairs = [(3, 4), (0, 1), (1, 0), (4, 3), (0, 1), (0, 1), (3, 4), (1, 0)]
    grid = joined(grid, pairs, [np.inf, 1.0, 2.0, np.inf, 2.1, 4.5, 1.0, 1.0])
    assert corridors(grid).tolist() == [0, 1, 1, 0, 1, 1, 0, 1]
    # within a factor of two of the weakest, of four, beyond; without a rating they are twins of each other
    found = circuits(grid)
    assert found[1] == found[2] == found[7] and found[0] == found[3]
    assert len({int(found[k]) for k in (1, 4, 5, 0, 6)}) == 5
    assert sorted(set(found.tolist())) == list(range(5))
    assert islands(grid).tolist() == [0, 0, 1, 2, 2]


def test_references() -> None:
    """The file's own, else the first bus with a generator, else the first."""
    grid = case("case5").grid
    grid = joined(grid, [(0, 1), (3, 4)], [1.0, 1.0])
    buses = replace(grid.buses, is_reference=np.array([False, True, False, False, False]))
    made = replace(grid.generators, bus=np.array([0, 3, 4, 4, 0]), pmax=np.array([9.0, 2.0, 1.0, 3.0, 9.0]))
    grid = replace(grid, buses=buses, generators=made)
    assert reference_buses(grid, islands(grid)).tolist() == [1, 2, 3]
    other = replace(grid, generators=replace(made, bus=np.array([0, 4, 4, 4, 0])))
    assert reference_buses(other, islands(other)).tolist() == [1, 2, 4]
    smaller = replace(grid, generators=replace(made, pmax=np.array([9.0, 0.0, -1.0, -3.0, 9.0])))
    assert reference_buses(smaller, islands(smaller)).tolist() == [1, 2, 3]  # whatever they can do
    nobody = replace(grid, buses=replace(buses, is_reference=np.zeros(5, bool)))
    assert reference_buses(nobody, islands(nobody)).tolist() == [0, 2, 3]
    twice = replace(grid, buses=replace(buses, is_reference=np.array([True, True, True, True, True])))
    assert reference_buses(twice, islands(twice)).tolist() == [0, 2, 3]


def test_a_line_has_the_level_of_its_higher_end() -> None:
    grid = joined(case("case5").grid, [(0, 1), (1, 0), (2, 2)], [1.0] * 3)
    grid = replace(grid, buses=replace(grid.buses, base_kv=np.array([110.0, 220.0, 0.0, 1.0, 1.0])))
    assert line_levels_kv(grid).tolist() == [220.0, 220.0, 0.0]


def test_parts_have_what_belongs_to_them() -> None:
    network = case("case14")
    grid = network.grid
    less = without(network, np.array([0, 5]))
    assert less.grid.n_line == grid.n_line - 2 and less.lines.g.tolist() == np.delete(network.lines.g, [0, 5]).tolist()
    buses = np.array([4, 0, 1])
    own = part(network, buses)
    assert own.grid.buses.number.tolist() == grid.buses.number[buses].tolist()
    inside = [k for k in range(grid.n_line) if {int(grid.lines.bus_from[k]), int(grid.lines.bus_to[k])} <= {4, 0, 1}]
    assert own.lines.b.tolist() == network.lines.b[inside].tolist()
    assert buses[own.grid.lines.bus_from].tolist() == grid.lines.bus_from[inside].tolist()
    assert buses[own.grid.lines.bus_to].tolist() == grid.lines.bus_to[inside].tolist()
    there = [k for k in range(grid.n_generator) if int(grid.generators.bus[k]) in (4, 0, 1)]
    assert own.grid.generators.pmax.tolist() == grid.generators.pmax[there].tolist()
    assert buses[own.grid.generators.bus].tolist() == grid.generators.bus[there].tolist()
    assert own.grid.cost_p.total(np.ones(len(there))) == 0.0


# ---- merit order ----


def plates(grid: Grid, curves: CostCurves, low: list[float], high: list[float], gs: float = 0.0) -> Grid:
    n = len(low)
    made = replace(
        grid.generators,
        bus=np.zeros(n, np.int64),
        pmin=np.array(low),
        pmax=np.array(high),
        qmin=np.zeros(n),
        qmax=np.zeros(n),
    )
    buses = replace(grid.buses, gs=np.r_[gs, np.zeros(grid.n_bus - 1)])
    return replace(grid, buses=buses, generators=made, cost_p=curves, cost_q=CostCurves.zero(n))


def polynomials(*rows: list[float]) -> CostCurves:
    return CostCurves(np.array(rows), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def test_merit_order_by_hand() -> None:
    grid = case("case5").grid
    linear = plates(grid, polynomials([5.0, 10.0], [0.0, 20.0], [0.0, 30.0]), [0.0, 0.5, 0.0], [1.0, 2.0, 3.0])
    for demand, cost in ((0.5, 15.0), (1.5, 25.0), (2.0, 35.0), (3.0, 55.0), (4.5, 100.0), (6.0, 145.0)):
        assert copper_plate_cost(linear, demand) == pytest.approx(cost)
    for demand in (0.4999, 6.0001):
        with pytest.raises(GridError, match="there is no dispatch"):
            copper_plate_cost(linear, demand)
    shunt = plates(grid, polynomials([5.0, 10.0], [0.0, 20.0], [0.0, 30.0]), [0.0, 0.5, 0.0], [1.0, 2.0, 3.0], gs=0.25)
    assert copper_plate_cost(shunt, 1.75) == pytest.approx(35.0)
    # two squares share by their slopes: 2·p = 1 + 4·q, p + q = 3.5 at p = 2.5, q = 1
    curved = plates(grid, polynomials([0.0, 0.0, 1.0], [0.0, 1.0, 2.0]), [0.0, 0.0], [9.0, 9.0])
    assert copper_plate_cost(curved, 3.5) == pytest.approx(2.5**2 + 1.0 + 2.0)
    # cubes: 3·p² = 3·q² at halves
    cubic = plates(grid, polynomials([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]), [0.0, 0.0], [9.0, 9.0])
    assert copper_plate_cost(cubic, 4.0) == pytest.approx(16.0)
    endless = plates(grid, polynomials([0.0, 3.0]), [-np.inf], [np.inf])
    assert copper_plate_cost(endless, 7.0) == pytest.approx(21.0, rel=1e-6)


def test_merit_order_of_segments() -> None:
    """Slopes 10 to 1 p.u. and 30 beyond, beside a generator of slope 20: what lies between goes to the second."""
    segments = CostCurves(
        np.array([[0.0], [2.0]]), np.array([0, 0, 1]), np.array([10.0, 30.0, 20.0]), np.array([0.0, -20.0, 0.0])
    )
    grid = plates(case("case5").grid, segments, [0.0, 0.0], [5.0, 2.0])
    for demand, cost in ((0.5, 7.0), (1.0, 12.0), (2.5, 42.0), (3.0, 52.0), (4.0, 82.0)):
        assert copper_plate_cost(grid, demand) == pytest.approx(cost)
    slopes = [marginal_cost(segments, np.array([p, 1.0])).tolist() for p in (0.5, 1.0, 1.5)]
    assert slopes == [[10.0, 20.0], [30.0, 20.0], [30.0, 20.0]]  # at a kink, the one to its right


def test_reactive_power_that_costs_is_counted_at_nothing() -> None:
    grid = plates(case("case5").grid, polynomials([0.0, 10.0]), [0.0], [5.0])
    dear = replace(grid, cost_q=polynomials([7.0, 3.0]))
    assert copper_plate_cost(dear, 2.0) == pytest.approx(27.0)


# ---- the judge ----


def test_every_violation_has_its_own_number() -> None:
    network = case("case5")
    grid, lines = network
    point = gv.solve_opf(network).require().point
    assert violations(grid, lines, point).largest < 1e-6

    def found(changed: Grid, demand: Any = None) -> dict[str, float]:
        return {key: value for key, value in vars(violations(changed, lines, point, demand)).items() if value > 1e-6}

    def buses(**changes: Any) -> Grid:
        return replace(grid, buses=replace(grid.buses, **changes))

    def made(**changes: Any) -> Grid:
        return replace(grid, generators=replace(grid.generators, **changes))

    def ends(**changes: Any) -> Grid:
        return replace(grid, lines=replace(grid.lines, **changes))

    first = np.eye(5)[0]
    for changed, name, size in (
        (buses(pd=grid.buses.pd + 0.1 * first), "balance_p", 0.1), (buses(pd=grid.buses.pd - 0.1 * first), "balance_p", 0.1),
        (buses(qd=grid.buses.qd + 0.1 * first), "balance_q", 0.1), (buses(gs=0.1 * first), "balance_p", 0.1 * point.vm[0] ** 2),
        (buses(bs=-0.1 * first), "balance_q", 0.1 * point.vm[0] ** 2), (buses(vmin=point.vm + 0.1 * first), "voltage", 0.1),
        (buses(vmax=point.vm - 0.1 * first), "voltage", 0.1), (made(pmin=point.pg + 0.1 * first), "generation_p", 0.1),
        (made(pmax=point.pg - 0.1 * first), "generation_p", 0.1), (made(qmin=point.qg + 0.1 * first), "generation_q", 0.1),
        (made(qmax=point.qg - 0.1 * first), "generation_q", 0.1),
    ):  # fmt: skip
        assert found(changed) == {name: pytest.approx(size, rel=1e-6)}
    load = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt))
    turn = point.va[grid.lines.bus_from] - point.va[grid.lines.bus_to]
    one = np.eye(6)[2]
    assert found(ends(rating=load - 0.1 * one)) == {"rating": pytest.approx(0.1)}
    assert found(ends(angle_min=turn + 0.1 * one, angle_max=turn + 1)) == {"angle_difference": pytest.approx(0.1)}
    assert found(ends(angle_max=turn - 0.1 * one, angle_min=turn - 1)) == {"angle_difference": pytest.approx(0.1)}
    other = (grid.buses.pd + 0.2 * first, grid.buses.qd)
    assert found(grid, other) == {"balance_p": pytest.approx(0.2)}
    broken = replace(point, vm=point.vm * np.nan)
    assert np.isnan(violations(grid, lines, broken).largest)


def test_flows_lose_what_resistance_takes() -> None:
    """S_f + S_t = |I|²·z − charging, with a tap and a shift at the from end."""
    network = case("case14")
    grid = replace(network.grid, lines=replace(network.grid.lines, shift=np.linspace(-0.2, 0.2, network.grid.n_line)))
    chance = np.random.default_rng(0)
    vm, va = chance.uniform(0.9, 1.1, grid.n_bus), chance.uniform(-0.3, 0.3, grid.n_bus)
    point = operating_point(grid, network.lines, vm, va, np.ones(grid.n_generator), np.zeros(grid.n_generator))
    voltage = vm * np.exp(1j * va)
    inner = voltage[grid.lines.bus_from] / (grid.lines.tap * np.exp(1j * grid.lines.shift))
    outer = voltage[grid.lines.bus_to]
    r, x = network.lines.impedance()
    current = (inner - outer) / (r + 1j * x)
    charging = 0.5 * network.lines.bc * (np.abs(inner) ** 2 + np.abs(outer) ** 2)
    sum_ = (point.pf + point.pt) + 1j * (point.qf + point.qt)
    assert sum_ == pytest.approx(np.abs(current) ** 2 * (r + 1j * x) - 1j * charging)
    assert point.pf + 1j * point.qf == pytest.approx(inner * np.conj(current + 0.5j * network.lines.bc * inner))
    assert point.cost == pytest.approx(grid.cost_p.total(np.ones(grid.n_generator)))


def test_impedances_and_admittances() -> None:
    r, x = np.array([0.0, 0.1, -0.2]), np.array([0.5, -0.3, 0.4])
    lines = LineParameters.from_impedance(r, x, np.zeros(3))
    assert lines.g + 1j * lines.b == pytest.approx(1 / (r + 1j * x))
    assert np.stack(lines.impedance()) == pytest.approx(np.stack([r, x]))


# ---- what the certificate judges ----


def test_tolerances_leave_room_for_rounding() -> None:
    def shot(slack: float) -> Snapshot:
        return Snapshot(np.zeros(1), np.zeros(1), 1.0, slack=slack)

    assert promised([shot(0.0), shot(0.001)], Fidelity(0.01)) == pytest.approx([0.01, 0.01 - 0.001 * 1.01])
    with pytest.raises(gv.GridVeilError):
        promised([shot(0.0), shot(0.01 / 1.01)], Fidelity(0.01))


def test_a_limit_may_be_reached() -> None:
    for value, passed in ((1.0, True), (1.0001, False), (0.0, True), (np.inf, False), (np.nan, False)):
        check = at_most(CheckKind.BALANCE, value, 1.0, 3)
        assert (check.passed, check.limit, check.step) == (passed, 1.0, 3)
        assert check.value == (value if np.isfinite(value) else None)


def test_losses_are_judged_as_a_factor_both_ways() -> None:
    network = case("case5")
    grid, lines = network
    point = gv.solve_opf(network).require().point
    lost = float(point.pg.sum() - grid.buses.pd.sum())

    def checks(losses: float | None, within: float | None, pd: Any = grid.buses.pd) -> dict[CheckKind, float | None]:
        shot = Snapshot(pd, grid.buses.qd, point.cost, losses=losses)
        return {
            one.kind: one.value for one in judge_point(grid, lines, point, shot, Fidelity(0.01, loss_within=within))
        }

    assert checks(lost / 2, 1.5)[CheckKind.LOSSES] == pytest.approx(2.0)
    assert checks(lost * 2, 1.5)[CheckKind.LOSSES] == pytest.approx(2.0)
    assert checks(lost, 1.5, grid.buses.pd + 1.0)[CheckKind.LOSSES] is None  # less than nothing is lost
    assert CheckKind.LOSSES not in checks(lost, None) and CheckKind.LOSSES not in checks(None, 1.5)
    moved = checks(lost, 1.5, grid.buses.pd + 1.0)
    assert moved[CheckKind.BALANCE] == pytest.approx(1.0) and (moved[CheckKind.LIMITS] or 0.0) < 1e-6
    tight = replace(grid, buses=replace(grid.buses, vmax=point.vm - 0.01))
    shot = Snapshot(grid.buses.pd, grid.buses.qd, point.cost)
    found = {one.kind: one.value for one in judge_point(tight, lines, point, shot, Fidelity(0.01))}
    assert found[CheckKind.LIMITS] == pytest.approx(0.01, rel=1e-3)


def test_signs_and_twins_are_judged() -> None:
    grid = joined(case("case5").grid, [(0, 1), (1, 0), (0, 1), (2, 3), (3, 4), (0, 1)], [1.0, 1.0, 5.0, 1.0, 1.0, 1.0])
    kinds = [
        LineKind.LOSSY,
        LineKind.LOSSY,
        LineKind.LOSSY,
        LineKind.LOSSLESS,
        LineKind.NEGATIVE_RESISTANCE,
        LineKind.NEGATIVE_RESISTANCE,
    ]
    grid = replace(grid, lines=replace(grid.lines, kind=np.array(kinds, dtype=np.int64)))
    g, b = np.array([3.0, 3.0, 9.0, 0.0, -1.0, -8.0]), np.array([-4.0, -4.0, -9.0, -1.0, -1.0, -2.0])

    def values(g: Any = g, b: Any = b, unprotected: Any = ()) -> list[float | None]:
        return [one.value for one in judge_lines(grid, LineParameters(g, b, 0 * g), unprotected)]

    assert values() == [0, 0]
    assert values(g=np.array([3.0, -3.0, 9.0, 0.1, 1.0, -8.0]))[0] == 3
    assert values(g=np.array([3.0, 3.5, 9.0, 0.0, -1.0, -8.0]))[1] == pytest.approx(0.5 / np.hypot(3.5, 4.0))
    assert values(b=np.array([-4.0, 4.0, -9.0, -1.0, -1.0, -2.0])) == [0, 0]  # another sign is another twin
    assert values(g=np.array([3.0, 3.5, 9.0, 0.0, -1.0, -8.0]), unprotected=[1]) == [0, 0]
    assert values(unprotected=range(6)) == [0, 0]
