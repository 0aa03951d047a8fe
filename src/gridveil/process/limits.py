"""What a process of ours may use. The limits are public constants: nothing in them depends on a network."""

from __future__ import annotations

import sys
from contextlib import suppress

from gridveil.process.system import SET_PARENT_DEATH_SIGNAL, prctl

if sys.platform != "win32":  # which has no such limits
    import resource

MEMORY = 64 * 2**30
"""Bytes of address space. 9,241 buses need 1 GB; three BLAS libraries reserve 0.2 GB per core, for 64 at most."""
_KILL = 9
"""SIGKILL, a name that Windows does not have."""
CPU_SECONDS = 48 * 3600
"""Seconds of processor time. 9,241 buses need about 40."""


def settle() -> None:
    """Limit memory, time and core dumps, and die with the parent."""
    lower("RLIMIT_AS", MEMORY)
    lower("RLIMIT_CPU", CPU_SECONDS)
    lower("RLIMIT_CORE", 0)
    # a parent that is dead already is noticed by the end of the input
    prctl(SET_PARENT_DEATH_SIGNAL, _KILL)


def lower(name: str, most: int) -> bool:
    """Lower a limit for good; whether it is now `most` or less."""
    if sys.platform == "win32":
        return False
    what = getattr(resource, name)
    hard = resource.getrlimit(what)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (least, least))
        return True
    return False
