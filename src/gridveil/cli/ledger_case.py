"""`gridveil ledger show CASE`: the elements of a network that are nearest to their limits, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.markup import escape
from rich.table import Table

from gridveil.cli.output import out, print_json

if TYPE_CHECKING:
    from gridveil.grid import Structure
    from gridveil.privacy.composition import Accounts
    from gridveil.privacy.ledger import Ledger
    from gridveil.publish.elements import SameAs

SHOWN = 10
"""Elements of each kind that are listed."""


def show_case(book: Ledger, name: str, structure: Structure, known: SameAs | None, as_json: bool) -> None:
    """Corridors always, loads and plants where something was charged to them; of each the groups that were."""
    from gridveil.privacy.refusal import reach_words
    from gridveil.publish.elements import by_element
    from gridveil.wall.protection import GROUP_WORDS, Element, Group, groups_of

    history = book.history()
    charged = history.groups(book.assets(name, [one for some in by_element(structure, known).values() for one in some]))
    have = {kind: tuple(str(one) for one in groups_of(kind) if one in charged) for kind in by_element(structure, known)}
    have[Element.CORRIDOR] = have[Element.CORRIDOR] or (str(Group.LINES),)
    names = {kind: some for kind, some in by_element(structure, known).items() if have[kind]}
    whole = history.accounts(
        book.assets(
            name,
            [one for some in names.values() for one in some],
            [have[kind] for kind, some in names.items() for _ in some],
        )
    )
    keyed = {kind: book.assets(name, some).keys for kind, some in names.items()}
    rows = {kind: _nearest(whole, keyed[kind], names[kind]) for kind in names}
    if as_json:
        elements = [
            {str(kind): one.buses if kind is Element.CORRIDOR else one.buses[0], "spent": one.spent, "limit": one.limit,
             "groups": one.groups}
            for kind, found in rows.items()
            for one in found
        ]  # fmt: skip
        print_json(
            {"network": name, "spent": whole.largest, "limit": whole.largest_limit, "left": whole.left,
             "counted_within": [one._asdict() for one in whole.within], "nearest": elements}
        )  # fmt: skip
        return
    for kind, found in rows.items():
        if len(rows) > 1 or len(have[kind]) > 1:
            out.print(f"[bold]{kind}s[/]: {', '.join(GROUP_WORDS[Group(one)] for one in have[kind])}")
        more = have[kind] if len(have[kind]) > 1 else ()
        table = Table(str(kind), *more, "spent", "limit", "left", title=escape(name), title_justify="left")
        for one in found:
            own = [f"{one.groups[group]:.6g}" for group in more]
            table.add_row(
                "–".join(map(str, one.buses)), *own, f"{one.spent:.6g}", f"{one.limit:.6g}",
                f"{one.limit - one.spent:.6g}",
            )  # fmt: skip
        out.print(table)
        if (left := len(dict.fromkeys(names[kind])) - len(found)) > 0 and len(rows) > 1:
            out.print(f"and {left} more with as much left, or more")
    reach = f", counted for changes up to {reach_words(whole.within)}" if whole.within else ""
    out.print(f"{whole.largest:.6g} spent on this network{reach}")
    if any(one.groups for one in whole.within):
        out.print("a change of several groups counts in parts: half of one and half of another is one")


class Row(NamedTuple):
    """One element: its buses, what each group of it has spent, the most of these, and its limit."""

    buses: list[int]
    groups: dict[str, float]
    spent: float
    limit: float


def _nearest(found: Accounts, keys: Sequence[str], names: list[str]) -> list[Row]:
    """Elements of one kind that are nearest to their limit."""
    named = {key: [int(bus) for bus in name.split()[1:]] for key, name in zip(keys, names, strict=True)}
    groups: dict[str, dict[str, float]] = {key: {} for key in named}
    limits = dict[str, float]()
    for key, group, spent, limit in zip(found.keys, found.groups, found.spent, found.limit, strict=True):
        if key in named:
            groups[key][group], limits[key] = float(spent), float(limit)
    rows = [Row(named[key], groups[key], max(groups[key].values()), limits[key]) for key in named]
    return sorted(rows, key=lambda one: one.limit - one.spent)[:SHOWN]
