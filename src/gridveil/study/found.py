"""What is found in a directory of results, which may be damaged, copied or mixed: read, or refused in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet

from gridveil.errors import StudyError
from gridveil.study.declare import Row

# a file that is not JSON, JSON of another shape, nested deeper than can be read, a number beyond all bounds
_DAMAGE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
_ABOUT = {"format": str, "study": str, "version": int, "gridveil": str, "cases": dict}
_SYSTEM = ("Thumbs.db", "desktop.ini")


def foreign(directory: Path) -> list[str]:
    """Names in a directory of results that are none; what file managers leave everywhere does not count."""
    names = sorted(one.name for one in directory.iterdir())
    return [name for name in names if not name.startswith(("study=", ".")) and name not in _SYSTEM]


def read_about(folder: Path) -> dict[str, Any] | None:
    """What a study's folder says it is for, if it says anything."""
    path = folder / "_study.json"
    if not path.exists():
        return None
    try:
        about = json.loads(_content(path))
        for name, kind in _ABOUT.items():
            if not isinstance(about[name], kind):
                raise TypeError(f"{name} is not what it should be")
        if not all(isinstance(digest, str) for digest in about["cases"].values()):
            raise TypeError("a digest is not text")
        return {name: about[name] for name in _ABOUT}
    except _DAMAGE as error:
        raise StudyError(f"{path} is damaged ({_words(error)}); its results cannot be continued") from None


def read_journal(path: Path) -> list[list[Row]]:
    """The tasks in a journal; a last line without its end was torn by a crash, and was never counted."""
    if not path.exists():  # none yet, or another process has just made a part of it
        return []
    try:
        lines = _content(path).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    found: dict[tuple[int, str], list[Row]] = {}
    for number, line in enumerate(lines, 1):
        try:
            records = [_row(row) for row in json.loads(line)]
        except _DAMAGE as error:
            raise StudyError(
                f"{path}, line {number}, is damaged ({_words(error)}); delete that line, and its task is run again"
            ) from None
        if records:
            found.setdefault((records[0]["entry"], records[0]["key"]), records)
    return list(found.values())


def _row(row: Any) -> Row:
    for name, kind in {"entry": int, "key": str, "case": str, "draw": int, "status": str}.items():
        if type(row[name]) is not kind:
            raise TypeError(f"{name} is not what it should be")
    return dict(row)


def read_parts(paths: Sequence[Path], schema: pa.Schema, needed: Sequence[str]) -> list[pa.Table]:
    """The parts; what stands in an earlier one already, because a part was copied, is left out of the later."""
    tables: list[pa.Table] = []
    there: set[tuple[int, str]] = set()
    for path in paths:
        table = _part(path, schema, needed)
        runs = runs_of(table)
        if not there.isdisjoint(runs):
            table = table.filter(pa.array([run not in there for run in runs], pa.bool_()))
        there.update(runs)
        tables.append(table)
    return tables


def runs_of(table: pa.Table) -> list[tuple[int, str]]:
    """Which run of which task each row is of."""
    return list(zip(table["entry"].to_pylist(), table["key"].to_pylist(), strict=True))


def _part(path: Path, schema: pa.Schema, needed: Sequence[str]) -> pa.Table:
    try:
        if not path.is_file():
            raise OSError("it is no file")
        table = parquet.read_table(path, schema=schema, partitioning=None)
        table.validate(full=True)
    except (pa.ArrowException, OSError, *_DAMAGE) as error:
        raise _damaged(path, _words(error)) from None
    for name in lacking(table, needed):
        raise _damaged(path, f"a row has no {name}")
    if compute.any(compute.invert(compute.is_in(table["status"], pa.array(["ok", "failed"])))).as_py():
        raise _damaged(path, "a status is neither ok nor failed")
    return table


def lacking(table: pa.Table, needed: Sequence[str]) -> list[str]:
    """Columns that every row must have and some row has not; of a number, a finite one."""
    return [
        name
        for name in needed
        if table[name].null_count
        or (
            pa.types.is_floating(table[name].type)
            and not compute.all(compute.is_finite(table[name]), min_count=0).as_py()
        )
    ]


def _content(path: Path) -> bytes:
    """A file's bytes, which must be text; a pipe is not waited for."""
    try:
        if not path.is_file():
            raise OSError("it is no file")
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror or error}); move it away") from None
    return content


def _damaged(path: Path, why: str) -> StudyError:
    return StudyError(f"{path} is damaged ({why}); move it away, and its tasks will be run again")


def _words(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]}"
    return (str(error).splitlines() or [type(error).__name__])[0]
