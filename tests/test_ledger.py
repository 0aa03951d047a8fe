"""The ledger: never overspent, never silently changed, true after a kill."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import BudgetExceeded, LedgerError
from gridveil.privacy.ledger import Charge, Ledger, composed, default_path


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "a" / "ledger.db")


def test_charges_add_up(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    assert ledger.charge(network, 1.0, {"mechanism": "log"}).cumulative == 1.0
    receipt = ledger.charge(network, 0.5, {})
    assert (receipt.entry, receipt.cumulative, receipt.limit) == (2, 1.5, None)
    assert ledger.spent(ledger.fingerprint(b"other")) == (0.0, None)
    assert [entry.loss for entry in Ledger.open(ledger.path).entries()] == [1.0, 0.5]


def test_limit(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    ledger.set_limit(network, 1.0)
    ledger.charge(network, 0.75, {})
    with pytest.raises(BudgetExceeded, match=r"spent 0\.75 of its limit 1"):
        ledger.charge(network, 0.5, {})
    ledger.charge(network, 0.25, {})
    assert ledger.spent(network) == (1.0, 1.0)
    with pytest.raises(LedgerError, match="finite"):
        ledger.set_limit(network, float("inf"))


def test_losses_are_counted_at_the_largest_alpha(ledger: Ledger) -> None:
    """ε = 1 for changes up to 0.01 is 10 for changes up to 0.1: whatever the order, both together cost 11 there."""
    for name, order in (("up", (0.01, 0.1)), ("down", (0.1, 0.01))):
        network = ledger.fingerprint(name.encode())
        first, second = (ledger.charge(network, 1.0, {}, alpha=alpha, unit="relative") for alpha in order)
        assert (first.cumulative, first.within) == (1.0, {"relative": order[0]})
        assert second.cumulative == pytest.approx(11.0)
        assert second.within == {"relative": 0.1}
        assert ledger.spent(network)[0] == second.cumulative
    other = ledger.charge(network, 0.5, {}, alpha=7.0, unit="p.u.")
    assert other.cumulative == pytest.approx(11.5)
    assert other.within == {"relative": 0.1, "p.u.": 7.0}


def test_a_limit_is_for_the_largest_alpha(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    ledger.set_limit(network, 3.0)
    ledger.charge(network, 1.0, {}, alpha=0.1, unit="relative")
    with pytest.raises(BudgetExceeded, match=r"cost 10; .* spent 1 of its limit 3, .* up to α = 0\.1 relative"):
        ledger.charge(network, 1.0, {}, alpha=0.01, unit="relative")
    with pytest.raises(BudgetExceeded, match=r"cost 10; .* up to α = 1 relative"):
        ledger.charge(network, 1.0, {}, alpha=1.0, unit="relative")
    assert ledger.charge(network, 1.0, {}, alpha=0.05, unit="relative").cumulative == pytest.approx(3.0)


positive = st.floats(0.01, 10.0)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=5), st.floats(0.0, 1.0))
def test_composition_bounds_laplace_draws_and_is_reached(releases: list[tuple[float, float]], share: float) -> None:
    """The exact loss of independent Laplace draws of scale α/ε at distance d is Σ ε·d/α."""
    total, within = composed([Charge(epsilon, alpha, "relative") for epsilon, alpha in releases])
    largest = max(alpha for _, alpha in releases)
    assert within == {"relative": largest}
    exact = sum(epsilon * (share * largest) / alpha for epsilon, alpha in releases)
    assert exact <= total * (1 + 1e-12)
    assert share < 1.0 or exact == pytest.approx(total)


def test_fingerprints_differ_between_ledgers(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.open(tmp_path / "b.db")
    assert other.fingerprint(b"grid") != ledger.fingerprint(b"grid")
    assert ledger.path.with_name("ledger.db.key").stat().st_mode & 0o077 == 0


CHARGE = """
import sys
from gridveil.privacy.ledger import Ledger
from gridveil.errors import BudgetExceeded
book = Ledger.open(sys.argv[1])
for _ in range(4):
    try:
        book.charge(book.fingerprint(b"grid"), 1.0, {})
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


def raw(ledger: Ledger, *statements: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_tampering_is_named(ledger: Ledger) -> None:
    network = ledger.fingerprint(b"grid")
    for _ in range(3):
        ledger.charge(network, 1.0, {})
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        raw(ledger, "UPDATE entries SET body = replace(body, '1.0', '0.1') WHERE id = 2")
    raw(ledger, "DROP TRIGGER entries_stay", "UPDATE entries SET body = replace(body, '1.0', '0.1') WHERE id = 2")
    with pytest.raises(LedgerError, match="entry 2 of"):
        ledger.entries()
    with pytest.raises(LedgerError, match="entry 2 of"):
        ledger.charge(network, 1.0, {})


@pytest.mark.parametrize(("which", "words"), [(1, "entry 1"), (2, "entry 2"), (3, "at the end")])
def test_removed_entries_are_named(ledger: Ledger, which: int, words: str) -> None:
    for _ in range(3):
        ledger.charge("x", 1.0, {})
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
    ledger.charge("x", 1.0, {})
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
