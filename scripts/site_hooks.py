"""What MkDocs does besides: pages made from the program and from files outside docs/, executed notebooks, and links."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from website import codes, commands, formats, links, schemas

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = ROOT / "scripts" / "notebooks.py"
MADE = re.compile(r"<!-- made from the program: ([\w ]+) -->")
MAKERS: dict[str, Callable[[], str]] = {
    "commands": commands.markdown,
    "exit codes": codes.markdown,
    "formats": formats.markdown,
    "manifest": lambda: schemas.markdown("manifest", DOCS / "bundle.md"),
    "certificate": lambda: schemas.markdown("certificate", DOCS / "bundle.md"),
}


def on_files(files: Files, config: Any) -> Files:
    """Pages that are not in docs/; then the list of pages."""
    for file, page in links.PAGES.items():
        if page not in files.src_uris:
            files.append(File.generated(config, page, content=(ROOT / file).read_text(encoding="utf-8")))
    files.append(File.generated(config, "examples.md", content=examples()))
    for made in notebooks(ROOT / "build" / "notebooks"):
        files.append(File.generated(config, f"notebooks/{made.name}", abs_src_path=str(made)))
    listed = {one for one in _leaves(config.nav) if isinstance(one, str)}
    config.nav = _pages(config.nav, files, listed)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """What is made from the program, and links that lead somewhere in the site too."""
    outside = {name: file for file, name in links.PAGES.items() if name != "index.md"}
    file = outside.get(page.file.src_uri, "docs/" + page.file.src_uri)
    return links.led(MADE.sub(lambda found: MAKERS[found[1]](), markdown), file)


def examples() -> str:
    """The scripts of examples/ on one page."""
    parts = ["# Examples in Python", "Scripts of the folder `examples`, which run as they stand."]
    for script in sorted((ROOT / "examples").glob("*.py")):
        title = script.stem.replace("_", " ").capitalize()
        code = script.read_text(encoding="utf-8").rstrip()
        parts += [f"## {title}", f"`examples/{script.name}`", f"```python\n{code}\n```"]
    return "\n\n".join(parts) + "\n"


def notebooks(folder: Path) -> list[Path]:
    """Pages and pictures of the notebooks, which are run again if they, or anything of the package, is newer."""
    if not NOTEBOOKS.exists():
        return []
    if os.environ.get("NOTEBOOKS") == "as they stand":
        return _not_run(folder / "not-run")
    sources = [NOTEBOOKS, *(DOCS / "notebooks").glob("*.py"), *(ROOT / "src").rglob("*.py")]
    made = sorted(folder.glob("*.*"))
    if not made or max(map(_changed, sources)) > min(map(_changed, made)):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, str(NOTEBOOKS), str(folder)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("*.*"))


def _not_run(folder: Path) -> list[Path]:
    """The same without what they print and draw: for a test of the site, as others run them."""
    made = runpy.run_path(str(NOTEBOOKS))
    folder.mkdir(parents=True, exist_ok=True)
    for source in (DOCS / "notebooks").glob("*.py"):
        cells = made["cells_of"](source.read_text(encoding="utf-8"))
        for name, content in {
            f"{source.stem}.ipynb": made["as_notebook"](cells),
            **made["as_page"](cells, source.stem),
        }.items():
            (folder / name).write_bytes(content)
    return sorted(folder.glob("*.*"))


def _changed(file: Path) -> float:
    return file.stat().st_mtime


def _leaves(nav: Any) -> list[Any]:
    if isinstance(nav, list):
        return [leaf for one in nav for leaf in _leaves(one)]
    if isinstance(nav, dict):
        return [leaf for one in nav.values() for leaf in _leaves(one)]
    return [nav]


def _pages(nav: list[Any], files: Files, listed: set[str]) -> list[Any]:
    """The list with `folder/*` as what is left of that folder. Pages that nobody has written yet are left out."""
    made: list[Any] = []
    for one in nav:
        name, what = next(iter(one.items())) if isinstance(one, dict) else (None, one)
        if isinstance(what, list):
            inner = _pages(what, files, listed)
            if inner:
                made.append({name: inner})
        elif what.endswith("/*"):
            rest = {page.src_uri for page in files.documentation_pages() if page.src_uri.startswith(what[:-1])}
            made += sorted(rest - listed)
        elif what in files.src_uris or not what.startswith(("start", "ideas/", "howto/", "notebooks/")):
            made.append(one)
    return made
