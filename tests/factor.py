"""The factorisation of native/ldl.h as an object, and matrices to try it on."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import CDLL, byref, c_double, c_int, c_longlong, c_void_p
from functools import lru_cache

import numpy as np
from scipy.sparse import coo_array, csc_array

import gridveil as gv
from gridveil.arrays import FloatArray, IntArray
from gridveil.nlp.native.library import require
from gridveil.nlp.opf import _bounds, _starts, opf_model
from gridveil.nlp.power_flow import Demand, line_numbers

OK, SINGULAR, NO_MEMORY, NOT_FINITE, BAD_PATTERN = 0, 1, -1, -2, -3
"""Of native/ldl.h."""


@lru_cache
def kernel() -> CDLL:
    """The library with the signatures of the factorisation."""
    library = require()
    address = [c_void_p]
    library.gv_ldl_new.argtypes, library.gv_ldl_new.restype = [c_int, c_int, *address * 3], c_void_p
    library.gv_ldl_free.argtypes, library.gv_ldl_free.restype = address, None
    library.gv_ldl_factor.argtypes, library.gv_ldl_factor.restype = [c_void_p, c_void_p, c_double], c_int
    library.gv_ldl_solve.argtypes, library.gv_ldl_solve.restype = address * 2, None
    library.gv_ldl_refine.argtypes, library.gv_ldl_refine.restype = [*address * 4, c_int], c_double
    for name, kind in (("negative", c_int), ("zero", c_int), ("delayed", c_int), ("entries", c_longlong),
                       ("analysed", c_longlong)):  # fmt: skip
        function = getattr(library, f"gv_ldl_{name}")
        function.argtypes, function.restype = address, kind
    return library


class Refused(Exception):
    """A pattern that is not taken; its argument is the status."""


class Factor:
    """A pattern, and the factorisation of the last values."""

    def __init__(self, n: int, row: Sequence[int] | IntArray, column: Sequence[int] | IntArray) -> None:
        status = c_int(99)
        self.n = n
        rows, columns = (np.array(one, dtype=np.intc) for one in (row, column))
        self.handle = kernel().gv_ldl_new(n, len(rows), rows.ctypes.data, columns.ctypes.data, byref(status))
        if not self.handle:
            raise Refused(status.value)
        assert status.value == OK
        rows[:], columns[:] = -7, -7  # the arrays are copied
        weakref.finalize(self, kernel().gv_ldl_free, self.handle)

    def factor(self, values: Sequence[float] | FloatArray, threshold: float = 1e-8) -> int:
        given = np.array(values, dtype=np.float64)
        return int(kernel().gv_ldl_factor(self.handle, given.ctypes.data, threshold))

    def solve(self, b: FloatArray) -> FloatArray:
        x: FloatArray = np.array(b, dtype=np.float64)
        kernel().gv_ldl_solve(self.handle, x.ctypes.data)
        return x

    def refine(self, values: FloatArray, b: FloatArray, steps: int) -> tuple[FloatArray, float]:
        x: FloatArray = np.full(self.n, np.nan)
        value, right = (np.array(one, dtype=np.float64) for one in (values, b))
        arrays = (value.ctypes.data, right.ctypes.data, x.ctypes.data)
        return x, float(kernel().gv_ldl_refine(self.handle, *arrays, steps))

    @property
    def negative(self) -> int:
        return int(kernel().gv_ldl_negative(self.handle))

    @property
    def zero(self) -> int:
        return int(kernel().gv_ldl_zero(self.handle))

    @property
    def delayed(self) -> int:
        return int(kernel().gv_ldl_delayed(self.handle))

    @property
    def entries(self) -> int:
        return int(kernel().gv_ldl_entries(self.handle))

    @property
    def analysed(self) -> int:
        return int(kernel().gv_ldl_analysed(self.handle))


class Entries:
    """A symmetric matrix as entries of either triangle; those of one place add up."""

    def __init__(self, n: int, row: IntArray, column: IntArray, value: FloatArray) -> None:
        self.n, self.row, self.column, self.value = n, row, column, value

    def sparse(self) -> csc_array:
        one = coo_array((self.value, (self.row, self.column)), shape=(self.n, self.n)).tocsc()
        lower = coo_array((self.value, (self.column, self.row)), shape=(self.n, self.n)).tocsc()
        both = self.row == self.column
        same = coo_array((self.value[both], (self.row[both], self.row[both])), shape=(self.n, self.n)).tocsc()
        return one + lower - same

    def dense(self) -> FloatArray:
        whole: FloatArray = self.sparse().toarray()
        return whole

    def scattered(self, random: np.random.Generator) -> Entries:
        """The same matrix, unknowns renamed, entries shuffled, turned over and broken into two."""
        name, order = random.permutation(self.n), random.permutation(len(self.row))
        row, column, value = name[self.row][order], name[self.column][order], self.value[order]
        turned = random.random(len(row)) < 0.5
        row, column = np.where(turned, column, row), np.where(turned, row, column)
        twice = np.flatnonzero(random.random(len(row)) < 0.2)
        share = np.where(np.isin(np.arange(len(row)), twice), 0.75, 1.0)
        return Entries(
            self.n, np.concatenate([row, column[twice]]), np.concatenate([column, row[twice]]),
            np.concatenate([share * value, 0.25 * value[twice]]),
        )  # fmt: skip


def of_dense(matrix: FloatArray) -> Entries:
    """The lower triangle of a dense matrix, without its zeros."""
    row, column = np.nonzero(np.tril(matrix))
    return Entries(len(matrix), row, column, matrix[row, column])


def kkt(
    random: np.random.Generator, n: int, m: int, *, definite: bool = True, soft: float = 0.0, density: float = 0.1
) -> Entries:
    """[H Jᵀ; J −soft·I] with J of full rank, and H definite or not."""
    H = np.where(random.random((n, n)) < density, random.normal(size=(n, n)), 0.0)
    H = np.tril(H) + np.tril(H).T
    if definite:
        H += np.diag(0.5 + np.abs(H).sum(axis=1))
    J = np.where(random.random((m, n)) < density, random.normal(size=(m, n)), 0.0)
    J[np.arange(m), random.permutation(n)[:m]] += 2.0 + m * density * 3.0
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[n:, :n] = H, J
    whole[range(n, n + m), range(n, n + m)] = -soft
    return of_dense(whole)


def negative_eigenvalues(matrix: FloatArray) -> int | None:
    """How many there are; None where one is too near to zero to tell."""
    eigenvalues = np.linalg.eigvalsh(matrix)
    if len(eigenvalues) and np.abs(eigenvalues).min() < 1e-10 * np.abs(eigenvalues).max():
        return None
    return int((eigenvalues < 0).sum())


def backward_error(matrix: csc_array, x: FloatArray, b: FloatArray) -> float:
    """How little the matrix would have to change for x to be exact, beside its size."""
    size = float(abs(matrix).sum(axis=1).max()) if matrix.shape[0] else 0.0
    if not len(b):
        return 0.0
    left = np.abs(b - matrix @ x).max()
    return float(left / (size * np.abs(x).max() + np.abs(b).max()))


def opf_kkt(name: str, seed: int) -> tuple[Entries, int]:
    """The matrix of a step of a case's AC-OPF near its first start, and how many rows it has: variables, slacks, rows."""
    network, random = gv.load(name), np.random.default_rng(seed)
    model = opf_model(network.grid)
    problem, buses = model.problem, network.grid.buses
    bounds = _bounds(model, Demand(buses.pd, buses.qd))
    evaluator = problem.evaluator({"lines": line_numbers(*network)})
    x = _starts(model)[0].x
    evaluator.move(x + random.normal(0.0, 0.02, len(x)))
    jacobian = evaluator.jacobian().copy()
    hessian = evaluator.hessian(1e-3, random.normal(size=problem.n_constraint))
    n, m = problem.n_variable, problem.n_constraint
    slack = np.flatnonzero(bounds.row_lower < bounds.row_upper)
    first = n + len(slack)
    barrier = 10.0 ** random.uniform(-4, 4, first)
    row = [problem.hessian_rows, np.arange(first), first + problem.jacobian_rows, first + slack]
    column = [problem.hessian_columns, np.arange(first), problem.jacobian_columns, n + np.arange(len(slack))]
    value = [hessian, barrier, jacobian, -np.ones(len(slack))]
    return Entries(first + m, *(np.concatenate(one) for one in (row, column, value))), m
