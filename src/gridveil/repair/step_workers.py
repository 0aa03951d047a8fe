"""Chunks of unused steps solved in several processes, each started apart from everything the parent holds."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from subprocess import Popen

from gridveil.errors import ReleaseError
from gridveil.process.messages import receive, send
from gridveil.process.start import end, isolated
from gridveil.repair.unused import Chunk, Hands, Solved, alone, solve_chunk
from gridveil.wall.codec import pack, unpack


def in_processes(workers: int) -> Hands:
    """Hands of so many processes; with one, this process does it."""
    if workers < 1:
        raise ReleaseError(f"{workers} workers cannot do anything; give 1 or more")
    return alone if workers == 1 else lambda chunks: _shared(chunks, workers)


def _shared(chunks: Iterable[Chunk], workers: int) -> Iterator[Solved]:
    """Every process has one chunk at a time: what is done is given on, and the next one taken up."""
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        free = [stack.enter_context(_Worker()) for _ in range(workers)]
        running: dict[Future[Solved], _Worker] = {}
        waiting = iter(chunks)
        while True:
            while free and (chunk := next(waiting, None)) is not None:
                worker = free.pop()
                running[pool.submit(worker.solve, chunk)] = worker
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                free.append(running.pop(future))
                yield future.result()


class _Worker:
    """One process, which ends with its `with`. Where there is none, or it has died, this one does its work: a release
    that is made does not fail for want of another process."""

    _process: Popen[bytes] | None = None
    _closed = False

    def __enter__(self) -> _Worker:
        with suppress(OSError, ValueError):
            self._process = isolated(__name__, quiet=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if self._process is not None:
            end(self._process)

    def solve(self, chunk: Chunk) -> Solved:
        """A chunk, solved there."""
        process = self._process
        if process is not None and process.stdin is not None and process.stdout is not None:
            with suppress(Exception):  # whatever it answers instead
                send(process.stdin, pack(chunk))
                found = unpack(receive(process.stdout) or b"", Solved)
                if [one.step for one in found] == chunk.step.tolist():
                    return found
        return () if self._closed else solve_chunk(chunk)


def main() -> None:
    """Answer chunks until there are no more."""
    while (data := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, pack(solve_chunk(unpack(data, Chunk))))
