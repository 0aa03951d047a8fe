"""The ledger: never overspent, never silently changed, true after a kill."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from gridveil.errors import BudgetExceeded, LedgerError
from gridveil.privacy.composition import Charge, composed
from gridveil.privacy.ledger import Ledger, default_path
from gridveil.privacy.noise import _measurement


def of(loss: float, alpha: float = 0.1, unit: str = "relative") -> Charge:
    return Charge(loss, alpha, unit, "log" if unit == "relative" else "additive")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "a" / "ledger.db")


def test_charges_add_up(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    assert ledger.charge(network, of(1.0)).cumulative == 1.0
    receipt = ledger.charge(network, of(0.5))
    assert (receipt.entry, receipt.cumulative, receipt.limit) == (2, 1.5, None)
    assert ledger.spent(ledger.fingerprint(b"other")) == (0.0, None)
    assert [entry.loss for entry in Ledger.open(ledger.path).entries()] == [1.0, 0.5]


def test_limit(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    ledger.set_limit(network, 1.0)
    ledger.charge(network, of(0.75))
    with pytest.raises(BudgetExceeded, match=r"spent 0\.75 of its limit 1"):
        ledger.charge(network, of(0.5))
    ledger.charge(network, of(0.25))
    assert ledger.spent(network) == (1.0, 1.0)
    with pytest.raises(LedgerError, match="finite"):
        ledger.set_limit(network, float("inf"))


def test_losses_are_counted_at_the_largest_alpha(ledger: Ledger) -> None:
    """ε = 1 for changes up to 0.01 is 10 for changes up to 0.1: whatever the order, both together cost 11 there."""
    for name, order in (("up", (0.01, 0.1)), ("down", (0.1, 0.01))):
        network = ledger.fingerprint(name.encode())
        first, second = (ledger.charge(network, of(1.0, alpha, "relative")) for alpha in order)
        assert (first.cumulative, first.within) == (1.0, (("log", order[0], "relative"),))
        assert second.cumulative == pytest.approx(11.0)
        assert second.within == (("log", 0.1, "relative"),)
        assert ledger.spent(network)[0] == second.cumulative
    other = ledger.charge(network, of(0.5, 7.0, "p.u."))
    assert other.cumulative == pytest.approx(11.5)
    assert other.within == (("log", 0.1, "relative"), ("additive", 7.0, "p.u."))


def test_a_limit_is_for_the_largest_alpha(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    ledger.set_limit(network, 3.0)
    ledger.charge(network, of(1.0, 0.1, "relative"))
    with pytest.raises(BudgetExceeded, match=r"cost 10; .* spent 1 of its limit 3, .* up to 0\.1 \(relative\)"):
        ledger.charge(network, of(1.0, 0.01, "relative"))
    with pytest.raises(BudgetExceeded, match=r"cost 10; .* up to 1 \(relative\)"):
        ledger.charge(network, of(1.0, 1.0, "relative"))
    assert ledger.charge(network, of(1.0, 0.05, "relative")).cumulative == pytest.approx(3.0)


def test_a_preview_is_what_a_charge_comes_to(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    ledger.charge(network, of(1.0))
    ledger.set_limit(network, 3.0)
    account = ledger.preview(network, [of(1.0, 0.01)])
    assert (account.spent, account.limit, account.refused) == (1.0, 3.0, True)
    assert account.total == pytest.approx(11.0)
    assert not ledger.preview(network, [of(1.0)]).refused
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize(("loss", "alpha"), [(float("nan"), 0.1), (1.0, float("nan")), (-1.0, 0.1), (1.0, 0.0)])
def test_nonsense_is_not_charged(ledger: Ledger, loss: float, alpha: float) -> None:
    with pytest.raises(LedgerError, match="both must be positive"):
        ledger.charge("x", of(loss, alpha))
    assert ledger.entries() == []


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(("epsilon", "alpha"), [(1.0, 0.01), (0.3, 0.1), (5.0, 2.0)])
@pytest.mark.parametrize("times", [1.0, 3.0, 100.0])
def test_the_samplers_own_loss_at_a_larger_distance_is_covered(
    size: int, epsilon: float, alpha: float, times: float
) -> None:
    """A draw made for changes up to α, at a change of k·α: OpenDP's privacy map stays below what the ledger counts."""
    stated = _measurement(size, alpha, epsilon).map(times * alpha)
    counted, within = composed([of(epsilon, alpha), of(1e-12, times * alpha)])
    assert within[0].alpha == times * alpha
    assert (1 - 1e-9) * counted <= stated <= counted


def test_fingerprints_differ_between_ledgers(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.open(tmp_path / "b.db")
    assert other.fingerprint(b"grid") != ledger.fingerprint(b"grid")
    assert ledger.path.with_name("ledger.db.key").stat().st_mode & 0o077 == 0


CHARGE = """
import sys
from gridveil.privacy.composition import Charge
from gridveil.privacy.ledger import Ledger
from gridveil.errors import BudgetExceeded
book = Ledger.open(sys.argv[1])
for _ in range(4):
    try:
        book.charge(book.fingerprint(b"grid"), Charge(1.0, 0.1, "relative", "log"))
        print("charged")
    except BudgetExceeded:
        print("refused")
"""


def test_processes_at_once_never_overspend(tmp_path: Path) -> None:
    """Six processes, four charges each, and nobody has made the ledger before."""
    path = tmp_path / "fresh" / "ledger.db"

    def one(_: int) -> list[str]:
        done = subprocess.run([sys.executable, "-c", CHARGE, str(path)], capture_output=True, text=True, check=True)
        return done.stdout.split()

    with ThreadPoolExecutor(6) as pool:
        words = [word for result in pool.map(one, range(3)) for word in result]
        book = Ledger.open(path)
        book.set_limit(book.fingerprint(b"grid"), 15.0)
        words += [word for result in pool.map(one, range(3)) for word in result]
    assert words.count("charged") == 15
    assert book.spent(book.fingerprint(b"grid")) == (15.0, 15.0)


def test_a_reader_sees_one_moment(ledger: Ledger) -> None:
    """A charge by another process between reading the entries and reading the head is no sign of tampering."""
    ledger.charge("x", of(1.0))
    with ledger._snapshot() as connection:
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)
        Ledger.open(ledger.path).charge("x", of(1.0))
        assert connection.execute("SELECT count FROM head").fetchone() == (1,)
        assert len(ledger._checked(connection)) == 1
    assert len(ledger.entries()) == 2


def raw(ledger: Ledger, *statements: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_tampering_is_named(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    for _ in range(3):
        ledger.charge(network, of(1.0))
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        raw(ledger, "UPDATE entries SET body = replace(body, '1.0', '0.1') WHERE id = 2")
    raw(ledger, "DROP TRIGGER entries_stay", "UPDATE entries SET body = replace(body, '1.0', '0.1') WHERE id = 2")
    with pytest.raises(LedgerError, match="entry 2 of"):
        ledger.entries()
    with pytest.raises(LedgerError, match="entry 2 of"):
        ledger.charge(network, of(1.0))


@pytest.mark.parametrize(("which", "words"), [(1, "entry 1"), (2, "entry 2"), (3, "at the end")])
def test_removed_entries_are_named(ledger: Ledger, which: int, words: str) -> None:
    for _ in range(3):
        ledger.charge("x", of(1.0))
    raw(ledger, "DROP TRIGGER entries_keep", f"DELETE FROM entries WHERE id = {which}")
    with pytest.raises(LedgerError, match=words):
        ledger.entries()


def test_unusable_ledgers(tmp_path: Path, ledger: Ledger) -> None:
    broken = tmp_path / "broken.db"
    broken.write_text("not a database, but long enough to be looked at" * 20)
    broken.with_name("broken.db.key").write_text("00" * 32)
    with pytest.raises(LedgerError, match="not a usable ledger"):
        Ledger.open(broken)
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()
    foreign.with_name("foreign.db.key").write_text("00" * 32)
    with pytest.raises(LedgerError, match="not a ledger of this program"):
        Ledger.open(foreign)
    ledger.charge("x", of(1.0))
    key = ledger.path.with_name("ledger.db.key")
    key.chmod(0o600)
    key.write_text("11" * 32)
    with pytest.raises(LedgerError, match="the key is not this ledger's"):
        Ledger.open(ledger.path)
    key.unlink()
    with pytest.raises(LedgerError, match="has no key"):
        Ledger.open(ledger.path)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(tmp_path / "broken.db" / "below")


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_path() == tmp_path / "gridveil" / "ledger.db"
