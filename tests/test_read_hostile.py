"""Hostile files: what is no regular file, what is too large, and what would take a careless reader for ever."""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile import read
from gridveil.casefile.profile import read_profile
from gridveil.casefile.quirks import quirks
from gridveil.cli.main import app
from gridveil.errors import CaseFileError

from .hostile import HOSTILE

Reader = Callable[[Path], None]
SPAN = 16
LINEAR, DOUBTFUL, SQUARE = 2 * SPAN, 4 * SPAN, 8 * SPAN
"""What 16 times the text may take, from where on it is tried on more, and what only a square takes: that is 256 times."""
MEASURABLE = 0.0015
"""Seconds of processor time: less says nothing."""
LARGEST = 5_000_000
BYTES_PER_BYTE = 100


def try_to_read(path: Path) -> None:
    with suppress(CaseFileError):
        quirks(read(path))


def seconds(path: Path, reader: Reader, tries: int = 1) -> float:
    """Processor time, the least of some tries: a busy machine does not change it much."""
    found = []
    for _ in range(tries):
        begin = time.process_time()
        reader(path)
        found.append(time.process_time() - begin)
    return min(found)


def more_than_linear(folder: Path, make: Callable[[int], bytes], reader: Reader) -> str | None:
    """What is wrong if 16 times the text takes much more than 16 times as long.

    Chance has several tries, and the system, which gives memory slowly when much is wanted, has a larger text. A square
    has no chance: the smaller time is the least of three, and would have to be wrong by 8 in each.
    """
    small, large, n, doubts = folder / "small.m", folder / "large.m", 20_000, 0
    while True:
        small.write_bytes(make(n))
        one = seconds(small, reader)
        if one >= MEASURABLE or SPAN * n >= LARGEST:
            large.write_bytes(make(SPAN * n))
            one, many = min(one, seconds(small, reader, 2)), float("inf")
            for tried in range(5):
                many = min(many, seconds(large, reader))
                if many < max(LINEAR * one, MEASURABLE):
                    return None
                if many > SQUARE * one and tried:
                    break
            doubts = doubts + 1 if many > DOUBTFUL * one else 0
            if doubts == 2 or many > SQUARE * one:
                return f"{n} bytes take {one:.4f} s, {SPAN * n} bytes {many:.3f} s"
            if not doubts and SPAN * n >= LARGEST:
                return None
        n *= 4


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear(tmp_path: Path, name: str) -> None:
    assert more_than_linear(tmp_path, HOSTILE[name], try_to_read) is None


def with_counts(path: Path) -> None:
    """Counts the statements before a place, again and again."""
    text = path.read_bytes()
    for place in range(0, len(text), 32):
        text.count(b"=1", 0, place)


def with_a_pattern(path: Path) -> None:
    """Looks for an end that never comes, from every fourth byte on."""
    re.search(rb"[^#]+#", path.read_bytes()[::4])


@pytest.mark.parametrize("careless", [with_counts, with_a_pattern])
def test_time_that_is_not_linear_is_found(tmp_path: Path, careless: Reader) -> None:
    assert "bytes take" in (more_than_linear(tmp_path, HOSTILE["number statements"], careless) or "nothing")


@pytest.mark.parametrize("name", HOSTILE)
def test_memory_is_linear(tmp_path: Path, name: str) -> None:
    path, n = tmp_path / "x.m", 50_000
    path.write_bytes(HOSTILE[name](n))
    try_to_read(path)  # what is loaded once
    tracemalloc.start()
    try_to_read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BYTES_PER_BYTE * n


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_regular_files_only(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.csv"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    for attempt in (lambda: read(path), lambda: read_profile(path, gv.load("case5").grid)):
        with pytest.raises(CaseFileError, match=r"cannot be read \(it is"):
            attempt()
    parquet = path.rename(tmp_path / "x.parquet")
    with pytest.raises(CaseFileError, match=r"cannot be read \(it is"):
        read_profile(parquet, gv.load("case5").grid)


def test_size_limit(tmp_path: Path, tiny_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file of 513 MB is refused without being read, and the sentence says how to allow it."""
    path = tiny_file(append="% " + "x" * 3_000_000)
    large = tmp_path / "large.m"
    with large.open("wb") as stream:
        stream.truncate(513_000_000)
    with pytest.raises(CaseFileError, match=r"513 MB, more than the 512 MB.*--max-size.*GRIDVEIL_MAX_SIZE"):
        read(large)
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "2.5")
    with pytest.raises(CaseFileError, match=r"more than the 2.5 MB"):
        read(path)
    with pytest.raises(CaseFileError, match=r"more than the 2.5 MB"):
        read_profile(path.rename(tmp_path / "x.csv"), gv.load("case5").grid)
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "much")
    with pytest.raises(CaseFileError, match="GRIDVEIL_MAX_SIZE is not a number of MB"):
        read(large)


def test_size_limit_of_commands(tiny_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny_file(append="% " + "x" * 3_000_000)
    run = CliRunner().invoke
    assert run(app, ["info", str(path)]).exit_code == 0
    refused = run(app, ["--max-size", "2", "info", str(path)])
    assert refused.exit_code == 2
    assert "more than the 2 MB" in " ".join(refused.stderr.split())
    assert run(app, ["info", str(path)]).exit_code == 0  # it holds for the one command
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "2")
    assert run(app, ["info", str(path)]).exit_code == 2
    assert run(app, ["--max-size", "4", "info", str(path)]).exit_code == 0


def test_a_profile_unfolds_no_further_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet of a few kilobytes can hold any number of equal rows; a header of CSV any number of columns."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    grid = gv.load("case5").grid
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "1")
    rows = 200_000
    parquet.write_table(pa.table({"step": pa.repeat(1.0, rows), "scale": pa.repeat(1.0, rows)}), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 10_000
    with pytest.raises(CaseFileError, match="more than the 1 MB"):
        read_profile(tmp_path / "x.parquet", grid)
    (tmp_path / "x.csv").write_text("," * 40_000 + "\n" + "1\n" * 40_000)
    with pytest.raises(CaseFileError, match="columns"):
        read_profile(tmp_path / "x.csv", grid)
