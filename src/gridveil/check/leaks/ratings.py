"""Rating provenance: published formulas make ratings from impedances, and can be read backwards.

Two formulas of public grid libraries are tried. The *bound* is the largest apparent power that voltage limits v and an
angle difference θ allow: max(v)·√(v_f² + v_t² − 2·v_f·v_t·cos θ)/|z|. It tells |z|. The *statistical* one depends on
the nominal voltage and on x/r alone. It tells x/r. Both are rounded up to the digits of the file.

Which line was rated how is not known. A recipe is a set of stories of how ratings came about. Each story of each line
is weighed by how likely it makes the rating and the *released* values, through noise of the known scale; the shares of
the stories and the prior of |z| and x/r are learnt in turn, and the recipe with the most evidence is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.check.leaks.coordinates import Seen
from gridveil.check.leaks.knowledge import LineNoise, Reader, view
from gridveil.check.leaks.posterior import Moments, Points, mixed, moments, only, total, under_prior, usual, within
from gridveil.check.leaks.prior import RATIOS, Belief, broad, public_columns, refit
from gridveil.grid import Grid, Network, is_transformer, line_levels_kv
from gridveil.grid.ratings import ANGLES, bound_size, likely_angles

ROUNDS, FIRST = 30, 6
"""Of learning; after the first few, recipes that are far behind are given up."""
MARGIN, MARGIN_PER_LINE = 50.0, 0.5
"""Evidence that later rounds may still bring: at most 0.24 per line were seen (14 to 300 buses, α = 3 to 100 %)."""
UNUSUAL = 3.0
"""Evidence that another angle than the first must have more: public libraries name 15°, and their files bear it out."""
STAT_CONSTANT, STAT_POWER, STAT_BASE = -5.0886, 0.4772, 100.0
"""The statistical rating: kV·exp(constant)·(x/r)^power, in units of 100 MVA."""
UNKNOWN_SCALES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SMOOTH = 3.0
"""Lines by which the shares of one kind lean on those of all."""


class Story(NamedTuple):
    """How a rating came about: what it says of |z| and of x/r ('free', 'limit' or 'told'), and whether it is known."""

    size: str
    ratio: str
    known: bool


class Recipe(NamedTuple):
    """How the ratings of a file were made: the stories that occur, the unknown one only if there are `others`."""

    name: str
    stories: tuple[Story, ...]
    others: bool


_UNKNOWN, _UNKNOWN_BELOW = Story("free", "free", False), Story("limit", "free", False)
_BOUND, _STATISTICAL = Story("told", "free", True), Story("free", "told", True)
_SMALLER = (Story("told", "limit", True), Story("limit", "told", True))  # the one not written is a limit still
RECIPES = (
    Recipe("bound", (_UNKNOWN, _BOUND), False),
    Recipe("bound and others below it", (_UNKNOWN_BELOW, _BOUND), True),
    Recipe("smaller of bound and statistical", (_UNKNOWN, *_SMALLER), False),
    Recipe("smaller of bound and statistical, and others below", (_UNKNOWN_BELOW, *_SMALLER), True),
    Recipe("bound, statistical and others", (_UNKNOWN, _BOUND, _STATISTICAL), True),
)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Where ln|z| and ln(x/r) of every line lie if its rating was made by the bound, by the statistical formula."""

    size: tuple[FloatArray, FloatArray]
    ratio: tuple[FloatArray, FloatArray]
    rated: BoolArray
    log_rating: FloatArray


@dataclass(frozen=True, eq=False)
class Explained:
    """What the ratings tell: points of ln|z| and ln(x/r), the share of lines that a formula explains, the evidence."""

    size: Points
    ratio: Points
    share: float
    evidence: float
    recipe: str


def quantum(rating: FloatArray) -> float:
    """The step ratings are rounded to, in MVA: the coarsest power of ten up to 1 that nine in ten are multiples of."""
    for step in (1.0, 0.1, 0.01, 0.001):
        if len(rating) and np.mean(np.abs(rating / step - np.round(rating / step)) < 1e-6) >= 0.9:
            return step
    return 1e-4


def intervals(grid: Grid, theta: FloatArray) -> Intervals:
    """Both formulas read backwards, with the rounding of the file; θ by line."""
    ends = grid.lines
    rated = np.isfinite(ends.rating) & (ends.rating > 0)
    rating = np.where(rated, ends.rating, 1.0)
    step = quantum(grid.base_mva * rating[rated]) / grid.base_mva
    low, high = np.log(np.maximum(rating - step, 0.5 * rating)), np.log(rating)
    told = np.where(rated, bound_size(grid, theta), 0.0)
    kv = np.log(np.maximum(line_levels_kv(grid), 1e-3) * STAT_BASE / grid.base_mva) + STAT_CONSTANT
    told_ratio = ((low - kv) / STAT_POWER, (high - kv) / STAT_POWER)
    return Intervals((told, told + high - low), told_ratio, rated, high)


def explain(grid: Grid, seen: Seen, noise: LineNoise) -> Explained:
    """The angle and the recipe under which ratings and released values are most likely."""
    tried = [(k, intervals(grid, theta)) for k, theta in enumerate(likely_angles(grid))]
    fits = [_begun(grid, seen, noise, told, recipe, UNUSUAL if k else 0.0) for k, told in tried for recipe in RECIPES]
    return _likeliest(fits).explained()


def likeliest_scale(network: Network) -> float:
    """The noise scale of a `log` release of which nothing was told: the one with the most evidence."""
    grid = network.grid
    told, fits = intervals(grid, np.full(grid.n_line, np.deg2rad(ANGLES[0]))), dict[float, _Fit]()
    for scale in UNKNOWN_SCALES:
        held = view(Reader(network, "log", scale))
        fits[scale] = _likeliest([_begun(grid, held.seen, held.noise, told, recipe) for recipe in RECIPES])
    return max(fits, key=lambda one: fits[one].evidence)


def explain_by(grid: Grid, seen: Seen, noise: LineNoise, told: Intervals, recipe: Recipe) -> Explained:
    """What ratings tell by one recipe."""
    return _begun(grid, seen, noise, told, recipe).improved(ROUNDS).explained()


def _likeliest(fits: list[_Fit]) -> _Fit:
    """The fit with the most evidence, learnt to its end. After a few rounds most are out of the race: what is left to
    learn then brings less evidence than they lack."""
    early = [one.improved(FIRST) for one in fits]
    enough = max(one.evidence for one in early) - (MARGIN + MARGIN_PER_LINE * len(early[0].kinds))
    late = [one.improved(ROUNDS - FIRST) for one in early if one.evidence >= enough]
    return max(late, key=lambda one: one.evidence)


def _begun(grid: Grid, seen: Seen, noise: LineNoise, told: Intervals, recipe: Recipe, unusual: float = 0.0) -> _Fit:
    """A recipe before anything is learnt from the released values."""
    kind = is_transformer(grid)
    columns = public_columns(grid, seen, rating=False)
    size, ratio = broad(seen.size, seen.share), broad(np.where(seen.has_ratio, seen.ratio, 1.0), seen.share)
    certain = Moments(told.log_rating, np.zeros(len(kind)), np.ones(len(kind)))
    rating = refit(columns, kind, seen.share * told.rated, certain)
    possible, kinds = _possible(seen, told, recipe), kind.astype(np.int64) + 2 * seen.has_ratio
    weighed = _weigh(seen, noise, told, (size, ratio, rating), recipe.stories, possible)
    return _Fit(seen, noise, told, recipe, unusual, columns, kind, kinds, certain, possible, size, ratio, weighed)


class _Fit(NamedTuple):
    """A recipe with what has been learnt of shares and priors so far."""

    seen: Seen
    noise: LineNoise
    told: Intervals
    recipe: Recipe
    unusual: float
    columns: FloatArray
    kind: BoolArray
    kinds: IntArray
    certain: Moments
    possible: FloatArray
    size: Belief
    ratio: Belief
    weighed: _Weighed

    def improved(self, rounds: int) -> _Fit:
        """The same after some rounds of learning shares and priors in turn."""
        seen, told, stories = self.seen, self.told, self.recipe.stories
        size, ratio, weighed = self.size, self.ratio, self.weighed
        for _ in range(rounds):
            shares = _shares(weighed.weight, self.kinds, seen.share, stories) * self.possible
            spread = _spread(weighed.sizes, weighed.weight, stories, "size")
            size = refit(self.columns, self.kind, seen.share, moments(spread, *size))
            moment = moments(_spread(weighed.ratios, weighed.weight, stories, "ratio"), *ratio)
            ratio = refit(self.columns, self.kind, seen.share * seen.has_ratio, moment, RATIOS)
            unknown = weighed.weight[:, 0] * seen.share * told.rated
            rating = refit(self.columns, self.kind, unknown, self.certain)
            weighed = _weigh(seen, self.noise, told, (size, ratio, rating), stories, shares)
        return self._replace(size=size, ratio=ratio, weighed=weighed)

    @property
    def evidence(self) -> float:
        """What had to be learnt of other ratings is not explained (Schwarz)."""
        learnt = self.columns.shape[1] + len(self.recipe.stories) - 1 if self.recipe.others else 0
        lines = max(float(self.seen.share.sum()), 2.0)
        return self.weighed.evidence - 0.5 * learnt * log(lines) - self.unusual

    def explained(self) -> Explained:
        """What it tells."""
        weighed, stories = self.weighed, self.recipe.stories
        explained = float(1.0 - np.average(weighed.weight[:, 0], weights=self.seen.share))
        sizes = _spread(weighed.sizes, weighed.weight, stories, "size")
        ratios = _spread(weighed.ratios, weighed.weight, stories, "ratio")
        return Explained(sizes, ratios, explained, self.evidence, self.recipe.name)


class _Weighed(NamedTuple):
    """Points of |z| and x/r by what is said of them, the weight of every story of every line, the evidence."""

    sizes: dict[str, Points]
    ratios: dict[str, Points]
    weight: FloatArray
    evidence: float


def _possible(seen: Seen, told: Intervals, recipe: Recipe) -> FloatArray:
    """1 for every story a line can have: without r none tells x/r, without a rating none is known."""
    result = np.ones((len(seen.size), len(recipe.stories)))
    for k, story in enumerate(recipe.stories):
        if story.ratio == "told":
            result[~seen.has_ratio, k] = 0.0
        result[~told.rated if story.known else told.rated & (not recipe.others), k] = 0.0
    return result


def _weigh(
    seen: Seen,
    noise: LineNoise,
    told: Intervals,
    belief: tuple[Belief, Belief, Belief],
    stories: tuple[Story, ...],
    shares: FloatArray,
) -> _Weighed:
    size, ratio, rating = belief
    free = under_prior(seen.size, noise.size, *size)
    sizes = {
        "free": free,
        "limit": only(free, (free.value <= told.size[1][:, None]) | ~told.rated[:, None]),
        "told": within(seen.size, noise.size, *size, *told.size),
    }
    free = under_prior(seen.ratio, noise.ratio, *ratio)
    ratios = {
        "free": free,
        "limit": only(free, free.value >= told.ratio[0][:, None]),
        "told": within(seen.ratio, noise.ratio, *ratio, *told.ratio),
    }
    of_size = {name: total(points) for name, points in sizes.items()}
    of_ratio = {name: np.where(seen.has_ratio, total(points), 0.0) for name, points in ratios.items()}
    # densities are those of the logarithm of the rating, of which x/r is 1/power times a function
    jacobian = -np.log(STAT_POWER)
    chance = np.where(told.rated, usual(told.log_rating - rating.mean, rating.spread, rating.tail), 0.0)
    logs = np.stack(
        [
            of_size[one.size] + of_ratio[one.ratio] + (jacobian * (one.ratio == "told") if one.known else chance)
            for one in stories
        ],
        axis=1,
    )
    with np.errstate(divide="ignore"):
        logs = np.maximum(logs + np.log(shares), -1e9)
    top = logs.max(axis=1)
    weight = np.exp(logs - top[:, None])
    whole = weight.sum(axis=1)
    return _Weighed(sizes, ratios, weight / whole[:, None], float(np.sum(seen.share * (top + np.log(whole)))))


def _shares(weight: FloatArray, kinds: IntArray, share: FloatArray, stories: tuple[Story, ...]) -> FloatArray:
    """The share of every story among lines of each kind, leaning on that among all.

    Of two stories with a limit, the values themselves say which one holds: they have one share.
    """
    overall = (share[:, None] * weight).sum(axis=0) / share.sum()
    result = np.empty_like(weight)
    tied = [one.known and "limit" in (one.size, one.ratio) for one in stories]
    for kind in np.unique(kinds):
        here = kinds == kind
        count = (share[here, None] * weight[here]).sum(axis=0) + SMOOTH * overall
        part = count / count.sum()
        part[tied] = part[tied].sum()
        result[here] = part
    return result


def _spread(parts: dict[str, Points], weight: FloatArray, stories: tuple[Story, ...], of: str) -> Points:
    """The points of all stories as one set."""
    found = []
    for name, points in parts.items():
        chosen = weight[:, [getattr(story, of) == name for story in stories]].sum(axis=1)
        with np.errstate(divide="ignore"):
            log = np.log(chosen) - np.maximum(total(points), -1e9)
        found.append((np.where(chosen > 0, log, -np.inf), points))
    return mixed(found)
