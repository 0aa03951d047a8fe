"""Directories of results that were damaged, copied or tidied by others: a sentence or nothing, and no row twice."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("pyarrow", reason="the extra 'study' is not installed")

import pyarrow as pa
from pyarrow import parquet

from gridveil.cli.main import app
from gridveil.errors import GridVeilError, StudyError
from gridveil.study.catalogue import STUDIES
from gridveil.study.declare import Task
from gridveil.study.sections import read_studies, section
from gridveil.study.store import Store, read_results
from tests.fake_results import fill
from tests.studies import COUNT

CASES = {"case5_pjm": "digest"}
FOLDER = "study=counting"


def task(draw: int) -> Task:
    return Task("counting", "case5_pjm", (("alpha", 1.0),), draw)


def made(directory: Path) -> Path:
    """Two tasks in a part, two in the journal, whose run was killed."""
    store = Store.open(directory, COUNT, CASES)
    for draw in range(4):
        store.add(task(draw), [{"buses": 5}] * 2, 0.1)
        if draw == 1:
            store.flush()
    store.close()
    return directory / FOLDER


def read(directory: Path) -> list[int]:
    return sorted(read_results(directory, {"counting": COUNT})["counting"]["draw"].to_pylist())


def read_and_continue(directory: Path) -> list[int]:
    found = read(directory)
    Store.open(directory, COUNT, CASES).close()
    assert read(directory) == found
    return found


WHOLE = [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    "name", ["part-000002.parquet", "part-000001 (1).parquet", "part-000001 copy.parquet", "part-x.parquet"]
)
def test_a_copied_part_counts_once(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path)
    shutil.copy(folder / "part-000001.parquet", folder / name)
    assert read_and_continue(tmp_path) == WHOLE


def test_a_copied_line_counts_once(tmp_path: Path) -> None:
    folder = made(tmp_path)
    lines = (folder / "_journal.jsonl").read_text()
    (folder / "_journal.jsonl").write_text(lines + lines)
    assert read_and_continue(tmp_path) == WHOLE


def test_a_part_of_another_run_takes_nothing_away(tmp_path: Path) -> None:
    """Entries are numbered by each run: the same number is not the same task."""
    folder, other = made(tmp_path / "one"), tmp_path / "two"
    store = Store.open(other, COUNT, CASES)
    for draw in range(10, 14):
        store.add(task(draw), [{"buses": 5}], 0.1)
    store.flush()
    store.close()
    shutil.copy(other / FOLDER / "part-000001.parquet", folder / "part-000009.parquet")
    assert read_and_continue(tmp_path / "one") == [*WHOLE, 10, 11, 12, 13]


@pytest.mark.parametrize("name", [".DS_Store", "._study=counting", "Thumbs.db", "desktop.ini"])
def test_what_file_managers_leave(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path)
    (tmp_path / name).write_bytes(b"\0\1")
    (folder / name).write_bytes(b"\0\1")
    (folder / "._part-000001.parquet").write_bytes(b"\0\1")
    assert read_and_continue(tmp_path) == WHOLE


def put(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda record: record.update({name: value})


def journal(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Spoil the journal's first line."""

    def spoil(folder: Path) -> None:
        path = folder / "_journal.jsonl"
        first, *rest = path.read_text().splitlines()
        records = json.loads(first)
        change(records[0])
        path.write_text("\n".join([json.dumps(records).replace('"HUGE"', "1e400"), *rest, ""]))

    return spoil


def about(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        record = json.loads((folder / "_study.json").read_text())
        change(record)
        (folder / "_study.json").write_text(json.dumps(record).replace('"HUGE"', "1e400"))

    return spoil


def part(**columns: Any) -> Callable[[Path], None]:
    """Put other values into the part, or take a column (`...`) away."""

    def spoil(folder: Path) -> None:
        path = folder / "part-000001.parquet"
        table = parquet.read_table(path, partitioning=None)
        for name, value in columns.items():
            index = table.schema.get_field_index(name)
            table = table.remove_column(index)
            if value is not ...:
                table = table.add_column(
                    index, name, value if isinstance(value, pa.Array) else pa.array([value] * len(table))
                )
        parquet.write_table(table, path)

    return spoil


def content(name: str, text: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(text)

    return spoil


def replaced(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return spoil


def cut(folder: Path) -> None:
    path = folder / "part-000001.parquet"
    path.write_bytes(path.read_bytes()[:-20])


NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 4, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"), pa.py_buffer(b"\xff\xfe\xfd\xfc")]
)
DEEP = b"[" * 200_000
ODD: tuple[object, ...] = (None, "HUGE", [], {})
DAMAGE: dict[str, Callable[[Path], None]] = {
    **{
        f"{name}: {what}": content(name, text)
        for name in ("_study.json", "_journal.jsonl", "part-000001.parquet")
        for what, text in {
            "deep": DEEP + b"\n", "deep object": b'{"a":' * 100_000 + b"\n", "null": b"null\n", "number": b"1e400\n", "bytes": b"\xff\xfe\n",
            "text": b'"text"\n', "list of null": b"[null]\n", "list of lists": b"[[]]\n", "object": b'{"entry": 1}\n',
        }.items()
    },
    **{f"{name}: empty": content(name, b"") for name in ("_study.json", "part-000001.parquet")},
    **{f"{name}: directory": replaced(name, Path.mkdir) for name in ("_study.json", "_journal.jsonl", "part-000001.parquet")},
    **{f"{name}: pipe": replaced(name, os.mkfifo) for name in ("_study.json", "_journal.jsonl", "part-000001.parquet")},
    **{f"journal: {name} {value}": journal(put(name, value))
       for name in ("entry", "key", "case", "draw", "status", "alpha")
       for value in (*ODD, 10**30 if name != "key" else 1)},
    "journal: without key": journal(lambda row: row.pop("key")),
    "journal: figure of another type": journal(lambda row: row.update(buses="many")),
    "journal: figure beyond integers": journal(lambda row: row.update(buses=10**30)),
    "journal: infinite integer": journal(lambda row: row.update(buses="HUGE")),
    "journal: nested figure": journal(lambda row: row.update(twice=[[1.0]])),
    **{f"about: {name} {value}": about(put(name, value))
       for name in ("format", "study", "version", "gridveil", "cases") for value in ODD[:3]},
    "about: case null": about(lambda record: record["cases"].update(case5_pjm=None)),
    "about: without cases": about(lambda record: record.pop("cases")),
    "part: cut": cut,
    **{f"part: {name} null": part(**{name: pa.nulls(4, pa.string() if name in ("key", "case", "status") else pa.int64())})
       for name in ("entry", "key", "case", "draw", "status")},
    "part: without key": part(key=...),
    "part: setting null": part(alpha=pa.nulls(4, pa.float64())),
    "part: status of another kind": part(status="maybe"),
    "part: text for numbers": part(draw="many"),
    "part: not UTF-8": part(key=NOT_UTF8),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_ends_in_a_sentence(tmp_path: Path, damage: str) -> None:
    folder = made(tmp_path)
    DAMAGE[damage](folder)
    with pytest.raises(StudyError, match=r"damaged|cannot be read|another type|other results than its name says"):
        read(tmp_path)
    with pytest.raises(StudyError):
        Store.open(tmp_path, COUNT, CASES)


def test_a_directory_for_the_lock_or_the_study(tmp_path: Path) -> None:
    folder = tmp_path / "a" / FOLDER
    (folder / "_lock").mkdir(parents=True)
    with pytest.raises(StudyError, match="cannot be written"):
        Store.open(tmp_path / "a", COUNT, CASES)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / FOLDER).write_text("")
    with pytest.raises(StudyError, match="cannot be written"):
        Store.open(tmp_path / "b", COUNT, CASES)
    with pytest.raises(StudyError, match="there are no results"):
        read(tmp_path / "b")


@pytest.mark.parametrize(
    "damage", ["_study.json: deep", "_journal.jsonl: deep", "part: cut", "part: not UTF-8", "_study.json: directory"]
)
def test_commands_that_read_results(tmp_path: Path, damage: str) -> None:
    results = tmp_path / "results"
    fill(results, STUDIES["costs"])
    folder = results / "study=costs"
    (folder / "_journal.jsonl").write_text("")
    if damage == "part: not UTF-8":
        path = folder / "part-000001.parquet"
        table = parquet.read_table(path, partitioning=None)
        keys = pa.Array.from_buffers(
            pa.string(),
            len(table),
            [
                None,
                pa.py_buffer(b"".join((i).to_bytes(4, "little") for i in range(len(table) + 1))),
                pa.py_buffer(b"\xff" * len(table)),
            ],
        )
        parquet.write_table(table.set_column(table.schema.get_field_index("key"), "key", keys), path)
    else:
        DAMAGE[damage](folder)
    for command in (
        ["report", str(results), "-o", str(tmp_path / "r.html")],
        ["figure", "costs", str(results), "-o", str(tmp_path / "f.svg")],
    ):
        done = CliRunner().invoke(app, [*command, "--json"])
        assert done.exit_code == 2, done.output
        error = json.loads(done.stdout)["error"]
        assert "damaged" in error or "cannot be read" in error


@pytest.mark.parametrize("value", [None, math.inf])
@pytest.mark.parametrize("name", ["resistances", "attacks", "runtimes", "gaps", "promise", "scale"])
def test_figures_that_are_missing_or_infinite(tmp_path: Path, name: str, value: float | None) -> None:
    """Every column in turn: what is there is drawn, or a sentence says what is not."""
    study = STUDIES[name]
    fill(tmp_path, study, draws=1)
    path = tmp_path / f"study={name}" / "part-000001.parquet"
    whole = parquet.read_table(path, partitioning=None)
    for column, kind in study.columns.items():
        if value is not None and kind is not float:
            continue
        index = whole.schema.get_field_index(column)
        spoilt = pa.array([value] * len(whole), whole.schema.field(index).type)
        parquet.write_table(whole.set_column(index, column, spoilt), path)
        try:
            shown = section(name, read_studies(tmp_path)[name])
        except GridVeilError as error:
            assert f"rows without {column}" in str(error) or "finite" in str(error)
        else:
            assert all(chart.panels for chart in shown.charts)
