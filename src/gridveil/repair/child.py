"""The workshop in a process of its own: bytes in, bytes out, nothing secret within reach.

It is started apart from the user's working directory (`process/start.py`), loads what it needs, closes its own doors
(`process/confine.py`), tries the solver once more behind them, and greets: all that before anything is charged. Then it
takes a `Task`, then `Request`s, each answered. Every message is its length and itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from subprocess import TimeoutExpired
from threading import Thread, Timer
from typing import Self

from gridveil.errors import GridVeilError, OutOfEffort, ReleaseError, RepairFailed, WallBreach
from gridveil.grid import Grid
from gridveil.nlp.power_flow import Demand
from gridveil.process.confine import confine
from gridveil.process.messages import receive, send
from gridveil.process.start import isolated
from gridveil.repair.rehearsal import rehearse
from gridveil.repair.workshop import Told, Workshop, silent
from gridveil.wall.codec import pack, unpack
from gridveil.wall.draw import Estimate, Fidelity, NoisyLines, Repair, Snapshot
from gridveil.wall.facts import SENSITIVITY, SHARE

GREETING = b"ready; closed: "
START_SECONDS = 300.0
"""A process that has not greeted by then is given up."""
_LONGEST_GREETING = 200
_ADVICE = "; 'gridveil doctor' says what is missing"
FORBIDDEN = ("gridveil.sealed", "gridveil.privacy", "gridveil.casefile", "gridveil.publish")


@dataclass(frozen=True, eq=False)
class Task:
    """What the child works on."""

    grid: Grid
    noisy: NoisyLines
    fidelity: Fidelity


@dataclass(frozen=True, eq=False)
class Request:
    """Demands to estimate, or snapshots to repair for."""

    demands: tuple[Demand, ...] | None = None
    needed: bool = False
    enough: float = SENSITIVITY / SHARE
    snapshots: tuple[Snapshot, ...] | None = None
    patient: bool = True


@dataclass(frozen=True, eq=False)
class Answer:
    """What was asked for, or why there is none; or how many AC-OPFs it has cost so far, with more to come."""

    estimate: Estimate | None = None
    repair: Repair | None = None
    failed: str | None = None
    costs: tuple[float, ...] | None = None
    out_of_effort: bool = False
    so_far: float | None = None


class ChildWorkshop:
    """A workshop behind the wall. Once made it is ready: whatever keeps a process from working is met here.

    `confined` has a word for each way in which the system lets it be kept from files and network. It dies with the
    thread that made it.
    """

    confined: tuple[str, ...]

    def __init__(self) -> None:
        try:
            self._process = isolated(__name__)
        except (OSError, ValueError) as error:
            raise ReleaseError(f"the repair process cannot be started: {error}{_ADVICE}") from error
        self._words: deque[bytes] = deque(maxlen=16)
        # read all the time: a process that says much would wait for a reader, and we for its answer
        self._listener = Thread(target=self._listen, daemon=True)
        try:
            self._listener.start()
            self.confined = self._greeted()
        except BaseException:
            self.close()
            raise

    def _greeted(self) -> tuple[str, ...]:
        assert self._process.stdout is not None
        patience = Timer(START_SECONDS, self._process.kill)
        patience.start()
        try:
            greeting = receive(self._process.stdout, _LONGEST_GREETING)
        finally:
            patience.cancel()
        if greeting is None or not greeting.startswith(GREETING):
            raise ReleaseError(f"{self._ended()}{_ADVICE}")
        words = greeting.removeprefix(GREETING).decode("ascii", errors="replace")
        return tuple(words.split())

    def begin(self, grid: Grid, noisy: NoisyLines, fidelity: Fidelity, told: Told = silent) -> Self:
        """As `Workshop.begin`."""
        self._told = told
        self._send(pack(Task(grid, noisy, fidelity)))
        return self

    def estimate(
        self, demands: Sequence[Demand], *, needed: bool = False, enough: float = SENSITIVITY / SHARE
    ) -> Estimate:
        """As `Workshop.estimate`."""
        answer = self._ask(Request(demands=tuple(demands), needed=needed, enough=enough))
        if answer.estimate is None:
            raise _failure(answer)
        return answer.estimate

    def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
        """As `Workshop.repair`."""
        answer = self._ask(Request(snapshots=tuple(snapshots), patient=patient))
        if answer.repair is None:
            raise _failure(answer)
        return answer.repair

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        if self._listener.is_alive():
            self._listener.join(timeout=1.0)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):  # what it did not read is lost with it
                    stream.close()

    def _ask(self, request: Request) -> Answer:
        self._send(pack(request))
        assert self._process.stdout is not None
        while True:
            data = receive(self._process.stdout)
            if data is None:
                raise self._ended()
            answer = unpack(data, Answer)
            if answer.so_far is None:
                return answer
            self._told(answer.so_far)

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, data)
        except OSError:  # a broken pipe, for which Windows has other numbers
            raise self._ended() from None

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with suppress(OSError, ValueError):  # closed meanwhile
            while words := os.read(self._process.stderr.fileno(), 4096):
                self._words.append(words)

    def _ended(self) -> ReleaseError:
        """Why there is no answer, in the process's own last words."""
        try:
            code = self._process.wait(timeout=2.0)
            how = f"ended with code {code}" if code >= 0 else f"was ended by signal {-code} ({signal.strsignal(-code)})"
        except TimeoutExpired:
            how = "answers what nobody asked"
        self._listener.join(timeout=1.0)
        words = b"".join(self._words).decode(errors="replace")[-400:].strip()
        return ReleaseError(f"the repair process {how}: {words}" if words else f"the repair process {how}")


def _failure(answer: Answer) -> RepairFailed:
    kind = OutOfEffort if answer.out_of_effort else RepairFailed
    return kind(answer.failed or "the repair process has no answer", answer.costs)


def main() -> None:
    """Close the doors, greet, then answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        rehearse()
        closed = confine()
        rehearse()
    except GridVeilError as failure:
        sys.exit(str(failure))
    send(answers, GREETING + " ".join(closed).encode())
    given = receive(sys.stdin.buffer)
    if given is None:
        return
    task = unpack(given, Task)
    shop = Workshop().begin(
        task.grid, task.noisy, task.fidelity, lambda spent: send(answers, pack(Answer(so_far=spent)))
    )
    while (data := receive(sys.stdin.buffer)) is not None:
        request = unpack(data, Request)
        try:
            if request.demands is not None:
                answer = Answer(estimate=shop.estimate(request.demands, needed=request.needed, enough=request.enough))
            else:
                answer = Answer(repair=shop.repair(request.snapshots or (), patient=request.patient))
        except RepairFailed as failure:
            spent = isinstance(failure, OutOfEffort)
            answer = Answer(failed=str(failure), costs=failure.costs, out_of_effort=spent)
        if reached := [name for name in sys.modules if name.startswith(FORBIDDEN)]:
            raise WallBreach(f"the repair process has loaded {', '.join(sorted(reached))}")
        send(answers, pack(answer))
