"""What happens to a release. Every injector tells `hit` when it strikes: a trial in which it does not proves nothing."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import gridveil

from .phases import Phases, put
from .trial import Injector, Tell

SOURCE = Path(gridveil.__file__).parent
LINES = tuple(
    str(SOURCE / name)
    for name in (
        "requests.py", "publish/spending.py", "publish/pipeline.py", "publish/bundle.py", "publish/staging.py", "publish/behind.py", "publish/release.py", "files.py",
        "cli/release.py", "cli/output.py", "cli/spending.py", "privacy/keyfile.py", "privacy/chain.py",
    )
)  # fmt: skip
"""Where requests to end are sent at single lines: whatever stands between a charge and its last word."""
OPERATIONS = (
    "open",
    "os.rename",
    "os.link",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.chmod",
    "sqlite3.connect",
    "shutil.rmtree",
)


def _signal(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def _raise(failure: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise failure

    return act


def _limit(kind: int) -> Callable[[], None]:
    """From now on the system refuses: no file can be opened, or none written."""
    return lambda: resource.setrlimit(kind, (0, resource.getrlimit(kind)[1]))


ACTS: dict[str, Callable[[], None]] = {
    "SIGKILL": _signal(signal.SIGKILL),
    "SIGTERM": _signal(signal.SIGTERM),
    "SIGINT": _signal(signal.SIGINT),
    "SIGHUP": _signal(signal.SIGHUP),
    "disk full": _raise(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
    "no descriptors": _raise(OSError(errno.EMFILE, os.strerror(errno.EMFILE))),
    "no memory": _raise(MemoryError()),
    "no file can be opened": _limit(resource.RLIMIT_NOFILE),
    "no file can be written": _limit(resource.RLIMIT_FSIZE),
}


def nothing(tell: Tell) -> None:
    """No fault."""
    tell("hit")


def listing(tell: Tell) -> None:
    """No fault; every place is told as it is reached."""
    Phases(lambda label: tell(f"phase {label}")).hang()


def at_phase(label: str, act: str) -> Injector:
    """Strike where a place is reached."""

    def inject(tell: Tell) -> None:
        def reached(here: str) -> None:
            if here == label:
                tell("hit")
                ACTS[act]()

        Phases(reached).hang()

    return inject


def at_line(number: int | None, act: str = "") -> Injector:
    """Strike before the n-th line of ours that runs after the charge; without a number, tell each line."""

    def inject(tell: Tell) -> None:
        seen = 0

        def each(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal seen
            if event == "line" and frame.f_code.co_filename in LINES and charged:
                seen += 1
                if number is None:
                    tell(f"line {Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
                elif seen == number:
                    tell("hit")
                    ACTS[act]()
            return each

        def calls(frame: FrameType, event: str, argument: object) -> Any:
            return each if frame.f_code.co_filename in LINES else None

        charged = list[bool]()

        def begun(label: str) -> None:
            if label == "charge within its transaction":
                charged.append(True)

        Phases(begun).hang()
        sys.settrace(calls)

    return inject


def at_operation(folder: Path, number: int | None, act: str = "") -> Injector:
    """Fail the n-th operation on a file of the trial, by the interpreter's audit events, and flushes to disk.

    Without a number, tell each operation. SQLite's own writes are not among them; limits of the system meet those.
    """

    def inject(tell: Tell) -> None:
        seen, fsync = 0, os.fsync

        def meet(event: str, failure: Callable[[], None]) -> None:
            nonlocal seen
            seen += 1
            if number is None:
                tell(f"operation {event}")
            elif seen == number:
                tell("hit")
                failure()

        def hear(event: str, given: tuple[Any, ...]) -> None:
            if event in OPERATIONS and given and str(given[0]).startswith(str(folder)):
                refused = _raise(sqlite3.OperationalError("unable to open database file"))
                meet(event, refused if event == "sqlite3.connect" else ACTS.get(act, lambda: None))

        def flush(handle: int) -> None:
            meet("fsync", ACTS.get(act, lambda: None))
            fsync(handle)

        put(os, "fsync", flush)
        sys.addaudithook(hear)

    return inject


def clock_back(start: int) -> Injector:
    """A clock that is set back a day every time it is looked at."""

    def inject(tell: Tell) -> None:
        from datetime import UTC, datetime, timedelta

        from gridveil.privacy import chain

        looks = iter(range(start, start + 10_000))

        class Clock:
            @staticmethod
            def now(zone: object) -> datetime:
                tell("hit")
                return datetime(2001, 1, 1, tzinfo=UTC) - timedelta(days=next(looks))

        put(chain, "datetime", Clock)

    return inject
