"""Devices of PSS/E that the model has not: refused where they are in service, and told where they say nothing of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridveil.formats.raw_table import Table
from gridveil.formats.words import counted

_DEVICES = (
    (
        "twotermdc",
        "mdc",
        "a two-terminal DC line",
        "block it (MDC 0), or replace it by a load or generator at each end",
    ),
    ("vscdc", "mdc", "a VSC DC line", "block it (MDC 0), or replace it by a load or generator at each end"),
    ("ntermdc", "mdc", "a multi-terminal DC line", "block it (MDC 0), or replace it by loads and generators"),
    ("facts", "mode", "a FACTS device", "switch it off (MODE 0), or replace it by a shunt or generator"),
    ("gne", "stat", "a GNE device", "delete it, or replace it by a load or a shunt"),
    ("indmach", "stat", "an induction machine", "switch it off (ST 0), or replace it by a load"),
)
"""Table, the field that is 0 where it is out of service, words, advice."""


def refuse_what_is_not_modelled(tables: Mapping[str, Table], notes: list[str]) -> None:
    """Fail at the first device in service that the model has not."""
    for name, field, words, advice in _DEVICES:
        table = tables.get(name)
        if table is None or len(table) == 0:
            continue
        table.refuse(table.whole(field, 1) != 0, f"{words} is in service, and this model has none", advice)
        notes.append(f"{counted(len(table), words.split(' ', 1)[1])} out of service: left out")
    groups = tables.get("msline")
    if groups is not None and len(groups):
        notes.append(f"{counted(len(groups), 'line')} of several sections: each section is a branch")
    lines = tables["acline"]
    ties = [name[:1] in ("@", "*") for name in lines.text("ckt", "1")]
    if any(ties):
        count = counted(int(np.count_nonzero(ties)), "breaker or switch", "breakers or switches")
        notes.append(f"{count} (@, *): read as branches")
