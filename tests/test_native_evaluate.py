"""Functions and derivatives in C against NumPy's evaluator: every kind of block, every family of problems, every misuse."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from ctypes import addressof, c_int, sizeof
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Network
from gridveil.nlp import blocks as kinds
from gridveil.nlp.blocks import NO_ROW, Block, Kind
from gridveil.nlp.island import _model
from gridveil.nlp.native import evaluate
from gridveil.nlp.native.evaluate import Functions, GvFunctions, called_back, functions_of
from gridveil.nlp.native.library import load
from gridveil.nlp.opf import opf_model
from gridveil.nlp.power_flow import inverse_ratings, line_numbers, power_flow
from gridveil.nlp.problem import Evaluator, Layout, LinearTerms, Problem, build
from gridveil.privacy.noise import SeededNoise
from gridveil.repair.bounds import parameter_box
from gridveil.repair.projection import Cut, projection
from gridveil.repair.projection import numbers as projection_numbers
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Snapshot

from .conftest import Bend
from .test_joint import drawn_case
from .test_problem import bent

SHIPPED = ("case3", "case5", "case14", "case30", "case39", "case57", "case118")
PGLIB = ("case24_ieee_rts", "case73_ieee_rts", "case162_ieee_dtc", "case240_pserc", "case300_ieee", "case1354_pegase")
EQUAL = 1e-13


def random_point(problem: Problem, seed: int) -> tuple[FloatArray, float, FloatArray]:
    """Near flat voltages or far from anything, by turns."""
    random = np.random.default_rng(seed)
    x = random.normal(1.0, (0.01, 0.2, 1.0, 3.0)[seed % 4], problem.n_variable)
    for name, part in problem.variables.ranges.items():
        if name.startswith(("va", "parameters", "u")):
            x[part] -= 1.0
    return x, float(random.normal()), random.normal(size=problem.n_constraint)


def by_numpy(evaluator: Evaluator, x: FloatArray, factor: float, multipliers: FloatArray) -> list[FloatArray]:
    """Objective, constraints, gradient, Jacobian and Hessian of the reference."""
    evaluator.move(x)
    gradient = np.empty(len(x))
    evaluator.objective_gradient(gradient)
    jacobian, hessian = evaluator.jacobian().copy(), evaluator.hessian(factor, multipliers)
    return [np.array([evaluator.objective()]), evaluator.constraints().copy(), gradient, jacobian, hessian]


def by_c(functions: Functions, x: FloatArray, factor: float, multipliers: FloatArray) -> list[FloatArray]:
    objective, rows = functions.values(x)
    return [np.array([objective]), rows, *functions.gradients(), functions.hessian(factor, multipliers)]


def difference(evaluator: Evaluator, functions: Functions, seed: int) -> float:
    """The largest difference of any number, in units of what is rounded in it.

    That is its size, and by how much more it changes if all it is made of changes relatively: large terms may cancel.
    In derivatives of |S|² some do so identically: they are no larger than those of other entries of their row of the
    Jacobian, and of the diagonal entries of their row and column of the Hessian.
    """
    x, factor, multipliers = random_point(evaluator.problem, seed)
    expected = by_numpy(evaluator, x, factor, multipliers)
    unit = [np.abs(one) for one in expected]
    random, step = np.random.default_rng(seed), 1e-7
    for _ in range(3):
        moved = x * (1 + step * random.normal(size=len(x)))
        weight = multipliers * (1 + step * random.normal(size=len(multipliers)))
        other = by_numpy(evaluator, moved, factor, weight)
        unit = [np.maximum(u, np.abs(b - a) / step) for u, a, b in zip(unit, expected, other, strict=True)]
    largest = np.zeros(len(multipliers))
    np.maximum.at(largest, evaluator.problem.jacobian_rows, unit[-2])
    unit[-2] = largest[evaluator.problem.jacobian_rows]
    rows, columns = evaluator.problem.hessian_rows, evaluator.problem.hessian_columns
    diagonal = np.zeros(len(x))
    diagonal[rows[rows == columns]] = np.sqrt(unit[-1][rows == columns])
    unit[-1] = np.maximum(unit[-1], diagonal[rows] * diagonal[columns])
    found = by_c(functions, x, factor, multipliers)
    assert [one.shape for one in found] == [one.shape for one in expected]
    apart = [np.abs(a - b) / np.maximum(u, 1e-300) for a, b, u in zip(found, expected, unit, strict=True)]
    assert all(np.all(np.isfinite(one)) for one in apart)
    return float(max(one.max(initial=0.0) for one in apart))


def in_c(evaluator: Evaluator) -> Functions:
    if load() is None:
        pytest.skip("the compiled library is not there")
    functions = functions_of(evaluator)
    assert functions.native
    return functions


def check(problem: Problem, numbers: dict[str, Any], seeds: int = 12) -> Functions:
    evaluator = problem.evaluator(numbers)
    functions = in_c(evaluator)
    for place, own in (("jacobian_row", problem.jacobian_rows), ("jacobian_column", problem.jacobian_columns),
                       ("hessian_row", problem.hessian_rows), ("hessian_column", problem.hessian_columns)):  # fmt: skip
        known = (c_int * len(own)).from_address(getattr(functions.structure, place))
        assert np.array_equal(list(known), own)
    for seed in range(seeds):
        assert difference(evaluator, functions, seed) <= EQUAL
    return functions


# ---- every family of problems ----


@pytest.mark.parametrize("name", SHIPPED)
def test_ac_opf_of_shipped_cases(name: str) -> None:
    network = gv.load(name)
    check(opf_model(network.grid).problem, {"lines": line_numbers(*network)})


@pytest.mark.parametrize("name", PGLIB)
def test_ac_opf_of_pglib_cases(pglib: Path, name: str) -> None:
    network = gv.load(pglib / f"pglib_opf_{name}.m")
    check(opf_model(network.grid).problem, {"lines": line_numbers(*network)}, seeds=4)


def test_ac_opf_with_everything_bent(tiny: Bend) -> None:
    """Taps, shifts, parallel lines one of which is reversed, an unrated line, cubic and piecewise costs on p and q."""
    network = bent(tiny)
    check(opf_model(network.grid).problem, {"lines": line_numbers(*network)}, seeds=40)


def lines_projected(name: str, steps: int = 1, *, cuts: bool = True) -> tuple[Problem, dict[str, Any]]:
    network = gv.load(name)
    grid = network.grid
    noisy = mechanism("log").perturb(split(network), 1.0, 0.1, SeededNoise(0))
    box = parameter_box(grid, noisy, 50.0)
    snapshots = [Snapshot(share * grid.buses.pd, share * grid.buses.qd, 100.0) for share in np.linspace(1, 0.8, steps)]
    cut = [Cut(np.random.default_rng(0).normal(size=len(box.target)), 0.0)] if cuts else []
    model = projection(grid, box, snapshots, cut, keep_losses=True)
    return model.problem, projection_numbers(model, box)


@pytest.mark.parametrize("name", ["case5", "case30", "case118"])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_projections_of_lines(name: str, steps: int) -> None:
    check(*lines_projected(name, steps, cuts=steps > 1))


def test_twins_share_their_columns() -> None:
    """Several lines add to the same entries: 118 buses have parallel lines that move as one."""
    problem, _ = lines_projected("case118")
    (lines,) = [block for block in problem.blocks if isinstance(block, kinds.LineBlock)]
    assert lines.parameter_columns is not None
    assert len(np.unique(lines.parameter_columns[1])) < lines.size


@pytest.mark.parametrize("name", ["case5", "case14", "case57"])
@pytest.mark.parametrize("steps", [1, 2])
def test_projections_of_joint_draws(name: str, steps: int) -> None:
    _, (grid, lines, _) = drawn_case(name)
    box = parameter_box(grid, lines, 50.0)
    snapshots = [Snapshot(grid.buses.pd * share, grid.buses.qd * share, 100.0) for share in (1.0, 0.9)[:steps]]
    model = projection(grid, box, snapshots, [], keep_losses=True)
    assert {block.kind for block in model.problem.blocks} >= {Kind.LINES, Kind.GROWTH, Kind.DISTANCE}
    check(model.problem, projection_numbers(model, box))


@pytest.mark.parametrize("name", SHIPPED)
def test_restoration_of_an_island(name: str) -> None:
    """The rules differ in bounds alone, so one problem is both; under `literal` every shunt is on."""
    network = gv.load(name)
    model = _model(network.grid)
    assert (Kind.SWITCHED_SHUNTS in {block.kind for block in model.problem.blocks}) == bool(len(model.shunts))
    functions = check(model.problem, {"lines": line_numbers(*network)})
    evaluator = model.problem.evaluator({"lines": line_numbers(*network)})
    for on in (0.0, 1.0):
        x, _, _ = random_point(model.problem, 1)
        x[model.on] = on
        evaluator.move(x)
        assert functions.values(x)[1] == pytest.approx(evaluator.constraints(), rel=1e-12, abs=1e-9)


# ---- every kind of block, by itself ----


def single(kind: str, seed: int, size: int = 7) -> tuple[Problem, dict[str, Any]]:
    """A block of random numbers in random columns and rows: the objective's and none are among the latter."""
    random = np.random.default_rng(seed)
    variables, rows = Layout(), Layout(start=1)
    columns = variables.add("x", 12)
    constraints = np.concatenate([[NO_ROW, 0], rows.add("c", 6)])

    def distinct(count: int) -> IntArray:
        return np.stack([random.permutation(columns)[:count] for _ in range(size)], axis=1)

    def somewhere(count: int) -> IntArray:
        return random.choice(constraints, (count, size))

    one, two = random.normal(size=size), random.normal(size=size)
    given: Any = None
    block: Block
    if kind in ("lines", "unrated", "lines with parameters", "unrated with parameters"):
        at = distinct(7)
        where = somewhere(6)
        if kind.startswith("unrated"):
            where[4:] = NO_ROW
        moving = at[4:] if kind.endswith("parameters") else None
        block = kinds.LineBlock("one", at[:4], 1.0 + 0.1 * one, 0.1 * two, where, moving)
        given = tuple(random.normal(size=(3, size))), random.uniform(0, 2, size)
        if moving is not None:
            given = np.stack(given[0]), given[1]
    elif kind == "shunts":
        block = kinds.ShuntBlock("one", distinct(1)[0], one, two, somewhere(2))
    elif kind == "switched shunts":
        at = distinct(2)
        block = kinds.SwitchedShuntBlock("one", at[0], at[1], one, two, somewhere(2))
    elif kind == "distance":
        block, given = kinds.DistanceBlock("one", distinct(1)[0], int(constraints[1 + seed % 3])), (one, np.abs(two))
    elif kind == "growth":
        functions = 1 + seed % 3
        block = kinds.GrowthBlock("one", distinct(1)[0], (1.0, 2.0, -0.5)[seed % 3], somewhere(functions))
        given = random.normal(size=(functions, size))
    else:
        coefficients = random.normal(size=(size, 3 + seed % 4))
        block = kinds.PolynomialBlock("one", distinct(1)[0], coefficients, somewhere(1)[0])
    entries = random.integers(0, 7, 9), random.integers(0, 12, 9), random.normal(size=9)
    return build(variables, rows, [block], [LinearTerms(*entries)], 3.0), {"one": given}


KINDS = (
    "lines", "unrated", "lines with parameters", "unrated with parameters", "shunts", "switched shunts", "distance",
    "growth", "polynomial",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_blocks_by_themselves(kind: str, seed: int) -> None:
    check(*single(kind, seed), seeds=8)


def test_all_kinds_are_tried_and_numbered_alike() -> None:
    found = {block.kind for kind in KINDS for block in single(kind, 0)[0].blocks}
    assert found == set(Kind) - {Kind.UNKNOWN}
    header = (Path(__file__).parents[1] / "native" / "evaluate.h").read_text(encoding="utf-8")
    (listed,) = re.findall(r"GV_LINES = 1,.*?GV_KINDS", header, re.DOTALL)
    names = re.findall(r"\bGV_(\w+)", re.sub(r"/\*.*?\*/", "", listed, flags=re.DOTALL))
    assert names == [kind.name for kind in Kind if kind] + ["KINDS"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["values", "gradients", "hessian"])
def test_a_planted_wrong_sign_is_found(kind: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: turn round one number of one element that reaches a row."""
    problem, numbers = single(kind, 2)
    (block,) = problem.blocks
    honest = getattr(type(block), method)
    reaching = np.argwhere(block.rows > 0)[0]

    def wrong(self: Block, *arguments: Any) -> Any:
        result = honest(self, *arguments)
        arguments[-1][(0, reaching[1]) if method == "hessian" else (reaching[0], ..., reaching[1])] *= -1
        return result

    monkeypatch.setattr(type(block), method, wrong)
    evaluator = problem.evaluator(numbers)
    assert max(difference(evaluator, in_c(evaluator), seed) for seed in range(4)) > 1e-3


# ---- corners ----


def test_empty_blocks_and_no_constraints() -> None:
    variables, rows = Layout(), Layout(start=1)
    columns = variables.add("x", 3)
    empty = np.zeros(0, np.int64)
    none = LinearTerms(empty, empty, np.zeros(0))
    distance = kinds.DistanceBlock("d", columns, 0)
    nothing = kinds.ShuntBlock("s", empty, np.zeros(0), np.zeros(0), np.zeros((2, 0), np.int64))
    free = build(variables, rows, [nothing, distance], [none], 2.0)
    functions = check(free, {"d": (np.ones(3), 2.0)})
    assert functions.values(np.zeros(3))[0] == 8.0
    assert functions.structure.m == functions.structure.n_jacobian == 0
    linear = build(variables, rows, [nothing], [LinearTerms(np.zeros(3, np.int64), columns, np.arange(3.0))], 1.0)
    functions = check(linear, {})
    assert functions.values(np.ones(3))[0] == 4.0
    assert functions.gradients()[0].tolist() == [0.0, 1.0, 2.0]


def test_numbers_that_are_not_contiguous_or_not_arrays() -> None:
    problem, given = single("distance", 1)
    target, _ = given["one"]
    check(problem, {"one": (np.repeat(target, 2)[::2], 2)})
    check(problem, {"one": (0, np.arange(len(target)))})


def test_derivatives_belong_to_the_last_point() -> None:
    problem, numbers = single("lines with parameters", 3)
    functions, reference = in_c(problem.evaluator(numbers)), problem.evaluator(numbers)
    (first, factor, multipliers), (second, _, _) = random_point(problem, 1), random_point(problem, 2)
    functions.values(first)
    functions.gradients()
    point = second.copy()
    functions.values(point)
    point[:] = np.nan  # whose array that was may use it for something else
    reference.move(second)
    assert functions.hessian(factor, multipliers) == pytest.approx(reference.hessian(factor, multipliers), rel=1e-11)
    assert functions.gradients()[1] == pytest.approx(reference.jacobian(), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_flow_through(kind: str, bad: float) -> None:
    """What is NaN or infinite in NumPy is so in C, and nothing else; NumPy's Hessian multiplies more zeros by NaN."""
    problem, numbers = single(kind, 4)
    evaluator = problem.evaluator(numbers)
    functions = in_c(evaluator)
    for place in range(problem.n_variable):
        x, factor, multipliers = random_point(problem, place)
        x[place] = bad
        with np.errstate(all="ignore"):
            evaluator.move(x)
            objective, rows = functions.values(x)
            assert np.isfinite(objective) == np.isfinite(evaluator.objective())
            assert np.array_equal(np.isfinite(rows), np.isfinite(evaluator.constraints()))
            assert np.array_equal(np.isfinite(functions.gradients()[1]), np.isfinite(evaluator.jacobian()))
            hessian, expected = functions.hessian(factor, multipliers), evaluator.hessian(factor, multipliers)
        assert not np.any(np.isfinite(expected) & ~np.isfinite(hessian))


def test_everything_lives_as_long_as_the_functions() -> None:
    def made() -> tuple[Functions, FloatArray, FloatArray]:
        problem, numbers = lines_projected("case14")
        x = random_point(problem, 0)[0]
        evaluator = problem.evaluator({name: tuple(part) for name, part in numbers.items()})
        evaluator.move(x)
        return in_c(evaluator), x, evaluator.constraints().copy()

    for _ in range(4):
        functions, x, rows = made()
        gc.collect()
        rubbish = [np.full(1000, np.nan) for _ in range(200)]
        assert functions.values(x)[1] == pytest.approx(rows, rel=1e-12, abs=1e-12)
        del functions, rubbish
    gc.collect()


# ---- callbacks into NumPy ----


class OwnShunts(kinds.ShuntBlock):
    """A kind that C does not know: its formulas are its own, whatever it inherits."""

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        result = super().values(x, numbers, out)
        out *= 2.0
        return result


def unknown() -> Problem:
    variables, rows = Layout(), Layout(start=1)
    vm, row = variables.add("vm", 3), rows.add("p", 6).reshape(2, 3)
    return build(variables, rows, [OwnShunts("s", vm, np.ones(3), np.arange(3.0), row)], [
        LinearTerms(np.zeros(1, np.int64), vm[:1], np.ones(1))
    ])  # fmt: skip


def coincident() -> Problem:
    """An element that has one column twice: what C adds to two entries is one."""
    variables, rows = Layout(), Layout(start=1)
    vm, row = variables.add("vm", 3), rows.add("p", 6).reshape(2, 3)
    block = kinds.SwitchedShuntBlock("s", vm, vm[[1, 1, 0]], np.ones(3), np.arange(3.0), row)
    return build(variables, rows, [block], [LinearTerms(np.zeros(1, np.int64), vm[:1], np.ones(1))])


@pytest.mark.parametrize("make", [unknown, coincident])
def test_what_c_does_not_know_is_called_back(make: Callable[[], Problem]) -> None:
    evaluator = make().evaluator({})
    functions = functions_of(evaluator)
    assert not functions.native
    assert all(difference(make().evaluator({}), functions, seed) == 0 for seed in range(5))


def test_callbacks_are_the_evaluator_itself(tiny: Bend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "load", lambda: None)
    network = bent(tiny)
    evaluator = opf_model(network.grid).problem.evaluator({"lines": line_numbers(*network)})
    functions = functions_of(evaluator)
    assert not functions.native
    assert all(difference(evaluator, functions, seed) == 0 for seed in range(5))


def test_an_exception_in_a_callback_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Exception):
        pass

    def wrong(self: Evaluator, x: FloatArray) -> None:
        raise Wrong("no such point")

    monkeypatch.setattr(Evaluator, "move", wrong)
    functions = called_back(unknown().evaluator({}))
    x = np.ones(3)
    out = np.empty(8)
    code = functions.structure.values(None, x.ctypes.data, out.ctypes.data, out.ctypes.data)
    assert code != 0
    with pytest.raises(Wrong, match="no such point"):
        functions.check()


def test_c_is_given_what_its_header_says(tiny: Bend) -> None:
    """Through the address of the structure alone, as C does it."""
    network = bent(tiny)
    problem = opf_model(network.grid).problem
    functions = in_c(problem.evaluator({"lines": line_numbers(*network)}))
    again = GvFunctions.from_address(addressof(functions.structure))
    assert sizeof(GvFunctions) == 8 + 4 * 4 + 4 * 8 + 3 * 8
    assert (again.n, again.m) == (problem.n_variable, problem.n_constraint)
    x, rows, objective = random_point(problem, 1)[0], np.empty(problem.n_constraint), np.empty(1)
    assert again.values(again.self, x.ctypes.data, objective.ctypes.data, rows.ctypes.data) == 0
    assert rows.tolist() == functions.values(x)[1].tolist()


def test_two_evaluators_of_one_problem(tiny: Bend) -> None:
    """Numbers are an evaluator's own, the pattern is shared."""
    network = bent(tiny)
    problem = opf_model(network.grid).problem
    lines = Network(network.grid, network.lines)
    (g, b, h), rating = line_numbers(*lines)
    one, two = ({"lines": ((factor * g, b, h), rating)} for factor in (1.0, 2.0))
    first, second = in_c(problem.evaluator(one)), in_c(problem.evaluator(two))
    for seed in range(3):
        assert difference(problem.evaluator(one), first, seed) <= EQUAL
        assert difference(problem.evaluator(two), second, seed) <= EQUAL
        assert difference(problem.evaluator(one), second, seed) > EQUAL


def test_lines_of_two_snapshots_with_objectives_of_both(tiny: Bend) -> None:
    """Two power flows that share ln g, ln b and ln bc, as columns of their own."""
    network = bent(tiny)
    grid = network.grid
    variables, rows = Layout(), Layout(start=1)
    shared = np.stack([variables.add(f"u_{name}", grid.n_line) for name in ("g", "b", "bc")])
    flows = [power_flow(grid, variables, rows, shared, name) for name in ("_1", "_2")]
    problem = build(
        variables, rows, [block for flow in flows for block in flow.blocks],
        [terms for flow in flows for terms in flow.linear],
    )  # fmt: skip
    bases = np.stack([network.lines.g, network.lines.b, network.lines.bc]), inverse_ratings(grid)
    check(problem, {"lines_1": bases, "lines_2": bases}, seeds=20)
