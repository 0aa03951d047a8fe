"""The documentation site: it is built without a warning, every link leads somewhere, and no public name is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gridveil as gv
from website.check import problems
from website.commands import options
from website.links import led

ROOT = Path(__file__).parents[1]
PUBLIC = {name for name in dir(gv) if not name.startswith("_")}


def test_every_public_name_has_one_place() -> None:
    folder = ROOT / "docs" / "reference" / "python"
    named = [
        name
        for page in folder.glob("*.md")
        for name in re.findall(r"^::: gridveil\.(\w+)$", page.read_text(), re.MULTILINE)
    ]
    assert sorted(named) == sorted(PUBLIC), "list it as '::: gridveil.NAME' on a page of docs/reference/python, once"
    index = (folder / "index.md").read_text(encoding="utf-8")
    assert {name for name in named if f"`{name}`" not in index} == set(), "and in the table of its index"


def test_the_site(tmp_path: Path) -> None:
    """As `make docs` makes it: strictly; then looked through. Notebooks are not run for it."""
    for library in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(library, reason="the extra 'docs' is not installed")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)],
        capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | {"NOTEBOOKS": "as they stand"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert problems(site) == []

    python = "".join(page.read_text(encoding="utf-8") for page in (site / "reference" / "python").glob("*.html"))
    assert not [name for name in PUBLIC if f'id="gridveil.{name}"' not in python]
    of_functions = re.findall(r'id="gridveil\.(\w+)\.\w+"', python)  # a module of a function's name has its place else
    assert not [name for name in of_functions if not isinstance(getattr(gv, name, object), type)]
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for command, switches in options().items():
        assert f"gridveil {command}</code>" in commands or not command, command
        assert not [one for one in switches - {"--help"} if one not in commands], command
    assert "its privacy is spent" in (site / "reference" / "exit-codes.html").read_text(encoding="utf-8")
    assert "made from the program" not in commands
    assert (site / "search" / "search_index.js").stat().st_size > 100_000


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    """The judge of sites, on one that has each fault."""
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">good</a><a href="b.html#not">bad</a><a href="c.html">bad</a><p id="x"><p id="x">'
        '<script src="https://x.example/a.js"></script><a href="https://x.example">good</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><link rel="canonical" href="https://x.example">')
    (tmp_path / "s.css").write_text("@import url(https://x.example/f.css)")
    assert problems(tmp_path) == [
        "a.html: the id x is there twice",
        "a.html: b.html#not leads to a place that is not there",
        "a.html: c.html leads nowhere",
        "a.html: https://x.example/a.js is loaded from the network",
        "s.css: https://x.example/f.css is loaded from the network",
    ]


def test_links_of_the_repository_are_led() -> None:
    page = "docs/results/x.md"
    assert led("[a](../../README.md) [b](../proofs/log.md#c)", page) == "[a](../index.md) [b](../proofs/log.md#c)"
    assert led("[a](../../CONTRIBUTING.md)", page) == "[a](../contributing.md)"
    assert led("[a](docs/formats.md)", "CONTRIBUTING.md") == "[a](formats.md)"
    assert led("[one](../../examples/draw_many.py)", page) == "[one](../examples.md#draw-many)"
    assert led("[code](../../src/gridveil/files.py) `[a](../../README.md)`", page) == (
        "code (`src/gridveil/files.py`) `[a](../../README.md)`"
    )
    assert led("[n](notebooks/first_release.py)", "docs/start.md") == "[n](notebooks/first_release.md)"
