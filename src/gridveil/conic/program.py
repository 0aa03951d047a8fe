"""A conic program, put together row by row as sparse matrices; no modelling layer, everything vectorised.

    minimise  constant + q·x + ½·Σ quadratic·x²    subject to  rhs − A·x ∈ K,  lower ≤ x ≤ upper

K is a product of cones {0}, {≥ 0} and {s₀ ≥ ‖(s₁, …)‖}. Every variable has a finite box, which is what makes a dual
point a bound (`conic.bound`). Some boxes are implied by the cones: the solver need not see those as constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csc_array

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import GridError


@dataclass(frozen=True, eq=False)
class Affine:
    """n expressions Σ_k coefficients[k]·x[columns[k]] + constant, of as many terms each."""

    columns: IntArray
    coefficients: FloatArray
    constant: FloatArray

    def __add__(self, other: Affine | FloatArray | float) -> Affine:
        if not isinstance(other, Affine):
            return replace(self, constant=self.constant + other)
        return Affine(
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.coefficients, other.coefficients]),
            self.constant + other.constant,
        )

    def __mul__(self, factor: FloatArray | float) -> Affine:
        return Affine(self.columns, self.coefficients * factor, self.constant * factor)

    def __neg__(self) -> Affine:
        return self * -1.0

    def __sub__(self, other: Affine | FloatArray | float) -> Affine:
        return self + -other

    def __getitem__(self, which: IntArray | BoolArray) -> Affine:
        return Affine(self.columns[:, which], self.coefficients[:, which], self.constant[which])


@dataclass(frozen=True)
class Cone:
    """`count` cones of one kind, one behind the other: "zero", "nonnegative" (both of dimension 1), "second_order"."""

    kind: str
    dimension: int
    count: int


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """The finished program; `constrained` marks the variables whose box is not implied by the cones."""

    constant: float
    q: FloatArray
    quadratic: FloatArray
    A: csc_array
    rhs: FloatArray
    cones: tuple[Cone, ...]
    lower: FloatArray
    upper: FloatArray
    constrained: BoolArray


class Builder:
    """Collects variables and rows; `build` makes the program."""

    def __init__(self) -> None:
        self.size = 0
        self.constant = 0.0
        self._boxes: list[tuple[FloatArray, FloatArray, BoolArray]] = []
        self._cones: list[tuple[Cone, IntArray]] = []
        self._n_row = 0
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._constants: list[tuple[IntArray, FloatArray]] = []
        self._costs: list[tuple[IntArray, FloatArray, FloatArray]] = []

    def variables(self, lower: FloatArray, upper: FloatArray, *, implied: bool = False) -> Affine:
        """New variables in a box, `implied` if the rest of the program keeps them there anyway."""
        count = len(lower)
        columns = np.arange(self.size, self.size + count)
        self.size += count
        self._boxes.append((np.asarray(lower), np.asarray(upper), np.full(count, not implied)))
        return Affine(columns[None], np.ones((1, count)), np.zeros(count))

    def minimise(self, variables: Affine, linear: FloatArray, quadratic: FloatArray | float = 0.0) -> None:
        """Add linear·x + quadratic·x² to the objective; `variables` as `variables` made them."""
        columns = variables.columns[0]
        self._costs.append((columns, linear, np.broadcast_to(np.asarray(quadratic, dtype=float), columns.shape)))

    def zeros(self, count: int) -> IntArray:
        """New rows that must be zero, still empty: `add` fills them."""
        rows: IntArray = self._rows("zero", 1, count)[0]
        return rows

    def zero(self, expression: Affine) -> None:
        """expression = 0."""
        self.add(self.zeros(len(expression.constant)), expression)

    def nonnegative(self, expression: Affine) -> None:
        """expression ≥ 0."""
        self.add(self._rows("nonnegative", 1, len(expression.constant))[0], expression)

    def second_order(self, head: Affine, *tail: Affine) -> None:
        """head ≥ ‖tail‖."""
        for rows, expression in zip(
            self._rows("second_order", 1 + len(tail), len(head.constant)), (head, *tail), strict=True
        ):
            self.add(rows, expression)

    def product(self, one: Affine, two: Affine, *tail: Affine) -> None:
        """one·two ≥ ‖tail‖², one and two ≥ 0."""
        self.second_order((one + two) * 0.5, (one - two) * 0.5, *tail)

    def add(self, rows: IntArray, expression: Affine) -> None:
        """Add expressions to rows; a row may get several."""
        terms = len(expression.columns)
        every = np.broadcast_to(rows, (terms, len(rows))).ravel()
        self._entries.append((every, expression.columns.ravel(), expression.coefficients.ravel()))
        self._constants.append((rows, expression.constant))

    def _rows(self, kind: str, dimension: int, count: int) -> IntArray:
        """Rows of new cones, (dimension, count)."""
        rows = np.arange(self._n_row, self._n_row + dimension * count).reshape(count, dimension)
        self._n_row += dimension * count
        self._cones.append((Cone(kind, dimension, count), rows.ravel()))
        return rows.T

    def build(self) -> ConicProgram:
        """The program, its cones ordered by kind."""
        order = {"zero": 0, "nonnegative": 1, "second_order": 2}
        parts = sorted((part for part in self._cones if part[0].count), key=lambda part: order[part[0].kind])
        place = np.empty(self._n_row, dtype=np.int64)
        place[np.concatenate([rows for _, rows in parts])] = np.arange(self._n_row)
        rows, columns, values = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        rhs = np.zeros(self._n_row)
        for where, constant in self._constants:
            np.add.at(rhs, place[where], constant)
        q, quadratic = np.zeros(self.size), np.zeros(self.size)
        for where, linear, square in self._costs:
            np.add.at(q, where, linear)
            np.add.at(quadratic, where, 2.0 * square)
        lower, upper, constrained = (np.concatenate(part) for part in zip(*self._boxes, strict=True))
        kept = values != 0
        matrix = coo_array((-values[kept], (place[rows[kept]], columns[kept])), shape=(self._n_row, self.size)).tocsc()
        for numbers in (matrix.data, rhs, q, quadratic, lower, upper):
            if not np.all(np.isfinite(numbers)):
                raise GridError(
                    "a number of the network is Inf or NaN where a relaxation needs a plain one; correct it"
                )
        cones: list[Cone] = []
        for cone, _ in parts:  # neighbours of one kind become one
            last = cones[-1] if cones else None
            if last and (last.kind, last.dimension) == (cone.kind, cone.dimension):
                cones[-1] = Cone(cone.kind, cone.dimension, last.count + cone.count)
            else:
                cones.append(cone)
        return ConicProgram(self.constant, q, quadratic, matrix, rhs, tuple(cones), lower, upper, constrained)
