"""The interior point of native/ipm.c once more, in NumPy: slow, dense, and short enough to be compared with the paper.

    minimise f(x)   subject to   g(x) − s = 0,   bounds on w = (x, s)

Wächter and Biegler, Math. Programming 106 (2006) 25-57; equations (n) are theirs. It has no restoration: where none of
its steps helps it says so. Nothing is condensed but the slacks, and the inertia is LAPACK's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log10

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.linalg.lapack import dsytrf, dsytrf_lwork

from gridveil.arrays import BoolArray, FloatArray
from gridveil.nlp.problem import Evaluator
from gridveil.nlp.solver import Bounds, Start

NONE, RELAXED, DAMPED, EPS = 1e19, 1e-8, 1e-5, float(np.finfo(float).eps)
VIOLATION, ACCEPTABLE, PUSH, WARM_PUSH, KNOWN_PUSH = 1e-6, 1e-6, 1e-2, 1e-6, 1e-9


class NeedsRestoration(Exception):
    """No step helps."""


class NotFinite(Exception):
    """A function or derivative at a point that is needed."""


@dataclass(frozen=True)
class End:
    """How it ended; multipliers as those of `Outcome`."""

    status: str
    x: FloatArray
    objective: float
    rows: FloatArray
    lower: FloatArray
    upper: FloatArray
    iterations: int
    corrected: int
    second_order: int


@dataclass
class Point:
    """w and what is known there."""

    w: FloatArray
    f: float
    g: FloatArray
    theta: float = 0.0
    phi: float = 0.0


@dataclass(frozen=True)
class Step:
    """Of everything."""

    w: FloatArray
    y: FloatArray
    lower: FloatArray
    upper: FloatArray


def minimise(
    evaluator: Evaluator, bounds: Bounds, start: Start, tolerance: float = 1e-7, max_iterations: int = 500
) -> End:
    """Minimise from one start."""
    with np.errstate(all="ignore"):
        return _Solve(evaluator, bounds, start, tolerance).run(max_iterations)


def _negative(matrix: FloatArray) -> int | None:
    """How many eigenvalues are negative, by LAPACK's L·D·Lᵀ with blocks of order 1 and 2; None if one is zero."""
    factor, pivot, _ = dsytrf(matrix, lower=1, lwork=int(dsytrf_lwork(len(matrix), lower=1)[0]))
    diagonal, below = np.diag(factor), np.diag(factor, -1)
    second = np.zeros(len(pivot), dtype=bool)  # of a block of order 2
    for k in np.flatnonzero(pivot < 0):
        second[k] = k > 0 and pivot[k - 1] < 0 and not second[k - 1]
    (two,) = np.nonzero(second)
    determinant = diagonal[two - 1] * diagonal[two] - below[two - 1] ** 2
    one = diagonal[pivot > 0]
    if np.any(np.abs(one) <= 1e-20) or np.any(determinant == 0):
        return None
    of_two = np.where(determinant < 0, 1, np.where(diagonal[two] < 0, 2, 0))
    return int((one < 0).sum() + of_two.sum())


class _Solve:
    def __init__(self, evaluator: Evaluator, bounds: Bounds, start: Start, tolerance: float) -> None:
        self.evaluator, self.problem, self.tolerance = evaluator, evaluator.problem, tolerance
        self.n, self.m = self.problem.n_variable, self.problem.n_constraint
        self.x, self.s = slice(0, self.n), slice(self.n, None)
        self.mu, self.tau, self.least_mu = start.mu, 0.0, min(tolerance, 1e-4) / 11.0
        self.shift = 0.0
        self.filter: list[tuple[float, float]] = []
        self.corrected = self.second_order = self.tiny_steps = 0
        self._scale(start.x)
        self._bound(bounds)
        self._begin(bounds, start)

    # ---- the problem, scaled ----

    def _scale(self, x: FloatArray) -> None:
        """No gradient at the start is larger than 100."""
        self.row_scale, self.objective_scale = np.ones(self.m), 1.0
        self._values(x)
        gradient, jacobian = self._derivatives(x)
        largest = np.abs(jacobian).max(axis=1, initial=0.0)
        self.row_scale = np.where(largest > 100, np.maximum(1e-8, 100 / np.maximum(largest, 1e-300)), 1.0)
        size = np.abs(gradient).max(initial=0.0)
        self.objective_scale = max(1e-8, 100 / size) if size > 100 else 1.0

    def _bound(self, bounds: Bounds) -> None:
        """Bounds of w, relaxed a little; equalities and fixed variables stand still."""
        scale = np.concatenate([np.ones(self.n), self.row_scale])
        lower, upper = (
            np.concatenate(pair) for pair in ((bounds.x_lower, bounds.row_lower), (bounds.x_upper, bounds.row_upper))
        )
        self.fixed: BoolArray = lower == upper
        l = np.where(lower > -NONE, lower * scale, -np.inf)  # noqa: E741 - theirs
        u = np.where(upper < NONE, upper * scale, np.inf)
        self.has_lower, self.has_upper = np.isfinite(l) & ~self.fixed, np.isfinite(u) & ~self.fixed
        room = [np.minimum(VIOLATION * scale, RELAXED * np.maximum(1.0, np.abs(one))) for one in (l, u)]
        self.l, self.u = np.where(self.has_lower, l - room[0], l), np.where(self.has_upper, u + room[1], u)
        self.damping = np.where(self.fixed, 0.0, 1.0 * self.has_lower - 1.0 * self.has_upper)
        self.equal = self.fixed[self.s]
        self.free = ~self.equal & ~self.has_lower[self.s] & ~self.has_upper[self.s]
        self.slack = ~self.equal & ~self.free

    def _values(self, x: FloatArray) -> tuple[float, FloatArray]:
        self.evaluator.move(x)
        return self.objective_scale * self.evaluator.objective(), self.row_scale * self.evaluator.constraints()

    def _derivatives(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        self.evaluator.move(x)
        gradient, jacobian = np.empty(self.n), np.zeros((self.m, self.n))
        self.evaluator.objective_gradient(gradient)
        jacobian[self.problem.jacobian_rows, self.problem.jacobian_columns] = self.evaluator.jacobian()
        if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(jacobian))):
            raise NotFinite
        return self.objective_scale * gradient, self.row_scale[:, None] * jacobian

    def _hessian(self) -> FloatArray:
        entries = self.evaluator.hessian(self.objective_scale, self.y * self.row_scale)
        if not np.all(np.isfinite(entries)):
            raise NotFinite
        lower = np.zeros((self.n, self.n))
        lower[self.problem.hessian_rows, self.problem.hessian_columns] = entries
        whole: FloatArray = lower + np.tril(lower, -1).T
        return whole

    def _follow(self, w: FloatArray, g: FloatArray) -> None:
        """Slacks of rows without bounds are their rows."""
        w[self.s] = np.where(self.free, g, w[self.s])

    # ---- where it begins ----

    def _push_inside(self, w: FloatArray, push: float, part: slice) -> None:
        l, u, where = self.l[part], self.u[part], ~self.fixed[part]  # noqa: E741
        width = u - l
        from_l = np.minimum(push * np.maximum(1.0, np.abs(l)), push * width)
        from_u = np.minimum(push * np.maximum(1.0, np.abs(u)), push * width)
        inside = np.where(where & np.isfinite(l), np.maximum(w[part], l + from_l), w[part])
        w[part] = np.where(where & np.isfinite(u), np.minimum(inside, u - from_u), inside)

    def _begin(self, bounds: Bounds, start: Start) -> None:
        known = start.multipliers
        push = KNOWN_PUSH if known is not None else WARM_PUSH if start.warm else PUSH
        w = np.concatenate([np.where(self.fixed[self.x], bounds.x_lower, start.x), np.zeros(self.m)])
        self._push_inside(w, push, self.x)
        f, g = self._values(w[self.x])
        if not (isfinite(f) and np.all(np.isfinite(g))):
            raise NotFinite
        w[self.s] = np.where(self.equal, self.l[self.s], g)
        self._push_inside(w, push, self.s)
        self._follow(w, g)
        self.at = Point(w, f, g)
        self.zl, self.zu = 1.0 * self.has_lower, 1.0 * self.has_upper
        self.y = np.zeros(self.m)
        self.gradient, self.J = self._derivatives(w[self.x])
        if known is None:
            self._estimate_rows()
            return
        self.y = np.where(self.free, 0.0, known.rows * self.objective_scale / self.row_scale)
        lower = np.concatenate([np.abs(known.lower) * self.objective_scale, -self.y])
        upper = np.concatenate([np.abs(known.upper) * self.objective_scale, self.y])
        self.zl = np.where(self.has_lower, np.maximum(1e-9, lower), 0.0)
        self.zu = np.where(self.has_upper, np.maximum(1e-9, upper), 0.0)

    def _estimate_rows(self) -> None:
        """Multipliers of the rows that fit the others best, by least squares (36)."""
        ones = np.ones(self.n + self.m)
        if self._matrix(np.zeros((self.n, self.n)), ones, np.zeros(self.m)) != "right":
            return
        right = -(self.gradient - self.zl[self.x] + self.zu[self.x])
        step = self._solve(right, (self.zl - self.zu)[self.s], np.zeros(self.m))[1]
        if np.abs(step).max(initial=0.0) <= 1e3:
            self.y = step

    # ---- what is measured ----

    def _room(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distances from both bounds."""
        least = [EPS * np.maximum(1.0, np.abs(one)) for one in (self.l, self.u)]
        return np.maximum(w - self.l, least[0]), np.maximum(self.u - w, least[1])

    def _residual(self, at: Point) -> FloatArray:
        return np.where(self.free, 0.0, at.g - at.w[self.s])

    def _measure(self, at: Point) -> None:
        """Violation, and the value of the barrier function (4)."""
        below, above = self._room(at.w)
        logs = np.log(below[self.has_lower]).sum() + np.log(above[self.has_upper]).sum()
        damped = np.where(self.damping > 0, at.w - self.l, np.where(self.damping < 0, self.u - at.w, 0.0)).sum()
        at.theta = float(np.abs(self._residual(at)).sum())
        at.phi = float(at.f - self.mu * logs + DAMPED * self.mu * damped)

    def _error(self, mu: float) -> tuple[float, float]:
        """Of the optimality conditions (5), scaled; and of the dual ones, as they are."""
        at, zl, zu = self.at, self.zl, self.zu
        dual = np.where(self.fixed[self.x], 0.0, self.gradient + self.J.T @ self.y - zl[self.x] + zu[self.x])
        of_slacks = np.where(self.slack, -self.y - zl[self.s] + zu[self.s], 0.0)
        worst = max(np.abs(dual).max(initial=0.0), np.abs(of_slacks).max(initial=0.0))
        products = np.concatenate(
            [((at.w - self.l) * zl)[self.has_lower] - mu, ((self.u - at.w) * zu)[self.has_upper] - mu]
        )
        n_bounds, n_rows, of_bounds = len(products), int((~self.free).sum()), float(zl.sum() + zu.sum())
        s_d = max(100.0, (np.abs(self.y[~self.free]).sum() + of_bounds) / max(1, n_bounds + n_rows)) / 100.0
        s_c = max(100.0, of_bounds / max(1, n_bounds)) / 100.0
        primal, slack = np.abs(self._residual(at)).max(initial=0.0), np.abs(products).max(initial=0.0)
        return float(max(worst / s_d, primal, slack / s_c)), float(worst / self.objective_scale)

    # ---- the step ----

    def _matrix(self, H: FloatArray, diagonal: FloatArray, soft: FloatArray) -> str:
        """Factorise [H + D, Jᵀ; J, −1/S − E] over the variables and rows that move: `right`, `wrong` or `singular`."""
        x, rows = np.flatnonzero(~self.fixed[self.x]), np.flatnonzero(~self.free)
        S = diagonal[self.s]
        self._inverse_S = np.where(self.slack, 1.0 / np.where(self.slack, S, 1.0), 0.0)
        self._soft, self._x, self._rows = soft, x, rows
        J = self.J[np.ix_(rows, x)]
        corner = -np.diag((self._inverse_S + soft)[rows])
        self._K = np.block([[H[np.ix_(x, x)] + np.diag(diagonal[self.x][x]), J.T], [J, corner]])
        if not len(self._K):
            return "right"
        negative = _negative(self._K)
        if negative is None:
            return "singular"
        self._factor = lu_factor(self._K)
        return "right" if negative == len(rows) else "wrong"

    def _solve(self, rx: FloatArray, rs: FloatArray, ry: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(dw, dy), with ds = (rs + dy)/S eliminated."""
        right = np.concatenate([rx[self._x], (ry + np.where(self.slack, rs, 0.0) * self._inverse_S)[self._rows]])
        got = lu_solve(self._factor, right) if len(right) else right
        got += lu_solve(self._factor, right - self._K @ got) if len(right) else 0.0
        dw, dy = np.zeros(self.n + self.m), np.zeros(self.m)
        dw[self._x], dy[self._rows] = got[: len(self._x)], got[len(self._x) :]
        dw[self.s] = np.where(self.slack, (rs + dy) * self._inverse_S, 0.0)
        return dw, dy

    def _factorise(self) -> None:
        """Add to the diagonal until the inertia is that of a minimum (algorithm IC)."""
        H, shift, soft, attempt = self._hessian(), 0.0, 0.0, 0
        below, above = self._room(self.at.w)
        sigma = np.where(self.has_lower, self.zl / below, 0.0) + np.where(self.has_upper, self.zu / above, 0.0)
        while (found := self._matrix(H, sigma + shift, np.full(self.m, soft))) != "right":
            self.corrected += 1
            attempt += 1
            if found == "singular" and soft == 0.0:
                soft = 1e-8 * self.mu**0.25
                if attempt == 1:
                    continue
            if shift == 0.0:
                shift = 1e-4 if self.shift == 0.0 else max(1e-20, self.shift / 3.0)
            else:
                shift *= 100.0 if self.shift == 0.0 else 8.0
            if shift > 1e20:
                raise NeedsRestoration
        self.shift = shift or self.shift

    def _slope(self) -> FloatArray:
        """Of the barrier alone, by w."""
        below, above = self._room(self.at.w)
        slope = DAMPED * self.mu * self.damping
        return slope - np.where(self.has_lower, self.mu / below, 0.0) + np.where(self.has_upper, self.mu / above, 0.0)

    def _step(self, residual: FloatArray) -> Step:
        slope, (below, above) = self._slope(), self._room(self.at.w)
        rx = -(self.gradient + self.J.T @ self.y + slope[self.x])
        dw, dy = self._solve(rx, self.y - slope[self.s], -residual)
        lower = np.where(self.has_lower, (self.mu - self.zl * dw) / below - self.zl, 0.0)
        upper = np.where(self.has_upper, (self.mu + self.zu * dw) / above - self.zu, 0.0)
        return Step(dw, dy, lower, upper)

    def _longest(self, rooms: tuple[FloatArray, ...], steps: tuple[FloatArray, ...]) -> float:
        """Fraction to the boundary (15)."""
        limits = [
            (self.tau * room / -np.minimum(step, -1e-300)).min(where=(step < 0) & has, initial=1.0)
            for room, step, has in zip(rooms, steps, (self.has_lower, self.has_upper), strict=True)
        ]
        return float(min(limits))

    # ---- the line search ----

    def _try(self, a: float, dw: FloatArray) -> Point:
        w = self.at.w + a * dw
        trial = Point(w, *self._values(w[self.x]))
        self._follow(w, trial.g)
        self._measure(trial)
        return trial

    def _helps(self, t: Point, a: float, slope: float) -> int:
        """0 no; 1 yes, and the filter grows; 2 yes, by the objective alone."""
        at = self.at
        if not (isfinite(t.theta) and isfinite(t.phi) and isfinite(t.f)) or t.theta > 1e4 * max(1.0, self.theta_0):
            return 0
        rounding = 10.0 * EPS * abs(at.phi)
        if t.phi > at.phi and log10(t.phi - at.phi) > 5.0 + (log10(abs(at.phi)) if abs(at.phi) > 10.0 else 1.0):
            return 0
        by_objective = slope < 0.0 and a * (-slope) ** 2.3 > at.theta**1.1  # (19)
        if by_objective and at.theta <= 1e-4 * max(1.0, self.theta_0):
            kind = 2 if t.phi - at.phi <= 1e-8 * a * slope + rounding else 0  # (20)
        else:  # (18)
            kind = int(t.theta <= (1 - 1e-5) * at.theta or t.phi - at.phi <= -1e-8 * at.theta + rounding)
        return kind if all(t.theta < theta or t.phi < phi for theta, phi in self.filter) else 0

    def _shortest(self, slope: float) -> float:  # (23)
        a, theta = 1e-5, self.at.theta
        if slope < 0.0:
            a = min(a, 1e-8 * theta / -slope)
            if theta <= 1e-4 * max(1.0, self.theta_0):
                a = min(a, theta**1.1 / (-slope) ** 2.3)
        return 0.05 * a

    def _correct(self, trial: Point, longest: float, slope: float) -> tuple[Point, Step, float, int] | None:
        """Second-order corrections: steps to where the rows are at the trial point (27)."""
        before, a, residual = self.at.theta, longest, self._residual(self.at)
        for _ in range(4):
            residual = a * residual + self._residual(trial)
            step = self._step(residual)
            a = self._longest(self._room(self.at.w), (step.w, -step.w))
            trial = self._try(a, step.w)
            if kind := self._helps(trial, longest, slope):
                self.second_order += 1
                return trial, step, a, kind
            if not isfinite(trial.theta + trial.phi) or trial.theta > 0.99 * before:
                return None
            before = trial.theta
        return None

    def _search(self) -> tuple[Point, Step, float, int]:
        """A trial point that helps, the step to it, how much of it that is, and in which way it helps."""
        step = self._step(self._residual(self.at))
        slope = float(
            self.gradient @ step.w[self.x]
            + self._slope() @ np.where(np.r_[~self.fixed[self.x], self.slack], step.w, 0.0)
        )
        longest = self._longest(self._room(self.at.w), (step.w, -step.w))
        tiny = self.at.theta < 1e-4 and bool(np.all(np.abs(step.w) <= 10.0 * EPS * (1.0 + np.abs(self.at.w))))
        self.tiny_steps = self.tiny_steps + 1 if tiny else 0
        a = longest
        while True:
            trial = self._try(a, step.w)
            usable = isfinite(trial.theta + trial.phi)
            if kind := 2 if tiny and usable else self._helps(trial, a, slope):
                return trial, step, a, kind
            if a == longest and usable and trial.theta >= self.at.theta and self.m:
                corrected = self._correct(trial, longest, slope)
                if corrected is not None:
                    return corrected
            a *= 0.5
            if a < max(self._shortest(slope), 1e-16):
                raise NeedsRestoration

    # ---- the loop ----

    def _lower_barrier(self) -> None:
        while self.mu > self.least_mu and self._error(self.mu)[0] <= 10.0 * self.mu:
            self._next_barrier()
        self.tau = max(0.99, 1.0 - self.mu)

    def _next_barrier(self) -> None:
        self.mu = max(self.least_mu, min(0.2 * self.mu, self.mu**1.5))
        self.filter = []

    def _take(self, trial: Point, step: Step, a: float) -> None:
        dual = self._longest((self.zl, self.zu), (step.lower, step.upper))
        self.at = trial
        self.y = self.y + a * step.y
        below, above = self._room(trial.w)
        for z, dz, room, has in (
            (self.zl, step.lower, below, self.has_lower),
            (self.zu, step.upper, above, self.has_upper),
        ):
            new = np.maximum(np.minimum(z + dual * dz, 1e10 * self.mu / room), self.mu / (1e10 * room))  # (16)
            z[:] = np.where(has, new, 0.0)

    def run(self, most: int) -> End:
        self.theta_0, iterations, acceptable = -1.0, 0, 0
        while True:
            self.gradient, self.J = self._derivatives(self.at.w[self.x])
            error, dual = self._error(0.0)
            violated = np.abs(self._residual(self.at) / self.row_scale).max(initial=0.0) <= VIOLATION
            acceptable = acceptable + 1 if error <= ACCEPTABLE and violated else 0
            if error <= self.tolerance and violated and dual <= 1.0:
                return self._end("optimal", iterations)
            if acceptable >= 10:
                return self._end("acceptable", iterations)
            if iterations >= most:
                return self._end("iterations", iterations)
            self._lower_barrier()
            self._measure(self.at)
            if self.theta_0 < 0.0:
                self.theta_0 = self.at.theta
            self._factorise()
            trial, step, a, kind = self._search()
            if kind == 1:
                theta, phi = (1 - 1e-5) * self.at.theta, self.at.phi - 1e-8 * self.at.theta
                self.filter = [one for one in self.filter if one[0] < theta or one[1] < phi] + [(theta, phi)]
            self._take(trial, step, a)
            if self.tiny_steps > 1:
                if self.mu <= self.least_mu:
                    return self._end("acceptable" if acceptable else "stuck", iterations)
                self._next_barrier()
                self.tiny_steps = 0
            iterations += 1

    def _end(self, status: str, iterations: int) -> End:
        scale = self.objective_scale
        return End(
            status, self.at.w[self.x], self.at.f / scale, self.y * self.row_scale / scale, self.zl[self.x] / scale,
            self.zu[self.x] / scale, iterations, self.corrected, self.second_order,
        )  # fmt: skip
