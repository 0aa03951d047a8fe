"""The pages that teach: their figures are computed, their commands exist, their pictures and notebooks are made."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import typer

from gridveil.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [DOCS / "start.md", *sorted(DOCS.glob("ideas/*.md")), *sorted(DOCS.glob("howto/*.md"))]
SVG = "{http://www.w3.org/2000/svg}"


def _text(page: str) -> str:
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def pictures() -> Any:
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    return runpy.run_path(str(ROOT / "scripts" / "pictures.py"))


@pytest.fixture(scope="module")
def notebooks() -> Any:
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    return runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))


# ---- pictures ----


def test_pictures_are_drawn_and_small_and_shown(pictures: Any, tmp_path: Path) -> None:
    made = {path.name for path in pictures["draw_all"](tmp_path, 3)}
    kept = {path.name for path in (DOCS / "pictures").glob("*.svg")}
    shown = set(re.findall(r"\]\(\.\./pictures/([\w-]+\.svg)\)", (DOCS / "ideas" / "epsilon-alpha.md").read_text()))
    assert made == kept == shown
    for name in made:
        for folder in (tmp_path, DOCS / "pictures"):
            picture = ET.parse(folder / name).getroot()
            assert picture.tag == f"{SVG}svg" and len(list(picture.iter(f"{SVG}text"))) >= 5
            assert (folder / name).stat().st_size < 60_000


def test_numbers_beside_the_pictures_are_computed(pictures: Any) -> None:
    """All but the four that take all draws: those are what the histograms show."""
    said = _text("ideas/epsilon-alpha.md")
    of_draws = {"half within", "nine in ten within", "median longer", "median reactance"}
    for name, value in pictures["numbers"](3).items():
        if name not in of_draws:
            assert value in said, f"{name}: {value}"


def test_the_histogram_has_the_noise_it_says(pictures: Any) -> None:
    """Half of the noise lies within ln 2 of its size, nine tenths within ln 10: the text says 7 and 21 of 10 %."""
    text = (DOCS / "pictures" / "noise.svg").read_text(encoding="utf-8")
    assert f"releases, of {pictures['DRAWS']}" in text
    said = _text("ideas/epsilon-alpha.md")
    half, most = (int(figure) for figure in re.findall(r"within (\d+) % of the true value.*?within (\d+) %", said)[0])
    assert 5 < half < 9 and 17 < most < 27


# ---- figures taken from the results ----


def _rows(page: str) -> list[list[str]]:
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


GROUPS = {
    "lines": "L",
    "lines, ratings": "LR",
    "lines, ratings, loads": "LRD",
    "lines, ratings, loads, limits": "LRDG",
    "all five groups": "LRDGC",
}


def test_what_is_protected_says_what_was_measured() -> None:
    measured: dict[tuple[str, str, str], list[str]] = {}
    for row in _rows("results/joint.md"):
        if len(row) > 12 and row[0] in ("case39_epri", "case118_ieee") and row[3] == "":
            measured.setdefault((row[0], row[1], row[2]), row)
    found = 0
    for row in _rows("ideas/what-is-protected.md"):
        if row[0] not in GROUPS or len(row) < 4 or not row[1].endswith("%"):
            continue
        alpha = f"{int(row[1].split()[0]) / 100:.1f}"
        pair = [measured[case, GROUPS[row[0]], alpha] for case in ("case39_epri", "case118_ieee")]
        if len(row) == 4:  # similarity and excess over the map
            said = [[int(n) for n in re.findall(r"-?\d+", cell.replace("−", "-"))] for cell in row[2:]]
            assert said == [[int(one[7]), int(one[9])] for one in pair]
        else:  # cost, losses, prices
            costs, losses, prices = ([one.strip(" %") for one in cell.split("/")] for cell in row[2:])
            assert costs == [one[6].split("/")[0].strip() for one in pair]
            assert losses == [one[11] for one in pair] and prices == [one[12] for one in pair]
        found += 1
    assert found == 10


# ---- commands ----


def _commands() -> list[tuple[str, list[str]]]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = re.findall(r"^\$ (gridveil (?:[^\n]|(?<=\\)\n)*)", block, re.MULTILINE)
            found += [(page.name, line.replace("\\\n", " ").split()[1:]) for line in lines]
    return found


def _unknown(words: list[str]) -> str | None:
    """The first word that is no command, or no option of it."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "get_command"):  # groups load their commands when asked
        found = command.get_command(command.make_context("gridveil", [], resilient_parsing=True), words[0])
        if found is None:
            return words[0]
        command, words = found, words[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return next((word for word in words if word.startswith("-") and word not in options), None)


def test_commands_of_pages_exist_with_their_options() -> None:
    commands = _commands()
    assert len(commands) > 30
    for page, words in commands:
        assert _unknown(list(words)) is None, f"{page}: gridveil {' '.join(words)}"


def test_a_command_that_does_not_exist_is_found() -> None:
    assert _unknown(["relaese", "grid.m"]) == "relaese"
    assert _unknown(["release", "grid.m", "--epsilom", "1"]) == "--epsilom"


def test_pages_name_no_place_of_one_machine() -> None:
    for page in [*PAGES, *DOCS.glob("notebooks/*.py"), *DOCS.glob("pictures/*.svg")]:
        assert not re.search(r"/(work|tmp|root|home)/", page.read_text(encoding="utf-8")), page


# ---- notebooks ----


@pytest.mark.real_noise
@pytest.mark.parametrize("name", sorted(path.stem for path in DOCS.glob("notebooks/*.py")))
def test_notebook_runs(notebooks: Any, name: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="the extra 'frames' is not installed")
    page = notebooks["build"](DOCS / "notebooks" / f"{name}.py", tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    figures = re.findall(r"!\[[^\]]+\]\(([\w-]+\.svg)\)", text)
    assert figures and all(ET.parse(tmp_path / figure) for figure in figures)
    book = json.loads((tmp_path / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", [])]
    kinds = {output["output_type"] for output in outputs}
    assert {"stream", "execute_result", "display_data"} <= kinds
    for target in re.findall(r"\]\((\.\./[^)#]+)", text):
        assert (DOCS / "notebooks" / target).exists()
    for target in re.findall(r"\]\((\w+)\.md\)", text):
        assert (DOCS / "notebooks" / f"{target}.py").exists()


def test_notebooks_stop_at_an_error_and_keep_their_place(notebooks: Any, tmp_path: Path) -> None:
    source = tmp_path / "wrong.py"
    source.write_text("# %% [markdown]\n# # Wrong\n\n# %%\nx = 1\n\n# %%\nx / 0\n", encoding="utf-8")
    with pytest.raises(ZeroDivisionError) as error:
        notebooks["build"](source, tmp_path / "out")
    assert error.traceback[-1].lineno == 7 and not (tmp_path / "out").exists()


def test_cells_keep_what_they_print_and_show(notebooks: Any, tmp_path: Path) -> None:
    source = tmp_path / "small.py"
    source.write_text("# %% [markdown]\n# # Small\n\n# %%\nprint(1)\n2 + 2\n\n# %%\nx = 3\n", encoding="utf-8")
    text = notebooks["build"](source, tmp_path / "out").read_text(encoding="utf-8")
    assert text.startswith(
        "# Small\n\n```python\nprint(1)\n2 + 2\n```\n\n```text\n1\n```\n\n```text\n4\n```\n\n```python\nx = 3\n```\n\n*"
    )
