"""Optimal dispatches of an original and of its release side by side: loading and prices. INTERNAL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.charts.numbers import number
from gridveil.errors import ReportError
from gridveil.grid import Network, OperatingPoint
from gridveil.report.maps.loading_map import loading
from gridveil.report.twins import twins

FULL = 10.0
"""Per cent between edges of the histogram of loading; the last bin has no end."""
BINS = 14
"""Of prices."""


@dataclass(frozen=True, eq=False)
class Dispatch:
    """An optimum: its cost in $/h, the loading of lines as shares of their ratings, NaN where there is none, and the
    price at every bus in $/MWh."""

    cost: float
    loading: FloatArray
    price: FloatArray


def dispatch(network: Network, record: Mapping[str, Any]) -> Dispatch:
    """What `gridveil opf --json --full` wrote of a network; refused if it is of another, or no optimum."""
    if record.get("status") != "optimal" or "point" not in record:
        raise ReportError(f"there is no dispatch to show: {record.get('detail', 'the power flow was not solved')}")
    values = {name: np.array(one, dtype=np.float64) for name, one in record["point"].items()}
    price = np.array(record["multipliers"]["balance_p"]) / network.grid.base_mva
    if len(values["pf"]) != network.grid.n_line or len(price) != network.grid.n_bus:
        raise ReportError("the dispatch is of another network; solve both again")
    cost = float(record["cost"])
    return Dispatch(cost, loading(network, OperatingPoint(**values, cost=cost)), price)


def cost_words(before: Dispatch, after: Dispatch) -> str:
    """What the optimum costs, before and after."""
    change = f"{100 * (after.cost / before.cost - 1):+.2f} %".replace("-", "−")
    return f"The optimal dispatch costs {before.cost:,.0f} $/h before and {after.cost:,.0f} $/h after ({change})."


def loadings(before: Dispatch, after: Dispatch) -> tuple[str, str]:
    """How many lines are loaded how much, as a figure, and in words."""
    one, other = (100 * some.loading[np.isfinite(some.loading)] for some in (before, after))
    if not len(one) or not len(other):
        return "", "No line has a rating, so that none has a loading."
    moved = np.abs(100 * (after.loading - before.loading))
    moved = moved[np.isfinite(moved)]
    words = (
        f"{len(one)} lines have a rating; {_many(one, 90)} are loaded to 90 % and more before, {_many(other, 90)} "
        f"after. Half of them move by {number(float(np.median(moved)))} points or less."
    )
    return twins(one, other, np.arange(FULL, 101.0, FULL), "loading of lines (%)"), words


def prices(before: Dispatch, after: Dispatch) -> tuple[str, str]:
    """How many buses have what price, as a figure, and in words."""
    both = np.concatenate([before.price, after.price])
    low, high = np.percentile(both, [1, 99])
    if high - low < 1e-3 * max(abs(high), 1e-9):  # one price everywhere
        low, high = low - 0.5 * max(abs(low), 1.0) * 0.02, high + 0.5 * max(abs(high), 1.0) * 0.02
    moved = np.abs(after.price - before.price)
    words = (
        f"The median price is {number(float(np.median(before.price)))} $/MWh before and "
        f"{number(float(np.median(after.price)))} after. Half of the buses' prices move by "
        f"{number(float(np.median(moved)))} $/MWh or less."
    )
    return twins(before.price, after.price, np.linspace(low, high, BINS - 1), "price at buses ($/MWh)"), words


def _many(values: FloatArray, least: float) -> int:
    return int(np.count_nonzero(values >= least))
