"""MATPOWER version-2 `.m` files, as one format among others: the work is done in `gridveil.casefile`."""

from __future__ import annotations

from pathlib import Path

from gridveil.casefile.case import Case
from gridveil.casefile.labels import Labels, labelled, labels
from gridveil.casefile.read import read_bytes
from gridveil.casefile.write import to_text
from gridveil.formats.checked import Records, check_identity
from gridveil.formats.imported import Identity, Imported, numbered
from gridveil.formats.registry import Data


def read_m(path: Path, data: Data) -> Imported:
    """Rows without ids (fields branch_id and gen_id): circuits and units count from 1 in the file's order."""
    assert isinstance(data, bytes)
    case = read_bytes(path, data)
    known, plain = labels(case), numbered(case)
    identity = Identity(known.branch_id or plain.circuit, known.gen_id or plain.machine, known.bus_name)
    if identity.circuit is known.branch_id or identity.machine is known.gen_id:
        check_identity(Records(path, case, identity))
    return Imported(case, identity)


def write_m(case: Case, identity: Identity) -> bytes:
    """The text, with names and ids as fields of their own where they say more than the order of rows."""
    plain = numbered(case)
    ids = (identity.circuit, identity.machine) != (plain.circuit, plain.machine)
    given = Labels(identity.bus_names, *((identity.circuit, identity.machine) if ids else (None, None)))
    return to_text(labelled(case, given)).encode()
