"""One format into another: what the target can hold, its files, and what was lost on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridveil.formats.imported import Imported
from gridveil.formats.lend import COSTS, LIMITS
from gridveil.formats.lend_write import costs_csv, limits_csv
from gridveil.formats.losses import held
from gridveil.formats.registry import Format


@dataclass(frozen=True)
class Converted:
    """A network in another format. `main` is one file, or a folder of them; `beside` are files by the ends of their
    names, with costs and limits that the format lacks; `kept` is what the format holds, `losses` what nothing does."""

    main: bytes | dict[str, bytes]
    beside: dict[str, bytes]
    kept: Imported
    losses: tuple[str, ...]


def convert(found: Imported, form: Format) -> Converted:
    """The network in a format."""
    write = form.write()
    kept = held(replace(found, losses=()), form.cannot_hold)
    beside: dict[str, bytes] = {}
    losses = list(kept.losses)
    for name, ending, make in (("costs", COSTS, costs_csv), ("angle limits", LIMITS, limits_csv)):
        if name in form.cannot_hold and (lent := make(found.case, kept.identity)) is not None:
            beside[ending] = lent
            said = "the generator costs" if name == "costs" else "the angle limits"
            losses = [
                f"{one}: they are in the file *{ending} beside it" if one.startswith(said) else one for one in losses
            ]
    return Converted(write(kept.case, kept.identity), beside, kept, tuple(losses))
