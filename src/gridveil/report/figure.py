"""`gridveil figure`: the charts of a study for a paper, with Matplotlib: vectors, small sizes, readable in grey."""

from __future__ import annotations

from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from gridveil.charts.chart import LOOKS, Chart, Panel, Series
from gridveil.charts.results import Results
from gridveil.errors import ReportError
from gridveil.libraries import how_to_install
from gridveil.report.mapped import maps_of
from gridveil.report.maps.change_map import CLASSES, COLOURS, ChangeMap, change_class
from gridveil.report.page import check_file, save
from gridveil.study.catalogue import study as find
from gridveil.study.sections import read_studies, section

ENDINGS = (".pdf", ".svg", ".png")
INK, GRID = "#22272E", "#DDE1E6"
_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "diamond-open": "D", "triangle-up": "^", "triangle-down": "v",
    "x": "x", "star": "*",
}  # fmt: skip
_DASHES: dict[str, Any] = {"solid": "-", "dot": ":", "dash": "--", "dashdot": "-."}
_RC: dict[Any, Any] = {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7.5, "axes.linewidth": 0.6, "pdf.fonttype": 42, "svg.fonttype": "none", "hatch.linewidth": 0.5,
    "text.parse_math": False,
    "svg.hashsalt": "gridveil", "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK,
    "ytick.color": INK, "axes.unicode_minus": True,
}  # fmt: skip


class Drawn(NamedTuple):
    """A figure that was written, and the titles of all that its study has."""

    path: Path
    title: str
    parts: tuple[str, ...]


def write_figure(name: str, directory: Path | str, target: Path | str, part: int = 1, *, force: bool = False) -> Drawn:
    """Draw one chart of a study into a .pdf, .svg or .png file."""
    path, study = Path(target), find(name)
    check_file(path, ENDINGS, Path(directory), force=force)
    results = read_studies(Path(directory)).get(study.name)
    if results is None:
        raise ReportError(f"{directory} has no results of the study '{name}'; run `gridveil study {name}` first")
    charts = charts_of(study.name, results)
    parts = tuple(chart.title if isinstance(chart, Chart) else f"Map of {chart.case}" for chart in charts)
    if not parts:
        raise ReportError(f"no task of the study '{name}' has ended well; there is nothing to draw")
    if not 1 <= part <= len(parts):
        listed = "; ".join(f"{i}: {title}" for i, title in enumerate(parts, 1))
        raise ReportError(f"the study '{name}' has no part {part}; its parts are {listed}")
    save(path, drawn(charts[part - 1], path.suffix.lower()[1:]))
    return Drawn(path, parts[part - 1], parts)


def charts_of(name: str, results: Results) -> tuple[Chart | ChangeMap, ...]:
    """Every figure of a study, in the order of their parts: its charts, its maps, and the one that answers."""
    shown = section(name, results)
    answer = () if shown.answer is None else (shown.answer,)
    return (*shown.charts, *maps_of(name, results), *answer)


def drawn(chart: Chart | ChangeMap, kind: str) -> bytes:
    """The bytes of a chart as pdf, svg or png; the same for the same chart."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - an extra, and slow to import
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise ReportError(f"figures need matplotlib; {how_to_install('plot')}") from None
    stream = BytesIO()
    with rc_context(_RC):
        figure = _map(Figure, chart) if isinstance(chart, ChangeMap) else _chart(Figure, chart)
        undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
        figure.savefig(stream, format=kind, dpi=220, metadata=undated)
    return stream.getvalue()


def _chart(make: Any, chart: Chart) -> Any:
    columns = min(chart.columns, len(chart.panels), 4)
    rows = ceil(len(chart.panels) / columns)
    width = 3.5 if columns == 1 else 7.16  # one and two columns of a journal
    legend = chart.legend()
    per_row = 2 if columns == 1 else 4
    inches = 0.17 * ceil(len(legend) / per_row) + 0.1
    high = 2.3 if columns <= 2 else 1.9
    height = rows * (high + (0.35 if _names(chart.panels[0]) else 0)) + inches
    figure = make(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    alike = len({panel.y_label for panel in chart.panels}) == 1
    for index, axis in enumerate(axes.flat):
        if index < len(chart.panels):
            _panel(axis, chart.panels[index], first=index % columns == 0 or not alike)
        else:
            axis.axis("off")
    handles = [_handle(one) for one in legend.values()]
    figure.legend(handles, list(legend), loc="outside upper center", ncols=per_row, frameon=False)
    return figure


def _names(panel: Panel) -> list[str]:
    """Names on the x axis that are too long to stand side by side."""
    return [x for one in panel.series for x in one.x if isinstance(x, str) and len(x) > 6]


def _panel(axis: Any, panel: Panel, *, first: bool) -> None:
    axis.set_title(panel.title, fontweight="bold", fontsize=8 if len(panel.title) < 22 else 7)
    axis.grid(color=GRID, linewidth=0.5, axis="y" if not panel.diagonal else "both")
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    names = list(dict.fromkeys(x for one in panel.series for x in one.x if isinstance(x, str)))
    wide = [one for one in panel.series if one.kind in ("bars", "boxes")]
    marks = [one for one in panel.series if one not in wide]
    for one in panel.series:
        if one.kind == "bars":
            _bars(axis, one, names, wide.index(one), len(wide))
        elif one.kind == "boxes":
            _boxes(axis, one, names, wide.index(one), len(wide))
        else:
            shift = 0.14 * (marks.index(one) - (len(marks) - 1) / 2) if names else 0.0
            _marks(axis, one, names, panel, shift)
    if names:
        axis.set_xticks(
            range(len(names)), names, rotation=60 if _names(panel) else 0, ha="right" if _names(panel) else "center"
        )
        axis.set_xlim(-0.6, len(names) - 0.4)
    _scales(axis, panel, bool(names))
    if panel.reference is not None:
        axis.axhline(panel.reference, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    if panel.diagonal:
        axis.axline((0, 0), slope=1, color=INK, linewidth=0.7, zorder=1)
    axis.set_xlabel(panel.x_label)
    if first:
        axis.set_ylabel(panel.y_label)
    if panel.note:
        axis.text(0.98, 0.02, panel.note, transform=axis.transAxes, ha="right", va="bottom", fontsize=6)


def _scales(axis: Any, panel: Panel, named: bool) -> None:
    if panel.x_log:
        axis.set_xscale("log")
    if panel.y_log:
        axis.set_yscale("log")
    if panel.x_zero:
        axis.set_xlim(left=0)
    if panel.y_zero and not panel.y_log:
        axis.set_ylim(bottom=0)
    if panel.x_range:
        axis.set_xlim(*panel.x_range)
    if panel.y_range:
        axis.set_ylim(*panel.y_range)
    for which, own in (("x", axis.xaxis), ("y", axis.yaxis)):
        ticks = panel.ticks("x" if which == "x" else "y")
        if ticks is None or (which == "x" and named):
            continue
        low, high = axis.get_xlim() if which == "x" else axis.get_ylim()
        own.set_ticks([tick for tick in ticks if low <= tick <= high])
        own.set_ticks([], minor=True)
        own.set_major_formatter(lambda value, _: f"{value:g}")


def _slot(names: list[str], one: Series, index: int, many: int) -> tuple[list[float], float]:
    """Where the bars or boxes of one of `many` series stand, and how wide they are."""
    width = 0.78 / many
    return [names.index(str(x)) + (index - (many - 1) / 2) * width for x in one.x], width


def _bars(axis: Any, one: Series, names: list[str], index: int, many: int) -> None:
    look = LOOKS[one.look]
    place, width = _slot(names, one, index, many)
    whiskers = {"ecolor": INK, "elinewidth": 0.7, "capsize": 1.4, "capthick": 0.7}
    face, edge, line = ("white", look.colour, 0.8) if one.look == "published" else (look.colour, "white", 0)
    axis.bar(
        place, one.y, width * 0.94, color=face, hatch=look.hatch, edgecolor=edge, linewidth=line,
        yerr=_ends(one, log=False), error_kw=whiskers, zorder=2,
    )  # fmt: skip


def _boxes(axis: Any, one: Series, names: list[str], index: int, many: int) -> None:
    if not one.boxes:
        return
    look = LOOKS[one.look]
    place, width = _slot(names, one, index, many)
    stats = [
        {"whislo": box.low, "q1": box.q1, "med": box.median, "q3": box.q3, "whishi": box.high, "fliers": []}
        for box in one.boxes
    ]
    axis.bxp(
        stats, positions=place, widths=width * 0.8, showfliers=False, patch_artist=True, manage_ticks=False, zorder=2,
        boxprops={"facecolor": look.colour, "edgecolor": look.colour, "alpha": 0.85, "hatch": look.hatch,
                  "linewidth": 0.7},
        medianprops={"color": INK, "linewidth": 1.1}, whiskerprops={"color": look.colour, "linewidth": 0.8},
        capprops={"color": look.colour, "linewidth": 0.8},
    )  # fmt: skip


def _marks(axis: Any, one: Series, names: list[str], panel: Panel, shift: float) -> None:
    if not one.x:
        return
    look = LOOKS[one.look]
    x = [names.index(v) + shift if isinstance(v, str) else v for v in one.x]
    style: dict[str, Any] = {"color": look.colour, "marker": _MARKERS[look.marker], "markersize": 4, "zorder": 3}
    if look.marker == "diamond-open":
        style |= {"markerfacecolor": "none", "markersize": 6, "markeredgewidth": 1.1}
    style |= {"linestyle": _DASHES[look.dash], "linewidth": 1.1} if one.kind == "lines" else {"linestyle": "none"}
    if one.kind == "points" and not names:
        style |= {"markersize": 3, "alpha": 0.8}
    if one.low:
        axis.errorbar(x, one.y, yerr=_ends(one, log=panel.y_log), elinewidth=0.7, capsize=1.6, **style)
    else:
        axis.plot(x, one.y, **style)


def _ends(one: Series, *, log: bool) -> list[list[float]] | None:
    """Lengths of the whiskers below and above; on a logarithmic axis none reaches below zero."""
    if not one.low:
        return None
    low = [max(v, 0.2 * y) if log else v for v, y in zip(one.low, one.y, strict=True)]
    return [
        [max(y - v, 0.0) for v, y in zip(low, one.y, strict=True)],
        [max(v - y, 0.0) for v, y in zip(one.high, one.y, strict=True)],
    ]


def _handle(one: Series) -> Any:
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    look = LOOKS[one.look]
    if one.kind in ("bars", "boxes"):
        if one.look == "published":
            return Patch(facecolor="white", edgecolor=look.colour, linewidth=0.8)
        return Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0)
    line: Any = _DASHES[look.dash] if one.kind == "lines" else "none"
    face = "none" if look.marker == "diamond-open" else look.colour
    return Line2D(
        [], [], color=look.colour, marker=_MARKERS[look.marker], markersize=4.5, linestyle=line, linewidth=1.1,
        markerfacecolor=face,
    )  # fmt: skip


def _map(make: Any, chart: ChangeMap) -> Any:
    """The default release of a map; in grey, dashes say less and width says how much."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    figure = make(figsize=(7.16, 5.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.axis("off")
    classes = [change_class(ratio) for ratio in chart.changes[chart.first]]
    thick = 1.0 if len(chart.lines) <= 400 else 0.5
    for group in range(len(CLASSES)):
        paths = [path for path, own in zip(chart.paths, classes, strict=True) if own == group]
        style = "solid" if group >= 4 else (0, (3, 1))
        axes.add_collection(
            LineCollection(paths, colors=COLOURS[group], linewidths=thick * (1.2 + 0.5 * abs(group - 4)),
                           linestyles=[style], label=CLASSES[group], zorder=2)
        )  # fmt: skip
    few = len(chart.buses) <= 120
    axes.scatter(*zip(*chart.place, strict=True), s=8 if few else 1.5, color=INK, zorder=3)
    if few:
        for bus, place in zip(chart.buses, chart.place, strict=True):
            axes.annotate(str(bus), place, xytext=(2.5, 2.5), textcoords="offset points", fontsize=6)
    axes.margins(0.04)
    axes.set_title(f"{chart.case}: change of |z|, {chart.first}", fontweight="bold")
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    return figure
