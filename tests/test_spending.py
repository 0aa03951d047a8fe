"""Spending is a transaction: what can fail is tried first, and whatever fails after the charge is said."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile.to_network import to_network
from gridveil.cli.main import app
from gridveil.errors import BudgetExceeded, LedgerError, PrivacyError, ReleaseError, Spent
from gridveil.grid import corridors, structure_of
from gridveil.privacy import noise as noise_module
from gridveil.privacy.composition import Charge
from gridveil.privacy.ledger import Ledger
from gridveil.publish import bundle
from gridveil.publish.elements import assets, corridor_buses, identities
from gridveil.publish.pipeline import release
from gridveil.publish.preview import preview
from gridveil.publish.same_as import read_same_as
from gridveil.publish.staging import Taken, staged, tidy
from gridveil.repair.workshop import Workshop
from gridveil.requests import Ended, deferring, heeding
from gridveil.sealed.split import split
from gridveil.wall.draw import Repair, Snapshot
from gridveil.wall.protection import Group, Protection

from .conftest import charged

PLAN = gv.Plan(1.0, 0.1, 0.01, cost="derived")
runner = CliRunner()


@pytest.fixture
def book(tmp_path: Path) -> gv.Ledger:
    return gv.Ledger.open(tmp_path / "l.db")


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Whoever runs the tests in the background may have them ignore requests to end, which is then respected."""
    numbers = [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM]
    before = [
        signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL) for one in numbers
    ]
    yield
    for one, handler in zip(numbers, before, strict=True):
        signal.signal(one, handler)


# ---- whose account ----


def test_every_corridor_is_an_asset_by_its_bus_numbers() -> None:
    grid = gv.load("case14").grid
    pairs = corridor_buses(structure_of(grid))
    assert len(pairs) == len(set(pairs)) == int(corridors(grid).max()) + 1
    assert (1, 2) in pairs and all(low < high for low, high in pairs)


def test_a_new_bus_or_another_voltage_opens_no_new_account(book: gv.Ledger) -> None:
    """What ordinary maintenance changes: a base voltage, a line out of service, a bus with its line."""
    case = gv.read_case("case14_ieee")
    release(split(case), PLAN, book, workshop=Workshop)
    volts = case.bus.copy()
    volts[:, 9] *= 1.000003
    assert release(split(replace(case, bus=volts)), PLAN, book, workshop=Workshop).manifest.privacy.cumulative_loss == 2
    branch = case.branch.copy()
    branch[(branch[:, 0] == 9) & (branch[:, 1] == 14), 10] = 0.0
    less = replace(case, branch=branch)
    assert to_network(less).grid.n_line == 19
    assert release(split(less), PLAN, book, workshop=Workshop).manifest.privacy.cumulative_loss == 3
    bus = np.vstack([case.bus, case.bus[-1:]])
    bus[-1, 0] = 99
    bus[-1, 2:4] = 0.0
    line = case.branch[-1:].copy()
    line[0, :2] = (14, 99)
    more = split(replace(case, bus=bus, branch=np.vstack([case.branch, line])))
    assert release(more, PLAN, book, workshop=Workshop).manifest.privacy.cumulative_loss == 4
    found = book.accounts(book.assets("", identities(more.structure)))
    assert found.spent[found.keys.index(book.assets("", ["corridor 14 99"]).keys[0])] == 1


def test_lines_with_limits_of_their_own_make_bundles_that_verify(book: gv.Ledger, tmp_path: Path) -> None:
    """The most that was spent and the lowest limit may be those of two lines: no contradiction."""
    case = gv.read_case("case14_ieee")
    secret = split(case)
    for _ in range(2):
        release(secret, PLAN, book, workshop=Workshop)
    bus = np.vstack([case.bus, case.bus[-1:]])
    bus[-1, [0, 2, 3]] = (99, 0.0, 0.0)
    line = case.branch[-1:].copy()
    line[0, :2] = (14, 99)
    book.set_limit(book.assets("", ["corridor 14 99"]), 1.5)
    more = split(replace(case, bus=bus, branch=np.vstack([case.branch, line])))
    made = release(more, PLAN, book, workshop=Workshop)
    assert (made.manifest.privacy.cumulative_loss, made.manifest.privacy.limit) == (3.0, 10.0)
    assert gv.verify(made.write(tmp_path / "out")).passed
    with pytest.raises(BudgetExceeded, match=r"spent 1 of its limit 1\.5"):
        release(more, PLAN, book, workshop=Workshop)


def test_renumbered_buses_need_an_identity_map(book: gv.Ledger, tmp_path: Path) -> None:
    case = gv.read_case("case5")
    release(split(case), PLAN, book, workshop=Workshop)
    bus, gen, branch = case.bus.copy(), case.gen.copy(), case.branch.copy()
    for table, columns in ((bus, [0]), (gen, [0]), (branch, [0, 1])):
        table[:, columns] += 100
    moved = split(replace(case, bus=bus, gen=gen, branch=branch))
    path = tmp_path / "same.csv"
    path.write_text("bus,known_as\n" + "".join(f"{n + 100},{n}\n" for n in range(1, 6)))
    known = read_same_as(path, moved.structure)
    assert identities(moved.structure, known) == identities(split(case).structure)
    assert preview(moved, PLAN, book, same_as=known).before.largest == 1.0
    assert preview(moved, PLAN, book).before.largest == 0.0
    made = release(moved, PLAN, book, workshop=Workshop, same_as=known)
    assert made.manifest.privacy.cumulative_loss == 2.0
    for text, words in (("bus\n1\n", "columns"), ("bus,known_as\n101,x\n", "columns"),
                        ("bus,known_as\n101,1\n101,2\n", "twice"), ("bus,known_as\n7,1\n", "does not have")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(ReleaseError, match=words):
            read_same_as(path, moved.structure)
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_same_as(tmp_path / "none.csv", moved.structure)


# ---- slips ----


def test_slips_are_asked_about_before_they_cost(book: gv.Ledger) -> None:
    secret = gv.seal("case5")
    with pytest.raises(
        PrivacyError, match=r"alpha/epsilon = 10 means noise beyond a factor of 50.*nothing was charged"
    ):
        release(secret, gv.Plan(1.0, 10.0, 0.01, cost="derived"), book)
    with pytest.raises(PrivacyError, match=r"alpha = 2 means 200 per cent.*--yes"):
        release(secret, gv.Plan(1.0, 2.0, 0.01, cost="derived"), book)
    book.set_limit(None, 1e9)
    with pytest.raises(PrivacyError, match="epsilon = 10000 protects hardly anything"):
        release(secret, gv.Plan(10_000.0, 0.1, 0.01, cost="derived"), book)
    with pytest.raises(PrivacyError, match="beyond 100000"):
        release(secret, gv.Plan(1.0, 1e6, 0.01, "additive", cost="derived"), book)
    assert charged(book) == []
    release(secret, PLAN, book, workshop=Workshop)
    release(secret, PLAN, book, workshop=Workshop)  # twice as much is what a second release is
    with pytest.raises(PrivacyError, match=r"more than doubles, from 2 to 7"):
        release(secret, replace(PLAN, epsilon=5.0), book)
    assert charged(book) == [1.0, 1.0]
    release(secret, replace(PLAN, epsilon=5.0), book, workshop=Workshop, confirmed=True)
    assert charged(book) == [1.0, 1.0, 5.0]


def test_a_preview_is_what_the_release_comes_to(book: gv.Ledger) -> None:
    secret, plan = gv.seal("case30"), gv.Plan(1.0, 0.1, 0.01)
    for ledger in (None, book):
        seen = preview(secret, plan, ledger)
        assert (seen.loss, seen.before.largest, seen.after.largest, seen.after.largest_limit) == (1.0, 0.0, 1.0, 10.0)
    made = release(secret, plan, book, workshop=Workshop)
    assert made.manifest.privacy.cumulative_loss == seen.after.largest
    assert list(seen.not_protected) == made.manifest.not_protected
    book.set_limit(None, 1.5)
    with pytest.raises(BudgetExceeded):
        preview(secret, plan, book).require(confirmed=True)


def test_beta_may_be_written_as_alpha_is() -> None:
    assert gv.Plan(1.0, "10%", "1%").share == gv.Plan(1.0, 0.1, 0.01).share == 0.01
    for wrong in ("1 pc", "", "%"):
        with pytest.raises(ReleaseError, match="is not a share"):
            gv.Plan(1.0, 0.1, wrong)


def test_the_command_line_asks(tmp_path: Path) -> None:
    def run(*options: str) -> Any:
        return runner.invoke(
            app,
            ["release", "case5", "--ledger", str(tmp_path / "l.db"), "--out", str(tmp_path / "o"), "--force", *options],
        )

    first = run("--cost", "derived")
    assert first.exit_code == 0, first.output
    assert "a new ledger was made" in " ".join(first.stderr.split())
    assert "more than 10 unless" in " ".join(first.stderr.split())
    assert "spent on this network: 0 → at most 1 of 10" in first.stderr
    assert "charged: entry 3 of the ledger" in first.stderr
    slip = run("--alpha", "10")
    assert slip.exit_code == 2 and "nothing was charged" in slip.stderr
    large = run("--epsilon", "5", "--cost", "derived")
    assert large.exit_code == 2 and "--yes" in large.stderr
    assert run("--epsilon", "5", "--cost", "derived", "--yes").exit_code == 0
    assert charged(gv.Ledger.open(tmp_path / "l.db")) == [1.0, 5.0]
    shown = " ".join(runner.invoke(app, ["ledger", "show", "--ledger", str(tmp_path / "l.db")]).stdout.split())
    assert "case5_pjm" in shown and "released" in shown
    some = runner.invoke(app, ["ledger", "show", "case5", "--ledger", str(tmp_path / "l.db"), "--json"]).stdout
    assert json.loads(some)["nearest"][0]["spent"] == 6.0


# ---- before the charge ----


@pytest.mark.real_noise
def test_a_sampler_that_cannot_be_loaded_costs_nothing(book: gv.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> None:
        raise ImportError("no opendp here")

    monkeypatch.setattr(noise_module, "_measurement", absent)
    with pytest.raises(PrivacyError, match=r"cannot be used \(ImportError.*nothing was charged"):
        release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    assert charged(book) == []


def test_a_child_that_does_not_start_costs_nothing(book: gv.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ReleaseError, match="repair process"):
        release(gv.seal("case5"), PLAN, book)
    assert charged(book) == []


def test_a_release_needs_no_temporary_directory(book: gv.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert release(gv.seal("case5"), PLAN, book, workshop=Workshop).certificate.passed


# ---- after the charge ----


class Stopped(Workshop):
    """Something happens while a draw is repaired."""

    happening: BaseException = RuntimeError("nothing")

    def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
        raise self.happening


@pytest.mark.parametrize(
    ("happening", "reason"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (Ended("signal 15"), "interrupted"),
        (MemoryError(), "out of memory"),
        (OSError(24, "Too many open files"), "could not be written"),
        (RecursionError("deep"), "internal failure"),
        (SystemExit(3), "internal failure"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_whatever_happens_is_said(book: gv.Ledger, happening: BaseException, reason: str) -> None:
    shop = type("Shop", (Stopped,), {"happening": happening})
    with pytest.raises(Spent, match=r"spent all the same: entry 3 of the ledger, loss 1$") as caught:
        release(gv.seal("case5"), PLAN, book, workshop=shop)
    assert (caught.value.entries, caught.value.loss, caught.value.reason) == ((3,), 1.0, reason)
    end = book.entries()[-1]
    assert (end.kind, end.details["outcome"], end.details["reason"]) == ("outcome", "failed", reason)


def test_a_release_that_cannot_be_delivered_says_so(book: gv.Ledger) -> None:
    def full(made: gv.Release) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(Spent, match="No space left on device"):
        release(gv.seal("case5"), PLAN, book, workshop=Workshop, deliver=full)
    assert book.entries()[-1].details["reason"] == "could not be written"


def test_what_came_of_a_charge_stands_in_the_ledger(book: gv.Ledger) -> None:
    release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    assert [entry.kind for entry in book.entries()] == ["limit", "network", "charge", "draw", "outcome"]
    assert book.entries()[-1].details["outcome"] == "released"


def test_requests_to_end_wait_for_the_receipt_and_come_once() -> None:
    with pytest.raises(Ended), heeding():
        with deferring():
            os.kill(os.getpid(), signal.SIGTERM)
            reached = True
        pytest.fail("it went on")
    assert reached
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), heeding():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # once is enough
    assert signal.getsignal(signal.SIGTERM) is before


SIGNALLED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from gridveil.repair.workshop import Workshop
from gridveil.publish import pipeline
class Slow(Workshop):
    def repair(self, snapshots, **how):
        os.kill(os.getpid(), int(sys.argv[1]))
        return super().repair(snapshots, **how)
make = pipeline.release
pipeline.release = lambda *given, **named: make(*given, **named, workshop=Slow)
from gridveil.cli.main import app
app(sys.argv[2:])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU])
def test_a_signal_ends_the_command_with_6(tmp_path: Path, number: int) -> None:
    arguments = [
        "release",
        "case5",
        "--cost",
        "derived",
        "--ledger",
        str(tmp_path / "l.db"),
        "--out",
        str(tmp_path / "o"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(int(number)), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 6, done.stderr
    assert "interrupted" in done.stderr and "entry 3 of the ledger, loss 1" in done.stderr
    assert not (tmp_path / "o").exists()


def test_every_request_to_end_is_heard(book: gv.Ledger) -> None:
    """Whatever ends a process by default and can be heard at all."""
    heard = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGXCPU, signal.SIGALRM}
    for number in heard | {signal.SIGUSR1, signal.SIGUSR2, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO}:
        with pytest.raises((Ended, KeyboardInterrupt)), heeding():
            os.kill(os.getpid(), number)


def test_ctrl_c_at_the_question_is_a_no(monkeypatch: pytest.MonkeyPatch, book: gv.Ledger) -> None:
    from gridveil.cli import spending as words

    def abort(*_: Any, **__: Any) -> bool:
        raise typer.Abort

    monkeypatch.setattr("gridveil.cli.spending.typer.confirm", abort)
    monkeypatch.setattr("gridveil.cli.spending.sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(words, "err", SimpleNamespace(is_terminal=True))
    monkeypatch.setattr(words, "say", lambda text: None)
    seen = preview(gv.seal("case5"), gv.Plan(20.0, 0.1, 0.01), gv.Ledger.init(book.path.with_name("m.db"), 100.0))
    assert seen.questions and not words.ask(seen, yes=False, as_json=False)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_no_command_leaves_a_core(tmp_path: Path) -> None:
    """The limit holds before any file is read, and for what a command starts; one byte keeps dump handlers off too."""
    code = (
        "import resource, sys; sys.argv = ['gridveil', '--version']\n"
        "from gridveil.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    done = subprocess.run(
        ["bash", "-c", 'ulimit -S -c hard; exec "$@"', "-", sys.executable, "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout.split()[-1]) <= 1


# ---- words about what is done ----


@pytest.mark.parametrize(
    ("redirect", "environment"),
    [(">/dev/full", {}), (">&-", {}), ("| true", {}), (">out.txt", {"PYTHONIOENCODING": "ascii"}), (">&- 2>&-", {})],
)
def test_printing_cannot_undo_a_release(tmp_path: Path, redirect: str, environment: dict[str, str]) -> None:
    command = f"{sys.executable} -m gridveil.cli.main release case5 --cost derived --ledger l.db --out o {redirect}"
    script = command if "|" not in redirect else f"set -o pipefail; {command}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert gv.verify(tmp_path / "o").passed
    assert charged(gv.Ledger.open(tmp_path / "l.db")) == [1.0]


# ---- where it is written ----


def test_what_dead_processes_left_is_tidied_up(tmp_path: Path) -> None:
    """A killed release leaves its staging directory; the next one removes it, and puts back what it was replacing."""
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    old = made.write(tmp_path / "old")
    dead = tmp_path / ".gridveil.dead_001"
    (dead / "new").mkdir(parents=True)
    (dead / "new" / "released.m").write_text("half")
    replaced = tmp_path / ".gridveil.repl_002"
    (replaced / "old").mkdir(parents=True)
    old.rename(replaced / "old" / "new")  # whatever it is called
    kept = tmp_path / ".gridveil.mine", tmp_path / ".gridveil.ledgers_", tmp_path / ".gridveil.abcd-123"
    for other in kept:  # a name that nobody stages under, or what is never staged
        other.mkdir(mode=0o700)
        (other / "ledger.db").write_text("mine")
    for folder in (dead, replaced):
        folder.chmod(0o700)
    with staged(tmp_path / "other") as living:
        made.write(tmp_path / "another")
        assert living.is_dir()  # its process lives
        (living / "x").write_text("x")
    assert {file.name for file in tmp_path.iterdir()} == {"another", "new", "other", *(one.name for one in kept)}
    assert (tmp_path / "new" / "manifest.json").exists()
    assert all((one / "ledger.db").read_text() == "mine" for one in kept)


@pytest.mark.parametrize("planted", ["link", "link within", "shared", "file"])
def test_nothing_of_others_is_tidied(tmp_path: Path, planted: str) -> None:
    """Whoever can write beside a bundle may plant what looks left behind: nothing is moved through a link or deleted."""
    secret, place = tmp_path / "home", tmp_path / "open"
    for folder in (secret, place):
        folder.mkdir()
    (secret / "ledger").mkdir()
    (secret / "ledger" / "l.db").write_text("mine")
    stage = place / ".gridveil.abcdefgh"
    if planted == "link":
        stage.symlink_to(secret)
    else:
        stage.mkdir(mode=0o700)
    if planted == "link within":
        (stage / "old").symlink_to(secret)
    elif planted == "shared":
        (stage / "old" / "x").mkdir(parents=True)
        stage.chmod(0o777)
    elif planted == "file":
        (stage / "old").mkdir()
        (stage / "old" / "l.db").symlink_to(secret / "ledger" / "l.db")
    tidy(place)
    assert (secret / "ledger" / "l.db").read_text() == "mine"
    assert not (place / "l.db").exists() and not (place / "ledger").exists() and not (place / "x").exists()


def test_a_bundle_that_is_put_back_is_met_before_the_charge(tmp_path: Path) -> None:
    """And one that is called as a staging directory would be tidied away."""
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    stage = tmp_path / ".gridveil.abcdefgh"
    (stage / "old").mkdir(parents=True)
    made.write(stage / "old" / "out")
    stage.chmod(0o700)
    with pytest.raises(ReleaseError, match="exists; choose another"):
        bundle.check_target(tmp_path / "out", force=False)
    with pytest.raises(ReleaseError, match="tidied away"):
        bundle.check_target(tmp_path / ".gridveil.bundle", force=False)


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_a_name_that_is_taken_meanwhile_loses_no_release(tmp_path: Path, name: str) -> None:
    """Two releases to one place: the first has the name, and the second, which is paid for too, another."""
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    target = bundle.check_target(tmp_path / name, force=False)
    assert made.deliver(target) == target
    first = target.read_bytes() if target.is_file() else (target / "manifest.json").read_bytes()
    other = made.deliver(target)
    assert other.name == name.replace("out", "out-2") and gv.verify(other).private is False
    assert made.deliver(target).name == name.replace("out", "out-3")
    assert first == (target.read_bytes() if target.is_file() else (target / "manifest.json").read_bytes())
    files = {"manifest.json": b"{}"}
    with pytest.raises(Taken):  # also if it came in the very last moment
        bundle.write_files(target, files)
    bundle.write_files(target, files, force=True)


def test_nobody_can_hold_a_release_up(tmp_path: Path) -> None:
    """Another user may lock a directory that he can read: the staging directories are ours alone."""
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        made.write(tmp_path / "out")
        made.write(tmp_path / "out.zip")
    finally:
        os.close(handle)
    with staged(tmp_path / "other") as living:
        assert living.parent.stat().st_mode & 0o077 == 0


def test_a_directory_that_is_tidied_away_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its making and its lock another release may take it for one that was left."""
    made: list[str] = []

    def tidied(**where: Any) -> str:
        made.append(make(**where))
        if len(made) <= 2:
            tidy(tmp_path)
        return made[-1]

    make = tempfile.mkdtemp
    monkeypatch.setattr("gridveil.publish.staging.tempfile.mkdtemp", tidied)
    with staged(tmp_path / "out") as living:
        (living / "x").write_text("x")
    assert len(made) == 4 and (tmp_path / "out" / "x").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_who_may_read_a_bundle_says_the_umask(tmp_path: Path, name: str) -> None:
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    before = os.umask(0o077)
    try:
        assert made.write(tmp_path / name).stat().st_mode & 0o077 == 0
    finally:
        os.umask(before)
    assert made.write(tmp_path / f"other-{name}").stat().st_mode & 0o044 == 0o044 & ~before


def test_a_target_is_resolved_before_the_charge(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "not yet" / "there")
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    assert made.write(link) == tmp_path / "not yet" / "there"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(ReleaseError, match=r"leads nowhere|cannot be written"):
        made.write(loop)


def test_a_full_disk_is_met_before_the_charge(book: gv.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=2**20)
    monkeypatch.setattr("gridveil.files.shutil.disk_usage", lambda _: usage)
    with pytest.raises(ReleaseError, match="less than 64 MB are free"):
        bundle.check_target(tmp_path / "out", force=False)
    with pytest.raises(LedgerError, match=r"less than 16 MB are free; nothing was charged"):
        release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    assert charged(book) == []


def test_renumbered_buses_are_known_by_their_names(tmp_path: Path) -> None:
    """The case of an earlier release as --same-as: accounts follow the names of buses, whatever their numbers."""
    case = gv.read_case("case5")
    named = replace(case, extras={**case.extras, "bus_name": tuple((f"station {k}",) for k in range(5))})
    earlier = tmp_path / "earlier.m"
    gv.write(named, earlier)
    bus, gen, branch = (np.array(one) for one in (case.bus, case.gen, case.branch))
    bus[:, 0], gen[:, 0], branch[:, :2] = bus[:, 0] + 70, gen[:, 0] + 70, branch[:, :2] + 70
    moved = split(replace(named, bus=bus, gen=gen, branch=branch))
    known = read_same_as(earlier, moved.structure, moved.labels.bus_name)
    assert known == {int(number) + 70: int(number) for number in case.bus[:, 0]}
    assert identities(moved.structure, known) == identities(split(case).structure)
    with pytest.raises(ReleaseError, match=r"the case has no names of buses"):
        read_same_as(earlier, moved.structure)
    with pytest.raises(ReleaseError, match=r"the case has 'a' twice among its buses"):
        read_same_as(earlier, moved.structure, ["a", "a", "b", "c", "d"])
    gv.write(case, tmp_path / "bare.m")
    with pytest.raises(ReleaseError, match=r"bare\.m has no names of buses"):
        read_same_as(tmp_path / "bare.m", moved.structure, moved.labels.bus_name)


def test_show_lists_every_kind_of_element_that_was_charged(tmp_path: Path) -> None:
    """Corridors always; loads and plants once a joint release was charged to them, by the groups that it protected."""
    book, where = Ledger.init(tmp_path / "l.db", 10.0), ["--ledger", str(tmp_path / "l.db")]
    structure, name = structure_of(gv.load("case14").grid), "case14_ieee"

    def charge(loss: float, alphas: dict[Group, float], mechanism: str = "joint") -> None:
        one = Charge(loss, min(alphas.values()), "relative", mechanism, {str(key): alphas[key] for key in alphas})
        book.charge(assets(book, name, structure, None, Protection(alphas)), one)

    def shown() -> Any:
        return json.loads(runner.invoke(app, ["ledger", "show", "case14", *where, "--json"]).stdout)

    charge(1.0, {Group.LINES: 0.1}, "log")
    before = runner.invoke(app, ["ledger", "show", "case14", *where]).stdout
    assert "plant" not in before and "1–2" in before
    charge(0.5, {Group.LOADS: 0.2, Group.LINES: 0.2})
    near = shown()["nearest"]
    assert {"load": 2, "spent": 0.5, "limit": 10.0, "groups": {"loads": 0.5}} in near
    assert {"corridor": [1, 2], "spent": 2.5, "limit": 10.0, "groups": {"lines": 2.5}} in near  # 1 at half of 20 %
    assert not any("plant" in one for one in near)
    charge(0.25, {Group.LIMITS: 0.3, Group.COSTS: 0.3})
    text = runner.invoke(app, ["ledger", "show", "case14", *where]).stdout
    assert "plants: limits of units, generation costs" in " ".join(text.split())
    assert "0.25" in text
    charge(0.1, {Group.LINES: 0.6, Group.RATINGS: 0.1}, "joint")  # loads are counted as before: theirs is no larger α
    near = shown()["nearest"]
    assert {"load": 2, "spent": 0.5, "limit": 10.0, "groups": {"loads": 0.5}} in near
    corridor = next(one for one in near if one.get("corridor") == [1, 2])
    assert corridor["groups"] == pytest.approx({"lines": 6 + 1.5 + 0.1, "ratings": 0.1})
    joint = next(one for one in shown()["counted_within"] if one["mechanism"] == "joint")
    assert (joint["alpha"], joint["groups"]["lines"], joint["groups"]["ratings"]) == (0.1, 0.6, 0.1)
    text = " ".join(runner.invoke(app, ["ledger", "show", "case14", *where], terminal_width=160).stdout.split())
    assert "a change of several groups counts in parts" in text
    whole = " ".join(runner.invoke(app, ["ledger", "show", *where]).stdout.replace("│", " ").split())
    assert "0.6 of lines" in whole and "0.1 of ratings" in whole


def test_a_limit_of_a_case_is_one_for_all_its_elements(tmp_path: Path) -> None:
    """Loads and plants too; and one that an earlier version set is that of every group of its lines."""
    where = ["--ledger", str(tmp_path / "l.db")]
    book, structure = Ledger.init(tmp_path / "l.db", 10.0), structure_of(gv.load("case14").grid)
    book.set_limit(book.assets("case14_ieee", identities(structure)), 4.0)  # as it did
    found = book.accounts(assets(book, "case14_ieee", structure))
    by_group = dict(zip(found.groups, found.limit.tolist(), strict=True))
    assert by_group == {"lines": 4.0, "ratings": 4.0, "loads": 10.0, "limits": 10.0, "costs": 10.0}
    assert runner.invoke(app, ["ledger", "set-limit", "case14", "3", *where]).exit_code == 0
    assert set(book.accounts(assets(book, "case14_ieee", structure)).limit.tolist()) == {3.0}


def test_a_dry_run_says_where_large_elements_are_seen(tmp_path: Path) -> None:
    """Private totals protect large loads and plants less: `exposure` shows by how much, and a dry run names it."""
    asked = ["release", "case5", "--dry-run", "--epsilon", "1", "--alpha", "30%", "--beta", "1%", "--ledger"]
    asked += [str(tmp_path / "l.db"), "--protect"]
    said = [
        " ".join(runner.invoke(app, [*asked, some]).stdout.replace("│", " ").split()) for some in ("loads", "ratings")
    ]
    assert "gridveil exposure case5 --protect loads" in said[0] and "gridveil exposure" not in said[1]
