"""Small nonlinear programs written as formulas, with exact derivatives; and problems of Hock and Schittkowski."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.nlp.blocks import Block
from gridveil.nlp.problem import Evaluator, Layout, LinearTerms, build
from gridveil.nlp.solver import Bounds, Start

INF = float("inf")


class Jet:
    """A number with its gradient and Hessian by the variables: what formulas are evaluated on."""

    def __init__(self, value: float, gradient: FloatArray, hessian: FloatArray) -> None:
        self.value, self.gradient, self.hessian = value, gradient, hessian

    def by(self, f: float, slope: float, curvature: float) -> Jet:
        """A function of it, by its value and derivatives."""
        outer = np.outer(self.gradient, self.gradient)
        return Jet(f, slope * self.gradient, slope * self.hessian + curvature * outer)

    def __add__(self, other: Jet | float) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.gradient, self.hessian)
        return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)

    def __mul__(self, other: Jet | float) -> Jet:
        if not isinstance(other, Jet):
            return Jet(other * self.value, other * self.gradient, other * self.hessian)
        cross = np.outer(self.gradient, other.gradient)
        return Jet(
            self.value * other.value,
            self.value * other.gradient + other.value * self.gradient,
            self.value * other.hessian + other.value * self.hessian + cross + cross.T,
        )

    def __pow__(self, k: int) -> Jet:
        x = np.float64(self.value)
        return self.by(float(x**k), float(k * x ** (k - 1)), float(k * (k - 1) * x ** (k - 2)) if k > 1 else 0.0)

    def __neg__(self) -> Jet:
        return self * -1.0

    def __sub__(self, other: Jet | float) -> Jet:
        return self + -other

    def __rsub__(self, other: float) -> Jet:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__


def exp(x: Jet) -> Jet:
    value = float(np.exp(x.value))
    return x.by(value, value, value)


def log(x: Jet) -> Jet:
    """NaN below zero, minus infinity at zero."""
    at = np.float64(x.value)
    return x.by(float(np.log(at)), float(1 / at), float(-1 / at**2))


def sin(x: Jet) -> Jet:
    return x.by(float(np.sin(x.value)), float(np.cos(x.value)), float(-np.sin(x.value)))


Formula = Callable[[Sequence[Jet]], Sequence[Jet | float]]
"""The objective, then the constraints, of the variables."""


class FormulaBlock(Block):
    """One element whose locals are all variables; C does not know its kind, and calls back."""

    def __init__(self, formula: Formula, columns: IntArray, rows: IntArray) -> None:
        n, m = len(columns), len(rows)
        self.name, self.formula = "formula", formula
        self.locals = [[(columns[k : k + 1], 1.0)] for k in range(n)]
        self.rows = rows[:, None]
        self.depends = np.ones((m, n), dtype=bool)
        self.pairs = [(i, j) for i in range(n) for j in range(i, n)]
        self.columns = columns

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        n = len(self.columns)
        jets = [
            Jet(float(x[column]), np.eye(n)[k], np.zeros((n, n))) for k, column in enumerate(self.columns)
        ]  # fmt: skip
        with np.errstate(all="ignore"):
            found = [
                one if isinstance(one, Jet) else Jet(one, np.zeros(n), np.zeros((n, n))) for one in self.formula(jets)
            ]
        out[:, 0] = [one.value for one in found]
        return found

    def gradients(self, state: Any, out: FloatArray) -> None:
        out[:, :, 0] = [one.gradient for one in state]

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        whole = sum((w * one.hessian for w, one in zip(weight[:, 0], state, strict=True) if w), np.zeros(()))
        out[:, 0] = [whole[i, j] for i, j in self.pairs] if np.ndim(whole) else 0.0


@dataclass(frozen=True)
class Program:
    """A problem with bounds, a start, and the least objective there is."""

    evaluator: Evaluator
    bounds: Bounds
    start: Start
    best: float = float("nan")


def program(
    formula: Formula,
    start: Sequence[float],
    x: Sequence[tuple[float, float]] | None = None,
    rows: Sequence[tuple[float, float]] = (),
    best: float = float("nan"),
    mu: float = 0.1,
) -> Program:
    """A program of formulas; `x` and `rows` are bounds, of the variables none if not given."""
    variables, layout = Layout(), Layout(start=1)
    columns, below = variables.add("x", len(start)), layout.add("c", len(rows))
    none = LinearTerms(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    problem = build(variables, layout, [FormulaBlock(formula, columns, np.concatenate([[0], below]))], [none])
    of_x, of_rows = np.array(x or [(-INF, INF)] * len(start)).reshape(-1, 2), np.array(rows).reshape(-1, 2)
    bounds = Bounds(
        *(np.array(one, dtype=np.float64) for one in (of_x[:, 0], of_x[:, 1], of_rows[:, 0], of_rows[:, 1]))
    )
    return Program(problem.evaluator({}), bounds, Start(np.array(start, dtype=np.float64), mu), best)


FREE, EQUAL, ABOVE, BELOW = (-INF, INF), (0.0, 0.0), (0.0, INF), (-INF, 0.0)


def _rosenbrock(x: Sequence[Jet]) -> Jet:
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


def hock_schittkowski() -> dict[str, Program]:
    """By their numbers (Test Examples for Nonlinear Programming Codes, 1981), with the optima that stand there; of hs2 the local
    one beside its start."""
    half = np.sqrt(3.0) / 2
    return {
        "hs1": program(lambda x: [_rosenbrock(x)], [-2, 1], [FREE, (-1.5, INF)], best=0.0),
        "hs2": program(lambda x: [_rosenbrock(x)], [-2, 1], [FREE, (1.5, INF)], best=4.9412293),
        "hs3": program(lambda x: [x[1] + 1e-5 * (x[1] - x[0]) ** 2], [10, 1], [FREE, ABOVE], best=0.0),
        "hs4": program(lambda x: [(x[0] + 1.0) ** 3 * (1 / 3) + x[1]], [1.125, 0.125], [(1, INF), ABOVE], best=8 / 3),
        "hs5": program(
            lambda x: [sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1.0],
            [0, 0], [(-1.5, 4), (-3, 3)], best=-half - np.pi / 3,
        ),
        "hs6": program(lambda x: [(1.0 - x[0]) ** 2, 10.0 * (x[1] - x[0] ** 2)], [-1.2, 1], None, [EQUAL], 0.0),
        "hs7": program(
            lambda x: [log(x[0] ** 2 + 1.0) - x[1], (x[0] ** 2 + 1.0) ** 2 + x[1] ** 2],
            [2, 2], None, [(4, 4)], -2 * half,
        ),
        "hs8": program(lambda x: [-1.0, x[0] ** 2 + x[1] ** 2, x[0] * x[1]], [2, 1], None, [(25, 25), (9, 9)], -1.0),
        "hs10": program(
            lambda x: [x[0] - x[1], -3.0 * x[0] ** 2 + 2.0 * x[0] * x[1] - x[1] ** 2 + 1.0], [-10, 10], None, [ABOVE], -1.0
        ),
        "hs11": program(
            lambda x: [(x[0] - 5.0) ** 2 + x[1] ** 2 - 25.0, x[1] - x[0] ** 2], [4.9, 0.1], None, [ABOVE], -8.498464223
        ),
        "hs12": program(
            lambda x: [0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7.0 * x[0] - 7.0 * x[1], 4.0 * x[0] ** 2 + x[1] ** 2],
            [0, 0], None, [(-INF, 25)], -30.0,
        ),
        "hs14": program(
            lambda x: [(x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2, -0.25 * x[0] ** 2 - x[1] ** 2 + 1.0, x[0] - 2.0 * x[1] + 1.0],
            [2, 2], None, [ABOVE, EQUAL], 9 - 2.875 * np.sqrt(7),
        ),
        "hs21": program(
            lambda x: [0.01 * x[0] ** 2 + x[1] ** 2 - 100.0, 10.0 * x[0] - x[1]],
            [-1, -1], [(2, 50), (-50, 50)], [(10, INF)], -99.96,
        ),
        "hs22": program(
            lambda x: [(x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2, x[0] + x[1], x[0] ** 2 - x[1]],
            [2, 2], None, [(-INF, 2), BELOW], 1.0,
        ),
        "hs28": program(
            lambda x: [(x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, x[0] + 2.0 * x[1] + 3.0 * x[2]], [-4, 1, 1], None, [(1, 1)], 0.0
        ),
        "hs35": program(
            lambda x: [
                9.0 - 8.0 * x[0] - 6.0 * x[1] - 4.0 * x[2] + 2.0 * x[0] ** 2 + 2.0 * x[1] ** 2 + x[2] ** 2
                + 2.0 * x[0] * x[1] + 2.0 * x[0] * x[2],
                x[0] + x[1] + 2.0 * x[2],
            ],
            [0.5, 0.5, 0.5], [ABOVE] * 3, [(-INF, 3)], 1 / 9,
        ),
        "hs37": program(
            lambda x: [-x[0] * x[1] * x[2], x[0] + 2.0 * x[1] + 2.0 * x[2]], [10, 10, 10], [(0, 42)] * 3, [(0, 72)], -3456.0
        ),
        "hs39": program(
            lambda x: [-x[0], x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2], [2, 2, 2, 2], None, [EQUAL] * 2, -1.0
        ),
        "hs40": program(
            lambda x: [-x[0] * x[1] * x[2] * x[3], x[0] ** 3 + x[1] ** 2, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]],
            [0.8, 0.8, 0.8, 0.8], None, [(1, 1), EQUAL, EQUAL], -0.25,
        ),
        "hs43": program(
            lambda x: [
                x[0] ** 2 + x[1] ** 2 + 2.0 * x[2] ** 2 + x[3] ** 2 - 5.0 * x[0] - 5.0 * x[1] - 21.0 * x[2] + 7.0 * x[3],
                x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 + x[0] - x[1] + x[2] - x[3],
                x[0] ** 2 + 2.0 * x[1] ** 2 + x[2] ** 2 + 2.0 * x[3] ** 2 - x[0] - x[3],
                2.0 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2.0 * x[0] - x[1] - x[3],
            ],
            [0, 0, 0, 0], None, [(-INF, 8), (-INF, 10), (-INF, 5)], -44.0,
        ),
        "hs45": program(
            lambda x: [2.0 - x[0] * x[1] * x[2] * x[3] * x[4] * (1 / 120)], [2] * 5, [(0, k) for k in range(1, 6)], best=1.0
        ),
        "hs60": program(
            lambda x: [(x[0] - 1.0) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, x[0] * (x[1] ** 2 + 1.0) + x[2] ** 4],
            [2, 2, 2], [(-10, 10)] * 3, [(4 + 3 * np.sqrt(2),) * 2], 0.03256820025,
        ),
        "hs63": program(
            lambda x: [
                1000.0 - x[0] ** 2 - 2.0 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2],
                8.0 * x[0] + 14.0 * x[1] + 7.0 * x[2], x[0] ** 2 + x[1] ** 2 + x[2] ** 2,
            ],
            [2, 2, 2], [ABOVE] * 3, [(56, 56), (25, 25)], 961.7151721,
        ),
        "hs71": program(
            lambda x: [
                x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], x[0] * x[1] * x[2] * x[3],
                x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2,
            ],
            [1, 5, 5, 1], [(1, 5)] * 4, [(25, INF), (40, 40)], 17.0140173,
        ),
        "hs76": program(
            lambda x: [
                x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3] - x[0] - 3.0 * x[1]
                + x[2] - x[3],
                x[0] + 2.0 * x[1] + x[2] + x[3], 3.0 * x[0] + x[1] + 2.0 * x[2] - x[3], x[1] + 4.0 * x[2],
            ],
            [0.5] * 4, [ABOVE] * 4, [(-INF, 5), (-INF, 4), (1.5, INF)], -4.681818181,
        ),
        "hs77": program(
            lambda x: [
                (x[0] - 1.0) ** 2 + (x[0] - x[1]) ** 2 + (x[2] - 1.0) ** 2 + (x[3] - 1.0) ** 4 + (x[4] - 1.0) ** 6,
                x[0] ** 2 * x[3] + sin(x[3] - x[4]), x[1] + x[2] ** 4 * x[3] ** 2,
            ],
            [2] * 5, None, [(2 * np.sqrt(2),) * 2, (8 + np.sqrt(2),) * 2], 0.24150513,
        ),
        "hs80": program(
            lambda x: [
                exp(x[0] * x[1] * x[2] * x[3] * x[4]), x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 + x[4] ** 2,
                x[1] * x[2] - 5.0 * x[3] * x[4], x[0] ** 3 + x[1] ** 3,
            ],
            [-2, 2, 2, -1, -1], [(-2.3, 2.3)] * 2 + [(-3.2, 3.2)] * 3, [(10, 10), EQUAL, (-1, -1)], 0.0539498478,
        ),
        "hs100": program(
            lambda x: [
                (x[0] - 10.0) ** 2 + 5.0 * (x[1] - 12.0) ** 2 + x[2] ** 4 + 3.0 * (x[3] - 11.0) ** 2 + 10.0 * x[4] ** 6
                + 7.0 * x[5] ** 2 + x[6] ** 4 - 4.0 * x[5] * x[6] - 10.0 * x[5] - 8.0 * x[6],
                2.0 * x[0] ** 2 + 3.0 * x[1] ** 4 + x[2] + 4.0 * x[3] ** 2 + 5.0 * x[4],
                7.0 * x[0] + 3.0 * x[1] + 10.0 * x[2] ** 2 + x[3] - x[4],
                23.0 * x[0] + x[1] ** 2 + 6.0 * x[5] ** 2 - 8.0 * x[6],
                4.0 * x[0] ** 2 + x[1] ** 2 - 3.0 * x[0] * x[1] + 2.0 * x[2] ** 2 + 5.0 * x[5] - 11.0 * x[6],
            ],
            [1, 2, 0, 4, 0, 1, 1], None, [(-INF, 127), (-INF, 282), (-INF, 196), BELOW], 680.6300573,
        ),
    }  # fmt: skip
