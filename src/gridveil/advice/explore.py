"""Trials until the answer is settled or the time is over, side by side, nearest question first."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from queue import SimpleQueue
from statistics import median
from time import monotonic
from typing import Any

import numpy as np

from gridveil.advice import trials
from gridveil.advice.choice import Choice
from gridveil.advice.goals import Goals
from gridveil.advice.journal import Journal, begun_as
from gridveil.advice.search import Space, coarse, following
from gridveil.advice.stand_in import StandIn
from gridveil.advice.standing import STAND_IN, Row, Rows
from gridveil.advice.trials import Task
from gridveil.errors import StudyError
from gridveil.process.hand import Hand

LARGE = 400
"""Lines from which on numbers are guessed in one draw of a choice on a stand-in only: so many have one median."""


@dataclass(frozen=True)
class State:
    """How far an exploration is."""

    trials: int
    seconds: float
    left: float
    under_way: int
    last: Choice | None = None
    table: float = 0.0
    """Seconds that the first table still takes, at the pace so far; 0 once it is complete."""


@dataclass(frozen=True, eq=False)
class Explored:
    """What was tried, and whether the answer was settled before the time was over."""

    rows: Rows
    seconds: float
    settled: bool


Progress = Callable[[State], None]


def quiet(_: State) -> None:
    """Say nothing."""


def conductance(stand_ins: Sequence[StandIn]) -> float:
    """The median size of a line's series admittance: α of `additive` is relative to it."""
    return float(median(np.median(np.hypot(one.network.lines.g, one.network.lines.b)) for one in stand_ins))


def require_time(minutes: float, workers: int = 1) -> None:
    """Refuse in what nothing can be tried."""
    if workers < 1 or not minutes > 0:
        raise StudyError(
            f"{workers} workers and {minutes:g} minutes cannot try anything; give 1 or more, and some time"
        )


def explore(
    stand_ins: Sequence[StandIn],
    wanted: Goals,
    space: Space,
    fixed: Mapping[str, Any],
    *,
    minutes: float,
    workers: int = 2,
    journal: Journal | None = None,
    progress: Progress = quiet,
    stop: Callable[[], bool] = lambda: False,
) -> Explored:
    """Try until there is nothing left that could change the answer, the minutes are over, or somebody says stop."""
    require_time(minutes, workers)
    kept = journal or Journal(None, begun_as(stand_ins, fixed))
    begin, limit = monotonic(), 60 * minutes
    pending = dict[Future[bytes | None], tuple[Task, float]]()
    weights, took = [one.weight for one in stand_ins], [1.0]

    def over() -> bool:
        return stop() or monotonic() - begin + (median(took) if len(took) > 1 else 0.0) > limit

    def tell(last: Choice | None) -> None:
        passed = monotonic() - begin
        missing = len(set(coarse(space)) - {task.choice for task, _ in kept.rows})
        pace = passed / (len(took) - 1) if len(took) > 1 else 0.0
        progress(State(len(kept.rows), passed, max(limit - passed, 0.0), len(pending), last, missing * pace))

    with ExitStack() as stack:
        free = SimpleQueue[Hand]()
        given = pickle.dumps((list(stand_ins), dict(fixed)))
        for _ in range(workers):
            free.put(stack.enter_context(Hand(trials.__name__, given)))
        pool = ThreadPoolExecutor(workers)
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)

        def asked(task: Task) -> bytes | None:
            hand = free.get()
            try:
                return hand.ask(pickle.dumps(task))
            finally:
                free.put(hand)

        settled = False
        while True:
            settled = False
            while len(pending) < workers and not over():
                rows = _so_far(kept, [task for task, _ in pending.values()])
                choice = following(rows, wanted, space, weights)
                if choice is None:
                    settled = not pending
                    break
                task = next_task(choice, rows, stand_ins)
                pending[pool.submit(asked, task)] = task, monotonic()
            if not pending:
                break
            done, _ = wait(pending, timeout=1.0, return_when=FIRST_COMPLETED)
            for one in done:
                task, since = pending.pop(one)
                answer = one.result()
                if answer is None:
                    raise StudyError(f"a process ended while it tried {task.choice.words}; run it again to go on")
                kept.add(task, pickle.loads(answer))
                took.append(monotonic() - since)
                tell(task.choice)
            if not done:
                tell(None)
            if stop() or monotonic() - begin > limit:
                break  # what is under way is given up: its processes end with the stack
    return Explored(_so_far(kept, []), monotonic() - begin, settled)


def _so_far(kept: Journal, under_way: Sequence[Task]) -> Rows:
    """Figures by choice; what is under way has an empty row, so that it is not asked for twice."""
    found = defaultdict[Choice, list[Row]](list)
    for task, row in kept.rows:
        found[task.choice].append({**row, STAND_IN: task.stand_in})
    for task in under_way:
        found[task.choice].append({})
    return found


def next_task(choice: Choice, rows: Rows, stand_ins: Sequence[StandIn]) -> Task:
    """The next draw of a choice; stand-ins take turns. What takes long is left for those that are tried again."""
    draw = len(rows.get(choice, ()))
    which, first = draw % len(stand_ins), draw < len(stand_ins)
    large = stand_ins[which].network.grid.n_line > LARGE
    return Task(choice, draw, which, first or not large, not first and not large)
