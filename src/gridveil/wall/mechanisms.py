"""What the mechanisms say of themselves, in words and numbers that are public: for plans, manifests, `verify`, pages.

The noise itself is drawn in `sealed/mechanisms`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray
from gridveil.errors import PrivacyError
from gridveil.grid import Grid, LineKind, Structure

RELATIVE, CONDUCTANCE, SURCHARGE, TOTAL = "relative", "conductance", "surcharge", "total"
UNITS = {
    RELATIVE: "relative, of ln|z|, ln|x/r| and ln|bc/x| together",
    CONDUCTANCE: "per unit of conductance",
    SURCHARGE: "change of ln(cost/copper-plate cost)",
    TOTAL: "change of the logarithms of totals, added up",
}
"""The units in which distances are counted; losses of one unit are counted together."""
COST, TOTALS = "cost", "totals"
"""The names under which questions for the dispatch cost and for totals are charged, beside those of the mechanisms."""
JOINT = "joint"

CORRIDOR = (
    "A corridor is all parallel lines between two buses of the model, and the unit of protection: a line that the "
    "model cuts into k sections, or a three-winding transformer that it has as three lines, is k or three corridors, "
    "whose distances add."
)


@dataclass(frozen=True)
class MechanismWords:
    """A mechanism as the public knows it.

    `adjacency` says which change costs how much. `left_open` lists what of the lines it releases as it is.
    `published` is false for the bare noise of the paper's baseline, which makes no releases.
    """

    name: str
    version: int
    unit: str
    suffix: str
    adjacency: str
    left_open: tuple[str, ...] = ()
    published: bool = True

    @property
    def unit_words(self) -> str:
        return UNITS[self.unit]

    def unprotected(self, grid: Grid | Structure) -> BoolArray:
        """Lines whose series parameters are released as they are."""
        if self.unit == RELATIVE:
            return np.zeros(grid.n_line, dtype=bool)
        return np.asarray(grid.lines.kind == LineKind.NEGATIVE_RESISTANCE)

    @property
    def loss_is_public(self) -> bool:
        """Is the loss ε, whatever the network? That of `paper` depends on it."""
        return self.name != "paper"

    def line_factor(self, loss: float, epsilon: float) -> bool:
        """Is `loss` a possible loss at ε?"""
        return loss >= epsilon * (1 - 1e-9) and (not self.loss_is_public or loss <= epsilon * (1 + 1e-9))


_LOG = (
    "The distance d of two networks that differ in one corridor is the sum of the changes of ln|z|, ln|x/r| and "
    "ln|bc/x|, over its circuits; lines of one corridor with ratings within a factor of two are twins, count once, and "
    "are released equal. The lines let nobody change their odds between the two by more than exp(epsilon*d/alpha). "
    + CORRIDOR
)
_CONDUCTANCE = (
    "The distance d of two networks that differ in one corridor is the change of its conductance (of a lossless one, "
    "of its susceptance), over its circuits; lines of one corridor with ratings within a factor of two are twins, "
    "count once, and are released equal. "
)
_JOINT = (
    "An element is a corridor (all parallel lines between two buses of the model), the load of a bus, or a plant (all "
    "units of a bus; with protection.cost_classes, for costs, all units with equal curves). Its coordinates are "
    "ln|z|, ln|x/r|, ln|bc/x| and ln(rating), or ln(rating*|z|) with impedance, of its lines; ln|p| and ln|q/p| of a "
    "load; of every unit the first of pmax, pmin, qmax, qmin that it has, by ln|v|, the others as ln of their ratios "
    "to it, and likewise the coefficients of its cost curve (of a piecewise one the slopes, and what its first "
    "segment comes to at zero). The distance d of two networks with the same structure that differ in one element is "
    "the sum of the changes of its protected coordinates, each divided by the alpha of its group (protection.groups): "
    "a number that others are ratios to counts with each of them, unless all move together. Structure is what noise "
    "never changes: the topology, which numbers there are (not zero, not infinite), their signs, which numbers of an "
    "element are equal, and breakpoints of piecewise costs as shares of pmax to two decimals. Nobody can change their "
    "odds between the two by more than exp(epsilon*d)."
)
WORDS = {
    words.name: words
    for words in (
        MechanismWords("log", 2, RELATIVE, "%", _LOG),
        MechanismWords(
            "additive", 2, CONDUCTANCE, "pu",
            _CONDUCTANCE + "The ratio of susceptance to conductance is taken to be public, to two digits. The lines "
            "let nobody change their odds between the two by more than exp(epsilon*d/alpha). " + CORRIDOR,
            ("the ratio of susceptance to conductance of every line, to two digits", "the charging of every line"),
        ),
        MechanismWords(
            "paper", 2, CONDUCTANCE, "pu",
            _CONDUCTANCE + "The exact ratio of susceptance to conductance is public. The loss stated for d = alpha is "
            "the true one, epsilon*(2 + max|b/g|)/3, larger than the epsilon claimed in the paper. " + CORRIDOR,
            ("the ratio of susceptance to conductance of every line, exactly", "the charging of every line"),
        ),
        MechanismWords(JOINT, 1, RELATIVE, "%", _JOINT),
        MechanismWords(
            "laplace", 1, CONDUCTANCE, "pu", _CONDUCTANCE + "Noise without repair, for studies.", (), published=False
        ),
    )
}  # fmt: skip
PUBLISHED = tuple(words.name for words in WORDS.values() if words.published)
"""Mechanisms that make releases."""
OF_LINES = tuple(name for name in PUBLISHED if name != JOINT)
"""Those for lines alone."""


def mechanism_words(name: str) -> MechanismWords:
    """A mechanism's words by its name."""
    if name not in WORDS:
        raise PrivacyError(f"there is no mechanism '{name}'; choose one of {', '.join(WORDS)}")
    return WORDS[name]


def place(name: str) -> tuple[bool, str]:
    """Where a mechanism stands in a list of several: those of lines first, by name, then the cost, then totals."""
    return name in (COST, TOTALS), name
