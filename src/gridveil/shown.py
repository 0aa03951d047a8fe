"""What a notebook shows of a result, and `.plot()`: found in `report/` when it is asked for, and not before.

A class that is shown has `_repr_html_ = as_card`. This is the one place that knows where cards are made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def as_card(thing: Any) -> str | None:
    """The card of a result, as HTML; `None` where there is none, so that its `repr` is shown."""
    card: str | None = import_module("gridveil.report.cards").card(thing)
    return card


def plotted(thing: Any, axes: Any = None, **options: Any) -> Any:
    """A map of a network or a release, drawn by matplotlib; the axes."""
    return import_module("gridveil.report.plots").plot(thing, axes, **options)
