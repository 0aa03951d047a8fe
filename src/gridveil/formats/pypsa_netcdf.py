"""PyPSA's netCDF files. Written as classic netCDF by SciPy, which every PyPSA loads; what PyPSA itself writes is HDF5,
and read with the library netCDF4 that comes with PyPSA."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile.case import Case
from gridveil.errors import CaseFileError
from gridveil.formats.imported import Identity, Imported
from gridveil.formats.pypsa import CANNOT_HOLD
from gridveil.formats.pypsa_net import SERIES, STATE, TABLES, TEXTS, Rows, add_series, from_tables
from gridveil.formats.pypsa_read import BASE, imported
from gridveil.formats.pypsa_write import angles, net_tables
from gridveil.formats.recognise import json_object
from gridveil.libraries import needed
from gridveil.regular import refuse_size

__all__ = ["CANNOT_HOLD", "read", "write"]
_CLASSIC = (b"CDF\x01", b"CDF\x02")
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read(path: Path, data: bytes) -> Imported:
    """The network in a file."""
    if data[:4] not in _CLASSIC and data[:8] != _HDF5:
        raise CaseFileError(path, None, "this is no netCDF file", "save it anew with PyPSA")
    variables, meta = _classic(path, data) if data[:4] in _CLASSIC else _hdf5(path, data)
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for table in TABLES:
        if f"{table}_i" not in variables:
            continue
        names = [str(name) for name in np.ravel(variables[f"{table}_i"]).tolist()]
        if len(set(names)) < len(names):
            raise CaseFileError(path, None, f"a name stands twice in the table {table}", "give each its own")
        columns = {
            key.removeprefix(f"{table}_"): value for key, value in variables.items() if key.startswith(f"{table}_")
        }
        plain = {key: value for key, value in columns.items() if np.shape(value) == (len(names),) and key != "i"}
        tables[table] = {
            name: {key: _value(key, value[i]) for key, value in plain.items()} for i, name in enumerate(names)
        }
    for table, changing in SERIES.items():
        for column in changing:
            _series(path, variables, tables.get(table, {}), f"{table}_t_{column}", column)
    if len(variables.get(f"buses_t_{STATE}", ())) == 1:
        _series(path, variables, tables.get("buses", {}), f"buses_t_{STATE}", STATE)
    return imported(from_tables(path, tables, json_object(path, meta) if meta else {}))


def _series(path: Path, variables: dict[str, Any], rows: Rows, name: str, column: str) -> None:
    values = variables.get(name)
    if values is None or not rows:
        return
    names = [str(one) for one in np.ravel(variables.get(f"{name}_i", [])).tolist()]
    first = [_value(column, one) for one in values[0]] if np.ndim(values) == 2 and len(values) == 1 else []
    if np.ndim(values) != 2 or (len(values) == 1 and len(first) != len(names)):
        raise CaseFileError(path, None, f"the series {column} does not fit its names", "save it anew")
    add_series(path, rows, column, names, len(values), first)


def _value(key: str, value: Any) -> Any:
    if key in TEXTS:
        return str(value)
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and np.isnan(value) else value


def _classic(path: Path, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Variables of a classic file; texts are rows of letters."""
    from scipy.io import netcdf_file  # noqa: PLC0415 - SciPy is loaded by those who read this format

    try:
        with netcdf_file(io.BytesIO(data), mmap=False) as file:
            found = {
                name: _letters(one.data) if one.data.dtype.kind == "S" else one.data.copy()
                for name, one in file.variables.items()
            }
            return found, bytes(getattr(file, "meta", b""))
    except Exception as error:
        raise CaseFileError(path, None, "this netCDF file cannot be read", "save it anew with PyPSA") from error


def _letters(value: Any) -> Any:
    rows = value if value.ndim == 2 else value.reshape(1, -1)
    return np.array([row.tobytes().rstrip(b"\0 ").decode("utf-8", "replace") for row in rows], dtype=object)


def _hdf5(path: Path, data: bytes) -> tuple[dict[str, Any], bytes]:
    library = needed("netCDF4", "formats")
    try:
        with library.Dataset("in memory", memory=data) as file:
            file.set_auto_mask(False)
            # a small file may claim any number of values that it fills in itself
            refuse_size(path, sum(8 * int(one.size) for one in file.variables.values()))
            found = {name: one[...] for name, one in file.variables.items()}
            return found, str(getattr(file, "meta", "")).encode()
    except CaseFileError:
        raise
    except Exception as error:
        raise CaseFileError(path, None, "this netCDF file cannot be read", "save it anew with PyPSA") from error


def write(case: Case, identity: Identity) -> bytes:
    """The file that `pypsa.Network(file)` loads."""
    from scipy.io import netcdf_file  # noqa: PLC0415 - SciPy is loaded by those who write this format

    stream = _Kept()
    file = netcdf_file(stream, "w", version=2)
    file.network_name, file.meta = "network", json.dumps({BASE: case.base_mva})
    file.createDimension("snapshots", 1)
    _text(file, "snapshots", "snapshots", ["now"])
    for table, rows in net_tables(case, identity).items():
        if not rows:
            continue
        file.createDimension(f"{table}_i", len(rows))
        _text(file, f"{table}_i", f"{table}_i", list(rows))
        for key, first in next(iter(rows.values())).items():
            values = [row[key] for row in rows.values()]
            if isinstance(first, str):
                _text(file, f"{table}_{key}", f"{table}_i", values)
            else:
                file.createVariable(f"{table}_{key}", "d", (f"{table}_i",))[:] = np.array(values, dtype=float)
    solved = angles(case, identity)
    series = f"buses_t_{STATE}"
    file.createDimension(f"{series}_i", len(solved))
    _text(file, f"{series}_i", f"{series}_i", list(solved))
    file.createVariable(series, "d", ("snapshots", f"{series}_i"))[:] = np.array([list(solved.values())])
    file.close()
    return stream.content


class _Kept(io.BytesIO):
    """A file in memory whose content outlives it: SciPy closes what it wrote."""

    content = b""

    def close(self) -> None:
        self.content = self.getvalue()
        super().close()


def _text(file: Any, name: str, dimension: str, values: list[str]) -> None:
    """Texts as rows of letters, with their coding, as xarray reads them."""
    coded = [value.encode() for value in values]
    width = max(1, *(len(one) for one in coded))
    letters = f"{name}_letters"
    file.createDimension(letters, width)
    variable = file.createVariable(name, "c", (dimension, letters))
    variable[:] = np.array([list(one.ljust(width, b"\0")) for one in coded], dtype=np.uint8).view("S1")
    variable._Encoding = "utf-8"
