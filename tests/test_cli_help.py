"""`--help` in groups and panels, exit codes from one table, completion, and a first release with nothing but --out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gridveil.cli.exits import EXIT_HELP, EXITS, Exit
from gridveil.cli.main import app
from gridveil.cli.panels import PANELS
from gridveil.cli.usage import COMMANDS, GROUPS, _command

WIDE = {"COLUMNS": "160"}


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--help"], env=WIDE)
    assert done.exit_code == 0
    return done.stdout


def test_commands_are_grouped_everyday_ones_first() -> None:
    text = shown()
    places = [text.index(f"─ {title} ─") for title in GROUPS]
    assert places == sorted(places) and next(iter(GROUPS)) == "Publish"
    assert list(GROUPS["Publish"])[:4] == ["release", "verify", "ledger", "leakcheck"]
    listed = re.findall(r"^│ ([a-z]+) ", text, re.MULTILINE)
    assert listed == list(COMMANDS) and len(set(listed)) == len(listed)


@pytest.mark.parametrize("name", PANELS)
def test_rare_options_have_panels_below(name: str) -> None:
    command = _command(name)
    mine = {one.name: one for one in command.params}
    for title, names in PANELS[name].items():
        assert set(names) <= set(mine), title
        assert all(mine[one].rich_help_panel == title for one in names)
    text = shown(name)
    places = [text.index(title + " ─") for title in ("Options", *PANELS[name])]
    assert places == sorted(places)


def test_everyday_options_of_a_release_are_few() -> None:
    text = shown("release")
    usual = text[text.index("─ Options ─") : text.index("─ More than lines ─")]
    found = re.findall(r"^│ (--[a-z-]+)", usual, re.MULTILINE)
    assert found[:4] == ["--out", "--epsilon", "--alpha", "--beta"] and len(found) <= 14


@pytest.mark.parametrize("name", ["release", "draws", "opf", "profile", "attack", "exposure"])
def test_every_default_has_its_sentence(name: str) -> None:
    command: Any = _command(name)
    for one in command.params:
        if one.default not in (None, False, ()) and one.name != "help":
            assert one.help and len(one.help.split()) >= 3 and one.help.endswith("."), one.name


def test_exit_codes_are_one_table() -> None:
    assert list(EXITS) == list(Exit) and [int(code) for code in EXITS] == list(range(9))
    for code, meaning in EXITS.items():
        assert f"{int(code)} {meaning.words}" in EXIT_HELP
        assert meaning.sentence.endswith(".") and meaning.advice.endswith(".")
    flat = " ".join(shown("release").split())
    assert "Exit codes: 0 done; 1 internal failure; 2 bad input or usage;" in flat


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gridveil rel", "release"),
        ("gridveil release --alpha-r", "--alpha-ratings"),
        ("gridveil release case3", "case39_epri"),
    ],
)
def test_the_shell_completes(words: str, expected: str, tmp_path: Path) -> None:
    asked = {"_GRIDVEIL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    program = Path(sys.executable).parent / "gridveil"
    done = subprocess.run(
        [str(program)], env={**os.environ, **asked}, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert expected in done.stdout.split()


def test_a_first_release_needs_a_place_and_nothing_else(tmp_path: Path) -> None:
    home = {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = CliRunner().invoke(app, ["release", "case5_pjm", "--out", str(tmp_path / "out")], env=home)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "released.m").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["release", "case5_pjm", "--epsilon", "much"], "Invalid value for '--epsilon'"),
        (["draws", "case5_pjm", "-n", "0"], "Invalid value for '-n'"),
        (["release", "case5_pjm", "--alfa", "1"], "No such option: --alfa"),
        (["release", "case5_pjm"], "--out is missing: give the directory of the bundle, or --dry-run"),
        (["release", "case5_pjm", "--mechanism", "magic", "--dry-run"], "there is no mechanism 'magic' for releases"),
    ],
)
def test_a_wrong_option_is_a_sentence(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, arguments, env=WIDE)
    assert done.exit_code == 2 and words in " ".join(done.output.replace("│", " ").split())
    assert "Traceback" not in done.output
