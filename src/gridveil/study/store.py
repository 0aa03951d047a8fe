"""Results on disk: DIR/study=NAME/ holds `_study.json`, Parquet parts, and a journal of what is not yet in a part.

Every finished task is a line of the journal, on disk before the next is counted as done; from time to time the journal
becomes a part, which appears under its name only when it is whole. A kill at any moment loses the tasks in flight: rows
that are both in a part and in the journal are counted once, a torn last line is dropped, a torn part never had a name.
Readers of Parquet datasets skip files that begin with an underscore, so DIR can be read by any of them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from gridveil import __version__
from gridveil.errors import StudyError
from gridveil.files import sync_file, write_whole
from gridveil.study.declare import Row, Study, Task
from gridveil.study.found import foreign, lacking, read_about, read_journal, read_parts, runs_of
from gridveil.study.lock import locked

FORMAT = "gridveil-study-1"
PART_ROWS = 20_000
_PART = re.compile(r"part-(\d+)\.parquet")
_TYPES = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}
_COMMON = {"entry": int, "key": str, "case": str, "draw": int, "status": str, "error": str, "task_seconds": float}


class Store:
    """The results of one study in one directory."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder, self.study = folder, study
        values = {name: type(choices[0]) for name, choices in study.settings.items()}
        self.schema = pa.schema(
            [(name, _TYPES[kind]) for name, kind in (_COMMON | values | dict(study.columns)).items()]
        )
        self._needed = ("entry", "key", "case", "draw", "status", *values)
        self.journal = folder / "_journal.jsonl"
        self._pending: list[Row] = []
        self._stream: Any = None
        self._entry = 0
        self._lock: Any = None

    @staticmethod
    def open(directory: Path, study: Study, cases: Mapping[str, str]) -> Store:
        """Open or begin the results of a study; `cases` are the digests of its networks by name."""
        check_directory(directory)
        store = Store(directory / f"study={study.name}", study)
        try:
            store.folder.mkdir(parents=True, exist_ok=True)
            store._lock = locked(store.folder, "running this study")
            store._begin(cases)
            store._recover()
        except OSError as error:
            store.close()
            raise _unwritable(store.folder, error) from error
        except StudyError:
            store.close()
            raise
        return store

    def _begin(self, cases: Mapping[str, str]) -> None:
        """Write down what the directory is for, or refuse it if it is for something else."""
        folder, study = self.folder, self.study
        about = {"format": FORMAT, "study": study.name, "version": study.version, "gridveil": __version__}
        known = read_about(folder) or {**about, "cases": {}}
        if not (folder / "_study.json").exists() and (self._parts() or self.journal.exists()):
            raise StudyError(f"{folder} has results, but {folder.name}/_study.json is gone; choose another --out")
        for name in ("format", "study", "version"):
            if known[name] != about[name]:
                raise StudyError(
                    f"{folder} holds results of {name} '{known[name]}', not '{about[name]}'; "
                    "they are not mixed: choose another --out"
                )
        for name, digest in cases.items():
            if known["cases"].setdefault(name, digest) != digest:
                raise StudyError(f"{folder} has results of another network named {name}; choose another --out")
        write_whole(folder / "_study.json", json.dumps(known, indent=2) + "\n")

    def done(self, *, failed: bool = True) -> set[str]:
        """Keys of the tasks that need no run; without `failed`, those that failed are to be run again."""
        table = self.table()
        keys, status = table["key"].to_pylist(), table["status"].to_pylist()
        return {key for key, outcome in zip(keys, status, strict=True) if failed or outcome == "ok"}

    def add(self, task: Task, rows: Sequence[Row], seconds: float, error: str | None = None) -> None:
        """Record a finished task, on disk."""
        self._entry += 1
        head = {
            "entry": self._entry,
            "key": task.key,
            "case": task.case,
            "draw": task.draw,
            **dict(task.settings),
            "task_seconds": seconds,
        }
        outcome = {"status": "ok", "error": None} if error is None else {"status": "failed", "error": error}
        records = [{**head, **outcome, **row} for row in (rows or [{}])]
        try:
            self._stream = self._stream or self.journal.open("a", encoding="utf-8")
            self._stream.write(json.dumps(records) + "\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._pending += records
            if len(self._pending) >= PART_ROWS:
                self.flush()
        except OSError as problem:
            raise _unwritable(self.folder, problem) from problem

    def close(self) -> None:
        """Let go of the directory."""
        self._close_journal()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _close_journal(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def flush(self) -> None:
        """Turn the journal into a part."""
        self._close_journal()
        if self._pending:
            numbers = [int(name[1]) for part in self._parts() if (name := _PART.fullmatch(part.name))]
            number = 1 + max(numbers, default=0)
            target = self.folder / f"part-{number:06d}.parquet"
            staging = self.folder / f"_{target.name}.staging"
            table = self._rows(self._pending)
            try:
                parquet.write_table(table, staging)
                sync_file(staging)
                staging.replace(target)
            except OSError as problem:
                staging.unlink(missing_ok=True)
                raise _unwritable(self.folder, problem) from problem
        self.journal.unlink(missing_ok=True)
        self._pending = []

    def _rows(self, rows: Sequence[Row]) -> pa.Table:
        try:
            table = pa.Table.from_pylist([{n: row.get(n) for n in self.schema.names} for row in rows], self.schema)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            table = None
        if table is None or lacking(table, self._needed):
            raise StudyError(
                f"{self.journal} has a value of another type, or lacks one; delete the damaged line, and its task is "
                "run again"
            )
        return table

    def table(self) -> pa.Table:
        """All rows; of a task that was run again, those of its last run."""
        parts = read_parts(self._parts(), self.schema, self._needed)
        there = {run for part in parts for run in runs_of(part)}
        rows = [row for row in self._pending if (row["entry"], row["key"]) not in there]
        table = pa.concat_tables([*parts, self._rows(rows)])
        runs = runs_of(table)
        last = {key: entry for entry, key in sorted(runs)}
        return table.filter(pa.array([last[key] == entry for entry, key in runs], pa.bool_()))

    def with_journal(self) -> Store:
        """This store with the journal's rows, for reading while another process writes."""
        self._pending = [row for records in read_journal(self.journal) for row in records]
        return self

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _recover(self) -> None:
        """Take up what an earlier run left in its journal."""
        for torn in self.folder.glob("*.staging"):
            torn.unlink()
        parts = read_parts(self._parts(), self.schema, self._needed)
        there = {run for part in parts for run in runs_of(part)}
        self._entry = max((entry for entry, _ in there), default=0)
        for records in read_journal(self.journal):
            entry, key = records[0]["entry"], records[0]["key"]
            self._pending += [] if (entry, key) in there else records
            self._entry = max(self._entry, entry)
        self.flush()


def check_directory(directory: Path) -> None:
    """Refuse a directory that is something else than results of studies."""
    if directory.exists() and not directory.is_dir():
        raise StudyError(f"{directory} is not a directory; choose another --out")
    if (directory / "_study.json").exists():
        raise StudyError(f"{directory} is the inside of a results directory; give {directory.parent}")
    try:
        others = foreign(directory) if directory.exists() else []
    except OSError as error:
        raise StudyError(f"{directory} cannot be read ({error.strerror}); choose another") from None
    if others:
        raise StudyError(f"{directory} holds other things ({others[0]}); give a new directory or one of results")


def read_results(directory: Path, studies: Mapping[str, Study]) -> dict[str, pa.Table]:
    """The results in a directory, a table per study; a study that is still running is read as far as it is."""
    check_directory(directory)
    found: dict[str, pa.Table] = {}
    for folder in sorted(directory.glob("study=*")) if directory.is_dir() else []:
        about = read_about(folder)
        if about is None:
            continue
        study = studies.get(folder.name.removeprefix("study="))
        if (
            study is None
            or about["study"] != study.name
            or (about["format"], about["version"]) != (FORMAT, study.version)
        ):
            raise StudyError(
                f"{folder} holds other results than its name says, or was written by another version of GridVeil "
                f"({about['gridveil']})"
            )
        found[study.name] = Store(folder, study).with_journal().table()
    if not found:
        raise StudyError(f"there are no results in {directory}; run `gridveil study NAME --out {directory}` first")
    return found


def _unwritable(folder: Path, error: OSError) -> StudyError:
    return StudyError(
        f"results cannot be written to {folder} ({error.strerror}); what is there stays, run the same command again "
        "when there is room"
    )
