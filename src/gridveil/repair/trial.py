"""A network that is tried as it is, before anything is projected: the noisy one in its box, or the shrunk one.

What is solved of it is kept: the estimate of the dispatch cost and the repair look at the same optima.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.grid import Grid, LineParameters, Network
from gridveil.nlp.opf import Near, OpfModel, Solution, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Patience, SolverOptions, Status
from gridveil.repair.bounds import Box, parameter_box
from gridveil.repair.shrinkage import Shrunk, shrink_lines, shrink_numbers
from gridveil.wall.draw import SIGNIFICANT, NoisyLines

LARGE = 1000
"""Buses from which on a solve takes more iterations, and now and then stands still for longer."""


def short(grid: Grid, above: float = 1e-4) -> SolverOptions:
    """For networks that are tried: the first start that everybody has, while it makes progress.

    To prove that a network has no dispatch would cost more than to look for another. Of 119 AC-OPFs below 1,000 buses
    that were solved, 3 would have been given up; of 120 from there to 10,000 buses, 10.
    """
    if grid.n_bus >= LARGE:
        return SolverOptions(starts=1, patience=Patience(1e-2, 20))
    return SolverOptions(max_iterations=100, starts=1, patience=Patience(above, 12, better=0.5))


def thorough() -> SolverOptions:
    """For a network that has a dispatch by construction: who cannot find it soon will not find it as a user either."""
    return SolverOptions(max_iterations=300, starts=2, patience=Patience(1e-3, 40))


TOO_NOISY = 1.25
"""Scales of the noise, in logarithms, summed over the groups that were drawn."""


class Nearest(NamedTuple):
    """What was found near a network that has a dispatch at whatever cost, and the widening of the box that has it."""

    widening: float
    network: Network
    optima: Sequence[Solution]


@dataclass(frozen=True, eq=False)
class Trial:
    """A network and its box; `near` is what a projection stays near to, if not the noisy one.

    `nearest` keeps what was found near it at whatever cost, by the demands. A `hopeless` one is not solved.
    """

    model: OpfModel
    box: Box
    network: Network
    near: Network | None
    hopeless: bool = False
    _solved: dict[tuple[bytes, bytes], Solution] = field(default_factory=dict)
    nearest: dict[bytes, Nearest | None] = field(default_factory=dict)

    def known(self, demands: Sequence[Demand]) -> bool:
        """Whether all of them have been solved."""
        return all(_key(one) in self._solved for one in demands)

    def optima(self, demands: Sequence[Demand]) -> list[Solution]:
        """The AC-OPF of every demand, each solved once; the first that fails is the last that is solved."""
        quick = short(self.model.grid, above=1e-3)
        result: list[Solution] = []
        for one in () if self.hopeless else demands:
            key = _key(one)
            if key not in self._solved:
                self._solved[key] = solve_opf(self.model.at(self.network.grid), self.network.lines, one, quick)
            result.append(self._solved[key])
            if result[-1].status is not Status.OPTIMAL:
                break
        return result


def _key(demand: Demand) -> tuple[bytes, bytes]:
    return demand.pd.tobytes(), demand.qd.tobytes()


def drawn_trial(grid: Grid, noisy: NoisyLines, bound_factor: float) -> Trial:
    """The noisy network, clipped into its box."""
    box = parameter_box(grid, noisy, bound_factor)
    return Trial(opf_model(grid), box, rounded(box.network(box.target)), None, hopeless(noisy))


def hopeless(noisy: NoisyLines) -> bool:
    """Whether so much noise lies on so many groups that the network as drawn has no dispatch; by the noise's law alone.

    Of 396 draws of two groups or more beyond the limit (30 to 118 buses) 9 had one; of 192 on this side 47.
    """
    if noisy.moving is None:
        return False
    table, scale = noisy.moving.table, noisy.moving.scale
    scales = [float(scale[table.group == one].mean()) for one in np.unique(table.group)]
    scales += [noisy.scale] if np.any(noisy.protected) else []
    return len(scales) > 1 and sum(scales) > TOO_NOISY


def shrunk_trial(grid: Grid, noisy: NoisyLines, bound_factor: float) -> tuple[Trial, Shrunk]:
    """The shrunk network, clipped into the box of the noisy one, and how it was shrunk."""
    shrunk = shrink_lines(grid, noisy)
    near = Network(grid if noisy.moving is None else shrink_numbers(grid, noisy), shrunk.lines)
    box = parameter_box(grid, noisy, bound_factor, near)
    return Trial(opf_model(grid), box, rounded(box.network(box.target)), near), shrunk


def solve_all(
    model: OpfModel, network: Network, demands: Sequence[Demand], options: SolverOptions | None = None
) -> list[Solution]:
    """The AC-OPF of every demand, with all patience unless told otherwise; the first that fails is the last.

    Demands are those of the model's own world, and follow the loads of the network.
    """
    optima: list[Solution] = []
    for one in in_world(model.grid, network.grid, demands):
        optima.append(solve_opf(model.at(network.grid), network.lines, one, options))
        if optima[-1].status is not Status.OPTIMAL:
            break
    return optima


def is_exact(optima: Sequence[Solution]) -> bool:
    """Whether a solver came to its own tolerance, and not to the looser one alone."""
    return all(one.detail == "solved" for one in optima)


def seen_again(
    base: Grid, network: Network, demands: Sequence[Demand], optima: Sequence[Solution]
) -> Sequence[Solution]:
    """The optima as whoever begins at them finds them, a certificate above all.

    They are looked for where a solver has come no nearer than its looser tolerance: at alpha = 1 there are networks so
    bent that such an optimum cannot be found a second time.
    """
    if is_exact(optima):
        return optima
    model, once = opf_model(network.grid), SolverOptions(max_iterations=50, starts=1)
    pairs = zip(in_world(base, network.grid, demands), optima, strict=True)
    return [solve_opf(model, network.lines, demand, once, near=Near(one.point, one.end)) for demand, one in pairs]


def in_world(base: Grid, grid: Grid, demands: Sequence[Demand]) -> list[Demand]:
    """Demands of a world in which loads are other multiples of those of the base.

    Where they are the base's own, to the last bit: at alpha = 1 there are networks whose AC-OPF ends well or with an
    error by such digits, and what is solved here has to be what a file says.
    """
    if grid is base:
        return list(demands)

    def there(values: FloatArray, then: FloatArray, now: FloatArray) -> FloatArray:
        ratio = np.where(then != 0, now / np.where(then != 0, then, 1.0), 1.0)
        return np.where(values == then, now, values * ratio)  # to the last bit where they are the base's

    return [
        Demand(there(one.pd, base.buses.pd, grid.buses.pd), there(one.qd, base.buses.qd, grid.buses.qd))
        for one in demands
    ]


def rounded(network: Network) -> Network:
    """As the released file will have it: r, x and bc to a fixed number of significant digits; the rest has them."""
    r, x = network.lines.impedance()
    values = (significant(one, SIGNIFICANT) for one in (r, x, network.lines.bc))
    return Network(network.grid, LineParameters.from_impedance(*values))


def significant(values: FloatArray, digits: int) -> FloatArray:
    """Rounded to significant digits, as decimal text would have them."""
    return np.array([float(f"{value:.{digits - 1}e}") for value in values.tolist()]).reshape(values.shape)
