"""`gridveil ledger show CASE`: the elements of a network that are nearest to their limits, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
    """Corridors always, loads and plants where something was charged to them."""
    from gridveil.privacy.ledger import reach_words
    from gridveil.publish.elements import by_element
    from gridveil.wall.protection import Element, element_words

    names = by_element(structure, known)
    kinds = {kind: book.assets(name, some) for kind, some in names.items()}
    charged = {key for assets, _ in book.history().charges for key in assets.keys}
    kinds = {kind: one for kind, one in kinds.items() if kind is Element.CORRIDOR or charged.intersection(one.keys)}
    whole = book.accounts(book.assets(name, [one for kind in kinds for one in names[kind]]))
    rows = {kind: _nearest(whole, one.keys, names[kind]) for kind, one in kinds.items()}
    if as_json:
        elements = [
            {str(kind): buses if kind is Element.CORRIDOR else buses[0], "spent": spent, "limit": limit}
            for kind, found in rows.items()
            for buses, spent, limit in found
        ]
        print_json(
            {"network": name, "spent": whole.largest, "limit": whole.largest_limit, "left": whole.left,
             "counted_within": [one._asdict() for one in whole.within], "nearest": elements}
        )  # fmt: skip
        return
    for kind, found in rows.items():
        if len(rows) > 1:
            out.print(f"[bold]{kind}s[/]: {element_words(kind)}")
        table = Table(str(kind), "spent", "limit", "left", title=escape(name), title_justify="left")
        for buses, spent, limit in found:
            table.add_row("–".join(map(str, buses)), f"{spent:.6g}", f"{limit:.6g}", f"{limit - spent:.6g}")
        out.print(table)
        if (more := len(dict.fromkeys(names[kind])) - len(found)) > 0 and len(rows) > 1:
            out.print(f"and {more} more with as much left, or more")
    reach = f", counted for changes up to {reach_words(whole.within)}" if whole.within else ""
    out.print(f"{whole.largest:.6g} spent on this network{reach}")


def _nearest(found: Accounts, keys: Sequence[str], names: list[str]) -> list[tuple[list[int], float, float]]:
    """Elements of one kind that are nearest to their limit: the buses of each, what it has spent, and its limit."""
    place = {key: index for index, key in enumerate(found.keys)}
    named = {place[key]: [int(bus) for bus in name.split()[1:]] for key, name in zip(keys, names, strict=True)}
    order = sorted(named, key=lambda i: float(found.limit[i] - found.spent[i]))[:SHOWN]
    return [(named[i], float(found.spent[i]), float(found.limit[i])) for i in order]
