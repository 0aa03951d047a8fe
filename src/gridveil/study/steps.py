"""Unused steps of a long horizon solved on a Dask cluster: chunks of what is public, a few ahead of every worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from distributed import as_completed

from gridveil.repair.unused import Chunk, Hands, Solved, solve_chunk
from gridveil.study.cluster import connected, credentials

AHEAD = 2
"""Chunks for each thread of the cluster: the next is there when one ends."""


def on_cluster(scheduler: str) -> Hands:
    """Hands of a cluster that exists and speaks TLS, with the credentials of Dask's configuration; tried at once."""
    security = credentials(scheduler, None, insecure=False)
    with connected(scheduler, security, 1):
        pass

    def solve(chunks: Iterable[Chunk]) -> Iterator[Solved]:
        """What a cluster that fails leaves undone is done here: a release that is made does not fail for it."""
        with connected(scheduler, security, 1) as client:
            waiting, given = iter(chunks), dict[Any, Chunk]()
            finished: Any = as_completed()  # type: ignore[no-untyped-call]

            def submit(chunk: Chunk) -> None:
                future = client.submit(solve_chunk, chunk, pure=False)
                given[future.key] = chunk
                finished.add(future)

            threads: Any = client.nthreads()  # type: ignore[no-untyped-call]
            for chunk in islice(waiting, AHEAD * max(sum(threads.values()), 1)):
                submit(chunk)
            for future in finished:
                for following in islice(waiting, 1):
                    submit(following)
                chunk = given.pop(future.key)
                yield future.result() if future.status == "finished" else solve_chunk(chunk)

    return solve
