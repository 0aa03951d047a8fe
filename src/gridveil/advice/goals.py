"""What a steward wants of a release, and how well trials meet it: one number, the least margin.

A margin is how many times better than wanted something is: 2 if a reactance is hidden twice as far as asked for, 0.5 if
the gap changes twice as much as it may. A choice is as good as its least margin; what is ten times better than wanted
counts as no better than that, so that no goal is bought with another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite, nan
from statistics import median
from typing import Any

from gridveil.errors import ReleaseError
from gridveil.publish.values import share_value

MOST = 10.0
"""Beyond so many times a goal nothing is better, or worse."""
FAILING = 0.05
"""Share of draws whose repair may fail."""


@dataclass(frozen=True)
class Goals:
    """Shares, but for gaps (points) and the attacker's advantage over a map (points).

    Attributes:
        hide: A reader's best guess of a reactance is off by so much at least.
        keep_cost: The dispatch cost is off by so much at most.
        keep_gap: The SOC optimality gap changes by so many points at most.
        hide_flows: An attacker finds so many points more of the real flow attack's lines than by a map, at most.

    Examples:
        >>> gv.Goals(hide=0.2, keep_cost=0.005).keep_gap
        1.0
    """

    hide: float = 0.1
    keep_cost: float = 0.01
    keep_gap: float = 1.0
    hide_flows: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.by_name().items():
            if value is not None and not (isfinite(value) and value > 0):
                raise ReleaseError(f"the goal --{name} must be a positive number, not {value:g}")

    def by_name(self) -> dict[str, float | None]:
        """Every goal by the name of its option."""
        return {field.name.replace("_", "-"): getattr(self, field.name) for field in fields(self)}

    @property
    def words(self) -> str:
        """The goals in a sentence."""
        flows = (
            "" if self.hide_flows is None
            else f", an attacker at most {self.hide_flows:g} points better than with a map"
        )  # fmt: skip
        return (
            f"the best guess of a reactance off by {100 * self.hide:g} % or more, the cost off by "
            f"{100 * self.keep_cost:g} % at most, the SOC gap changed by {self.keep_gap:g} points at most{flows} (all "
            f"medians), and {FAILING:.0%} of repairs failing at most"
        )


def goals(hide: str | float, keep_cost: str | float, keep_gap: float, hide_flows: float | None = None) -> Goals:
    """Goals as they are written: '20%' or 0.2."""
    return Goals(share_value("hide", hide), share_value("keep-cost", keep_cost), float(keep_gap), hide_flows)


@dataclass(frozen=True)
class Outcome:
    """What trials of one choice came to: medians, in per cent and points as in studies; NaN where none was measured."""

    trials: int
    failed: int
    hidden_pct: float = nan
    loads_hidden_pct: float = nan
    costs_hidden_pct: float = nan
    cost_off_pct: float = nan
    gap_change_points: float = nan
    losses_ratio: float = nan
    similarity: float = nan
    excess: float = nan
    effort: float = nan
    seconds: float = nan

    @property
    def known(self) -> bool:
        """Was any draw of it repaired?"""
        return self.trials > self.failed

    def record(self) -> dict[str, Any]:
        return asdict(self)


_FIGURES = {
    "hidden_pct": "reactance_error_pct",
    "loads_hidden_pct": "load_error_pct",
    "costs_hidden_pct": "cost_coefficient_error_pct",
    "cost_off_pct": "cost_error_pct",
    "losses_ratio": "losses_ratio",
    "similarity": "similarity",
    "excess": "excess",
}


def outcome(rows: Sequence[Mapping[str, Any]]) -> Outcome:
    """The medians of trials."""
    good = [row for row in rows if row["certified"]]

    def middle(name: str, among: Sequence[Mapping[str, Any]], size: bool = False) -> float:
        found = [float(row[name]) for row in among if row.get(name) is not None]
        return median(map(abs, found) if size else found) if found else nan

    return Outcome(
        len(rows), len(rows) - len(good),
        **{name: middle(column, good) for name, column in _FIGURES.items()},
        gap_change_points=middle("gap_change_points", good, size=True),
        effort=middle("effort", rows), seconds=middle("release_seconds", rows),
    )  # fmt: skip


def margins(wanted: Goals, found: Outcome) -> dict[str, float]:
    """How many times better than wanted each thing is; what was not measured is left out."""
    pairs = {
        "hide": (found.hidden_pct, 100 * wanted.hide),
        "keep-cost": (100 * wanted.keep_cost, found.cost_off_pct),
        "keep-gap": (wanted.keep_gap, found.gap_change_points),
    }
    if wanted.hide_flows is not None:
        pairs["hide-flows"] = (wanted.hide_flows, max(found.excess, 0.0) if isfinite(found.excess) else nan)
    failing = found.failed / found.trials if found.trials else 1.0
    result = {
        name: _clipped(above / below if below > 0 else MOST)
        for name, (above, below) in pairs.items()
        if isfinite(above) and isfinite(below)
    }
    if failing > FAILING:
        result["repairs"] = _clipped(FAILING / failing)
    return result


def _clipped(ratio: float) -> float:
    return min(max(ratio, 1 / MOST), MOST)


def score(wanted: Goals, found: Outcome) -> float:
    """The least margin: 1 and more meets every goal."""
    if not found.known:
        return 1 / MOST
    return min(margins(wanted, found).values(), default=1 / MOST)
