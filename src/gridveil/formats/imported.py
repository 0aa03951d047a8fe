"""What a reader of any format gives: tables as a MATPOWER file would have them, and who is who in them."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.casefile.case import Case
from gridveil.formats.exposed import Exposed


@dataclass(frozen=True)
class Identity:
    """Names by row of the case's tables: a branch is (from, to, circuit), a unit (bus, machine), a bus its number.

    Writers reorder rows, so that two files are compared by these and never by order. `bus_names` are for people.
    """

    circuit: tuple[str, ...]
    machine: tuple[str, ...]
    bus_names: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Imported:
    """A case with its identity. `notes` say what is unusual and how it was read, `losses` what the format has and the
    case has not, or the other way round: a sentence each. `invented_cost` is the price of units without a cost,
    `exposed` says what of branches and loads the case has as shunts, which no release protects."""

    case: Case
    identity: Identity
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    invented_cost: float | None = None
    exposed: tuple[Exposed, ...] = ()


def numbered(case: Case) -> Identity:
    """The identity of a case whose rows have no names: parallel branches, and units of one bus, count from 1."""

    def count(keys: list[tuple[int, ...]]) -> tuple[str, ...]:
        seen: dict[tuple[int, ...], int] = {}
        found = []
        for key in keys:
            seen[key] = seen.get(key, 0) + 1
            found.append(str(seen[key]))
        return tuple(found)

    pairs = [tuple(sorted(row)) for row in case.branch[:, :2].astype(int).tolist()]
    return Identity(count(pairs), count([(int(bus),) for bus in case.gen[:, :1].ravel().tolist()]))
