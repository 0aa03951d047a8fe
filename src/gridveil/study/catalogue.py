"""Every study, by name, in the order of the paper; ours follow."""

from __future__ import annotations

from gridveil.errors import StudyError
from gridveil.study.attacks import ATTACK_SCORE, ATTACKS, ATTACKS_FINE, INTERDICTION, TIME_SERIES_ATTACKS
from gridveil.study.declare import Study
from gridveil.study.frontier import FRONTIER
from gridveil.study.gaps import GAPS
from gridveil.study.joint import JOINT
from gridveil.study.releases import COSTS, FEASIBILITY, PROMISE, RESISTANCES, RUNTIMES, SCALE

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        FEASIBILITY, RESISTANCES, COSTS, GAPS, ATTACKS, ATTACKS_FINE, RUNTIMES, TIME_SERIES_ATTACKS, ATTACK_SCORE,
        FRONTIER, PROMISE, SCALE, INTERDICTION, JOINT,
    )
}  # fmt: skip


def study(name: str) -> Study:
    """A study by its name."""
    if name not in STUDIES:
        raise StudyError(f"there is no study '{name}'; choose one of {', '.join(STUDIES)}")
    return STUDIES[name]
