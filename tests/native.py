"""The kernel's library and trees of sources, for tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import build_native
from gridveil.nlp.native import library

ROOT = Path(__file__).parents[1]


def built(folder: Path) -> Path:
    """The library of these sources, built as an installation builds it; skips where there is no compiler."""
    goal = build_native.target()
    if goal is None or not build_native.working(goal, os.environ):
        pytest.skip("no C compiler of this machine works")
    file = build_native.build(ROOT, folder, {**os.environ, "GRIDVEIL_NATIVE": "1"}).file
    assert file is not None
    return file


def sources(place: Path, text: str = "", version: int = library.VERSION) -> Path:
    """A tree with C sources of one function."""
    (place / "native").mkdir(parents=True)
    (place / "src" / build_native.PLACE).mkdir(parents=True)
    header = (ROOT / "native" / "gridveil.h").read_text().replace("_VERSION 1", f"_VERSION {version}")
    (place / "native" / "gridveil.h").write_text(header)
    shutil.copyfile(ROOT / "native" / "export.h", place / "native" / "export.h")
    shutil.copyfile(ROOT / "native" / "version.c", place / "native" / "version.c")
    if text:
        (place / "native" / "more.c").write_text(text)
    return place
