"""An evaluator's functions and derivatives as C calls them (native/functions.h), computed in C where it can.

C knows the kinds of blocks of native/evaluate.h. Where a problem has another, or there is no compiled library, the same
functions call back into the NumPy evaluator, which is the reference for what C computes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from ctypes import CDLL, CFUNCTYPE, Array, Structure, addressof, byref, c_double, c_int, c_void_p
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.arrays import FloatArray, IntArray
from gridveil.nlp.blocks import OBJECTIVE, Block, Kind
from gridveil.nlp.native.library import load
from gridveil.nlp.problem import Evaluator, Problem

_VALUES = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)
_GRADIENTS = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_HESSIAN = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p)
_LARGEST = 2**31 - 1
"""C counts entries in ints."""


class GvFunctions(Structure):
    """`gv_functions` of native/functions.h."""

    _fields_ = (
        ("self", c_void_p),
        ("n", c_int), ("m", c_int), ("n_jacobian", c_int), ("n_hessian", c_int),
        ("jacobian_row", c_void_p), ("jacobian_column", c_void_p),
        ("hessian_row", c_void_p), ("hessian_column", c_void_p),
        ("values", _VALUES), ("gradients", _GRADIENTS), ("hessian", _HESSIAN),
    )  # fmt: skip


class _Block(Structure):
    _fields_ = (
        *((name, c_int) for name in ("kind", "n", "n_functions", "n_locals", "n_numbers")),
        *((name, c_void_p) for name in ("rows", "columns", "numbers", "jacobian_place", "hessian_place")),
    )  # fmt: skip


class _Program(Structure):
    _fields_ = (
        *((f"n_{name}", c_int) for name in (
            "variables", "constraints", "blocks", "linear", "gradient", "constant", "jacobian", "hessian")),
        ("constant", c_double),
        *((name, c_void_p) for name in (
            "blocks", "linear_row", "linear_column", "linear_coefficient", "gradient_column", "gradient_constant",
            "constant_place", "jacobian_constant", "jacobian_row", "jacobian_column", "hessian_row", "hessian_column")),
    )  # fmt: skip


class Functions:
    """What C is given, with all that must live while it is used. `native` says whether C computes it, too.

    C gets the address of `structure`. The methods call through the same pointers; what they return is the caller's.
    """

    def __init__(self, structure: GvFunctions, kept: object, native: bool) -> None:
        self.structure, self.native = structure, native
        self.error: BaseException | None = None
        self._kept = kept

    def values(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Objective and constraints at `x`, which becomes the current point."""
        point, objective, rows = np.ascontiguousarray(x, dtype=np.float64), c_double(), np.empty(self.structure.m)
        self._done(self.structure.values(self.structure.self, point.ctypes.data, byref(objective), rows.ctypes.data))
        return objective.value, rows

    def gradients(self) -> tuple[FloatArray, FloatArray]:
        """The objective's dense gradient and the entries of the Jacobian, at the current point."""
        gradient, jacobian = np.empty(self.structure.n), np.empty(self.structure.n_jacobian)
        self._done(self.structure.gradients(self.structure.self, gradient.ctypes.data, jacobian.ctypes.data))
        return gradient, jacobian

    def hessian(self, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        """The entries of the Lagrangian's Hessian at the current point."""
        weight, entries = np.ascontiguousarray(multipliers, dtype=np.float64), np.empty(self.structure.n_hessian)
        self._done(
            self.structure.hessian(self.structure.self, objective_factor, weight.ctypes.data, entries.ctypes.data)
        )
        return entries

    def _done(self, code: int) -> None:
        self.check()
        if code:
            raise RuntimeError(f"a function returned {code}")

    def check(self) -> None:
        """Raise what a callback raised: it cannot pass through C, which was only told to stop."""
        if self.error is not None:
            raise self.error


def functions_of(evaluator: Evaluator) -> Functions:
    """The functions of an evaluator for C. Its numbers are read where they stand, and must not change meanwhile."""
    compiled = load()
    if compiled is not None and _is_known(evaluator.problem):
        return _in_c(compiled, evaluator)
    return called_back(evaluator)


def _is_known(problem: Problem) -> bool:
    """Has C code for every block, no element one column twice, and every count room in C's integers?"""
    sums = problem.jacobian_matrix, problem.hessian_matrix, problem.row_matrix
    return max(len(one.rows) for one in sums) + problem.n_variable <= _LARGEST and all(
        vars(type(block)).get("kind", Kind.UNKNOWN) and _columns_differ(block) for block in problem.blocks
    )


def _columns_of(block: Block) -> list[IntArray]:
    return [column for local in block.locals for column, _ in local]


def _columns_differ(block: Block) -> bool:
    columns = _columns_of(block)
    return not any(np.any(one == two) for k, one in enumerate(columns) for two in columns[:k])


class _Pattern:
    """What C reads of a problem: its indices as C's integers, and where the derivatives of every element go."""

    def __init__(self, problem: Problem) -> None:
        n, entries = problem.n_variable, problem.row_matrix
        linear = np.flatnonzero(entries.columns >= (first := sum(block.rows.size for block in problem.blocks)))
        self.linear = (
            _ints(entries.rows[linear]), _ints(entries.columns[linear] - first), entries.values[linear],
        )  # fmt: skip
        of_objective, of_constraints = np.split(problem.jacobian_constant, [len(problem.gradient_columns)])
        self.gradient = _ints(problem.gradient_columns), of_objective
        constant = np.flatnonzero(of_constraints)
        self.constants = _ints(constant), of_constraints[constant]
        self.jacobian = _ints(problem.jacobian_rows), _ints(problem.jacobian_columns)
        self.hessian = _ints(problem.hessian_rows), _ints(problem.hessian_columns)
        jacobian_key = (problem.jacobian_rows + 1) * n + problem.jacobian_columns
        hessian_key = problem.hessian_rows * n + problem.hessian_columns
        self.rows = [_ints(block.rows) for block in problem.blocks]
        self.columns = [[_ints(column) for column in _columns_of(block)] for block in problem.blocks]
        self.places = [
            (_jacobian_places(block, jacobian_key, n), _hessian_places(block, hessian_key, n))
            for block in problem.blocks
        ]


_patterns: weakref.WeakKeyDictionary[Problem, _Pattern] = weakref.WeakKeyDictionary()
"""One per problem, however many evaluators it has."""


def _ints(values: IntArray) -> NDArray[np.intc]:
    return np.ascontiguousarray(values, dtype=np.intc)


def _jacobian_places(block: Block, key: IntArray, n: int) -> NDArray[np.intc]:
    """Element by element, for every function and every column on which it depends: its place among the sorted keys, or
    its column if the row is the objective."""
    places = [
        np.where(block.rows[k] == OBJECTIVE, column, np.searchsorted(key, block.rows[k] * n + column))
        for k, local in zip(*np.nonzero(block.depends), strict=True)
        for column, _ in block.locals[local]
    ]
    return _ints(np.stack(places, axis=1))


def _hessian_places(block: Block, key: IntArray, n: int) -> NDArray[np.intc]:
    """Element by element, for every pair of locals and the columns of both: its place in the lower triangle."""
    places = [
        np.searchsorted(key, np.maximum(one, two) * n + np.minimum(one, two))
        for first, second in block.pairs
        for i, (one, _) in enumerate(block.locals[first])
        for j, (two, _) in enumerate(block.locals[second])
        if first != second or j <= i
    ]
    return _ints(np.stack(places, axis=1))


def _in_c(compiled: CDLL, evaluator: Evaluator) -> Functions:
    problem = evaluator.problem
    pattern = _patterns.get(problem)
    if pattern is None:
        pattern = _patterns[problem] = _Pattern(problem)
    numbers = [
        [_full(one, block.size) for one in block.numbers(given)]
        for block, given in zip(problem.blocks, evaluator.numbers, strict=True)
    ]
    tables = [(_addresses(columns), _addresses(own)) for columns, own in zip(pattern.columns, numbers, strict=True)]
    blocks = (_Block * len(problem.blocks))(
        *(
            _Block(
                block.kind, block.size, len(block.rows), len(block.locals), len(own),
                rows.ctypes.data, addressof(table[0]), addressof(table[1]), *(one.ctypes.data for one in places),
            )
            for block, own, rows, table, places in zip(
                problem.blocks, numbers, pattern.rows, tables, pattern.places, strict=True
            )
        )
    )  # fmt: skip
    arrays: list[NDArray[Any]] = [*pattern.linear, *pattern.gradient, *pattern.constants]
    arrays += [*pattern.jacobian, *pattern.hessian]
    program = _Program(
        problem.n_variable, problem.n_constraint, len(blocks), len(pattern.linear[0]), len(pattern.gradient[0]),
        len(pattern.constants[0]), len(pattern.jacobian[0]), len(pattern.hessian[0]), problem.constant,
        addressof(blocks),
        *(array.ctypes.data for array in arrays),
    )  # fmt: skip
    handle = _declared(compiled).gv_evaluator_new(byref(program))
    if not handle:
        raise MemoryError(f"no memory for the derivatives of {problem.n_variable} variables")
    structure = GvFunctions()
    compiled.gv_evaluator_functions(handle, byref(structure))
    functions = Functions(structure, (problem, pattern, numbers, tables, blocks), native=True)
    weakref.finalize(functions, compiled.gv_evaluator_free, handle)
    return functions


@lru_cache
def _declared(compiled: CDLL) -> CDLL:
    """The library with the signatures of its functions."""
    compiled.gv_evaluator_new.argtypes, compiled.gv_evaluator_new.restype = [c_void_p], c_void_p
    compiled.gv_evaluator_free.argtypes, compiled.gv_evaluator_free.restype = [c_void_p], None
    compiled.gv_evaluator_functions.argtypes, compiled.gv_evaluator_functions.restype = [c_void_p, c_void_p], None
    return compiled


def _full(values: Any, size: int) -> FloatArray:
    """One number per element; the array itself where it is that already."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float64), (size,)))


def _addresses(arrays: Sequence[NDArray[Any]]) -> Array[c_void_p]:
    return (c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def called_back(evaluator: Evaluator) -> Functions:
    """The same functions from NumPy's evaluator, for what C does not know."""
    problem = evaluator.problem
    n, m = problem.n_variable, problem.n_constraint
    pattern = tuple(
        _ints(one)
        for one in (problem.jacobian_rows, problem.jacobian_columns, problem.hessian_rows, problem.hessian_columns)
    )

    def values(_: Any, x: int, objective: int, rows: int) -> None:
        evaluator.move(_array(x, n))
        _array(objective, 1)[0] = evaluator.objective()
        _array(rows, m)[:] = evaluator.constraints()

    def gradients(_: Any, gradient: int, jacobian: int) -> None:
        evaluator.objective_gradient(_array(gradient, n))
        _array(jacobian, len(pattern[0]))[:] = evaluator.jacobian()

    def hessian(_: Any, objective_factor: float, multipliers: int, out: int) -> None:
        _array(out, len(pattern[2]))[:] = evaluator.hessian(objective_factor, _array(multipliers, m))

    structure = GvFunctions(
        None, n, m, len(pattern[0]), len(pattern[2]), *(array.ctypes.data for array in pattern),
    )  # fmt: skip
    functions = Functions(structure, (evaluator, pattern), native=False)
    holder = weakref.ref(functions)  # no cycle: the functions go with the last who holds them

    def guarded(function: Callable[..., None]) -> Callable[..., int]:
        """An exception cannot pass through C: keep it, and say stop."""

        def call(*arguments: Any) -> int:
            try:
                function(*arguments)
            except BaseException as error:  # noqa: BLE001 - raised again by `check`, KeyboardInterrupt too
                owner = holder()
                if owner is not None:
                    owner.error = error
                return 1
            return 0

        return call

    structure.values = _VALUES(guarded(values))
    structure.gradients = _GRADIENTS(guarded(gradients))
    structure.hessian = _HESSIAN(guarded(hessian))
    return functions


def _array(address: int | None, size: int) -> FloatArray:
    """C's memory as an array; there is none where its size is 0."""
    if not size:
        return np.empty(0)
    return np.frombuffer(memoryview((c_double * size).from_address(address or 0)))
