"""The statistics of reports, each made once: means with intervals, shares with intervals, boxes, groups of rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from gridveil.attacks.scores import confidence

Row = dict[str, Any]
Key = tuple[Any, ...]


class Mean(NamedTuple):
    """A mean over draws: standard deviation, 95 % interval (infinite for one draw), number of draws."""

    mean: float
    sd: float
    low: float
    high: float
    n: int


class Box(NamedTuple):
    """Quartiles; whiskers at the outermost values within 1.5 interquartile ranges of the box."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float
    n: int


@dataclass(frozen=True)
class Results:
    """The rows of a study: those of tasks that ended well, and one per task that failed."""

    rows: tuple[Row, ...]
    failed: tuple[Row, ...]

    @staticmethod
    def of(table: Any) -> Results:
        """Split a study's Arrow table; a number that is not finite is none."""
        rows: list[Row] = [
            {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in row.items()}
            for row in table.to_pylist()
        ]
        return Results(
            tuple(row for row in rows if row["status"] == "ok"), tuple(row for row in rows if row["status"] != "ok")
        )

    @property
    def tasks(self) -> int:
        return len({row["key"] for row in self.rows}) + len(self.failed)

    def values(self, name: str, *, failed: bool = False) -> list[Any]:
        """The distinct values of a column, sorted; on request also those that only failed tasks have."""
        found = {row.get(name) for row in (*self.rows, *(self.failed if failed else ()))}
        return sorted((value for value in found if value is not None), key=natural)

    def where(self, **wanted: Any) -> Results:
        """The part with the given values; a failed task counts wherever its settings do not say otherwise."""

        def fits(row: Row, lenient: bool) -> bool:
            return all(row.get(k) == v or (lenient and row.get(k) is None) for k, v in wanted.items())

        return Results(
            tuple(row for row in self.rows if fits(row, lenient=False)),
            tuple(row for row in self.failed if fits(row, lenient=True)),
        )

    def column(self, name: str) -> list[float]:
        """The finite numbers of a column."""
        found = (row[name] for row in self.rows)
        return [float(value) for value in found if value is not None and isfinite(value)]

    def errors(self) -> list[tuple[str, int]]:
        """Why tasks failed, the commonest first."""
        return Counter(str(row["error"]) for row in self.failed).most_common()


def natural(value: Any) -> Any:
    """Sorts names with numbers in them by the numbers: case39 before case118."""
    if not isinstance(value, str):
        return value
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", value) if part]


def grouped(results: Results, names: Sequence[str], order: Callable[[Key], Any] | None = None) -> dict[Key, Results]:
    """Rows by the values of some columns. Failed tasks join every group that their settings allow."""
    groups: dict[Key, list[Row]] = {}
    for row in results.rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    lost: dict[Key, list[Row]] = {}
    known = [name for name in names if any(row.get(name) is not None for row in results.failed)]
    places = [names.index(name) for name in known]
    for row in results.failed:
        lost.setdefault(tuple(row[name] for name in known), []).append(row)
    if len(known) == len(names):
        for key in lost:
            groups.setdefault(key, [])
    return {
        key: Results(tuple(groups[key]), tuple(lost.get(tuple(key[place] for place in places), ())))
        for key in sorted(groups, key=order)
    }


def mean_of(values: Iterable[float]) -> Mean | None:
    """The mean of draws, or `None` if there are none."""
    sample = list(values)
    if not sample:
        return None
    interval = confidence(sample)
    sd = float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0
    return Mean(interval.mean, sd, interval.low, interval.high, len(sample))


def percent_of(values: Iterable[float]) -> Mean | None:
    """The mean of percentages, its interval within 0 and 100."""
    stat = mean_of(values)
    if stat is None or not isfinite(stat.low):
        return stat
    return stat._replace(low=max(stat.low, 0.0), high=min(stat.high, 100.0))


def geometric_of(values: Iterable[float]) -> Mean | None:
    """The geometric mean of positive ratios, its interval made on their logarithms: single draws may be far out."""
    logs = mean_of(log(value) for value in values)
    if logs is None or not isfinite(logs.low):
        return logs and logs._replace(mean=exp(logs.mean), sd=0.0)
    return Mean(exp(logs.mean), exp(logs.sd), exp(logs.low), exp(logs.high), logs.n)


def share_of(flags: Iterable[bool]) -> Mean | None:
    """A share in per cent with Wilson's 95 % interval, which stays within 0 and 100 and is not empty at either end."""
    sample = [bool(flag) for flag in flags]
    if not sample:
        return None
    n, z = len(sample), 1.959964
    share = sum(sample) / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    sd = 100 * sqrt(share * (1 - share))
    return Mean(100 * share, sd, max(100 * (middle - half), 0.0), min(100 * (middle + half), 100.0), n)


def box_of(values: Iterable[float]) -> Box | None:
    """The box of some values, or `None` if there are none."""
    sample = np.sort(np.fromiter(values, dtype=np.float64))
    if sample.size == 0:
        return None
    q1, median, q3 = (float(value) for value in np.percentile(sample, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = sample[(sample >= q1 - reach) & (sample <= q3 + reach)]
    return Box(float(inside[0]), q1, median, q3, float(inside[-1]), float(sample.mean()), len(sample))
