"""Kills of a study on Dask: its runner, a worker, the scheduler, one after the other. Nothing is lost, nothing doubled.

A study is begun, struck, looked at and run again, struck again, and at last run to its end. Its parts are small, so that
many are made; runners are killed from outside at any moment, or by themselves at a named place of their store.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from distributed.security import Security
from pyarrow import parquet

from gridveil.errors import StudyError
from gridveil.study import cluster as clusters
from gridveil.study import store as stores
from gridveil.study.runner import run_study
from gridveil.study.store import Store, read_results
from tests.studies import COUNT, slowly

from .campaigns import timed
from .dask_processes import PATIENCE, Forked, cluster, lives, load, serve_forks, workers_of
from .phases import Phases, put
from .record import Record
from .trial import Tell

DRAWS = 60
STUDY = replace(COUNT, work=slowly)
WANTED = {task.key: str(task.seed) for task in STUDY.tasks(list(STUDY.cases), DRAWS, {})}
LEGS = (("worker", "runner"), ("scheduler",), ("runner",), ("scheduler",), ("runner",), ("scheduler",))
LAST = (("worker", "worker"), ())
"""Two lost workers are survived by any task; the last runner is left alone."""
PLACES = (
    "half a line", "before the flush", "after the flush", "before the part", "after the part", "before its name",
    "after its name", "before the journal's end", "after the journal's end",
)  # fmt: skip
"""Of the store, in turn; from the part on they are also reached when a study is taken up again."""


def study(folder: Path, count: int, seed: int) -> Record:
    """Studies with nine kills each, three of each victim, until there are `count`."""
    put(stores, "PART_ROWS", 5)
    put(clusters, "PATIENCE", "1s")
    order, security = random.Random(seed), Security.temporary()
    places = cycle(order.sample(PLACES, len(PLACES)))
    load()
    with timed("kills of a study on Dask") as record:
        number = 0
        while record.n < count:
            number += 1
            story = Story(folder / f"results{number}", order, places, security, count - record.n)
            for kind, faults in story.told() or [("none", ["it was not hit"])]:
                record.add(kind, faults)
    return record


class Story:
    """One study from its first runner to its end."""

    def __init__(self, out: Path, order: random.Random, places: Iterator[str], security: Security, most: int) -> None:
        self._out, self._order, self._places, self._security, self._most = out, order, places, security, most
        self._kills: list[tuple[str, list[str]]] = []
        self._said, self._there, self._rows = 0, 0, 0

    def told(self) -> list[tuple[str, list[str]]]:
        """Every kill that hit, with what was wrong after it."""
        for victims in (*self._order.sample(LEGS, len(LEGS)), *LAST):
            found = self._leg(victims[: self._most - len(self._kills)], last=not victims)
            if self._kills:
                self._kills[-1][1].extend(found)
            elif found:
                self._kills.append(("none", found))
        return self._kills

    def _leg(self, victims: tuple[str, ...], *, last: bool) -> list[str]:
        """A runner that is struck, or loses what it needs; then it has ended, and what it left is looked at."""
        order, found = self._order, []
        inside = (next(self._places), order.randint(1, 6)) if victims == ("runner",) and order.random() < 0.6 else None
        with ExitStack() as stack:
            scheduler, address = None, None
            if "scheduler" in victims:
                scheduler, address = stack.enter_context(cluster(self._security))
            security = self._security if address else None
            act = partial(_run, self._out, order.choice((1, 2)), address, security, inside)
            runner = Forked(act)
            stack.callback(runner.close)
            children = set[int]()
            for victim in victims:
                if inside:
                    if not runner.ended():
                        found.append("the runner hangs")
                    elif runner.last("hit") is not None and runner.code == -signal.SIGKILL:
                        self._kills.append((f"runner, {inside[0]}", []))
                else:
                    found += self._strike(runner, victim, scheduler, children)
            found += self._end(runner, children, victims)
        found += self._look(last=last)
        self._there = self._rows
        return found

    def _strike(self, runner: Forked, victim: str, scheduler: Forked | None, children: set[int]) -> list[str]:
        """Kill something after so many tasks and a little more; with none, while the runner or its workers begin."""
        order = self._order
        after = order.choice((0, 0, *range(1, 7)))
        begin = len(_done(runner))
        if not runner.hear(lambda: len(_done(runner)) >= begin + after):
            return [] if not runner.lives or runner.last("end") else ["the runner hangs"]
        if victim == "worker":
            end = monotonic() + PATIENCE
            while not (pids := workers_of(runner)) and runner.lives and monotonic() < end:
                runner.hear(lambda: False, 0.01)
        runner.hear(lambda: False, order.uniform(0, 0.03 if after else 0.3))
        children |= set(pids := workers_of(runner))
        self._said = max([self._said, *_done(runner)])
        if victim == "scheduler" and scheduler is not None:
            if runner.lives and runner.last("end") is None:
                scheduler.kill()
                self._kills.append((victim, []))
        elif victim == "runner":
            runner.kill()
            if runner.ended() and runner.code == -signal.SIGKILL:
                self._kills.append((victim, []))
        elif pids:
            pid = order.choice(sorted(pids))
            os.kill(pid, signal.SIGKILL)
            runner.hear(lambda: any(line.startswith(f"ended {pid} ") for line in runner.told), 5.0)
            if f"ended {pid} {-signal.SIGKILL}" in runner.told:
                self._kills.append((victim, []))
                return self._look(last=False)
        return []

    def _end(self, runner: Forked, children: set[int], victims: tuple[str, ...]) -> list[str]:
        """What is wrong with how a runner ended: it may give up without its scheduler, or if its workers cannot start."""
        found, done = [], _done(runner)
        if not runner.ended():
            found.append(f"the runner waits on after the end of its {victims[-1] if victims else 'work'}")
        elif runner.code not in (0, -signal.SIGKILL):
            found.append(f"the runner ends with a traceback: …{(runner.last('traceback') or '')[-500:]}")
        elif (
            (words := runner.last("refused")) and "scheduler" not in victims and not ("worker" in victims and not done)
        ):
            found.append(f"the runner gives up: {words}")
        if done and done[0] != self._there + 1:
            found.append(f"{self._there} tasks were there, and it went on with {done[0]}")
        self._said = max([self._said, *done])
        if said := runner.last("failed"):
            found.append(f"tasks count as failed: {said}")
        end = monotonic() + PATIENCE
        while any(map(lives, children)) and monotonic() < end:
            sleep(0.01)
        return found + [f"worker {pid} lives on" for pid in children if lives(pid)]

    def _look(self, *, last: bool) -> list[str]:
        """What is wrong with the results, in a process of its own: reading starts threads."""
        looking = Forked(partial(_tell_results, self._out, last=last))
        if not looking.ended() or looking.code != 0:
            return [f"the results cannot be read: {looking.last('traceback')}"]
        rows: list[dict[str, Any]] = json.loads(str(looking.last("rows")))
        keys = [row["key"] for row in rows]
        self._rows, found = len(keys), []
        if len(keys) < self._said:
            found.append(f"{self._said} tasks were done, {len(keys)} are there")
        if len(set(keys)) != len(keys):
            found.append(f"{len(keys)} rows of {len(set(keys))} tasks")
        if last and set(keys) != set(WANTED):
            found.append(f"{len(set(keys))} tasks at the end, of {len(WANTED)}")
        if bad := [row["error"] for row in rows if row["status"] != "ok"]:
            found.append(f"{len(bad)} tasks count as failed: {bad[0][:120]}")
        elif any(row["seed"] != WANTED[row["key"]] for row in rows):
            found.append("a row is another's")
        return found


def _done(runner: Forked) -> list[int]:
    return [int(line.removeprefix("done ")) for line in runner.told if line.startswith("done ")]


def _run(
    out: Path, workers: int, address: str | None, security: Security | None, place: tuple[str, int] | None, tell: Tell
) -> None:
    """The runner's process."""
    serve_forks(tell)
    if place is not None:
        _hang(*place, tell)

    def progress(done: int, total: int, failed: int) -> None:
        tell(f"done {done}")
        if failed:
            tell(f"failed {failed}")

    try:
        run_study(STUDY, out, None, DRAWS, None, workers, address, security, progress=progress)
        tell("end ")
    except StudyError as error:
        tell(f"refused {error}")


def _hang(place: str, often: int, tell: Tell) -> None:
    """Kill this process when it reaches a place of the store for the n-th time."""

    def reach(name: str) -> None:
        if name == (place if often == 1 else f"{place} ({often})"):
            tell("hit ")
            os.kill(os.getpid(), signal.SIGKILL)

    phases, add = Phases(reach), Store.add

    def torn(store: Store, *given: Any) -> None:
        if place == "half a line":
            length = store.journal.stat().st_size if store.journal.exists() else 0
            with store.journal.open("a", encoding="utf-8") as stream:
                stream.write('[{"entry": 1000, "key": "counting/case5')
                stream.flush()
                phases.reach(place)
                stream.truncate(length)
        add(store, *given)

    put(Store, "add", torn)
    for owner, name, words in (
        (os, "fsync", "the flush"), (parquet, "write_table", "the part"), (Path, "replace", "its name"),
        (Path, "unlink", "the journal's end"),
    ):  # fmt: skip
        phases.around(owner, name, words)


def _tell_results(out: Path, tell: Tell, *, last: bool) -> None:
    """The rows there are: for who reads the results, and at the end also for any reader of Parquet."""
    if not any(out.glob("study=*/_study.json")):
        tell("rows []")
        return
    rows = read_results(out, {STUDY.name: STUDY})[STUDY.name].to_pylist()
    if last:
        plain = parquet.read_table(out)["key"].to_pylist()
        assert sorted(plain) == sorted(row["key"] for row in rows), f"{len(plain)} rows in parts, {len(rows)} read"
    tell("rows " + json.dumps([{name: row[name] for name in ("key", "status", "error", "seed")} for row in rows]))
