"""Mending a ledger forgets nothing: keys and anchors that are gone, links, disks that are away, second copies."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import gridveil as gv
from gridveil.errors import LedgerError
from gridveil.privacy import keeping, keyfile, migration, place
from gridveil.privacy.composition import USUAL_REACH, Charge
from gridveil.privacy.database import Unavailable
from gridveil.privacy.keeping import MOST_LOST, backup, restore
from gridveil.privacy.keyfile import KeyFile
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.migration import Known, migrate
from gridveil.wall.facts import SENSITIVITY
from gridveil.wall.mechanisms import SURCHARGE, TOTAL, UNITS

from .test_keeping import as_owner, common, former, remove, run, words_of  # noqa: F401
from .test_ledger import GRID, net, of, spent


def three(path: Path, anchor: Path | None = None) -> tuple[Ledger, Path]:
    """A ledger with three releases, and a backup from before them."""
    book, kept = Ledger.init(path, anchor=anchor), path.with_name("bk.db")
    backup(book, kept)
    for _ in range(3):
        book.charge(net(book), of(1.0))
    return book, kept


def test_a_database_that_lost_its_key_is_kept(tmp_path: Path) -> None:
    book, kept = three(tmp_path / "l.db")
    KeyFile.beside(book.path).unlink()
    done = run("ledger", "restore", kept, "--ledger", book.path)
    assert done.exit_code == 2 and "has 5 entries, which are kept" in words_of(done)
    done = run("ledger", "restore", kept, "--ledger", book.path, "--lost", 0)
    assert done.exit_code == 0, done.output
    assert spent(Ledger.open(book.path)) == 3.0
    assert not list(tmp_path.glob("*.replaced*"))
    KeyFile.beside(book.path).unlink()
    assert restore(kept, book.path, 0.5) is None
    assert spent(Ledger.open(book.path)) == 3.5


def test_a_database_that_lost_its_anchor_is_kept(tmp_path: Path) -> None:
    """Its disk may only be away: nothing leads into forgetting, and the anchor goes nowhere else in silence."""
    (tmp_path / "disk").mkdir()
    book, kept = three(tmp_path / "l.db", tmp_path / "disk" / "anchor")
    (tmp_path / "disk").rename(tmp_path / "away")
    with pytest.raises(LedgerError, match=r"connect its disk.*restore BACKUP --anchor FILE"):
        Ledger.open(book.path)
    assert run("ledger", "backup", tmp_path / "newer.db", "--ledger", book.path).exit_code == 0
    with pytest.raises(LedgerError, match="connect its disk, or put it back"):
        restore(kept, book.path, 0.0)
    assert restore(kept, book.path, 0.0, tmp_path / "anchor") is None
    again = Ledger.open(book.path)
    assert (spent(again), again.anchor_file) == (3.0, tmp_path / "anchor")
    (tmp_path / "anchor").unlink()
    assert restore(tmp_path / "newer.db", book.path, 0.0, KeyFile.beside(book.path)) is None
    again = Ledger.open(book.path)
    assert (spent(again), again.anchor_file) == (3.0, KeyFile.beside(book.path))


def test_what_the_anchor_has_beyond_the_database_in_place_is_lost(tmp_path: Path) -> None:
    """The one in place lacks one entry, the backup four: one is lost."""
    book, kept = three(tmp_path / "l.db")
    backup(book, tmp_path / "newer.db")
    book.charge(net(book), of(1.0))
    remove(book.path)
    shutil.copy(tmp_path / "newer.db", book.path)
    with pytest.raises(LedgerError, match=r"has 5 entries, but .* had 6"):
        restore(kept, book.path)
    assert restore(kept, book.path, 1.0) == 1
    assert spent(Ledger.open(book.path)) == 4.0


def test_a_key_beside_a_link_is_honoured(tmp_path: Path) -> None:
    book, kept = three(tmp_path / "l.db")
    data = tmp_path / "elsewhere" / "data"
    data.parent.mkdir()
    remove_log(book)
    book.path.rename(data)
    book.path.symlink_to(data)
    data.write_bytes(b"damaged")
    with pytest.raises(LedgerError, match=r"has 1 entries, but .* had 5"):
        restore(kept, book.path)
    assert restore(kept, book.path, 3.0) == 4
    assert book.path.is_symlink() and data.is_file() and not KeyFile.beside(data).exists()
    assert spent(Ledger.open(book.path)) == 3.0


def remove_log(book: Ledger) -> None:
    import sqlite3

    with closing(sqlite3.connect(book.path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def test_what_was_lost_was_said_up_to_a_reach(tmp_path: Path) -> None:
    """Nothing was charged before: the usual α counts, not that of whatever comes first."""
    book, kept = Ledger.init(tmp_path / "l.db", limit=None), tmp_path / "bk.db"
    backup(book, kept)
    book.charge(net(book), of(1.0))
    remove(book.path)
    done = run("ledger", "restore", kept, "--ledger", book.path)
    usual = "0.1 (conductance), 0.1 (relative), 0.0025 (surcharge)"
    assert f"came to at most for changes up to {usual}" in words_of(done)
    done = run("ledger", "restore", kept, "--ledger", book.path, "--lost", 1)
    assert f"known or not, for changes up to {usual}" in words_of(done)
    assert book.entries()[-1].details["reach"] == USUAL_REACH
    assert book.charge(net(book), of(1.0, 1.0)).cumulative == pytest.approx(10.0 + 1.0)


def test_what_was_lost_keeps_the_smaller_reach(tmp_path: Path) -> None:
    """A second backup knows a larger α than the one that the loss was said for."""
    book = Ledger.init(tmp_path / "l.db", limit=None)
    backup(book, tmp_path / "first.db")
    book.charge(net(book), of(1.0, 0.5))
    backup(book, tmp_path / "second.db")
    remove(book.path)
    restore(tmp_path / "first.db", book.path, 2.0)
    for _ in range(3):
        book.charge(net(book), of(1.0))
    book.path.write_bytes(b"damaged")
    restore(tmp_path / "second.db", book.path, 0.0)
    assert spent(Ledger.open(book.path)) == pytest.approx(1.0 + 2.0 * 5)


def test_usual_reaches_are_those_of_a_release() -> None:
    assert (
        set(USUAL_REACH) == set(UNITS)
        and USUAL_REACH[SURCHARGE] == SENSITIVITY == gv.Plan(1, 0.1, 0.01).cost_sensitivity
    )
    import inspect

    from gridveil.cli.release import release

    default = inspect.signature(release).parameters["alpha"].default
    assert {float(default)} == {reach for unit, reach in USUAL_REACH.items() if unit not in (SURCHARGE, TOTAL)}
    assert USUAL_REACH[TOTAL] == gv.Plan(1, 0.1, 0.01).totals_sensitivity


def test_a_kill_between_key_and_anchor_forgets_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    book, kept = three(tmp_path / "l.db", tmp_path / "a" / "anchor")
    remove(book.path)
    written, wrote = list[Path](), keyfile._write

    def once(path: Path, record: dict[str, Any]) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(path)
        wrote(path, record)

    with monkeypatch.context() as patched:
        patched.setattr(keyfile, "_write", once)
        with pytest.raises(KeyboardInterrupt):
            restore(kept, book.path, 3.0)
    with pytest.raises(LedgerError, match="older copy"):
        Ledger.open(book.path)
    restore(kept, book.path, 0.0)
    assert spent(Ledger.open(book.path)) >= 3.0


@pytest.mark.parametrize("link", ["x/l.db", "x"])
def test_a_link_that_leads_nowhere_begins_no_ledger(tmp_path: Path, link: str) -> None:
    path = tmp_path / "x" / "l.db"
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "disk" / Path(link).name)
    with pytest.raises(LedgerError, match=r"is a link to .*connect its disk.*gridveil ledger init"):
        Ledger.open(path)
    assert not (tmp_path / "disk").exists()
    Ledger.init(path)
    assert len(Ledger.open(path).entries()) == 1


def test_losses_stay_numbers(tmp_path: Path) -> None:
    book, kept = three(tmp_path / "l.db")
    for lost, words in ((1.7e308, "at most 1e"), (MOST_LOST, None), (1.0, "with earlier losses")):
        book.path.write_bytes(b"damaged")
        if words is None:
            restore(kept, book.path, lost)
            continue
        with pytest.raises(LedgerError, match=words):
            restore(kept, book.path, lost)
    assert KeyFile.alone(KeyFile.beside(book.path)).lost == MOST_LOST


def test_a_backup_takes_no_other_ledgers_key(tmp_path: Path) -> None:
    book, kept = three(tmp_path / "l.db")
    other = Ledger.init(tmp_path / "other.db")
    kept.unlink()
    with pytest.raises(LedgerError, match="give another name"):
        backup(other, kept)
    assert backup(book, kept) == 5


@pytest.mark.parametrize("command", ["show", "verify", "restore", "doctor"])
def test_a_directory_that_cannot_be_searched_is_no_damage(common: Path, command: str) -> None:  # noqa: F811
    book, kept = three(common / "in" / "l.db")
    for end in ("", ".key"):
        shutil.copy(f"{kept}{end}", common / f"bk.db{end}")
    words: list[Any] = ["doctor"] if command == "doctor" else ["ledger", command]
    if command == "restore":
        words += [common / "bk.db", "--lost", 0]
    book.path.parent.chmod(0o000)
    with as_owner(common):
        done = run(*words, "--ledger", book.path)
        for use in (Ledger.exists, Ledger.open, Ledger.read):
            with pytest.raises(Unavailable):
                use(book.path)
    book.path.parent.chmod(0o700)
    assert done.exit_code != 0 and "internal" not in words_of(done).lower(), done.output
    assert "cannot be looked at (Permission denied)" in words_of(done), done.output


def test_a_second_ledger_does_not_take_the_anchor_over(tmp_path: Path) -> None:
    book, kept = three(tmp_path / "l.db", tmp_path / "anchor")
    said = (tmp_path / "anchor").read_text()
    with pytest.raises(LedgerError, match="a second one would spend twice"):
        restore(kept, tmp_path / "other" / "l.db", 3.0)
    assert (tmp_path / "anchor").read_text() == said
    (tmp_path / "moved").mkdir()
    remove_log(book)
    for file in (book.path, KeyFile.beside(book.path)):
        file.rename(tmp_path / "moved" / file.name)
    moved = Ledger.open(tmp_path / "moved" / "l.db")
    moved.charge(net(moved), of(1.0))
    assert json.loads((tmp_path / "anchor").read_text())["key"] == str(KeyFile.beside(moved.path))


def test_where_files_have_no_modes_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book, _ = three(tmp_path / "l.db")
    monkeypatch.setattr(place, "shared", lambda files: files)
    monkeypatch.setattr("gridveil.privacy.ledger.shared", lambda files: files)
    assert Ledger.open(book.path).unguarded
    done = run("ledger", "set-limit", "case5", 5, "--ledger", book.path)
    assert done.exit_code == 0 and words_of(done).count("has no modes") == 1
    assert not list(tmp_path.glob(".gridveil-*"))


def test_taking_over_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came to the place meanwhile stays, be it a database or a key."""
    former(tmp_path / "old.db", [("charge", 7.0, {"mechanism": "log", "alpha": 0.1, "unit": "relative"})])
    take_over, new = migration._take_over, tmp_path / "new.db"
    for file in (new, KeyFile.beside(new)):

        def meanwhile(*given: Any, file: Path = file) -> None:
            take_over(*given)
            file.write_text("mine")

        monkeypatch.setattr(migration, "_take_over", meanwhile)
        with pytest.raises(LedgerError, match="exists, or its key does"):
            migrate(tmp_path / "old.db", new, [Known("grid", b"[[1, 230.0]]", GRID)])
        assert file.read_text() == "mine" and len(list(tmp_path.glob("new.db*"))) == 1
        file.unlink()


def test_an_entry_of_an_earlier_version_has_the_reaches_before_it(tmp_path: Path) -> None:
    book = Ledger.init(tmp_path / "l.db", limit=None)
    book.charge(net(book), Charge(1.0, 0.05, "relative", "log"))
    with book._chain.appending() as (connection, _):
        book._chain.append(connection, "lost", {"loss": 1.0, "missing": None, "given": []})
    assert dict(book.history().lost[0].reach) == USUAL_REACH | {"relative": 0.05}


def test_a_kill_while_a_kept_ledger_is_mended_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is never empty: the next try finds what the first one kept, not an older backup."""
    book, copy = Ledger.init(tmp_path / "l.db", 100.0), tmp_path / "b.db"
    assets = book.assets("n", ["x"])
    book.charge(assets, Charge(1.0, 0.1, "relative", "log"))
    keeping.backup(book, copy)
    book.charge(assets, Charge(5.0, 0.1, "relative", "log"))
    KeyFile.beside(book.path).unlink()
    real = os.replace

    def killed(one: Any, other: Any) -> None:
        if Path(other) == book.path:
            raise KeyboardInterrupt
        real(one, other)

    monkeypatch.setattr("gridveil.privacy.keeping.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        keeping.restore(copy, book.path, 0.5)
    monkeypatch.setattr("gridveil.privacy.keeping.os.replace", real)
    keeping.restore(copy, book.path, 0.5)
    again = Ledger.open(book.path)
    assert again.accounts(again.assets("n", ["x"])).largest == 6.5


def test_one_restores_at_a_time(tmp_path: Path) -> None:
    book, copy = Ledger.init(tmp_path / "l.db", 100.0), tmp_path / "b.db"
    keeping.backup(book, copy)
    book.path.unlink()
    with keeping._alone(book.path), pytest.raises(LedgerError, match="being restored by another process"):
        keeping.restore(copy, book.path, 0.0)
    keeping.restore(copy, book.path, 0.0)
    assert not list(tmp_path.glob("*.restoring")) and not list(tmp_path.glob(".*.restoring"))
