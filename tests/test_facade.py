"""`import gridveil as gv`: one list of names, each of which loads; `python -m gridveil` is the command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gridveil as gv

SOURCE = Path(gv.__file__)


def test_every_name_loads_from_its_home() -> None:
    names = dir(gv)
    assert names == sorted(set(names)) and len(names) > 50
    assert {"release", "release_many", "frames", "compare", "Plan", "__version__"} <= set(names)
    for name in names:
        assert getattr(gv, name) is not None, name
    scope: dict[str, object] = {}
    exec("from gridveil import *", scope)
    assert set(names) <= set(scope)
    with pytest.raises(AttributeError, match="module 'gridveil' has no attribute 'nothing'"):
        _ = gv.nothing


def test_the_list_is_there_once() -> None:
    """What type checkers import is what is loaded, and no name stands in the file a second time."""
    text = SOURCE.read_text(encoding="utf-8")
    imports = re.findall(r"^    from (\S+) import (.+)$", text, re.MULTILINE)
    listed = [(home, words.split(" as ")[0]) for home, words in imports if home.startswith("gridveil")]
    assert sorted(name for _, name in listed) == sorted(set(dir(gv)) - {"__version__"})
    rest = text.rpartition(" as " + listed[-1][1])[2]
    assert not [name for _, name in listed if re.search(rf"[\"']{name}[\"']", rest)]


def test_names_are_loaded_when_they_are_used() -> None:
    words = (
        "import sys, gridveil as gv; dir(gv); gv.Status; print('numpy' in sys.modules, 'gridveil.api' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_python_m_gridveil(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridveil", "cases"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0 and "case39_epri" in done.stdout
    wrong = subprocess.run(
        [sys.executable, "-m", "gridveil", "opf", "nowhere.m"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert wrong.returncode == 2 and "nowhere.m" in wrong.stderr
    helped = subprocess.run([sys.executable, "-m", "gridveil", "--help"], capture_output=True, text=True, check=True)
    assert "gridveil" in helped.stdout.split("[")[0] and "__main__" not in helped.stdout
