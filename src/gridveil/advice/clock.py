"""How long trials take, before any was made: by the number of lines, whose true values readers guess at."""

from __future__ import annotations

from collections.abc import Sequence

from gridveil.advice.search import Space, coarse
from gridveil.advice.stand_in import StandIn
from gridveil.errors import StudyError

BEGIN, TRIAL, LINE = 2.0, 0.4, 0.007
"""Seconds until a process tries, of a trial, and of each line in it (benchmarks of docs/results/advice.md)."""


def trial_seconds(lines: int) -> float:
    """About how long one trial takes on a network of so many lines."""
    return TRIAL + LINE * lines


def table_seconds(stand_ins: Sequence[StandIn], space: Space, workers: int) -> list[float]:
    """When the table is about to be complete on the first stand-in, on the first two, and so on."""
    found, passed = list[float](), BEGIN
    for one in stand_ins:
        passed += trial_seconds(one.network.grid.n_line) * len(coarse(space)) / workers
        found.append(passed)
    return found


def require_a_trial(lines: int, minutes: float) -> None:
    """Refuse what ends before a trial could."""
    least = (BEGIN + trial_seconds(lines)) / 60
    if minutes < least:
        raise StudyError(
            f"one trial on a network of {lines:,} lines takes about {least:.1f} minutes, so that {minutes:g} minutes "
            "can try nothing; give more --minutes. Nothing was charged"
        )


def in_time(tables: Sequence[float], minutes: float) -> str:
    """A sentence on how far the time goes."""
    complete = sum(one <= 60 * minutes for one in tables)
    if complete == len(tables):
        return f"a first table in about {_minutes(tables[-1])} minutes, then finer until {minutes:g} are over"
    whole = f"about {_minutes(tables[-1])} minutes"
    if complete:
        return (
            f"a first table in about {_minutes(tables[0])} minutes; on all {len(tables)} stand-ins it would take "
            f"{whole}, and {minutes:g} go as far as {complete} of them: give more --minutes, or fewer --protect"
        )
    return (
        f"the first table would take about {_minutes(tables[0])} minutes, and there are {minutes:g}: the likeliest "
        "settings are tried and no more; give more --minutes or --workers, or fewer --protect or --alpha"
    )


def _minutes(seconds: float) -> str:
    return f"{max(seconds / 60, 0.1):.1f}"
