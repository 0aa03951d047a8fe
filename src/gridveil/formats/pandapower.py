"""pandapower's JSON, read and written without pandapower."""

from __future__ import annotations

from pathlib import Path

from gridveil.casefile.case import Case
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.jsons import to_bytes
from gridveil.formats.live import LEFT_OUT
from gridveil.formats.pandapower_net import from_json
from gridveil.formats.pandapower_read import imported
from gridveil.formats.pandapower_write import net_json

CANNOT_HOLD = (
    LEFT_OUT,
    "pandapower has no limits of angle differences",
    "pandapower has no charging of transformers: it stands in shunts at their two buses, and ratings do not see it",
    "pandapower has no reference bus without a unit: the bus of the largest unit serves",
    "pandapower has no constant part of a piecewise-linear cost",
)


def read(path: Path, data: bytes) -> Imported:
    """The network as pandapower's own power flow and OPF see it."""
    return imported(from_json(path, data))


def write(case: Case, identity: Identity) -> bytes:
    """What `pandapower.from_json` loads."""
    return to_bytes(net_json(case, identity))
