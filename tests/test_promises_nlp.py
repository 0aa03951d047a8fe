"""Problems by their definition: bounds, starts, options of the solver, effort, verdicts of several solves, parts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import SolveError
from gridveil.grid import LineParameters, Network
from gridveil.grid.parts import part
from gridveil.nlp import ipopt, opf
from gridveil.nlp.effort import ITERATIONS, Effort, EffortSpent, current, limited
from gridveil.nlp.island import State, _bounds, _culprits, _lone_bus, _model, _spread, _starts, dark, judge, served
from gridveil.nlp.opf import opf_model
from gridveil.nlp.power_flow import Demand, _middle, line_numbers
from gridveil.nlp.problem import Layout
from gridveil.nlp.restoration import _members, capacity_bound, checked_lines, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import Bounds, Patience, SolverOptions, Start, Status
from gridveil.repair.trial import rounded, significant

INF = np.inf


# ---- the solver ----


def test_what_the_solver_is_told() -> None:
    start = Start(np.zeros(1), 0.5)
    plain = ipopt._options(SolverOptions(), start)
    within = {
        "constr_viol_tol": 1e-6,
        "acceptable_tol": 1e-6,
        "acceptable_constr_viol_tol": 1e-6,
    }  # what a judge allows
    usual = {"tol": 1e-7, "max_iter": 500, "mu_init": 0.5, "linear_solver": "mumps", "print_level": 0, "sb": "yes"}
    assert plain.items() >= {**within, **usual}.items()
    told = SolverOptions(1e-5, 7, 3.0, linear_solver="ma57", hsl_library="/x", verbose=True)
    other = ipopt._options(told, replace(start, warm=True))
    orders = (
        "mumps_pivot_order" in one
        for one in (plain, other, ipopt._options(SolverOptions(), replace(start, default_ordering=True)))
    )
    assert list(orders) == [True, False, False]
    pushes = dict.fromkeys(("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"), 1e-6)
    assert other.items() >= {**pushes, "tol": 1e-5, "max_iter": 7, "max_wall_time": 3.0, "hsllib": "/x"}.items()
    assert other["print_level"] and not pushes.keys() & plain.keys() and not {"max_wall_time", "hsllib"} & plain.keys()


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"max_iterations": 1}, {"max_iterations": 0}),
        ({"max_iterations": 2**31 - 1}, {"max_iterations": 2**31}),
        ({"max_seconds": 1e-9}, {"max_seconds": 0.0}),
        ({"max_seconds": 1e9}, {"max_seconds": INF}),
        ({"tolerance": 1e-12}, {"tolerance": 0.0}),
        ({"tolerance": 0.999}, {"tolerance": 1.0}),
        ({"linear_solver": "ma57"}, {"linear_solver": "ma58"}),
    ],
)
def test_options_have_bounds(good: dict[str, Any], bad: dict[str, Any]) -> None:
    SolverOptions(**good)
    with pytest.raises(SolveError):
        SolverOptions(**bad)


def test_options_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRIDVEIL_IPOPT", "GRIDVEIL_LINEAR_SOLVER", "GRIDVEIL_HSL"):
        monkeypatch.delenv(name, raising=False)
    usual = SolverOptions()
    assert (usual.library, usual.linear_solver, usual.hsl_library) == (None, "mumps", None)
    assert (usual.tolerance, usual.max_iterations, usual.max_seconds, usual.starts) == (1e-7, 500, None, None)
    assert (usual.patience, usual.verbose) == (None, False)
    for name, value in (("GRIDVEIL_IPOPT", "/a"), ("GRIDVEIL_LINEAR_SOLVER", "ma27"), ("GRIDVEIL_HSL", "/b")):
        monkeypatch.setenv(name, value)
    told = SolverOptions()
    assert (told.library, told.linear_solver, told.hsl_library) == ("/a", "ma27", "/b")


def test_effort_is_counted_by_size_and_never_for_nothing() -> None:
    heard: list[float] = []
    effort = Effort(2.0, 50, heard.append)
    assert effort.allowed(50) == 2 * ITERATIONS == 80
    assert effort.allowed(100) == 40
    effort.count(100, 10)
    assert effort.spent == heard[-1] == pytest.approx(0.5)
    effort.count(50, 0)
    assert effort.spent == heard[-1] == pytest.approx(0.5 + 1 / 40)
    assert effort.allowed(50) == 59
    effort.count(50, 59)
    with pytest.raises(EffortSpent):
        effort.allowed(50)
    assert Effort(1.0, 0, heard.append).allowed(0) == 40  # a problem without variables counts as one
    assert Effort(1.0, 1, heard.append).allowed(30) == 2
    before = current()
    with limited(effort):
        assert current() is effort
    assert current() is before is None


def test_patience_ends_a_start_that_stands_still() -> None:
    """After so many iterations without a tenth less violation, and only while that is more than it must be."""
    network = gv.load("case14")
    far = LineParameters(network.lines.g, network.lines.b / 20, network.lines.bc)
    model, demand = opf_model(network.grid), Demand(3 * network.grid.buses.pd, network.grid.buses.qd)
    heard: list[float] = []
    options = SolverOptions(starts=1, patience=Patience(1e-3, 6))
    given_up = opf.solve_opf(model, far, demand, options, lambda _, violation: heard.append(violation))
    assert (given_up.status, given_up.detail) == ("numerical_failure", "stopped by the caller")
    least, since = heard[0], 0
    for k, violation in enumerate(heard):
        if violation < 0.9 * least:
            least, since = violation, k
    assert given_up.iterations == len(heard) - 1 == since + 6
    patient = opf.solve_opf(model, far, demand, replace(options, patience=Patience(1e9, 6)))
    assert patient.iterations > given_up.iterations
    solved = opf.solve_opf(model, network.lines, options=options)
    assert (solved.status, solved.iterations) == ("optimal", opf.solve_opf(model, network.lines).iterations)


def test_progress_is_told_every_iteration() -> None:
    network = gv.load("case5")
    heard: list[tuple[int, float]] = []
    found = opf.solve_opf(opf_model(network.grid), network.lines, progress=lambda *one: heard.append(one))
    assert [number for number, _ in heard] == list(range(found.iterations + 1))
    assert heard[-1][1] < 1e-6 < heard[0][1]
    assert found.seconds == found.seconds_evaluation + found.seconds_linear_algebra
    assert found.seconds_evaluation > 0 and found.seconds_linear_algebra > 0


# ---- several solves ----


def ended(status: Status, cost: float = 1.0) -> Any:
    times: dict[str, Any] = {"seconds_evaluation": 0.5, "seconds_linear_algebra": 0.25}
    return replace(gv.solve_opf("case3"), status=status, detail=f"{status}", cost=cost, iterations=3, **times)


@pytest.mark.parametrize(
    ("endings", "verdict"),
    [
        (["optimal"], 0), (["infeasible"], 0), (["iteration_limit"], 0), (["infeasible", "optimal"], 1),
        (["iteration_limit", "optimal"], 1), (["infeasible", "infeasible"], 0), (["iteration_limit", "infeasible", "infeasible"], 1),
        (["infeasible", "iteration_limit"], 1), (["infeasible", "numerical_failure", "iteration_limit"], 1),
        (["numerical_failure", "infeasible"], 0), (["infeasible", "infeasible", "optimal"], 2),
    ],
)  # fmt: skip
def test_the_verdict_of_several_solves(endings: list[str], verdict: int) -> None:
    solutions = [ended(Status(one), float(k)) for k, one in enumerate(endings)]
    model = opf_model(gv.load("case3").grid)
    found = opf._combined(model, solutions, len(endings), np.zeros(0, np.int64))
    assert (found.status, found.cost) == (endings[verdict], float(verdict))
    assert (found.iterations, found.attempts) == (3 * len(endings), len(endings))
    assert (found.seconds_evaluation, found.seconds_linear_algebra) == (0.5 * len(endings), 0.25 * len(endings))
    starved = opf._combined(model, solutions, len(endings), np.array([4]))  # the reactive balance of the second bus
    assert (starved.status, starved.detail.split(" has")[0]) == ("infeasible", f"bus {model.grid.buses.number[1]}")


def test_solves_stop_where_nothing_more_is_to_be_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    network = gv.load("case3")
    model = opf_model(network.grid)
    real = ipopt.solve

    def attempts(*endings: str, **options: Any) -> tuple[int, str]:
        script = iter(endings)

        def solve(evaluator: Any, bounds: Any, start: Any, chosen: Any, progress: Any = None) -> Any:
            return replace(real(evaluator, bounds, start, chosen), status=Status(next(script)))

        monkeypatch.setattr(ipopt, "solve", solve)
        found = opf.solve_opf(model, network.lines, options=SolverOptions(max_iterations=1, solver="ipopt", **options))
        return found.attempts, found.status

    assert attempts("time_limit") == (1, "time_limit")
    assert attempts("infeasible", "infeasible") == (2, "infeasible")
    assert attempts("iteration_limit", "infeasible", "numerical_failure", "infeasible") == (4, "infeasible")
    assert attempts("iteration_limit", "iteration_limit", starts=2) == (2, "iteration_limit")
    assert attempts(*["numerical_failure"] * 4) == (4, "numerical_failure")


def test_starts_of_an_opf() -> None:
    grid = gv.load("case14").grid
    model = opf_model(grid)
    starts = opf._starts(model)
    assert not any(one.warm for one in starts)
    middle = 0.5 * (grid.generators.pmin + grid.generators.pmax)
    for one, idle in zip(starts, (False, False, True, True), strict=True):
        assert one.x[model.flow.pg] == pytest.approx(0 * middle if idle else middle)
        assert np.all(one.x[model.flow.vm] == 1.0) and np.all(one.x[model.flow.va] == 0.0)
    point = gv.solve_opf("case14").point
    (near,) = opf._starts_near(model, opf.Near(point))
    assert near.warm and opf._starts_near(model, None) == []
    for columns, value in (
        (model.flow.vm, point.vm),
        (model.flow.va, point.va),
        (model.flow.pg, point.pg),
        (model.flow.qg, point.qg),
    ):
        assert near.x[columns] == pytest.approx(value)
    again = opf.solve_opf(model, gv.load("case14").lines, near=opf.Near(point))
    assert again.iterations < gv.solve_opf("case14").iterations and again.cost == pytest.approx(point.cost)


def test_the_middle_of_a_range() -> None:
    low, high = np.array([1.0, -INF, 2.0, -INF, -INF, -3.0]), np.array([3.0, -2.0, INF, INF, 5.0, 1.0])
    assert _middle(low, high).tolist() == [2.0, -2.0, 2.0, 0.0, 0.0, -1.0]


def test_layouts_hand_out_places_in_order() -> None:
    layout = Layout(start=1)
    assert (
        layout.add("a", 2).tolist() == [1, 2]
        and layout.add("none", 0).tolist() == []
        and layout.add("b", 1).tolist() == [3]
    )
    assert layout.size == 4
    parts = layout.split(np.array([10.0, 20.0, 30.0]), 1)
    assert {name: part.tolist() for name, part in parts.items()} == {"a": [10.0, 20.0], "none": [], "b": [30.0]}
    assert layout.split(np.arange(4.0))["b"].tolist() == [3.0]


def test_rows_without_a_variable_are_judged_apart() -> None:
    network = gv.load("case3")
    model = opf_model(network.grid)
    n, m = model.problem.n_variable, model.problem.n_constraint
    bounds = Bounds(np.full(n, -INF), np.full(n, INF), np.zeros(m), np.zeros(m))
    cut = replace(model.problem, jacobian_rows=np.setdiff1d(np.arange(m), [0, 2, 4, 5]))
    bounds.row_lower[[2, 4, 5]] = bounds.row_upper[[2, 4, 5]] = [0.1, -0.1, 0.9e-5]
    starved = opf._free_empty_rows(replace(model, problem=cut), bounds)
    assert starved.tolist() == [2, 4]
    free = np.isin(np.arange(m), [0, 2, 4, 5])
    assert np.all(np.isinf(bounds.row_lower) == free) and np.all(np.isinf(bounds.row_upper) == free)


# ---- restoration ----


def test_bounds_of_a_restoration_by_its_rules() -> None:
    grid = gv.load("case14").grid
    model = _model(grid)
    loads = np.flatnonzero((grid.buses.pd != 0) | (grid.buses.qd != 0))
    shunts = np.flatnonzero((grid.buses.gs != 0) | (grid.buses.bs != 0))
    assert model.loads.tolist() == loads.tolist() and model.shunts.tolist() == shunts.tolist() and len(shunts)
    for rules, least in ((Rules.SWITCHABLE, 0.0), (Rules.LITERAL, 1.0)):
        bounds = _bounds(model, rules)
        assert np.all(bounds.x_lower[model.on] == least) and np.all(bounds.x_upper[model.on] == 1.0)
        assert np.all(bounds.x_lower[model.share] == 0.0) and np.all(bounds.x_upper[model.share] == 1.0)
        for row in (model.flow.balance_p, model.flow.balance_q):
            assert np.all(bounds.row_lower[row - 1] == 0.0) and np.all(bounds.row_upper[row - 1] == 0.0)
        starts = _starts(model, bounds)
        for one in starts:
            assert np.all(one.x >= bounds.x_lower) and np.all(one.x <= bounds.x_upper)
            assert np.all(one.x[model.share] > 0) and np.all(one.x[model.on] > 0)
    evaluator = model.problem.evaluator({"lines": line_numbers(*gv.load("case14"))})
    x = starts[0].x.copy()
    x[model.share] = 0.25
    evaluator.move(x)
    assert evaluator.objective() == pytest.approx(-0.25 * np.maximum(grid.buses.pd, 0).sum())


def test_culprits_are_the_worst_and_those_half_as_bad() -> None:
    """The balance of a bus counts for it, a rating or an angle for both ends of its line."""
    network = gv.load("case14")
    model = _model(network.grid)
    flow, lines = model.flow, network.grid.lines
    bounds = _bounds(model, Rules.SWITCHABLE)
    middle = np.where(
        np.isfinite(bounds.row_lower), bounds.row_lower, np.where(np.isfinite(bounds.row_upper), bounds.row_upper, 0.0)
    )

    def found(*broken: tuple[Any, int, float]) -> list[int]:
        rows = middle.copy()
        for row, at, by in broken:
            rows[row[at] - 1] += by
        still: Any = SimpleNamespace(move=lambda _: None, constraints=lambda: rows)
        return [int(bus) for bus in _culprits(model, still, bounds, np.zeros(0))]

    assert found((flow.balance_p, 3, 1.0)) == found((flow.balance_p, 3, -1.0)) == found((flow.balance_q, 3, 1.0)) == [3]
    assert found((flow.balance_p, 3, 1.0), (flow.balance_q, 5, -0.5), (flow.balance_q, 7, 0.49)) == [3, 5]
    line = 2
    for row, of in (
        (flow.rating_from, flow.rated),
        (flow.rating_to, flow.rated),
        (flow.angle_difference, flow.angle_limited),
    ):
        if len(of):
            ends = sorted({int(lines.bus_from[of[line]]), int(lines.bus_to[of[line]])})
            assert found((row, line, 2.0)) == ends


def test_a_total_is_spread_the_first_first() -> None:
    low, high = np.array([0.0, -1.0, 0.5]), np.array([1.0, 2.0, 3.0])
    for need, wanted in (
        (0.5, [0.0, 0.0, 0.5]), (1.0, [0.5, 0.0, 0.5]), (2.0, [1.0, 0.5, 0.5]), (4.5, [1.0, 2.0, 1.5]),
        (6.0, [1.0, 2.0, 3.0]), (0.0, [0.0, -0.5, 0.5]), (-0.5, [0.0, -1.0, 0.5]),
    ):  # fmt: skip
        assert _spread(need, low, high) == pytest.approx(wanted)


@pytest.mark.parametrize("rules", list(Rules))
def test_a_lone_bus_is_solved_exactly(rules: Rules) -> None:
    """Against a search over shares and squared voltages."""
    chance = np.random.default_rng(3)
    answers = set()
    for _ in range(12):
        one = part(gv.load("case5"), np.array([3]))
        pd, qd, gs, bs = chance.uniform([-0.5, -1, -0.5, -1], [2, 1, 0.5, 1])
        numbers = {"pd": pd, "qd": qd, "gs": gs, "bs": bs, "vmin": 0.9, "vmax": 1.1}
        buses = replace(one.grid.buses, **{name: np.array([value]) for name, value in numbers.items()})
        made = replace(
            one.grid.generators, pmin=np.array([0.2]), pmax=np.array([1.0]), qmin=np.array([-0.1]), qmax=np.array([0.3])
        )
        own = one._replace(grid=replace(one.grid, buses=buses, generators=made))
        found = _lone_bus(own, rules)
        square = np.linspace(0.81 if rules is Rules.LITERAL else 0.0, 1.21, 1001)[:, None]
        share = np.linspace(0, 1, 1001)
        p, q = share * pd + square * gs, share * qd - square * bs
        least = (0.2, -0.1) if rules is Rules.LITERAL else (0.0, -0.1)
        fits = (p >= least[0] - 1e-9) & (p <= 1.0) & (q >= least[1]) & (q <= 0.3)
        answers.add(found.state is None)
        if found.state is None:
            assert found.status is Status.INFEASIBLE and not np.any(fits) and found.culprits.tolist() == [0]
            continue
        assert found.status is Status.OPTIMAL
        assert judge(own, found.state, rules).largest <= 1e-9
        best = max(pd, 0.0) * float(np.max(np.where(fits, share, 0.0)))
        assert served(own.grid, found.state) >= best - 1e-9
        assert served(own.grid, found.state) <= best + 0.01
    assert answers == ({False, True} if rules is Rules.LITERAL else {False})  # dark is always allowed


def test_dark_is_nothing() -> None:
    network = gv.load("case5")
    state = dark(network.grid)
    assert served(network.grid, state) == 0 and judge(network, state, Rules.SWITCHABLE).largest == 0.0
    assert judge(network, state, Rules.LITERAL).largest > 0.5
    half = State(**{**vars(state), "share": np.full(5, 0.5)})
    assert served(network.grid, half) == pytest.approx(0.5 * np.maximum(network.grid.buses.pd, 0).sum())


def test_a_bound_by_capacity() -> None:
    grid, lines = gv.load("case5")
    wanted = float(np.maximum(grid.buses.pd, 0).sum())
    assert capacity_bound(gv.load("case5")) == pytest.approx(min(wanted, float(grid.generators.pmax.sum())))

    def bound(pmax: float, fed: float = 0.0, gs: float = 0.0, g: float = 1.0) -> float:
        made = replace(grid.generators, pmax=np.array([pmax, -5.0, 0.0, 0.0, 0.0]))
        pd = grid.buses.pd.copy()
        pd[0] = -fed
        buses = replace(grid.buses, pd=pd, gs=np.array([gs, 0, 0, 0, 0.0]))
        return capacity_bound(Network(replace(grid, buses=buses, generators=made), replace(lines, g=lines.g * g)))

    assert bound(2.0) == pytest.approx(2.0) and bound(2.0, fed=0.5) == pytest.approx(2.5)
    assert bound(2.0, gs=0.1) == pytest.approx(2.0)
    assert bound(2.0, gs=-0.1) == bound(2.0, g=-1.0) == bound(99.0) == pytest.approx(wanted)


def test_lines_to_cut_and_members() -> None:
    network = gv.load("case5")
    assert checked_lines(network, [3, 0, 3]).tolist() == [0, 3] and checked_lines(network, []).tolist() == []
    assert checked_lines(network, [5]).tolist() == [5]
    for cut in ([6], [-1], [0.5], [[0, 1]]):
        with pytest.raises(gv.GridVeilError):
            checked_lines(network, cut)  # type: ignore[arg-type]
    assert [one.tolist() for one in _members(np.array([0, 1, 0, 2, 2, 2]))] == [[1], [0, 2], [3, 4, 5]]


def test_shares_restored() -> None:
    network = gv.load("case5")
    done = restore(network, [])
    assert done.percent == pytest.approx(100.0 * done.served / done.load) == pytest.approx(100.0, abs=1e-4)
    nothing = replace(network.grid, buses=replace(network.grid.buses, pd=np.zeros(5), qd=np.zeros(5)))
    assert restore(network._replace(grid=nothing), []).percent == 100.0


# ---- rounding ----


def test_released_parameters_have_nine_digits() -> None:
    values = np.array([1.23456789012, -0.000123456789055, 0.0, 9.9999999999])
    assert significant(values, 9).tolist() == [1.23456789, -0.000123456789, 0.0, 10.0]
    network = gv.load("case14")
    noisy = LineParameters(network.lines.g * np.pi, network.lines.b * np.pi, network.lines.bc * np.pi)
    again = rounded(Network(network.grid, noisy)).lines
    for before, after in zip((*noisy.impedance(), noisy.bc), (*again.impedance(), again.bc), strict=True):
        assert after == pytest.approx(before, rel=6e-9) and after == pytest.approx(significant(before, 9), rel=1e-13)
