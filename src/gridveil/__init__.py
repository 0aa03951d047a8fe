"""GridVeil: publish a power network for research without giving away its lines.

    import gridveil as gv
    solution = gv.solve_opf("case39_epri")

Names are loaded when first used, so that importing one part of the package never loads another.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gridveil.api import (
        attack,
        compare,
        distance,
        frames,
        gap,
        gap_change,
        make_profile,
        read_profile,
        seal,
        solve_opf,
        to_pandapower,
        to_pypower,
        to_pypsa,
    )
    from gridveil.attacks.attack import Attack, Target
    from gridveil.casefile import Case, read, write
    from gridveil.conic.gap import Gap, GapChange
    from gridveil.conic.relaxation import Relaxation
    from gridveil.errors import CaseFileError, GridError, GridVeilError, SolveError
    from gridveil.formats.find import load, read_case
    from gridveil.grid import Grid, LineParameters, Network, OperatingPoint, Structure, violations
    from gridveil.grid.changes import Comparison
    from gridveil.grid.frames import Frames
    from gridveil.grid.profile import Profile
    from gridveil.nlp.opf import OpfModel, Solution, opf_model
    from gridveil.nlp.power_flow import Demand
    from gridveil.nlp.solver import SolverOptions
    from gridveil.privacy.ledger import Ledger
    from gridveil.privacy.noise import SeededNoise
    from gridveil.publish.pipeline import release
    from gridveil.publish.plan import Plan
    from gridveil.publish.release import Release
    from gridveil.report.verification import verify
    from gridveil.sealed.split import Sealed
    from gridveil.status import Status
    from gridveil.wall.coordinates import Distance

_HOME = {
    "compare": "gridveil.api",
    "frames": "gridveil.api",
    "gap": "gridveil.api",
    "Comparison": "gridveil.grid.changes",
    "Frames": "gridveil.grid.frames",
    "gap_change": "gridveil.api",
    "Attack": "gridveil.attacks.attack",
    "Target": "gridveil.attacks.attack",
    "attack": "gridveil.api",
    "load": "gridveil.formats.find",
    "read_case": "gridveil.formats.find",
    "make_profile": "gridveil.api",
    "read_profile": "gridveil.api",
    "seal": "gridveil.api",
    "solve_opf": "gridveil.api",
    "to_pandapower": "gridveil.api",
    "to_pypower": "gridveil.api",
    "to_pypsa": "gridveil.api",
    "Ledger": "gridveil.privacy.ledger",
    "SeededNoise": "gridveil.privacy.noise",
    "Release": "gridveil.publish.release",
    "release": "gridveil.publish.pipeline",
    "Plan": "gridveil.publish.plan",
    "verify": "gridveil.report.verification",
    "Sealed": "gridveil.sealed.split",
    "Distance": "gridveil.wall.coordinates",
    "distance": "gridveil.api",
    "Case": "gridveil.casefile",
    "read": "gridveil.casefile",
    "write": "gridveil.casefile",
    "Gap": "gridveil.conic.gap",
    "GapChange": "gridveil.conic.gap",
    "Relaxation": "gridveil.conic.relaxation",
    "CaseFileError": "gridveil.errors",
    "GridError": "gridveil.errors",
    "GridVeilError": "gridveil.errors",
    "SolveError": "gridveil.errors",
    "LineParameters": "gridveil.grid",
    "Network": "gridveil.grid",
    "OperatingPoint": "gridveil.grid",
    "Grid": "gridveil.grid",
    "Structure": "gridveil.grid",
    "violations": "gridveil.grid",
    "Profile": "gridveil.grid.profile",
    "Demand": "gridveil.nlp.power_flow",
    "OpfModel": "gridveil.nlp.opf",
    "Solution": "gridveil.nlp.opf",
    "opf_model": "gridveil.nlp.opf",
    "SolverOptions": "gridveil.nlp.solver",
    "Status": "gridveil.status",
}

__all__ = [
    "Attack",
    "Case",
    "CaseFileError",
    "Comparison",
    "Demand",
    "Distance",
    "Frames",
    "Gap",
    "GapChange",
    "Grid",
    "GridError",
    "GridVeilError",
    "Ledger",
    "LineParameters",
    "Network",
    "OperatingPoint",
    "OpfModel",
    "Plan",
    "Profile",
    "Relaxation",
    "Release",
    "Sealed",
    "SeededNoise",
    "Solution",
    "SolveError",
    "SolverOptions",
    "Status",
    "Structure",
    "Target",
    "__version__",
    "attack",
    "compare",
    "distance",
    "frames",
    "gap",
    "gap_change",
    "load",
    "make_profile",
    "opf_model",
    "read",
    "read_case",
    "read_profile",
    "release",
    "seal",
    "solve_opf",
    "to_pandapower",
    "to_pypower",
    "to_pypsa",
    "verify",
    "violations",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'gridveil' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
