"""Every study, by name, in the order of the paper; ours follow."""

from __future__ import annotations

from gridveil.errors import StudyError
from gridveil.study.declare import Study
from gridveil.study.questions import (
    attack_score,
    attacks,
    costs,
    feasibility,
    frontier,
    gaps,
    interdiction,
    joint,
    promise,
    resistances,
    runtimes,
    scale,
    time_series_attacks,
)

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        feasibility.STUDY, resistances.STUDY, costs.STUDY, gaps.STUDY, attacks.STUDY, attacks.FINE, runtimes.STUDY,
        time_series_attacks.STUDY, attack_score.STUDY, frontier.STUDY, promise.STUDY, scale.STUDY, interdiction.STUDY,
        joint.STUDY,
    )
}  # fmt: skip


def study(name: str) -> Study:
    """A study by its name."""
    if name not in STUDIES:
        raise StudyError(f"there is no study '{name}'; choose one of {', '.join(STUDIES)}")
    return STUDIES[name]
