"""The sparse factorisation in C against NumPy and SciPy: solutions, inertia, what is zero, what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import splu

from gridveil.arrays import FloatArray
from gridveil.nlp.native.library import load, why_absent

from .factor import (
    BAD_PATTERN,
    NOT_FINITE,
    OK,
    SINGULAR,
    Entries,
    Factor,
    Refused,
    backward_error,
    kkt,
    negative_eigenvalues,
    of_dense,
    opf_kkt,
)

if load() is None:
    pytest.skip(f"the compiled library is not there: {why_absent()}", allow_module_level=True)

EXACT = 1e-9
"""Backward error of a solution that is not refined, of matrices of order a few hundred; refined ones have 1e-15."""


def check(matrix: Entries, negative: int | None = None, threshold: float = 1e-8, seed: int = 0) -> Factor:
    """Solve with it, refined and not; its inertia is the one that is given, or else NumPy's."""
    whole, random = matrix.sparse(), np.random.default_rng(seed)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    assert factor.factor(matrix.value, threshold) == OK
    assert factor.zero == 0
    expected = negative_eigenvalues(matrix.dense()) if negative is None else negative
    if expected is not None:
        assert factor.negative == expected
    for b in (random.normal(size=matrix.n), whole @ random.normal(size=matrix.n)):
        assert backward_error(whole, factor.solve(b), b) <= EXACT
        x, left = factor.refine(matrix.value, b, 5)
        assert backward_error(whole, x, b) <= 1e-14
        size = abs(whole).sum(axis=1).max() * np.abs(x).max() if matrix.n else 0.0
        assert left == pytest.approx(np.abs(b - whole @ x).max(initial=0.0), abs=1e-14 * size)
    return factor


# ---- kinds of matrices ----


@pytest.mark.parametrize("seed", range(40))
def test_quasi_definite(seed: int) -> None:
    """Any order of pivots does, and inertia is known."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 60)), int(random.integers(0, 40))
    density = float(random.choice([0.02, 0.1, 0.5]))
    matrix = kkt(random, max(n, m), m, soft=10.0 ** random.uniform(-3, 1), density=density)
    factor = check(matrix.scattered(random), negative=m)
    assert factor.entries >= factor.analysed >= matrix.n


@pytest.mark.parametrize("seed", range(60))
def test_rows_with_zeros_on_the_diagonal(seed: int) -> None:
    """With a Hessian that is definite there is one negative eigenvalue to a row; with another, NumPy counts."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 60))
    m, definite = int(random.integers(0, n + 1)), bool(seed % 2)
    matrix = kkt(random, n, m, definite=definite, density=float(random.choice([0.03, 0.1, 0.4])))
    if not definite:
        matrix = of_dense(matrix.dense() + np.diag(np.r_[random.normal(0.0, 0.1, n), np.zeros(m)]))
    check(matrix.scattered(random), negative=m if definite else None)


@pytest.mark.parametrize("seed", range(40))
def test_dense_and_sparse_indefinite(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 90))
    whole = np.where(random.random((n, n)) < (0.05, 0.2, 1.0)[seed % 3], random.normal(size=(n, n)), 0.0)
    whole = whole + whole.T + np.diag(random.normal(0.0, 1e-3, n))
    check(of_dense(whole).scattered(random))


@pytest.mark.parametrize("seed", range(40))
def test_badly_scaled(seed: int) -> None:
    """Rows and columns scaled by 1e-6 to 1e6 have the same inertia; entries go from 1e-12 to 1e12."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(5, 50)), int(random.integers(1, 5))
    matrix = kkt(random, n, m, soft=1.0 if seed % 2 else 0.0).scattered(random)
    scale = 10.0 ** random.uniform(-6, 6, matrix.n)
    matrix.value = matrix.value * scale[matrix.row] * scale[matrix.column]
    whole, b = matrix.sparse(), random.normal(size=matrix.n)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    assert factor.factor(matrix.value) == OK
    assert factor.negative == m
    assert backward_error(whole, factor.refine(matrix.value, b, 5)[0], b) <= 1e-14
    assert backward_error(whole, factor.solve(b), b) <= 1e-10


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e-12, 1e12, 1e30, 1e150])
def test_a_matrix_of_any_size(size: float) -> None:
    random = np.random.default_rng(3)
    matrix = kkt(random, 20, 8).scattered(random)
    matrix.value = size * matrix.value
    check(matrix, negative=8)


@pytest.mark.parametrize(
    ("name", "seeds"), [("case14_ieee", range(6)), ("case39_epri", range(3)), ("case118_ieee", range(1))]
)
def test_steps_of_ac_opfs(name: str, seeds: range) -> None:
    """Their Newton systems far from a solution, whose Hessian is indefinite, with barriers from 1e-4 to 1e4."""
    for seed in seeds:
        matrix, _ = opf_kkt(name, seed)
        factor = check(matrix, seed=seed)
        b = np.random.default_rng(seed).normal(size=matrix.n)
        x, expected = factor.refine(matrix.value, b, 5)[0], splu(matrix.sparse()).solve(b)
        assert x == pytest.approx(expected, rel=1e-6, abs=1e-7 * np.abs(expected).max())


def test_a_step_of_an_ac_opf_is_sparse() -> None:
    """Its factor has a few times its entries, not the half of its square."""
    matrix, _ = opf_kkt("case118_ieee", 0)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    assert factor.factor(matrix.value) == OK
    assert factor.entries < 12 * len(matrix.value) < matrix.n**2 / 10


# ---- shapes ----


def test_nothing_at_all() -> None:
    factor = Factor(0, [], [])
    assert factor.factor([]) == OK
    assert (factor.negative, factor.zero, factor.delayed, factor.entries) == (0, 0, 0, 0)
    assert factor.solve(np.zeros(0)).shape == (0,)
    assert factor.refine(np.zeros(0), np.zeros(0), 3)[1] == 0.0


@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_no_entries(n: int) -> None:
    """All is zero, and so is every solution."""
    factor = Factor(n, [], [])
    assert factor.factor([]) == SINGULAR
    assert (factor.negative, factor.zero) == (0, n)
    assert factor.solve(np.ones(n)).tolist() == [0.0] * n


@pytest.mark.parametrize(("value", "negative"), [(2.0, 0), (-4.0, 1), (1e-300, 0), (-1e300, 1)])
def test_one_by_one(value: float, negative: int) -> None:
    factor = Factor(1, [0], [0])
    assert factor.factor([value]) == OK
    assert factor.negative == negative
    assert factor.solve(np.array([3.0]))[0] == pytest.approx(3.0 / value, rel=1e-15)


def test_one_by_one_that_is_zero() -> None:
    factor = Factor(1, [0], [0])
    assert factor.factor([0.0]) == SINGULAR
    assert factor.zero == 1
    assert factor.solve(np.array([3.0]))[0] == 0.0


def test_two_by_two_without_a_diagonal() -> None:
    for row, column in ((0, 1), (1, 0)):
        factor = Factor(2, [row], [column])
        assert factor.factor([4.0]) == OK
        assert factor.negative == 1
        assert factor.solve(np.array([8.0, 12.0])).tolist() == [3.0, 2.0]


@pytest.mark.parametrize("seed", range(5))
def test_diagonal(seed: int) -> None:
    random = np.random.default_rng(seed)
    value = random.choice([-1.0, 1.0], 80) * 10.0 ** random.uniform(-9, 9, 80)
    factor = Factor(80, np.arange(80), np.arange(80))
    assert factor.factor(value) == OK
    assert factor.negative == (value < 0).sum()
    assert factor.entries == 80
    assert factor.solve(np.ones(80)) == pytest.approx(1.0 / value, rel=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_dense_rows(seed: int) -> None:
    """Arrows: a few rows of the whole, with and without a diagonal of their own."""
    random = np.random.default_rng(seed)
    n, heads = 400, 1 + seed % 3
    whole = np.diag(random.choice([-1.0, 1.0], n) * random.uniform(1.0, 2.0, n))
    whole[:heads] = random.normal(size=(heads, n))
    whole[:, :heads] = whole[:heads].T
    whole[:heads, :heads] = np.diag(np.full(heads, 10.0)) if seed < 3 else 0.0
    check(of_dense(whole).scattered(random))


@pytest.mark.parametrize("seed", range(10))
def test_disconnected_blocks(seed: int) -> None:
    """Inertia adds up, and the solution of a block is its own, to the last bit."""
    random = np.random.default_rng(seed)
    parts = [
        kkt(random, int(random.integers(1, 9)), 1 + k % 2) if k % 3 else of_dense(np.array([[-1.0 - k]]))
        for k in range(9)
    ]
    starts = np.cumsum([0, *(part.n for part in parts)])
    together = Entries(
        int(starts[-1]), *(np.concatenate([getattr(part, name) + (at if name != "value" else 0)
        for at, part in zip(starts[:-1], parts, strict=True)]) for name in ("row", "column", "value"))
    )  # fmt: skip
    whole = check(together)
    alone = [check(part) for part in parts]
    assert whole.negative == sum(one.negative for one in alone)
    b = random.normal(size=together.n)
    x = whole.solve(b)
    b[starts[3] : starts[4]] += 1.0
    moved = np.flatnonzero(whole.solve(b) != x)
    assert starts[3] <= moved.min() and moved.max() < starts[4]


def test_a_chain_and_a_star_are_eliminated_without_filling() -> None:
    n = 2000
    chain = Entries(n, np.r_[:n, 1:n], np.r_[:n, : n - 1], np.r_[np.full(n, 2.5), -np.ones(n - 1)])
    star = Entries(
        n, np.r_[:n, 1:n], np.r_[:n, np.zeros(n - 1, np.int64)], np.r_[np.full(n, 2.5), 0.01 * np.ones(n - 1)]
    )
    for matrix in (chain, star):
        factor = check(matrix, negative=0)
        assert factor.delayed == 0
        assert factor.analysed < 5 * n


# ---- pivots that are put off ----


@pytest.mark.parametrize("seed", range(20))
def test_many_zeros_on_the_diagonal(seed: int) -> None:
    """No diagonal at all, or a tenth of one: a zero meets zeros, and waits for a later front."""
    random = np.random.default_rng(seed)
    n = 2 * int(random.integers(3, 60))
    whole = np.where(random.random((n, n)) < 3.0 / n, random.normal(size=(n, n)), 0.0)
    pairs = random.permutation(n).reshape(2, n // 2)
    whole[pairs[0], pairs[1]] += 3.0
    whole = whole + whole.T
    np.fill_diagonal(whole, np.where(random.random(n) < 0.1 * (seed % 2), 1.0, 0.0))
    if np.linalg.cond(whole) > 1e8:
        pytest.skip("it is nearly singular")
    check(of_dense(whole).scattered(random))


def test_values_for_which_the_order_was_not_made() -> None:
    """The first values choose the order; later ones with zeros where there were none put pivots off, and are solved."""
    random = np.random.default_rng(5)
    delayed = 0
    for n in (10, 40, 120):
        pattern = kkt(random, n, n // 2, soft=1.0, density=3.0 / n)
        factor = Factor(pattern.n, pattern.row, pattern.column)
        assert factor.factor(pattern.value) == OK
        assert factor.delayed == 0
        for _ in range(6):
            value = random.normal(size=len(pattern.value))
            value[(pattern.row == pattern.column) & (random.random(len(value)) < 0.9)] = 0.0
            again = Entries(pattern.n, pattern.row, pattern.column, value)
            status, expected = factor.factor(value), negative_eigenvalues(again.dense())
            if expected is None:
                continue
            assert (status, factor.negative, factor.zero) == (OK, expected, 0)
            b = random.normal(size=again.n)
            assert backward_error(again.sparse(), factor.refine(value, b, 5)[0], b) <= 1e-14
            delayed += factor.delayed
    assert delayed > 50


@pytest.mark.parametrize("threshold", [0.0, 1e-8, 0.01, 0.1, 0.5])
def test_thresholds(threshold: float) -> None:
    random = np.random.default_rng(11)
    for _ in range(5):
        check(kkt(random, 30, 15, definite=False, density=0.2).scattered(random), threshold=threshold)


# ---- what is singular ----


@pytest.mark.parametrize("seed", range(20))
def test_columns_without_entries_are_zero_pivots(seed: int) -> None:
    """... which are skipped: the rest is solved as if they were not there."""
    random = np.random.default_rng(seed)
    part, empty = kkt(random, 20, 6).scattered(random), int(random.integers(1, 6))
    name = random.permutation(part.n + empty)[: part.n]
    matrix = Entries(part.n + empty, name[part.row], name[part.column], part.value)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    assert factor.factor(matrix.value) == SINGULAR
    assert (factor.negative, factor.zero) == (6, empty)
    b = random.normal(size=matrix.n)
    x, rest = factor.solve(b), np.setdiff1d(np.arange(matrix.n), name)
    assert x[rest].tolist() == [0.0] * empty
    assert backward_error(part.sparse(), x[name], b[name]) <= EXACT


@pytest.mark.parametrize("seed", range(20))
def test_rows_twice_are_zero_pivots(seed: int) -> None:
    """Rank is known, and in powers of two nothing is rounded: a unit matrix with k rows, some of them again."""
    random = np.random.default_rng(seed)
    n, m, again = 24, 6, 1 + seed % 4
    J = np.zeros((m + again, n))
    for k in range(m):
        J[k, 4 * k : 4 * k + 4] = random.choice([-1.0, 1.0], 4)
    J[m:] = J[:again] * random.choice([-2.0, 1.0, 2.0], again)[:, None]
    whole = np.zeros((n + m + again,) * 2)
    whole[:n, :n], whole[n:, :n] = np.eye(n), J
    matrix = of_dense(whole).scattered(random)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    assert factor.factor(matrix.value) == SINGULAR
    assert (factor.negative, factor.zero) == (m, again)
    b = matrix.sparse() @ random.integers(-4, 5, matrix.n).astype(float)
    assert backward_error(matrix.sparse(), factor.solve(b), b) <= EXACT


@pytest.mark.parametrize("n", [2, 5, 30, 100])
def test_matrices_of_rank_one(n: int) -> None:
    sign = np.random.default_rng(n).choice([-1.0, 1.0], n)
    for size, negative in ((1.0, 0), (-4.0, 1)):
        matrix = of_dense(size * np.outer(sign, sign))
        factor = Factor(n, matrix.row, matrix.column)
        assert factor.factor(matrix.value) == SINGULAR
        assert (factor.negative, factor.zero) == (negative, n - 1)
        x = factor.solve(size * sign)
        assert matrix.dense() @ x == pytest.approx(size * sign)


def test_singular_and_regular_values_by_turns() -> None:
    random = np.random.default_rng(9)
    matrix = kkt(random, 20, 5)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    b = random.normal(size=matrix.n)
    for _ in range(3):
        assert factor.factor(0.0 * matrix.value) == SINGULAR
        assert (factor.negative, factor.zero) == (0, matrix.n)
        assert factor.factor(matrix.value) == OK
        assert (factor.negative, factor.zero) == (5, 0)
        assert backward_error(matrix.sparse(), factor.refine(matrix.value, b, 4)[0], b) <= 1e-14


# ---- the same pattern again ----


@pytest.mark.parametrize("seed", range(8))
def test_new_values_of_a_pattern(seed: int) -> None:
    """As good as from the beginning; and the first values again give the same bits."""
    random = np.random.default_rng(seed)
    matrix = kkt(random, 40, 15, definite=False).scattered(random)
    factor = Factor(matrix.n, matrix.row, matrix.column)
    b = random.normal(size=matrix.n)
    assert factor.factor(matrix.value) == OK
    first = factor.solve(b)
    for _ in range(5):
        other = Entries(matrix.n, matrix.row, matrix.column, matrix.value * random.uniform(0.5, 2.0, len(matrix.value)))
        assert factor.factor(other.value) == OK
        assert factor.negative == negative_eigenvalues(other.dense())
        assert backward_error(other.sparse(), factor.solve(b), b) <= EXACT
    assert factor.factor(matrix.value) == OK
    assert factor.solve(b).tobytes() == first.tobytes()


def test_refinement_makes_a_loose_factor_exact() -> None:
    """Where pivots of no size at all are taken, a refined solution is better, and never worse."""
    random = np.random.default_rng(2)
    better = 0
    for _ in range(10):
        whole = random.normal(size=(60, 60)) * (random.random((60, 60)) < 0.1)
        whole = whole + whole.T + np.diag(10.0 ** random.uniform(-9, -5, 60))
        matrix, b = of_dense(whole), random.normal(size=60)
        factor = Factor(60, matrix.row, matrix.column)
        assert factor.factor(matrix.value, 0.0) == OK
        sizes = [factor.refine(matrix.value, b, steps)[1] for steps in range(5)]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] == pytest.approx(np.abs(b - whole @ factor.solve(b)).max(), rel=0.1, abs=1e-15)
        better += sizes[-1] < sizes[0]
    assert better >= 3


# ---- what is refused ----


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, -1])
def test_values_that_are_no_numbers(bad: float, place: int) -> None:
    """At the first factorisation and at a later one; good values do afterwards."""
    matrix = kkt(np.random.default_rng(1), 10, 3)
    wrong = matrix.value.copy()
    wrong[place] = bad
    factor = Factor(matrix.n, matrix.row, matrix.column)
    for _ in range(2):
        assert factor.factor(wrong) == NOT_FINITE
        assert factor.factor(matrix.value) == OK
        assert factor.negative == 3


@pytest.mark.parametrize(("row", "column"), [(-1, 0), (0, -1), (3, 0), (0, 3), (2**31 - 1, 0), (0, -(2**31))])
def test_indices_out_of_range(row: int, column: int) -> None:
    with pytest.raises(Refused) as caught:
        Factor(3, [0, 1, row], [0, 0, column])
    assert caught.value.args == (BAD_PATTERN,)


def test_sizes_that_are_none() -> None:
    for n in (-1, -(2**31)):
        with pytest.raises(Refused, match=str(BAD_PATTERN)):
            Factor(n, [], [])
    with pytest.raises(Refused, match=str(BAD_PATTERN)):
        Factor(0, [0], [0])


# ---- any pattern ----


@st.composite
def patterns(draw: st.DrawFn) -> tuple[Entries, list[FloatArray]]:
    """A few whole numbers anywhere, in any order, some places several times; and other numbers for the same places."""
    n = draw(st.integers(1, 14))
    index = st.integers(0, n - 1)
    places = draw(st.lists(st.tuples(index, index), max_size=40))
    numbers = st.lists(st.sampled_from([-3, -2, -1, 0, 1, 2, 4]), min_size=len(places), max_size=len(places))
    row, column = (np.array([one[k] for one in places], dtype=np.int64) for k in (0, 1))
    first, *others = (np.array(draw(numbers), dtype=np.float64) for _ in range(3))
    return Entries(n, row, column, first), others


@given(patterns(), st.sampled_from([0.0, 1e-8, 0.01, 0.5]))
@settings(max_examples=400)
def test_any_pattern(drawn: tuple[Entries, list[FloatArray]], threshold: float) -> None:
    """Inertia and solutions where NumPy can tell; of a singular matrix, a solution of what has one."""
    matrix, others = drawn
    factor = Factor(matrix.n, matrix.row, matrix.column)
    for value in (matrix.value, *others):
        now = Entries(matrix.n, matrix.row, matrix.column, value)
        whole, random = now.dense(), np.random.default_rng(0)
        status, eigenvalues = factor.factor(value, threshold), np.linalg.eigvalsh(whole)
        least = 1e-9 * max(1.0, np.abs(eigenvalues).max())
        rank, negative = int((np.abs(eigenvalues) > least).sum()), int((eigenvalues < -least).sum())
        assert status in (OK, SINGULAR)
        assert (status == SINGULAR) == (factor.zero > 0)
        assert factor.zero <= matrix.n - rank
        assert negative <= factor.negative <= negative + matrix.n - rank - factor.zero
        b = whole @ random.integers(-3, 4, matrix.n)
        x = factor.solve(b)
        assert np.all(np.isfinite(x))
        if rank == matrix.n:
            assert backward_error(now.sparse(), factor.refine(value, b, 3)[0], b) <= 1e-14


# ---- threads ----


def test_threads_with_objects_of_their_own_get_the_same_bits() -> None:
    """C runs while other threads do, for ctypes lets go of the interpreter."""
    matrices = [opf_kkt("case39_epri", seed)[0] for seed in range(2)] + [
        kkt(np.random.default_rng(seed), 120, 60, definite=False) for seed in range(4)
    ]

    def work(matrix: Entries) -> tuple[bytes, int, int]:
        factor, random = Factor(matrix.n, matrix.row, matrix.column), np.random.default_rng(0)
        found = b""
        for _ in range(3):
            value = matrix.value * random.uniform(0.9, 1.1, len(matrix.value))
            assert factor.factor(value) == OK
            found += factor.refine(value, random.normal(size=matrix.n), 2)[0].tobytes()
        return found, factor.negative, factor.delayed

    alone = [work(matrix) for matrix in matrices]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(work, matrices * 4)) == alone * 4
