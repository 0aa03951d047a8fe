"""The network in per unit, its topology, and the physics that judges operating points."""

from gridveil.grid.cost import CostCurves
from gridveil.grid.network import (
    Buses,
    Generators,
    Grid,
    LineKind,
    LineParameters,
    Lines,
    Multipliers,
    Network,
    OperatingPoint,
)
from gridveil.grid.physics import Violations, line_flows, operating_point, violations
from gridveil.grid.structure import Structure, structure_of
from gridveil.grid.topology import circuits, corridors, is_transformer, islands, line_levels_kv, reference_buses

__all__ = [
    "Buses",
    "CostCurves",
    "Generators",
    "Grid",
    "LineKind",
    "LineParameters",
    "Lines",
    "Multipliers",
    "Network",
    "OperatingPoint",
    "Structure",
    "Violations",
    "circuits",
    "corridors",
    "is_transformer",
    "islands",
    "line_flows",
    "line_levels_kv",
    "operating_point",
    "reference_buses",
    "structure_of",
    "violations",
]
