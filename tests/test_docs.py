"""The README's Python code runs and prints what it says; the documents point to what exists."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from pathlib import Path

from typer.testing import CliRunner

from gridveil.cli.main import app
from gridveil.report.words import GENERAL
from gridveil.wall.changes import cost_of_changes

ROOT = Path(__file__).parents[1]


def test_readme_code_prints_what_it_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), {})
        assert printed.getvalue() == expected


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
