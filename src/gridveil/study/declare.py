"""What a study is: a grid of settings, a number of draws, and the work of one draw. Each draw is a task with a key.

A task's key names everything it depends on, its seed is a digest of the key, and its rows depend on nothing else: it
can be run anywhere, in any order, and again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite
from typing import Any

from gridveil.charts.chart import Section
from gridveil.charts.numbers import exact
from gridveil.charts.results import Results
from gridveil.errors import StudyError
from gridveil.grid import Network
from gridveil.wall.facts import Source
from gridveil.wall.mechanisms import OF_LINES, WORDS

Setting = str | float | int
Settings = dict[str, Setting]
Row = dict[str, Any]
Work = Callable[[Network, Settings, int], list[Row]]


def _nothing(results: Results) -> Section:
    return Section()


@dataclass(frozen=True)
class Study:
    """A declared study. `columns` are the figures of a row and their types: float, int, str or bool.

    `question` is what it asks, in one sentence, and `section` makes of its rows what a report says and shows.
    `settings` maps names to their values; every combination is run `draws` times on every case. `paper` says which
    table or figure it reproduces. A higher `version` means that old results must not be mixed with new ones.
    """

    name: str
    title: str
    paper: str
    cases: tuple[str, ...]
    settings: Mapping[str, tuple[Setting, ...]]
    columns: Mapping[str, type]
    work: Work
    draws: int = 100
    version: int = 1
    question: str = ""
    section: Callable[[Results], Section] = _nothing

    def tasks(self, cases: Sequence[str], draws: int, settings: Mapping[str, Sequence[Setting]]) -> list[Task]:
        """Every task, draws outermost: a study that is stopped early has some draws of everything."""
        for name, values in settings.items():
            self._check(name, values)
        chosen = {name: tuple(dict.fromkeys(settings.get(name, values))) for name, values in self.settings.items()}
        combinations = [tuple(zip(chosen, values, strict=True)) for values in product(*chosen.values())]
        return [
            Task(self.name, case, combination, draw)
            for draw in range(draws)
            for case in cases
            for combination in combinations
        ]

    def _check(self, name: str, values: Sequence[Setting]) -> None:
        """Refuse a setting that no draw could work with, before anything is run."""
        if name not in self.settings:
            known = ", ".join(self.settings)
            raise StudyError(f"the study '{self.name}' has no setting '{name}'; it has {known}")
        for value in values:
            if name == "mechanism" and value not in (usable := self._mechanisms()):
                raise StudyError(f"there is no mechanism '{value}' for '{self.name}'; choose from {', '.join(usable)}")
            if name == "source" and value not in tuple(Source):
                raise StudyError(f"there is no source '{value}' of the cost; choose from {', '.join(Source)}")
            if not isinstance(value, str) and not (isfinite(value) and value > 0):
                raise StudyError(f"{name} = {value} must be a positive, finite number")
            if name == "beta" and float(value) >= 1:
                raise StudyError(f"beta = {value} would allow any cost; give shares below 1")
            if name == "steps" and int(value) > (most := max(int(one) for one in self.settings["steps"])):
                raise StudyError(f"steps = {value} is more than the study's horizon has; give {most} or less")

    def _mechanisms(self) -> tuple[str, ...]:
        """Any that makes releases, and the bare noise where the study declares it."""
        declared = self.settings.get("mechanism", ())
        return tuple(name for name in WORDS if name in OF_LINES or name in declared)


@dataclass(frozen=True)
class Task:
    """One draw of one combination of settings on one case."""

    study: str
    case: str
    settings: tuple[tuple[str, Setting], ...]
    draw: int

    @cached_property
    def key(self) -> str:
        """The task's name: stable over runs, machines and numbers of workers."""
        parts = [f"{name}={exact(value)}" for name, value in self.settings]
        return "/".join([self.study, self.case, *parts, f"draw={self.draw}"])

    @property
    def seed(self) -> int:
        """The seed of the task's noise, from its key."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:8], "big")
