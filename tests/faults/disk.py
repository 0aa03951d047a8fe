"""A disk that is really full: a small file system of its own, with room for a little more in every trial.

Every write of a release, SQLite's too, is the one that fails in some trial. It needs the right to mount.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

from gridveil.privacy import ledger
from gridveil.publish import bundle

from .campaigns import Stage, timed
from .injectors import nothing
from .phases import Phases, put
from .record import Record
from .scene import Scene
from .trial import Injector, Tell

PAGE = os.sysconf("SC_PAGE_SIZE")
NEW_NAMESPACE = 0x20000
PRIVATE = 0x40000 | 0x4000
ROOM = 4 << 20
LAZY = 2
PLACES = ("from the start", "after the payment", "after keeping the draw", "before released.m")


def mounted(place: Path) -> str | None:
    """Mount a small file system that only this process sees; or why that cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NAMESPACE) or libc.mount(b"none", b"/", None, PRIVATE, None):
        return f"no namespace of its own ({os.strerror(ctypes.get_errno())})"
    if libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={ROOM}".encode()):
        return f"it cannot mount ({os.strerror(ctypes.get_errno())})"
    return None


def disk(folder: Path, count: int, seed: int) -> Record:
    """Room for 0, 1, 2, ... pages until a release has enough, in every scene; `count` trials at most."""
    small = folder / "small"
    small.mkdir()
    with timed("full disk") as record:
        if (why := mounted(small)) is not None:
            record.kinds[f"skipped: {why}"] += 1
            return record
        for room in (bundle, ledger):  # which would refuse so small a disk before anything is charged
            put(room, "require_room", lambda *_: None)
        _trials(small, count, record)
        ctypes.CDLL(None).umount2(os.fsencode(small), LAZY)
    return record


def _trials(small: Path, count: int, record: Record) -> None:
    for scene in (Scene(force=True), Scene("private"), Scene(fresh=True)):
        stage = Stage(scene, small / scene.name)
        for place in PLACES:
            enough = 0
            for pages in range(200):
                if enough >= 3 or record.n >= count:
                    break
                outcome = stage.run(_filled(small, pages, place))
                (small / "filler").unlink(missing_ok=True)
                record.add(f"exit {outcome.code}, full {place}", stage.faults(outcome))
                enough += outcome.code == 0
        shutil.rmtree(small / scene.name)


def _filled(disk: Path, pages: int, place: str) -> Injector:
    """Leave so many pages free, from a place on."""

    def inject(tell: Tell) -> None:
        def reached(here: str) -> None:
            if here == place:
                free = os.statvfs(disk).f_bavail
                with (disk / "filler").open("wb") as stream:
                    if free > pages:
                        os.posix_fallocate(stream.fileno(), 0, (free - pages) * PAGE)
                nothing(tell)

        Phases(reached).hang()
        reached("from the start")

    return inject
