"""`gridveil report DIR` and `gridveil figure NAME DIR`: what studies found, for the screen and for paper. INTERNAL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from gridveil.cli.options import JsonOption
from gridveil.cli.output import out, print_json, reporting

DirectoryArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Results that `gridveil study` wrote.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


def report(
    directory: DirectoryArgument,
    target: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The report to write, .html.")],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make one self-contained HTML page of every study in DIR. It compares with the truth: INTERNAL."""
    with reporting(as_json):
        from gridveil.report.html import write_report

        made = write_report(directory, target, force=force)
        size = made.stat().st_size
        if as_json:
            print_json({"status": "written", "out": str(made), "bytes": size})
        else:
            out.print(f"{escape(str(made))}: {size / 1e6:.1f} MB, INTERNAL")


def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The study whose figure is drawn.")],
    directory: DirectoryArgument,
    target: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The figure to write: .pdf, .svg, .png.")],
    part: Annotated[int, typer.Option(help="Which figure of the study, if it has several.")] = 1,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a figure of study NAME for a paper. It compares with the truth: INTERNAL."""
    with reporting(as_json):
        from gridveil.report.figure import write_figure

        made = write_figure(name, directory, target, part, force=force)
        if as_json:
            print_json({"status": "written", "out": str(made.path), "title": made.title, "parts": list(made.parts)})
        else:
            out.print(f"{escape(str(made.path))}: {escape(made.title)} (part {part} of {len(made.parts)})")
