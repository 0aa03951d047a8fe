"""Blocks and a linear part -> one sparse nonlinear program with a fixed pattern.

    rows(x) = A·x + constant + S·φ(x),      row 0 is the objective, the others are constraints

φ are the functions of the blocks, S adds them to rows. Jacobian and Hessian entries are signed sums of the blocks'
dense derivatives, so each is one sparse matrix times one vector: `jacobian = J₀ + P·∇φ`, `hessian = Q·(∇²φ·weights)`.
All matrices are made once per pattern; a solve changes numbers and bounds only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.nlp.blocks import NO_ROW, OBJECTIVE, Block
from gridveil.nlp.sparse import Sparse, sparse


class Layout:
    """Names for consecutive ranges: hands out columns of variables or rows of constraints in the order of the calls."""

    def __init__(self, start: int = 0) -> None:
        self.size = start
        self.ranges: dict[str, slice] = {}

    def add(self, name: str, count: int) -> IntArray:
        """Reserve `count` places under `name` and return their indices."""
        self.ranges[name] = slice(self.size, self.size + count)
        self.size += count
        return np.arange(self.size - count, self.size)

    def split(self, values: FloatArray, start: int = 0) -> dict[str, FloatArray]:
        """The parts of a vector by name; `start` is the index of its first entry."""
        return {name: values[part.start - start : part.stop - start] for name, part in self.ranges.items()}


@dataclass(frozen=True)
class LinearTerms:
    """Entries of A: rows[i] += coefficient[i]·x[columns[i]]."""

    rows: IntArray
    columns: IntArray
    coefficients: FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """The pattern of a nonlinear program. Build it with `build`; it is never changed afterwards."""

    variables: Layout
    rows: Layout
    blocks: tuple[Block, ...]
    constant: float
    row_matrix: Sparse
    gradient_columns: IntArray
    jacobian_rows: IntArray
    jacobian_columns: IntArray
    jacobian_constant: FloatArray
    jacobian_matrix: Sparse
    hessian_rows: IntArray
    hessian_columns: IntArray
    hessian_matrix: Sparse

    @property
    def n_variable(self) -> int:
        return self.variables.size

    @property
    def n_constraint(self) -> int:
        return self.rows.size - 1

    @property
    def order(self) -> int:
        """Of its Newton system, which an iteration takes its time for."""
        return self.n_variable + self.n_constraint

    def evaluator(self, numbers: Mapping[str, Any]) -> Evaluator:
        """Functions and derivatives with these numbers in the blocks (by block name)."""
        return Evaluator(self, numbers)


class Evaluator:
    """Functions and derivatives at points; remembers the last point, so that what they share is computed once."""

    def __init__(self, problem: Problem, numbers: Mapping[str, Any]) -> None:
        self.problem = problem
        self.numbers = [numbers.get(block.name) for block in problem.blocks]
        shapes = [(len(block.rows), len(block.locals), len(block.pairs), block.size) for block in problem.blocks]
        n = problem.n_variable
        # φ and x stand behind one another, so that S·φ + A·x is one product
        self._phi_x, self._phi = _buffer([(m, size) for m, _, _, size in shapes], n)
        self._x = self._phi_x[len(self._phi_x) - n :]
        self._gradient, self._gradients = _buffer([(m, p, size) for m, p, _, size in shapes])
        self._curvature, self._curvatures = _buffer([(pairs, size) for _, _, pairs, size in shapes])
        self._states: list[Any] = [None] * len(shapes)
        self._rows = np.empty(0)
        self._jacobian: FloatArray | None = None
        self._weight = np.zeros(problem.rows.size + 1)  # the last entry stays 0: that of NO_ROW

    def move(self, x: FloatArray) -> None:
        """Make `x` the current point."""
        self._x[:] = x
        for i, block in enumerate(self.problem.blocks):
            self._states[i] = block.values(self._x, self.numbers[i], self._phi[i])
        self._rows = self.problem.row_matrix @ self._phi_x
        self._jacobian = None

    def objective(self) -> float:
        return float(self._rows[OBJECTIVE]) + self.problem.constant

    def constraints(self) -> FloatArray:
        return self._rows[1:]

    def _all_gradients(self) -> FloatArray:
        if self._jacobian is None:
            for block, state, out in zip(self.problem.blocks, self._states, self._gradients, strict=True):
                block.gradients(state, out)
            self._jacobian = self.problem.jacobian_matrix @ self._gradient
            self._jacobian += self.problem.jacobian_constant
        return self._jacobian

    def objective_gradient(self, out: FloatArray) -> None:
        """Write the dense gradient of the objective."""
        columns = self.problem.gradient_columns
        out.fill(0.0)
        out[columns] = self._all_gradients()[: len(columns)]

    def jacobian(self) -> FloatArray:
        """Entries of the constraints' Jacobian in the order of (jacobian_rows, jacobian_columns)."""
        return self._all_gradients()[len(self.problem.gradient_columns) :]

    def hessian(self, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        """Entries of the Lagrangian's Hessian, lower triangle, in the order of (hessian_rows, hessian_columns)."""
        self._all_gradients()
        self._weight[OBJECTIVE] = objective_factor
        self._weight[1:-1] = multipliers
        for block, state, out in zip(self.problem.blocks, self._states, self._curvatures, strict=True):
            block.hessian(state, self._weight[block.rows], out)
        return self.problem.hessian_matrix @ self._curvature


def _buffer(shapes: Sequence[tuple[int, ...]], extra: int = 0) -> tuple[FloatArray, list[FloatArray]]:
    """One vector and a view of each shape into it, `extra` entries behind them."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    whole = np.zeros(sum(sizes) + extra)
    ends = np.cumsum([0, *sizes])
    return whole, [whole[a:b].reshape(shape) for a, b, shape in zip(ends[:-1], ends[1:], shapes, strict=True)]


def build(
    variables: Layout, rows: Layout, blocks: Sequence[Block], linear: Sequence[LinearTerms], constant: float = 0.0
) -> Problem:
    """Make the pattern. `rows` starts at 1: row 0 is the objective, to which `constant` is added."""
    n = variables.size
    blocks = tuple(block for block in blocks if block.size)
    joined = LinearTerms(
        np.concatenate([part.rows for part in linear]),
        np.concatenate([part.columns for part in linear]),
        np.concatenate([part.coefficients for part in linear]),
    )
    jacobian = _jacobian_entries(blocks)
    key, place = np.unique(
        np.concatenate([jacobian.rows * n + jacobian.columns, joined.rows * n + joined.columns]), return_inverse=True
    )
    nonlinear, constants = np.split(place, [len(jacobian.rows)])
    objective_entries = int(np.searchsorted(key // n, OBJECTIVE + 1))
    hessian = _hessian_entries(blocks)
    hessian_key, hessian_place = np.unique(hessian.rows * n + hessian.columns, return_inverse=True)
    return Problem(
        variables=variables,
        rows=rows,
        blocks=blocks,
        constant=constant,
        row_matrix=_row_matrix(blocks, joined, rows.size),
        gradient_columns=(key % n)[:objective_entries],
        jacobian_rows=(key // n)[objective_entries:] - 1,
        jacobian_columns=(key % n)[objective_entries:],
        jacobian_constant=np.bincount(constants, weights=joined.coefficients, minlength=len(key)).astype(np.float64),
        jacobian_matrix=_sum_matrix(jacobian, nonlinear, len(key)),
        hessian_rows=hessian_key // n,
        hessian_columns=hessian_key % n,
        hessian_matrix=_sum_matrix(hessian, hessian_place, len(hessian_key)),
    )


def _row_matrix(blocks: Sequence[Block], linear: LinearTerms, height: int) -> Sparse:
    """[S A]: what takes (φ, x) to the rows."""
    target = np.concatenate([np.zeros(0, np.int64), *(block.rows.ravel() for block in blocks)])
    used = np.flatnonzero(target != NO_ROW)
    values = np.concatenate([np.ones(len(used)), linear.coefficients])
    rows = np.concatenate([target[used], linear.rows])
    columns = np.concatenate([used, len(target) + linear.columns])
    return sparse(height, rows, columns, values)


def _sum_matrix(entries: _Entries, place: IntArray, count: int) -> Sparse:
    """What takes the blocks' dense derivatives to the `count` entries of a sparse pattern."""
    return sparse(count, place, entries.sources, entries.coefficients)


@dataclass(frozen=True)
class _Entries:
    """Where the dense derivatives of the blocks go: entry (row, column) gets coefficient × the source-th of them."""

    rows: IntArray
    columns: IntArray
    sources: IntArray
    coefficients: FloatArray


def _jacobian_entries(blocks: Sequence[Block]) -> _Entries:
    parts: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = []
    offset = 0
    for block in blocks:
        n, p = block.size, len(block.locals)
        for k, local in zip(*np.nonzero(block.depends), strict=True):
            kept = np.flatnonzero(block.rows[k] != NO_ROW)
            source = offset + (k * p + local) * n + kept
            for columns, coefficient in block.locals[local]:
                parts.append((block.rows[k][kept], columns[kept], source, np.full(len(kept), coefficient)))
        offset += block.depends.size * n
    return _join(parts)


def _hessian_entries(blocks: Sequence[Block]) -> _Entries:
    parts: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = []
    offset = 0
    for block in blocks:
        n = block.size
        for k, (first, second) in enumerate(block.pairs):
            source = offset + k * n + np.arange(n)
            for i, (one, factor_one) in enumerate(block.locals[first]):
                for j, (two, factor_two) in enumerate(block.locals[second]):
                    if first == second and j > i:
                        continue  # its mirror image is the entry of the lower triangle
                    # two different locals of one column meet on the diagonal from both sides
                    twice = np.where((one == two) & (first != second), 2.0, 1.0)
                    lower = (np.maximum(one, two), np.minimum(one, two))
                    parts.append((*lower, source, factor_one * factor_two * twice))
        offset += len(block.pairs) * n
    return _join(parts)


def _join(parts: Sequence[tuple[IntArray, IntArray, IntArray, FloatArray]]) -> _Entries:
    if not parts:
        none = np.zeros(0, np.int64)
        return _Entries(none, none, none, np.zeros(0))
    rows, columns, sources, coefficients = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Entries(rows, columns, sources, coefficients)
