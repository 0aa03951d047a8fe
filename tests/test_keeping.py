"""Nobody loses a budget by accident: backups, restoring, taking over, permissions, links, files that are none."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile.write import write
from gridveil.cli.main import app
from gridveil.errors import BudgetExceeded, LedgerError, PrivacyError, ReleaseError
from gridveil.grid import structure_of
from gridveil.privacy import database, keeping, migration
from gridveil.privacy.chain import Chain
from gridveil.privacy.composition import USUAL_REACH
from gridveil.privacy.database import Unavailable
from gridveil.privacy.keeping import backup, restore
from gridveil.privacy.keyfile import Anchor, KeyFile
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.limit import DEFAULT_LIMIT
from gridveil.privacy.migration import Known, migrate
from gridveil.publish.pipeline import release
from gridveil.publish.preview import preview
from gridveil.publish.same_as import read_same_as
from gridveil.publish.staging import tidy
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

from .conftest import charged
from .test_ledger import GRID, net, of, spent

PLAN = gv.Plan(1.0, 0.1, 0.01, cost="derived")
runner = CliRunner()


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "l.db")


def run(*words: object) -> Any:
    return runner.invoke(app, [str(word) for word in words])


def words_of(done: Any) -> str:
    return " ".join(done.output.replace("│", " ").split())


def remove(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        if file.suffix != ".key":
            file.unlink()


# ---- what was lost ----


def test_what_was_lost_is_charged_to_every_line_known_or_not(book: Ledger, tmp_path: Path) -> None:
    """The backup knows no release at all: what the lost ones came to counts all the same, whatever comes then."""
    backup(book, tmp_path / "bk.db")
    book.charge(net(book), of(1.0))
    remove(book.path)
    done = run("ledger", "restore", tmp_path / "bk.db", "--ledger", book.path, "--lost", 5)
    assert done.exit_code == 0, done.output
    assert "2 are lost" in words_of(done) and "5 is charged to every line" in words_of(done)
    assert "Limits that were set in them are gone" in words_of(done)
    again = Ledger.open(book.path)
    assert [entry.kind for entry in again.entries()] == ["limit", "lost"]
    assert (spent(again), spent(again, ["7 8"])) == (5.0, 5.0)
    with pytest.raises(BudgetExceeded, match="spent 5 of its limit 10"):
        again.charge(net(again, ["7 8"]), of(5.5))
    assert "were lost: loss 5" in words_of(run("ledger", "show", "--ledger", book.path))


def test_what_was_lost_grows_with_the_reach(tmp_path: Path) -> None:
    """It was said for changes up to 0.1; for those up to 0.3 it may be three times as much, as every charge is."""
    free = Ledger.init(tmp_path / "free.db", limit=None)
    free.charge(net(free), of(1.0))
    backup(free, tmp_path / "bk.db")
    free.charge(net(free), of(1.0))
    remove(free.path)
    assert restore(tmp_path / "bk.db", free.path, lost=2.0) == 1
    assert free.charge(net(free), of(1.0, 0.05)).cumulative == pytest.approx(1.0 + 2.0 + 2.0)
    assert free.charge(net(free), of(1.0, 0.3)).cumulative == pytest.approx(3.0 + 6.0 + 6.0 + 1.0)
    assert spent(free, ["7 8"]) == 2.0  # no release of it, and no reach
    lost = free.history().lost[0]
    assert (lost.loss, dict(lost.reach)) == (2.0, USUAL_REACH)
    earlier = free.charge(net(free, ["7 8"]), of(0.1)).earlier
    assert [entry.details["given"] for entry in earlier] == [[keeping.UNKNOWN]]  # and nobody knows on what condition


def test_a_release_after_a_loss_says_so_and_verifies(book: Ledger, tmp_path: Path) -> None:
    backup(book, tmp_path / "bk.db")
    release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    remove(book.path)
    restore(tmp_path / "bk.db", book.path, lost=1.5)
    made = release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    privacy = made.manifest.privacy
    assert (privacy.cumulative_loss, privacy.given_before) == (2.5, [keeping.UNKNOWN])
    assert gv.verify(made.write(tmp_path / "out")).passed


@pytest.mark.parametrize("place", ["_set_aside", "os.replace", "advance"])
def test_a_restoration_that_is_killed_leaves_nothing_that_can_be_spent(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """At each step: what is in place is refused, and restoring can be done again."""
    book.charge(net(book), of(1.0))
    backup(book, tmp_path / "bk.db")
    book.charge(net(book), of(4.0))
    remove(book.path)

    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        if place == "advance":
            patched.setattr(KeyFile, "advance", kill)
        elif place == "_set_aside":
            patched.setattr(keeping, "_set_aside", kill)
        else:
            patched.setattr("gridveil.privacy.keeping.os.replace", kill)
        with pytest.raises(Killed):
            restore(tmp_path / "bk.db", book.path, lost=4.0)
    with pytest.raises(LedgerError, match=r"is missing|last used with|older copy"):
        Ledger.open(book.path)
    assert restore(tmp_path / "bk.db", book.path, lost=4.0) == 1
    assert spent(Ledger.open(book.path)) == 5.0


def test_a_second_restoration_keeps_what_the_first_one_charged(book: Ledger, tmp_path: Path) -> None:
    book.charge(net(book), of(1.0))
    backup(book, tmp_path / "bk.db")
    book.charge(net(book), of(2.0))
    for number in range(3):
        book.path.write_bytes(b"damaged")
        assert restore(tmp_path / "bk.db", book.path, lost=2.0 if number == 0 else 0.0) == 1
        assert spent(Ledger.open(book.path)) == 3.0
    kept = sorted(file.name for file in tmp_path.glob("*.replaced*"))
    assert kept == ["l.db.replaced", "l.db.replaced.2", "l.db.replaced.3"]
    backup(Ledger.open(book.path), tmp_path / "newer.db")
    book.path.unlink()
    assert restore(tmp_path / "newer.db", book.path) == 0
    assert spent(Ledger.open(book.path)) == 3.0


def test_a_ledger_that_is_whole_is_not_replaced(book: Ledger, tmp_path: Path) -> None:
    backup(book, tmp_path / "bk.db")
    book.charge(net(book), of(2.0))
    with pytest.raises(LedgerError, match="is whole, with 3 entries"):
        restore(tmp_path / "bk.db", book.path, lost=0.0)
    assert spent(Ledger.open(book.path)) == 2.0


@pytest.mark.parametrize("both", [False, True])
def test_the_backup_knows_where_the_anchor_is(tmp_path: Path, both: bool) -> None:
    """Database and key are gone: an anchor elsewhere still tells how many entries there were."""
    (tmp_path / "a").mkdir()
    book = Ledger.init(tmp_path / "l.db", anchor=tmp_path / "a" / "anchor")
    book.charge(net(book), of(1.0))
    backup(book, tmp_path / "bk.db")
    book.charge(net(book), of(1.0))
    remove(book.path)
    if both:
        KeyFile.beside(book.path).unlink()
    with pytest.raises(LedgerError, match=r"has 3 entries, but .* had 4"):
        restore(tmp_path / "bk.db", book.path)
    assert restore(tmp_path / "bk.db", book.path, lost=1.5) == 1
    again = Ledger.open(book.path)
    assert (spent(again), again.anchor_file) == (2.5, tmp_path / "a" / "anchor")
    assert json.loads(again.anchor_file.read_text())["count"] == 4


def test_where_nobody_knows_how_many_were_lost_the_operator_says(book: Ledger, tmp_path: Path) -> None:
    book.charge(net(book), of(1.0))
    backup(book, tmp_path / "bk.db")
    book.charge(net(book), of(1.0))
    remove(book.path)
    KeyFile.beside(book.path).unlink()
    done = run("ledger", "restore", tmp_path / "bk.db", "--ledger", book.path)
    assert done.exit_code == 2 and "how many were lost cannot be known" in words_of(done)
    assert not book.path.exists()
    done = run("ledger", "restore", tmp_path / "bk.db", "--ledger", book.path, "--lost", 1, "--json")
    assert json.loads(done.stdout) | {"ledger": ""} == {
        "status": "restored", "ledger": "", "entries": 4, "lost": None, "charged": 1.0,
    }  # fmt: skip
    assert spent(Ledger.open(book.path)) == 2.0


# ---- backups ----


def test_a_backup_is_no_ledger(book: Ledger, tmp_path: Path) -> None:
    """Neither where it is, nor copied over the ledger: it is restored, and that says what was lost."""
    book.charge(net(book), of(1.0))
    kept = tmp_path / "bk.db"
    backup(book, kept)
    book.charge(net(book), of(1.0))
    looked = Ledger.read(kept)
    for use in (lambda: Ledger.open(kept), lambda: looked.charge(net(looked), of(1.0))):
        with pytest.raises(LedgerError, match=r"bk\.db is a backup.*gridveil ledger restore"):
            use()
    assert spent(looked) == 1.0
    for command in ("show", "verify", "export"):
        done = run("ledger", command, "--ledger", kept)
        assert done.exit_code == 0 and "is a backup" in words_of(done)
    remove(book.path)
    shutil.copy(kept, book.path)
    shutil.copy(KeyFile.beside(kept), KeyFile.beside(book.path))
    done = run("release", "case5", "--ledger", book.path, "--out", tmp_path / "out")
    assert done.exit_code == 2 and "is a backup" in words_of(done)
    with pytest.raises(LedgerError, match="cannot be known"):
        restore(kept, book.path)
    assert restore(kept, book.path, lost=1.0) is None
    assert spent(Ledger.open(book.path)) == 2.0


def test_a_backup_that_is_killed_leaves_no_half_of_one(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And tidying up after releases in the same directory takes nothing of one that is under way."""
    folder = tmp_path / "backups"
    replaced = os.replace

    def killed(source: Any, target: Any) -> None:
        tidy(folder)
        if Path(target).name == "bk.db":
            raise KeyboardInterrupt
        replaced(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            backup(book, folder / "bk.db")
    assert [file.name for file in folder.iterdir()] == ["bk.db.key"]  # which says that it is a backup's
    assert backup(book, folder / "bk.db") == 1
    with pytest.raises(LedgerError, match="exists"):
        backup(book, book.path)


# ---- anchors and keys ----


def test_an_anchor_that_cannot_be_written_costs_nothing(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def fixed(self: KeyFile, anchor: Anchor) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(KeyFile, "advance", fixed)
    for _ in range(3):
        with pytest.raises(LedgerError, match=r"anchor of .* cannot be written \(Read-only.*nothing was charged"):
            release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    assert charged(book) == []


def test_what_killed_writers_left_is_tidied(book: Ledger) -> None:
    key = KeyFile.beside(book.path)
    left = key.with_name(f".{key.name}.dead_123")
    shutil.copy(key, left)
    book.require_room()
    assert not left.exists() and key.exists()


def test_only_what_writers_left_is_tidied(tmp_path: Path) -> None:
    """Neither a copy that somebody made, nor the anchor, whatever it is called."""
    book = Ledger.init(tmp_path / "l.db", anchor=tmp_path / ".l.db.key.anchor_1")
    kept = [tmp_path / f".l.db.key.{end}" for end in ("bak", "BACKUP12", "dead_1234")]
    for file in kept:
        file.touch()
    book.require_room()
    assert all(file.exists() for file in (*kept, book.anchor_file))


@pytest.mark.parametrize("count", ["1e400", "1.5", "-1", "true", '"1"', "9" * 5000])
def test_an_anchor_counts_in_whole_numbers(book: Ledger, count: str) -> None:
    key = KeyFile.beside(book.path)
    said = json.loads(key.read_text())
    text = key.read_text().replace('"count": 1', f'"count": {count}')
    key.write_text(text)
    with pytest.raises(LedgerError, match="is not the key of a ledger"):
        Ledger.open(book.path)
    key.write_text(
        json.dumps({"key": said["key"], "anchor": None, "limit": 1}).replace(": 1}", ": 1" + "0" * 400 + "}")
    )
    with pytest.raises(LedgerError, match="is not the key of a ledger"):
        Ledger.open(book.path)


def test_an_anchor_is_that_of_one_ledger(tmp_path: Path) -> None:
    Ledger.init(tmp_path / "a.db", anchor=tmp_path / "anchor")
    for anchor in (tmp_path / "anchor", tmp_path / "b.db", tmp_path / "b.db.key"):
        with pytest.raises(LedgerError, match="give another one for the anchor") as caught:
            Ledger.init(tmp_path / "b.db", anchor=anchor)
        assert "restore" not in str(caught.value)
    with pytest.raises(LedgerError, match="no directory for the anchor"):
        Ledger.init(tmp_path / "b.db", anchor=tmp_path / "none" / "anchor")
    assert not list(tmp_path.glob("b.db*"))


def test_links_lead_to_one_ledger(book: Ledger, tmp_path: Path) -> None:
    """A charge by way of links moves the one anchor, and leaves the links what they are."""
    book.charge(net(book), of(1.0))
    older = [(file, file.read_bytes()) for file in (book.path, KeyFile.beside(book.path))]
    link = tmp_path / "links" / "x.db"
    link.parent.mkdir()
    link.symlink_to(book.path)
    KeyFile.beside(link).symlink_to(KeyFile.beside(book.path))
    linked = Ledger.open(link)
    linked.charge(net(linked), of(1.0))
    assert KeyFile.beside(link).is_symlink()
    assert KeyFile.read(KeyFile.beside(book.path)).anchor == Anchor(4, book.entries()[-1].hash)
    book.path.write_bytes(older[0][1])
    with pytest.raises(LedgerError, match="older copy"):
        Ledger.open(link)


def test_a_key_may_stand_elsewhere_by_a_link(book: Ledger, tmp_path: Path) -> None:
    key, safe = KeyFile.beside(book.path), tmp_path / "safe" / "key"
    safe.parent.mkdir()
    key.rename(safe)
    key.symlink_to(safe)
    book.charge(net(book), of(1.0))
    assert key.is_symlink() and json.loads(safe.read_text())["anchor"]["count"] == 3
    moved = tmp_path / "elsewhere" / "data"
    moved.parent.mkdir()
    book.path.rename(moved)
    book.path.symlink_to(moved)  # whose key is beside the link
    assert spent(Ledger.open(book.path)) == 1.0


HANGS = """
import os, sys
from pathlib import Path
from gridveil.errors import GridVeilError
from gridveil.formats.find import load
from gridveil.grid import structure_of
from gridveil.privacy.ledger import Ledger
from gridveil.publish.same_as import read_same_as
what, path = sys.argv[1], Path(sys.argv[2])
try:
    Ledger.open(path) if what == "key" else read_same_as(path, structure_of(load("case5").grid))
except GridVeilError as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["key", "fifo", "/dev/zero"])
def test_pipes_and_devices_are_no_files(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x" if what != "/dev/zero" else Path(what)
    if what != "/dev/zero":
        os.mkfifo(KeyFile.beside(path) if what == "key" else path)
    done = subprocess.run(
        [sys.executable, "-c", HANGS, what, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert "it is no regular file" in done.stdout, done.stderr


def test_an_identity_map_may_begin_with_a_mark(tmp_path: Path) -> None:
    path, structure = tmp_path / "same.csv", structure_of(gv.load("case5").grid)
    path.write_bytes("\ufeffbus,known_as\r\n1,7\r\n".encode())
    assert read_same_as(path, structure) == {1: 7}
    path.write_bytes(b"bus,known_as\n" + b"1,7\n" * 2**23)
    with pytest.raises(ReleaseError, match="more than the 16,384 KB"):
        read_same_as(path, structure)


# ---- permissions ----


@pytest.mark.parametrize("end", ["", ".key"])
def test_a_ledger_that_others_may_read_is_not_spent_from(book: Ledger, end: str) -> None:
    file = book.path.with_name(book.path.name + end)
    file.chmod(0o666)
    with pytest.raises(LedgerError, match=r"others may read or write .*; make it yours alone with: chmod 600"):
        Ledger.open(book.path)
    assert len(Ledger.read(book.path).entries()) == 1
    file.chmod(0o600)
    Ledger.open(book.path)


@pytest.fixture
def common() -> Iterator[Path]:
    """A directory that everybody gets to."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def as_owner(folder: Path) -> Iterator[None]:
    """Somebody for whom permissions hold: root is nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    for command in ("verify", "show", "backup", "restore", "set-limit"):
        run("ledger", command, "--help")  # loads what a command prints with, which nobody may not be able to read
    run("ledger", "show", "--ledger", folder / "none.db")
    run("cases")
    for file in (folder, *folder.rglob("*")):
        os.chown(file, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o755, 0o555])
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_copy_that_cannot_be_written_can_be_read(common: Path, mode: int, journal: str) -> None:
    book = Ledger.open(common / "in" / "l.db")
    book.charge(net(book), of(1.0))
    with closing(sqlite3.connect(book.path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    for file in book.path.parent.iterdir():
        file.chmod(0o444)
    book.path.parent.chmod(mode)
    with as_owner(common):
        for _ in range(2):
            assert spent(Ledger.read(book.path)) == 1.0
            assert run("ledger", "verify", "--ledger", book.path).exit_code == 0
            assert run("ledger", "show", "--ledger", book.path).exit_code == 0
        with pytest.raises(LedgerError, match="others may read"):
            Ledger.open(book.path)
        with pytest.raises(LedgerError, match=r"readonly|unable to open") as caught:
            book.charge(net(book), of(1.0))
        assert "do not restore it" in str(caught.value)
    book.path.parent.chmod(0o755)


def test_a_log_that_cannot_be_used_is_not_left_out(common: Path) -> None:
    """Entries in a log without its index, where none can be made: not an older copy that were better restored."""
    book = Ledger.open(common / "in" / "l.db")
    with closing(sqlite3.connect(book.path)) as held:
        held.execute("PRAGMA wal_autocheckpoint = 0")
        held.execute("SELECT count(*) FROM entries").fetchone()
        book.charge(net(book), of(1.0))
        copy = common / "copy"
        copy.mkdir()
        for file in book.path.parent.iterdir():
            if not file.name.endswith("-shm"):
                shutil.copy(file, copy)
    copy.chmod(0o555)
    with as_owner(common), pytest.raises(Unavailable, match="copy both, and the key, to a place of your own"):
        Ledger.read(copy / "l.db")
    copy.chmod(0o755)
    assert spent(Ledger.read(copy / "l.db")) == 1.0


def test_only_damage_is_a_reason_to_restore(book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup(book, tmp_path / "bk.db")

    def broken(_: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(database, "_looking", broken)
    with pytest.raises(Unavailable, match=r"disk I/O error.*do not restore it"):
        book.entries()
    monkeypatch.undo()
    looked = keeping._entries
    monkeypatch.setattr(
        keeping, "_entries", lambda *given: (looked(*given), monkeypatch.setattr(database, "_looking", broken))[0]
    )
    with pytest.raises(Unavailable):
        restore(tmp_path / "bk.db", book.path)


def test_verify_looks_at_what_was_kept_of_draws(book: Ledger) -> None:
    for _ in range(2):
        book.record_draw(book.charge(net(book), of(1.0)).entry, b"noisy values")
    assert run("ledger", "verify", "--ledger", book.path).exit_code == 0
    for statement in ("UPDATE papers SET content = x'00' WHERE entry = 6", "DELETE FROM papers WHERE entry = 6"):
        with closing(sqlite3.connect(book.path)) as connection, connection:
            connection.execute(statement)
        done = run("ledger", "verify", "--ledger", book.path)
        assert done.exit_code == 2 and "beside entry 6" in words_of(done)


# ---- a ledger of the first version ----


def former(path: Path, said: list[tuple[str, float, dict[str, Any]]], shape: bytes = b"[[1, 230.0]]") -> None:
    """A ledger as the first version wrote it."""
    import hashlib
    import hmac

    key = bytes(range(32))
    KeyFile.beside(path).write_text(key.hex())
    name = hmac.new(key, b"network" + shape, hashlib.sha256).hexdigest()[:32]
    chain = Chain(path, key)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)")
        connection.execute("CREATE TABLE head (only INTEGER PRIMARY KEY, count INTEGER NOT NULL, hash TEXT NOT NULL)")
        link = chain.start
        for number, (kind, loss, details) in enumerate(said, start=1):
            body = json.dumps({"time": "2026", "kind": kind, "network": name, "loss": loss, "details": details})
            link = chain._link(link, number, body)
            connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, link))
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (len(said), link))


def test_a_ledger_that_is_taken_over_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was spent before counts even beyond it; and a taking over that is interrupted leaves nothing."""
    details = {"mechanism": "log", "alpha": 0.1, "unit": "relative"}
    former(tmp_path / "old.db", [("charge", 7.0, details), ("charge", 7.0, details)])
    new, known = tmp_path / "new.db", [Known("grid", b"[[1, 230.0]]", GRID)]

    def interrupted(book: Ledger, *given: Any) -> None:
        book.charge(net(book), of(1.0))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(migration, "_take_over", interrupted)
        with pytest.raises(KeyboardInterrupt):
            migrate(tmp_path / "old.db", new, known)
    assert not Ledger.exists(new) and not list(tmp_path.glob(".new*"))
    assert migrate(tmp_path / "old.db", new, known) == 2
    book = Ledger.open(new)
    found = book.accounts(net(book))
    assert (found.largest, found.largest_limit) == (14.0, DEFAULT_LIMIT)
    with pytest.raises(BudgetExceeded):
        book.charge(net(book), of(0.1))
    with pytest.raises(LedgerError, match="give another name"):
        migrate(tmp_path / "old.db", new, known)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600


def test_taking_over_says_the_limit(tmp_path: Path) -> None:
    from gridveil.publish.elements import former_shape

    details = {"mechanism": "log", "alpha": 0.1, "unit": "relative"}
    former(tmp_path / "old.db", [("charge", 1.0, details)], former_shape(structure_of(gv.load("case5").grid)))
    done = run("ledger", "migrate", tmp_path / "old.db", "case5", "--ledger", tmp_path / "new.db")
    assert done.exit_code == 0 and "No line may spend more than 10 unless" in words_of(done)
    assert "taken over from 2026" in words_of(run("ledger", "show", "--ledger", tmp_path / "new.db"))


# ---- what is shown, and asked ----


def test_networks_of_one_name_have_rows_of_their_own(book: Ledger) -> None:
    book.charge(net(book, name="net"), of(3.0))
    book.charge(net(book, ["7 8", "8 9"], "net"), of(1.0))
    book.charge(net(book, ["7 8", "8 9", "9 7"], "net"), of(1.0))  # which has all of the one before
    history = book.history()
    assert [(len(one.keys), history.accounts(one).largest) for one in history.current] == [(3, 3.0), (3, 2.0)]
    shown = words_of(run("ledger", "show", "--ledger", book.path))
    assert shown.count("no end is known") == 3  # neither a draw nor an outcome


def renumbered(folder: Path) -> tuple[Path, Path]:
    """The case with other bus numbers, and the map of them."""
    case = gv.read_case("case5")
    bus, gen, branch = case.bus.copy(), case.gen.copy(), case.branch.copy()
    for table, columns in ((bus, [0]), (gen, [0]), (branch, [0, 1])):
        table[:, columns] += 100
    path, same = folder / f"{case.name}.m", folder / "same.csv"
    write(replace(case, bus=bus, gen=gen, branch=branch), path)
    same.write_text("bus,known_as\n" + "".join(f"{n + 100},{n}\n" for n in range(1, 6)))
    return path, same


def test_a_forgotten_identity_map_is_asked_about(book: Ledger, tmp_path: Path) -> None:
    release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    path, same = renumbered(tmp_path)
    moved = split(gv.read_case(str(path)))
    with pytest.raises(PrivacyError, match=r"knows a network 'case5_pjm' of 6 elements.*--same-as"):
        release(moved, PLAN, book, workshop=Workshop)
    assert charged(book) == [1.0]
    assert preview(moved, PLAN, book, same_as=read_same_as(same, moved.structure)).questions == ()
    assert preview(gv.seal("case5"), PLAN, book).questions == ()
    assert preview(gv.seal("case14"), PLAN, book).questions == ()
    release(moved, PLAN, book, workshop=Workshop, confirmed=True)
    assert preview(moved, PLAN, book).questions == ()  # it is known now


def test_accounts_and_limits_of_renumbered_buses(book: Ledger, tmp_path: Path) -> None:
    release(gv.seal("case5"), PLAN, book, workshop=Workshop)
    path, same = renumbered(tmp_path)
    where = ("--ledger", book.path, "--json")
    assert json.loads(run("ledger", "show", path, *where).stdout)["spent"] == 0.0
    found = json.loads(run("ledger", "show", path, "--same-as", same, *where).stdout)
    assert found["spent"] == 1.0 and max(found["nearest"][0]["corridor"]) <= 5
    assert run("ledger", "set-limit", path, 1.5, "--same-as", same, *where).exit_code == 0
    assert preview(gv.seal("case5"), PLAN, book).after.exceeded


def test_a_doubling_is_judged_with_the_cost(book: Ledger) -> None:
    """0.8 were spent, the cost not asked for; the next release may come to 1.8."""
    secret = gv.seal("case5")
    release(secret, replace(PLAN, epsilon=0.8), book, workshop=Workshop)
    seen = preview(secret, gv.Plan(1.0, 0.1, 0.01), book)
    assert [one for one in seen.questions if "from 0.8 to 1.8" in one]
