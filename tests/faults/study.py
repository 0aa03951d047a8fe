"""Kills of a study on Dask: its runner, a worker, the scheduler. No row that was there is lost, none is doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import psutil
from distributed import Client

from gridveil.study.store import read_results
from tests.studies import COUNT

from .campaigns import timed
from .record import Record

DRAWS = 60
TASKS = DRAWS * len(COUNT.settings["alpha"])
PATIENCE = 60.0
ROOT = Path(__file__).parents[2]
VICTIMS = ("runner", "worker", "scheduler")
RUN = """
import sys
from gridveil.study.runner import run_study
from tests.studies import COUNT, slowly
from dataclasses import replace
if __name__ == "__main__":
    out, scheduler = sys.argv[1], sys.argv[2] or None
    said = lambda done, total, failed: print(done, flush=True)
    run_study(replace(COUNT, work=slowly), out, draws=int(sys.argv[3]), workers=2, scheduler=scheduler, progress=said)
"""


def study(folder: Path, count: int, seed: int) -> Record:
    """Each victim in turn; then the study is run again to its end."""
    order = random.Random(seed)
    script = folder / "run.py"
    script.write_text(RUN)
    with timed("kills of a study on Dask") as record:
        for number in range(count):
            victim = VICTIMS[number % len(VICTIMS)]
            out = folder / f"results{number}"
            record.add(victim, _one(script, out, victim, order.randint(1, TASKS - 20)))
    return record


def _one(script: Path, out: Path, victim: str, after: int) -> list[str]:
    """Kill when so many tasks are done, look, run again, look."""
    found = []
    with ExitStack() as stack:
        address = stack.enter_context(_cluster(script.parent)) if victim == "scheduler" else None
        running = stack.enter_context(_runner(script, out, address.address if address else ""))
        said = 0
        assert running.stdout is not None
        for line in running.stdout:
            said = int(line)
            if said >= after:
                break
        if said < after:
            return ["it was not hit"]
        os.kill(address.scheduler if address else _pid(running, victim), signal.SIGKILL)
        try:
            _, words = running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            found.append(f"the runner waits on after the end of its {victim}")
            running.kill()
            running.communicate()
    there = read_results(out, {COUNT.name: COUNT})[COUNT.name]["key"].to_pylist()
    if len(there) < said:
        found.append(f"{said} tasks were done, {len(there)} are there")
    with _runner(script, out, "") as again:
        _, words = again.communicate()
        if again.returncode:
            found.append(f"it cannot be run again: {words[-300:]}")
    rows = read_results(out, {COUNT.name: COUNT})[COUNT.name].to_pylist()
    keys = [row["key"] for row in rows]
    if len(keys) != TASKS or len(set(keys)) != TASKS:
        found.append(f"{len(keys)} rows, {len(set(keys))} different, of {TASKS}")
    if bad := [row["error"] for row in rows if row["status"] != "ok"]:
        found.append(f"{len(bad)} tasks count as failed: {bad[0][:120]}")
    return found


def _pid(running: subprocess.Popen[str], victim: str) -> int:
    if victim == "runner":
        return running.pid
    workers = [one for one in psutil.Process(running.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    return int(workers[0].pid)


def _runner(script: Path, out: Path, scheduler: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), str(out), scheduler, str(DRAWS)]
    path = os.pathsep.join([str(ROOT), *sys.path])
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )


@dataclass(frozen=True)
class Cluster:
    """A scheduler that is not the runner's."""

    address: str
    scheduler: int


@contextmanager
def _cluster(folder: Path) -> Iterator[Cluster]:
    about = folder / "scheduler.json"
    about.unlink(missing_ok=True)
    path = os.pathsep.join([str(ROOT), *sys.path])
    modules = (
        ["dask_scheduler", "--port", "0", "--no-dashboard"],
        ["dask_worker", "--nthreads", "1", "--no-dashboard"],
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", "--scheduler-file", str(about), *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env={**os.environ, "PYTHONPATH": path},
        )
        for name, *more in modules
    ]  # fmt: skip
    try:
        deadline = monotonic() + 60
        while not about.exists() and monotonic() < deadline:
            sleep(0.1)
        address = json.loads(about.read_text())["address"]
        with Client(address, timeout="30s") as client:
            client.wait_for_workers(1, timeout=60)
        yield Cluster(address, started[0].pid)
    finally:
        for one in started:
            with suppress(psutil.NoSuchProcess):
                for below in psutil.Process(one.pid).children(recursive=True):
                    below.kill()
            one.kill()
            one.wait()
