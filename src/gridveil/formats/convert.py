"""One format into another: what the target can hold, its files, and what was lost on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridveil.formats.imported import Imported
from gridveil.formats.lend import COSTS, LIMITS
from gridveil.formats.lend_write import costs_csv, limits_csv
from gridveil.formats.losses import held
from gridveil.formats.registry import Format

IS_BESIDE = ": beside it, in"
LENT = {"the generator costs": COSTS, "the angle limits": LIMITS, "the charging": LIMITS}
"""How the sentence of a loss begins -> the file that has what was lost."""


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
    costs = costs_csv(found.case, kept.identity) if "costs" in form.cannot_hold else None
    limits = None
    if "angle limits" in form.cannot_hold:
        limits = limits_csv(found.case, kept.identity, charging="transformer charging" in form.cannot_hold)
    lent = {COSTS: costs, LIMITS: limits}
    beside = {ending: data for ending, data in lent.items() if data is not None}
    losses = tuple(_told(one, beside) for one in kept.losses)
    return Converted(write(kept.case, kept.identity), beside, kept, losses)


def _told(loss: str, beside: dict[str, bytes]) -> str:
    """A loss, and where it can be found all the same."""
    for start, ending in LENT.items():
        if loss.startswith(start) and ending in beside:
            return f"{loss}{IS_BESIDE} *{ending}"
    return loss
