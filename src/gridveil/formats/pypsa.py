"""PyPSA's folder of CSV files, read and written without PyPSA."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gridveil.casefile.case import Case
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.live import LEFT_OUT
from gridveil.formats.pypsa_net import STATE, from_folder
from gridveil.formats.pypsa_read import BASE, imported
from gridveil.formats.pypsa_write import angles, net_tables

CANNOT_HOLD = (
    LEFT_OUT,
    "PyPSA has no reactive limits: they stand in columns q_min and q_max, which PyPSA keeps and does not use",
    "PyPSA keeps limits of angle differences and does not use them",
    "PyPSA has no constant costs but those of being on: there they stand (stand_by_cost)",
    "PyPSA has no base: it stands in the network's meta",
    "PyPSA has no names of buses beside their numbers",
)


def read(path: Path, data: Mapping[str, bytes]) -> Imported:
    """The network in a folder."""
    return imported(from_folder(path, data))


def write(case: Case, identity: Identity) -> dict[str, bytes]:
    """The files that `pypsa.Network(folder)` loads."""
    files = {f"{table}.csv": _csv(rows) for table, rows in net_tables(case, identity).items() if rows}
    solved = angles(case, identity)
    files[f"buses-{STATE}.csv"] = (
        ",".join(["snapshot", *solved]) + "\n" + ",".join(["now", *map(repr, solved.values())]) + "\n"
    ).encode()
    files["network.csv"] = b"name\nnetwork\n"
    files["snapshots.csv"] = b",snapshot,objective,stores,generators\n0,now,1.0,1.0,1.0\n"
    files["meta.json"] = json.dumps({BASE: case.base_mva}).encode()
    return files


def _csv(rows: Mapping[str, Mapping[str, Any]]) -> bytes:
    columns = list(next(iter(rows.values())))
    lines = [["name", *columns], *([name, *(_text(row[key]) for key in columns)] for name, row in rows.items())]
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines).encode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(letter in cell for letter in ',"\r\n') else cell
