"""Which section each study has, and its methods in words, from its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gridveil.errors import ReportError, StudyError
from gridveil.report import effort, fidelity, harm
from gridveil.report import joint as joint_section
from gridveil.report.chart import Section
from gridveil.report.series import ordered
from gridveil.report.statistics import Results
from gridveil.report.words import number
from gridveil.study.catalogue import STUDIES
from gridveil.study.declare import Study
from gridveil.study.draws import BETA, EPSILON

SECTIONS: dict[str, Callable[[Results], Section]] = {
    "feasibility": fidelity.feasibility,
    "resistances": fidelity.resistances,
    "costs": fidelity.costs,
    "gaps": fidelity.gaps,
    "attacks": harm.attacks,
    "attacks-fine": harm.attacks,
    "runtimes": effort.runtimes,
    "time-series-attacks": harm.time_series_attacks,
    "attack-score": harm.attack_score,
    "frontier": fidelity.frontier,
    "promise": effort.promise,
    "scale": effort.scale,
    "interdiction": harm.interdiction,
    "joint": joint_section.joint,
}
_LETTERS = {"alpha": "α", "beta": "β", "epsilon": "ε", "steps": "used steps r", "mechanism": "mechanisms"}


def read_studies(directory: Path) -> dict[str, Results]:
    """The results of every study in a directory, in the order of the catalogue."""
    try:
        from gridveil.study.store import read_results  # noqa: PLC0415 - pyarrow is an extra
    except ImportError as missing:
        raise ReportError(f"reading results needs {missing.name}; pip install 'gridveil[report]'") from None
    if not directory.is_dir():
        raise StudyError(f"there is no directory {directory}; give one that `gridveil study` has filled")
    tables = read_results(directory, STUDIES)
    return {name: Results.of(tables[name]) for name in STUDIES if name in tables}


def methods(study: Study, results: Results, directory: Path) -> str:
    """How a study was made, in a few sentences that only its own parameters decide."""
    from gridveil.study.found import read_about  # noqa: PLC0415 - pyarrow is an extra

    settings = []
    for name in study.settings:
        values = [number(v, 6) if isinstance(v, float) else str(v) for v in ordered(results.values(name, failed=True))]
        settings.append(f"{_LETTERS.get(name, name)} {', '.join(values)}")
    fixed = {"epsilon": EPSILON, "beta": BETA}
    given = [f"{_LETTERS[name]} = {number(value)}" for name, value in fixed.items() if name not in study.settings]
    draws = results.values("draw", failed=True)
    keyed: dict[tuple[object, ...], set[int]] = {}
    for row in (*results.rows, *results.failed):
        keyed.setdefault((row["case"], *(row[name] for name in study.settings)), set()).add(row["draw"])
    counts = sorted(len(found) for found in keyed.values())
    each = f"{counts[0]}" if counts and counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}" if counts else "no"
    declared = "" if len(draws) >= study.draws else f" (the study declares {study.draws})"
    known = read_about(directory / f"study={study.name}") or {"gridveil": "an unknown version"}
    return (
        f"Cases: {', '.join(results.values('case', failed=True))}. Settings, every combination: {'; '.join(settings)}"
        f"{'; fixed ' + ', '.join(given) if given else ''}. {each} draws of each combination{declared}: "
        f"{results.tasks} tasks, {len(results.failed)} failed. Noise comes from a seeded generator, the seed being a "
        f"digest of the task's name, so that every number here can be made again. "
        f"Study {study.name}, version {study.version}, begun with GridVeil {known['gridveil']}."
    )


def section(name: str, results: Results) -> Section:
    """The figures and tables of one study."""
    if not results.rows:
        return Section()
    try:
        made = SECTIONS[name](results)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        lacking = [one for one in STUDIES[name].columns if any(row[one] is None for row in results.rows)]
        if not lacking:
            raise
        raise ReportError(
            f"results of {name} have rows without {', '.join(lacking)}, and nothing can be drawn; move the damaged "
            "part away and run the study again"
        ) from error
    return replace(made, charts=tuple(chart for chart in made.charts if chart.panels))
