"""Results of every study without solving anything: the right columns, numbers from a seeded generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridveil.study.attacked import RULES, WHO
from gridveil.study.catalogue import STUDIES
from gridveil.study.declare import Study
from gridveil.study.store import Store

EDGES = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1), (2, 5), (3, 5), (3, 5)]
FAILURE = "SolveError: <b>no</b> network & no luck"


def fake_rows(study: Study, settings: dict[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    """What one task of a study might have found."""

    def filled(**known: Any) -> dict[str, Any]:
        made: dict[type, Any] = {
            float: lambda: float(rng.uniform(1, 90)),
            int: lambda: int(rng.integers(1, 9)),
            bool: lambda: bool(rng.random() < 0.7),
            str: lambda: "optimal",
        }
        return {name: made[kind]() for name, kind in study.columns.items()} | known

    if study.name == "resistances":
        return [
            filled(
                line=i + 1,
                bus_from=a,
                bus_to=b,
                r=0.01 * (i % 4),
                x=0.1,
                released_r=0.01 * i * rng.normal(1, 0.2),
                released_x=0.1 * rng.lognormal(0, 0.4),
            )
            for i, (a, b) in enumerate(EDGES)
        ]
    if study.name == "gaps":
        return [
            filled(
                relaxation=name, original_pct=1.5, released_pct=None if rng.random() < 0.1 else float(rng.uniform(1, 3))
            )
            for name in ("soc", "qc")
        ]
    if study.name in ("attacks", "attacks-fine", "time-series-attacks", "interdiction"):
        who = ("real", "released", "interdiction") if study.name == "interdiction" else WHO
        return [
            filled(attacker=one, restoration=rules, budget=budget)
            for rules in RULES
            for one in who
            for budget in (5.0, 10.0)
        ]
    if study.name == "costs":
        return (
            [filled(feasible=True)]
            if rng.random() < 0.8
            else [{"feasible": False, "cost": None, "difference_pct": None}]
        )
    if study.name == "feasibility":
        return [filled(certified=None if settings["mechanism"] == "laplace" else True)]
    return [filled(path="as drawn")] if "path" in study.columns else [filled()]


def fill(directory: Path, study: Study, cases: tuple[str, ...] | None = None, draws: int = 2) -> None:
    """Results of one study; the very first task failed."""
    cases = cases or study.cases[: 1 if study.name == "interdiction" else 2]
    with pytest.MonkeyPatch.context() as patch:  # nobody pulls the plug on a test: no need to wait for the disk
        patch.setattr("os.fsync", lambda handle: None)
        _fill(directory, study, cases, draws)


def _fill(directory: Path, study: Study, cases: tuple[str, ...], draws: int) -> None:
    store = Store.open(directory, study, dict.fromkeys(cases, "digest"))
    rng = np.random.default_rng(7)
    for number, task in enumerate(study.tasks(cases, draws, {})):
        rows = [] if number == 0 else fake_rows(study, dict(task.settings), rng)
        if study.name == "scale" and rows:
            rows[0]["buses"] = 10 ** (1 + cases.index(task.case))
        store.add(task, rows, 0.1, FAILURE if number == 0 else None)
    store.flush()
    store.close()


def fill_all(directory: Path) -> Path:
    """Results of every study."""
    for study in STUDIES.values():
        fill(directory, study)
    return directory
