"""What is said of each study: its results read, its summary and methods in words, its section."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gridveil.charts.chart import Section
from gridveil.charts.numbers import counted, listed, number
from gridveil.charts.results import Results
from gridveil.charts.series import ordered
from gridveil.errors import ReportError, StudyError
from gridveil.libraries import how_to_install
from gridveil.study.catalogue import STUDIES
from gridveil.study.declare import Study
from gridveil.study.draws import BETA, EPSILON

Made = TypeVar("Made")
_LETTERS = {"alpha": "α", "beta": "β", "epsilon": "ε", "steps": "used steps r", "mechanism": "mechanisms"}


def read_studies(directory: Path) -> dict[str, Results]:
    """The results of every study in a directory, in the order of the catalogue."""
    try:
        from gridveil.study.store import read_results  # noqa: PLC0415 - pyarrow is an extra
    except ImportError as missing:
        raise ReportError(f"reading results needs {missing.name}; {how_to_install('report')}") from None
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
    draws, each = results.values("draw", failed=True), _draws(study, results)[1]
    declared = "" if len(draws) >= study.draws else f" (the study declares {study.draws})"
    known = read_about(directory / f"study={study.name}") or {"gridveil": "an unknown version"}
    return (
        f"Cases: {', '.join(results.values('case', failed=True))}. Settings, every combination: {'; '.join(settings)}"
        f"{'; fixed ' + ', '.join(given) if given else ''}. {each} draws of each combination{declared}: "
        f"{results.tasks} tasks, {len(results.failed)} failed. Noise comes from a seeded generator, the seed being a "
        f"digest of the task's name, so that every number here can be made again. "
        f"Study {study.name}, version {study.version}, begun with GridVeil {known['gridveil']}."
    )


def _draws(study: Study, results: Results) -> tuple[int, str]:
    """How many combinations of network and settings were drawn, and how often each."""
    keyed: dict[tuple[object, ...], set[int]] = {}
    for row in (*results.rows, *results.failed):
        keyed.setdefault((row["case"], *(row[name] for name in study.settings)), set()).add(row["draw"])
    counts = sorted(len(found) for found in keyed.values())
    each = f"{counts[0]}" if counts and counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}" if counts else "no"
    return len(counts), each


def measured(study: Study, results: Results) -> str:
    """What the answer rests on: networks, draws, and what failed, in two sentences."""
    cases = [str(case) for case in results.values("case", failed=True)]
    many, each = _draws(study, results)
    draws = "1 draw" if each == "1" else f"{each} draws"
    words = (
        f"Measured on {counted(len(cases), 'network')} ({listed(cases)}) with {draws} of "
        f"{'the one combination' if many == 1 else f'each of {many:,} combinations'} of network and settings, "
        f"{counted(results.tasks, 'task')} in all."
    )
    if not results.failed:
        return f"{words} None failed."
    error, count = results.errors()[0]
    return (
        f"{words} {len(results.failed):,} failed and {'is' if len(results.failed) == 1 else 'are'} in no figure; "
        f"{count:,} of them with: {error.rstrip('.')}."
    )


def section(name: str, results: Results) -> Section:
    """The figures and tables of one study."""
    if not results.rows:
        return Section()
    made = made_of(name, results, STUDIES[name].section)
    answer = made.answer if made.answer is not None and made.answer.legend() else None
    return replace(made, answer=answer, charts=tuple(chart for chart in made.charts if chart.panels))


def made_of(name: str, results: Results, make: Callable[[Results], Made]) -> Made:
    """What a function makes of results; where rows lack what it needs, a sentence says what they lack."""
    try:
        return make(results)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        lacking = [one for one in STUDIES[name].columns if any(row[one] is None for row in results.rows)]
        if not lacking:
            raise
        raise ReportError(
            f"results of {name} have rows without {', '.join(lacking)}, and nothing can be drawn; move the damaged "
            "part away and run the study again"
        ) from error
