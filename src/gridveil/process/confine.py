"""A process closes its own doors once it has what it needs: as many as the system has."""

from __future__ import annotations

from gridveil.process.landlock import landlock
from gridveil.process.limits import lower
from gridveil.process.seccomp import seccomp
from gridveil.process.system import SET_DUMPABLE, prctl


def confine() -> tuple[str, ...]:
    """Give up files, network and other processes for good; the words for what the system let us give up."""
    prctl(SET_DUMPABLE, 0)
    # in this order: each of them forbids what the ones before it need
    doors = (("landlock", landlock), ("descriptors", descriptors), ("seccomp", seccomp))
    return tuple(word for word, close in doors if close())


def descriptors() -> bool:
    """No further descriptor, hence no file and no socket, and no byte into a file that is open; pipes go on."""
    return lower("RLIMIT_FSIZE", 0) and lower("RLIMIT_NOFILE", 0)
