"""What is counted, kept and drawn: composition by its definition, previews, lost entries, keys, mechanisms, facts."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.errors import BudgetExceeded, LedgerError, PrivacyError, ReleaseError
from gridveil.grid import LineKind, LineParameters, Network, line_levels_kv
from gridveil.grid.profile import Profile, base_profile
from gridveil.privacy import chain
from gridveil.privacy.composition import Accounts, Assets, Charge, Within, accounts
from gridveil.privacy.history import left_over
from gridveil.privacy.keeping import backup, restore
from gridveil.privacy.keyfile import KeyFile
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import Noise, SeededNoise
from gridveil.privacy.refusal import reach_words, refusal
from gridveil.privacy.signature import create_key, key_from_text, read_private_key, read_public_key
from gridveil.publish.elements import identities
from gridveil.publish.preview import charges, preview
from gridveil.sealed import facts as sealed_facts
from gridveil.sealed.facts import Truth, _full_cost
from gridveil.sealed.mechanisms import MECHANISMS, mechanism
from gridveil.sealed.mechanisms.additive import level_mean
from gridveil.sealed.split import split
from gridveil.status import Status
from gridveil.wall.facts import FactKind

LINES = Charge(1.0, 0.1, "relative", "log")


# ---- composition ----


def test_accounts_by_hand() -> None:
    """Losses count at the largest α of their unit, as often as an asset stands in a network; the latest limit holds."""
    one, two = Assets("one", ("a", "b", "b")), Assets("two", ("b", "c"))
    charged = [
        (one, LINES),
        (two, Charge(0.5, 0.2, "relative", "log")),
        (two, Charge(0.25, 3.0, "conductance", "paper")),
        (Assets("far", ("z",)), Charge(9.0, 99.0, "relative", "log")),
    ]
    limits = [(None, 10.0), (one, 5.0), (two, 7.0), (Assets("far", ("z",)), 0.0)]
    found = accounts(Assets("all", ("a", "b", "c", "d", "a")), charged, limits)
    assert found.keys == ("a", "b", "c", "d")
    assert found.spent.tolist() == [2.0, 4.75, 0.75, 0.0]
    assert found.limit.tolist() == [5.0, 7.0, 7.0, 10.0]
    assert found.within == (Within("log", 0.2, "relative"), Within("paper", 3.0, "conductance"))
    assert (found.largest, found.largest_limit, found.nearest, found.left) == (4.75, 7.0, 1, 2.25)
    assert not found.exceeded
    alone = accounts(Assets("", ("d",)), charged, [])
    assert (alone.largest, alone.largest_limit, alone.left, alone.within) == (0.0, None, np.inf, ())
    nothing = accounts(Assets("", ()), charged, limits)
    assert (nothing.largest, nothing.left, nothing.exceeded) == (0.0, np.inf, False)


def test_a_limit_may_be_reached_but_not_exceeded() -> None:
    def made(spent: list[float], limit: list[float]) -> Accounts:
        return Accounts(("a", "b"), ("", ""), np.array(spent), np.array(limit), ())

    assert not made([1.0, 2.0], [1.0, 2.0]).exceeded and not made([1.0, 0.1 + 0.2], [1.0, 0.3]).exceeded
    assert made([1.0, 2.0], [1.0, 1.999]).exceeded
    ends = made([2.0, 2.0], [9.0, 4.0])
    assert (ends.largest_limit, ends.nearest, ends.left) == (4.0, 1, 2.0)
    assert made([2.0, 1.0], [np.inf, 4.0]).largest_limit is None
    assert made([2.0, 1.0], [9.0, 1.5]).largest_limit == 9.0


@given(
    st.lists(st.tuples(st.sampled_from(["u", "v"]), st.floats(0.01, 10), st.sampled_from(["p", "q", "r"])), max_size=6)
)
def test_reaches_are_the_largest_of_their_unit(rows: list[tuple[str, float, str]]) -> None:
    unit_of = {"p": "u", "q": "v", "r": "u"}
    made = [Charge(1.0, alpha, unit_of[name], name) for _, alpha, name in rows]
    network = Assets("", ("a",))
    found = accounts(network, [(network, charge) for charge in made], []).within
    assert {one.mechanism for one in found} == {one.mechanism for one in made}
    for one in found:
        assert one.alpha == max(charge.alpha for charge in made if charge.unit == one.unit)


def test_what_is_left_over_is_counted() -> None:
    assert left_over(["a", "b", "b", "c"], ["b", "d"]) == ["a", "b", "c"]
    assert left_over([], ["a"]) == [] and left_over(["a"], []) == ["a"]
    assert (
        reach_words([Within("log", 0.2, "relative"), Within("x", 0.2, "relative"), Within("y", 3.0, "z")])
        == "0.2 (relative) and 3 (z)"
    )
    before = Accounts(("a", "b"), ("", ""), np.array([1.0, 4.0]), np.array([9.0, 5.0]), ())
    after = Accounts(
        ("a", "b"), ("", ""), np.array([3.0, 5.5]), np.array([9.0, 5.0]), (Within("log", 0.2, "relative"),)
    )
    assert "would cost 1.5; this network has spent 4 of its limit 5, counted for changes up to 0.2 (rel" in refusal(
        before, after
    )
    assert "of its limit 5 (loads), counted" in refusal(before, replace(after, groups=("lines", "loads")))
    each = Within("joint", 0.1, "relative", {"lines": 0.3, "ratings": 0.1, "loads": 0.3})
    assert reach_words([each]) == "0.3 of lines and loads, 0.1 of ratings (relative)"


# ---- a preview ----


@pytest.mark.parametrize("ledger", [False, True])
def test_a_preview_counts_and_asks(tmp_path: Path, ledger: bool) -> None:
    secret = split(gv.load("case5"))
    book = Ledger.init(tmp_path / "l.db", 10.0) if ledger else None

    def seen(*arguments: Any, **options: Any) -> Any:
        return preview(secret, gv.Plan(*arguments, **options), book)

    usual = seen(1.0, 0.1, 0.01)
    assert usual.loss == pytest.approx(1.0) and [one.mechanism for one in usual.charges] == ["log", "cost"]
    assert (usual.before.largest, usual.after.largest, usual.after.left) == (
        0.0,
        pytest.approx(1.0),
        pytest.approx(9.0),
    )
    assert (usual.questions, usual.impossible, usual.refused) == ((), None, False)
    usual.require(confirmed=False)
    assert seen(10.0, 0.1, 0.01, cost="derived").questions == ()
    assert len(seen(10.01, 0.1, 0.01).questions) == 1
    assert seen(10.01, 0.1, 0.01).refused and not seen(10.0, 0.1, 0.01, cost="derived").refused
    assert seen(1.0, 1.0, 0.01).questions == () and "110 per cent" in seen(1.0, 1.1, 0.01).questions[0]
    assert seen(1.0, 5.0, 0.01, "additive").questions == ()
    with pytest.raises(PrivacyError, match="is this meant"):
        seen(1.0, 1.1, 0.01).require(confirmed=False)
    seen(1.0, 1.1, 0.01).require(confirmed=True)
    with pytest.raises(BudgetExceeded):
        seen(10.5, 0.1, 0.01).require(confirmed=True)
    edge = np.log(50.0)
    assert seen(1.0, edge * 0.999, 0.01, cost="derived").impossible is None
    wide = seen(1.0, edge * 1.001, 0.01, cost="derived")
    assert wide.impossible is not None and wide.refused
    with pytest.raises(PrivacyError, match="nothing was charged"):
        wide.require(confirmed=True)
    assert seen(0.001, 99.9, 0.01, "additive", cost="derived").impossible is None
    assert seen(0.001, 100.1, 0.01, "additive", cost="derived").impossible is not None
    assert any("bottlenecks" in one for one in usual.not_protected)


def test_doubling_is_asked_about(tmp_path: Path) -> None:
    secret, book = split(gv.load("case5")), Ledger.init(tmp_path / "l.db", 100.0)
    assets = book.assets("", identities(secret.structure))
    book.charge(assets, LINES)

    def asked(epsilon: float, alpha: float) -> bool:
        return any(
            "doubles" in one for one in preview(secret, gv.Plan(epsilon, alpha, 0.01, cost="derived"), book).questions
        )

    assert not asked(1.0, 0.1) and asked(1.01, 0.1) and asked(1.0, 0.2) and not asked(0.5, 0.1)


def test_charges_of_a_plan() -> None:
    plan = gv.Plan(2.0, 0.1, 0.01, cost_share=0.25, cost_sensitivity=0.01)
    lines = Charge(1.5, 0.1, "relative", "log", {"lines": 0.1})
    assert charges(plan, 1.5) == [lines, Charge(0.5, 0.01, "surcharge", "cost", {"lines": 0.01})]
    assert charges(replace(plan, cost="derived"), 2.0) == [lines._replace(loss=2.0)]
    each = gv.Plan(1.0, 0.3, 0.01, protect="all", alphas={"ratings": 0.1}, cost="derived", totals="derived")
    groups = {"lines": 0.3, "ratings": 0.1, "loads": 0.3, "limits": 0.3, "costs": 0.3}
    whole = 1 / (1 / 0.3 + 1 / 0.1)  # of a change of |z| alone, for who asks with ratings that move with it
    (found,) = charges(each, 1.0)
    assert found._replace(otherwise={}) == Charge(1.0, 0.1, "relative", "joint", groups)
    assert found.otherwise == {"lines": pytest.approx(whole)}
    assert gv.Plan(1.0, 0.1, 0.01, alphas={"lines": 0.2}).alpha == 0.2  # of lines alone there is one


# ---- keeping ----


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    made = Ledger.init(tmp_path / "l.db", 10.0)
    made.charge(made.assets("n", ["x", "y"]), LINES)
    return made


def test_lost_entries_are_charged_to_every_asset(book: Ledger, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert backup(book, copy) == len(book.entries()) == 3
    book.charge(book.assets("m", ["y", "z"]), LINES)
    book.charge(book.assets("m", ["y", "z"]), LINES)
    assert len(book.entries()) == 6
    with pytest.raises(LedgerError, match="is whole, with 6 entries"):
        restore(copy, book.path, 2.5)
    for name in ("", "-wal", "-shm"):
        book.path.with_name(book.path.name + name).unlink(missing_ok=True)
    book.path.write_bytes(b"damaged" * 100)
    with pytest.raises(LedgerError, match=r"has 3 entries, but .* had 6"):
        restore(copy, book.path)
    for lost in (-0.1, float("inf"), float("nan")):
        with pytest.raises(LedgerError, match="finite number"):
            restore(copy, book.path, lost)
    before = book.path.read_bytes()
    assert restore(copy, book.path, 2.5) == 3
    again = Ledger.open(book.path)
    assert again.accounts(again.assets("", ["x", "y"])).spent.tolist() == [3.5, 3.5]
    assert again.accounts(again.assets("", ["z"])).spent.tolist() == [2.5]  # nobody knows what was charged to it
    assert (tmp_path / "l.db.replaced").read_bytes()[:16] == before[:16]
    assert oct(book.path.stat().st_mode & 0o777) == "0o600"


def test_nothing_lost_is_nothing_charged(book: Ledger, tmp_path: Path) -> None:
    copy = tmp_path / "deep" / "copy.db"
    backup(book, copy)
    for lost in (None, 0.0, 5.0):
        book.path.unlink()
        assert restore(copy, book.path, lost) == 0
    again = Ledger.open(book.path)
    assert len(again.entries()) == 3 and again.accounts(again.assets("", ["x", "z"])).spent.tolist() == [1.0, 0.0]
    book.charge(book.assets("n", ["x", "y"]), LINES)
    book.path.unlink()
    assert restore(copy, book.path, 0.0) == 1
    assert [one.kind for one in Ledger.open(book.path).entries()][3:] == ["lost"]
    other = Ledger.init(tmp_path / "other.db")
    with pytest.raises(LedgerError):
        restore(copy, other.path)
    with pytest.raises(LedgerError, match="exists"):
        backup(book, copy)
    os.unlink(copy)
    with pytest.raises(LedgerError, match="is not there"):
        restore(copy, book.path)


def test_entries_are_what_was_written(book: Ledger) -> None:
    book.record_draw(3, b"paper")
    book.record_outcome(3, "failed", "why")
    book.set_limit(None, 4.0)
    entries = book.entries()
    assert [one.kind for one in entries] == ["limit", "network", "charge", "draw", "outcome", "limit"]
    assert [one.number for one in entries] == [1, 2, 3, 4, 5, 6]
    said = {"loss": 1.0, "alpha": 0.1, "unit": "relative", "mechanism": "log", "network": 2, "groups": {}}
    assert entries[2].details == {**said, "way": "", "otherwise": {}}
    assert entries[4].details == {"charge": 3, "outcome": "failed", "reason": "why"}
    assert book.paper(entries[3]) == b"paper"
    assert all(len(one.time) == 25 and one.time.endswith("+00:00") for one in entries)
    anchor = KeyFile.read(KeyFile.beside(book.path)).anchor
    assert anchor is not None and (anchor.count, anchor.head) == (6, entries[-1].hash)
    assert len(book.assets("n", ["x"]).keys[0]) == 24


def test_a_receipt_is_for_what_was_charged(book: Ledger) -> None:
    assets = book.assets("n", ["x", "y"])
    found = book.charge(
        assets, Charge(0.5, 0.2, "relative", "log"), {"given": ["g"]}, [Charge(1.0, 0.2, "relative", "log")]
    )
    assert (found.entry, found.loss, found.cumulative, found.limit) == (4, 0.5, 2.5, 10.0)
    assert found.within == (Within("log", 0.2, "relative"),) and [one.number for one in found.earlier] == [3]
    assert found.head == book.entries()[-1].hash and book.entries()[-1].details["given"] == ["g"]
    with pytest.raises(BudgetExceeded):
        book.charge(assets, Charge(7.6, 0.2, "relative", "log"))
    with pytest.raises(BudgetExceeded):
        book.charge(assets, Charge(7.0, 0.2, "relative", "log"), None, [Charge(0.6, 0.2, "relative", "log")])
    book.charge(assets, Charge(7.5, 0.2, "relative", "log"))
    book.charge(assets, Charge(7.6, 0.2, "relative", "log"), binding=False)
    assert len(book.entries()) == 6
    for limit in (-0.1, float("inf"), float("nan")):
        with pytest.raises(LedgerError, match="a limit is"):
            book.set_limit(None, limit)


def test_a_network_is_written_as_changes_to_the_nearest(book: Ledger) -> None:
    """Where half of it or more is known; else anew."""

    def met(*names: str) -> dict[str, Any]:
        book.set_limit(book.assets("n", names), 10.0)
        return book.history().of("network")[-1].details

    def keys(*names: str) -> list[str]:
        return list(book.assets("", names).keys)

    near = met("x", "z", "z")
    assert (near["base"], near["added"], near["removed"]) == (2, keys("z", "z"), keys("y"))
    far = met("x", "p", "q")
    assert (far["base"], far["added"], far["removed"]) == (None, keys("x", "p", "q"), [])
    assert list(book.history().networks[4].keys) == keys("x", "z", "z")


def test_foreign_databases_are_refused(tmp_path: Path) -> None:
    import sqlite3

    book = Ledger.init(tmp_path / "l.db")
    for pragma, words in (
        ("application_id = 7", "not a ledger of this"),
        (f"application_id = {chain.APPLICATION}", ""),
        ("user_version = 1", "earlier"),
        ("user_version = 3", "newer"),
    ):
        with sqlite3.connect(book.path) as connection:
            connection.execute(f"PRAGMA {pragma}")
        connection.close()
        if words:
            with pytest.raises(LedgerError, match=words):
                book.entries()
        else:
            book.entries()


# ---- keys ----


def test_keys_are_read_as_written(tmp_path: Path) -> None:
    public = create_key(tmp_path / "k")
    private = read_private_key(tmp_path / "k")
    assert private.public == public == read_public_key(tmp_path / "k.pub") == key_from_text(public.text)
    assert len(public.raw) == 32 and len(private.sign(b"x")) == 64 and private.sign(b"x") == private.sign(b"x")
    assert public.signed(b"x", private.sign(b"x")) and not public.signed(b"y", private.sign(b"x"))
    assert not public.signed(b"x", b"short") and not public.signed(b"x", bytes(64))
    assert public.fingerprint.startswith("SHA256:") and len(public.fingerprint) == 7 + 64
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604, 0o620):
        (tmp_path / "k").chmod(mode)
        with pytest.raises(PrivacyError, match="others may read"):
            read_private_key(tmp_path / "k")
    for name in ("k", "k.pub"):
        (tmp_path / ("k.pub" if name == "k" else "k")).unlink(missing_ok=True)
        (tmp_path / name).write_text("x")
        with pytest.raises(PrivacyError, match="never replaced"):
            create_key(tmp_path / "k")
    for text in ("", "AAAA", public.text[:-1], public.text + "=", public.text.replace("=", "!"), " " + public.text):
        with pytest.raises(PrivacyError, match="no Ed25519 key"):
            key_from_text(text)


def test_public_keys_that_are_none(tmp_path: Path) -> None:
    good = create_key(tmp_path / "k").pem
    for text in (
        "", good.replace("BEGIN PUBLIC", "BEGIN PRIVATE"), good.replace("END PUBLIC", "END PRIVATE"), good.replace("MCow", "MCox"),
        good.replace("\n-----END", "AAAA\n-----END"), good[: good.index("-----END")], "x " + good, good + "x",
    ):  # fmt: skip
        (tmp_path / "bad.pub").write_text(text)
        with pytest.raises(PrivacyError, match="is no public Ed25519 key"):
            read_public_key(tmp_path / "bad.pub")
    lines = good.split("\n")
    (tmp_path / "cut.pub").write_text("\n".join([lines[0], lines[1][:30], lines[1][30:], lines[2], ""]))
    assert read_public_key(tmp_path / "cut.pub").pem == good


# ---- mechanisms ----


class Asked(Noise):
    """Adds known numbers, and remembers what it was asked for."""

    private = False
    description = "for a test"

    def __init__(self, add: float = 0.0) -> None:
        self.add, self.asked = add, list[tuple[FloatArray, float, float]]()

    def prepare(self) -> None:
        pass

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        self.asked.append((values, sensitivity, epsilon))
        return values + self.add


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_mechanisms_draw_what_they_say(name: str) -> None:
    """Without noise every line comes back; what each coordinate is asked with is α for the ε it says."""
    network = gv.load("case30")
    lines = network.lines
    secret, noise = split(network), Asked()
    drawn = mechanism(name).perturb(secret, 2.0, 0.5, noise)
    part = 2.0 / 3 if name == "paper" else 2.0
    assert noise.asked[0][1:] == (0.5, part) and drawn.scale == pytest.approx(0.5 / part)
    assert drawn.mechanism == name and np.all(drawn.protected)
    assert (drawn.relative, drawn.charging_moves) == (name == "log", name == "log")
    single = np.bincount(drawn.group)[drawn.group] == 1
    assert single.sum() > 20
    assert drawn.g[single] == pytest.approx(lines.g[single])
    assert drawn.b[single] == pytest.approx(lines.b[single], rel=0.06 if name == "additive" else 1e-9)
    assert drawn.bc[single] == pytest.approx(lines.bc[single])
    ratio = np.abs(lines.b / np.where(lines.g == 0, np.inf, lines.g))
    wanted = 2.0 * (2 + ratio.max()) / 3 if name == "paper" else 2.0
    assert mechanism(name).loss(secret, 2.0) == pytest.approx(wanted)


def test_level_means_of_the_paper_are_asked_by_their_share() -> None:
    network = gv.load("case14")
    secret, noise = split(network), Asked()
    drawn = mechanism("paper").perturb(secret, 3.0, 0.5, noise)
    level = line_levels_kv(network.grid)
    levels = np.unique(level)
    assert len(noise.asked) == 1 + 2 * len(levels)
    for k, kv in enumerate(levels):
        here = level == kv
        (g, share, epsilon), (b, same, _) = noise.asked[1 + 2 * k : 3 + 2 * k]
        assert epsilon == 1.0 and share == same == pytest.approx(0.5 / len(np.unique(drawn.group[here])))
        assert drawn.mean_g is not None and drawn.mean_b is not None
        assert drawn.mean_g[here] == pytest.approx(np.full(here.sum(), abs(g[0])))
        assert drawn.mean_b[here] == pytest.approx(np.full(here.sum(), abs(b[0])))
        assert g[0] == pytest.approx(network.lines.g[here].mean()) and b[0] == pytest.approx(
            network.lines.b[here].mean()
        )


def test_noise_on_additive_moves_conductance_and_its_ratio() -> None:
    network = gv.load("case14")
    kind = network.grid.lines.kind
    lossy = kind == LineKind.LOSSY
    for name, digits in (("additive", 2), ("laplace", 17), ("paper", 17)):
        drawn = mechanism(name).perturb(split(network), 1.0, 0.1, Asked(0.25))
        assert drawn.g[lossy] == pytest.approx(network.lines.g[lossy] + 0.25)
        assert np.all(drawn.g[~lossy] == 0) and drawn.b[~lossy] == pytest.approx(network.lines.b[~lossy] + 0.25)
        ratio = np.array(
            [float(f"{value:.{digits - 1}e}") for value in network.lines.b[lossy] / network.lines.g[lossy]]
        )
        assert drawn.b[lossy] == pytest.approx(ratio * drawn.g[lossy])


def test_lines_of_negative_resistance_stay_where_noise_is_additive() -> None:
    network = gv.load("case14")
    lines, kind = network.lines, network.grid.lines.kind.copy()
    g = lines.g.copy()
    g[0], kind[0] = -g[0], LineKind.NEGATIVE_RESISTANCE
    bent = Network(
        replace(network.grid, lines=replace(network.grid.lines, kind=kind)), LineParameters(g, lines.b, lines.bc)
    )
    for name in ("additive", "laplace", "paper"):
        drawn = mechanism(name).perturb(split(bent), 1.0, 0.1, Asked(0.25))
        assert np.flatnonzero(~drawn.protected).tolist() == [0]
        assert (drawn.g[0], drawn.b[0]) == (g[0], lines.b[0])
    steep = g.copy()
    steep[0] = -1e-6  # its ratio is not asked for, and costs nothing
    other = Network(bent.grid, LineParameters(steep, lines.b, lines.bc))
    assert mechanism("paper").loss(split(other), 1.0) == mechanism("paper").loss(split(bent), 1.0)


def test_means_of_a_level() -> None:
    values, level = np.array([1.0, 3.0, 10.0, 20.0, 5.0]), np.array([1.0, 1.0, 2.0, 2.0, 3.0])
    counted = np.array([True, True, True, False, False])
    assert level_mean(values, level, counted).tolist() == pytest.approx([2.0, 2.0, 10.0, 10.0, 14 / 3])
    assert level_mean(values, level, np.zeros(5, bool)).tolist() == [0.0] * 5


def test_seeded_noise_has_its_scale() -> None:
    drawn = SeededNoise(1).laplace(np.full(20000, 7.0), 0.5, 2.0) - 7.0
    assert np.abs(drawn).mean() == pytest.approx(0.25, rel=0.03)
    SeededNoise(0)
    with pytest.raises(PrivacyError, match="a seed"):
        SeededNoise(-1)


# ---- what the truth is asked ----


def test_full_cost_leaves_generators_without_a_limit_out() -> None:
    grid = gv.load("case5").grid
    top = grid.generators.pmax.copy()
    whole = _full_cost(grid)
    assert whole == pytest.approx(grid.cost_p.total(top))
    free = top.copy()
    free[1] = np.inf
    cut = top.copy()
    cut[1] = 0.0
    assert _full_cost(replace(grid, generators=replace(grid.generators, pmax=free))) == pytest.approx(
        grid.cost_p.total(cut)
    )
    paid = replace(grid.cost_p, polynomial=-grid.cost_p.polynomial)
    assert _full_cost(replace(grid, cost_p=paid)) == pytest.approx(whole)


def solved(monkeypatch: pytest.MonkeyPatch, *endings: tuple[float, Status]) -> Truth:
    """The truth of a network whose optima at so many steps are given."""
    network = gv.load("case5")
    base = base_profile(network.grid)
    rows = np.repeat(base.pd, len(endings), axis=0)
    profile = Profile(np.arange(7, 7 + len(endings)), rows, np.repeat(base.qd, len(endings), axis=0))
    real, script = gv.solve_opf(network), iter(endings)

    def answer(*_: Any) -> Any:
        cost, status = next(script)
        return replace(real, cost=cost, status=status)

    monkeypatch.setattr(sealed_facts, "solve_opf", answer)
    return Truth(split(network), profile, range(len(endings)))


def test_the_surcharge_is_a_mean_of_clamped_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Status.OPTIMAL
    steps = [(110.0, good), (90.0, good), (1000.0, good), (-5.0, good), (1.0, Status.INFEASIBLE)]
    truth = solved(monkeypatch, *steps)
    plates = [100.0] * 5
    wanted = (np.log(1.1) + 0.0 + 0.5 + 0.0 + 0.5) / 5
    assert truth.surcharge(plates) == pytest.approx(wanted)
    noise = Asked(0.01)
    answer = truth.ask_surcharge(plates, 0.2, 0.0025, noise)
    assert [(values.tolist(), *rest) for values, *rest in noise.asked] == [([pytest.approx(wanted)], 0.0025, 0.2)]
    assert answer.value == pytest.approx(wanted + 0.01) and (answer.epsilon, answer.sensitivity) == (0.2, 0.0025)


def test_figures_are_declared_by_their_step(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = solved(monkeypatch, (12345.6, Status.OPTIMAL), (23456.7, Status.OPTIMAL))
    assert [(one.step, one.value, one.kind) for one in truth.declare(FactKind.COST)] == [
        (7, 12350.0, "cost"),
        (8, 23460.0, "cost"),
    ]
    point, grid = gv.solve_opf("case5").point, gv.load("case5").grid
    lost = float(point.pg.sum() - grid.buses.pd.sum())
    assert [one.value for one in truth.declare(FactKind.LOSSES)] == [pytest.approx(lost, rel=1e-3)] * 2


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ((1.0, Status.INFEASIBLE), "no optimal power flow at step 8 "),
        ((0.0, Status.OPTIMAL), "cost of step 8 is zero"),
        ((1e-8, Status.OPTIMAL), "cost of step 8 is zero"),
        ((-1.0, Status.OPTIMAL), None),
        ((1.0, Status.OPTIMAL), None),
    ],
)
def test_an_operator_hears_which_step_has_no_optimum(
    monkeypatch: pytest.MonkeyPatch, ending: tuple[float, Status], words: str | None
) -> None:
    truth = solved(monkeypatch, (100.0, Status.OPTIMAL), ending)
    if words is None:
        truth.require_optima()
    else:
        with pytest.raises(ReleaseError, match=words):
            truth.require_optima()
    alone = solved(monkeypatch, (1.0, Status.INFEASIBLE))
    with pytest.raises(ReleaseError, match=r"no optimal power flow \("):
        alone.require_optima()


def test_sealing_keeps_names_that_fit(tmp_path: Path) -> None:
    case = gv.read_case("case5")
    assert split(case).labels.bus_name is None and split(case).name == case.name and split(gv.load("case5")).name == ""
    names = tuple((f"bus {k}",) for k in range(5))
    named = replace(case, extras={**case.extras, "bus_name": names})
    assert split(named).labels.bus_name == tuple(f"bus {k}" for k in range(5))
    assert split(replace(case, extras={**case.extras, "bus_name": names[:4]})).labels.bus_name is None
    assert json.dumps(repr(split(case))) == '"Sealed(5 buses, 6 lines, 0 of them lossless)"'
