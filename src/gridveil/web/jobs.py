"""Jobs: commands of `gridveil` in processes of their own. Whatever is known of one stands in its folder, so that a
server that was started again knows as much as the one before."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from gridveil.errors import GridVeilError
from gridveil.files import write_whole
from gridveil.web.runner import COMMAND, ERR, EXIT, OUT, PID
from gridveil.web.started import started

GRACE = 30.0
"""Seconds within which a job that was started says who it is."""
MOST_READ = 2 * 2**20


class State(StrEnum):
    """Lost is a job whose process ended without a word: it was killed, or the machine went down."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True)
class Job:
    """One of them, as its folder tells it now."""

    id: str
    kind: str
    place: Path
    arguments: tuple[str, ...]
    about: dict[str, Any]
    state: State
    code: int | None

    @property
    def running(self) -> bool:
        return self.state is State.RUNNING

    @property
    def begun(self) -> float:
        """When its command was begun, the last time."""
        return (self.place / COMMAND).stat().st_mtime

    @property
    def said(self) -> list[str]:
        """Lines of its stderr."""
        return _text(self.place / ERR).splitlines()

    @property
    def out(self) -> str:
        return _text(self.place / OUT)


class Jobs:
    """All jobs of a folder."""

    def __init__(self, place: Path, folder: Path) -> None:
        self.place, self.folder = place, folder

    def prepare(self, kind: str, name: str | None = None) -> Path:
        """The folder of a new job; with the name of one that was begun already it is refused."""
        made = self.place / (name or f"{time.time_ns() // 10**6:x}-{secrets.token_hex(6)}")
        try:
            made.mkdir(mode=0o700)
        except FileExistsError:
            raise GridVeilError(f"this {kind} was begun already; nothing was begun a second time") from None
        return made

    def start(self, place: Path, kind: str, arguments: Sequence[str], **about: Any) -> Job:
        """Begin a command in a prepared folder."""
        told = {"kind": kind, "arguments": list(arguments), "folder": str(self.folder), "about": about}
        write_whole(place / COMMAND, json.dumps(told), 0o600)
        return self._run(place)

    def again(self, job: Job) -> Job:
        """The same command once more, for those that go on where they were."""
        if job.running:
            raise GridVeilError("this is running already")
        for name in (EXIT, PID):
            (job.place / name).unlink(missing_ok=True)
        os.utime(job.place / COMMAND)
        return self._run(job.place)

    def _run(self, place: Path) -> Job:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gridveil.web.runner", str(place)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd=self.folder,
        )  # fmt: skip
        threading.Thread(target=process.wait, daemon=True).start()  # or its end would never be noticed
        found = self.find(place.name)
        if found is None:
            raise GridVeilError("the job could not be begun; look whether the disk is full")
        return found

    def find(self, name: str) -> Job | None:
        """A job by its id, which is one of those that are given out here."""
        if not re.fullmatch(r"[0-9a-f-]{8,80}", name):
            return None
        place = self.place / name
        try:
            told = json.loads((place / COMMAND).read_bytes())
            state, code = self._state(place)
            return Job(name, told["kind"], place, tuple(told["arguments"]), told["about"], state, code)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def all(self, kind: str) -> list[Job]:
        """Those of a kind, the newest first."""
        found = [self.find(one.name) for one in self.place.iterdir() if one.is_dir()]
        wanted = [one for one in found if one is not None and one.kind == kind]
        return sorted(wanted, key=lambda one: one.begun, reverse=True)

    def _state(self, place: Path) -> tuple[State, int | None]:
        for _ in range(2):  # between two looks a job may have ended
            if (end := _read(place / EXIT)) is not None:
                return State.DONE if end["code"] == 0 else State.FAILED, end["code"]
            who = _read(place / PID)
            if who is None and time.time() - (place / COMMAND).stat().st_mtime < GRACE:
                return State.RUNNING, None
            if who is not None and started(who["pid"]) == who["started"]:
                return State.RUNNING, None
        return State.LOST, None

    def stop(self, job: Job) -> None:
        """Ask a job to end; only a process that is really it gets the signal."""
        who = _read(job.place / PID)
        if who is None or not job.running or started(who["pid"]) != who["started"]:
            return
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(who["pid"], signal.SIGTERM)
            else:
                os.kill(who["pid"], signal.SIGTERM)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _text(path: Path) -> str:
    """The end of what was said."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(stream.seek(0, os.SEEK_END) - MOST_READ, 0))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
