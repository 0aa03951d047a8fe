"""The formats that networks come and go in. Readers and writers are loaded when they are needed, and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from gridveil.errors import GridVeilError
from gridveil.libraries import how_to_install

if TYPE_CHECKING:
    from gridveil.casefile.case import Case
    from gridveil.formats.imported import Identity, Imported

Data: TypeAlias = "bytes | Mapping[str, bytes]"
"""The content of a file, or of a folder of files by their names."""
Reader: TypeAlias = "Callable[[Path, Data], Imported]"
Writer: TypeAlias = "Callable[[Case, Identity], bytes | dict[str, bytes]]"


@dataclass(frozen=True)
class Format:
    """One format. `reader` and `writer` are `module:function` in this room, or None; `content` has the words of
    `formats.recognise` for files of it; `cannot_hold` are names of `formats.losses`."""

    name: str
    words: str
    extensions: tuple[str, ...]
    content: tuple[str, ...]
    reader: str | None
    writer: str | None
    cannot_hold: tuple[str, ...] = ()

    def read(self) -> Reader:
        """Its reader, loaded now."""
        if self.reader is None:
            raise GridVeilError(f"{self.words} is written, but not read; give another format")
        return cast("Reader", _named(self.reader))

    def write(self) -> Writer:
        """Its writer, loaded now."""
        if self.writer is None:
            raise GridVeilError(f"{self.words} is read, but not written; choose one of {', '.join(WRITABLE)}")
        return cast("Writer", _named(self.writer))


_RAW_LOSES = (
    "extra columns", "reactive costs", "startup costs", "costs", "angle limits", "infinite limits",
    "transformer charging", "long ids", "long names",
)  # fmt: skip
_SHOWN = ("out of service", "extra columns", "startup costs")
FORMATS = (
    Format("m", "a MATPOWER case", (".m",), ("m",), "matpower:read_m", "matpower:write_m"),
    Format("psse33", "PSS/E RAW 33", (".raw",), ("raw",), "raw_read:read_raw", "raw_write:write_raw33", _RAW_LOSES),
    Format("psse35", "PSS/E RAW 35", (".raw",), ("raw",), "raw_read:read_raw", "raw_write:write_raw35", _RAW_LOSES),
    Format("rawx", "PSS/E RAWX", (".rawx", ".json"), ("json rawx",), "rawx:read_rawx", "rawx:write_rawx", _RAW_LOSES),
    Format("mat", "a MATPOWER .mat file", (".mat",), ("mat",), "matfile:read", "matfile:write", (*_SHOWN, "ids")),
    Format(
        "powermodels", "PowerModels JSON", (".json",), ("json powermodels",), "powermodels:read", "powermodels:write",
        (*_SHOWN, "reactive costs"),
    ),
    Format("egret", "EGRET JSON", (".json",), ("json egret",), "egret:read", "egret:write", _SHOWN),
    Format(
        "pandapower", "pandapower JSON", (".json",), ("json pandapower",), "pandapower:read", "pandapower:write",
        (*_SHOWN, "angle limits", "transformer charging"),
    ),
    Format(
        "pypsa", "a PyPSA folder of CSV files", ("", ".zip"), ("folder", "zip"), "pypsa:read", "pypsa:write",
        _SHOWN,
    ),
    Format(
        "pypsa-netcdf", "a PyPSA netCDF file", (".nc",), ("hdf5", "netcdf"), "pypsa_netcdf:read", "pypsa_netcdf:write",
        _SHOWN,
    ),
    Format("xiidm", "XIIDM", (".xiidm", ".xml"), ("xml",), "xml_files:read", None),
    Format("cgmes", "CGMES", ("", ".zip", ".xml"), ("folder", "zip", "xml"), "xml_files:read", None),
)  # fmt: skip
BY_NAME = {one.name: one for one in FORMATS}
WRITABLE = tuple(one.name for one in FORMATS if one.writer)
READABLE = tuple(one.name for one in FORMATS if one.reader)
TRANSLATIONS = {
    "psse33": "released.psse33.raw", "psse35": "released.psse35.raw", "rawx": "released.rawx", "mat": "released.mat",
    "powermodels": "released.powermodels.json", "egret": "released.egret.json",
    "pandapower": "released.pandapower.json", "pypsa": "released.pypsa.zip",
}  # fmt: skip
"""Formats of a release beside `released.m`, and the names of their files in a bundle."""
BESIDE = {".costs.csv": "released.costs.csv", ".limits.csv": "released.limits.csv"}
"""Ends of the names of files with costs and limits -> their names in a bundle."""
REFUSED = {
    ".uct": "UCTE files hold too little of a network to be read rightly",
    ".rop": "PSS/E cost files (ROP) are not read",
    ".sav": "PSS/E saved cases are a closed format",
    ".cdf": "the IEEE common format has no ratings, limits or costs",
    ".epc": "PSLF files are not read",
    ".aux": "PowerWorld files are not read",
}
"""Extension -> why files of it are not read."""


def by_name(name: str) -> Format:
    """The format of that name."""
    if name not in BY_NAME:
        raise GridVeilError(f"there is no format {name!r}; the formats are {', '.join(BY_NAME)}")
    return BY_NAME[name]


def by_extension(path: Path) -> tuple[Format, ...]:
    """The formats that files of such a name may have; of several revisions the one that most tools read is first."""
    ending = path.suffix.lower()
    return tuple(one for one in FORMATS if ending in one.extensions)


def _named(place: str) -> object:
    module, name = place.split(":")
    try:
        return getattr(import_module(f"gridveil.formats.{module}"), name)
    except ModuleNotFoundError as error:
        raise GridVeilError(
            f"this format needs the library {error.name}, which is not installed; {how_to_install('formats')}"
        ) from error
