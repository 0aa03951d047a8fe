"""GridVeil: publish a power network for research without giving away its lines.

    import gridveil as gv
    solution = gv.solve_opf("case39_epri")

Names are loaded when first used, so that importing one part of the package never loads another.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The one list of names: type checkers read it as imports, and `_home` reads it as text. One name, one line.
if TYPE_CHECKING:
    from gridveil.advice.advise import advise as advise
    from gridveil.advice.goals import Goals as Goals
    from gridveil.advice.recommend import Advice as Advice
    from gridveil.advice.search import Space as Space
    from gridveil.advice.stand_in import StandIn as StandIn
    from gridveil.api.cases import compare as compare
    from gridveil.api.cases import frames as frames
    from gridveil.api.cases import make_profile as make_profile
    from gridveil.api.cases import read_profile as read_profile
    from gridveil.api.cases import seal as seal
    from gridveil.api.cases import to_pandapower as to_pandapower
    from gridveil.api.cases import to_pypower as to_pypower
    from gridveil.api.cases import to_pypsa as to_pypsa
    from gridveil.api.solving import gap as gap
    from gridveil.api.solving import gap_change as gap_change
    from gridveil.api.solving import opf_model as opf_model
    from gridveil.api.solving import solve_opf as solve_opf
    from gridveil.api.threats import attack as attack
    from gridveil.api.threats import distance as distance
    from gridveil.attacks.attack import Attack as Attack
    from gridveil.attacks.attack import Target as Target
    from gridveil.casefile import Case as Case
    from gridveil.casefile.read import read as read
    from gridveil.casefile.write import write as write
    from gridveil.check.exposure import Exposure as Exposure
    from gridveil.check.exposure import exposure as exposure
    from gridveil.check.leaks.files import leakcheck as leakcheck
    from gridveil.check.leaks.verdict import LeakReport as LeakReport
    from gridveil.check.steps import StepComparison as StepComparison
    from gridveil.check.steps import compare_steps as compare_steps
    from gridveil.check.verdict import Verdict as Verdict
    from gridveil.conic.gap import Gap as Gap
    from gridveil.conic.gap import GapChange as GapChange
    from gridveil.conic.relaxation import Relaxation as Relaxation
    from gridveil.errors import AttackError as AttackError
    from gridveil.errors import CaseFileError as CaseFileError
    from gridveil.errors import GridError as GridError
    from gridveil.errors import GridVeilError as GridVeilError
    from gridveil.errors import PrivacyError as PrivacyError
    from gridveil.errors import ReleaseError as ReleaseError
    from gridveil.errors import SolveError as SolveError
    from gridveil.errors import Spent as Spent
    from gridveil.errors import StudyError as StudyError
    from gridveil.formats.find import load as load
    from gridveil.formats.find import read_case as read_case
    from gridveil.grid import Grid as Grid
    from gridveil.grid import LineParameters as LineParameters
    from gridveil.grid import Network as Network
    from gridveil.grid import OperatingPoint as OperatingPoint
    from gridveil.grid import Structure as Structure
    from gridveil.grid import violations as violations
    from gridveil.grid.changes import Comparison as Comparison
    from gridveil.grid.frames import Frames as Frames
    from gridveil.grid.physics import Violations as Violations
    from gridveil.grid.profile import Profile as Profile
    from gridveil.nlp.opf import OpfModel as OpfModel
    from gridveil.nlp.opf import Solution as Solution
    from gridveil.nlp.power_flow import Demand as Demand
    from gridveil.nlp.solver import SolverOptions as SolverOptions
    from gridveil.privacy.ledger import Ledger as Ledger
    from gridveil.privacy.noise import SeededNoise as SeededNoise
    from gridveil.privacy.signature import create_key as create_key
    from gridveil.privacy.signature import read_private_key as read_private_key
    from gridveil.publish.manifest import Manifest as Manifest
    from gridveil.publish.pipeline import release as release
    from gridveil.publish.plan import Plan as Plan
    from gridveil.publish.release import Release as Release
    from gridveil.report.maps.notebook import InteractiveMap as InteractiveMap
    from gridveil.report.maps.notebook import interactive_map as interactive_map
    from gridveil.report.verification import verify as verify
    from gridveil.sealed.split import Sealed as Sealed
    from gridveil.status import Status as Status
    from gridveil.study.drawn import write_draws as write_draws
    from gridveil.study.drawn_reading import Draws as Draws
    from gridveil.study.drawn_reading import draws as draws
    from gridveil.study.many import ResearchDraw as ResearchDraw
    from gridveil.study.many import release_many as release_many
    from gridveil.study.scripted import results as results
    from gridveil.study.scripted import run_study as run_study
    from gridveil.study.scripted import studies as studies
    from gridveil.wall.certificate import Certificate as Certificate
    from gridveil.wall.coordinates import Distance as Distance

_LINE = re.compile(r"^    from (gridveil[\w.]*) import (\w+) as \2$", re.MULTILINE)
_known: dict[str, str] = {}


def _home() -> dict[str, str]:
    """The module of every name, by the list above."""
    if not _known:
        from importlib.resources import files

        text = files(__name__).joinpath("__init__.py").read_text(encoding="utf-8")
        _known.update({name: module for module, name in _LINE.findall(text)})
    return _known


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("__") or name not in _home():
        raise AttributeError(f"module 'gridveil' has no attribute {name!r}")
    return getattr(import_module(_home()[name]), name)


def __dir__() -> list[str]:
    return sorted([*_home(), "__version__"])
