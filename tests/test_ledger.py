"""The ledger: never overspent, never silently changed, begun again or rolled back, true after a kill."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import BudgetExceeded, LedgerError
from gridveil.privacy.chain import Chain
from gridveil.privacy.composition import Assets, Charge, Within, accounts
from gridveil.privacy.keeping import backup, restore
from gridveil.privacy.keyfile import Anchor, KeyFile
from gridveil.privacy.ledger import Charged, Ledger, default_path
from gridveil.privacy.migration import Known, migrate
from gridveil.privacy.noise import _measurement

GRID = ("1 2", "2 3", "3 1")


def of(loss: float, alpha: float = 0.1, unit: str = "relative") -> Charge:
    return Charge(loss, alpha, unit, "log" if unit == "relative" else "additive")


def net(ledger: Ledger, identities: Iterable[str] = GRID, name: str = "grid") -> Assets:
    return ledger.assets(name, identities)


def spent(ledger: Ledger, identities: Iterable[str] = GRID) -> float:
    return ledger.accounts(net(ledger, identities)).largest


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "a" / "ledger.db")


# ---- counting ----


def test_charges_add_up(ledger: Ledger) -> None:
    assert ledger.charge(net(ledger), of(1.0)).cumulative == 1.0
    receipt = ledger.charge(net(ledger), of(0.5))
    assert (receipt.cumulative, receipt.limit) == (1.5, 10.0)
    assert receipt.head == ledger.entries()[-1].hash
    assert spent(ledger, ["7 8"]) == 0.0
    assert [entry.kind for entry in Ledger.open(ledger.path).entries()] == ["limit", "network", "charge", "charge"]


def test_limit(ledger: Ledger) -> None:
    ledger.set_limit(net(ledger), 1.0)
    ledger.charge(net(ledger), of(0.75))
    with pytest.raises(BudgetExceeded, match=r"spent 0\.75 of its limit 1"):
        ledger.charge(net(ledger), of(0.5))
    ledger.charge(net(ledger), of(0.25))
    assert (spent(ledger), ledger.accounts(net(ledger)).left) == (1.0, 0.0)
    with pytest.raises(LedgerError, match=r"from 0 to 1e\+15"):
        ledger.set_limit(net(ledger), float("inf"))


def test_a_ledger_has_a_limit_from_its_birth(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="limit 10"):
        ledger.charge(net(ledger), of(10.1))
    assert len(ledger.entries()) == 1
    free = Ledger.init(ledger.path.with_name("free.db"), limit=None)
    assert free.charge(net(free), of(1000.0)).limit is None


def test_losses_are_counted_at_the_largest_alpha(tmp_path: Path) -> None:
    """ε = 1 for changes up to 0.01 is 10 for changes up to 0.1: whatever the order, both together cost 11 there."""
    for name, order in (("up", (0.01, 0.1)), ("down", (0.1, 0.01))):
        ledger = Ledger.init(tmp_path / f"{name}.db", limit=100.0)
        first, second = (ledger.charge(net(ledger), of(1.0, alpha, "relative")) for alpha in order)
        assert (first.cumulative, first.within) == (1.0, (Within("log", order[0], "relative"),))
        assert second.cumulative == pytest.approx(11.0)
        assert second.within == (Within("log", 0.1, "relative"),)
        assert spent(ledger) == second.cumulative
    other = ledger.charge(net(ledger), of(0.5, 7.0, "p.u."))
    assert other.cumulative == pytest.approx(11.5)
    assert other.within == (Within("log", 0.1, "relative"), Within("additive", 7.0, "p.u."))


def test_a_limit_is_for_the_largest_alpha(ledger: Ledger) -> None:
    ledger.set_limit(net(ledger), 3.0)
    ledger.charge(net(ledger), of(1.0, 0.1, "relative"))
    with pytest.raises(BudgetExceeded, match=r"cost 10; .* spent 1 of its limit 3, .* up to 0\.1 \(relative\)"):
        ledger.charge(net(ledger), of(1.0, 0.01, "relative"))
    with pytest.raises(BudgetExceeded, match=r"cost 10; .* up to 1 \(relative\)"):
        ledger.charge(net(ledger), of(1.0, 1.0, "relative"))
    assert ledger.charge(net(ledger), of(1.0, 0.05, "relative")).cumulative == pytest.approx(3.0)


def test_room_is_kept_for_what_may_follow(ledger: Ledger) -> None:
    ledger.set_limit(net(ledger), 1.0)
    with pytest.raises(BudgetExceeded):
        ledger.charge(net(ledger), of(0.8), then=[of(0.3)])
    assert ledger.charge(net(ledger), of(0.8), then=[of(0.2)]).cumulative == 0.8


def test_accounts_with_more_are_what_a_charge_comes_to(ledger: Ledger) -> None:
    ledger.charge(net(ledger), of(1.0))
    ledger.set_limit(net(ledger), 3.0)
    found = ledger.accounts(net(ledger), [of(1.0, 0.01)])
    assert found.largest == pytest.approx(11.0)
    assert (found.largest_limit, found.exceeded) == (3.0, True)
    assert not ledger.accounts(net(ledger), [of(1.0)]).exceeded
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize(("loss", "alpha"), [(float("nan"), 0.1), (1.0, float("nan")), (-1.0, 0.1), (1.0, 0.0)])
def test_nonsense_is_not_charged(ledger: Ledger, loss: float, alpha: float) -> None:
    with pytest.raises(LedgerError, match="both must be positive"):
        ledger.charge(net(ledger), of(loss, alpha))
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(("epsilon", "alpha"), [(1.0, 0.01), (0.3, 0.1), (5.0, 2.0)])
@pytest.mark.parametrize("times", [1.0, 3.0, 100.0])
def test_the_samplers_own_loss_at_a_larger_distance_is_covered(
    size: int, epsilon: float, alpha: float, times: float
) -> None:
    """A draw made for changes up to α, at a change of k·α: OpenDP's privacy map stays below what the ledger counts."""
    stated = _measurement(size, alpha, epsilon).map(times * alpha)
    assets = Assets("", ("a",))
    found = accounts(assets, [(assets, of(epsilon, alpha)), (assets, of(1e-12, times * alpha))], [])
    assert found.within[0].alpha == times * alpha
    assert (1 - 1e-9) * found.largest <= stated <= found.largest


# ---- assets ----


def test_maintenance_opens_no_fresh_account(ledger: Ledger) -> None:
    """Eight yearly releases with a new line each: 8 are counted, where a whole network by its name counted 1."""
    lines = list(GRID)
    for year in range(8):
        lines.append(f"{year} {year + 10}")
        receipt = ledger.charge(net(ledger, lines, f"of {year}"), of(1.0))
    assert receipt.cumulative == 8.0
    found = ledger.accounts(net(ledger, lines))
    assert found.spent.tolist() == [8.0, 8.0, 8.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    with pytest.raises(BudgetExceeded):
        ledger.charge(net(ledger, ["3 1"]), of(2.5))  # a part of it is the same line


def test_a_border_that_two_networks_share_counts_twice(ledger: Ledger) -> None:
    north, south = net(ledger, ["1 2", "2 9"]), net(ledger, ["2 9", "8 9"])
    ledger.charge(north, of(1.0))
    assert ledger.charge(south, of(2.0)).cumulative == 3.0
    assert ledger.accounts(south).spent.tolist() == [3.0, 2.0]
    assert ledger.accounts(north).spent.tolist() == [1.0, 3.0]


def test_lines_that_are_one_asset_by_an_identity_map_are_charged_each(ledger: Ledger) -> None:
    assert ledger.charge(net(ledger, ["1 2", "1 2", "2 3"]), of(1.0)).cumulative == 2.0
    assert ledger.accounts(net(ledger, ["1 2", "2 3"])).spent.tolist() == [2.0, 1.0]


def test_known_networks_add_one_row_and_changed_ones_their_changes(ledger: Ledger) -> None:
    many = [f"{n} {n + 1}" for n in range(100)]
    ledger.charge(net(ledger, many), of(0.1))
    count = len(ledger.entries())
    ledger.charge(net(ledger, many), of(0.1))
    assert len(ledger.entries()) == count + 1
    ledger.charge(net(ledger, [*many[3:], "new 1"]), of(0.1))
    changed = ledger.entries()[-2].details
    assert (len(changed["added"]), len(changed["removed"]), changed["base"]) == (1, 3, 2)
    ledger.charge(net(ledger, ["far away"]), of(0.1))
    assert ledger.entries()[-2].details["base"] is None


networks_st = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcde"), min_size=1, max_size=6),
        st.sampled_from([0.05, 0.1, 0.4]),
        st.sampled_from([0.25, 1.0]),
        st.sampled_from(["relative", "p.u."]),
    ),
    min_size=1,
    max_size=6,
)


@given(networks_st, st.lists(st.sampled_from("abcde"), min_size=1, max_size=5, unique=True))
def test_accounts_are_what_the_definition_says(
    made: list[tuple[list[str], float, float, str]], looked_at: list[str]
) -> None:
    """By hand: for each asset the sum over the releases it was in, as often, each at the largest α of its unit."""
    charged = [(Assets("", tuple(keys)), of(loss, alpha, unit)) for keys, alpha, loss, unit in made]
    found = accounts(Assets("", tuple(looked_at)), charged, [(None, 5.0), (Assets("", ("a",)), 1.0)])
    touching = [one for one in made if set(one[0]) & set(looked_at)]
    top = {unit: max(one[1] for one in touching if one[3] == unit) for unit in {one[3] for one in touching}}
    for key, got, limit in zip(found.keys, found.spent, found.limit, strict=True):
        want = sum(keys.count(key) * loss * top[unit] / alpha for keys, alpha, loss, unit in touching)
        assert got == pytest.approx(want)
        assert limit == (1.0 if key == "a" else 5.0)
    assert found.largest == max(found.spent)
    assert found.left == pytest.approx(float(np.min(found.limit - found.spent)))


def test_twenty_thousand_assets_are_cheap(tmp_path: Path) -> None:
    """A charge with 20,000 lines, known before, takes less than a second of CPU; reading such a file takes longer."""
    ledger = Ledger.init(tmp_path / "l.db")
    network = net(ledger, [f"{n} {n + 1}" for n in range(20_000)])
    ledger.charge(network, of(0.1))
    begin = process_time()
    ledger.charge(network, of(0.1))
    assert process_time() - begin < 1.0


def test_names_of_assets_say_nothing_without_the_key(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.open(tmp_path / "b.db")
    assert net(other).keys != net(ledger).keys
    ledger.charge(net(ledger), of(1.0))
    content = b"".join(file.read_bytes() for file in ledger.path.parent.glob("ledger.db*") if file.suffix != ".key")
    assert b"1 2" not in content


# ---- birth, rollback, backup ----


def test_files_are_their_owners_alone(ledger: Ledger) -> None:
    ledger.charge(net(ledger), of(1.0))
    with closing(sqlite3.connect(ledger.path)) as reader:
        reader.execute("SELECT count(*) FROM entries").fetchone()
        files = sorted(ledger.path.parent.iterdir())
        assert {"ledger.db", "ledger.db.key"} <= {file.name for file in files}
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


@pytest.mark.parametrize("content", [None, b"", b"x"])
def test_a_ledger_does_not_begin_again(ledger: Ledger, content: bytes | None) -> None:
    ledger.charge(net(ledger), of(1.0))
    for file in ledger.path.parent.glob("ledger.db-*"):
        file.unlink()
    ledger.path.unlink()
    if content is not None:
        ledger.path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"missing|empty|not a usable ledger"):
        Ledger.open(ledger.path)
    with pytest.raises(LedgerError, match="not made anew"):
        Ledger.init(ledger.path)


def test_an_interrupted_birth_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    KeyFile.create(KeyFile.beside(path), 10.0)  # and then the power failed
    book = Ledger.open(path)
    book.charge(net(book), of(1.0))
    assert (spent(Ledger.open(path)), book.accounts(net(book)).largest_limit) == (1.0, 10.0)


def copy_of(ledger: Ledger, target: Path) -> Path:
    """The database as an operator's file manager copies it, without its key."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(shutil.copy(ledger.path, target))


def put_back(ledger: Ledger, copy: Path) -> None:
    for file in ledger.path.parent.glob("ledger.db-*"):
        file.unlink()
    shutil.copy(copy, ledger.path)


def test_an_older_copy_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    for _ in range(4):
        ledger.charge(net(ledger), of(0.5))
    older = copy_of(ledger, tmp_path / "older")
    for _ in range(5):
        ledger.charge(net(ledger), of(0.5))
    newer = copy_of(ledger, tmp_path / "newer")
    put_back(ledger, older)
    for use in (Ledger.open, Ledger.init):
        with pytest.raises(LedgerError, match=r"6 entries, but had 11|not made anew"):
            use(ledger.path)
    with pytest.raises(LedgerError, match="older copy"):
        ledger.charge(net(ledger), of(0.5))
    put_back(ledger, newer)
    assert spent(Ledger.open(ledger.path)) == 4.5


def test_a_lost_log_is_noticed(ledger: Ledger) -> None:
    with closing(sqlite3.connect(ledger.path)) as held:  # a reader keeps the log from being cleared away
        held.execute("PRAGMA wal_autocheckpoint = 0")
        for _ in range(4):
            ledger.charge(net(ledger), of(0.5))
        held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        held.execute("BEGIN")
        held.execute("SELECT count(*) FROM entries").fetchone()
        ledger.charge(net(ledger), of(0.5))
        main = ledger.path.read_bytes()
    for file in ledger.path.parent.glob("ledger.db-*"):
        file.unlink()
    ledger.path.write_bytes(main)
    with pytest.raises(LedgerError, match="lost its write-ahead log"):
        Ledger.open(ledger.path)


def test_another_ledger_in_its_place_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    """The same key, as many entries, but another history."""
    ledger.charge(net(ledger), of(0.5))
    older = copy_of(ledger, tmp_path / "older")
    ledger.charge(net(ledger), of(1.5))
    anchor = KeyFile.beside(ledger.path).read_text()
    forged = tmp_path / "forged" / "ledger.db"
    forged.parent.mkdir()
    shutil.copy(older, forged)
    key = KeyFile.read(KeyFile.beside(ledger.path))
    KeyFile(KeyFile.beside(forged), key.key, None).advance(Anchor(0, Chain(forged, key.key).start))
    cheap = Ledger.open(forged)
    cheap.charge(net(cheap), of(0.001))
    put_back(ledger, copy_of(cheap, tmp_path / "cheap"))
    KeyFile.beside(ledger.path).write_text(anchor)
    with pytest.raises(LedgerError, match="last used with"):
        Ledger.open(ledger.path)


def test_an_anchor_elsewhere(tmp_path: Path) -> None:
    path, apart = tmp_path / "one" / "l.db", tmp_path / "safe.anchor"
    book = Ledger.init(path, anchor=apart)
    for _ in range(3):
        book.charge(net(book), of(0.5))
    shutil.copytree(path.parent, tmp_path / "everything")
    book.charge(net(book), of(0.5))
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "everything", path.parent)  # database and key, both older
    with pytest.raises(LedgerError, match="older copy"):
        Ledger.open(path)
    apart.unlink()
    with pytest.raises(LedgerError, match=r"anchor .* is missing"):
        Ledger.open(path)


def test_backup_and_restore(ledger: Ledger, tmp_path: Path) -> None:
    for _ in range(3):
        ledger.charge(net(ledger), of(1.0))
    kept = tmp_path / "backup" / "kept.db"
    assert backup(ledger, kept) == 5
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in kept.parent.iterdir())
    with pytest.raises(LedgerError, match="exists"):
        backup(ledger, kept)
    ledger.path.unlink()
    assert restore(kept, ledger.path) == 0
    assert spent(Ledger.open(ledger.path)) == 3.0
    ledger.charge(net(ledger), of(1.0))
    ledger.path.write_bytes(b"damaged")
    with pytest.raises(LedgerError, match=r"5 entries, but .* had 6"):
        restore(kept, ledger.path)
    assert restore(kept, ledger.path, lost=2.0) == 1
    again = Ledger.open(ledger.path)
    assert spent(again) == 5.0
    assert again.charge(net(again, ["new 1"]), of(1.0)).cumulative == 3.0  # nobody knows what the lost one was of
    elsewhere = tmp_path / "new" / "place.db"
    assert restore(kept, elsewhere, lost=0.0) is None
    assert spent(Ledger.open(elsewhere)) == 3.0
    stranger = Ledger.open(tmp_path / "stranger.db")
    stranger.charge(net(stranger), of(1.0))
    with pytest.raises(LedgerError, match=r"changed or removed, or the key"):
        restore(kept, stranger.path)
    with pytest.raises(LedgerError, match="not there"):
        restore(tmp_path / "nothing", ledger.path)


def test_a_charge_whose_anchor_cannot_be_written_is_said(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: KeyFile, anchor: Anchor) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(KeyFile, "advance", full)
    with pytest.raises(Charged, match="No space left") as caught:
        ledger.charge(net(ledger), of(1.0))
    assert (caught.value.receipt.loss, caught.value.receipt.entry) == (1.0, 3)
    assert spent(ledger) == 1.0


OLD = (
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL, hash TEXT NOT NULL)",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 1196818433",
)


def test_a_ledger_of_the_first_version_is_taken_over(tmp_path: Path) -> None:
    old, key, shape = tmp_path / "old.db", bytes(range(32)), b"[[1, 230.0]]"
    KeyFile.beside(old).write_text(key.hex())
    name = hmac.new(key, b"network" + shape, hashlib.sha256).hexdigest()[:32]
    said = [
        ("limit", 0.0, {"limit": 1.5}),
        ("charge", 1.0, {"mechanism": "log", "alpha": 0.1, "unit": "relative (0.1 means ten per cent)"}),
        ("charge", 1.0, {"mechanism": "log", "alpha": 0.1, "unit": "relative", "given": ["a cost"]}),
    ]
    chain = Chain(old, key)
    with closing(sqlite3.connect(old)) as connection, connection:
        for statement in OLD:
            connection.execute(statement)
        link = chain.start
        for number, (kind, loss, details) in enumerate(said, start=1):
            body = json.dumps({"time": "2026", "kind": kind, "network": name, "loss": loss, "details": details})
            link = chain._link(link, number, body)
            connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, link))
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (len(said), link))
    with pytest.raises(LedgerError, match="ledger migrate"):
        Ledger.open(old)
    new = tmp_path / "new.db"
    with pytest.raises(LedgerError, match=r"1 networks of .* are not among the cases"):
        migrate(old, new, [Known("other", b"[]", ("1 2",))])
    assert not new.exists()
    assert migrate(old, new, [Known("grid", shape, GRID)]) == 3
    book = Ledger.open(new)
    assert (spent(book), book.accounts(net(book)).largest_limit) == (2.0, 1.5)
    earlier = [one.details["given"] for one in book.history().earlier(net(book))]
    assert earlier == [["optimal dispatch cost, declared or published by an earlier version"], ["a cost"]]


def test_a_ledger_of_a_newer_version_is_refused(ledger: Ledger) -> None:
    raw(ledger, "PRAGMA user_version = 3")
    with pytest.raises(LedgerError, match="newer version"):
        Ledger.open(ledger.path)


# ---- at once, and tampered with ----

CHARGE = """
import sys
from gridveil.privacy.composition import Charge
from gridveil.privacy.ledger import Ledger
from gridveil.errors import BudgetExceeded
book = Ledger.open(sys.argv[1])
for _ in range(4):
    try:
        book.charge(book.assets("grid", ["1 2", "2 3", "3 1"]), Charge(1.0, 0.1, "relative", "log"))
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
        assert words.count("charged") == 10
        book.set_limit(net(book), 15.0)
        words += [word for result in pool.map(one, range(3)) for word in result]
    assert words.count("charged") == 15
    assert spent(book) == 15.0
    kinds = [entry.kind for entry in book.entries()]
    assert (kinds.count("limit"), kinds.count("network"), kinds.count("charge")) == (2, 1, 15)


def test_a_reader_sees_one_moment(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge by another process between reading the anchor, the entries and the head is no sign of tampering."""
    ledger.charge(net(ledger), of(1.0))
    linked = Chain.linked

    def meanwhile(self: Chain, connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
        found = linked(self, connection)
        monkeypatch.setattr(Chain, "linked", linked)
        other = Ledger.open(ledger.path)
        other.charge(net(other), of(1.0))
        return found

    monkeypatch.setattr(Chain, "linked", meanwhile)
    assert len(ledger.entries()) == 3
    assert len(ledger.entries()) == 4


def raw(ledger: Ledger, *statements: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_tampering_is_named(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.charge(net(ledger), of(1.0))
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        raw(ledger, "UPDATE entries SET body = replace(body, '1.0', '0.1') WHERE id = 4")
    raw(ledger, "DROP TRIGGER entries_stay", "UPDATE entries SET body = replace(body, '1.0', '0.1') WHERE id = 4")
    with pytest.raises(LedgerError, match="entry 4 of"):
        ledger.entries()
    with pytest.raises(LedgerError, match="entry 4 of"):
        ledger.charge(net(ledger), of(1.0))


@pytest.mark.parametrize(("which", "words"), [(1, "entry 1"), (4, "entry 4"), (5, "at the end")])
def test_removed_entries_are_named(ledger: Ledger, which: int, words: str) -> None:
    for _ in range(3):
        ledger.charge(net(ledger), of(1.0))
    raw(ledger, "DROP TRIGGER entries_keep", f"DELETE FROM entries WHERE id = {which}")
    with pytest.raises(LedgerError, match=words):
        ledger.entries()


def test_unusable_ledgers(tmp_path: Path, ledger: Ledger) -> None:
    broken = tmp_path / "broken.db"
    broken.write_text("not a database, but long enough to be looked at" * 20)
    shutil.copy(KeyFile.beside(ledger.path), KeyFile.beside(broken))
    with pytest.raises(LedgerError, match="not a usable ledger"):
        Ledger.open(broken)
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()
    shutil.copy(KeyFile.beside(ledger.path), KeyFile.beside(foreign))
    with pytest.raises(LedgerError, match="not a ledger of this program"):
        Ledger.open(foreign)
    ledger.charge(net(ledger), of(1.0))
    key = ledger.path.with_name("ledger.db.key")
    said = key.read_text()
    key.write_text(said.replace(said[9:41], "1" * 32))
    with pytest.raises(LedgerError, match="the key is not this ledger's"):
        Ledger.open(ledger.path)
    for nonsense in ("", "{}", "[1]", '{"key": "zz", "anchor": null}', '{"key": "00", "anchor": null}', "9" * 70):
        key.write_text(nonsense)
        with pytest.raises(LedgerError, match="not the key of a ledger"):
            Ledger.open(ledger.path)
    key.unlink()
    with pytest.raises(LedgerError, match="has no key"):
        Ledger.open(ledger.path)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(tmp_path / "broken.db" / "below")


@pytest.mark.parametrize("content", ["x'00ff'", "'é' || char(0)", "cast(x'c328' as text)"])
def test_damaged_entries_end_in_sentences(ledger: Ledger, content: str) -> None:
    ledger.charge(net(ledger), of(1.0))
    raw(ledger, "DROP TRIGGER entries_stay", f"UPDATE entries SET hash = {content} WHERE id = 2")
    with pytest.raises(LedgerError):
        ledger.entries()


def test_what_stands_beside_an_entry_is_held_to_its_digest(ledger: Ledger) -> None:
    receipt = ledger.charge(net(ledger), of(1.0))
    ledger.record_draw(receipt.entry, b"noisy values")
    entry = ledger.entries()[-1]
    assert (entry.details["charge"], ledger.paper(entry)) == (receipt.entry, b"noisy values")
    raw(ledger, "UPDATE papers SET content = x'00'")
    with pytest.raises(LedgerError, match="was changed or removed"):
        ledger.paper(entry)


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_path() == tmp_path / "gridveil" / "ledger.db"
        monkeypatch.setenv("XDG_DATA_HOME", "")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert default_path() == tmp_path / "home" / ".local" / "share" / "gridveil" / "ledger.db"
        monkeypatch.setenv("XDG_DATA_HOME", "here")
        assert default_path().is_absolute()


def test_a_backup_stands_by_itself(tmp_path: Path) -> None:
    """With an anchor elsewhere, a backup can be restored on a machine that has neither the anchor nor the key."""
    path, apart = tmp_path / "one" / "l.db", tmp_path / "safe.anchor"
    book = Ledger.init(path, anchor=apart)
    book.charge(net(book), of(1.5))
    backup(book, tmp_path / "kept.db")
    shutil.rmtree(path.parent)
    said = apart.read_text()
    apart.unlink()
    elsewhere = tmp_path / "other machine" / "l.db"
    with pytest.raises(LedgerError, match="say with --anchor FILE where a new one is to stand"):
        restore(tmp_path / "kept.db", elsewhere, lost=0.0)
    assert restore(tmp_path / "kept.db", elsewhere, lost=0.0, anchor=KeyFile.beside(elsewhere)) is None
    assert spent(Ledger.open(elsewhere)) == 1.5
    assert not apart.exists()
    apart.write_text(said)
    assert (
        restore(tmp_path / "kept.db", path) == 0
    )  # in its old place, whose key is lost: the backup knows where the anchor is
    assert spent(Ledger.open(path)) == 1.5


def test_a_limit_is_stated_with_what_it_limits(ledger: Ledger) -> None:
    """Where lines have different limits, the stated one is that of the line that has spent most, and a refusal names
    those of the line that is in the way."""
    part = net(ledger, ["1 2"], "part")
    for _ in range(3):
        ledger.charge(net(ledger, ["2 3", "3 1"]), of(1.0))
    ledger.set_limit(part, 1.0)
    receipt = ledger.charge(net(ledger), of(0.5))
    assert (receipt.cumulative, receipt.limit) == (3.5, 10.0)
    with pytest.raises(BudgetExceeded, match=r"would cost 0\.75; this network has spent 0\.5 of its limit 1,"):
        ledger.charge(net(ledger), of(0.75))
    free = Ledger.init(ledger.path.with_name("free.db"), limit=None)
    free.set_limit(net(free, ["1 2"]), 1.0)
    free.charge(net(free, ["2 3"]), of(4.0))
    found = free.accounts(net(free))
    assert (found.largest, found.largest_limit, found.left) == (4.0, None, 1.0)
