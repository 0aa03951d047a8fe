"""Optimal power flow, its relaxations and gaps. Relaxations load a solver of their own, when they are called."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from gridveil.casefile import Case
from gridveil.errors import GridError
from gridveil.formats.find import load
from gridveil.grid import Grid, Network
from gridveil.nlp.opf import OpfModel, Solution
from gridveil.nlp.opf import opf_model as model_of_grid
from gridveil.nlp.opf import solve_opf as solve_model
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Progress, SolverOptions
from gridveil.status import Status

if TYPE_CHECKING:
    from gridveil.conic.gap import Gap, GapChange
    from gridveil.conic.relaxation import Formulation, Relaxation


def opf_model(case: str | Path | Case | Network | Grid | Any) -> OpfModel:
    """Build the pattern of an AC-OPF once, to solve it often: `gv.solve_opf(network, demand, model=model)`.

    Args:
        case: A case in any form, or the `grid` of a network.

    Returns:
        The model: line parameters, demand, limits and ratings may differ from solve to solve, costs may not.

    Raises:
        CaseFileError: The file cannot be read as a network.

    Examples:
        >>> network = gv.load("case14_ieee")
        >>> model = gv.opf_model(network)
        >>> for scale in (0.8, 1.0):
        ...     demand = gv.Demand(scale * network.grid.buses.pd, scale * network.grid.buses.qd)
        ...     print(f"{scale:g} {gv.solve_opf(network, demand, model=model).cost:.1f}")
        0.8 1720.1
        1 2178.1
    """
    return model_of_grid(case if isinstance(case, Grid) else load(case).grid)


@overload
def solve_opf(
    case: str | Path | Case | Network | Any,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    formulation: Literal["ac"] = "ac",
    *,
    model: OpfModel | None = None,
) -> Solution: ...


@overload
def solve_opf(
    case: str | Path | Case | Network | Any,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    *,
    formulation: Formulation,
) -> Relaxation: ...


def solve_opf(
    case: str | Path | Case | Network | Any,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
    formulation: Literal["ac"] | Formulation = "ac",
    *,
    model: OpfModel | None = None,
) -> Solution | Relaxation:
    """Solve the AC optimal power flow of a case, or bound its cost from below by a relaxation.

    Args:
        case: A file of any format, a shipped case's name, a `Case`, a `Network`, or an object of another library.
        demand: Another demand than the network's own.
        options: Tolerances, limits, another Ipopt. Of these a relaxation heeds the two limits.
        progress: Called after every iteration; the solve ends when it returns False.
        formulation: `ac`, or the relaxation `soc`, `qc` or `qc-lambda`.
        model: What `gv.opf_model` built for this network or one like it: the pattern is then not built again.

    Returns:
        A `Solution`, whose point has been judged independently, or of a relaxation a proven bound.

    Raises:
        CaseFileError: The file cannot be read as a network.
        GridError: The model is of another network, or one with other costs.
        SolveError: A solver could not be run. That a problem is infeasible is no error: see `Solution.status`.

    Examples:
        >>> gv.solve_opf("case14_ieee").require().cost  # doctest: +ELLIPSIS
        2178.08...
        >>> print(f"{gv.solve_opf('case14_ieee', formulation='soc').bound:.1f}")
        2175.7
    """
    network = load(case)
    if formulation == "ac":
        known = model_of_grid(network.grid) if model is None else model
        if not known.fits(network.grid):
            raise GridError(
                "the model was built for another network, or one with other costs; build one for this network with "
                "opf_model, or leave it out"
            )
        return solve_model(known.at(network.grid), network.lines, demand, options, progress)
    from gridveil.conic.relaxation import Limits, solve_relaxation

    limits = Limits() if options is None else Limits(options.max_iterations, options.max_seconds)
    return solve_relaxation(network.grid, network.lines, formulation, demand, limits)


def gap(
    case: str | Path | Case | Network | Any, demand: Demand | None = None, options: SolverOptions | None = None
) -> Gap:
    """Compare the AC cost with what the SOC and QC relaxations prove of it; a proof of infeasibility is final.

    Args:
        case: A case in any form.
        demand: Another demand than the network's own.
        options: As for `gv.solve_opf`.

    Returns:
        The AC cost, both bounds, and the gaps in per cent.

    Raises:
        CaseFileError: The file cannot be read as a network.

    Examples:
        >>> gv.gap("case14_ieee")
        Gap(AC cost 2,178.08, SOC 0.11 %, QC 0.11 %)
    """
    from gridveil.conic.gap import Gap

    network = load(case)
    soc = solve_opf(network, demand, options, formulation="soc")
    qc = solve_opf(network, demand, options, formulation="qc")
    if Status.INFEASIBLE in (soc.status, qc.status):
        return Gap(Status.INFEASIBLE, math.inf, soc, qc)
    ac = solve_opf(network, demand, options)
    return Gap(ac.status, ac.cost, soc, qc)


def gap_change(
    original: str | Path | Case | Network | Any,
    released: str | Path | Case | Network | Any,
    options: SolverOptions | None = None,
) -> GapChange:
    """How a release moves the optimality gaps (the paper's Fig. 3, for one pair of networks). INTERNAL.

    Args:
        original: The true network.
        released: What was made of it.
        options: As for `gv.solve_opf`.

    Returns:
        Both gaps and their differences, in percentage points.

    Raises:
        CaseFileError: A file cannot be read as a network.

    Examples:
        >>> gv.gap_change("case14_ieee", "case14_ieee")
        GapChange(SOC 0.00 points, QC 0.00 points)
    """
    from gridveil.conic.gap import GapChange

    return GapChange(gap(original, options=options), gap(released, options=options))
