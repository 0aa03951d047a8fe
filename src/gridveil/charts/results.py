"""The rows of a study: those that ended well and those that failed, by what they have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

Row = dict[str, Any]
Key = tuple[Any, ...]


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
