"""With the real repair process: it is killed while it works, or the release is, and then it must not live on."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from gridveil.repair.child import ChildWorkshop

from .campaigns import Stage, timed
from .injectors import nothing
from .phases import put
from .record import Record
from .scene import Scene
from .trial import Injector, Outcome, Tell

PLACES = ("begin", "estimate", "repair")
ORPHAN = 10.0
"""Seconds within which a repair process ends after the release that it works for."""


def killing(place: str, delay: float) -> Injector:
    """Kill the repair process so many seconds after it was asked for something; never, if there is no such place."""

    def inject(tell: Tell) -> None:
        from threading import Timer

        made = ChildWorkshop.__init__

        def init(shop: ChildWorkshop) -> None:
            made(shop)
            tell(f"child {shop._process.pid}")

        def strike(shop: ChildWorkshop) -> None:
            if shop._process.poll() is None:
                tell("hit")
                shop._process.kill()

        def asked(method: str) -> None:
            inner = getattr(ChildWorkshop, method)

            def outer(shop: ChildWorkshop, *given: object, **named: object) -> object:
                if method == place:
                    Timer(delay, strike, [shop]).start() if delay else strike(shop)
                return inner(shop, *given, **named)

            put(ChildWorkshop, method, outer)

        put(ChildWorkshop, "__init__", init)
        for method in PLACES:
            asked(method)

    return inject


def child(folder: Path, count: int, seed: int) -> Record:
    """Half of the trials kill the repair process, half the release, at any time from its start on."""
    order = random.Random(seed)
    stages = [Stage(Scene(cost, force=force, child=True), folder / f"{cost}{force}")
              for cost, force in (("derived", True), ("private", False))]  # fmt: skip
    usual = {stage: stage.run(nothing).seconds for stage in stages}
    with timed("kills with the real repair process") as record:
        while record.n < count:
            stage = order.choice(stages)
            if record.n % 2:
                place, delay = order.choice(PLACES), order.choice((0.0, order.uniform(0, 0.15)))
                outcome = stage.run(killing(place, delay))
                if outcome.hit:  # a timer may come when all is over
                    wrong = [] if outcome.code in (0, 6) else [f"exit {outcome.code}"]
                    record.add(f"the repair process, at {place}", wrong + stage.faults(outcome))
                continue
            outcome = stage.run(killing("", 0), order.uniform(0, usual[stage]), _kill)
            if outcome.code == -signal.SIGKILL:
                record.add("the release", _orphans(outcome) + stage.faults(outcome, struck=True))
    return record


def _orphans(outcome: Outcome) -> list[str]:
    """Repair processes that outlive the release."""
    pids = [int(word.split()[1]) for word in outcome.told if word.startswith("child ")]
    deadline = monotonic() + ORPHAN
    while any(_lives(pid) for pid in pids) and monotonic() < deadline:
        sleep(0.05)
    return [f"the repair process {pid} lives on" for pid in pids if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
