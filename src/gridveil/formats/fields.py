"""One record of a file that strangers wrote: its fields as numbers, whole numbers and flags, or a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gridveil.errors import CaseFileError

LARGEST_BUS = 2**53


@dataclass(frozen=True)
class Fields:
    """The fields of a record; `record` says which one it is. Values are never shown: they may be protected."""

    path: Path
    record: str
    values: Mapping[str, Any]

    def fail(self, problem: str, advice: str) -> NoReturn:
        """Refuse the file for this record."""
        raise CaseFileError(self.path, None, f"{self.record}: {problem}", advice)

    def number(self, key: str, default: float | None = None, *, endless: bool = False) -> float:
        """A number. Without a `default` it must be there; `endless` ones may be infinite."""
        value = self.values.get(key)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if default is None:
                self.fail(f"'{key}' is missing or no number", "give it")
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"'{key}' is not a number", "write a plain number")
        try:
            result = float(value)
        except OverflowError:
            self.fail(f"'{key}' is too large for a number", "write a plain number")
        if not (math.isfinite(result) or endless):
            self.fail(f"'{key}' is infinite", "write a plain number")
        return result

    def whole(self, key: str) -> int:
        """A positive whole number, such as a bus's; text of digits is taken too."""
        value = self.values.get(key)
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 20:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < LARGEST_BUS:
            self.fail(f"'{key}' is not a positive whole number", "number the buses 1, 2, 3, ...")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false, also as 1 or 0."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool | int | float) or value not in (0, 1):
            self.fail(f"'{key}' is neither true nor false", "write true or false")
        return bool(value)

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self.values.get(key)
        return default if value is None else str(value)


def records(path: Path, data: Mapping[str, Any], table: str) -> Iterator[tuple[str, Fields]]:
    """The records of a table of a JSON file that has them by name, in the order of their names as numbers.

    Other names decide nothing: their records come as the file has them."""
    found = data.get(table)
    if found is None:
        return
    if not isinstance(found, dict):
        raise CaseFileError(path, None, f"'{table}' is not a table of records by name", "give a file that a tool wrote")
    for name in sorted(found, key=lambda one: (not one.isdecimal(), int(one) if _small(one) else 0)):
        if not isinstance(found[name], dict):
            raise CaseFileError(path, None, f"{table} {_shown(name)}: it is no record", "give a file that a tool wrote")
        yield name, Fields(path, f"{table} {_shown(name)}", found[name])


def _small(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 20


def _shown(name: str) -> str:
    """A name that stands in a message: short, and without what a terminal obeys."""
    return "".join(letter if letter.isprintable() else "?" for letter in name[:40])
