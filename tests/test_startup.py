"""What a command loads before it is needed: nothing heavy. Modules are counted, not seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gridveil.cli.usage import COMMANDS

PROBE = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
before = set(sys.modules)
from gridveil.cli.main import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["gridveil", *arguments]
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()) as wrong:
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
    if code:
        sys.exit(f"{arguments}: {code} {said.getvalue()} {wrong.getvalue()}")
print(json.dumps(sorted(set(sys.modules) - before)))
"""
CHILD = """
import json, sys
before = set(sys.modules)
import gridveil.repair.child
gridveil.repair.child.rehearse()
print(json.dumps(sorted(set(sys.modules) - before)))
"""
"""The repair process up to its closed doors: behind them nothing can be loaded any more."""
PRINTING = {"typer", "click", "shellingham", "annotated_doc", "typing_extensions", "colorama"}
RICH = {"rich", "markdown_it", "mdurl", "pygments", "attr"}  # it looks whether attrs is there
NUMBERS = {"numpy", "msgspec", "typing_extensions"}
SAMPLER = {"opendp", "deprecated", "wrapt"}


class Loaded(NamedTuple):
    """What a process has loaded: packages of others, and modules of ours."""

    packages: set[str]
    ours: set[str]


@cache
def loaded(code: str, *arguments: str) -> Loaded:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = json.loads(done.stdout)
    others = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"gridveil"}
    return Loaded(others, {name for name in names if name.startswith("gridveil")})


def after(*commands: list[str]) -> Loaded:
    return loaded(PROBE, json.dumps(commands))


def rooms(ours: set[str]) -> set[str]:
    return {name.split(".")[1] for name in ours if "." in name}


def test_the_version() -> None:
    found = after(["--version"])
    assert found.packages <= PRINTING
    assert rooms(found.ours) == {"cli", "errors", "process", "regular", "requests"}
    assert len(found.ours) <= 15


def test_the_help_of_every_command() -> None:
    """In one process: what one of them loads, the others cannot hide. No validators, no NumPy, no ledger."""
    found = after(
        ["--help"], *([name, "--help"] for name in COMMANDS), ["ledger", "show", "--help"], ["key", "new", "--help"]
    )
    assert found.packages <= PRINTING | RICH
    assert rooms(found.ours) == {
        "attacks",
        "cli",
        "errors",
        "internal",
        "nlp",
        "privacy",
        "process",
        "regular",
        "requests",
        "status",
        "wall",
    }
    assert len(found.ours) <= len(COMMANDS) + 30  # a file for each command, and what they share


@pytest.mark.parametrize("command", ["release", "verify", "ledger"])
def test_the_help_of_one_command_loads_no_other(command: str) -> None:
    others = {f"gridveil.cli.{file}" for file in COMMANDS.values()} - {f"gridveil.cli.{COMMANDS[command]}"}
    assert not after([command, "--help"]).ours & others


def test_a_release_and_its_verification(tmp_path: Path) -> None:
    """No SciPy, no other solver, no template, no validator; a stranger who verifies has neither ledger nor noise."""
    place = tmp_path / "out"
    release = after(["release", "case5_pjm", "--ledger", str(tmp_path / "ledger"), "--out", str(place)])
    assert release.packages <= PRINTING | (RICH - {"markdown_it", "pygments"}) | NUMBERS | SAMPLER
    assert not rooms(release.ours) & {"api", "attacks", "check", "conic", "report", "study"}
    verify = after(["verify", str(place)])
    assert verify.packages <= PRINTING | (RICH - {"markdown_it", "pygments"}) | NUMBERS
    assert not rooms(verify.ours) & {"api", "attacks", "conic", "sealed", "study"}
    assert {name for name in verify.ours if "privacy" in name} == {"gridveil.privacy", "gridveil.privacy.signature"}
    quick = after(["verify", "--quick", str(place)])
    assert "nlp" not in rooms(quick.ours)


def test_the_repair_process() -> None:
    found = loaded(CHILD)
    assert found.packages <= NUMBERS
    assert rooms(found.ours) <= {"arrays", "errors", "grid", "nlp", "process", "repair", "shown", "status", "wall"}


def test_a_solve() -> None:
    found = after(["opf", "case5_pjm"])
    assert found.packages <= PRINTING | (RICH - {"markdown_it", "pygments"}) | {"numpy"}


def test_suggestions_know_commands_that_are_not_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridveil.cli.main", "relase"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Did you mean 'release'?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["release", "case5", "--epsilon", "much"], "--epsilon"),
        (["study", "--workers", "few"], "--workers"),
        (["audit", "x"], "--original"),
        (["verify"], "BUNDLE"),
    ],
)
def test_what_is_not_plain_is_still_looked_at(arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridveil.cli.main", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert words in done.stderr
