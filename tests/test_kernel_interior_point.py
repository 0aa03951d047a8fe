"""The interior point in C: against the same algorithm in NumPy, textbook optima, Ipopt, and every way to end badly."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.grid.network import Multipliers
from gridveil.nlp import ipopt
from gridveil.nlp.native import interior_point
from gridveil.nlp.native.library import load, why_absent
from gridveil.nlp.opf import _bounds, _starts, opf_model
from gridveil.nlp.power_flow import Demand, line_numbers
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import Outcome, Patience, SolverOptions, Start, Status

from . import reference_interior_point as reference
from .textbook import ABOVE, EQUAL, FREE, INF, Formula, Jet, Program, exp, hock_schittkowski, log, program

if load() is None:
    pytest.skip(f"the compiled library is not there: {why_absent()}", allow_module_level=True)

BOOK = hock_schittkowski()
PLAIN = SolverOptions()


def own(one: Program, options: SolverOptions = PLAIN, start: Start | None = None) -> Outcome:
    return interior_point.solve(one.evaluator, one.bounds, start or one.start, options)


def by_ipopt(one: Program, start: Start | None = None) -> Outcome:
    return ipopt.solve(one.evaluator, one.bounds, start or one.start, PLAIN)


def opf(name: str) -> Program:
    """A case's AC-OPF from its first start."""
    network = gv.load(name)
    model = opf_model(network.grid)
    buses = network.grid.buses
    evaluator = model.problem.evaluator({"lines": line_numbers(*network)})
    return Program(evaluator, _bounds(model, Demand(buses.pd, buses.qd)), _starts(model)[0])


def squares(x: Sequence[Jet]) -> Jet:
    """Σ (x − 1)²."""
    whole = (x[0] - 1.0) ** 2
    for one in x[1:]:
        whole = whole + (one - 1.0) ** 2
    return whole


def sound(one: Program, end: Outcome) -> None:
    """The optimality conditions as they stand in `Outcome`, by NumPy's evaluator; the sign of every multiplier."""
    problem, evaluator, bounds, known = one.evaluator.problem, one.evaluator, one.bounds, end.multipliers
    evaluator.move(end.x)
    gradient, rows = np.empty(problem.n_variable), evaluator.constraints().copy()
    evaluator.objective_gradient(gradient)
    size = 1.0 + np.abs(gradient).max(initial=0.0)
    np.add.at(gradient, problem.jacobian_columns, evaluator.jacobian() * known.rows[problem.jacobian_rows])
    moving = bounds.x_lower < bounds.x_upper
    assert (gradient - known.lower + known.upper)[moving] == pytest.approx(0.0, abs=1e-5 * size)
    assert end.objective == pytest.approx(evaluator.objective(), rel=1e-12, abs=1e-12)
    assert np.all(rows >= bounds.row_lower - 1.1e-6) and np.all(rows <= bounds.row_upper + 1.1e-6)
    room = 1.1e-8 * np.maximum(1.0, np.abs(end.x))
    assert np.all(end.x >= bounds.x_lower - room) and np.all(end.x <= bounds.x_upper + room)
    assert np.all(known.lower >= 0.0) and np.all(known.upper >= 0.0)
    for values, low, high, at_low, at_high in (
        (end.x, bounds.x_lower, bounds.x_upper, known.lower, known.upper),
        (rows, bounds.row_lower, bounds.row_upper, np.maximum(-known.rows, 0), np.maximum(known.rows, 0)),
    ):
        apart = low < high
        for room, multiplier in (((values - low)[apart], at_low[apart]), ((high - values)[apart], at_high[apart])):
            held = np.isfinite(room)
            assert room[held] * multiplier[held] == pytest.approx(0.0, abs=1e-4 * size)
            assert multiplier[~held] == pytest.approx(0.0, abs=1e-5 * size)


# ---- the same algorithm in NumPy ----


@pytest.mark.parametrize("name", BOOK)
def test_textbook_problems(name: str) -> None:
    """Their optima, in as many iterations as NumPy takes, and Ipopt."""
    one = BOOK[name]
    end, again = own(one), reference.minimise(one.evaluator, one.bounds, one.start)
    assert end.status is Status.OPTIMAL and end.detail == "solved"
    assert abs(end.objective - one.best) <= 1e-6 * max(1.0, abs(one.best))
    sound(one, end)
    assert (end.iterations, "solved") == (again.iterations, "solved" if again.status == "optimal" else again.status)
    assert end.objective == pytest.approx(again.objective, rel=1e-9, abs=1e-9)
    assert end.iterations == by_ipopt(one).iterations


@pytest.mark.parametrize("name", ["case3", "case5", "case14", "case30", "case39", "case57"])
def test_ac_opfs_as_numpy_solves_them(name: str) -> None:
    """From afar, from a solution whose multipliers are forgotten, and from one with them."""
    one = opf(name)
    end = own(one)
    starts = [one.start] if name == "case57" else [
        one.start, Start(end.x, 1e-4, warm=True), Start(end.x, 1e-7, warm=True, multipliers=end.multipliers)
    ]  # fmt: skip
    for start in starts:
        found, again = own(one, start=start), reference.minimise(one.evaluator, one.bounds, start)
        assert (found.status, again.status) == (Status.OPTIMAL, "optimal")
        assert found.iterations == again.iterations
        assert found.objective == pytest.approx(again.objective, rel=1e-10)
        assert found.x == pytest.approx(again.x, abs=1e-6)
        scale = np.abs(again.rows).max()
        assert found.multipliers.rows == pytest.approx(again.rows, abs=1e-6 * scale)
        assert found.multipliers.lower == pytest.approx(again.lower, abs=1e-6 * scale)
        assert found.multipliers.upper == pytest.approx(again.upper, abs=1e-6 * scale)


def test_numpy_meets_what_it_is_there_for() -> None:
    """Corrected inertia and second-order corrections are among what was compared."""
    ends = [reference.minimise(BOOK[name].evaluator, BOOK[name].bounds, BOOK[name].start) for name in ("hs6", "hs7")]
    assert all(end.corrected > 3 for end in ends) and ends[0].second_order == 1
    with pytest.raises(reference.NeedsRestoration):
        one = program(lambda x: [x[0], x[0] ** 2 + 1.0], [1.0], None, [EQUAL])
        reference.minimise(one.evaluator, one.bounds, one.start)


# ---- Ipopt ----


@pytest.mark.parametrize("name", ["case14", "case39", "case118"])
def test_multipliers_are_ipopts(name: str) -> None:
    """Rows and bounds, sign and size; but Ipopt has multipliers of variables that are fixed, too."""
    one = opf(name)
    end, other = own(one), by_ipopt(one)
    moving = one.bounds.x_lower < one.bounds.x_upper
    assert end.objective == pytest.approx(other.objective, rel=1e-9)
    assert end.iterations == pytest.approx(other.iterations, abs=2)
    scale = np.abs(other.multipliers.rows).max()
    assert end.multipliers.rows == pytest.approx(other.multipliers.rows, abs=1e-6 * scale)
    for mine, its in (
        (end.multipliers.lower, other.multipliers.lower),
        (end.multipliers.upper, other.multipliers.upper),
    ):
        assert mine[moving] == pytest.approx(its[moving], abs=1e-6 * scale)
        assert np.all(mine[~moving] == 0.0)
    sound(one, end)


@pytest.mark.parametrize("name", ["case5", "case14", "case39", "case118"])
def test_a_solution_with_its_multipliers_is_a_start_that_needs_no_more_than_a_look(name: str) -> None:
    """Whoever found it."""
    one = opf(name)
    for end in (own(one), by_ipopt(one)):
        again = own(one, start=Start(end.x, 1e-7, warm=True, multipliers=end.multipliers))
        assert again.status is Status.OPTIMAL
        assert again.iterations <= 2
        assert again.objective == pytest.approx(end.objective, rel=1e-8)


@pytest.mark.parametrize("name", ["hs6", "hs14", "hs22", "hs39", "hs40", "hs60", "hs63", "hs71", "hs77", "hs80"])
def test_starts_that_are_restored_first(name: str) -> None:
    one = BOOK[name]
    end = own(one, start=replace(one.start, restored=True))
    assert end.status is Status.OPTIMAL
    assert abs(end.objective - one.best) <= 1e-6 * max(1.0, abs(one.best))
    sound(one, end)


# ---- shapes of problems ----


def test_no_constraints_at_all() -> None:
    end = own(program(lambda x: [squares(x)], [5, -3, 0]))
    assert (end.status, end.iterations) == (Status.OPTIMAL, 1)
    assert end.x == pytest.approx(np.ones(3))


def test_bounds_alone() -> None:
    """Of both sides, one side and none; which ones hold is seen in their multipliers."""
    one = program(lambda x: [squares(x)], [0.5] * 5, [(2, 3), (-INF, 0.5), (4, INF), FREE, (-1, 7)])
    end = own(one)
    assert end.x == pytest.approx([2, 0.5, 4, 1, 1], abs=1e-6)
    assert end.multipliers.lower == pytest.approx([2, 0, 6, 0, 0], abs=1e-5)
    assert end.multipliers.upper == pytest.approx([0, 1, 0, 0, 0], abs=1e-5)
    sound(one, end)


def test_one_sided_bounds_alone() -> None:
    end = own(one := program(lambda x: [x[0] - x[1]], [5, 5], [(2, INF), (-INF, 7)]))
    assert end.x == pytest.approx([2, 7], abs=1e-6)
    sound(one, end)


def test_equations_alone() -> None:
    """A linear one takes a step; its multiplier is minus the slope of the optimum in its right-hand side."""
    end = own(program(lambda x: [squares(x), x[0] + 2.0 * x[1]], [7, 7, 7], None, [(8, 8)]))
    assert (end.status, end.iterations) == (Status.OPTIMAL, 1)
    assert end.x == pytest.approx([2, 3, 1])
    assert end.multipliers.rows == pytest.approx([-2.0])


@pytest.mark.parametrize(
    ("sides", "multiplier"), [((8, INF), -2.0), ((8, 9), -2.0), ((-INF, 2), 0.4), ((1, 2), 0.4), ((2, 8), 0.0)]
)
def test_the_sign_of_a_rows_multiplier(sides: tuple[float, float], multiplier: float) -> None:
    """Below zero where the lower side holds, above where the upper one does."""
    end = own(one := program(lambda x: [squares(x), x[0] + 2.0 * x[1]], [7, 7], None, [sides]))
    assert end.multipliers.rows == pytest.approx([multiplier], abs=1e-5)
    sound(one, end)


def test_fixed_variables() -> None:
    """They stand still, wherever the start has them, in rows and the objective alike."""
    formula: Formula = lambda x: [squares(x), x[0] * x[1] + x[2]]  # noqa: E731
    one = program(formula, [9, 9, 9], [(2, 2), FREE, FREE], [(5, 5)])
    end = own(one)
    free = own(program(lambda x: [squares(x), 2.0 * x[0] + x[1]], [9, 9], None, [(5, 5)]))
    assert end.x[0] == 2.0
    assert end.x[1:] == pytest.approx(free.x, abs=1e-8)
    assert end.multipliers.rows == pytest.approx(free.multipliers.rows, abs=1e-8)
    sound(one, end)


def test_all_variables_fixed() -> None:
    end = own(program(lambda x: [squares(x), x[0] + x[1]], [5, 5], [(2, 2), (3, 3)], [(0, 6)]))
    assert (end.status, end.objective, end.x.tolist()) == (Status.OPTIMAL, 5.0, [2.0, 3.0])
    bad = own(program(lambda x: [squares(x), x[0] + x[1]], [5, 5], [(2, 2), (3, 3)], [(0, 4)]))
    assert bad.status is Status.INFEASIBLE


@pytest.mark.parametrize("n", [0, 2])
def test_equations_of_fixed_variables_that_hold_are_no_contradiction(n: int) -> None:
    """Nothing moves, and all is as it should be: Ipopt calls that solved."""
    end = own(program(lambda x: [1.0, x[0] + x[1] if x else 5.0], [5] * n, [(2, 2), (3, 3)][:n] or None, [(5, 5)]))
    assert end.status is Status.OPTIMAL


def test_an_equation_of_fixed_variables_alone() -> None:
    """It holds, and has no multiplier to speak of; or it does not, and nothing helps."""
    formula: Formula = lambda x: [squares(x), 2.0 * x[0]]  # noqa: E731
    end = own(program(formula, [5, 5], [(2, 2), FREE], [(4, 4)]))
    assert (end.status, end.multipliers.rows.tolist()) == (Status.OPTIMAL, [0.0])
    assert own(program(formula, [5, 5], [(2, 2), FREE], [(5, 5)])).status is Status.INFEASIBLE


def test_rows_without_bounds() -> None:
    """They have no say: the same as without them, and a zero for a multiplier."""
    one = program(lambda x: [squares(x), exp(x[0]), x[0] + x[1], x[0] * x[1]], [5, 5], None, [FREE, (4, INF), FREE])
    less = program(lambda x: [squares(x), x[0] + x[1]], [5, 5], None, [(4, INF)])
    end, other = own(one), own(less)
    assert (end.iterations, end.x.tolist()) == (other.iterations, other.x.tolist())
    assert end.multipliers.rows.tolist() == [0.0, other.multipliers.rows[0], 0.0]


@pytest.mark.parametrize("factor", [1.0, 3.0, 1e-3])
def test_equations_that_depend_on_each_other(factor: float) -> None:
    """One of them again, in other units; and one that is the sum of two."""
    twice: Formula = lambda x: [squares(x), x[0] + x[1], factor * x[0] + factor * x[1]]  # noqa: E731
    end = own(program(twice, [5, 5, 1], None, [(4, 4), (4 * factor, 4 * factor)]))
    assert end.status is Status.OPTIMAL
    assert end.x == pytest.approx([2, 2, 1], abs=1e-6)
    assert end.multipliers.rows @ [1, factor] == pytest.approx(-2.0, abs=1e-5)
    sums: Formula = lambda x: [squares(x), x[0] + x[1], x[1] - x[2], factor * x[0] + factor * x[2]]  # noqa: E731
    end = own(program(sums, [5, 5, 1, 0.3], None, [(4, 4), (0.5, 0.5), (3.5 * factor, 3.5 * factor)]))
    assert end.status is Status.OPTIMAL
    assert end.x[0] + end.x[1] == pytest.approx(4.0) and end.x[1] - end.x[2] == pytest.approx(0.5)


def test_equations_whose_gradient_vanishes_at_the_solution() -> None:
    """x² + y² = 0: as exactly as rows hold, and no longer than Ipopt takes."""
    one = program(lambda x: [x[0], x[0] ** 2 + x[1] ** 2], [1, 1], None, [EQUAL])
    end = own(one)
    assert end.status is Status.OPTIMAL
    assert np.abs(end.x).max() < 1e-3
    assert end.iterations <= by_ipopt(one).iterations + 10


def test_an_empty_problem() -> None:
    end = own(program(lambda _: [3.5], []))
    assert (end.status, end.iterations, end.objective, end.x.shape) == (Status.OPTIMAL, 0, 3.5, (0,))
    free = own(program(lambda _: [3.5, 1.0], [], None, [FREE]))
    assert (free.status, free.multipliers.rows.tolist()) == (Status.OPTIMAL, [0.0])


@pytest.mark.parametrize(
    ("row", "status"), [((1, 4), "optimal"), ((1, INF), "optimal"), ((3, INF), "infeasible"), ((1, 3), "optimal")]
)
def test_rows_of_no_variables(row: tuple[float, float], status: str) -> None:
    """They hold, or they do not; of the last one the value stands in the middle."""
    assert own(program(lambda _: [1.0, 2.0], [], None, [row])).status.value == status


@pytest.mark.parametrize(
    ("row", "status"), [((1, 3), "optimal"), ((2, 2), "optimal"), ((3, 3), "infeasible"), ((3, INF), "infeasible")]
)
def test_rows_that_are_constants(row: tuple[float, float], status: str) -> None:
    assert own(program(lambda x: [squares(x), 0.0 * x[0] + 2.0], [0.5, 0.7], None, [row])).status.value == status


def test_a_start_in_the_middle_that_is_the_solution() -> None:
    """Only the multipliers have a way to go: steps of no length are no failure (Ipopt takes four)."""
    one = program(lambda x: [x[0] ** 2], [0.0, 0.0], [(-1, 1)] * 2)
    assert by_ipopt(one).status is Status.OPTIMAL
    end = own(one)
    assert (end.status, end.detail) == (Status.OPTIMAL, "solved")
    assert end.x.tolist() == [0.0, 0.0]


def test_a_box_of_no_width_to_speak_of() -> None:
    end = own(program(lambda x: [squares(x)], [0.5], [(0.3, 0.3 + 1e-13)]))
    assert end.status is Status.OPTIMAL
    assert end.x == pytest.approx([0.3], abs=2e-8)


@pytest.mark.parametrize("seed", range(25))
def test_quadratic_programs_with_a_solution_that_is_known(seed: int) -> None:
    """Made from a point, which rows and bounds hold there, and multipliers: strictly convex, so it is the only one."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 7)), int(random.integers(0, 4))
    m = min(m, n)
    Q = random.normal(size=(n, n))
    Q, A, x = Q @ Q.T + 0.5 * np.eye(n), random.normal(size=(m, n)), random.normal(size=n)
    side = random.choice([-1, 0, 1], n) * (random.random(n) < 0.4)  # which bound holds
    kind = random.choice(["equal", "low", "high", "idle"], m)
    z, y = random.uniform(0.5, 2.0, n) * side, random.uniform(0.5, 2.0, m) * (kind != "idle")
    y *= np.where(kind == "low", -1.0, 1.0)
    c = -Q @ x - A.T @ y - z
    bounds = [(x[k] if side[k] < 0 else x[k] - 1 - k, x[k] if side[k] > 0 else INF) for k in range(n)]
    g = A @ x
    rows = [
        {"equal": (v, v), "low": (v, INF), "high": (v - 3, v), "idle": (v - 1, v + 2)}[k]
        for v, k in zip(g, kind, strict=True)
    ]

    def sum_of(coefficients: Any, given: Sequence[Jet]) -> Jet:
        whole = float(coefficients[0]) * given[0]
        for one, jet in zip(coefficients[1:], given[1:], strict=True):
            whole = whole + float(one) * jet
        return whole

    def formula(given: Sequence[Jet]) -> list[Jet]:
        products = [0.5 * (sum_of(Q[k], given) * given[k]) for k in range(n)]
        return [sum_of(np.ones(n), products) + sum_of(c, given), *(sum_of(A[k], given) for k in range(m))]

    one = program(formula, (x + random.normal(0.0, 3.0, n)).tolist(), bounds, rows)
    end = own(one)
    assert end.status is Status.OPTIMAL
    assert end.x == pytest.approx(x, abs=1e-5)
    assert end.iterations == reference.minimise(one.evaluator, one.bounds, one.start).iterations
    sound(one, end)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
def test_units_do_not_matter(factor: float) -> None:
    """Of the objective and of a row: multipliers change with them, and the point does not."""
    plain = BOOK["hs71"]

    def formula(x: Sequence[Jet]) -> list[Jet]:
        cost = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
        return [factor * cost, factor**0.5 * (x[0] * x[1] * x[2] * x[3]),
                x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2]  # fmt: skip

    end = own(plain)
    other = own(program(formula, [1, 5, 5, 1], [(1, 5)] * 4, [(25 * factor**0.5, INF), (40, 40)]), SolverOptions(1e-9))
    assert other.status is Status.OPTIMAL
    assert other.x == pytest.approx(end.x, abs=1e-3)
    assert other.multipliers.rows / [factor**0.5, factor] == pytest.approx(end.multipliers.rows, rel=1e-3)


# ---- bad ends ----


@pytest.mark.parametrize(
    "one",
    [
        program(lambda x: [x[0], x[0] + x[1]], [1, 1], [(0, 1), (0, 1)], [(5, INF)]),
        program(lambda x: [x[0], x[0] ** 2 + x[1] ** 2], [1, 1], None, [(-INF, -1)]),
        program(lambda x: [squares(x), x[0] + x[1], x[0] + x[1]], [5, 5, 1], None, [(4, 4), (5, 5)]),
        program(lambda x: [x[0], exp(x[0])], [0.5], None, [(-1, -1)]),
    ],
    ids=["box", "square", "equations", "exponential"],
)  # fmt: skip
def test_infeasible_problems(one: Program) -> None:
    end = own(one)
    assert (end.status, end.detail) == (Status.INFEASIBLE, "converged to a point of local infeasibility")
    assert not end.halted


def test_the_objective_of_an_infeasible_end_is_that_of_its_point() -> None:
    """... not of the point from which the last restoration began."""
    for one in (
        program(lambda x: [x[0], x[0] ** 2 + x[1] ** 2], [1, 1], None, [(-INF, -1)]),
        program(lambda x: [x[0], x[0] + x[1]], [1, 1], [(0, 1), (0, 1)], [(5, INF)]),
    ):
        end = own(one)
        one.evaluator.move(end.x)
        assert end.objective == pytest.approx(one.evaluator.objective(), abs=1e-12)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: [x[0]], lambda x: [-(x[0] ** 2)], lambda x: [-1.0 * exp(x[0])],
        lambda x: [x[1] ** 2 - x[0]], lambda x: [x[0] ** 3 + x[1]],
    ],
    ids=["line", "square", "exponential", "valley", "cube"],
)  # fmt: skip
def test_problems_without_an_end_end(formula: Formula) -> None:
    """With a status that is not optimal, within its limits."""
    end = own(program(formula, [1.0, 1.0]))
    assert end.status in (Status.ITERATION_LIMIT, Status.NUMERICAL_FAILURE)
    assert end.iterations <= PLAIN.max_iterations


@pytest.mark.parametrize(
    ("formula", "start"),
    [
        (lambda x: [log(x[0])], -1.0), (lambda x: [x[0], log(x[0])], -1.0), (lambda x: [exp(x[0])], 800.0),
        (lambda x: [x[0], exp(x[0])], 800.0), (lambda x: [squares(x)], np.nan), (lambda x: [squares(x)], INF),
    ],
)  # fmt: skip
def test_functions_that_are_no_numbers_at_the_start(formula: Formula, start: float) -> None:
    rows = [ABOVE] if len(formula([Jet(1.0, np.ones(1), np.ones((1, 1)))])) > 1 else []
    end = own(program(formula, [start], None, rows))
    assert (end.status, end.iterations) == (Status.NUMERICAL_FAILURE, 0)
    assert end.detail == "invalid number in a function or derivative"
    assert np.array_equal(end.x, [start], equal_nan=True)


def test_functions_that_are_no_numbers_at_trial_points() -> None:
    """The step is shortened; iterations are Ipopt's."""
    for one in (
        program(lambda x: [0.01 * x[0] - log(x[0])], [1e-3]),
        program(lambda x: [-log(x[0]) - log(5.0 - x[0]), x[0]], [0.1], None, [(4.999, INF)]),
        program(lambda x: [x[0] ** 2 - x[1], log(x[0]) - x[1]], [1e-2, 3.0], None, [EQUAL]),
    ):
        end, other = own(one), by_ipopt(one)
        assert end.status is Status.OPTIMAL
        assert end.iterations == other.iterations
        assert end.objective == pytest.approx(other.objective, rel=1e-8)


def _spoilt(part: str, beyond: float) -> Formula:
    """(x − 3)⁴ whose slope or curvature is no number for an x beyond."""

    def formula(x: Sequence[Jet]) -> list[Jet]:
        one = (x[0] - 3.0) ** 4
        if x[0].value > beyond:
            setattr(one, part, np.nan * getattr(one, part))
        return [one, one * 1.0]

    return formula


@pytest.mark.parametrize("part", ["gradient", "hessian"])
@pytest.mark.parametrize("beyond", [-1.0, 1.5])
def test_derivatives_that_are_no_numbers(part: str, beyond: float) -> None:
    """At the start or later: an end, for a step needs them."""
    end = own(program(_spoilt(part, beyond), [0.0], None, [(-1, 100)]))
    assert (end.status, end.detail) == (Status.NUMERICAL_FAILURE, "invalid number in a function or derivative")
    assert (end.iterations == 0) == (beyond < 0)
    assert np.all(np.isfinite(end.x))


@pytest.mark.parametrize(
    ("x", "row"),
    [
        ((1, 0), FREE), (FREE, (1, 0)), ((np.nan, 1), FREE), ((0, np.nan), FREE), (FREE, (np.nan, np.nan)),
        ((INF, INF), FREE), ((-INF, -INF), FREE), (FREE, (INF, INF)), (FREE, (-INF, -INF)), ((1e19, INF), FREE),
    ],
)  # fmt: skip
def test_contradictory_bounds(x: tuple[float, float], row: tuple[float, float]) -> None:
    end = own(program(lambda x: [squares(x), x[0]], [0.5], [x], [row]))
    assert (end.status, end.iterations, end.x.tolist()) == (Status.INFEASIBLE, 0, [0.5])
    assert "contradictory bounds" in end.detail


def test_more_equations_than_variables() -> None:
    formula: Formula = lambda x: [squares(x), x[0] + x[1], x[0] - x[1], x[0] ** 2]  # noqa: E731
    end = own(program(formula, [0.5, 0.5], None, [EQUAL, EQUAL, EQUAL]))
    assert (end.status, end.iterations) == (Status.INFEASIBLE, 0)
    assert "more equations than variables" in end.detail
    enough = own(program(lambda x: formula(x)[:3], [0.5, 0.5], None, [(3, 3), (1, 1)]))
    assert enough.status is Status.OPTIMAL
    assert enough.x == pytest.approx([2, 1])


@pytest.mark.parametrize("most", [1, 2, 7, 8, 9])
def test_the_limit_of_iterations(most: int) -> None:
    """hs71 takes eight."""
    end = own(BOOK["hs71"], SolverOptions(max_iterations=most))
    assert end.status is (Status.ITERATION_LIMIT if most < 8 else Status.OPTIMAL)
    assert end.iterations == min(most, 8)


def test_the_limit_of_iterations_within_a_restoration() -> None:
    one = program(lambda x: [x[0], x[0] ** 2 + x[1] ** 2], [1, 1], None, [(-INF, -1)])
    ends = [own(one, SolverOptions(max_iterations=most)) for most in range(1, 27)]
    assert {end.status for end in ends} == {Status.ITERATION_LIMIT}
    assert [end.iterations for end in ends] == list(range(1, 27))


def test_the_limit_of_time() -> None:
    end = own(BOOK["hs71"], SolverOptions(max_seconds=1e-9))
    assert (end.status, end.halted) == (Status.TIME_LIMIT, False)

    def slow(x: Sequence[Jet]) -> list[Jet]:
        time.sleep(0.02)
        return [100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2]

    begin = time.perf_counter()
    end = own(program(slow, [-1.2, 1.0]), SolverOptions(max_seconds=0.1))
    assert end.status is Status.TIME_LIMIT
    assert 0 < end.iterations < 20
    assert time.perf_counter() - begin < 5.0


def test_impatience_ends_a_solve() -> None:
    """Not while the violation falls."""
    one = program(lambda x: [x[0], x[0] ** 2 + x[1] ** 2], [1, 1], None, [(-INF, -1)])
    end = own(one, SolverOptions(patience=Patience(1e-2, 3)))
    assert (end.status, end.detail, end.halted) == (Status.NUMERICAL_FAILURE, "stopped by the caller", True)
    assert end.iterations < own(one).iterations
    assert not own(BOOK["hs71"], SolverOptions(patience=Patience(1e-2, 3))).halted


@pytest.mark.parametrize(("seed", "curved"), [(1, 1e-6), (25, 1e-6), (35, 1e-6), (10, 1e-8)])
def test_a_search_ends_where_nothing_but_rounding_is_left(seed: int, curved: float) -> None:
    """Rows that hold exactly, and more asked for than numbers can tell: no step is halved for ever."""
    p, calls = np.random.default_rng(seed).uniform(-1, 1, 3).tolist(), iter(range(20000))

    def formula(x: Sequence[Jet]) -> list[Jet]:
        if next(calls) > 10000:
            raise RuntimeError("it would go on for ever")
        flat = (x[0] - x[1] - p[0]) ** 2 + (x[1] - p[1]) ** 2 + (x[0] - x[1]) ** 4
        return [curved * flat + 99.0 * (x[0] + x[1]) + p[2], x[0] + x[1]]

    bounds = [(-3.0, INF), FREE] if seed % 2 else None
    end = own(program(formula, [0.2, 0.3], bounds, [(1, 1)]), SolverOptions(1e-15, max_iterations=60))
    assert end.x.sum() == pytest.approx(1.0)
    assert next(calls) < 3000


# ---- the caller's own ----


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt(), SystemExit(3), MemoryError()])
@pytest.mark.parametrize("method", ["move", "objective", "constraints", "objective_gradient", "jacobian", "hessian"])
@pytest.mark.parametrize("call", [0, 1, 5])
def test_what_a_callback_raises_comes_out(
    monkeypatch: pytest.MonkeyPatch, method: str, error: BaseException, call: int
) -> None:
    """As itself, whenever it is raised."""
    honest, calls = getattr(Evaluator, method), iter(range(1000))

    def fail(*arguments: object) -> object:
        if next(calls) == call:
            raise error
        return honest(*arguments)

    one = BOOK["hs71"]
    monkeypatch.setattr(Evaluator, method, fail)
    with pytest.raises(type(error)) as caught:
        own(one)
    assert caught.value is error
    assert next(calls) == call + 1  # nothing is asked for afterwards


def test_what_is_raised_within_a_restoration_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    one = program(lambda x: [x[0], x[0] ** 2 + x[1] ** 2], [1, 1], None, [(-INF, -1)])
    honest, calls = Evaluator.hessian, iter(range(1000))

    def fail(*arguments: Any) -> Any:
        next(calls)
        if arguments[1] == 0.0:  # the objective counts nothing there
            raise RuntimeError("restoring")
        return honest(*arguments)

    monkeypatch.setattr(Evaluator, "hessian", fail)
    with pytest.raises(RuntimeError, match="restoring"):
        own(one)


def test_progress_is_told_of_every_iteration_and_may_raise() -> None:
    one, seen = BOOK["hs71"], list[tuple[int, float]]()
    end = interior_point.solve(one.evaluator, one.bounds, one.start, PLAIN, lambda *told: seen.append(told))
    assert [number for number, _ in seen] == list(range(end.iterations + 1))
    assert seen[0][1] > 1.0 and seen[-1][1] < 1e-6

    def fail(number: int, _: float) -> None:
        if number == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        interior_point.solve(one.evaluator, one.bounds, one.start, PLAIN, fail)


@pytest.mark.parametrize(
    ("one", "restored"),
    [
        (BOOK["hs71"], True),
        (program(lambda x: [x[0], x[0] + x[1]], [1, 1], [(0, 1), (0, 1)], [(5, INF)]), False),
    ],
)  # fmt: skip
def test_progress_is_told_of_every_iteration_of_a_restoration(one: Program, restored: bool) -> None:
    """No number is left out, into a restoration and out of it; where it begins or ends, one may be told twice."""
    seen, start = list[int](), replace(one.start, restored=restored)
    end = interior_point.solve(one.evaluator, one.bounds, start, PLAIN, lambda number, _: seen.append(number))
    assert seen == sorted(seen) and set(seen) == set(range(end.iterations + 1))
    assert len(seen) <= end.iterations + 2


def test_an_interrupt_ends_the_solve() -> None:
    one = BOOK["hs71"]

    def interrupt(number: int, _: float) -> None:
        if number == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interior_point.solve(one.evaluator, one.bounds, one.start, PLAIN, interrupt)
    assert signal.getsignal(signal.SIGINT) is before


def test_what_is_given_is_not_changed() -> None:
    one = opf("case14")
    end = own(one)
    start = Start(end.x.copy(), 1e-3, warm=True, multipliers=end.multipliers)
    given = [start.x, *vars(one.bounds).values(), end.multipliers.rows, end.multipliers.lower, end.multipliers.upper]
    before = [one.copy() for one in given]
    own(one, start=start)
    assert all(np.array_equal(now, then) for now, then in zip(given, before, strict=True))


def test_multipliers_of_the_start_may_have_any_sign() -> None:
    """Those of bounds are read as sizes, as Ipopt's own signs are."""
    one = opf("case14")
    end = own(one)
    known = Multipliers(end.multipliers.rows, -end.multipliers.lower, -end.multipliers.upper)
    assert own(one, start=Start(end.x, 1e-7, warm=True, multipliers=known)).iterations <= 2


def _bits(end: Outcome) -> tuple[bytes, int]:
    return end.x.tobytes() + end.multipliers.rows.tobytes() + end.multipliers.lower.tobytes(), end.iterations


def test_threads_get_the_same_bits() -> None:
    """Functions in C run side by side; those that call back take turns."""
    makers: list[Callable[[], Program]] = [
        lambda: opf("case30"), lambda: opf("case118"), lambda: hock_schittkowski()["hs71"], lambda: opf("case14"),
    ]  # fmt: skip
    alone = [_bits(own(make())) for make in makers]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda make: _bits(own(make())), makers * 2)) == alone * 2
