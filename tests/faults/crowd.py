"""Many releases at once from one ledger whose limit allows some of them: just as many are made and charged."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import gridveil as gv

from .campaigns import timed
from .invariants import charge_entries, whole
from .record import Record
from .scene import BUNDLE, LEDGER, Scene
from .trial import Outcome, Tell, finish, start


def crowd(folder: Path, count: int, seed: int, *, rounds: int = 1) -> Record:
    """`count` releases at once, every other round with a ledger that none of them has made yet."""
    warm = Scene(fresh=True)
    warm.release(warm.prepare(folder / "warm"))
    with timed(f"{count} releases at once") as record:
        for number in range(rounds):
            fresh = number % 2 == 1
            allowed = 10 if fresh else 3 + (7 * (seed + number)) % max(count - 3, 1)
            place = folder / f"round{number}"
            place.mkdir()
            if not fresh:
                gv.Ledger.init(place / LEDGER, allowed + 0.5)
            record.add("a new ledger" if fresh else f"{allowed} allowed", _round(place, count, min(allowed, count)))
    return record


def _round(place: Path, count: int, allowed: int) -> list[str]:
    gate, opened = os.pipe()

    def wait(tell: Tell) -> None:
        os.close(opened)
        os.read(gate, 1)  # all go when the other end is closed
        tell("hit")

    under_way = [start(Scene(), place, wait, f"{BUNDLE}{one}") for one in range(count)]
    os.close(opened)
    os.close(gate)
    ended = [finish(pid, streams) for pid, streams in under_way]
    found = [wrong for number, one in enumerate(ended) for wrong in _wrong(one, place / f"{BUNDLE}{number}")]
    made, charges = sum(one.code == 0 for one in ended), len(charge_entries(place))
    if not made == charges == allowed == sum(one.draws for one in ended):
        found.append(f"{allowed} allowed, {charges} charged, {made} made")
    return found


def _wrong(one: Outcome, bundle: Path) -> list[str]:
    found = [] if one.hit else ["it was not there"]
    if "Traceback" in one.stderr or one.code not in (0, 2):
        found.append(f"exit {one.code}: {one.stderr.strip()[-300:]}")
    if one.code == 2 and "This was not charged" not in one.stderr:
        found.append(f"refused for another reason: {one.stderr.strip()[-300:]}")
    if one.code == -signal.SIGKILL:
        found.append("it hung")
    return found + (whole(bundle) if one.code == 0 else ["a bundle of a refused release"] if bundle.exists() else [])
