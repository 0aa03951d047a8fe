"""What the command line prints of the user's own words, and what programs read when a command is called wrongly."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from rich.console import Console
from typer.testing import CliRunner

from gridveil.cli import output
from gridveil.cli.main import app

runner = CliRunner()

ALL: Any = typer.main.get_command(app)
COMMANDS = [
    [name, *more]
    for name in ALL.list_commands(None)
    for more in [[one] for one in getattr(ALL.get_command(None, name), "commands", [])] or [[]]
]


def test_there_are_commands() -> None:
    assert ["opf"] in COMMANDS
    assert ["ledger", "show"] in COMMANDS


def wrong(arguments: list[str]) -> str:
    """The one object on stdout when a command is called wrongly."""
    done = runner.invoke(app, arguments)
    assert done.exit_code == 2, done.output
    record = json.loads(done.stdout)
    assert (record["status"], record["exit_code"]) == ("error", 2)
    assert "Traceback" not in done.output
    assert done.stderr.startswith("error: ")
    return str(record["error"])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_unknown_option(command: list[str]) -> None:
    assert "No such option: --" in wrong([*command, "--json", "--nonsense"])
    assert "--nonsense" in wrong([*command, "--nonsense", "1", "--json"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["opf", "--json"], "Missing argument"),
        (["opf", "case5", "--json", "--max-iterations", "0"], "--max-iterations"),
        (["opf", "case5", "--json", "--max-iterations", "many"], "--max-iterations"),
        (["opf", "case5", "case14", "--json"], "case14"),
        (["report", "--json", "somewhere"], "Missing option"),
        (["nonsense", "--json"], "nonsense"),
        (["--json"], "--json"),
        (["ledger", "nonsense", "--json"], "nonsense"),
        (["profile", "case5", "--out", "x.csv", "--json"], "--json"),
        (["--max-size", "0", "info", "case5", "--json"], "--max-size"),
    ],
)
def test_usage(arguments: list[str], words: str) -> None:
    assert words in wrong(arguments)


def test_json_changes_nothing_else() -> None:
    assert runner.invoke(app, ["cases", "--json"]).exit_code == 0
    assert "Usage" in runner.invoke(app, ["opf", "--json", "--help"]).stdout
    assert runner.invoke(app, ["opf", "case14", "--max-iterations", "2", "--json"]).exit_code == 4
    plain = runner.invoke(app, ["opf"])
    assert (plain.exit_code, plain.stdout) == (2, "")


def test_usage_of_the_program_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridveil.cli.main", "opf", "--json"], capture_output=True, check=False, text=True
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["exit_code"] == 2


ODD = "root:x:0[red]q[/red]"


@pytest.mark.parametrize("console", [output.out, output.err])
def test_no_emoji(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(console, "_file", said)
    console.print("root:x:0")
    assert said.getvalue() == "root:x:0\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["opf", "CASE"],
        ["opf", "CASE", "--formulation", "soc"],
        ["info", "CASE"],
        ["gap", "CASE"],
        ["attack", "CASE", "--count", "1"],
        ["profile", "CASE", "--out", "PLACE/x.csv", "--steps", "2"],
        ["info", "PLACE/absent.m"],
        ["verify", "PLACE"],
        ["leakcheck", "CASE", "PLACE/absent"],
        ["study", "costs", "--cases", "CASE", "--out", "PLACE"],
        ["study", ODD],
        ["report", "PLACE", "-o", "x.html"],
        ["figure", "costs", "PLACE", "-o", "x.pdf"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_odd_names_are_printed_as_they_are(
    tmp_path: Path, tiny_file: Callable[..., Path], arguments: list[str]
) -> None:
    place = tmp_path / "root:x:0[red]q[" / "red]"  # a name cannot hold the slash of an end tag, a path can
    place.mkdir(parents=True)
    shutil.copy(tiny_file(), place / "tiny.m")
    words = [one.replace("CASE", str(place / "tiny.m")).replace("PLACE", str(place)) for one in arguments]
    done = runner.invoke(app, words)
    assert "Traceback" not in done.output
    assert ODD in "".join(done.output.split())  # titles are wrapped
