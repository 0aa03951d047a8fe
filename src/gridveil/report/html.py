"""`gridveil report`: the studies of a directory as one HTML file that needs nothing else. INTERNAL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridveil import __version__
from gridveil.charts.chart import LOOKS, Chart, Series, Sheet
from gridveil.charts.numbers import counted
from gridveil.charts.results import Results
from gridveil.errors import ReportError
from gridveil.report.mapped import maps_of
from gridveil.report.maps.html import map_block
from gridveil.report.maps.picture import picture_of_changes
from gridveil.report.page import check_file, plotly_script, render, safe_json, save
from gridveil.report.screen import AXIS, DARK, LAYOUT, plotly_panel
from gridveil.report.words import GENERAL
from gridveil.study.catalogue import STUDIES
from gridveil.study.draws import LAPLACE
from gridveil.study.sections import measured, methods, read_studies, section
from gridveil.wall.mechanisms import mechanism_words

LIMIT = 6_000_000
"""Bytes that a report may weigh."""


def write_report(directory: Path | str, target: Path | str, *, force: bool = False) -> Path:
    """Write the report of the studies in a directory; it appears whole or not at all."""
    path = Path(target)
    check_file(path, (".html", ".htm"), Path(directory), force=force)
    save(path, report_text(Path(directory)))
    return path


def report_text(directory: Path) -> str:
    """The report as text, the same for the same results; if it would be too heavy, without its longest tables."""
    script = plotly_script()
    figures: list[dict[str, Any]] = []
    sections = [_section_record(name, results, directory, figures) for name, results in read_studies(directory).items()]
    used = [name for name in ("paper", "additive", "log") if any(name in one["mechanisms"] for one in sections)]
    tables = sorted((len(sheet["rows"]) for one in sections for sheet in one["sheets"]), reverse=True)
    for longest in (10**9, *tables):
        text = render(
            "studies.html",
            version=__version__,
            sections=sections,
            privacy=GENERAL,
            adjacency=[(name, mechanism_words(name).adjacency) for name in used],
            figures=safe_json({"layout": LAYOUT, "axis": AXIS, "dark": DARK, "figures": figures}),
            plotly=script,
            longest=longest,
        )
        if len(text.encode()) <= LIMIT:
            return text
    raise ReportError(
        f"the report would weigh {len(text.encode()) / 1e6:.1f} MB even without its tables, more than {LIMIT / 1e6:g}; "
        "put studies or cases into directories of their own"
    )


def _section_record(name: str, results: Results, directory: Path, figures: list[dict[str, Any]]) -> dict[str, Any]:
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates, an extra

    study, shown = STUDIES[name], section(name, results)
    answer = None if shown.answer is None else _chart_record(shown.answer, figures)
    charts = [_chart_record(chart, figures) for chart in shown.charts]
    maps = []
    for chart in maps_of(name, results):
        block = Markup(map_block(picture_of_changes(chart)))
        maps.append({"case": chart.case, "block": block, "choices": list(chart.changes), "first": chart.first})
    return {
        "name": name,
        "title": study.title,
        "paper": study.paper,
        "methods": methods(study, results, directory),
        "tasks": results.tasks,
        "errors": results.errors(),
        "failed": len(results.failed),
        "question": study.question,
        "found": shown.found,
        "measured": measured(study, results),
        "answer": answer,
        "charts": charts,
        "sheets": [_sheet_record(name, number, sheet) for number, sheet in enumerate(shown.sheets, 1)],
        "maps": maps,
        "mechanisms": [one for one in results.values("mechanism") if one != LAPLACE],
    }


def _chart_record(chart: Chart, figures: list[dict[str, Any]]) -> dict[str, Any]:
    legend, panels = chart.legend(), []
    for panel in chart.panels:
        figures.append(plotly_panel(panel, list(legend)))
        panels.append({"title": panel.title, "note": panel.note, "figure": len(figures) - 1})
    entries = [{"name": name, "swatch": swatch(one)} for name, one in legend.items()]
    return {
        "title": chart.title,
        "caption": f"{chart.caption} {chart.draws()}".strip(),
        "columns": chart.columns,
        "panels": panels,
        "legend": entries,
    }


def _sheet_record(study: str, place: int, sheet: Sheet) -> dict[str, Any]:
    """A table, the name of its file when it is saved, and how many rows it has in words."""
    return {**vars(sheet), "file": f"gridveil-{study}-{place}.csv", "size": counted(len(sheet.rows), "row")}


_DASHES = {"solid": "", "dot": "2 3", "dash": "6 3", "dashdot": "6 3 2 3"}
_MARKS = {
    "circle": '<circle cx="15" cy="7" r="4"/>',
    "square": '<rect x="11" y="3" width="8" height="8"/>',
    "diamond": '<path d="M15 2l5 5-5 5-5-5z"/>',
    "diamond-open": '<path d="M15 2l5 5-5 5-5-5z" fill="none" stroke-width="2"/>',
    "triangle-up": '<path d="M15 2l5 9H10z"/>',
    "triangle-down": '<path d="M15 12l5-9H10z"/>',
    "x": '<path d="M11 3l8 8M19 3l-8 8" stroke-width="2.5"/>',
    "star": '<path d="M15 1l1.8 4 4.2.4-3.2 2.8 1 4.2L15 10.2l-3.8 2.2 1-4.2L9 5.4l4.2-.4z"/>',
}


def swatch(one: Series) -> Any:
    """The sign of a series in the legend, as it is drawn."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates, an extra

    look = LOOKS[one.look]
    if one.kind in ("bars", "boxes"):
        hollow = ' fill="none" stroke-width="1.5"' if one.look == "published" else ""
        mark = f'<rect x="5" y="1" width="20" height="12"{hollow}/>'
    else:
        mark = _MARKS[look.marker]
        if one.kind == "lines":
            dash = f' stroke-dasharray="{_DASHES[look.dash]}"' if _DASHES[look.dash] else ""
            mark = f'<path d="M0 7h30" stroke-width="2"{dash}/>' + mark
    return Markup(
        f'<svg class="swatch" width="30" height="14" aria-hidden="true" stroke-width="0" '
        f'style="--c: {look.colour}; --d: {look.dark or look.colour}">{mark}</svg>'
    )
