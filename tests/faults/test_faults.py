"""A little of the fault campaign, and that it finds bugs which are planted; the rest: docs/results/faults.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.sweep
def test_a_study_survives_kills() -> None:
    pytest.importorskip("distributed", reason="the extra 'study' is not installed")
    found = run("study", 6)
    assert (found["n"], found["failures"]) == (6, 0), found["examples"]


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


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    record = Record("none", n=1000)
    assert record.bound == pytest.approx(1 - 0.05 ** (1 / 1000)) == pytest.approx(3 / 1000, rel=2e-3)
    record.add("one", ["wrong"])
    assert (record.n, record.failures) == (1001, 1) and record.bound == pytest.approx(0.00473, rel=1e-2)
