"""What shrinkage knows of lines: regressors by their definition, and impedances that ratings give away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.grid import Grid, is_transformer, line_levels_kv
from gridveil.grid.ratings import bound_size, likely_angles
from gridveil.repair.shrinkage import _regressors, read_ratings, shrink


def bent(name: str = "case30") -> Grid:
    """Three voltage levels, transformers among them, and ratings of which some are missing, zero or without end."""
    grid = gv.load(name).grid
    n = np.arange(grid.n_bus)
    kv = np.select([n < 3, n < 6, n < 20], [345.0, 230.0, 132.0], 33.0)
    rating = np.linspace(0.2, 3.0, grid.n_line)
    rating[[1, 5]], rating[9] = np.inf, 0.0
    return replace(
        grid, buses=replace(grid.buses, base_kv=kv), lines=replace(grid.lines, rating=rating, tap=np.ones(grid.n_line))
    )


@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_regressors_are_what_is_public_of_a_line(logarithm: bool, step: int) -> None:
    """One, its rating, transformer, both, no rating; then an intercept for every class of at least four lines."""
    grid = bent()
    line = np.arange(0, grid.n_line, step)
    table = _regressors(grid, line, logarithm=logarithm)
    level, transformer = line_levels_kv(grid), is_transformer(grid)
    sizes = [grid.lines.rating[k] for k in line if 0 < grid.lines.rating[k] < np.inf]
    known = np.log(sizes) if logarithm else np.array(sizes)
    classes = [
        (kv, kind)
        for kv in sorted({float(level[k]) for k in line})[:-1]
        for kind in (False, True)
        if sum(level[k] == kv and transformer[k] == kind for k in line) >= 4
    ]
    assert (345.0 not in [kv for kv, _ in classes]) and len({kv for kv, _ in classes}) >= 1  # the top is the rest
    assert len(classes) < 2 * (len({float(level[k]) for k in line}) - 1)  # some have too few lines
    for row, k in zip(table, line, strict=True):
        rating = float(grid.lines.rating[k])
        rated = 0 < rating < np.inf
        value = (np.log(rating) if logarithm else rating) if rated else 0.0
        size = (value - known.mean()) / known.std() if rated else 0.0
        one = float(transformer[k])
        own = [float(level[k] == kv and transformer[k] == kind) for kv, kind in classes]
        assert row == pytest.approx([1.0, size, one, size * one, float(not rated), *own])


def test_equal_ratings_say_nothing() -> None:
    grid = bent()
    same = replace(grid, lines=replace(grid.lines, rating=np.full(grid.n_line, 0.7)))
    table = _regressors(same, np.arange(grid.n_line), logarithm=False)
    assert np.all(np.isfinite(table)) and np.all(table[:, 1] == 0) and np.all(table[:, 4] == 0)
    nobody = replace(grid, lines=replace(grid.lines, rating=np.full(grid.n_line, np.inf)))
    table = _regressors(nobody, np.arange(grid.n_line), logarithm=True)
    assert np.all(table[:, 1] == 0) and np.all(table[:, 4] == 1)


@pytest.mark.parametrize("count", [4, 3])
def test_a_class_of_four_lines_has_an_intercept_and_one_of_three_has_none(count: int) -> None:
    grid = gv.load("case30").grid
    inside = np.zeros(grid.n_bus, bool)
    for k in range(grid.n_line):  # buses of 33 kV, until there are so many lines among them
        trial = inside.copy()
        trial[[grid.lines.bus_from[k], grid.lines.bus_to[k]]] = True
        if np.sum(trial[grid.lines.bus_from] & trial[grid.lines.bus_to]) <= count:
            inside = trial
    low = replace(
        grid,
        buses=replace(grid.buses, base_kv=np.where(inside, 33.0, 132.0)),
        lines=replace(grid.lines, tap=np.ones(grid.n_line)),
    )
    members = line_levels_kv(low) == 33.0
    assert members.sum() == count
    table = _regressors(low, np.arange(grid.n_line), logarithm=False)
    assert table.shape[1] == 5 + (count >= 4)
    if count >= 4:
        assert table[:, 5].tolist() == members.astype(float).tolist()


def test_what_is_shrunk_keeps_its_fitted_part() -> None:
    """Three regressors, 40 values: what they explain stays, the rest is drawn in by one weight, by its degrees."""
    chance = np.random.default_rng(5)
    design = np.stack([np.ones(40), chance.normal(size=40), chance.normal(size=40)], axis=1)
    values = design @ [1.0, 2.0, -3.0] + chance.laplace(size=40)
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    beyond = float(np.sum((values - fitted) ** 2)) / 37
    guess, weight = shrink(values, 0.8, design)
    assert beyond > 1.2
    assert weight == pytest.approx(np.full(40, (beyond - 0.8) / beyond))
    assert guess == pytest.approx(fitted + weight * (values - fitted))
    # as many values as eight for each regressor, and one less
    assert shrink(values[:24], 0.8, design[:24])[0] == pytest.approx(_by_hand(values[:24], 0.8, design[:24]))
    assert shrink(values[:23], 0.8, design[:23])[0] == pytest.approx(_by_hand(values[:23], 0.8, design[:23, :2]))


def _by_hand(values: FloatArray, variance: float, design: FloatArray) -> FloatArray:
    n, k = design.shape
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    spread = max(float(np.sum((values - fitted) ** 2)) / (n - k) - variance, variance * np.sqrt(5 / (n - k)) / 2)
    found: FloatArray = fitted + spread / (spread + variance) * (values - fitted)
    return found


def test_ratings_that_tell_impedances_are_read() -> None:
    """Where every rating is the bound, ln|z| is read from it and believed; where none is, nothing is."""
    grid = gv.load("case30").grid
    chance = np.random.default_rng(2)
    theta = np.full(grid.n_line, np.deg2rad(15.0))
    true = chance.normal(-1.5, 1.0, grid.n_line)
    told = bound_size(grid, theta) + np.log(grid.lines.rating)  # of a rating of one
    rating = np.exp(told - true)
    rating[4] = np.inf
    rated = replace(grid, lines=replace(grid.lines, rating=rating))
    b = 0.3
    drawn = true + chance.laplace(scale=b, size=grid.n_line)
    guess, weight = np.full(grid.n_line, drawn.mean()), np.zeros(grid.n_line)
    value, odds = read_ratings(rated, np.arange(grid.n_line), drawn, b, guess, weight)
    known = np.arange(grid.n_line) != 4
    assert value[known] == pytest.approx(true[known])
    assert odds[4] == 0 and odds[known].mean() > 0.8
    # ratings of nothing
    rated = replace(grid, lines=replace(grid.lines, rating=chance.permutation(np.where(known, rating, 1.0))))
    weight = np.full(grid.n_line, 0.9)  # lines really differ, by as much as they do
    value, odds = read_ratings(rated, np.arange(grid.n_line), drawn, b, 0.9 * drawn + 0.1 * drawn.mean(), weight)
    assert value is drawn and not np.any(odds)


def test_the_odds_of_a_rating_are_those_of_a_mixture() -> None:
    """By its definition: a share of lines is rated by the formula, with Laplace noise; the others are as guessed."""
    grid = gv.load("case30").grid
    chance = np.random.default_rng(4)
    n, b = grid.n_line, 0.2
    theta = likely_angles(grid)[0]
    true = chance.normal(-1.5, 1.0, n)
    rating = np.exp(bound_size(grid, theta) + np.log(grid.lines.rating) - true)
    rating[::3] *= np.exp(chance.normal(0, 2.0, len(rating[::3])))  # two of three are made by it
    grid = replace(grid, lines=replace(grid.lines, rating=rating))
    drawn = true + chance.laplace(scale=b, size=n)
    weight = np.full(n, 0.6)
    centre = np.full(n, -1.4)
    guess = drawn - 0.4 * (drawn - centre)
    value, odds = read_ratings(grid, np.arange(n), drawn, b, guess, weight)
    told = bound_size(grid, theta)
    spread = b * np.sqrt(2.0 / 0.4)
    normal = np.exp(-0.5 * ((drawn - centre) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    laplace = np.exp(-np.abs(drawn - told) / b) / (2 * b)
    share = 0.5
    for _ in range(15):
        chances = share * laplace / (share * laplace + (1 - share) * normal)
        share = float(chances.mean())
    assert value == pytest.approx(told)
    assert odds == pytest.approx(chances, abs=1e-9)
    assert odds[::3].mean() < 0.5 < np.delete(odds, slice(None, None, 3)).mean()
