"""The workshop in a process of its own: bytes in, bytes out, nothing secret within reach.

python -m gridveil.repair.child: it greets when it is ready, before anything is charged; then a `Task`, then `Request`s,
each answered. Every message is its length and itself.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Self

from gridveil.errors import ReleaseError, RepairFailed, WallBreach
from gridveil.grid import PublicGrid
from gridveil.nlp.power_flow import Demand
from gridveil.repair.workshop import Workshop
from gridveil.wall.codec import pack, unpack
from gridveil.wall.draw import Estimate, Fidelity, NoisyLines, Repair, Snapshot
from gridveil.wall.facts import SENSITIVITY, SHARE

GREETING = b"ready"
FORBIDDEN = ("gridveil.sealed", "gridveil.privacy", "gridveil.casefile", "gridveil.publish")


@dataclass(frozen=True, eq=False)
class Task:
    """What the child works on."""

    grid: PublicGrid
    noisy: NoisyLines
    fidelity: Fidelity


@dataclass(frozen=True, eq=False)
class Request:
    """Demands to estimate, or snapshots to repair for."""

    demands: tuple[Demand, ...] | None = None
    needed: bool = False
    enough: float = SENSITIVITY / SHARE
    snapshots: tuple[Snapshot, ...] | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What was asked for, or why there is none."""

    estimate: Estimate | None = None
    repair: Repair | None = None
    failed: str | None = None


class ChildWorkshop:
    """A workshop behind the wall. Once made it is ready: whatever keeps a process from working is met here."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stdout is not None
        if _receive(self._process.stdout) != GREETING:
            failure = self._ended()
            self.close()
            raise failure

    def begin(self, grid: PublicGrid, noisy: NoisyLines, fidelity: Fidelity) -> Self:
        """As `Workshop.begin`."""
        self._send(pack(Task(grid, noisy, fidelity)))
        return self

    def estimate(
        self, demands: Sequence[Demand], *, needed: bool = False, enough: float = SENSITIVITY / SHARE
    ) -> Estimate:
        """As `Workshop.estimate`."""
        answer = self._ask(Request(demands=tuple(demands), needed=needed, enough=enough))
        if answer.estimate is None:
            raise RepairFailed(answer.failed or "the repair process gave no estimate")
        return answer.estimate

    def repair(self, snapshots: Sequence[Snapshot]) -> Repair:
        """As `Workshop.repair`."""
        answer = self._ask(Request(snapshots=tuple(snapshots)))
        if answer.repair is None:
            raise RepairFailed(answer.failed or "the repair process gave no repair")
        return answer.repair

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # it has ended already
                    continue
        self._process.kill()
        self._process.wait()

    def _ask(self, request: Request) -> Answer:
        self._send(pack(request))
        assert self._process.stdout is not None
        data = _receive(self._process.stdout)
        if data is None:
            raise self._ended()
        return unpack(data, Answer)

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            _write(self._process.stdin, data)
        except BrokenPipeError:
            raise self._ended() from None

    def _ended(self) -> ReleaseError:
        assert self._process.stderr is not None
        words = self._process.stderr.read().decode(errors="replace")[-400:].strip()
        return ReleaseError(f"the repair process ended with code {self._process.wait()}: {words}")


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(struct.pack(">Q", len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack(">Q", head)
    data = stream.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Greet, then answer requests until there are no more."""
    _write(sys.stdout.buffer, GREETING)
    given = _receive(sys.stdin.buffer)
    if given is None:
        return
    task = unpack(given, Task)
    shop = Workshop().begin(task.grid, task.noisy, task.fidelity)
    while (data := _receive(sys.stdin.buffer)) is not None:
        request = unpack(data, Request)
        try:
            if request.demands is not None:
                answer = Answer(estimate=shop.estimate(request.demands, needed=request.needed, enough=request.enough))
            else:
                answer = Answer(repair=shop.repair(request.snapshots or ()))
        except RepairFailed as failure:
            answer = Answer(failed=str(failure))
        if reached := [name for name in sys.modules if name.startswith(FORBIDDEN)]:
            raise WallBreach(f"the repair process has loaded {', '.join(sorted(reached))}")
        _write(sys.stdout.buffer, pack(answer))


if __name__ == "__main__":
    main()
