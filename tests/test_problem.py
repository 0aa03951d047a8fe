"""The assembled program: rows, Jacobian and Hessian against finite differences, with line parameters as variables too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.grid import Network
from gridveil.nlp.blocks import OBJECTIVE
from gridveil.nlp.dispatch_cost import dispatch_cost
from gridveil.nlp.opf import opf_model
from gridveil.nlp.power_flow import inverse_ratings, line_numbers, power_flow
from gridveil.nlp.problem import Evaluator, Layout, Problem, build

from .conftest import Bend


def dense_jacobian(evaluator: Evaluator, x: FloatArray) -> FloatArray:
    problem = evaluator.problem
    evaluator.move(x)
    gradient = np.empty(problem.n_variable)
    evaluator.objective_gradient(gradient)
    entries = (evaluator.jacobian().copy(), (problem.jacobian_rows, problem.jacobian_columns))
    rest = coo_array(entries, shape=(problem.n_constraint, problem.n_variable)).toarray()
    return np.vstack([gradient, rest])


def dense_hessian(evaluator: Evaluator, x: FloatArray, weight: FloatArray) -> FloatArray:
    problem = evaluator.problem
    evaluator.move(x)
    values = evaluator.hessian(weight[0], weight[1:])
    assert np.all(problem.hessian_rows >= problem.hessian_columns)
    entries = (values, (problem.hessian_rows, problem.hessian_columns))
    lower: FloatArray = coo_array(entries, shape=(problem.n_variable,) * 2).toarray()
    return lower + lower.T - np.diag(np.diag(lower))


def check_derivatives(problem: Problem, evaluator: Evaluator, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.uniform(0.4, 1.2, problem.n_variable)
    weight = random.normal(size=problem.rows.size)

    def rows(point: FloatArray) -> FloatArray:
        evaluator.move(point)
        return np.concatenate([[evaluator.objective()], evaluator.constraints()])

    step = 1e-6
    jacobian, hessian = dense_jacobian(evaluator, x), dense_hessian(evaluator, x, weight)
    scale = 1 + np.abs(jacobian).max()
    for column in range(problem.n_variable):
        forward, backward = x.copy(), x.copy()
        forward[column] += step
        backward[column] -= step
        numeric = (rows(forward) - rows(backward)) / (2 * step)
        assert jacobian[:, column] == pytest.approx(numeric, abs=1e-7 * scale)
        change = weight @ (dense_jacobian(evaluator, forward) - dense_jacobian(evaluator, backward)) / (2 * step)
        assert hessian[:, column] == pytest.approx(change, abs=1e-6 * scale)


def bent(tiny: Bend) -> Network:
    """Taps, shifts, shunts, a reversed parallel line, an unrated line, cubic and piecewise costs on p and q."""
    return gv.load(
        tiny(
            ("	2	3	0.01", "	3	1	0.05	0.2	0.1	0	0	0	1.05	-7	1	0	0;\n	2	3	0.01"),
            ("	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;",
             "	2	0	0	4	0.001	0.02	10	5	0	0;\n	1	0	0	3	0	0	40	400	80	1600;\n"
             "	2	0	0	3	0.1	3	1	0	0	0;\n	1	0	0	2	-50	50	50	60	0	0;"),
        )
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_opf_derivatives(tiny: Bend, seed: int) -> None:
    network = bent(tiny)
    problem = opf_model(network.grid).problem
    check_derivatives(problem, problem.evaluator({"lines": line_numbers(*network)}), seed)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_with_line_parameters_as_variables(tiny: Bend, seed: int) -> None:
    """Two snapshots that share ln g, ln b, ln bc, and a cost in a row of its own: the shape of the repair problem."""
    grid = bent(tiny).grid
    variables, rows = Layout(), Layout(start=1)
    shared = np.stack([variables.add(name, grid.n_line) for name in ("g", "b", "bc")])
    cost_row = int(rows.add("cost", 1)[0])
    flows = [power_flow(grid, variables, rows, shared, name) for name in ("_1", "_2")]
    costs = [
        dispatch_cost(flow, variables, rows, row, name)
        for flow, row, name in zip(flows, (OBJECTIVE, cost_row), ("_1", "_2"), strict=True)
    ]
    blocks = [block for flow in flows for block in flow.blocks] + [block for cost in costs for block in cost.blocks]
    linear = [terms for flow in flows for terms in flow.linear] + [terms for cost in costs for terms in cost.linear]
    problem = build(variables, rows, blocks, linear)
    bases = np.stack([bent(tiny).lines.g, bent(tiny).lines.b, bent(tiny).lines.bc]), inverse_ratings(grid)
    check_derivatives(problem, problem.evaluator({"lines_1": bases, "lines_2": bases}), seed)


def test_pattern_has_no_entry_twice(tiny: Bend) -> None:
    problem = opf_model(bent(tiny).grid).problem
    for rows, columns in (
        (problem.jacobian_rows, problem.jacobian_columns),
        (problem.hessian_rows, problem.hessian_columns),
    ):
        assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
