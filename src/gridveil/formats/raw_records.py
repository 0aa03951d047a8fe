"""A case as PSS/E records, by table and field: what RAW and RAWX write, each in its own order of fields.

Nothing stands in them but the tables of the case: no title, no machine impedances, lengths, owners or dates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.formats.imported import Identity

_OWNER = {"o1": 1, "f1": 1.0} | {f"{kind}{n}": value for n in (2, 3, 4) for kind, value in (("o", 0), ("f", 1.0))}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "bus": {"name": "", "owner": 1},
    "load": {
        "loadid": "1", "stat": 1, "ip": 0.0, "iq": 0.0, "yp": 0.0, "yq": 0.0, "owner": 1, "scale": 1, "intrpt": 0,
        "dgenp": 0.0, "dgenq": 0.0, "dgenm": 0, "loadtype": "",
    },
    "fixshunt": {"shntid": "1", "stat": 1},
    "generator": {
        "ireg": 0, "nreg": 0, "zr": 0.0, "zx": 1.0, "rt": 0.0, "xt": 0.0, "gtap": 1.0, "rmpct": 100.0, "baslod": 0,
        "wmod": 0, "wpf": 1.0, **_OWNER,
    },
    "acline": {
        "name": "", "gi": 0.0, "bi": 0.0, "gj": 0.0, "bj": 0.0, "met": 1, "len": 0.0, **_OWNER,
        **{f"rate{n}": 0.0 for n in range(4, 13)},
    },
    "transformer": {
        "kbus": 0, "cw": 1, "cz": 1, "cm": 1, "mag1": 0.0, "mag2": 0.0, "nmet": 2, "name": "", "vecgrp": "", "zcod": 0,
        "nomv1": 0.0, "cod1": 0, "cont1": 0, "node1": 0, "rma1": 1.1, "rmi1": 0.9, "vma1": 1.1, "vmi1": 0.9, "ntp1": 33,
        "tab1": 0, "cr1": 0.0, "cx1": 0.0, "cnxa1": 0.0, "windv2": 1.0, "nomv2": 0.0, **_OWNER,
        **{f"wdg1rate{n}": 0.0 for n in range(4, 13)},
    },
}  # fmt: skip


@dataclass(frozen=True)
class Records:
    """Columns of one table by field, each of the same length."""

    count: int
    columns: dict[str, Sequence[Any]]

    def column(self, field: str) -> Sequence[Any]:
        """The values of a field."""
        return self.columns[field]


def records(case: Case, identity: Identity) -> dict[str, Records]:
    """All tables that have records. The case is one that `losses.held` left over for these formats."""
    names = identity.bus_names or ("",) * len(case.bus)
    transformer = np.zeros(0, dtype=bool)
    if len(case.branch):
        transformer = np.asarray((case.branch[:, c.RATIO] != 0) | (case.branch[:, c.SHIFT] != 0))
    return {
        "bus": _bus(case.bus, names),
        "load": _at_bus(case.bus, "load", ("pl", "ql"), (c.PD, c.QD)),
        "fixshunt": _at_bus(case.bus, "fixshunt", ("gl", "bl"), (c.GS, c.BS)),
        "generator": _units(case.gen, identity.machine),
        "acline": _lines(case.branch, identity.circuit, ~transformer),
        "transformer": _transformers(case, identity.circuit, transformer),
    }


def _whole(values: FloatArray) -> list[int]:
    return [int(value) for value in values.tolist()]


def _complete(table: str, count: int, columns: dict[str, Sequence[Any]]) -> Records:
    return Records(count, {**{name: [value] * count for name, value in _DEFAULTS[table].items()}, **columns})


def _bus(bus: FloatArray, names: tuple[str, ...]) -> Records:
    high, low = bus[:, c.VMAX].tolist(), bus[:, c.VMIN].tolist()
    columns: dict[str, Sequence[Any]] = {
        "ibus": _whole(bus[:, c.BUS_NUMBER]), "name": names, "baskv": bus[:, c.BASE_KV].tolist(),
        "ide": _whole(bus[:, c.BUS_TYPE]), "area": _whole(bus[:, 6]), "zone": _whole(bus[:, 10]),
        "vm": bus[:, c.VM].tolist(), "va": bus[:, c.VA].tolist(), "nvhi": high, "nvlo": low, "evhi": high, "evlo": low,
    }  # fmt: skip
    return _complete("bus", len(bus), columns)


def _at_bus(bus: FloatArray, table: str, fields: tuple[str, str], places: tuple[int, int]) -> Records:
    """A load or shunt of each bus that has one."""
    rows = bus[np.any(bus[:, list(places)] != 0, axis=1)]
    columns: dict[str, Sequence[Any]] = {
        "ibus": _whole(rows[:, c.BUS_NUMBER]), "area": _whole(rows[:, 6]), "zone": _whole(rows[:, 10]),
        **{field: rows[:, place].tolist() for field, place in zip(fields, places, strict=True)},
    }  # fmt: skip
    return _complete(table, len(rows), columns)


def _units(gen: FloatArray, names: tuple[str, ...]) -> Records:
    places = {
        "pg": c.PG, "qg": c.QG, "qt": c.QMAX, "qb": c.QMIN, "vs": c.VG, "mbase": c.MBASE, "pt": c.PMAX, "pb": c.PMIN,
    }  # fmt: skip
    columns: dict[str, Sequence[Any]] = {"ibus": _whole(gen[:, c.GEN_BUS]), "machid": names}
    columns |= {"stat": _whole(gen[:, c.GEN_STATUS])}
    columns |= {field: gen[:, place].tolist() for field, place in places.items()}
    return _complete("generator", len(gen), columns)


def _ends(branch: FloatArray, names: tuple[str, ...], which: BoolArray) -> dict[str, Sequence[Any]]:
    rows = branch[which]
    return {
        "ibus": _whole(rows[:, c.FROM]), "jbus": _whole(rows[:, c.TO]), "stat": _whole(rows[:, c.BRANCH_STATUS]),
        "ckt": [names[at] for at in np.flatnonzero(which).tolist()],
    }  # fmt: skip


def _lines(branch: FloatArray, names: tuple[str, ...], which: BoolArray) -> Records:
    rows = branch[which]
    places = {"rpu": c.R, "xpu": c.X, "bpu": c.B, "rate1": c.RATE_A, "rate2": c.RATE_B, "rate3": c.RATE_C}
    columns = _ends(branch, names, which) | {field: rows[:, place].tolist() for field, place in places.items()}
    return _complete("acline", len(rows), columns)


def _transformers(case: Case, names: tuple[str, ...], which: BoolArray) -> Records:
    rows = case.branch[which]
    places = {
        "r1_2": c.R, "x1_2": c.X, "windv1": c.RATIO, "ang1": c.SHIFT,
        "wdg1rate1": c.RATE_A, "wdg1rate2": c.RATE_B, "wdg1rate3": c.RATE_C,
    }  # fmt: skip
    columns = _ends(case.branch, names, which) | {field: rows[:, place].tolist() for field, place in places.items()}
    columns |= {"sbase1_2": [case.base_mva] * len(rows)}
    return _complete("transformer", len(rows), columns)
