"""`exposure`: how much each corridor moves the dispatch cost, and so how well a private cost protects it. INTERNAL.

A private cost protects a change of a corridor by ε_cost·D/s, D being what the change does to the surcharge. Here every
corridor is changed by α in each of its coordinates, up and down, and the AC-OPF solved again, from the starts that a
release has: others may end elsewhere. On large networks only
the corridors with the steepest slopes are solved; the others' D is their slope times α.

It needs the original. To choose s by it is itself a disclosure: s would then depend on the secret, uncharged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.casefile import Case
from gridveil.errors import ReleaseError
from gridveil.formats.find import load
from gridveil.grid import Network, corridors
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.nlp.opf import Solution, opf_model, solve_opf
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.nlp.solver import Status
from gridveil.repair.estimate import log_slopes
from gridveil.shown import as_card
from gridveil.wall.coordinates import LogStructure, log_structure, shifted
from gridveil.wall.facts import DIGITS, HIGHEST, significant

SHARES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05)
"""Values of s in the table."""
MOST_SOLVED = 200
"""Corridors that are solved; beyond, the steepest of them."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """What a change by α of each corridor does to the dispatch cost, by `gv.exposure`. INTERNAL.

    Attributes:
        alpha: The change.
        surcharge: The cost over that of a copper plate.
        moved: By how much each corridor moves it: the worst of its coordinates and signs.
        solved: Whose was computed by AC-OPF; others are estimated by their slope.
        infeasible: Corridors that have a neighbour without an optimum.
        ends: The buses of each corridor.
        declared: How many corridors made 1 + α times longer change a cost of four digits.

    Examples:
        >>> found = gv.exposure("case5_pjm")
        >>> 0 <= found.covered(0.01) <= 1, len(found.ends)
        (True, 6)
    """

    alpha: float
    surcharge: float
    moved: FloatArray
    solved: BoolArray
    infeasible: IntArray
    ends: tuple[tuple[int, int], ...]
    declared: int

    _repr_html_ = as_card

    def __repr__(self) -> str:
        return f"Exposure(alpha {self.alpha:g}, {len(self.ends)} corridors; INTERNAL)"

    def covered(self, s: float) -> float:
        """Share of corridors whose change moves the cost by s or less."""
        return float(np.mean(self.moved <= s)) if len(self.moved) else 1.0

    def loss(self, s: float, epsilon_cost: float, quantile: float = 1.0) -> float:
        """What the cost costs the corridor at a quantile (1 is the worst)."""
        return epsilon_cost * float(np.quantile(self.moved, quantile, method="higher")) / s if len(self.moved) else 0.0


def exposure(
    network: str | Path | Case | Network, alpha: float = 0.1, progress: Callable[[int, int], None] | None = None
) -> Exposure:
    """Change every corridor by α, and see what the dispatch cost does. INTERNAL.

    To choose s by it is itself a disclosure: s would then depend on the secret, uncharged.

    Args:
        network: The true network, in any form.
        alpha: The change.
        progress: Called with corridors done and in all.

    Returns:
        By how much each corridor moves the cost.

    Raises:
        ReleaseError: The network has no dispatch.

    Examples:
        >>> gv.exposure("case5_pjm").loss(s=0.0025, epsilon_cost=0.2) > 0
        True
    """
    network = load(network)
    grid = network.grid
    plate = copper_plate_cost(grid, float(grid.buses.pd.sum()))
    if plate <= 0:
        raise ReleaseError("the copper-plate cost is not positive, so that a surcharge over it has no meaning")
    model, structure = opf_model(grid), log_structure(grid, network.lines)
    base = solve_opf(model, network.lines)
    if base.status is not Status.OPTIMAL:
        raise ReleaseError(
            f"the network has no optimal power flow ({base.status}), so that no change of it can be told"
        )
    surcharge = _surcharge(base, plate)
    corridor = corridors(grid)[structure.line_of()]
    count = int(corridor.max(initial=-1)) + 1
    gradient = cost_gradient(grid, network.lines, base) / abs(base.cost)
    slope = np.abs(log_slopes(structure, network.lines, gradient))
    moved = np.zeros(count)
    np.maximum.at(moved, corridor, alpha * slope)
    chosen = np.argsort(-moved, kind="stable")[:MOST_SOLVED]
    infeasible, declared, shown = [], 0, significant(base.cost, DIGITS)
    for done, which in enumerate(chosen.tolist()):
        own = np.flatnonzero(corridor == which)
        ends = [
            solve_opf(model, shifted(structure, network.lines, [(one, sign * alpha)]))
            for one in own.tolist()
            for sign in (1.0, -1.0)
        ]
        moved[which] = max(abs(_surcharge(one, plate) - surcharge) for one in ends)
        longer = solve_opf(model, shifted(structure, network.lines, _longer(structure, own, log(1.0 + alpha))))
        if any(one.status is not Status.OPTIMAL for one in (*ends, longer)):
            infeasible.append(which)
        declared += longer.status is not Status.OPTIMAL or significant(longer.cost, DIGITS) != shown
        if progress is not None:
            progress(done + 1, len(chosen))
    solved = np.zeros(count, dtype=bool)
    solved[chosen] = True
    line = np.unique(corridors(grid), return_index=True)[1]
    number = grid.buses.number
    names = [(int(number[grid.lines.bus_from[i]]), int(number[grid.lines.bus_to[i]])) for i in line]
    return Exposure(
        alpha, surcharge, moved, solved, np.sort(np.array(infeasible, np.int64)), tuple(names), int(declared)
    )


def _surcharge(solution: Solution, plate: float) -> float:
    if solution.status is not Status.OPTIMAL:
        return HIGHEST
    return min(max(log(max(solution.cost / plate, 1e-9)), 0.0), HIGHEST)


def _longer(structure: LogStructure, own: IntArray, by: float) -> list[tuple[int, float]]:
    """A longer line has a larger |z| and the same x/r; its charging grows as x does, so that bc/x stays too."""
    first = int(structure.exists[0].sum())
    return [(one, by) for one in own.tolist() if one < first]
