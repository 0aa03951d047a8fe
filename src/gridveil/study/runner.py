"""Run a study: what is missing, on Dask workers, each finished task on disk before it counts.

Networks are sent to the workers once; tasks carry their key only. Results do not depend on the number of workers, since
every seed comes from its task's key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from distributed import Client, KilledWorker, as_completed, wait
from distributed.security import Security

from gridveil.errors import StudyError
from gridveil.formats.find import load
from gridveil.grid import Network
from gridveil.study.cluster import connected, credentials
from gridveil.study.declare import Row, Setting, Study, Task
from gridveil.study.store import Store
from gridveil.wall.codec import pack

AHEAD = 3
"""Tasks handed to each worker before it asks for them: the next is there when one ends."""
LOOK = 1.0
"""Seconds between looks at how many workers there are."""
Progress = Callable[[int, int, int], None]
"""Called with tasks done, tasks in all, and failures among those of this run."""
Finished = tuple[Task, list[Row], float, str | None]
"""A task with its rows, its seconds and what went wrong."""


@dataclass(frozen=True)
class Summary:
    """What a run did."""

    study: str
    tasks: int
    done_before: int
    run: int
    failed: int
    seconds: float
    out: str
    first_error: str | None = None


def run_study(
    study: Study,
    out: Path | str,
    cases: Sequence[str] | None = None,
    draws: int | None = None,
    settings: Mapping[str, Sequence[Setting]] | None = None,
    workers: int = 2,
    scheduler: str | None = None,
    security: Security | None = None,
    insecure: bool = False,
    retry_failed: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Run what is missing of a study; stopping at any time loses the tasks in flight and nothing else.

    A scheduler that exists must speak TLS, with credentials in `security` or in Dask's configuration; who can connect
    to one can run anything on it, so that any other wants `insecure`.
    """
    if scheduler is not None:
        security = credentials(scheduler, security, insecure)
    draws = study.draws if draws is None else draws
    if draws < 1 or workers < 1:
        raise StudyError("a study needs at least one draw and one worker")
    networks = _networks(cases or study.cases)
    tasks = study.tasks(list(networks), draws, settings or {})
    store = Store.open(Path(out), study, {name: _digest(network) for name, network in networks.items()})
    done = store.done(failed=not retry_failed)
    todo = [task for task in tasks if task.key not in done]
    before = len(tasks) - len(todo)
    begin, ended, failed, first_error = perf_counter(), 0, 0, None
    try:
        with connected(scheduler, security, min(workers, len(todo))) if todo else nullcontext() as client:
            for task, rows, seconds, error in _answered(client, study, todo, networks):
                store.add(task, rows, seconds, error)
                ended, failed, first_error = ended + 1, failed + (error is not None), first_error or error
                if progress is not None:
                    progress(before + ended, len(tasks), failed)
        store.flush()
    finally:
        store.close()
    return Summary(study.name, len(tasks), before, ended, failed, perf_counter() - begin, str(out), first_error)


def perform(study: Study, task: Task, network: Network) -> tuple[list[Row], float]:
    """The work of one task, on a worker."""
    begin = perf_counter()
    rows = study.work(network, dict(task.settings), task.seed)
    return rows, perf_counter() - begin


def _answered(
    client: Client | None, study: Study, todo: Sequence[Task], networks: Mapping[str, Network]
) -> Iterator[Finished]:
    """Tasks with their rows, as long as the cluster answers; what it takes with it is undone, and has not failed."""
    if client is None:
        return
    try:
        yield from _performed(client, study, todo, networks)
    except Exception as error:  # what Dask raises depends on what it was about
        if client.status == "running" and not isinstance(error, (CancelledError, OSError)):
            raise
        raise StudyError(
            f"the Dask scheduler no longer answers ({type(error).__name__}); what is done is on disk, run the same "
            "command again when it does"
        ) from error


def _performed(
    client: Client, study: Study, todo: Sequence[Task], networks: Mapping[str, Network]
) -> Iterator[Finished]:
    """Every task with its rows, in the order they finish; a few are always on their way to each worker.

    A task that was on a worker when it died need not be what killed it: it is tried again at the end, alone, with a
    network of its own, since the one that all share may have been there too.
    """
    run = uuid4().hex  # others may use the same scheduler, for other networks of the same name
    # tasks that give back their argument, not scattered data: a worker that dies takes no network with it
    held = {name: client.submit(_itself, networks[name], key=f"{run}/{name}") for name in {t.case for t in todo}}
    waiting, running, suspects = iter(todo), dict[Any, Task](), list[Task]()
    finished = as_completed()

    def submit(task: Task, network: Any, attempt: str) -> Any:
        future = client.submit(perform, study, task, network, key=f"{run}/{attempt}/{task.key}", pure=False)
        running[future.key] = task
        return future

    looked, ahead = perf_counter(), _ahead(client)
    for task in islice(waiting, ahead):
        finished.add(submit(task, held[task.case], "first"))
    for future in finished:
        task = running.pop(future.key)
        if perf_counter() - looked > LOOK:  # clusters grow and shrink
            looked, ahead = perf_counter(), _ahead(client)
        for following in islice(waiting, max(ahead - len(running), 0)):
            finished.add(submit(following, held[following.case], "first"))
        if isinstance(future.exception(), KilledWorker):
            suspects.append(task)
        else:
            yield task, *_outcome(future)
    for task in suspects:
        network = client.submit(_itself, networks[task.case], key=f"{run}/network/{task.key}")
        future = submit(task, network, "alone")
        wait(future)
        yield task, *_outcome(future)


def _ahead(client: Client) -> int:
    return AHEAD * max(len(client.nthreads()), 1)


def _outcome(future: Any) -> tuple[list[Row], float, str | None]:
    error = future.exception()
    if error is None:
        rows, seconds = future.result()
        return rows, seconds, None
    return [], 0.0, f"{type(error).__name__}: {error}"[:500]


def _itself(network: Network) -> Network:
    return network


def _networks(cases: Sequence[str]) -> dict[str, Network]:
    """Networks by the name they have in results: a shipped case's own, or the file's without its ending."""
    networks: dict[str, Network] = {}
    for case in cases:
        name = Path(case).stem
        if name in networks:
            raise StudyError(f"two cases are named {name}; rename one of the files")
        networks[name] = load(case)
    return networks


def _digest(network: Network) -> str:
    """What makes a network the same in another run."""
    values = pack(network)
    return hashlib.sha256(values).hexdigest()
