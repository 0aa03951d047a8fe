"""Who is who of renumbered buses: an identity map, or the names that both cases have. The operator's word."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gridveil.casefile.labels import labels
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError
from gridveil.formats.find import read_case
from gridveil.grid import Structure, structure_of
from gridveil.regular import small_bytes

LARGEST = 16 * 2**20
"""Bytes of an identity map: a million buses."""


def read_same_as(path: Path, structure: Structure, names: Sequence[str] | None = None) -> dict[int, int]:
    """Which bus of an earlier release each renumbered one is: by a CSV file with the columns `bus` and `known_as`, or,
    from the case of that release, by the `names` of buses that it has, too."""
    if path.suffix.lower() != ".csv":
        return _same_names(path, structure, names)
    try:
        text = small_bytes(path, LARGEST).decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        pairs = [(int(row["bus"]), int(row["known_as"])) for row in rows]
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read ({error.strerror}); nothing was charged") from error
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ReleaseError(
            f"{path} is no identity map: give the columns bus and known_as, with whole numbers; nothing was charged"
        ) from error
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ReleaseError(f"{path} names a bus twice; nothing was charged")
    if strange := sorted(set(found) - set(structure.buses.number.tolist())):
        raise ReleaseError(f"{path} names bus {strange[0]}, which the network does not have; nothing was charged")
    return found


def _same_names(path: Path, structure: Structure, names: Sequence[str] | None) -> dict[int, int]:
    """By names that stand once on either side; a bus whose name the earlier case has not is a new one."""
    earlier = read_case(path)
    known = labels(earlier, live=True).bus_name
    if names is None or known is None:
        which = path if known is None else "the case"
        raise ReleaseError(f"{which} has no names of buses to know them by; give a .csv file; nothing was charged")
    for some, whose in ((names, "the case"), (known, str(path))):
        if twice := sorted(name for name, count in Counter(some).items() if count > 1):
            raise ReleaseError(f"{whose} has {twice[0]!r} twice among its buses; give a .csv file; nothing was charged")
    numbers = dict(zip(known, structure_of(to_network(earlier).grid).buses.number.tolist(), strict=True))
    mine = zip(structure.buses.number.tolist(), names, strict=True)
    return {number: numbers[name] for number, name in mine if name in numbers}
