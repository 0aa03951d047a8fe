"""Processes of a study on Dask, as forks of one that has loaded everything and has no thread: runner, scheduler, worker.

A runner starts its own workers by Dask's method `forkserver`, whose server is a fork of the runner too, made before Dask
has a thread. Each process is what it is in earnest otherwise: the same code, TLS, and an end of its own.
"""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import dask
import psutil
from distributed import Scheduler, Worker
from distributed.process import AsyncProcess
from distributed.security import Security
from distributed.utils import get_mp_context

from .phases import put
from .trial import Tell

PATIENCE = 90.0
"""Seconds after which a process hangs; a run to the end takes two."""


class Forked:
    """A process of ours, and what it tells line by line."""

    def __init__(self, act: Callable[[Tell], None]) -> None:
        assert len(os.listdir("/proc/self/task")) == 1, "a fork of a process with threads"  # noqa: PTH208
        sys.stdout.flush()
        sys.stderr.flush()
        self._stream, write = os.pipe()
        self.pid, self.told, self._rest = os.fork(), list[str](), b""
        if self.pid == 0:
            os.close(self._stream)
            _perform(act, write)
        os.close(write)
        self.code: int | None = None
        self._open = True

    def hear(self, there: Callable[[], bool], seconds: float = PATIENCE) -> bool:
        """Listen until something is there; `False` if the process ended before, or time did."""
        end = monotonic() + seconds
        while not there():
            left = end - monotonic()
            if not self._open or left <= 0:
                return False
            if select.select([self._stream], [], [], left)[0]:
                self._read()
        return True

    def _read(self) -> None:
        data = os.read(self._stream, 1 << 16)
        if not data:
            self._open = False
            os.close(self._stream)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.told += [line.decode() for line in lines]

    def last(self, word: str) -> str | None:
        """What it told last after a word."""
        found = [line.removeprefix(word + " ") for line in self.told if line.startswith(word + " ")]
        return found[-1] if found else None

    @property
    def lives(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def kill(self) -> None:
        if self.lives:
            os.kill(self.pid, signal.SIGKILL)

    def ended(self, seconds: float = PATIENCE) -> bool:
        """Wait for its end, which it must come to by itself."""
        self.hear(lambda: False, seconds)
        end = monotonic() + seconds
        while self.lives and monotonic() < end:
            select.select([], [], [], 0.005)
        return not self.lives

    def close(self) -> None:
        """See it off, with all that it started."""
        with suppress(psutil.NoSuchProcess):
            for below in psutil.Process(self.pid).children(recursive=True) if self.lives else []:
                with suppress(psutil.NoSuchProcess):
                    below.kill()
        self.kill()
        self.ended()


def _perform(act: Callable[[Tell], None], write: int) -> NoReturn:
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)

        def tell(word: str) -> None:
            os.write(write, word.replace("\n", " | ").encode() + b"\n")

        try:
            act(tell)
            code = 0
        except BaseException:  # noqa: BLE001 - as the interpreter ends
            tell("traceback " + traceback.format_exc()[-1500:])
            code = 1
        shutdown: Any = vars(threading)["_shutdown"]
        shutdown()  # as the interpreter does at its end: a thread that hangs keeps the process
    finally:
        os._exit(code)


def load() -> None:
    """Before the first fork: all that forks need, and nothing that starts a thread."""
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context()
    resource_tracker.ensure_running()
    gc.collect()
    gc.freeze()


def serve_forks(tell: Tell) -> None:
    """Start the server that a runner's workers are forked by, from the runner itself, while it has no thread."""

    def fork(_: object, command: list[str], kept: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
                if int(name) > 2 and int(name) not in kept:
                    with suppress(OSError):
                        os.close(int(name))
            exec(command[-1], {})  # what a new interpreter would run, with everything loaded
            os._exit(0)
        return pid

    put(vars(forkserver)["util"], "spawnv_passfds", fork)
    forkserver.ensure_running()
    tell(f"forks {vars(vars(forkserver)['_forkserver'])['_forkserver_pid']}")
    on_exit = AsyncProcess._on_exit

    def exited(process: Any, code: int) -> None:
        tell(f"ended {process._state.pid} {code}")
        on_exit(process, code)

    put(AsyncProcess, "_on_exit", exited)


def workers_of(runner: Forked) -> list[int]:
    """The worker processes that a runner has now."""
    server = runner.last("forks")
    try:
        return [one.pid for one in psutil.Process(int(server)).children()] if server else []
    except psutil.NoSuchProcess:
        return []


def lives(pid: int) -> bool:
    """Whether there is such a process, and it is not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def cluster(security: Security) -> Iterator[tuple[Forked, str]]:
    """A scheduler and a worker on loopback, with TLS; its process and its address."""

    async def schedule(tell: Tell) -> None:
        async with Scheduler(host="tls://127.0.0.1", security=security, dashboard=False) as scheduler:
            tell(f"address {scheduler.address}")
            await scheduler.finished()

    async def work(address: str, tell: Tell) -> None:
        more: Mapping[str, Any] = {"nthreads": 1, "dashboard": False, "death_timeout": "5s"}
        async with Worker(address, host="tls://127.0.0.1", security=security, **more) as worker:
            tell("ready ")
            await worker.finished()

    def run(what: Callable[..., Any], *given: Any) -> Forked:
        return Forked(lambda tell: asyncio.run(what(*given, tell)))

    started = [run(schedule)]
    try:
        assert started[0].hear(lambda: started[0].last("address") is not None), started[0].told
        address = str(started[0].last("address"))
        started.append(run(work, address))
        assert started[1].hear(lambda: started[1].last("ready") is not None), started[1].told
        yield started[0], address
    finally:
        for one in started:
            one.close()
