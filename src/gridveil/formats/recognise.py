"""What a file is by its content: a word, or None where nothing speaks for anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gridveil.errors import CaseFileError

HEAD = 1 << 16
"""So many bytes of a file are looked at."""
_MATPOWER = re.compile(rb"^[ \t]*(?:function\b|mpc\.\w+[ \t]*=)", re.MULTILINE)
_RAW = re.compile(rb"\A(?:@![^\n]*\n|\s*\n)*+[ \t]*'?[01]?'?[ \t]*,[ \t]*[0-9.eE+]*[ \t]*(?:,|/|\r?\n)")
_SIGNS = (
    (b"MATLAB 5.0 MAT-file", "mat"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"CDF\x01", "netcdf"),
    (b"CDF\x02", "netcdf"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)
WORDS = {
    "m": "a MATPOWER case", "raw": "a PSS/E RAW file", "mat": "a MATLAB .mat file", "hdf5": "an HDF5 file",
    "netcdf": "a netCDF file", "zip": "a zip archive", "xml": "XML", "json": "JSON", "json rawx": "RAWX",
    "json powermodels": "PowerModels JSON", "json egret": "EGRET JSON", "json pandapower": "pandapower JSON",
}  # fmt: skip
"""What each word of `content` is called in a sentence."""


def content(data: bytes) -> str | None:
    """The kind of a file by its first bytes."""
    for sign, word in _SIGNS:
        if data.startswith(sign):
            return word
    head = data[:HEAD].removeprefix(b"\xef\xbb\xbf")
    start = head.lstrip()[:1]
    if start in (b"{", b"<"):
        return "json" if start == b"{" else "xml"
    if _RAW.match(head):
        return "raw"
    return "m" if _MATPOWER.search(head) else None


def json_kind(path: Path, data: bytes) -> str:
    """Which of the JSON formats a file has."""
    tables = json_object(path, data)
    if str(tables.get("_module", "")).startswith("pandapower") or "pandapower" in str(tables.get("_class", "")):
        return "json pandapower"
    network = tables.get("network")
    if isinstance(network, dict) and ("bus" in network or "caseid" in network):
        return "json rawx"
    if isinstance(tables.get("elements"), dict) and isinstance(tables.get("system"), dict):
        return "json egret"
    if "baseMVA" in tables and isinstance(tables.get("bus"), dict):
        return "json powermodels"
    raise CaseFileError(
        path, None, "this JSON is none of PowerModels, EGRET, pandapower and RAWX",
        "give a file that one of them wrote",
    )  # fmt: skip


def json_object(path: Path, data: bytes) -> dict[str, Any]:
    """A JSON object; keys that stand twice, wrong encodings and what nests too deep are refused."""
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise CaseFileError(path, None, "the file is not UTF-8", "save it as UTF-8") from None
    except _Twice:
        raise CaseFileError(path, None, "a key stands twice in one object", "keep one of the two") from None
    except RecursionError:
        raise CaseFileError(path, None, "the file nests deeper than any network", "check where it comes from") from None
    except json.JSONDecodeError as error:
        raise CaseFileError(path, error.lineno, "this is not JSON", "the file looks truncated or damaged") from None
    except ValueError:  # an integer of thousands of digits
        raise CaseFileError(path, None, "a number has too many digits", "write plain numbers") from None
    if not isinstance(value, dict):
        raise CaseFileError(path, None, "the file is not one JSON object", "give a file that a tool wrote")
    return value


class _Twice(Exception):
    """A key stands twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found
