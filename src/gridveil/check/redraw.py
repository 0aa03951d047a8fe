"""A draw made again by its mechanism, from the original and from what was drawn: which noise was it, and was it all?

The mechanism itself is run, with a sampler that draws nothing: it answers with what was kept, and writes down how far
that lies from the true values, in units of the scale that the mechanism asks for. So nothing that a draw says of itself
(its scale, who is protected, who shares a draw) is taken for granted: all of it must come out again. INTERNAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridError
from gridveil.grid import line_levels_kv
from gridveil.privacy.noise import Noise
from gridveil.publish.kept import KeptDraw
from gridveil.sealed.mechanisms import joint, mechanism
from gridveil.sealed.split import Sealed
from gridveil.wall.coordinates import conductance_groups, conductances, encode, group_mean, log_structure
from gridveil.wall.draw import NoisyLines
from gridveil.wall.mechanisms import RELATIVE, mechanism_words
from gridveil.wall.protection import Protection

ROUNDING = 1e-9
"""Relative: of logarithms and back, and of the sampler's own scale."""


@dataclass(frozen=True, eq=False)
class Redrawn:
    """The noise of the lines and, with `paper`, of their means, in units of its scale; and what came out otherwise."""

    lines: FloatArray
    means: FloatArray
    other: tuple[str, ...]


class Replay(Noise):
    """Answers with what was drawn before, and keeps its distance from the truth."""

    private = True
    description = "drawn before"

    def __init__(self, outcomes: Sequence[FloatArray]) -> None:
        self._left = list(outcomes)
        self.found: list[FloatArray] = []

    def prepare(self) -> None:
        """It is ready."""

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        outcome = self._left.pop(0) if self._left else np.zeros(0)
        if outcome.shape != values.shape:
            raise GridError("the draw has other coordinates than this original")
        if self.found:  # of means the draw keeps the size alone
            outcome = np.copysign(outcome, values)
        self.found.append((outcome - values) / (sensitivity / epsilon))
        return outcome


def redraw(network: Sealed, noisy: NoisyLines, name: str, epsilon: float, alpha: float) -> Redrawn:
    """The same draw, by a mechanism with ε and α for the lines."""
    replay = Replay(_outcomes(network, noisy, name))
    again = mechanism(name).perturb(network, epsilon, alpha, replay)
    first, *rest = replay.found
    other = [one.name for one in fields(NoisyLines) if not _same(getattr(again, one.name), getattr(noisy, one.name))]
    return Redrawn(first, np.concatenate([np.zeros(0), *rest]), tuple(other))


def redraw_joint(network: Sealed, kept: KeptDraw, protection: Protection, epsilon: float) -> Redrawn:
    """The same draw of all that is protected."""
    if kept.outcome is None or kept.grid is None:
        raise GridError("the ledger has kept no joint draw")
    replay = Replay([kept.outcome])
    again = joint.perturb(network, protection, epsilon, replay)
    other = [
        one.name
        for one in fields(NoisyLines)
        if not _same(getattr(again.lines, one.name), getattr(kept.noisy, one.name))
    ]
    other += [
        name
        for name in ("buses", "generators", "lines", "cost_p")
        if not _same(getattr(again.grid, name), getattr(kept.grid, name))
    ]
    return Redrawn(replay.found[0], np.zeros(0), tuple(other))


def _same(one: Any, other: Any) -> bool:
    if is_dataclass(one) and is_dataclass(other):
        return type(one) is type(other) and all(
            _same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
        )
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and np.allclose(one, other, rtol=ROUNDING, atol=0.0, equal_nan=True)
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=ROUNDING, atol=0.0))
    return type(one) is type(other) and bool(one == other)


def _outcomes(network: Sealed, noisy: NoisyLines, name: str) -> list[FloatArray]:
    """What a mechanism must have drawn, query by query. Who shares a draw is public, and taken from the network."""
    (grid, lines), words = network._open(), mechanism_words(name)
    if words.unit == RELATIVE:
        return [encode(log_structure(grid, lines), noisy.lines)]
    alone = words.unprotected(grid)
    group = conductance_groups(grid, lines, alone)
    asked = np.unique(group[~alone])
    found = [conductances(grid, noisy.lines, group)[0][asked]]
    if name == "paper" and noisy.mean_g is not None and noisy.mean_b is not None:
        level = group_mean(line_levels_kv(grid), group)
        for here in np.unique(level[asked]):
            line = int(np.flatnonzero(group == asked[level[asked] == here][0])[0])
            found += [noisy.mean_g[[line]], noisy.mean_b[[line]]]
    return found
