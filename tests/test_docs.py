"""The README's Python code runs and prints what it says; the documents point to what exists."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from pathlib import Path

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
