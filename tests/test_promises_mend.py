"""The repair's own judgements, by their definitions: faithful, losses, cuts, aims, slopes, messages of its process."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import OutOfEffort, RepairFailed
from gridveil.grid import LineParameters, Network
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.grid.profile import scaled
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.nlp.solver import SolverOptions
from gridveil.privacy.noise import SeededNoise
from gridveil.process.messages import receive, send
from gridveil.repair import bench, child
from gridveil.repair import repair as mend
from gridveil.repair.bounds import parameter_box, parameter_columns
from gridveil.repair.certify import bounds_check
from gridveil.repair.cost_slopes import cuts, slopes
from gridveil.repair.estimate import Solved, estimate, log_slopes, mean_slopes, surcharges
from gridveil.repair.projection import Aim, Cut, _bounds, projection
from gridveil.repair.promise import Promise, Verdict
from gridveil.repair.shrinkage import shrink_lines
from gridveil.repair.steer import beyond, excess, inside, shortest_step
from gridveil.repair.trial import drawn_trial, shrunk_trial
from gridveil.repair.unused import report_unused
from gridveil.repair.workshop import _solved
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.status import Status
from gridveil.wall.certificate import CheckKind
from gridveil.wall.coordinates import conductance_groups, conductances, decode, encode, log_structure
from gridveil.wall.draw import Fidelity, NoisyLines, Snapshot
from gridveil.wall.target import Target


@pytest.fixture(scope="module")
def network() -> Network:
    return gv.load("case14")


@pytest.fixture(scope="module")
def noisy(network: Network) -> NoisyLines:
    return mechanism("log").perturb(split(network), 1.0, 0.05, SeededNoise(3))


def shots(network: Network, *costs: float, **more: Any) -> list[Snapshot]:
    return [Snapshot(network.grid.buses.pd, network.grid.buses.qd, cost, **more) for cost in costs]


def ends(network: Network, *costs: float, last: Status = Status.OPTIMAL) -> list[Any]:
    found = [replace(gv.solve_opf(network), cost=cost) for cost in costs]
    return [*found[:-1], replace(found[-1], status=last)]


# ---- the promise ----


def promise(network: Network, *costs: float, loss_within: float | None = None, **more: Any) -> Promise:
    return Promise.of(shots(network, *costs, **more), Fidelity(0.01, loss_within=loss_within))


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        ([100.0, 200.0], Verdict.KEPT), ([101.0, 198.0], Verdict.KEPT), ([101.01, 200.0], Verdict.DEAR),
        ([98.99, 200.0], Verdict.CHEAP), ([98.99, 202.1], Verdict.DEAR), ([101.1, 197.0], Verdict.DEAR),
        ([100.0, 197.9], Verdict.CHEAP), ([100.0], Verdict.UNSOLVED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_kept_is_within_beta_of_every_cost(network: Network, costs: list[float], verdict: Verdict, sign: float) -> None:
    """Also where dispatch earns: too cheap is always below."""
    public = promise(network, sign * 100.0, sign * 200.0)
    found = [sign * 100 * k + (cost - 100 * k) for k, cost in enumerate(costs, start=1)]
    assert public.verdict(ends(network, *found)) is verdict
    assert public.kept(ends(network, *found)) is (verdict is Verdict.KEPT)
    failed = ends(network, *found, last=Status.INFEASIBLE)
    assert public.verdict(failed) is Verdict.UNSOLVED and public.excess(failed) == np.inf
    assert public.solved(ends(network, *found)) is (len(costs) == 2)


def test_losses_are_kept_within_their_factor(network: Network) -> None:
    (optimum,) = ends(network, 1.0)
    ours = float(optimum.point.pg.sum() - network.grid.buses.pd.sum())
    for losses, verdict in (
        (ours, Verdict.KEPT),
        (ours / 1.49, Verdict.KEPT),
        (ours * 1.49, Verdict.KEPT),
        (ours / 1.51, Verdict.LOSSES),
        (ours * 1.51, Verdict.LOSSES),
        (None, Verdict.KEPT),
    ):
        assert promise(network, 1.0, loss_within=1.5, losses=losses).verdict([optimum]) is verdict
        assert promise(network, 1.0, losses=losses).kept([optimum])
    one, other = shots(network, 1.0, losses=ours), shots(network, 1.0, losses=9 * ours)
    assert not Promise.of(one + other, Fidelity(0.01, loss_within=1.5)).kept([optimum] * 2)


def test_aims_are_shares_of_what_is_promised(network: Network) -> None:
    public = [*shots(network, 1.0, aim=0.05), *shots(network, 1.0, slack=0.001)]
    found = Promise.of(public, Fidelity(0.01))
    assert found.tolerance == pytest.approx([0.01, 0.01 - 0.001 * 1.01])
    assert found.aimed().tolerance == pytest.approx([0.0005, 0.01 - 0.001 * 1.01])
    assert found.aimed().snapshots is found.snapshots


def test_the_aim_is_lowered_by_what_was_too_dear(network: Network) -> None:
    public, aim = promise(network, 100.0, -200.0), [Aim(0.01, 0.01), Aim(0.01, 0.01)]

    def lowered(*costs: float) -> Any:
        return bench._lower(aim, public.away(ends(network, *costs)), public)

    assert lowered(101.5, -200.0) == [pytest.approx((0.01, 0.01 - 0.005 - 0.001)), aim[1]]
    assert lowered(100.0, -197.0) == [aim[0], pytest.approx((0.01, 0.01 - 0.005 - 0.001))]
    assert lowered(100.0, -200.0) is None  # nothing to lower
    assert lowered(103.0, -200.0) is None  # nothing would be left


def test_distances_of_costs(network: Network) -> None:
    public = promise(network, 100.0, -200.0)
    assert public.away(ends(network, 101.0, -198.0)) == pytest.approx([0.01, 0.01])
    assert public.excess(ends(network, 103.0, -198.0)) == pytest.approx(0.02)
    assert public.excess(ends(network, 97.5, -200.0)) == pytest.approx(0.015)


def test_cuts_keep_a_cost_from_falling_below(network: Network, noisy: NoisyLines) -> None:
    """At the lines where it was found, a cut demands what the promise lacks; slopes are the cost's own."""
    model, box = opf_model(network.grid), parameter_box(network.grid, noisy, 50.0)
    lines, world = noisy.lines, Network(network.grid, noisy.lines)
    optimum = solve_opf(model, lines).require()
    costs = optimum.cost * 1.05, optimum.cost * 0.95, optimum.cost * 1.009
    (cut,) = cuts(box, world, [optimum] * 3, promise(network, *costs))
    gradient = np.zeros(len(box.target))
    values = lines.g, lines.b, lines.bc
    for row, columns, value in zip(cost_gradient(network.grid, lines, optimum), box.columns, values, strict=True):
        for k, column in enumerate(columns):
            gradient[column] += row[k] * value[k]  # per logarithm
    size = np.abs(gradient).max()
    assert cut.gradient == pytest.approx(gradient / size) and np.abs(cut.gradient).max() == pytest.approx(1.0)
    current = box.parameters(world)
    lacks = costs[0] * (1 - 0.9 * 0.01) - optimum.cost
    assert (cut.floor - cut.gradient @ current) * size == pytest.approx(lacks)
    assert box.lines(current).b == pytest.approx(lines.b) and box.lines(current).bc == pytest.approx(lines.bc)
    found = slopes(box, world, [optimum], promise(network, costs[0]))
    assert found[0] == pytest.approx(gradient / costs[0])
    assert cuts(box, world, [optimum] * 2, promise(network, *costs[1:])) == []


def test_outside_of_a_box_is_relative_to_its_ends(network: Network, noisy: NoisyLines) -> None:
    box = parameter_box(network.grid, noisy, 2.0)
    assert box.outside(box.network(box.low)) <= 1e-12 and box.outside(box.network(box.high)) <= 1e-12
    assert box.outside(Network(network.grid, noisy.lines)) == 0.0
    flipped = LineParameters(noisy.g, -noisy.b, noisy.bc)
    assert box.outside(Network(network.grid, flipped)) == np.inf  # no multiple of its base
    column = int(np.flatnonzero(box.low < box.high)[0])
    for end, sign in ((box.low, -1.0), (box.high, 1.0)):
        values = box.target.copy()
        values[column] = end[column] + sign * 0.25
        assert box.outside(box.network(values)) == pytest.approx(0.25)


def test_trials_take_turns(network: Network, noisy: NoisyLines) -> None:
    """Drawn values, then shrunk ones; or the other way round if the plan wants it."""
    for target, order in ((Target.DRAWN, [True, False]), (Target.SHRUNK, [False, True])):
        fidelity = Fidelity(0.01, target=target)
        drawn, (shrunk, _) = drawn_trial(network.grid, noisy, 50.0), shrunk_trial(network.grid, noisy, 50.0)
        assert [one.near is None for one in mend.in_turn(drawn, shrunk, fidelity)] == order
    box = parameter_box(network.grid, noisy, 50.0)
    drawn = drawn_trial(network.grid, noisy, 50.0)
    assert drawn.network.lines.b == pytest.approx(box.lines(box.target).b, rel=1e-7)
    trial, by = shrunk_trial(network.grid, noisy, 50.0)
    assert (
        trial.near is not None
        and trial.near.lines is by.lines
        and trial.network.lines.b == pytest.approx(by.lines.b, rel=1e-7)
    )


def test_a_trial_solves_each_demand_once_and_ends_at_the_first_failure(network: Network, noisy: NoisyLines) -> None:
    grid = network.grid
    demands = [Demand(share * grid.buses.pd, share * grid.buses.qd) for share in (1.0, 0.9, 1.0)]
    trial = drawn_trial(grid, noisy, 50.0)
    found = trial.optima(demands)
    assert len(found) == 3 and found[0] is found[2] and found[1].cost < found[0].cost
    assert trial.optima(demands)[1] is found[1]
    heavy = Demand(9 * grid.buses.pd, grid.buses.qd)
    assert [one.status is Status.OPTIMAL for one in trial.optima([demands[0], heavy, demands[1]])] == [True, False]


def test_demands_are_solved_the_heaviest_first_and_given_back_in_their_order(network: Network) -> None:
    grid, seen = network.grid, list[float]()

    class Fake:
        network = network

        def optima(self, demands: list[Demand]) -> list[Any]:
            seen.extend(float(one.pd.sum()) for one in demands)
            return [replace(gv.solve_opf(network), cost=float(one.pd.sum())) for one in demands][: self.many]

        many = 3

    fake: Any = Fake()
    demands = [Demand(share * grid.buses.pd, grid.buses.qd) for share in (0.9, 1.1, 1.0)]
    found = _solved(fake, demands)
    assert seen == sorted(seen, reverse=True)
    assert found is not None and [one.cost for one in found.optima] == [float(one.pd.sum()) for one in demands]
    fake.many = 2
    assert _solved(fake, demands) is None


# ---- steps ----


def test_rows_of_a_step() -> None:
    """Inside is four fifths of the tolerance on both sides; what failed adds the side that it fell on."""
    gradients, away, tolerance = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([0.05, -0.001]), np.array([0.01, 0.01])
    rows, right = inside(gradients, away, tolerance)
    for d in (np.array([-0.02, -0.015]), np.array([-0.05, 0.0]), np.array([0.0, 0.0]), np.array([-0.04, 0.001])):
        after = away + gradients @ d
        assert bool(np.all(rows @ d >= right - 1e-15)) is bool(np.all(np.abs(after) <= 0.8 * tolerance + 1e-15))
    moved = np.array([-0.06, 0.0])
    rows, right = beyond(gradients, np.array([-0.03, 0.005]), tolerance, moved)
    assert rows == pytest.approx(gradients[:1])
    # one more step beyond `moved` by d2 is inside from below if -0.03 + g·d2 >= -0.008
    for d2 in (np.array([0.022, 0.0]), np.array([0.021, 0.0]), np.array([0.0, 0.012])):
        assert bool(rows[0] @ (moved + d2) >= right[0] - 1e-12) is bool(-0.03 + gradients[0] @ d2 >= -0.008 - 1e-12)
    assert excess(np.array([0.05, -0.07]), np.array([0.01, 0.04])) == pytest.approx(0.04)


def test_the_shortest_step_by_hand() -> None:
    free = np.full(2, 9.0)
    step = shortest_step(np.array([[3.0, 4.0]]), np.array([25.0]), np.ones(2), -free, free)
    assert step == pytest.approx([3.0, 4.0])
    step = shortest_step(np.array([[1.0, 1.0]]), np.array([5.0]), np.array([1.0, 4.0]), -free, free)
    assert step == pytest.approx([4.0, 1.0])
    step = shortest_step(np.array([[1.0, 1.0]]), np.array([5.0]), np.array([1.0, 4.0]), -free, np.array([2.0, 9.0]))
    assert step == pytest.approx([2.0, 3.0])
    step = shortest_step(
        np.array([[1.0, 1.0]]), np.array([5.0]), np.ones(2), np.array([1.0, -9.0]), np.array([1.0, 9.0])
    )
    assert step is not None and step[1] == pytest.approx(5.0) and step[0] == 0.0  # what has no range stays
    assert shortest_step(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]), np.ones(1), -free[:1], free[:1]) is None
    assert shortest_step(np.array([[1.0, 0.0]]), np.array([-1.0]), np.ones(2), -free, free) == pytest.approx([0.0, 0.0])


# ---- bounds of the projection ----


def test_bounds_of_a_projection(network: Network, noisy: NoisyLines) -> None:
    grid = network.grid
    limited = replace(grid, lines=replace(grid.lines, rating=np.where(np.arange(grid.n_line) % 2, 2.0, np.inf)))
    box = parameter_box(limited, noisy, 50.0)
    public = [*shots(network, 100.0, losses=0.1), *shots(network, -50.0, losses=0.2)]
    cuts = [Cut(np.eye(len(box.target))[0], 3.0), Cut(np.eye(len(box.target))[1], 4.0)]
    model = projection(limited, box, public, cuts, keep_losses=True)
    aim = [Aim(0.01, 0.02), Aim(0.03, 0.04)]
    bounds = _bounds(model, box, public, Fidelity(0.01, loss_within=2.0), aim, 0.1)
    assert bounds.x_lower[model.parameters] == pytest.approx(box.low) and bounds.x_upper[
        model.parameters
    ] == pytest.approx(box.high)
    constant = float(grid.cost_p.polynomial[:, 0].sum())
    for k, (low, high, unit) in enumerate(((99.0, 102.0, 100.0), (-51.5, -48.0, 50.0))):
        at, wide = model.cost_rows[k] - 1, np.array([low, high]) - constant
        assert (bounds.row_lower[at], bounds.row_upper[at]) == pytest.approx(tuple(wide / unit))  # relative to it
        at, lost, wanted = model.loss_rows[k] - 1, (0.1, 0.2)[k], float(grid.buses.pd.sum())
        assert (bounds.row_lower[at], bounds.row_upper[at]) == pytest.approx((wanted + lost / 2, wanted + lost * 2))
        flow = model.flows[k]
        for columns, low_, high_ in (
            (flow.vm, grid.buses.vmin, grid.buses.vmax),
            (flow.pg, grid.generators.pmin, grid.generators.pmax),
        ):
            assert bounds.x_lower[columns] == pytest.approx(low_ + 0.1 * (high_ - low_))
            assert bounds.x_upper[columns] == pytest.approx(high_ - 0.1 * (high_ - low_))
        assert bounds.row_upper[flow.rating_from - 1] == pytest.approx(
            np.full(len(flow.rated), bounds.row_upper[flow.rating_to[0] - 1])
        )
        assert 1.5 < bounds.row_upper[flow.rating_from[0] - 1] < 2.0
        assert bounds.row_lower[flow.balance_p - 1] == pytest.approx(-grid.buses.pd)
    first = model.problem.rows.ranges["cuts"].start - 1
    assert bounds.row_lower[first : first + 2].tolist() == [3.0, 4.0] and np.all(
        np.isinf(bounds.row_upper[first : first + 2])
    )
    without = projection(limited, box, public, [], keep_losses=False)
    assert list(without.loss_rows) == []


# ---- estimates ----


def test_slopes_by_finite_differences(network: Network, noisy: NoisyLines) -> None:
    """Of a made-up function of the lines, in each coordinate of `log`; of the cost, in each conductance."""
    chance = np.random.default_rng(0)
    lines = noisy.lines
    structure = log_structure(network.grid, lines)
    gradient = chance.normal(size=(3, network.grid.n_line))

    def value(one: LineParameters) -> float:
        return float(np.sum(gradient * np.stack([one.g, one.b, one.bc])))

    u = encode(structure, lines)
    slopes = log_slopes(structure, lines, gradient)
    assert len(slopes) == len(u)
    for k in range(0, len(u), 3):
        step = 1e-5 * np.eye(len(u))[k]
        change = (value(decode(structure, u + step)) - value(decode(structure, u - step))) / 2e-5
        assert slopes[k] == pytest.approx(change, rel=1e-5, abs=1e-7)


def test_slopes_of_conductances(network: Network) -> None:
    grid, model = network.grid, opf_model(network.grid)
    noisy = mechanism("additive").perturb(split(network), 1.0, 0.001, SeededNoise(1))
    demands = [Demand(share * grid.buses.pd, share * grid.buses.qd) for share in (1.0, 0.9)]
    group = conductance_groups(grid, noisy.lines, ~noisy.protected)
    drawn, lossless, ratio = conductances(grid, noisy.lines, group)
    solved = Solved(Network(grid, noisy.lines), [solve_opf(model, noisy.lines, one).require() for one in demands])
    slopes = mean_slopes(model, noisy, solved)

    def mean(values: Any) -> float:
        g, b = np.where(lossless, 0.0, values)[group], np.where(lossless, values, ratio * values)[group]
        moved = LineParameters(g, b, noisy.bc)
        tight = SolverOptions(tolerance=1e-10)
        return float(np.mean([np.log(solve_opf(model, moved, one, tight).require().cost) for one in demands]))

    kinds = (np.flatnonzero(lossless)[0], np.flatnonzero(~lossless)[0])
    for k in kinds:
        step = 1e-3 * np.eye(len(drawn))[k]
        assert slopes[k] == pytest.approx((mean(drawn + step) - mean(drawn - step)) / 2e-3, rel=1e-2, abs=1e-7)


def test_surcharges_are_over_the_copper_plate(network: Network) -> None:
    grid = network.grid
    demands = [Demand(share * grid.buses.pd, share * grid.buses.qd) for share in (1.0, 0.9)]
    plates = [copper_plate_cost(grid, float(one.pd.sum())) for one in demands]
    found = surcharges(grid, demands, [1.1 * plates[0], -5.0])
    assert found == pytest.approx([np.log(1.1), np.log(1e-9)])


def test_the_correction_of_an_estimate_is_small(network: Network) -> None:
    """Noise so wide that slopes would say anything: the own surcharge moves by two hundredths at most."""
    grid, model = network.grid, opf_model(network.grid)
    noisy = mechanism("log").perturb(split(network), 1.0, 0.05, SeededNoise(3))
    demand = Demand(grid.buses.pd, grid.buses.qd)
    solved = Solved(Network(grid, noisy.lines), [solve_opf(model, noisy.lines, demand).require()])
    by = shrink_lines(grid, noisy)
    (shape,) = surcharges(grid, [demand], [solved.optima[0].cost])
    for sign in (1.0, -1.0):
        far = by._replace(told=sign * 1e3 * np.sign(mean_slopes(model, noisy, solved)))
        found = estimate(model, noisy, [demand], solved, lambda: solved, far, 0.0)
        assert found.own == pytest.approx(shape + sign * 0.02)
        assert found.shrunk == pytest.approx(shape)


# ---- what is certified ----


def test_bounds_are_checked_relative_to_their_ends(network: Network, noisy: NoisyLines) -> None:
    grid = network.grid
    box = parameter_box(grid, noisy, 2.0)
    inside_ = box.network(box.target)
    assert bounds_check(grid, inside_, noisy, 2.0).passed
    for k, sign in ((0, 1.0), (5, -1.0)):
        values = box.target.copy()
        values[k] = box.high[k] + 0.25 if sign > 0 else box.low[k] - 0.25
        check = bounds_check(grid, box.network(values), noisy, 2.0)
        assert (check.kind, check.passed) == (CheckKind.BOUNDS, False) and check.value == pytest.approx(0.25)
    groups = int(noisy.group.max()) + 1
    columns = parameter_columns(noisy)
    assert columns[1].tolist() == (columns[0] + groups).tolist() and columns[2].min() == 2 * groups


def test_unused_steps_are_reported_with_their_distance(network: Network) -> None:
    profile = scaled(network.grid, np.array([1.0, 0.9, 0.8, 9.0]), first=5)
    cost = [gv.solve_opf(network).cost]
    found = report_unused(network.grid, network.lines, profile, [6, 7, 8], {6: 7000.0, 8: 5.0})
    assert [one.step for one in found] == [6, 7, 8]
    assert [one.status for one in found][:2] == ["optimal", "optimal"] and found[2].status != "optimal"
    assert found[0].cost is not None and found[0].cost < cost[0]
    assert found[0].away == pytest.approx(abs(found[0].cost - 7000.0) / 7000.0)
    assert found[1].away is None and found[2].away is None
    assert (found[0].violation or 0.0) <= 1e-5


# ---- messages of the process ----


def test_messages_have_their_length() -> None:
    stream = io.BytesIO()
    for data in (b"", b"x" * 300):
        send(stream, data)
    whole = stream.getvalue()
    assert len(whole) == 316
    read = io.BytesIO(whole)
    assert [receive(read), receive(read), receive(read)] == [b"", b"x" * 300, None]
    assert receive(io.BytesIO(whole[8:]), 300) == b"x" * 300
    assert receive(io.BytesIO(whole[8:]), 299) is None
    for cut in (7, 10, 315):
        assert receive(io.BytesIO(whole[8:cut])) is None


def test_failures_of_the_process_keep_their_kind() -> None:
    plain, spent = (
        child._failure(child.Answer(failed="why")),
        child._failure(child.Answer(failed="why", out_of_effort=True)),
    )
    assert type(plain) is RepairFailed and type(spent) is OutOfEffort and str(plain) == "why"
    assert "has no answer" in str(child._failure(child.Answer()))
