"""A case by its file, or by the name under which it is shipped."""

from __future__ import annotations

from pathlib import Path

from gridveil import cases
from gridveil.casefile.case import Case
from gridveil.casefile.read import read
from gridveil.casefile.to_network import to_network
from gridveil.grid import Network


def read_case(case: str | Path) -> Case:
    """Read a case file, or a shipped case by its name; a file of that name goes before a shipped case."""
    shipped = cases.path(str(case))
    try:
        here = shipped is None or Path(case).exists()
    except OSError:  # `read` will say why it cannot be looked at
        here = True
    return read(case if here or shipped is None else shipped)


def load(case: str | Path | Case | Network) -> Network:
    """The network of a case, a case file or a shipped case."""
    if isinstance(case, Network):
        return case
    return to_network(case if isinstance(case, Case) else read_case(case))
