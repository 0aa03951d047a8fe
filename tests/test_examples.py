"""The examples run as they stand, in a process each, and say what they should; noise is seeded, so that luck is out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {
    "release_from_python.py": ["Sealed(39 buses", "holds  balance residual", "privacy spent so far: "],
    "draw_many.py": ["α = 0.01: 20 draws; half of the lines' numbers moved by", "α = 0.3: 20 draws"],
    "choose_alpha.py": ["lines off by", "0.01", "0.3"],
    "verify_a_release.py": [
        "as published: NOT private: research mode",
        "what was recomputed holds",
        "forged: NOT verified",
    ],
    "release_over_a_day.py": [
        "promised at the hours [1, 6, 10, 15, 19, 24]",
        "certified: True",
        "largest change of cost at a promised hour: ",
    ],
    "study_on_a_cluster.py": ["8 tasks run, 0 were done before, 0 failed", "0 tasks run, 8 were done before"],
}


SEEDED = """
import runpy, sys
from gridveil.publish import pipeline
from tests.conftest import PretendExact
seeds = iter(range(100))
pipeline.ExactNoise = lambda: PretendExact(next(seeds))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_student_needs_few_lines() -> None:
    """20 draws, four α, before and after, an AC-OPF of each, a plot."""
    lines = (EXAMPLES / "draw_many.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 15


def test_every_example_is_listed() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path) -> None:
    if name in ("choose_alpha.py", "study_on_a_cluster.py"):
        pytest.importorskip("distributed", reason="the extra 'study' is not installed")
    done = subprocess.run(
        [sys.executable, "-c", SEEDED, str(EXAMPLES / name), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=EXAMPLES.parent,
    )
    assert done.returncode == 0, done.stderr
    for words in EXPECTED[name]:
        assert words in done.stdout
    if name == "draw_many.py":
        assert "</svg>" in (tmp_path / "prices.svg").read_text(encoding="utf-8")
