"""Campaigns of releases in one process each: a kind of fault, many times."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from .injectors import at_line, at_operation, at_phase, clock_back, listing, nothing
from .invariants import bundle_files, charge_entries, faults
from .record import Record
from .scene import BUNDLE, Scene, begin
from .trial import Injector, Outcome, Outside, attempt, warm

SCENES = (Scene(), Scene(force=True), Scene("private"), Scene("private", force=True), Scene(fresh=True))
SOFT = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGUSR1")
STARVED = ("disk full", "no descriptors", "no memory", "no file can be opened", "no file can be written")


class Stage:
    """Where the trials of a scene take place; what they begin from is made once."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene, self._folder, self._trial = scene, folder, folder / "trial"
        scene.prepare(folder / "warm")  # solves what trials remember
        scene.release(folder / "warm" / f"template-{scene.name}")
        warm(scene, folder)
        self.template = scene.prepare(folder)
        self.before, self.old = len(charge_entries(self.template)), bundle_files(self.template / BUNDLE)

    @property
    def trial(self) -> Path:
        """Where the next trial is made."""
        return self._trial

    def run(self, injector: Injector, after: float | None = None, strike: Outside | None = None) -> Outcome:
        """One trial, left as it ended."""
        shutil.rmtree(self._trial, ignore_errors=True)
        begin(self.template, self._trial)
        return attempt(self.scene, self._trial, injector, after, strike)

    def faults(self, outcome: Outcome, *, struck: bool = False, tidy: bool = True) -> list[str]:
        """What is wrong after a trial; also that its injector never struck, unless it was `struck` from outside.

        It need not be `tidy` where the clearing up itself may fail, or not yet be due; the next release does it then.
        """
        found = faults(self.scene, self._trial, outcome, self.before, self.old, tidy=tidy)
        return found if struck or outcome.hit else ["it was not hit", *found]

    def told(self, injector: Injector, prefix: str) -> list[str]:
        """What a trial without faults tells of one kind."""
        outcome = self.run(injector)
        assert outcome.code == 0, outcome.stderr
        return [word.removeprefix(prefix) for word in outcome.told if word.startswith(prefix)]


@contextmanager
def timed(injector: str) -> Iterator[Record]:
    """A record that knows how long it took."""
    record, start = Record(injector), monotonic()
    yield record
    record.seconds = monotonic() - start


def _stages(folder: Path) -> list[Stage]:
    return [Stage(scene, folder / scene.name) for scene in SCENES]


def phases(folder: Path, count: int, seed: int, acts: tuple[str, ...], title: str) -> Record:
    """Every place of every scene in turn, each act in turn, until there are `count` trials."""
    stages = _stages(folder)
    places = [(stage, place) for stage in stages for place in stage.told(listing, "phase ")]
    order = random.Random(seed)
    todo = [(stage, place, act) for act in acts for stage, place in places]
    order.shuffle(todo)
    with timed(title) as record:
        for number in range(count):
            stage, place, act = todo[number % len(todo)]
            tidy = not act.startswith("no file can")
            record.add(f"{act}, {place}", stage.faults(stage.run(at_phase(place, act)), tidy=tidy))
    return record


def kills(folder: Path, count: int, seed: int) -> Record:
    """SIGKILL at every place in turn."""
    return phases(folder, count, seed, ("SIGKILL",), "SIGKILL at a phase")


def signals(folder: Path, count: int, seed: int) -> Record:
    """Requests to end, at every place."""
    return phases(folder, count, seed, SOFT, "a request to end at a phase")


def starved(folder: Path, count: int, seed: int) -> Record:
    """Out of memory, of disk, of descriptors, at every place."""
    return phases(folder, count, seed, STARVED, "no memory, disk or descriptors from a phase on")


def lines(folder: Path, count: int, seed: int) -> Record:
    """A request to end, or a kill, at any line of ours after the charge; each line as often as any other."""
    stages = [Stage(scene, folder / scene.name) for scene in (Scene(force=True), Scene("private"))]
    found: list[tuple[Stage, int, str]] = []
    for stage in stages:
        firsts: dict[str, list[int]] = {}
        for number, place in enumerate(stage.told(at_line(None), "line "), start=1):
            firsts.setdefault(place, []).append(number)
        for place, numbers in firsts.items():  # the first and the last time that a line is reached
            found += [(stage, number, place) for number in dict.fromkeys((numbers[0], numbers[-1]))]
    todo = [(*one, act) for one in found for act in ("SIGTERM", "SIGINT", "SIGKILL")]
    random.Random(seed).shuffle(todo)
    with timed("SIGTERM, SIGINT, SIGKILL at a line") as record:
        for stage, number, place, act in todo[:count]:
            record.add(f"{act}, {place}", stage.faults(stage.run(at_line(number, act)), tidy=False))
    return record


def operations(folder: Path, count: int, seed: int) -> Record:
    """Every operation on a file fails once in every scene and for every reason, or `count` of them."""
    todo = []
    for stage in _stages(folder):
        total = len(stage.told(at_operation(stage.trial, None), "operation "))
        todo += [(stage, n, act) for n in range(1, total + 1) for act in ("disk full", "no descriptors", "no memory")]
    random.Random(seed).shuffle(todo)
    with timed("each file operation fails") as record:
        for stage, number, act in todo[:count]:
            record.add(act, stage.faults(stage.run(at_operation(stage.trial, number, act)), tidy=False))
    return record


def moments(folder: Path, count: int, seed: int) -> Record:
    """SIGKILL at any time of a release that really solves; one that was over before is made again."""
    stages = [Stage(Scene(cost, force=force, solving=True), folder / f"{cost}{force}") for cost, force in
              (("derived", False), ("derived", True), ("private", False), ("private", True))]  # fmt: skip
    order = random.Random(seed)
    longest = {stage: max(stage.run(nothing).seconds for _ in range(3)) for stage in stages}
    with timed("SIGKILL at any time") as record:
        while record.n < count:
            stage = order.choice(stages)
            outcome = stage.run(nothing, order.uniform(0.0, longest[stage]), _kill)
            if outcome.code == -signal.SIGKILL:
                record.add(stage.scene.name, stage.faults(outcome, struck=True))
    return record


def clock(folder: Path, count: int, seed: int) -> Record:
    """The clock goes back."""
    stages = _stages(folder)
    with timed("clock set back") as record:
        for number in range(count):
            stage = stages[number % len(stages)]
            outcome = stage.run(clock_back(seed + number))
            wrong = stage.faults(outcome) + ([] if outcome.code == 0 else [f"exit {outcome.code}"])
            record.add(stage.scene.name, wrong)
    return record


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


Campaign = Callable[[Path, int, int], Record]
