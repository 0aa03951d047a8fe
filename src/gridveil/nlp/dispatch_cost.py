"""The cost of a dispatch as blocks and linear terms of one row: the objective of AC-OPF, a constraint of the repair.

Polynomials are split into their linear part, which belongs to the matrix, and their curved part, a block. A convex
piecewise-linear curve becomes an epigraph variable above its segments: slope·p − epigraph ≤ −intercept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.grid.cost import CostCurves
from gridveil.nlp.blocks import Block, PolynomialBlock
from gridveil.nlp.power_flow import PowerFlow
from gridveil.nlp.problem import Layout, LinearTerms
from gridveil.nlp.solver import Bounds


@dataclass(frozen=True, eq=False)
class _Epigraph:
    """The piecewise-linear costs of one kind of power."""

    curves: CostCurves
    power: IntArray
    epigraph: IntArray
    segment: IntArray
    place: IntArray


@dataclass(frozen=True, eq=False)
class DispatchCost:
    """Where the cost of one snapshot stands in a problem; `constant` is what it adds to its row."""

    constant: float
    blocks: Sequence[Block]
    linear: Sequence[LinearTerms]
    epigraphs: Sequence[_Epigraph]


def dispatch_cost(
    flow: PowerFlow, variables: Layout, rows: Layout, row: int, name: str = "", unit: float = 1.0
) -> DispatchCost:
    """Add Σ cost_p(pg) + cost_q(qg) to `row`, in a unit of money that makes its numbers about as large as others."""
    constant = 0.0
    blocks: list[Block] = []
    linear: list[LinearTerms] = []
    epigraphs: list[_Epigraph] = []
    for kind, power, given in (("p", flow.pg, flow.grid.cost_p), ("q", flow.qg, flow.grid.cost_q)):
        curves = given.over(unit)
        polynomial = curves.polynomial
        constant += float(np.sum(polynomial[:, 0]))
        if polynomial.shape[1] > 1:
            linear.append(LinearTerms(np.full(len(power), row), power, polynomial[:, 1]))
        curved = np.flatnonzero(np.any(polynomial[:, 2:] != 0, axis=1))
        blocks.append(
            PolynomialBlock(f"cost_{kind}{name}", power[curved], polynomial[curved], np.full(len(curved), row))
        )
        if len(curves.segment_generator):
            generator, place = np.unique(curves.segment_generator, return_inverse=True)
            epigraph = variables.add(f"epigraph_{kind}{name}", len(generator))
            segment = rows.add(f"cost_segment_{kind}{name}", len(place))
            epigraphs.append(_Epigraph(curves, power, epigraph, segment, place))
            linear += [
                LinearTerms(np.full(len(generator), row), epigraph, np.ones(len(generator))),
                LinearTerms(segment, power[curves.segment_generator], curves.segment_slope),
                LinearTerms(segment, epigraph[place], np.full(len(place), -1.0)),
            ]
    return DispatchCost(constant, blocks, linear, epigraphs)


def set_cost_bounds(cost: DispatchCost, bounds: Bounds) -> None:
    """Write the bounds of the segment rows."""
    for part in cost.epigraphs:
        bounds.row_upper[part.segment - 1] = -part.curves.segment_intercept


def set_cost_start(cost: DispatchCost, x: FloatArray) -> None:
    """Put every epigraph on its curve at the generation that `x` has already."""
    for part in cost.epigraphs:
        curves = part.curves
        value = curves.segment_slope * x[part.power[curves.segment_generator]] + curves.segment_intercept
        x[part.epigraph] = -np.inf
        np.maximum.at(x, part.epigraph[part.place], value)
