"""Run the notebooks of docs/notebooks and write each as .ipynb and as a page, with outputs and figures.

    python scripts/notebooks.py BUILD [NAME ...]

A notebook is a Python file whose cells begin with `# %%`, or with `# %% [markdown]` for text in comments. Each runs
in a namespace of its own, in an empty directory. The last expression of a cell is shown, as a table where it has one;
figures are those that matplotlib has open when the cell ends. BUILD gets NAME.ipynb, NAME.md and NAME-1.svg, ...
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
LOOK: Any = {"svg.fonttype": "none", "svg.hashsalt": "gridveil", "font.size": 10, "figure.figsize": (5.2, 3.2)}
"""Figures as wide as a phone, with text that stays text, and the same bytes from the same numbers."""


@dataclass
class Cell:
    """A part of a notebook: text, or code with what it printed, showed and drew."""

    text: bool
    source: str
    line: int
    printed: str = ""
    shown: str | None = None
    table: str | None = None
    figures: list[bytes] = field(default_factory=list)


def cells_of(source: str) -> list[Cell]:
    """The cells of a notebook in percent format; what stands above the first mark belongs to none."""
    found: list[Cell] = []
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("# %%"):
            found.append(Cell(line.startswith("# %% [markdown]"), "", number + 1))
        elif found:
            if found[-1].text and line not in ("", "#") and not line.startswith("# "):
                raise SystemExit(f"line {number}: text of a notebook stands in comments, but this does not: {line}")
            found[-1].source += (line[2:] if found[-1].text else line) + "\n"
    for cell in found:
        cell.source = cell.source.strip("\n")
    return [cell for cell in found if cell.source]


def run(cells: list[Cell], name: str) -> None:
    """Run the code cells from top to bottom; each keeps what it printed, showed and drew."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    namespace: dict[str, Any] = {"__name__": "__main__"}
    here = Path.cwd()
    with mpl.rc_context(LOOK), tempfile.TemporaryDirectory() as empty, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # plt.show() belongs into notebooks
        os.chdir(empty)
        try:
            for cell in cells:
                if not cell.text:
                    _run_cell(cell, name, namespace)
                    cell.figures = [_drawn(plt.figure(number)) for number in plt.get_fignums()]
                    plt.close("all")
        finally:
            os.chdir(here)
            plt.close("all")


def _run_cell(cell: Cell, name: str, namespace: dict[str, Any]) -> None:
    tree = ast.parse("\n" * (cell.line - 1) + cell.source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            code: CodeType = compile(ast.Expression(last.value), name, "eval")
            value = eval(code, namespace)
    cell.printed = printed.getvalue()
    if value is not None:
        table = getattr(value, "_repr_html_", None)
        cell.table = table() if callable(table) else None
        cell.shown = repr(value)


def _drawn(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="svg", bbox_inches="tight", facecolor="white", metadata={"Date": None})
    return out.getvalue()


def as_page(cells: list[Cell], name: str) -> dict[str, bytes]:
    """A Markdown page and its figures, by the names of their files."""
    parts, files = list[str](), dict[str, bytes]()
    for cell in cells:
        if cell.text:
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        if cell.table is not None:  # a blank line would end raw HTML in Markdown
            rows = [line for line in cell.table.splitlines() if line.strip()]
            parts.append("\n".join(['<div class="notebook-output">', *rows, "</div>"]))
        elif cell.shown is not None:
            parts.append(f"```text\n{cell.shown}\n```")
        for figure in cell.figures:
            file = f"{name}-{len(files) + 1}.svg"
            files[file] = figure
            parts.append(f"![Figure {len(files)} of this notebook]({file})")
    parts.append(f"*This page is a notebook that was run when the page was made: [{name}.ipynb]({name}.ipynb).*")
    return {f"{name}.md": ("\n\n".join(parts) + "\n").encode(), **files}


def as_notebook(cells: list[Cell]) -> bytes:
    """The same as a Jupyter notebook (nbformat 4.5)."""
    made: list[dict[str, Any]] = []
    count = 0
    for place, cell in enumerate(cells):
        entry: dict[str, Any] = {
            "id": f"cell-{place}",
            "metadata": {},
            "cell_type": "markdown" if cell.text else "code",
            "source": cell.source.splitlines(keepends=True),
        }
        if not cell.text:
            count += 1
            entry |= {"execution_count": count, "outputs": _outputs(cell, count)}
        made.append(entry)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": made,
    }
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def _outputs(cell: Cell, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if cell.printed:
        found.append({"output_type": "stream", "name": "stdout", "text": cell.printed.splitlines(keepends=True)})
    if cell.shown is not None:
        data = {"text/plain": cell.shown.splitlines(keepends=True)}
        if cell.table is not None:
            data["text/html"] = cell.table.splitlines(keepends=True)
        result = {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}
        found.append(result)
    for figure in cell.figures:
        embedded = base64.b64encode(figure).decode()
        html = f'<img alt="figure" src="data:image/svg+xml;base64,{embedded}">'  # the text of an SVG is not trusted
        data = {"text/html": [html], "text/plain": ["<figure>"]}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    return found


def build(source: Path, out: Path) -> Path:
    """Run one notebook and write its files; gives back the page."""
    cells = cells_of(source.read_text(encoding="utf-8"))
    run(cells, str(source))
    out.mkdir(parents=True, exist_ok=True)
    name = source.stem
    for file, content in {f"{name}.ipynb": as_notebook(cells), **as_page(cells, name)}.items():
        (out / file).write_bytes(content)
    return out / f"{name}.md"


def main(arguments: list[str]) -> None:
    if not arguments:
        raise SystemExit("usage: python scripts/notebooks.py BUILD [NAME ...]")
    chosen = arguments[1:] or sorted(path.stem for path in FOLDER.glob("*.py"))
    for name in chosen:
        print(build(FOLDER / f"{name}.py", Path(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
