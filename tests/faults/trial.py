"""One trial: a release by command line in a fork of a process that has loaded everything, and what it left behind."""

from __future__ import annotations

import gc
import os
import selectors
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import NoReturn

import typer.main

from gridveil.cli.main import app, main
from gridveil.publish import pipeline

from .phases import put
from .scene import MarkedNoise, Remembering, Scene

put(typer.main, "get_command", cache(typer.main.get_command))  # the commands are made once, not in every fork
RELEASE = pipeline.release
PATIENCE = 120.0
"""Seconds after which a trial hangs."""
Tell = Callable[[str], None]
Injector = Callable[[Tell], None]
"""Is hung into the trial's process, and tells what it does there: `hit` when it strikes."""
Outside = Callable[[int], None]
"""Is called from outside with the trial's process."""


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: its exit code (negative for a signal), what it said, and what its injector told."""

    code: int
    stdout: str
    stderr: str
    told: tuple[str, ...]
    seconds: float

    @property
    def draws(self) -> int:
        return self.told.count("draw")

    @property
    def hit(self) -> bool:
        return "hit" in self.told

    @property
    def hung(self) -> bool:
        return "hung" in self.told


def warm(scene: Scene, folder: Path) -> None:
    """The command line once in this process, so that no fork has to load what it needs."""
    put(pipeline, "release", partial(RELEASE, workshop=Remembering))
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        app([*scene.arguments(folder, "research"), "--research", "--force"], standalone_mode=False)
    gc.collect()
    gc.freeze()  # what is there is not copied into every fork


def attempt(
    scene: Scene, folder: Path, injector: Injector, after: float | None = None, strike: Outside | None = None
) -> Outcome:
    """Fork, release, and wait; `strike` is called `after` so many seconds, if the trial is still there."""
    pid, streams = start(scene, folder, injector)
    return finish(pid, streams, after, strike)


def start(scene: Scene, folder: Path, injector: Injector, out: str = "out") -> tuple[int, list[int]]:
    """A trial under way, and what its stdout, stderr and report can be read from."""
    sys.stdout.flush()
    sys.stderr.flush()
    pipes = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        for read, _ in pipes:
            os.close(read)
        _perform(scene, folder, injector, [write for _, write in pipes], out)
    for _, write in pipes:
        os.close(write)
    return pid, [read for read, _ in pipes]


def finish(pid: int, streams: list[int], after: float | None = None, strike: Outside | None = None) -> Outcome:
    """Wait for a trial."""
    begin, heard, open_streams = monotonic(), dict.fromkeys(streams, b""), set(streams)
    hung = False
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while open_streams:
            if strike is not None and after is not None and monotonic() - begin >= after:
                strike(pid)
                strike = None
            if not hung and monotonic() - begin > PATIENCE:
                hung = True
                os.kill(pid, signal.SIGKILL)
            wait = 1.0 if strike is None or after is None else max(0.0, after - (monotonic() - begin))
            for key, _ in selector.select(min(wait, 1.0)):
                data = os.read(key.fd, 65536)
                heard[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                    open_streams.discard(key.fd)
                    os.close(key.fd)
    _, status = os.waitpid(pid, 0)
    stdout, stderr, report = (heard[stream].decode(errors="replace") for stream in streams)
    told = (*report.split("\n")[:-1], *(["hung"] if hung else []))
    return Outcome(os.waitstatus_to_exitcode(status), stdout, stderr, told, monotonic() - begin)


def _perform(scene: Scene, folder: Path, injector: Injector, pipes: list[int], out: str) -> NoReturn:
    """The trial's process, as far as its exit code."""
    code = 70
    try:
        os.dup2(pipes[0], 1)
        os.dup2(pipes[1], 2)
        os.close(pipes[0])
        os.close(pipes[1])
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def tell(word: str) -> None:
            os.write(pipes[2], word.encode() + b"\n")

        put(pipeline, "ExactNoise", partial(MarkedNoise, scene.seed, pipes[2]))
        put(pipeline, "release", partial(RELEASE, workshop=scene.shop()))
        injector(tell)
        try:
            sys.argv = ["gridveil", *scene.arguments(folder, out)]
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:  # noqa: BLE001 - as the interpreter ends
            code = 1
            traceback.print_exc()
        sys.settrace(None)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
