"""No core dumps while a secret is in memory: what a crash leaves on disk would hold the network as it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import NamedTuple

from gridveil.process.system import GET_DUMPABLE, LINUX, SET_DUMPABLE, prctl

if sys.platform != "win32":
    import resource


class _State(NamedTuple):
    """The soft limit of a core's size, and whether the kernel would dump at all (−1 where it cannot be asked)."""

    limit: int
    dumpable: int


_lock = Lock()
_before: list[_State] = []
"""How it was before the first came in, once for each who is in; the last to leave restores it."""


def no_core_files() -> None:
    """For the rest of this process and for all that it starts. A limit of one byte keeps even the handlers from a dump
    that do not mind a limit of none; debuggers and tools that watch a process by its user go on working. Where the
    system allows no byte, this process is closed to them instead."""
    if sys.platform != "win32":
        with suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            if hard == 0:
                prctl(SET_DUMPABLE, 0)
            else:
                resource.setrlimit(resource.RLIMIT_CORE, (1, hard))


@contextmanager
def core_dumps_off() -> Iterator[None]:
    """This process leaves no core while anyone is in here, whatever thread, and is afterwards as it was.

    On Linux it is also closed to debuggers of the same user, and to dump handlers, which do not mind the limit.
    """
    with _lock:
        _before.append(_before[0] if _before else _state())
        _set(_State(0, 0))
    try:
        yield
    finally:
        with _lock:
            was = _before.pop()
            if not _before:
                _set(was)


def cores_are_off() -> bool:
    """Whether a crash of this process now would leave no core."""
    now = _state()
    return now.limit == 0 and (now.dumpable == 0 or not LINUX)


def _state() -> _State:
    if sys.platform == "win32":
        return _State(-1, -1)
    return _State(resource.getrlimit(resource.RLIMIT_CORE)[0], prctl(GET_DUMPABLE))


def _set(state: _State) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (state.limit, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    prctl(SET_DUMPABLE, max(state.dumpable, 0))
