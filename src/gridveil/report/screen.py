"""Charts for the screen: panels as Plotly's plain data, which the page's script draws; no Plotly code runs here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Literal

from gridveil.charts.chart import LOOKS, Panel, Series
from gridveil.charts.numbers import number

INK, GRID = "#22272E", "#E4E7EB"
LAYOUT: dict[str, Any] = {
    "margin": {"l": 58, "r": 10, "t": 26, "b": 46},
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "showlegend": False,
    "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#7C8692", "activecolor": INK},
    "barmode": "group",
    "boxmode": "group",
    "bargap": 0.25,
    "scattergap": 0.35,
    "hovermode": "closest",
}
"""What the layouts of all figures share; it stands in the page once, as does what their axes share."""
AXIS: dict[str, Any] = {
    "gridcolor": GRID, "zerolinecolor": "#C5CAD1", "linecolor": INK, "ticks": "outside", "tickcolor": GRID,
    "automargin": True, "exponentformat": "none",
}  # fmt: skip


DARK = {
    **{look.colour: look.dark for look in LOOKS.values() if look.dark},
    INK: "#E6E9EC", GRID: "#333A42", "#C5CAD1": "#56606B", "#FFFFFF": "#15181C",
}  # fmt: skip
"""What stands for a colour on a dark screen; the page's script puts it in."""


def plotly_panel(panel: Panel, legend: Sequence[str]) -> dict[str, Any]:
    """Data and layout of one panel. The page's own legend serves all panels; `meta` is a series' place in it."""
    categories = _categories(panel)
    layout: dict[str, Any] = {"xaxis": _axis(panel, "x"), "yaxis": _axis(panel, "y"), "shapes": []}
    if not panel.x_label:
        layout["margin"] = {"l": 58, "r": 10, "t": 26, "b": 92}
    if categories:
        layout["scattermode"] = "group"
    if categories:
        layout["xaxis"] |= {"type": "category", "categoryorder": "array", "categoryarray": categories}
    if panel.diagonal and panel.x_range:
        low, high = panel.x_range
        line = {"color": INK, "width": 1}
        layout["shapes"].append(
            {"type": "line", "x0": low, "x1": high, "y0": low, "y1": high, "line": line, "layer": "below"}
        )
    if panel.reference is not None:
        level = panel.reference
        place = {"xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level}
        layout["shapes"].append({"type": "line", **place, "line": {"color": INK, "width": 1.5, "dash": "dash"}})
    return {"data": [_trace(one, panel) | {"meta": legend.index(one.name)} for one in panel.series], "layout": layout}


def _categories(panel: Panel) -> list[str]:
    """Category names in order of appearance, if the x axis has names rather than numbers."""
    found: dict[str, None] = {}
    for one in panel.series:
        found.update({escape(x): None for x in one.x if isinstance(x, str)})
    return list(found)


def _axis(panel: Panel, which: Literal["x", "y"]) -> dict[str, Any]:
    title, log, limits = (
        (panel.x_label, panel.x_log, panel.x_range) if which == "x" else (panel.y_label, panel.y_log, panel.y_range)
    )
    axis: dict[str, Any] = {"title": {"text": escape(title), "standoff": 8}}
    if log:
        axis["type"] = "log"
    if (ticks := panel.ticks(which)) is not None:
        axis |= {"tickmode": "array", "tickvals": list(ticks), "ticktext": [f"{tick:g}" for tick in ticks]}
    if limits:
        axis["range"] = list(limits)
    elif not log and (panel.x_zero if which == "x" else panel.y_zero):
        axis["rangemode"] = "tozero"
    return axis


def _trace(one: Series, panel: Panel) -> dict[str, Any]:
    look = LOOKS[one.look]
    x = [escape(v) if isinstance(v, str) else _short(v) for v in one.x]
    trace: dict[str, Any] = {"name": escape(one.name), "x": x}
    if one.kind == "boxes":
        stats = {"lowerfence": "low", "q1": "q1", "median": "median", "q3": "q3", "upperfence": "high", "mean": "mean"}
        for theirs, ours in stats.items():
            trace[theirs] = [_short(getattr(box, ours)) for box in one.boxes]
        return trace | {
            "type": "box", "line": {"color": look.colour, "width": 1.5}, "fillcolor": look.colour + "55",
            "offsetgroup": one.name, "boxpoints": False,
        }  # fmt: skip
    marker: dict[str, Any]
    trace["y"] = [_short(value) for value in one.y]
    shown = [escape(text) for text in one.words] or [number(value) for value in one.y]
    trace |= {"text": shown, "hovertemplate": "%{x}: %{text}<extra>" + escape(one.name) + "</extra>"}
    if one.low:
        low = [max(v, 0.2 * y) if panel.y_log else v for v, y in zip(one.low, one.y, strict=True)]
        trace["error_y"] = {
            "type": "data", "symmetric": False, "thickness": 1.3, "width": 3,
            "array": [_short(high - y) for high, y in zip(one.high, one.y, strict=True)],
            "arrayminus": [_short(y - v) for v, y in zip(low, one.y, strict=True)],
            "color": INK if one.kind == "bars" else look.colour,
        }  # fmt: skip
    if one.kind == "bars":
        hollow = {"color": "#FFFFFF", "line": {"color": look.colour, "width": 1.5}}
        marker = hollow if one.look == "published" else {"color": look.colour}
        return trace | {"type": "bar", "marker": marker, "textposition": "none"}
    marker = {"color": look.colour, "symbol": look.marker, "size": 8 if len(one.x) < 40 else 6}
    trace["cliponaxis"] = False  # a mark at the end of an axis is seen whole
    if one.kind == "lines":
        line = {"color": look.colour, "dash": look.dash, "width": 2}
        return trace | {"type": "scatter", "mode": "lines+markers", "marker": marker, "line": line}
    marker |= {"size": 11, "line": {"width": 2}} if one.look == "published" else {"opacity": 0.85}
    if one.x and isinstance(one.x[0], str):
        return trace | {"type": "scatter", "mode": "markers", "marker": marker}
    return trace | {"type": "scatter", "mode": "markers", "marker": marker, "hovertemplate": _POINT % escape(one.name)}


_POINT = "%%{text}<br>%%{x:.4g} → %%{y:.4g}<extra>%s</extra>"


def _short(value: float) -> float:
    """Five significant digits are more than a screen can show; they keep the page light."""
    return float(f"{value:.5g}")
