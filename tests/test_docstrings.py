"""Every public name says what it takes, gives and raises, and its example runs and prints what it says."""

from __future__ import annotations

import doctest
import inspect
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import gridveil as gv

NAMES = [name for name in dir(gv) if not name.startswith("_")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
NEEDS = {
    "to_pandapower": "pandapower",
    "to_pypsa": "pypsa",
    "run_study": "distributed",
    "results": "pyarrow",
    "draws": "pyarrow",
    "write_draws": "pyarrow",
    "Draws": "pyarrow",
}


def section(text: str, head: str) -> str:
    """The lines under a head, up to the next."""
    _, found, rest = text.partition(f"\n{head}:\n")
    lines = rest.split("\n")
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return "\n".join(lines[:end]) if found else ""


@pytest.mark.parametrize("name", NAMES)
def test_what_is_public_is_described(name: str) -> None:
    thing: Any = getattr(gv, name)
    text = inspect.getdoc(thing) or ""
    assert section(text, "Examples"), f"{name} has no example"
    told = section(text, "Args") + section(text, "Attributes")
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        assert not [one for one in signature.parameters if f"    {one}: " not in told.replace("*", "")]
        assert section(text, "Returns") or signature.return_annotation in ("None", None)
        assert section(text, "Raises") or not signature.parameters
    elif is_dataclass(thing):
        assert not [one.name for one in fields(thing) if f"    {one.name}: " not in told]
    elif issubclass(thing, tuple):
        assert not [one for one in getattr(thing, "_fields", ()) if f"    {one}: " not in told]


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="an extra that is not installed")
    thing = getattr(gv, name)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {"gv": gv}, name, None, 0)
    printed: list[str] = []
    runner.run(test, out=printed.append)
    assert test.examples and not runner.failures, "".join(printed)
