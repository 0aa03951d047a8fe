"""What a release says and writes, piece by piece: numbers of a plan, words, records, bundles, aimed costs."""

from __future__ import annotations

import io
import stat
import zipfile
from dataclasses import replace
from math import exp, expm1, inf, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil import packing
from gridveil.errors import OtherFormat, PrivacyError, ReleaseError, RepairFailed
from gridveil.grid import LineKind, Network
from gridveil.privacy.chain import Entry
from gridveil.privacy.composition import Within
from gridveil.privacy.ledger import Receipt
from gridveil.publish import archive, bundle
from gridveil.publish.costs import aimed_costs, aimed_losses, copper_plates, fused, nearer, worth_asking
from gridveil.publish.describe import (
    EARLIER_CONDITIONS,
    LOST,
    bared,
    distances,
    file_notes,
    given,
    needs_dispatch,
    scrubbed,
    statement,
    stays_public,
)
from gridveil.publish.describe import within as interval
from gridveil.publish.elements import corridor_buses
from gridveil.publish.manifest import Part, Parts, read_manifest
from gridveil.publish.plan import Plan
from gridveil.publish.record import conditions, earlier_conditions, spent_parts, total_loss, total_spent
from gridveil.publish.refuse import check_network
from gridveil.publish.release import publisher
from gridveil.sealed.split import split
from gridveil.wall.draw import Estimate
from gridveil.wall.facts import Fact, FactKind, Source, declared, private_surcharge
from gridveil.wall.mechanisms import mechanism_words
from gridveil.wall.protection import Group, Protection

PLAN = Plan(1.0, 0.1, 0.01)


# ---- a plan ----


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"beta": 0.999}, {"beta": 1.0}),
        ({"beta": "99.9%"}, {"beta": "100%"}),
        ({"alpha": 10.0}, {"alpha": 10.01}),
        ({"alpha": 11.0, "mechanism": "additive"}, {"alpha": 0.0, "mechanism": "additive"}),
        ({"epsilon": 1e-9}, {"epsilon": 0.0}),
        ({"epsilon": 1e6}, {"epsilon": inf}),
        ({"epsilon": 0.5}, {"epsilon": nan}),
        ({"bound_factor": 1.001}, {"bound_factor": 1.0}),
        ({"bound_factor": 1e6}, {"bound_factor": inf}),
        ({"steps": 1}, {"steps": 0}),
        ({"loss_within": 1.001}, {"loss_within": 1.0}),
        ({"loss_within": 1e6}, {"loss_within": inf}),
        ({"effort": 10.0}, {"effort": 9.9}),
        ({"effort": 1e12}, {"effort": inf}),
        ({"target": "shrunk"}, {"target": "true"}),
        ({"cost": "derived"}, {"cost": "guessed"}),
        ({"published_cost": [5.0]}, {"published_cost": []}),
        ({"published_cost": -1.0}, {"published_cost": 0.0}),
        ({"published_cost": [1.0, 2.0]}, {"published_cost": [1.0, inf]}),
        ({"published_cost": 1.0, "cost": "published"}, {"published_cost": 1.0, "cost": "private"}),
        ({"published_cost": 1.0, "cost": "published"}, {"cost": "published"}),
        ({"cost_share": 0.999}, {"cost_share": 1.0}),
        ({"cost_share": 0.001}, {"cost_share": 0.0}),
        ({"cost_sensitivity": 0.999}, {"cost_sensitivity": 1.0}),
        ({"cost_sensitivity": 0.001}, {"cost_sensitivity": 0.0}),
        ({"cost": "declared", "beta": 0.000501}, {"cost": "declared", "beta": 0.0005002}),
        ({"cost": "declared", "declare_unused": True}, {"cost": "derived", "declare_unused": True}),
        ({"published_cost": 1.0, "declare_unused": True}, {"cost": "private", "declare_unused": True}),
        ({"unattended": True}, {"unattended": True, "mechanism": "paper"}),
        (
            {"unattended": True, "published_cost": 1.0},
            {"unattended": True, "published_cost": 1.0, "declare_unused": True},
        ),
        ({"unattended": True, "cost": "derived"}, {"unattended": True, "cost": "declared"}),
        ({"mechanism": "paper"}, {"mechanism": "laplace"}),
    ],
)
def test_a_plan_is_refused_just_where_it_has_no_meaning(good: dict[str, Any], bad: dict[str, Any]) -> None:
    base: dict[str, Any] = {"epsilon": 1.0, "alpha": 0.1, "beta": 0.01}
    Plan(**base | good)
    with pytest.raises((PrivacyError, ReleaseError)):
        Plan(**base | bad)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_epsilon_has_two_parts(share: float) -> None:
    plan = Plan(2.0, "10%", "2%", cost_share=share, cost_sensitivity=0.01)
    assert (plan.alpha, plan.share) == (0.1, 0.02)
    assert plan.epsilon_cost == 2.0 * share
    assert plan.epsilon_lines + plan.epsilon_cost == 2.0
    assert plan.cost_scale == pytest.approx(0.01 / (2.0 * share))
    for other in ({"cost": "derived"}, {"cost": "declared"}, {"published_cost": 3.0}):
        alone = replace(plan, **other)
        assert (alone.epsilon_cost, alone.epsilon_lines) == (0.0, 2.0)


def test_units_of_alpha_and_beta() -> None:
    assert [Plan(1.0, alpha, 0.01).alpha for alpha in (" 10% ", "0.1", 0.1)] == [0.1] * 3
    assert [Plan(1.0, alpha, 0.01, "additive").alpha for alpha in ("2pu", "2", 2)] == [2.0] * 3
    assert [Plan(1.0, 0.1, beta).share for beta in (" 1% ", "0.01", 0.01)] == [0.01] * 3
    for alpha, mechanism in (("10%", "additive"), ("0.1pu", "log"), ("ten", "log")):
        with pytest.raises(PrivacyError, match="alpha"):
            Plan(1.0, alpha, 0.01, mechanism)
    with pytest.raises(ReleaseError, match="is not a share"):
        Plan(1.0, 0.1, "one")


def test_used_steps_are_equally_spaced() -> None:
    assert PLAN.used(1).tolist() == [0]
    assert PLAN.used(3).tolist() == [0, 1, 2]
    assert replace(PLAN, steps=3).used(5).tolist() == [0, 2, 4]
    assert replace(PLAN, steps=5).used(5).tolist() == [0, 1, 2, 3, 4]
    for plan, horizon in (
        (replace(PLAN, steps=6), 5),
        (replace(PLAN, published_cost=[1.0, 2.0]), 3),
        (replace(PLAN, cost="declared", declare_unused=True), 3),
    ):
        with pytest.raises(ReleaseError):
            plan.used(horizon)
    assert replace(PLAN, steps=2, cost="declared", declare_unused=True).used(3).tolist() == [0, 2]


def test_a_network_without_a_resistance_has_nothing_to_protect() -> None:
    grid, lines = gv.load("case5")
    kind = np.full(grid.n_line, LineKind.LOSSLESS)
    with pytest.raises(ReleaseError, match="no line"):
        check_network(PLAN, split(Network(replace(grid, lines=replace(grid.lines, kind=kind)), lines)))
    kind[3] = LineKind.LOSSY  # one is enough
    check_network(PLAN, split(Network(replace(grid, lines=replace(grid.lines, kind=kind)), lines)))


# ---- what was spent ----


@pytest.mark.parametrize("asked", [False, True])
def test_parts_of_a_loss(asked: bool) -> None:
    plan = Plan(2.0, 0.1, 0.01, cost_share=0.25, cost_sensitivity=0.01)
    parts = spent_parts(plan, 1.5, asked=asked)
    assert parts.lines == Part(1.5, 0.1, "relative", True, 1.5)
    assert parts.cost == Part(0.5, 0.01, "surcharge", asked, 0.5 if asked else None)
    assert total_loss(parts) == (2.0 if asked else 1.5)
    alone = spent_parts(replace(plan, cost="derived"), 2.0, asked=asked)
    assert (alone.lines.epsilon, alone.cost, total_loss(alone)) == (2.0, None, 2.0)


def receipt(entry: int, spent: float = 1.0, limit: float | None = None, *mechanisms: str, **more: Any) -> Receipt:
    return Receipt(entry, "h", 1.0, spent, tuple(Within(one, 1.0, "conductance") for one in mechanisms), limit, **more)


@pytest.mark.parametrize(
    ("spent", "limit", "stated"),
    [
        (3.04, None, 3.1), (3.1, None, 3.1), (0.0301, None, 0.031), (1.0, None, 1.0), (9.91, None, 10.0), (99.5, None, 100.0),
        (12.345, 12.5, 12.5), (12.345, 20.0, 13.0), (0.3, None, 0.3), (0.7, None, 0.7), (1.1, None, 1.1), (2.9, None, 2.9),
    ],
)  # fmt: skip
def test_a_sum_with_a_loss_that_tells_something_is_rounded_up(spent: float, limit: float | None, stated: float) -> None:
    """To two digits, never down, and never beyond the limit; of `paper` itself the loss is stated anyway."""
    assert total_spent(receipt(1, spent, limit, "log", "paper"), "log") == pytest.approx(stated, rel=1e-15)
    assert total_spent(receipt(1, spent, limit, "paper"), "paper") == spent
    assert total_spent(receipt(1, spent, limit, "log", "additive"), "log") == spent


@pytest.mark.parametrize("seed", range(3))
def test_rounding_up_is_never_down_and_by_a_tenth_at_most(seed: int) -> None:
    for spent in np.exp(np.random.default_rng(seed).uniform(-12, 12, 50)).tolist():
        stated = total_spent(receipt(1, spent, None, "paper"), "log")
        assert spent <= stated <= spent * 1.1
        assert float(f"{stated:.1e}") == stated


def test_earlier_conditions_are_those_of_others_and_each_once() -> None:
    def entry(number: int, *given: str) -> Entry:
        return Entry(number, "now", "charge", {"given": list(given), "mechanism": "log"}, "h")

    first, second, third = EARLIER_CONDITIONS[:3]
    before = (
        entry(3, second, first),
        entry(5, second, third),
        Entry(7, "now", "charge", {"mechanism": "cost"}, "h"),
        entry(9, LOST),
    )
    receipts = [receipt(9), receipt(11, earlier=before)]
    lines, more = Protection({Group.LINES: 0.1}), Protection({Group.LINES: 0.1, Group.LOADS: 0.1})
    assert earlier_conditions(receipts, lines) == [first, second, third]
    assert earlier_conditions(receipts[:1], lines) == earlier_conditions([], lines) == []
    # before groups could be chosen, all but lines were left as they are
    assert earlier_conditions(receipts, more) == [first, second, third, bared(Group.LOADS)]


COST = declared(FactKind.COST, 1, 12345.6)


def test_conditions_of_a_release() -> None:
    dispatch = "an optimal power flow at every used step"
    first = "optimal dispatch cost, declared to 4 digits, without noise"
    plan = replace(PLAN, cost="declared")
    bare = ["ratings", "loads", "limits", "costs"]
    assert conditions(plan, [COST]) == {"given": [first, dispatch], "bare": bare, "classes": False}
    assert conditions(PLAN, []) == {"given": [dispatch], "bare": bare, "classes": False}
    nothing = {"given": [], "bare": bare, "classes": False}
    assert conditions(replace(PLAN, unattended=True), []) == conditions(replace(PLAN, cost="derived"), []) == nothing
    assert conditions(replace(PLAN, cost="derived", protect="loads,lines"), [])["bare"] == [
        "ratings",
        "limits",
        "costs",
    ]


# ---- words ----


def test_what_is_given_is_what_has_no_noise() -> None:
    published = Fact(FactKind.COST, 1, 5.0, Source.PUBLISHED)
    lost = [declared(FactKind.LOSSES, step, 0.1) for step in (1, 2)]
    assert given([private_surcharge(0.1, 0.2, 0.0025), Fact(FactKind.COST, 1, 5.0, Source.DERIVED)]) == []
    assert given([published, *lost]) == [
        "optimal dispatch cost, published before",
        "active losses (p.u.) of 2 steps, declared to 4 digits, without noise",
    ]


def test_the_statement_has_the_numbers_of_its_parts() -> None:
    lines = Part(0.8, 0.1, "relative", True, 0.8)
    cost = Part(0.2, 0.0025, "surcharge", True, 0.2)
    text = statement(Parts(lines, cost), [])
    assert "at most 0.8*d/0.1 + 0.2*D/0.0025, where" in text
    assert "a change with d <= 0.1 and D <= 0.0025 is protected by a loss of 1; larger" in text
    assert "both with a dispatch at every used step" in text
    assert "not asked for" not in text and "share" not in text
    unasked = statement(Parts(lines, replace_part(cost, asked=False)), [], dispatch=False)
    assert "at most 0.8*d/0.1, where" in unasked and "d <= 0.1 is protected by a loss of 0.8;" in unasked
    assert "; the dispatch cost was not asked for" in unasked and "both with" not in unasked
    alone = statement(Parts(replace_part(lines, loss=2.5), None), [COST], ["x", "y"])
    assert "at most 2.5*d/0.1, where" in alone and "a loss of 2.5;" in alone and "not asked for" not in alone
    assert "only among networks that share: optimal dispatch cost, declared" in alone
    assert alone.endswith("For all releases together it holds only among networks that share also: x; y.")
    assert statement(Parts(replace_part(lines, loss=None), None), []).count("0.8") == 2
    assert statement(Parts(lines, cost), [], private=False).startswith("Nothing is claimed")


def replace_part(part: Part, **changes: Any) -> Part:
    values = {name: getattr(part, name) for name in Part.__struct_fields__}
    return Part(**values | changes)


@pytest.mark.parametrize("source", list(Source))
@pytest.mark.parametrize("attended", [False, True])
def test_a_dispatch_is_told_only_by_who_asks_for_it(source: Source, attended: bool) -> None:
    assert needs_dispatch(source, attended=attended) is (attended and source is not Source.DERIVED)
    grid = gv.load("case5").grid
    words = stays_public(mechanism_words("log"), grid, source, attended=attended)
    assert any("has an optimal power flow" in one for one in words) is needs_dispatch(source, attended=attended)


def test_what_stays_public_is_said_once() -> None:
    grid, log, additive = gv.load("case5").grid, mechanism_words("log"), mechanism_words("additive")
    lines, cost = Part(0.8, 0.1, "relative", True, 0.8), Part(0.2, 0.0025, "surcharge", True, 0.2)
    base = stays_public(log, grid, Source.PRIVATE)
    asked = stays_public(log, grid, Source.PRIVATE, Parts(lines, cost), ["cost", "log"])
    assert [one for one in asked if one not in base] == [
        "bottlenecks: a corridor whose change moves the dispatch cost by more than 0.25 % is protected less, by a further loss of "
        "0.2 for every 0.25 %"
    ]
    unasked = Parts(lines, replace_part(cost, asked=False))
    assert stays_public(log, grid, Source.PRIVATE, unasked) == base
    (more,) = (one for one in stays_public(log, grid, Source.PRIVATE, unasked, ["cost"]) if one not in base)
    assert more.startswith("bottlenecks") and more.endswith(", by an earlier release of this network")
    before = stays_public(log, grid, Source.PRIVATE, None, ["additive", "log"])
    assert [one for one in before if one not in base] == [
        f"{one}, by an earlier release of this network" for one in additive.left_open
    ]
    own = stays_public(additive, grid, Source.PRIVATE, None, ["additive"])
    assert own == [*base, *additive.left_open]
    both = stays_public(additive, grid, Source.PRIVATE, None, ["additive", "paper"])
    assert len(both) == len(own) + 1 and "exactly, by an earlier" in both[-1]
    kind = grid.lines.kind.copy()
    kind[:2] = LineKind.NEGATIVE_RESISTANCE
    negative = replace(grid, lines=replace(grid.lines, kind=kind))
    assert stays_public(additive, negative, Source.PRIVATE) == [
        *own,
        "all parameters of 2 lines with negative resistance",
    ]
    assert stays_public(log, negative, Source.PRIVATE) == base


def test_small_words() -> None:
    assert interval(1000.4, 2000.0) == "1,000 to 2,000"
    assert interval(None, 2000.0) == "at most 2,000"
    assert interval(1000.0, None) == "at least 1,000"
    assert interval(None, None) == "unknown"
    assert len(file_notes(private=True, step=None)) == 1
    assert "step 7 of" in file_notes(private=True, step=7)[1]
    assert [note.startswith("RESEARCH") for note in file_notes(private=False, step=None)] == [False, True]
    assert "bus names kept" in scrubbed(names_kept=True)[0] and "kept" not in scrubbed(names_kept=False)[0]
    assert (
        distances([(0.1, "relative", {}), (0.1, "relative", {}), (2.0, "surcharge", {})]).count(" and 2 change of") == 1
    )


def test_formats_name_their_readers() -> None:
    def answer(text: str) -> str:
        with pytest.raises(OtherFormat) as found:
            read_manifest(text.encode())
        return str(found.value)

    assert "ask the publisher to write it again" in answer('{"format": "gridveil-release-4"}')
    assert "install the newest" in answer('{"format": "gridveil-release-9"}')
    made = '{"format": "gridveil-release-12", "software": {"gridveil": "1.2.3"}}'
    assert "GridVeil 1.2.3 wrote it" in answer(made)
    assert "ask the publisher" in answer(made.replace("release-12", "release-3"))
    for strange in ('"1.2.3 or else"', "5", '"x1"'):
        assert "install the newest" in answer(made.replace('"1.2.3"', strange))
    for text in (
        '{"format": "gridveil-release-5"}',
        '{"format": "other"}',
        '{"format": "gridveil-release-1234567"}',
        "[]",
    ):
        with pytest.raises(ReleaseError) as found:
            read_manifest(text.encode())
        assert not isinstance(found.value, OtherFormat)


def test_publishers_words_stand_in_a_line() -> None:
    found = publisher("Grid Ltd", "grid@example.org", "CC0")
    assert (found.name, found.contact, found.licence) == ("Grid Ltd", "grid@example.org", "CC0")
    assert publisher("Grid Ltd").contact is None
    for words in ("", "two\nlines", "x" * 1001, "hidden\u200b"):
        with pytest.raises(ReleaseError, match="write them in a line"):
            publisher(words)


# ---- bundles ----

FILES = {"manifest.json": b"{}", "released.m": b"x" * 3000, "certificate.json": b"{ }"}


def test_an_archive_is_its_files_and_nothing_else(tmp_path: Path) -> None:
    data = packing.packed(FILES)
    assert data == packing.packed(dict(reversed(FILES.items())))
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        infos = packed.infolist()
        assert [one.filename for one in infos] == sorted(FILES)
        assert {one.date_time for one in infos} == {(1980, 1, 1, 0, 0, 0)}
        assert {one.compress_type for one in infos} == {zipfile.ZIP_STORED}
        assert {(one.create_system, one.external_attr >> 16) for one in infos} == {(3, stat.S_IFREG | 0o644)}
        assert {one.filename: packed.read(one) for one in infos} == FILES
    (tmp_path / "x.zip").write_bytes(data)
    found = archive.read_bundle(tmp_path / "x.zip")
    assert (dict(found.files), found.faults) == (FILES, ())


@pytest.mark.parametrize("name", ["out", "deep/er/out.zip"])
def test_bundles_are_written_where_they_are_wanted(tmp_path: Path, name: str) -> None:
    target = bundle.check_target(tmp_path / name, force=False)
    bundle.write_files(target, FILES)
    assert dict(archive.read_bundle(target).files) == FILES
    with pytest.raises(ReleaseError, match="exists"):
        bundle.check_target(tmp_path / name, force=False)
    assert bundle.check_target(tmp_path / name, force=True) == target
    bundle.write_files(target, {**FILES, "profile.csv": b"1"}, force=True)
    assert sorted(archive.read_bundle(target).files) == sorted([*FILES, "profile.csv"])
    assert [one.name for one in target.parent.iterdir()] == [target.name]


def test_force_takes_releases_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("x")
    (tmp_path / "half.zip").write_bytes(packing.packed({"released.m": b"x"}))
    (tmp_path / "more.zip").write_bytes(packing.packed({**FILES, "thesis.tex": b"x"}))
    for name in ("file", "folder", "half.zip", "more.zip"):
        with pytest.raises(ReleaseError):
            bundle.check_target(tmp_path / name, force=True)
    (tmp_path / "empty").mkdir()
    assert bundle.check_target(tmp_path / "empty", force=True) == tmp_path / "empty"
    assert bundle.is_archive(tmp_path / "x.ZIP") and not bundle.is_archive(tmp_path / "zip")


@pytest.mark.parametrize(
    ("name", "most"), [("manifest.json", 50), ("certificate.json", 50), ("released.m", 90), ("report.html", 90)]
)
def test_files_may_be_as_large_as_said_and_no_larger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(archive, "LARGEST_TEXT", 50)
    monkeypatch.setattr(archive, "LARGEST_FILE", 90)
    for size in (most, most + 1):
        files = {"manifest.json": b"{}", name: b"x" * size}
        folder, one = tmp_path / str(size), tmp_path / f"{size}.zip"
        bundle.write_files(folder, files)
        bundle.write_files(one, files)
        for path in (folder, one):
            if size > most and name == "manifest.json":
                with pytest.raises(ReleaseError, match="is missing"):
                    archive.read_bundle(path)
            else:
                found = archive.read_bundle(path)
                assert (name in found.files, len(found.faults)) == ((True, 0) if size == most else (False, 1))


def test_names_are_shown_whatever_is_in_them() -> None:
    assert archive.shown("released.m") == "released.m"
    assert archive.shown("a\x1b[31m") == "'a\\x1b[31m'" and archive.shown("é") == "'\\xe9'"
    assert archive.shown("x" * 99) == "x" * 99 and archive.shown("x" * 100) == f"'{'x' * 100}'"
    assert archive.shown("x" * 101) == f"'{'x' * 100}'"


# ---- costs that a repair aims at ----


def estimated(own: float | None, shrunk: float | None, spread: float, *shape: float, losses: Any = (0.02,)) -> Estimate:
    return Estimate(own, shrunk, spread, shape or None, losses)


def test_fusion_weighs_by_inverse_variance() -> None:
    answer = private_surcharge(0.10, 0.2, 0.0025)
    assert answer.scale is not None
    own, noise = 0.02, sqrt(2.0) * answer.scale
    weights = np.array([own**-2, own**-2, noise**-2])
    assert fused(estimated(0.08, 0.11, own), answer) == pytest.approx(weights @ [0.08, 0.11, 0.10] / weights.sum())
    assert fused(estimated(0.08, 0.11, own), None) == pytest.approx(0.095)
    assert fused(estimated(0.08, None, own), None) == pytest.approx(0.08)
    assert fused(estimated(None, 0.11, inf), None) == pytest.approx(0.11)  # unsure, and all there is
    assert fused(estimated(0.08, 0.11, inf), answer) == pytest.approx(0.10)
    assert fused(estimated(0.0, None, own), None) == 0.005  # no dispatch is lossless
    far = fused(estimated(0.9, None, 1e-6), answer)
    assert far == pytest.approx(0.10 + 3 * answer.scale)
    assert fused(estimated(-0.9, None, 1e-6), private_surcharge(0.3, 0.2, 0.0025)) == pytest.approx(
        0.3 - 3 * answer.scale
    )
    with pytest.raises(RepairFailed):
        fused(estimated(None, None, inf), None)


def test_levels_go_towards_the_draw() -> None:
    answer = private_surcharge(0.10, 0.2, 0.0025)
    first = fused(estimated(0.08, None, 0.02), answer)
    found = nearer(first, estimated(0.08, None, 0.02, 0.07, 0.09), answer)
    assert found == pytest.approx([0.5 * (first + 0.08), 0.08])
    assert nearer(first, estimated(0.08, None, 0.02), answer) == []
    assert nearer(0.08, estimated(0.08, None, 0.02, 0.08), None) == []
    assert nearer(first, estimated(0.08, None, 0.02, 0.9), answer)[-2:] == pytest.approx([0.1375, 0.225])
    assert worth_asking(estimated(0.1, None, 0.2), 0.1) and worth_asking(estimated(0.1, None, nan), 0.1)
    assert not worth_asking(estimated(0.1, None, 0.1), 0.1)


def test_aimed_costs_have_the_level_and_the_shape() -> None:
    answer = private_surcharge(0.10, 0.2, 0.0025)
    two = aimed_costs([4, 7], [100.0, 200.0], estimated(0.1, None, 0.1, 0.04, 0.08), None, 0.05)
    assert [(one.kind, one.step, one.source) for one in two] == [
        (FactKind.COST, 4, Source.DERIVED),
        (FactKind.COST, 7, Source.DERIVED),
    ]
    assert [one.value for one in two] == pytest.approx([100 * exp(0.03), 200 * exp(0.07)])
    asked = aimed_costs([4, 7], [100.0, 200.0], estimated(0.1, None, 0.1), answer, 0.05)
    assert asked[0] is answer and [one.value for one in asked[1:]] == pytest.approx([100 * exp(0.05), 200 * exp(0.05)])
    assert {(one.source, one.epsilon, one.scale, one.sensitivity, one.low) for one in asked[1:]} == {
        (Source.PRIVATE, None, answer.scale, 0.0025, None)
    }
    (_, one) = aimed_costs([4], [100.0], estimated(0.1, None, 0.1), answer, 0.05)
    assert answer.low is not None and answer.high is not None
    assert (one.low, one.high) == pytest.approx((100 * exp(answer.low), 100 * exp(answer.high)))


def test_aimed_losses_follow_the_cost() -> None:
    found = aimed_losses([4], estimated(0.1, None, 0.1, 0.04))
    assert [(one.kind, one.step, one.value, one.source) for one in found] == [
        (FactKind.LOSSES, 4, 0.02, Source.DERIVED)
    ]
    for level, own, factor in (
        (0.05, 0.04, expm1(0.05) / expm1(0.04)),
        (0.4, 0.04, 3.0),
        (0.005, 0.4, 1 / 3),
        (0.01, 0.0, 2.0),
    ):
        (one,) = aimed_losses([4], estimated(0.1, None, 0.1, own), level)
        assert one.value == pytest.approx(0.02 * factor, rel=1e-2 if own == 0 else 1e-12)
    assert aimed_losses([4], estimated(0.1, None, 0.1), 0.4)[0].value == 0.02
    for lost in (None, (), (0.02, 0.0), (0.02, -0.01)):
        with pytest.raises(RepairFailed, match="no losses"):
            aimed_losses([4] * len(lost or ()), estimated(0.1, None, 0.1, 0.04, losses=lost))


def test_copper_plates_that_cost_nothing_are_refused() -> None:
    grid = gv.load("case5").grid
    demand: Any = type("Demand", (), {"pd": grid.buses.pd})
    assert copper_plates(grid, [demand]) == pytest.approx([600 * 10 + 40 * 14 + 170 * 15 + 190 * 30])  # of 1,000 MW
    free = replace(grid, cost_p=replace(grid.cost_p, polynomial=0 * grid.cost_p.polynomial))
    with pytest.raises(ReleaseError, match="Nothing was charged"):
        copper_plates(free, [demand])
    much: Any = type("Demand", (), {"pd": 100 * grid.buses.pd})
    with pytest.raises(ReleaseError, match="nothing was charged"):
        copper_plates(grid, [demand, much])


def test_corridors_are_known_by_their_buses() -> None:
    grid = split(gv.load("case5")).structure
    number, lines = grid.buses.number, grid.lines
    pairs = [tuple(sorted((int(number[a]), int(number[b])))) for a, b in zip(lines.bus_from, lines.bus_to, strict=True)]
    assert corridor_buses(grid) == list(dict.fromkeys(pairs))
    a, b = pairs[0]
    renamed = corridor_buses(grid, {a: 100})
    assert renamed[0] == (b, 100) and len(renamed) == len(corridor_buses(grid))
