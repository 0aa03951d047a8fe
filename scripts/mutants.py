"""Change the source in small ways and see whether the tests notice: python scripts/mutants.py [--count N] [--seed S]

A mutant is tried in a copy of the source, by the tests that reach its function (`reached.py`), fastest first, up to
25 s of them; one that makes them run much longer than that has been noticed too. A seed names the same mutants as long
as the source is the same. What was found stands in build/mutants-S.json and, with every survivor's diff, on the screen;
`--again` tries the survivors of a record once more, after tests have been written.
"""

from __future__ import annotations

import argparse
import compileall
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from py_compile import PycInvalidationMode
from time import monotonic, sleep
from typing import Any

import mutate
from reached import TARGET

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gridveil"
REACHED = ROOT / "build" / "mutants-reached.json"
ROOMS = ("privacy", "sealed", "repair", "publish", "nlp", "grid")
TESTS = (
    "grid", "line_flow", "noise", "problem", "ipopt", "ledger", "restoration", "mechanisms", "repair", "spending",
    "opf", "profile", "facts", "release", "bundle", "signature", "time_series", "effort", "forgeries", "isolation",
)  # fmt: skip
"""The test files near to the rooms; those named test_promises_* are always among them."""
SECONDS, MOST = 25.0, 250
"""Tests of one mutant: how long they may take by themselves, and how many there may be."""
LONGER, PATIENCE = 3.0, 20.0
"""A mutant is given up as noticed after so many times as long, and so many seconds more."""

Reached = dict[str, tuple[float, list[str]]]


@dataclass(frozen=True)
class Mutant:
    """A change of one file of the package."""

    path: str
    change: mutate.Change

    @property
    def room(self) -> str:
        """The package the file stands in."""
        return self.path.split("/")[0]

    def diff(self) -> str:
        """What is changed, as a diff without context."""
        before = (SOURCE / self.path).read_bytes()
        after = mutate.mutated(before, self.change)
        lines = difflib.unified_diff(before.decode().splitlines(), after.decode().splitlines(), n=0, lineterm="")
        return "\n".join([f"{self.path}:{self.change.line} ({self.change.kind})", *list(lines)[3:]])


def sample(count: int, seed: int, without: list[str]) -> list[Mutant]:
    """So many mutants of different places, each place as likely as any other."""
    chance = random.Random(seed)
    files = [path for room in ROOMS for path in sorted((SOURCE / room).rglob("*.py"))]
    names = [path.relative_to(SOURCE).as_posix() for path in files]
    everywhere = [(name, place) for name in names for place in mutate.places((SOURCE / name).read_bytes())]
    chance.shuffle(everywhere)
    found: list[Mutant] = []
    for name, place in everywhere:
        change = chance.choice(place)
        if name not in without and mutate.is_one((SOURCE / name).read_bytes(), change):
            found.append(Mutant(name, change))
        if len(found) == count:
            break
    return found


def reached() -> Reached:
    """Which functions each test reaches; asked again of test files that have changed."""
    known = json.loads(REACHED.read_text(encoding="utf-8")) if REACHED.exists() else {}
    names = [*(f"test_{name}.py" for name in TESTS), *sorted(one.name for one in ROOT.glob("tests/test_promises_*.py"))]
    every: Reached = {}
    for name in names:
        digest = sha256((ROOT / "tests" / name).read_bytes()).hexdigest()
        if known.get(name, {}).get("digest") != digest:
            print(f"what tests/{name} reaches ...", flush=True)
            known[name] = {"digest": digest, "reached": _trace(name)}
            REACHED.parent.mkdir(exist_ok=True)
            REACHED.write_text(json.dumps(known), encoding="utf-8")
        every |= known[name]["reached"]
    return every


def _trace(name: str) -> Reached:
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "reached.json"
        path = os.pathsep.join([str(SOURCE.parent), str(Path(__file__).parent)])
        variables = {**os.environ, "PYTHONPATH": path, TARGET: str(target)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reached", f"tests/{name}"]
        subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, check=False)
        found: Reached = json.loads(target.read_text(encoding="utf-8"))
        return found


def chosen(mutant: Mutant, every: Reached) -> list[str]:
    """The tests to try, fastest first: those that reach the function, else the file (it may run in another process)."""
    own = f"{mutant.path}:{mutant.change.function}"
    near = [test for test, (_, names) in every.items() if own in names]
    if not near:
        near = [test for test, (_, names) in every.items() if any(one.startswith(f"{mutant.path}:") for one in names)]
    tests: list[str] = []
    seconds = 0.0
    for test in sorted(near, key=lambda one: every[one][0])[:MOST]:
        seconds += every[test][0]
        if seconds > SECONDS and tests:
            break
        tests.append(test)
    return tests


class Failures:
    """A pytest plugin that notes which tests fail."""

    def __init__(self) -> None:
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.tests.append(report.nodeid)


def run(tests: list[str], copy: Path, limit: float, *options: str) -> tuple[str, list[str]]:
    """Run tests against a copy of the source in a process of its own: ("survived", ...) if all pass."""
    said = copy / "failed.json"
    said.unlink(missing_ok=True)
    process = os.fork()
    if not process:
        _run([*options, *tests], copy, said)
    end = monotonic() + limit
    while monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            failed: list[str] = json.loads(said.read_text(encoding="utf-8")) if said.exists() else []
            return ("survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"), failed
        sleep(0.02)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "killed by time", []


def _run(arguments: list[str], copy: Path, said: Path) -> None:
    """The rest of a forked process, whose libraries are loaded already."""
    code = 99
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = str(copy)
        import pytest  # noqa: PLC0415 - loaded by `preload`

        failures = Failures()
        plain = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain")  # nobody reads what they say
        code = int(pytest.main([*plain, *arguments], plugins=[failures]))
        said.write_text(json.dumps(failures.tests), encoding="utf-8")
    finally:
        os._exit(code)


def attempt(mutant: Mutant, tests: list[str], limit: float, copy: Path) -> tuple[str, list[str]]:
    """Try a mutant: "killed", "killed by time" or "survived", and the test that noticed."""
    target = copy / "gridveil" / mutant.path
    before = target.read_bytes()
    target.write_bytes(mutate.mutated(before, mutant.change))
    try:
        return run(tests, copy, limit, "-x")
    finally:
        target.write_bytes(before)


class Court:
    """Tries mutants, and asks every test that notices one whether it passes where nothing is changed."""

    def __init__(self, every: Reached, copy: Path, also: list[str]) -> None:
        self.every, self.copy, self.also = every, copy, also
        self.sound: set[str] = set()
        first = min(every, key=lambda test: every[test][0])
        if run([first], copy, 10 * PATIENCE)[0] != "survived":
            sys.exit(f"the tests cannot be run: {first} does not pass where nothing is changed")

    def trial(self, mutant: Mutant) -> tuple[str, list[str], int]:
        """How a mutant ended, which test noticed it, and how many were to."""
        while True:
            tests = chosen(mutant, self.every)
            limit = PATIENCE + LONGER * sum(self.every[test][0] for test in tests)
            tests = [*self.also, *tests]
            if not tests:
                return "survived", [], 0
            ending, failed = attempt(mutant, tests, limit, self.copy)
            doubtful = [test for test in failed if test not in self.sound]
            if not doubtful or run(doubtful, self.copy, limit)[0] == "survived":
                self.sound |= set(doubtful)
                return ending, failed, len(tests)
            print(f"left out, for it fails where nothing is changed: {doubtful}", flush=True)
            self.also = [test for test in self.also if not any(one.startswith(test) for one in doubtful)]
            self.every = {test: found for test, found in self.every.items() if test not in doubtful}


def preload() -> None:
    """Load what every test needs, and nothing of the package: a mutant then begins in a moment."""
    for name in ("pytest", "numpy", "hypothesis", "hypothesis.strategies", "scipy.optimize", "scipy.sparse.linalg",
                 "scipy.stats", "opendp.prelude", "clarabel", "msgspec", "typer.testing", "rich.console"):  # fmt: skip
        __import__(name)
    if any(name.split(".")[0] == "gridveil" for name in sys.modules):
        sys.exit("the package is loaded before it is changed; a library that imports it must not be loaded early")


def trials(
    mutants: list[Mutant], every: Reached, also: list[str]
) -> Iterator[tuple[Mutant, str, list[str], int, float]]:
    """Try them one after another, each with how it ended, what noticed it, the number of its tests and the time."""
    preload()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "src"
        shutil.copytree(SOURCE, copy / "gridveil", ignore=shutil.ignore_patterns("__pycache__"))
        # checked by content: the same second and the same length do not make an old file pass for a new one
        compileall.compile_dir(copy, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        sys.dont_write_bytecode = True
        court = Court(every, copy, also)
        for mutant in mutants:
            begin = monotonic()
            yield mutant, *court.trial(mutant), monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", nargs="*", default=[], metavar="ROOM/FILE.py", help="files to leave alone")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no mutant after so long")
    parser.add_argument("--again", type=Path, help="a record whose survivors are tried again")
    parser.add_argument("--also", nargs="*", default=[], metavar="TEST", help="tests to try on every mutant, whatever")
    given = parser.parse_args()
    if given.again:
        rows = json.loads(given.again.read_text(encoding="utf-8"))
        left = [row for row in rows if row["ending"] == "survived"]
        mutants = [Mutant(row["path"], mutate.Change(**row["change"])) for row in left]
    else:
        mutants = sample(given.count, given.seed, given.without)
    every = reached()
    record = ROOT / "build" / f"mutants-{given.again.stem + '-again' if given.again else given.seed}.json"
    begin, rows, counts = monotonic(), [], Counter[tuple[str, bool]]()
    for mutant, ending, failed, tests, seconds in trials(mutants, every, given.also):
        killed = ending != "survived"
        print(f"{ending} by {tests} tests, {seconds:.1f} s: {mutant.diff()}" + ("" if killed else "\n"), flush=True)
        rows.append({**asdict(mutant), "ending": ending, "failed": failed, "tests": tests, "diff": mutant.diff()})
        counts[mutant.room, killed] += 1
        record.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
        if monotonic() - begin > 60 * given.minutes:
            break
    print("\n| room | mutants | killed |\n|---|---|---|")
    for room in ROOMS:
        print(f"| {room} | {counts[room, True] + counts[room, False]} | {counts[room, True]} |")
    print(f"\n{sum(row['ending'] != 'survived' for row in rows)} of {len(rows)} killed; record: {record}")


if __name__ == "__main__":
    main()
