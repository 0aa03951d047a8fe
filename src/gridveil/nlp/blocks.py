"""The blocks that problems are made of: each is a batch of small functions of a few local variables.

A block has n elements; each has the same p locals and the same m functions. A local is a signed sum of problem
variables (mostly one; δ of a line has two), a function is added to one row of the problem (row 0 is the objective,
`NO_ROW` means it is left out). What a block computes is dense and vectorised over its elements; the scattering into
the sparse whole is done by `nlp.problem`, once per pattern.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.nlp import line_flow

NO_ROW = -1
OBJECTIVE = 0

Term = tuple[IntArray, float]
"""Columns of the problem (one per element) and the coefficient with which they enter a local."""


class Kind(IntEnum):
    """The kinds of blocks as C numbers them (native/evaluate.h)."""

    UNKNOWN = 0
    LINES = 1
    SHUNTS = 2
    SWITCHED_SHUNTS = 3
    DISTANCE = 4
    GROWTH = 5
    POLYNOMIAL = 6


class Block(ABC):
    """n elements, p locals, m functions. Subclasses hold index arrays only; the state of a point is passed around."""

    name: str
    locals: Sequence[Sequence[Term]]
    rows: IntArray
    depends: BoolArray
    pairs: Sequence[tuple[int, int]]
    kind = Kind.UNKNOWN
    """Which C code has the same formulas; a subclass with formulas of its own has none."""

    @property
    def size(self) -> int:
        return int(self.rows.shape[1])

    @abstractmethod
    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        """Write the functions, (m, n), into `out`; return what the two methods below need of this point."""

    @abstractmethod
    def gradients(self, state: Any, out: FloatArray) -> None:
        """Write ∂function/∂local, (m, p, n)."""

    @abstractmethod
    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        """Write Σ weight·∇²function in packed pairs, (len(pairs), n); `weight` is (m, n)."""

    def numbers(self, given: Any) -> Sequence[Any]:
        """What C is given beside columns and rows, in its order: each of n entries, or one number for all elements."""
        return ()


class LineBlock(Block):
    """Flows of lines into the balance rows of their ends, and squared apparent flows into rating rows.

    Functions: pf, qf, pt, qt, |S_f|²/rating, |S_t|²/rating. Dividing by the rating makes the row's violation an
    apparent power in per unit. `numbers` holds the line parameters as (g, b, h), h = b + bc/2, and the ratings. With
    `parameter_columns` they are base·e^u with variables u of the problem, and `numbers` holds the bases, (3, n).
    """

    kind = Kind.LINES

    def __init__(
        self,
        name: str,
        columns: IntArray,
        inverse_tap: FloatArray,
        shift: FloatArray,
        rows: IntArray,
        parameter_columns: IntArray | None = None,
    ) -> None:
        self.name = name
        self.columns = columns  # vm_f, vm_t, va_f, va_t
        self.parameter_columns = parameter_columns
        self.inverse_tap, self.shift = inverse_tap, shift
        self.rated = bool(np.any(rows[4:] != NO_ROW))
        self.rows = rows if self.rated else rows[:4]
        vm_f, vm_t, va_f, va_t = columns
        self.locals = [[(vm_f, 1.0)], [(vm_t, 1.0)], [(va_f, 1.0), (va_t, -1.0)]]
        if parameter_columns is not None:
            self.locals += [[(column, 1.0)] for column in parameter_columns]
        self.pairs = line_flow.upper_triangle(len(self.locals))
        self._first = np.array([i for i, _ in self.pairs])
        self._second = np.array([j for _, j in self.pairs])
        self._own = np.flatnonzero((self._first == self._second) & (self._first >= line_flow.VOLTAGE_LOCALS))
        self.depends = np.ones((len(self.rows), len(self.locals)), dtype=bool)
        if parameter_columns is not None:
            self.depends[[0, 2], 5] = False  # active flows do not see the charging

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        vm_f, vm_t, va_f, va_t = x[self.columns]
        parameters, (given, inverse_rating) = None, numbers
        if self.parameter_columns is None:
            g, b, h = given
        else:
            g, b, bc = parameters = given * np.exp(x[self.parameter_columns])
            h = b + 0.5 * bc
        state = line_flow.terms(vm_f, vm_t, va_f - va_t - self.shift, g, b, h, self.inverse_tap)
        line_flow.flows(state, out[:4])
        if self.rated:
            square = out[:4] * out[:4]
            np.multiply(square[::2] + square[1::2], inverse_rating, out=out[4:])
        gradient = np.empty((4, len(self.locals), self.size))
        return state, parameters, out[:4].copy(), gradient, inverse_rating

    def gradients(self, state: Any, out: FloatArray) -> None:
        point, parameters, flow, gradient, inverse_rating = state
        line_flow.gradients(point, gradient)
        if parameters is not None:  # ∂/∂u = y·∂/∂y
            gradient[:, line_flow.VOLTAGE_LOCALS :] *= parameters
        out[:4] = gradient
        if self.rated:
            scaled = (2.0 * inverse_rating * flow)[:, None] * gradient
            np.add(scaled[::2], scaled[1::2], out=out[4:])

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        point, parameters, flow, gradient, inverse_rating = state
        square = np.zeros((4, 1))
        if self.rated:
            square = np.repeat(2.0 * inverse_rating * weight[4:], 2, axis=0)
        weight = weight[:4] + square * flow
        line_flow.hessian(point, weight, out)
        if parameters is not None:  # ∂²/∂u² = y²·∂²/∂y² + y·∂/∂y
            factor = np.concatenate([np.ones((line_flow.VOLTAGE_LOCALS, self.size)), parameters])
            out *= factor[self._first] * factor[self._second]
            out[self._own] += np.einsum("kn,kin->in", weight, gradient[:, line_flow.VOLTAGE_LOCALS :])
        if self.rated:
            out += np.einsum("kin,kjn->ijn", gradient, square[:, None] * gradient)[self._first, self._second]

    def numbers(self, given: Any) -> Sequence[Any]:
        parameters, inverse_rating = given
        return [*parameters, inverse_rating, self.inverse_tap, self.shift]


class ShuntBlock(Block):
    """Power drawn by bus shunts: gs·vm² from the active and −bs·vm² from the reactive balance."""

    kind = Kind.SHUNTS

    def __init__(self, name: str, vm: IntArray, gs: FloatArray, bs: FloatArray, rows: IntArray) -> None:
        self.name, self.vm = name, vm
        self.coefficient = np.stack([gs, -bs])
        self.rows = rows
        self.locals = [[(vm, 1.0)]]
        self.pairs = [(0, 0)]
        self.depends = np.ones((2, 1), dtype=bool)

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        vm = x[self.vm]
        np.multiply(self.coefficient, vm * vm, out=out)
        return vm

    def gradients(self, state: Any, out: FloatArray) -> None:
        np.multiply(self.coefficient, 2.0 * state, out=out[:, 0])

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        np.multiply(2.0, np.sum(self.coefficient * weight, axis=0), out=out[0])

    def numbers(self, given: Any) -> Sequence[Any]:
        return [*self.coefficient]


class DistanceBlock(Block):
    """weight·(x − target)² per column, summed into one row; `numbers` is (target, weight)."""

    kind = Kind.DISTANCE

    def __init__(self, name: str, columns: IntArray, row: int) -> None:
        self.name, self.columns = name, columns
        self.rows = np.full((1, len(columns)), row)
        self.locals = [[(columns, 1.0)]]
        self.pairs = [(0, 0)]
        self.depends = np.ones((1, 1), dtype=bool)

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        target, weight = numbers
        away = x[self.columns] - target
        np.multiply(weight, away * away, out=out[0])
        return away, weight

    def gradients(self, state: Any, out: FloatArray) -> None:
        away, weight = state
        np.multiply(2.0 * weight, away, out=out[0, 0])

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        np.multiply(2.0 * weight[0], state[1], out=out[0])

    def numbers(self, given: Any) -> Sequence[Any]:
        return [*given]


class GrowthBlock(Block):
    """c·e^(k·u) of a column u, each added to as many rows as there are rows of `rows`; `numbers` are the c, (m, n)."""

    kind = Kind.GROWTH

    def __init__(self, name: str, columns: IntArray, power: float, rows: IntArray) -> None:
        self.name, self.columns, self.power = name, columns, power
        self.rows = rows
        self.locals = [[(columns, 1.0)]]
        self.pairs = [(0, 0)]
        self.depends = np.ones((len(rows), 1), dtype=bool)

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        np.multiply(numbers, np.exp(self.power * x[self.columns]), out=out)
        return out.copy()

    def gradients(self, state: Any, out: FloatArray) -> None:
        np.multiply(self.power, state, out=out[:, 0])

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        np.multiply(self.power**2, np.sum(weight * state, axis=0), out=out[0])

    def numbers(self, given: Any) -> Sequence[Any]:
        return [self.power, *np.broadcast_to(given, self.rows.shape)]


class PolynomialBlock(Block):
    """Σ_k c[i, k]·xᵏ for k ≥ 2: the curved part of a polynomial; the rest of it is linear and belongs to the matrix."""

    kind = Kind.POLYNOMIAL

    def __init__(self, name: str, columns: IntArray, coefficients: FloatArray, rows: IntArray) -> None:
        self.name, self.columns = name, columns
        self.curved = np.ascontiguousarray(coefficients.T[2:])
        self.rows = rows[None, :]
        self.locals = [[(columns, 1.0)]]
        self.pairs = [(0, 0)]
        self.depends = np.ones((1, 1), dtype=bool)

    def _horner(self, x: FloatArray, derivative: int) -> FloatArray:
        result = np.zeros_like(x)
        for k in range(len(self.curved) + 1, 1, -1):
            factor = (1.0, k, k * (k - 1))[derivative]
            result = result * x + factor * self.curved[k - 2]
        return result * x ** (2 - derivative) if derivative < 2 else result

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        local = x[self.columns]
        out[0] = self._horner(local, 0)
        return local

    def gradients(self, state: Any, out: FloatArray) -> None:
        out[0, 0] = self._horner(state, 1)

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        np.multiply(weight[0], self._horner(state, 2), out=out[0])

    def numbers(self, given: Any) -> Sequence[Any]:
        return [*self.curved]


class SwitchedShuntBlock(Block):
    """Power drawn by bus shunts of which the share `on` is connected: on·gs·vm² active, −on·bs·vm² reactive."""

    kind = Kind.SWITCHED_SHUNTS

    def __init__(self, name: str, vm: IntArray, on: IntArray, gs: FloatArray, bs: FloatArray, rows: IntArray) -> None:
        self.name, self.vm, self.on = name, vm, on
        self.coefficient = np.stack([gs, -bs])
        self.rows = rows
        self.locals = [[(vm, 1.0)], [(on, 1.0)]]
        self.pairs = [(0, 0), (0, 1)]
        self.depends = np.ones((2, 2), dtype=bool)

    def values(self, x: FloatArray, numbers: Any, out: FloatArray) -> Any:
        vm, on = x[self.vm], x[self.on]
        np.multiply(self.coefficient, on * vm * vm, out=out)
        return vm, on

    def gradients(self, state: Any, out: FloatArray) -> None:
        vm, on = state
        np.multiply(self.coefficient, 2.0 * on * vm, out=out[:, 0])
        np.multiply(self.coefficient, vm * vm, out=out[:, 1])

    def hessian(self, state: Any, weight: FloatArray, out: FloatArray) -> None:
        vm, on = state
        weighted = 2.0 * np.sum(self.coefficient * weight, axis=0)
        np.multiply(weighted, on, out=out[0])
        np.multiply(weighted, vm, out=out[1])

    def numbers(self, given: Any) -> Sequence[Any]:
        return [*self.coefficient]
