"""Kill the server, the browser or the job at a random instant of a release, and look at what is left."""

from __future__ import annotations

import json
import os
import random
import signal
import zipfile
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

from tests.steward import Steward

from gridveil.errors import GridVeilError
from gridveil.privacy.ledger import Ledger
from gridveil.publish.archive import read_bundle
from gridveil.wall.mechanisms import COST
from gridveil.web.jobs import Job, Jobs, State
from gridveil.web.runner import PID
from workbench_server import Served

VICTIMS = ("server", "browser", "job")
NAME = "case14_ieee"


class Rounds:
    """A folder with a ledger without limit; a server that is begun again whenever it was killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.stack = folder, random.Random(seed), ExitStack()
        self.jobs = Jobs(folder / "workbench" / "jobs", folder)
        self.pressed, self.ended, self.faults = 0, Counter[str](), list[str]()
        self.charged, self.unfinished = 0, 0
        Ledger.init(folder / "ledger.db", None)
        self.served = self._serve()

    def _serve(self) -> Served:
        return self.stack.enter_context(Served(self.folder, "net.m"))

    def once(self, victim: str, reach: float) -> None:
        """One release and one kill, somewhere within `reach` seconds of the pressing."""
        before = {job.id for job in self.jobs.all("release")}
        delay = self.rng.random() * reach
        self.pressed += 1
        if victim == "browser":
            self._in_browser(delay)
        else:
            given = self.served.confirmation(NAME)
            press = Thread(target=self._press, args=(given,), daemon=True)
            press.start()
            sleep(delay)
            if victim == "server":
                self.served.process.kill()
                self.served.process.wait()
            else:
                self._kill_job(before)
            press.join(30)
        if self.served.process.poll() is not None:
            self.served = self._serve()
        self._rest(before, victim)

    def _press(self, given: dict[str, str]) -> None:
        with suppress(OSError, Exception):  # the server may be gone in the middle of it
            self.served.ask("/signoff", given)

    def _in_browser(self, delay: float) -> None:
        with Steward(self.served.session) as steward:
            steward.begin()
            steward.page("/signoff")
            steward.run(f"document.getElementById('name').value = {json.dumps(NAME)}")
            steward.run("document.querySelector('[name=meant]')?.click()")
            steward.run("setTimeout(() => document.querySelector('button.charge').click(), 0)")
            sleep(delay)
            steward.process.kill()

    def _kill_job(self, before: set[str]) -> None:
        """The whole job, its wrapper alone, or its command alone."""
        end = monotonic() + 5
        while monotonic() < end:
            for job in self.jobs.all("release"):
                if job.id not in before and (job.place / PID).exists():
                    pid = int(json.loads((job.place / PID).read_bytes())["pid"])
                    with suppress(ProcessLookupError):
                        self.rng.choice((_whole, _wrapper, _command))(pid)
                    return
            sleep(0.005)

    def _rest(self, before: set[str], victim: str) -> None:
        """Wait until nothing of the round runs any more, and look."""
        sleep(0.1)
        end = monotonic() + 120
        while (new := [job for job in self.jobs.all("release") if job.id not in before]) and monotonic() < end:
            if all(not job.running and not _alive(job) for job in new):
                break
            sleep(0.05)
        for job in new:
            self.ended[f"{victim}: {job.state}"] += 1
        if not new:
            self.ended[f"{victim}: not begun"] += 1
        self._look(new)

    def _look(self, new: list[Job]) -> None:
        whole = 0
        for path in sorted((self.folder / "workbench" / "releases").iterdir()):
            if path.name.startswith(".gridveil."):  # what a killed command was writing: the next one removes it
                self.unfinished += 1
                continue
            try:
                assert path.suffix == ".zip", "not a bundle"
                assert zipfile.ZipFile(path).testzip() is None and not read_bundle(path).faults
                whole += 1
            except (AssertionError, OSError, GridVeilError, zipfile.BadZipFile) as error:
                self.faults.append(f"half a bundle: {path.name}: {error}")
        charges = [one for one in Ledger.read(self.folder / "ledger.db").verify() if one.kind == "charge"]
        draws = [one for one in charges if one.details["mechanism"] != COST]
        if len(draws) < whole:
            self.faults.append(f"{whole} bundles, and {len(draws)} charges")
        if len(draws) < self.charged:
            self.faults.append("a charge is gone")
        if len(draws) > self.pressed:
            self.faults.append(f"{len(draws)} charges for {self.pressed} confirmations")
        self.charged = len(draws)
        for job in new:
            if job.state is State.DONE and not (self.folder / job.about["out"]).is_file():
                self.faults.append("a release is done, and there is no bundle")

    def close(self) -> None:
        self.stack.close()


def _whole(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)


def _wrapper(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _command(pid: int) -> None:
    """Children of the wrapper, where the system tells of them."""
    with suppress(OSError):
        for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(one), signal.SIGKILL)


def _alive(job: Job) -> bool:
    """Is anything of its session left? A wrapper that was killed leaves its command, which goes on."""
    try:
        pid = int(json.loads((job.place / PID).read_bytes())["pid"])
    except (OSError, ValueError):
        return False
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
