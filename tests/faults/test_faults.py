"""A little of the fault campaign, and that it finds bugs which are planted; the rest: docs/results/faults.md."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gridveil.process.system import exchange
from gridveil.publish import staging
from gridveil.requests import heeding

from .record import Record

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forks")
ROOT = Path(__file__).parents[2]


def run(name: str, count: int, *more: str) -> dict[str, Any]:
    """A campaign in a process of its own, from which the trials fork."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", name, "--count", str(count), *more],
        capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("kills", 100), ("moments", 12), ("signals", 40), ("starved", 40), ("lines", 40), ("operations", 40),
        ("clock", 5), ("fuzz", 1000), ("child", 4), ("power", 300),
    ],
)  # fmt: skip
def test_nothing_is_unpaid_unsaid_partial_or_broken(name: str, count: int) -> None:
    found = run(name, count)
    if any("skipped" in kind for kind in found["kinds"]):
        pytest.skip(", ".join(found["kinds"]))
    assert (found["n"], found["failures"]) == (count, 0), found["examples"]


def test_a_full_disk() -> None:
    found = run("disk", 40)
    if any("skipped" in kind for kind in found["kinds"]):
        pytest.skip(", ".join(found["kinds"]))
    assert found["failures"] == 0, found["examples"]
    assert any(kind.startswith("exit 6") for kind in found["kinds"])


def test_just_as_many_of_a_crowd_as_the_limit_allows() -> None:
    found = run("crowd", 20)
    assert (found["n"], found["failures"]) == (1, 0), found["examples"]


on_linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are looked at in /proc")


@on_linux
@pytest.mark.parametrize("count", [9, pytest.param(300, marks=pytest.mark.sweep)])
def test_a_study_survives_kills(count: int) -> None:
    pytest.importorskip("distributed", reason="the extra 'study' is not installed")
    found = run("study", count)
    assert (found["n"], found["failures"]) == (count, 0), found["examples"]


@on_linux
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("plant", "count", "words"),
    [("unkept", 9, "tasks were done"), ("doubled", 60, "rows of"), ("blamed", 9, "count as failed")],
)
def test_planted_bugs_of_studies_are_found(plant: str, count: int, words: str) -> None:
    pytest.importorskip("distributed", reason="the extra 'study' is not installed")
    found = run("study", count, "--plant", plant)
    assert any(words in example for example in found["examples"]), found["examples"]


@pytest.mark.parametrize(
    ("plant", "name", "count", "words"),
    [
        ("unpaid", "kills", 40, "1 draws, 0 charges"),
        ("unsaid", "signals", 20, "unsaid"),
        ("partial", "kills", 60, "partial bundle"),
        ("forgotten", "starved", 60, "unsaid"),
        ("overspent", "crowd", 8, "allowed"),
        ("unflushed", "power", 300, "an empty bundle"),
    ],
)
def test_planted_bugs_are_found(plant: str, name: str, count: int, words: str) -> None:
    found = run(name, count, "--plant", plant)
    assert found["failures"] > 0
    assert any(words in example for example in found["examples"]), found["examples"]


def test_whoever_ignores_a_request_to_end_goes_on() -> None:
    """As under nohup: the end of a terminal does not end a release that is charged."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeding():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_directories_change_places_or_stay(tmp_path: Path) -> None:
    """Where the system cannot exchange them, the old one comes back if the new one cannot take its place."""
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if exchange(tmp_path / "new", tmp_path / "old"):
        assert (tmp_path / "old" / "new").exists() and (tmp_path / "new" / "old").exists()
        assert exchange(tmp_path / "new", tmp_path / "old")
    assert not exchange(tmp_path / "new", tmp_path / "none")
    retired = tmp_path / "retired"
    retired.mkdir()
    staging._replace(tmp_path / "new", tmp_path / "old", retired)
    assert (tmp_path / "old" / "new").exists() and not (tmp_path / "new").exists()
    assert (retired / "old" / "old" / "old").exists()
    shutil.rmtree(retired / "old")
    with pytest.raises(FileNotFoundError):
        staging._replace(tmp_path / "new", tmp_path / "old", retired)
    assert (tmp_path / "old" / "new").exists() and not list((retired / "old").iterdir())


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    record = Record("none", n=1000)
    assert record.bound == pytest.approx(1 - 0.05 ** (1 / 1000)) == pytest.approx(3 / 1000, rel=5e-3)
    record.add("one", ["wrong"])
    assert (record.n, record.failures) == (1001, 1) and record.bound == pytest.approx(0.00473, rel=1e-2)
