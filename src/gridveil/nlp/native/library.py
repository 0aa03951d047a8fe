"""The kernel's shared library: found, loaded and asked for its version once; or the reason why it is not there.

Nothing here raises: who finds no kernel goes on with Ipopt. It stays loaded, so that a process which is about to close
its doors has only to look for it before.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gridveil.errors import SolveError
from gridveil.nlp.memory import keep_memory

VERSION = 1
"""The interface that this package speaks: GRIDVEIL_KERNEL_VERSION of native/gridveil.h."""
OVERRIDE = "GRIDVEIL_KERNEL"
"""Names the file of another library."""
_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")


class _Found(NamedTuple):
    """Where it was looked for, and the library or what was in the way."""

    file: Path
    library: ctypes.CDLL | None
    why_absent: str | None


def load() -> ctypes.CDLL | None:
    """The library, of the version that is expected; `None` where there is none."""
    return _find().library


def require() -> ctypes.CDLL:
    """The library; `SolveError` where there is none."""
    library, reason = load(), why_absent()
    if library is None:
        raise SolveError("no_solver", f"there is no kernel: {reason}; use --solver ipopt, or install GridVeil anew")
    return library


def file() -> Path:
    """The library's file, whether it is there or not."""
    return _find().file


def why_absent() -> str | None:
    """Why there is no library, in words; `None` where there is one."""
    return _find().why_absent


@lru_cache(maxsize=1)
def _find() -> _Found:
    """Looked for once: a process that has closed its doors could not look again."""
    given = os.environ.get(OVERRIDE, "")
    path = Path(os.path.abspath(given)) if given else Path(__file__).with_name(f"libgridveil.{_SUFFIX}")  # noqa: PTH100
    try:
        if not path.is_file():
            return _Found(path, None, f"there is no file {path}" + (f"; check {OVERRIDE}" if given else ""))
        if _is_cut(path):
            return _Found(path, None, f"{path} is cut off: its end is missing")
        library = ctypes.CDLL(str(path))
        version = int(library.gridveil_kernel_version())
    except (OSError, AttributeError, ValueError) as error:
        return _Found(path, None, f"{path} cannot be used: {error}")
    if version != VERSION:
        return _Found(path, None, f"{path} has version {version}, and this GridVeil needs {VERSION}")
    keep_memory()
    return _Found(path, library, None)


def _is_cut(path: Path) -> bool:
    """Whether an ELF file ends before its last table, as after a full disk: the system's loader looks at its head
    alone, and a process that reads beyond its end is killed."""
    with path.open("rb") as opened:
        head = opened.read(64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        return head[:4] == b"\x7fELF" and len(head) < 64
    (tables,) = struct.unpack_from("<Q", head, 0x28)
    size, count = struct.unpack_from("<HH", head, 0x3A)
    return bool(path.stat().st_size < tables + size * count)
