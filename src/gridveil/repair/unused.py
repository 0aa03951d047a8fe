"""The steps of a horizon that a release does not promise: the AC-OPF of the released network at each, for a report.

Steps are solved in the order of their demand, each from the optimum of its neighbour, point and multipliers: that takes
about a third of a solve from a flat start, and a tenth where one scale moves all loads. They come in chunks of a fixed
size, so that what is found does not depend on who solves them, and no more is in memory than a few chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid, LineParameters
from gridveil.grid.profile import Profile
from gridveil.nlp.opf import Near, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Status
from gridveil.wall.certificate import UnusedStep

CHUNK = 50
"""Steps that are solved one from the other; the first of them starts flat."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Neighbouring steps on a released network, and their public costs where they are known: all that is public."""

    grid: Grid
    lines: LineParameters
    step: IntArray
    pd: FloatArray
    qd: FloatArray
    cost: tuple[float | None, ...]


Solved = tuple[UnusedStep, ...]
Hands = Callable[[Iterable[Chunk]], Iterable[Solved]]
"""Who solves chunks, in whatever order."""


def solve_chunk(chunk: Chunk) -> Solved:
    """The AC-OPF of every step; where the neighbour's optimum leads nowhere, from the starts that everybody has."""
    model, report = opf_model(chunk.grid), []
    near: Near | None = None
    for step, pd, qd, public in zip(chunk.step.tolist(), chunk.pd, chunk.qd, chunk.cost, strict=True):
        optimum = solve_opf(model, chunk.lines, Demand(pd, qd), near=near)
        solved = optimum.status is Status.OPTIMAL
        near = Near(optimum.point, optimum.end) if solved else None
        away = None if public is None or not solved else abs(optimum.cost - public) / abs(public)
        violation, cost = (
            float(value) if np.isfinite(value) else None for value in (optimum.violations.largest, optimum.cost)
        )
        report.append(UnusedStep(step, str(optimum.status), violation, cost, away))
    return tuple(report)


def alone(chunks: Iterable[Chunk]) -> Iterator[Solved]:
    """Chunks one after the other, in this process."""
    return map(solve_chunk, chunks)


def report_unused(
    grid: Grid,
    lines: LineParameters,
    profile: Profile,
    steps: Sequence[int],
    costs: Mapping[int, float],
    hands: Hands = alone,
    told: Callable[[int], None] = lambda done: None,
) -> Solved:
    """What the released network does at these steps, in their order; `costs` are public costs, if any, by step."""
    found: dict[int, UnusedStep] = {}
    for part in hands(_chunks(grid, lines, profile, steps, costs)):
        found |= {one.step: one for one in part}
        told(len(found))
    return tuple(found[step] for step in steps)


def _chunks(
    grid: Grid, lines: LineParameters, profile: Profile, steps: Sequence[int], costs: Mapping[int, float]
) -> Iterator[Chunk]:
    """In the order of their demand, and of their number where it is equal."""
    rows = np.flatnonzero(np.isin(profile.step, steps))
    rows = rows[np.argsort(profile.pd[rows].sum(axis=1), kind="stable")]
    for begin in range(0, len(rows), CHUNK):
        part = rows[begin : begin + CHUNK]
        public = tuple(costs.get(int(step)) for step in profile.step[part])
        yield Chunk(grid, lines, profile.step[part], profile.pd[part], profile.qd[part], public)
