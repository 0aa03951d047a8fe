"""A pytest plugin: which functions of the package each test that passes reaches, and how long it takes.

`scripts/mutants.py` asks it, so that a mutant meets only the tests that can notice it. Only the beginnings of
functions are traced, which costs little; what runs in another process is not seen.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

import pytest

TARGET = "MUTANTS_REACHED"
"""The environment variable that names the file to write."""
MOST = 20.0
"""Seconds after which a test is ended: one this slow is not asked about a mutant."""

_codes: set[CodeType] = set()
_found: dict[str, tuple[float, list[str]]] = {}
_failed: set[str] = set()


def _trace(frame: FrameType, event: str, _: Any) -> None:
    _codes.add(frame.f_code)


def _too_slow(*_: object) -> None:
    pytest.fail(f"takes longer than {MOST:g} s")


def _names() -> list[str]:
    names = set()
    for code in _codes:
        _, inside, rest = code.co_filename.partition("/src/gridveil/")
        if inside:
            names.add(f"{rest}:{code.co_qualname}")
    return sorted(names)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Trace one test with its fixtures."""
    _codes.clear()
    begin = perf_counter()
    signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_REAL, MOST)
    threading.settrace(_trace)
    sys.settrace(_trace)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        _found[item.nodeid] = (perf_counter() - begin, _names())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that does not pass says nothing about a mutant."""
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write what was found."""
    kept = {test: found for test, found in _found.items() if test not in _failed}
    Path(os.environ[TARGET]).write_text(json.dumps(kept), encoding="utf-8")
