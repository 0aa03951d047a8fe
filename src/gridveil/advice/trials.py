"""One trial: a seeded release of a stand-in, and what it hides and keeps. Processes make them side by side."""

from __future__ import annotations

import pickle
import sys
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from gridveil.advice.choice import Choice
from gridveil.advice.stand_in import StandIn
from gridveil.errors import GridVeilError
from gridveil.process.messages import receive, send
from gridveil.study.declare import Row
from gridveil.study.measured import NOTHING, measured


class Task(NamedTuple):
    """Which draw of which choice on which stand-in; whether readers guess at lines, which takes longest, and at the
    numbers beside them, of which no goal speaks."""

    choice: Choice
    draw: int
    stand_in: int
    readers: bool = True
    beside: bool = True

    def seed(self, name: str) -> int:
        """By what is tried, so that it does not depend on when or by whom."""
        return zlib.crc32(f"{name}|{'|'.join(map(str, self.choice.__dict__.values()))}|{self.draw}".encode())


def trial(stand_in: StandIn, task: Task, fixed: Mapping[str, Any]) -> Row:
    """The figures of one draw; one that a plan refuses is one that fails, with its reason."""
    try:
        plan = task.choice.plan(fixed)
        seed = task.seed(stand_in.name)
        return measured(stand_in.network, plan, seed, readers=task.readers, beside=task.beside)
    except GridVeilError as refusal:
        return {**NOTHING, "certified": False, "effort": 0.0, "release_seconds": 0.0, "why": str(refusal)[:160]}


def main() -> None:
    """Try what is asked for until there is no more."""
    data = receive(sys.stdin.buffer)
    if data is None:
        return
    stand_ins, fixed = pickle.loads(data)
    while (asked := receive(sys.stdin.buffer)) is not None:
        task: Task = pickle.loads(asked)
        send(sys.stdout.buffer, pickle.dumps(trial(stand_ins[task.stand_in], task, fixed)))
