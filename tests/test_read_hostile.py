"""Hostile files: what is no regular file, what is too large, and what would take a careless reader for ever."""

from __future__ import annotations

import os
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

MEASURABLE = 0.01
BYTES_PER_BYTE = 100


def try_to_read(path: Path) -> None:
    with suppress(CaseFileError):
        quirks(read(path))


def seconds(path: Path, make: Callable[[int], bytes], n: int) -> float:
    """Processor time: a busy machine does not change it much."""
    path.write_bytes(make(n))
    begin = time.process_time()
    try_to_read(path)
    return time.process_time() - begin


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear(tmp_path: Path, name: str) -> None:
    """Twice the text takes less than 2.5 times the time, over two doublings; chance has several tries, a square none.

    What takes milliseconds may be the machine's doing (memory that no longer fits a cache): it is tried on more.
    """
    path, make, n = tmp_path / "x.m", HOSTILE[name], 20_000
    while seconds(path, make, n) < MEASURABLE and n < 1_000_000:
        n *= 2
    while True:
        one, four = float("inf"), float("inf")
        for _ in range(6):
            one, four = min(one, seconds(path, make, n)), min(four, seconds(path, make, 4 * n))
            if four < 2.5**2 * one or four < MEASURABLE:
                return
        if one > 10 * MEASURABLE:
            pytest.fail(f"{n} bytes take {one:.3f} s, {4 * n} bytes {four:.3f} s")
        n *= 4


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
