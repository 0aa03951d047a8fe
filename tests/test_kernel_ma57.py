"""The factorisation under MA57's names: as Ipopt calls it, and as whoever knows its argument lists does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL, byref, c_int, c_void_p
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.nlp.native.library import load, require, why_absent
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import SolverOptions

from .factor import Entries, backward_error, kkt

if load() is None:
    pytest.skip(f"the compiled library is not there: {why_absent()}", allow_module_level=True)

NOT_FINITE, BAD_PATTERN, SINGULAR = -101, -3, 4
"""Of native/ma57.c, in INFO(1); the last one is MA57's own."""
NEEDED_REAL, NEEDED_INTEGER, DELAYED, NEGATIVE, RANK = 8, 9, 22, 23, 24
"""Places in INFO, from 0."""


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    yield
    require().gridveil_ma57_release()


# ---- called by Ipopt ----

unsanitized = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="Ipopt loads it with RTLD_DEEPBIND, where a sanitizer ends the process",
)


@unsanitized
@pytest.mark.parametrize("name", ["case3", "case5", "case14", "case30", "case39", "case57", "case118"])
def test_ipopt_takes_the_same_way_with_it_as_with_mumps(name: str) -> None:
    own, mumps = (
        gv.solve_opf(name, options=SolverOptions(solver="ipopt", linear_solver=one)) for one in ("own", "mumps")
    )
    assert own.status is mumps.status is gv.Status.OPTIMAL
    assert own.solver == "ipopt"
    assert own.cost == pytest.approx(mumps.cost, rel=1e-8)
    assert own.iterations == pytest.approx(mumps.iterations, abs=2)
    assert own.violations.largest < 1e-6


@unsanitized
def test_ipopt_finds_the_same_infeasible() -> None:
    """Twice the demand: a restoration, whose matrices are others."""
    network = gv.load("case5")
    demand = Demand(2.0 * network.grid.buses.pd, 2.0 * network.grid.buses.qd)
    ends = [
        gv.solve_opf(network, demand, options=SolverOptions(solver="ipopt", linear_solver=one, starts=1))
        for one in ("own", "mumps")
    ]  # fmt: skip
    assert ends[0].status is ends[1].status is gv.Status.INFEASIBLE
    assert ends[0].iterations == pytest.approx(ends[1].iterations, rel=0.3)


# ---- called directly ----


class Ma57:
    """The arrays that a caller of MA57 owns, as Ipopt sizes them."""

    def __init__(self, matrix: Entries) -> None:
        n, ne = matrix.n, len(matrix.row)
        self.library: CDLL = require()
        self.n, self.ne = c_int(n), c_int(ne)
        self.cntl, self.icntl = np.full(5, np.nan), np.full(20, 99, np.intc)
        self.info, self.rinfo = np.full(40, 99, np.intc), np.zeros(20)
        self.lkeep = c_int(5 * n + ne + max(n, ne) + 42)
        self.keep, self.iwork = np.full(self.lkeep.value, -1, np.intc), np.zeros(5 * n + 1, np.intc)
        self.irn, self.jcn = (np.array(one + 1, dtype=np.intc) for one in (matrix.row, matrix.column))
        self.library.ma57id_(_at(self.cntl), _at(self.icntl))

    def analyse(self) -> int:
        self.library.ma57ad_(
            byref(self.n), byref(self.ne), _at(self.irn), _at(self.jcn), byref(self.lkeep), _at(self.keep), _at(self.iwork),
            _at(self.icntl), _at(self.info), _at(self.rinfo),
        )  # fmt: skip
        return int(self.info[0])

    def factorise(self, value: FloatArray) -> int:
        self.lfact, self.lifact = c_int(int(self.info[NEEDED_REAL])), c_int(int(self.info[NEEDED_INTEGER]))
        self.fact, self.ifact = np.zeros(self.lfact.value), np.full(self.lifact.value, -1, np.intc)
        given = np.array(value, dtype=np.float64)
        self.library.ma57bd_(
            byref(self.n), byref(self.ne), _at(given), _at(self.fact), byref(self.lfact), _at(self.ifact), byref(self.lifact),
            byref(self.lkeep), _at(self.keep), _at(self.iwork), _at(self.icntl), _at(self.cntl), _at(self.info),
            _at(self.rinfo),
        )  # fmt: skip
        return int(self.info[0])

    def enlarge(self, which: int) -> int:
        """To arrays twice as long: of reals (0) or integers (1)."""
        fact, ifact = np.zeros(2 * len(self.fact)), np.full(2 * len(self.ifact), -1, np.intc)
        job, lnew, linew = c_int(which), c_int(len(fact)), c_int(len(ifact))
        self.library.ma57ed_(
            byref(self.n), byref(job), _at(self.keep), _at(self.fact), byref(self.lfact), _at(fact), byref(lnew),
            _at(self.ifact), byref(self.lifact), _at(ifact), byref(linew), _at(self.info),
        )  # fmt: skip
        if which == 0:
            self.fact = fact
        else:
            self.ifact = ifact
        return int(self.info[0])

    def solve(self, right: FloatArray) -> FloatArray:
        """Several right-hand sides, one a row."""
        x: FloatArray = np.array(right, dtype=np.float64)
        count, stride, lwork = c_int(len(x)), c_int(x.shape[1]), c_int(x.size)
        work = np.zeros(x.size)
        self.library.ma57cd_(
            byref(c_int(1)), byref(self.n), _at(self.fact), byref(self.lfact), _at(self.ifact), byref(self.lifact),
            byref(count), _at(x), byref(stride), _at(work), byref(lwork), _at(self.iwork), _at(self.icntl), _at(self.info),
        )  # fmt: skip
        return x


def _at(array: np.ndarray) -> Any:
    return array.ctypes.data_as(c_void_p)


def test_its_defaults() -> None:
    one = Ma57(kkt(np.random.default_rng(0), 3, 1))
    assert one.cntl.tolist() == [0.01, 0, 0, 0, 0]
    assert not one.icntl.any()


@pytest.mark.parametrize("seed", range(8))
def test_a_system_with_several_right_hand_sides(seed: int) -> None:
    """Analysed, factorised twice, enlarged, solved; places behind a right-hand side are left alone."""
    random = np.random.default_rng(seed)
    matrix = kkt(random, 30, 12).scattered(random)
    one = Ma57(matrix)
    one.cntl[0] = 1e-8
    assert one.analyse() == 0
    assert one.factorise(2.0 * matrix.value) == 0
    assert one.factorise(matrix.value) == 0
    assert (one.info[NEGATIVE], one.info[RANK], one.info[DELAYED] >= 0) == (12, matrix.n, True)
    if seed % 2:
        assert one.enlarge(0) == 0
        assert one.enlarge(1) == 0
    right = random.normal(size=(3, matrix.n + 5))
    x = one.solve(right)
    assert one.info[0] == 0
    assert np.array_equal(x[:, matrix.n :], right[:, matrix.n :])
    for k in range(3):
        assert backward_error(matrix.sparse(), x[k, : matrix.n], right[k, : matrix.n]) <= 1e-9


def test_singular_matrices_have_a_rank() -> None:
    part = kkt(np.random.default_rng(1), 10, 4)
    matrix = Entries(part.n + 3, part.row, part.column, part.value)
    one = Ma57(matrix)
    assert one.analyse() == 0
    assert one.factorise(matrix.value) == SINGULAR
    assert (one.info[NEGATIVE], one.info[RANK]) == (4, part.n)
    assert one.factorise(0.0 * matrix.value) == SINGULAR
    assert (one.info[NEGATIVE], one.info[RANK]) == (0, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(bad: float) -> None:
    matrix = kkt(np.random.default_rng(1), 10, 4)
    one, wrong = Ma57(matrix), matrix.value.copy()
    wrong[5] = bad
    assert one.analyse() == 0
    assert one.factorise(wrong) == NOT_FINITE
    assert one.factorise(matrix.value) == 0
    assert one.info[NEGATIVE] == 4


@pytest.mark.parametrize("index", [0, -1, 15, 2**31 - 1])
def test_indices_out_of_range(index: int) -> None:
    """They count from 1."""
    matrix = kkt(np.random.default_rng(1), 10, 4)
    for name in ("irn", "jcn"):
        one = Ma57(matrix)
        getattr(one, name)[3] = index
        assert one.analyse() == BAD_PATTERN


def test_sizes_that_are_none() -> None:
    one = Ma57(kkt(np.random.default_rng(1), 10, 4))
    one.n.value = -1
    assert one.analyse() == BAD_PATTERN
    one.n.value, one.ne.value = 14, -1
    assert one.analyse() == BAD_PATTERN


def test_nothing_at_all() -> None:
    none = np.zeros(0, np.int64)
    one = Ma57(Entries(0, none, none, np.zeros(0)))
    assert (one.analyse(), one.factorise(np.zeros(0))) == (0, 0)
    assert one.solve(np.zeros((1, 1))).tolist() == [[0.0]]


def test_what_a_thread_holds_is_given_back_by_itself() -> None:
    """Several factorisations at once, in several threads; what one gives back is not another's."""

    def work(seed: int) -> float:
        random = np.random.default_rng(seed)
        matrices = [kkt(random, 20, 8).scattered(random) for _ in range(3)]
        held = [Ma57(matrix) for matrix in matrices]
        for one, matrix in zip(held, matrices, strict=True):
            assert (one.analyse(), one.factorise(matrix.value)) == (0, 0)
        b = random.normal(size=28)
        error = max(backward_error(m.sparse(), one.solve(b[None])[0], b) for one, m in zip(held, matrices, strict=True))
        require().gridveil_ma57_release()
        require().gridveil_ma57_release()  # there is nothing any more
        return error

    one = Ma57(matrix := kkt(np.random.default_rng(0), 20, 8))
    assert (one.analyse(), one.factorise(matrix.value)) == (0, 0)
    with ThreadPoolExecutor(3) as threads:
        assert max(threads.map(work, range(9))) <= 1e-9
    b = np.ones((1, matrix.n))
    assert backward_error(matrix.sparse(), one.solve(b)[0], b[0]) <= 1e-9
