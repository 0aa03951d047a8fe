"""Pages say what is so: their code runs and prints what they say, their commands exist, their links lead somewhere."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gridveil.cli.main import app
from gridveil.report.words import GENERAL
from gridveil.wall.changes import cost_of_changes
from tests.pages import Block, as_told, blocks, commands, missing_words, pages, words_of
from website.commands import options

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT).as_posix(): blocks(path.read_text(encoding="utf-8")) for path in pages()}
WITH_PYTHON = [name for name, found in PAGES.items() if any(one.kind == "python" for one in found)]
FROM_NOTHING = [name for name in ("docs/start.md",) if name in PAGES]
"""Pages whose commands need no file that the reader has; of the commands of others it is tested that they exist."""
OF_LUCK = {"as", "drawn", "steered"}
"""Words that depend on the draw."""
FINDINGS = (0, 5, 7)
"""Exit codes of commands that did their work."""


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, one after the other; what stands below one is what it prints."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    for block in PAGES[name]:
        if block.kind == "python" and block.why_not is None:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * block.line + block.code, name, "exec"), scope)
            assert block.printed is None or as_told(block.printed, printed.getvalue()), printed.getvalue()


@pytest.mark.parametrize("name", FROM_NOTHING)
def test_console_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of ours run in one folder, with what others of the page have left there, and print the page's words."""
    monkeypatch.chdir(tmp_path)
    for block in PAGES[name]:
        if block.kind == "console" and block.why_not is None:
            for command, told in commands(block):
                run_as_told(command, told, f"{name}, line {block.line}")


def run_as_told(command: str, told: str, place: str) -> None:
    words = words_of(command)
    if not words or words[0] != "gridveil" or {"|", ">", "&&", ";"} & set(words):
        return
    done = CliRunner().invoke(app, words[1:], env={"COLUMNS": "120"})
    assert done.exit_code in FINDINGS or "error:" in told, f"{place}: {command}\n{done.output}"
    missing = [word for word in missing_words(told, done.output) if word not in OF_LUCK]
    assert not missing, f"{place}: {command} does not print {missing}, but\n{done.output}"


def shown_commands(found: list[Block]) -> list[str]:
    """Command lines of ours in blocks, whatever the language."""
    lines = [line for one in found if one.kind != "python" for line in one.code.replace("\\\n", " ").split("\n")]
    return [line.strip().removeprefix("$ ") for line in lines if re.match(r"\s*(\$ )?gridveil [a-z]", line)]


def test_commands_of_pages_exist() -> None:
    """Each command that a page shows is there, with each of its options."""
    known = options()
    seen = 0
    for name, found in PAGES.items():
        for line in shown_commands(found):
            command, switches = parsed(line, known)
            assert command in known, f"{name}: there is no {line!r}"
            assert switches <= known[command] | known[""], f"{name}: {line!r} has {switches - known[command]}"
            seen += 1
    assert seen > 30


def parsed(line: str, known: dict[str, set[str]]) -> tuple[str, set[str]]:
    words = line.partition(" #")[0].split()[1:]
    command = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
    return command, set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", " ".join(words)))


def test_blocks_are_seen() -> None:
    """The judge of pages: what follows is what is printed, what is left out is left out, and other words are found."""
    text = "x\n```python\nprint(1)\n```\n\n```\n1\n```\n<!-- not run: slow -->\n```console\n$ gridveil a \\\n  b\nsaid\n```\n"
    first, second, third = blocks(text)
    assert (first.kind, first.printed, first.line) == ("python", "1\n", 2) and second.kind == ""
    assert third.why_not == "slow" and commands(third) == [("gridveil a    b", "said\n")]
    assert as_told("a\n...\nc\n", "a\nb\nc\n") and not as_told("a\n...\nd\n", "a\nb\nc\n")
    assert missing_words("│ loss 0.8, lost │", "loss 0.7") == ["lost"]
    assert parsed("gridveil key new --outt k  # --x", {"key new": set()}) == ("key new", {"--outt"})


def test_the_readme_is_short_and_has_its_first_screen() -> None:
    """What it is, for whom, the two commands, one picture and one real output, in this order; and ways without make."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    first = [
        "**Publish a power network",
        "grid operators",
        "make demo",
        "make docs",
        "release.png",
        "case39_epri → build",
    ]
    places = [text.index(words) for words in first]
    assert places == sorted(places) and text.count("\n", 0, places[-1]) < 30
    assert ".venv/bin/gridveil release case39_epri" in text and "docs/installing.md" in text


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_equations_name_real_functions() -> None:
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:grid|nlp|conic|repair|sealed|privacy|publish|attacks|wall|check)(?:\.\w+)+)`", text)
    assert len(names) > 8
    for name in names:
        parts = name.split(".")
        module = importlib.import_module("gridveil." + ".".join(parts[:2]))
        found: object = module
        for part in parts[2:]:
            found = getattr(found, part)


def test_what_alpha_costs_is_said_as_it_is_computed() -> None:
    """README, help and pages: a longer line, and a line whose reactance alone grows, by the package's own distance."""
    longer, _, reactance, *_ = (distance for _, distance in cost_of_changes(0.1))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"ten per cent longer costs {longer:.2g}ε" in readme
    assert f"grows by ten per cent {reactance:.2g}ε" in readme
    shown = CliRunner().invoke(app, ["release", "--help"], env={"COLUMNS": "200"}).stdout.replace("│", " ")
    words = " ".join(shown.split())
    assert f"a line 10 % longer then costs {longer:.2g} epsilon, its reactance alone {reactance:.2g}" in words
    said = " ".join(GENERAL)
    assert round(longer) == 1 and "a line ten per cent longer is one step away" in said
    assert round(reactance) == 3 and "one whose reactance alone is ten per cent larger three" in said
    threat = " ".join((ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8").split())
    assert f"each ten per cent longer, cost {3 * longer:.2g}ε at α = 10 %, not {longer:.2g}ε" in threat
