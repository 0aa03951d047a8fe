"""Thousands of research draws of one network: every plan with every seed, in this process or in a few. INTERNAL.

A draw is what `gv.release` makes with the same seed, without its file and manifest: what depends on no draw is looked
at once per plan, and the pattern of the optimisation is built once. Seeded noise protects nothing.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice, product
from queue import SimpleQueue
from typing import NamedTuple

from gridveil.errors import ReleaseError, StudyError
from gridveil.grid import Network, OperatingPoint
from gridveil.privacy.composition import Assets
from gridveil.privacy.noise import SeededNoise
from gridveil.process.hand import Hand
from gridveil.process.messages import receive, send
from gridveil.publish.asking import Asking
from gridveil.publish.behind import certified, moved_world
from gridveil.publish.pipeline import Prepared, draw, draw_loss, prepared, quiet, repaired_draw, stated
from gridveil.publish.plan import Plan
from gridveil.publish.preview import charges
from gridveil.publish.spending import Purse
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import Sealed
from gridveil.shown import as_card
from gridveil.wall.facts import Fact

AHEAD = 4
"""Draws that every process may be ahead of who takes them."""


@dataclass(frozen=True, eq=False)
class ResearchDraw:
    """One draw, for research and NOT private: the repaired network with its operating point, or why there is none.

    Attributes:
        plan: What was asked for.
        seed: Of its noise.
        certified: Whether every claim of a release holds of it.
        detail: If not, why.
        effort: What the repair took, in AC-OPFs.
        network: The network, if one was found.
        point: Its operating point.
        path: How it was found.

    Examples:
        >>> next(gv.release_many(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), seeds=[1]))
        ResearchDraw(seed 1, alpha 0.1, cost ..., certified; NOT private)
    """

    plan: Plan
    seed: int
    certified: bool
    detail: str
    effort: float
    network: Network | None = None
    point: OperatingPoint | None = None
    path: str | None = None

    _repr_html_ = as_card

    @property
    def cost(self) -> float | None:
        """The optimal dispatch cost of the network."""
        return None if self.point is None else self.point.cost

    def __repr__(self) -> str:
        found = "no network" if self.cost is None else f"cost {self.cost:,.2f}, {self.path}"
        words = "certified" if self.certified else f"not certified: {self.detail}"
        return f"ResearchDraw(seed {self.seed}, alpha {self.plan.alpha:g}, {found}, {words}; NOT private)"


class _Ready(NamedTuple):
    """A plan up to its draws."""

    release: Prepared
    facts: tuple[Fact, ...]


def release_many(
    network: Sealed, plans: Plan | Sequence[Plan], seeds: Iterable[int] = range(1000), workers: int = 1
) -> Iterator[ResearchDraw]:
    """Draw every plan with every seed, in this order. Research: nothing is charged, for nothing of it is private.

    Args:
        network: What `gv.seal` gave.
        plans: One plan, or several.
        seeds: Of the noise; the same seed gives the draw that `gv.release` makes with it.
        workers: Processes that draw; the results and their order are the same whatever their number.

    Returns:
        An iterator of light results, made as they are taken.

    Raises:
        ReleaseError: What a release would refuse before its draw, at once.
        StudyError: A number of workers below one.

    Examples:
        >>> plans = [gv.Plan(1.0, alpha, 0.01) for alpha in (0.1, 0.3)]
        >>> draws = list(gv.release_many(gv.seal("case14_ieee"), plans, seeds=range(3)))
        >>> len(draws), sum(draw.certified for draw in draws)
        (6, 6)
    """
    every = [plans] if isinstance(plans, Plan) else list(plans)
    return draw_tasks(network, every, list(product(range(len(every)), map(int, seeds))), workers)


def draw_tasks(
    network: Sealed, plans: Sequence[Plan], tasks: Sequence[tuple[int, int]], workers: int = 1
) -> Iterator[ResearchDraw]:
    """The same for chosen pairs of a plan's place and a seed, in their order."""
    if workers < 1:
        raise StudyError(f"{workers} workers cannot do anything; give 1 or more")
    if tasks:
        SeededNoise(min(seed for _, seed in tasks))  # refuses what is no seed
    ready = [_ready(network, plan) for plan in plans]
    if workers == 1 or not tasks:
        return (_drawn(ready[place], seed) for place, seed in tasks)
    return _shared(network, plans, tasks, workers)


def _ready(network: Sealed, plan: Plan) -> _Ready:
    release = prepared(network, plan)
    return _Ready(release, stated(release))


def _drawn(ready: _Ready, seed: int) -> ResearchDraw:
    """One draw, from its noise to its certificate."""
    release, plan, noise, shop = ready.release, ready.release.plan, SeededNoise(seed), Workshop()
    purse = Purse(None, Assets("", ()))
    _, *later = charges(plan, draw_loss(release.network, plan))
    asking = Asking(release.truth, plan, noise, purse, later, quiet)
    try:
        drawn, result = repaired_draw(release, ready.facts, draw(release.network, plan, noise), asking, shop)
    except ReleaseError as failure:
        return ResearchDraw(plan, seed, False, str(failure), shop.spent)
    public = moved_world(drawn, result)
    found = Network(public.grid, result.lines)
    certificate = certified(drawn, public, found, result)
    failed = ", ".join(certificate.failed)
    return ResearchDraw(plan, seed, certificate.passed, failed, shop.spent, found, result.points[0], result.path)


def _shared(
    network: Sealed, plans: Sequence[Plan], tasks: Sequence[tuple[int, int]], workers: int
) -> Iterator[ResearchDraw]:
    """The same by several processes; who stops listening ends them."""
    given = pickle.dumps((network._open(), network.labels, network.name, list(plans)))
    following, waiting = iter(tasks), deque[Future[ResearchDraw]]()
    with ExitStack() as stack:
        free = SimpleQueue[Hand]()
        for _ in range(workers):
            free.put(stack.enter_context(Hand(__name__, given)))
        pool = ThreadPoolExecutor(workers)
        stack.callback(pool.shutdown, cancel_futures=True)

        def asked(place: int, seed: int) -> ResearchDraw:
            hand = free.get()
            try:
                return _asked(hand, place, seed)
            finally:
                free.put(hand)

        while True:
            for task in islice(following, AHEAD * workers - len(waiting)):
                waiting.append(pool.submit(asked, *task))
            if not waiting:
                return
            yield _in_one_grid(network, waiting.popleft().result())


def _in_one_grid(network: Sealed, made: ResearchDraw) -> ResearchDraw:
    """Where the grid is public, all draws have the same one, and their optimal power flows one pattern."""
    if made.plan.joint or made.network is None:
        return made
    return replace(made, network=Network(network.public_grid(made.plan.protection), made.network.lines))


def _asked(hand: Hand, place: int, seed: int) -> ResearchDraw:
    """A draw, made by another process."""
    answer = hand.ask(pickle.dumps((place, seed)))
    if answer is None:
        raise StudyError(f"a process ended while it drew seed {seed}; give workers=1 to see why")
    made: ResearchDraw = pickle.loads(answer)
    return made


def main() -> None:
    """Draw what is asked for until there is no more."""
    data = receive(sys.stdin.buffer)
    if data is None:
        return
    truth, labels, name, plans = pickle.loads(data)
    network = Sealed(truth, labels, name)
    ready = [_ready(network, plan) for plan in plans]
    while (task := receive(sys.stdin.buffer)) is not None:
        place, seed = pickle.loads(task)
        send(sys.stdout.buffer, pickle.dumps(_drawn(ready[place], seed)))
