"""The C library, for the calls of Linux that Python has no name for."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

LINUX = sys.platform == "linux"

SET_PARENT_DEATH_SIGNAL = 1
GET_DUMPABLE = 3
SET_DUMPABLE = 4
SET_NO_NEW_PRIVILEGES = 38
AT_CWD = -100
RENAME_EXCHANGE = 2


@lru_cache(maxsize=1)
def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """A call by its number: its answer, −1 if it is refused."""
    given = [ctypes.c_long(one) if isinstance(one, int) else ctypes.c_char_p(one) for one in arguments]
    return int(_library().syscall(ctypes.c_long(number), *given))


def prctl(option: int, value: int = 0) -> int:
    """An operation on this process: its answer, −1 if it is refused; nothing but refusals outside Linux."""
    if not LINUX:
        return -1
    return int(_library().prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))))


def exchange(one: Path, other: Path) -> bool:
    """Have two names on one file system change places at once; whether the system could."""
    if not (LINUX and hasattr(_library(), "renameat2")):
        return False
    return int(_library().renameat2(AT_CWD, os.fsencode(one), AT_CWD, os.fsencode(other), RENAME_EXCHANGE)) == 0


def lacking() -> tuple[str, ...]:
    """What GridVeil does on Linux and not on this system, in words, for who wants to know what is lost."""
    if LINUX:
        return ()
    everywhere = (
        "the repair process is not kept from files and network by the system (it gets nothing secret in any case)",
        "a bundle that is replaced by --force is away for a moment",
    )
    if sys.platform == "win32":
        return (
            *everywhere,
            "who may read a ledger or a key is not looked at: keep them in a folder of your own",
            "two studies into one directory, or two restorations of one ledger, do not notice each other",
            "what a killed release has left (.gridveil.*) is not removed",
            "neither memory nor processor time of the repair process is limited, and crash dumps are not turned off",
        )
    return everywhere
