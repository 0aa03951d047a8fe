"""MATPOWER's `.mat` files: the same tables as in a `.m` file, as a MATLAB struct `mpc`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.read import USER_TERMS
from gridveil.errors import CaseFileError
from gridveil.formats.checked import checked
from gridveil.formats.imported import Identity, Imported, numbered
from gridveil.formats.live import LEFT_OUT, joined, live
from gridveil.formats.mat5 import variables

CANNOT_HOLD = (
    LEFT_OUT,
    "a .mat file has no circuit and machine ids: parallel branches, and units of one bus, count from 1",
)
_TABLES = ("bus", "gen", "branch", "gencost")
_READ = (*_TABLES, "version", "baseMVA", "dcline", "bus_name")
_HEADER = b"MATLAB 5.0 MAT-file, written by GridVeil"


def read(path: Path, data: bytes) -> Imported:
    """The case in a struct `mpc`, or in variables `bus`, `gen`, ... of their own."""
    found = variables(path, data)
    mpc = found.get("mpc", found)
    if not isinstance(mpc, dict) or "bus" not in mpc:
        raise CaseFileError(path, None, "there is no struct mpc with a field bus", "save the case as mpc")
    if _text(mpc.get("version", "2")) not in ("2", "2.0"):
        raise CaseFileError(path, None, "mpc.version is not '2'", "convert it to version '2' with savecase()")
    for name in USER_TERMS:
        if name in mpc and len(mpc[name]):
            problem = f"mpc.{name} adds terms to the OPF that this model does not have"
            raise CaseFileError(path, None, problem, "delete the field if the plain OPF is meant")
    tables = {name: _table(path, mpc, name) for name in _TABLES}
    names = mpc.get("bus_name")
    named = isinstance(names, list) and len(names) == len(tables["bus"]) and all(isinstance(n, str) for n in names)
    if "dcline" in mpc:
        refuse_dclines(path, _table(path, mpc, "dcline"))
    bus, gen, branch, costs = (tables[name] for name in _TABLES)
    case = Case(path.stem, _base(path, mpc), bus, gen, branch, costs, source=str(path))
    identity = numbered(case) if _whole(case) else Identity(("",) * len(case.branch), ("",) * len(case.gen))
    checked(path, case, identity)
    identity = Identity(identity.circuit, identity.machine, tuple(names) if named and isinstance(names, list) else None)
    extra = [f"the field {name} is not read" for name in sorted(set(mpc) - set(_READ)) if mpc is not found]
    return Imported(case, identity, tuple(extra))


def write(case: Case, identity: Identity) -> bytes:
    """The struct `mpc` that MATPOWER, PYPOWER's users and pypowsybl load; without the date that savemat adds."""
    from scipy.io import savemat  # noqa: PLC0415 - SciPy is loaded by those who write this format

    shown = live(case, identity)
    mpc: dict[str, Any] = {"version": "2", "baseMVA": shown.base_mva, "bus": shown.bus, "gen": shown.gen}
    mpc["branch"] = shown.branch
    blocks = [one for one in (shown.cost_p, shown.cost_q) if one is not None]
    if blocks:
        mpc["gencost"] = joined(blocks)
    if shown.bus_names is not None:
        mpc["bus_name"] = np.array([[name] for name in shown.bus_names], dtype=object)
    stream = io.BytesIO()
    savemat(stream, {"mpc": mpc}, oned_as="column")
    return _HEADER.ljust(116) + stream.getvalue()[116:]


def refuse_dclines(path: Path, dcline: FloatArray) -> None:
    """Refuse a table of DC lines of which one is in service."""
    live = dcline[:, c.DCLINE_STATUS] != 0 if dcline.shape[1] > c.DCLINE_STATUS else np.ones(len(dcline), dtype=bool)
    if np.any(live):
        problem = f"a DC line is in service and this model has none (row {np.flatnonzero(live)[0] + 1} of mpc.dcline)"
        raise CaseFileError(path, None, problem, "switch it off, or replace it by a generator at each end")


def _table(path: Path, mpc: dict[str, Any], name: str) -> FloatArray:
    value = mpc.get(name)
    if value is None and name == "gencost":
        return np.zeros((0, 0))
    if not isinstance(value, np.ndarray):
        raise CaseFileError(path, None, f"mpc.{name} is missing or no table of numbers", "save it as a matrix")
    return value


def _base(path: Path, mpc: dict[str, Any]) -> float:
    value = mpc.get("baseMVA")
    if not isinstance(value, np.ndarray) or value.size != 1:
        raise CaseFileError(path, None, "mpc.baseMVA is missing or not one number", "give it, such as 100")
    return float(value.flat[0])


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{float(value.flat[0]):g}" if value.size == 1 else ""
    return str(value).strip()


def _whole(case: Case) -> bool:
    """Whether bus numbers are such that rows can be counted by them; if not, the check says so."""
    ends = [table[:, :2] for table in (case.branch, case.gen[:, :1]) if len(table) and table.shape[1]]
    return all(np.all(np.isfinite(one)) and np.all(np.abs(one) < 2**53) for one in ends)
