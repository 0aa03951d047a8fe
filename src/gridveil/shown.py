"""What a notebook shows of a result, and `.plot()`: found in `report/` when it is asked for, and not before.

A class that is shown has `_repr_html_ = as_card`. This is the one place that knows where cards are made.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any


def brief(thing: Any) -> str:
    """A dataclass by the fields that are not as they are by default; for its `repr`."""
    told = {one.name: getattr(thing, one.name) for one in fields(thing) if one.default is MISSING}
    more = {one.name: getattr(thing, one.name) for one in fields(thing) if one.default is not MISSING}
    usual = {one.name: one.default for one in fields(thing)}
    told |= {
        name: value for name, value in more.items() if value is not usual[name] and repr(value) != repr(usual[name])
    }
    return f"{type(thing).__name__}({', '.join(f'{name}={_short(value)}' for name, value in told.items())})"


def _short(value: Any) -> str:
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        value = tuple(map(str, value))  # of words that are an enum's
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."


def as_card(thing: Any) -> str | None:
    """The card of a result, as HTML; `None` where there is none, so that its `repr` is shown."""
    card: str | None = import_module("gridveil.report.cards").card(thing)
    return card


def plotted(thing: Any, axes: Any = None, **options: Any) -> Any:
    """A map of a network or a release, drawn by matplotlib; the axes."""
    return import_module("gridveil.report.plots").plot(thing, axes, **options)
