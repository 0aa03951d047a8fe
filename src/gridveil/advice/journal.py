"""Trials on disk: a line each, so that what was stopped goes on where it was. A torn last line is dropped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from gridveil.advice.choice import Choice
from gridveil.advice.stand_in import StandIn
from gridveil.advice.trials import Task
from gridveil.errors import StudyError
from gridveil.study.declare import Row

FORMAT = "gridveil-advice-1"


def begun_as(stand_ins: Sequence[StandIn], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """What trials are of; others cannot go on with them."""
    return {
        "format": FORMAT,
        "stand_ins": [[one.name, digest(one)] for one in stand_ins],
        "fixed": {name: fixed[name] for name in sorted(fixed)},
    }


def digest(stand_in: StandIn) -> str:
    """Of all numbers of a network."""
    made, network = hashlib.sha256(), stand_in.network
    parts = (network.grid.buses, network.grid.generators, network.grid.lines, network.grid.cost_p, network.lines)
    for part in parts:
        for name, values in sorted(vars(part).items()):
            made.update(name.encode() + b"\0" + values.tobytes())
    return made.hexdigest()[:16]


class Journal:
    """The file, or nothing where none was wanted."""

    def __init__(self, file: Path | None, about: Mapping[str, Any]) -> None:
        self.file, self._about = file, json.loads(json.dumps(about))
        self.rows: list[tuple[Task, Row]] = []
        if file is not None:
            self._read(file)

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_bytes().split(b"\n")
        except FileNotFoundError:
            lines = [b""]
        except OSError as error:
            raise StudyError(f"{file}: trials cannot be read ({error.strerror}); give another file") from error
        if len(lines) == 1 and not self._line(self._about).startswith(lines[0]):  # another's file, not to be cut off
            raise StudyError(f"{file} is no file of trials; give another, or none")
        self.rows, torn = _rows(file, lines, self._about), lines[-1]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("ab") as stream:
                stream.truncate(stream.tell() - len(torn))
            if len(lines) == 1:
                self._write(self._about)
        except OSError as error:
            raise StudyError(f"{file}: trials cannot be written ({error.strerror}); give another file") from error

    def add(self, task: Task, row: Row) -> None:
        """Keep a trial; it is on disk before it counts."""
        if self.file is not None:
            self._write({"task": [list(astuple(task.choice)), *task[1:]], "row": row})
        self.rows.append((task, row))

    @staticmethod
    def _line(record: Mapping[str, Any]) -> bytes:
        return json.dumps(record).encode() + b"\n"

    def _write(self, record: Mapping[str, Any]) -> None:
        if self.file is not None:
            with self.file.open("ab") as stream:
                stream.write(self._line(record))
                stream.flush()
                os.fsync(stream.fileno())


def looked_into(file: Path) -> list[tuple[Task, Row]]:
    """What stands in a file that somebody else may be writing just now, whatever it is of: nothing is touched."""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return []
    return _rows(file, lines)


def _rows(file: Path, lines: list[bytes], about: Any = None) -> list[tuple[Task, Row]]:
    """Trials of whole lines, the last being torn or empty; the first says what they are of."""
    try:
        found = [json.loads(line) for line in lines[:-1]]
    except ValueError:
        raise StudyError(f"{file} is no file of trials; give another, or none") from None
    if found and about is not None and found[0] != about:
        raise StudyError(
            f"{file} has trials of another network, another stand-in or other fixed options; give another file"
        )
    try:
        return [(_task(one["task"]), dict(one["row"])) for one in found[1:]]
    except (KeyError, TypeError, ValueError):
        raise StudyError(f"{file} has lines that are no trials; give another file, or none") from None


def _task(stored: Sequence[Any]) -> Task:
    choice, *rest = stored
    return Task(Choice(*choice), *rest)
