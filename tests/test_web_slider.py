"""Words that follow a slider: what a structure says is worked out once, and is the same as if it were not kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.privacy.ledger import Ledger
from gridveil.publish import elements
from gridveil.publish.elements import KEPT, assets
from gridveil.publish.plan import Plan
from gridveil.publish.preview import preview
from gridveil.report.maps import small_map
from gridveil.wall.protection import Group, Protection
from gridveil.web import opened
from gridveil.web.accounts import SHOWN, nearest
from tests.workbench import workbench

LINES, ALL = Protection({Group.LINES: 0.1}), Protection(dict.fromkeys(Group, 0.1))


def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often elements are listed from now on."""
    seen, real = list[int](), elements.by_element

    def by_element(*given: Any) -> Any:
        seen.append(1)
        return real(*given)

    monkeypatch.setattr(elements, "by_element", by_element)
    return seen


@pytest.mark.parametrize("protect", ["lines", "all"])
@pytest.mark.parametrize("kept", [False, True], ids=["no ledger", "ledger"])
def test_a_slider_lists_elements_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protect: str, kept: bool
) -> None:
    sealed, path = gv.seal("case57_ieee"), tmp_path / "ledger.db"
    if kept:
        Ledger.init(path, 5.0)
    seen = asked(monkeypatch)
    found = [
        preview(sealed, Plan(1.0, alpha / 100, 0.01, protect=protect), Ledger.read(path) if kept else None)
        for alpha in range(1, 11)
    ]
    assert len(seen) <= (2 if kept else 1)  # with a ledger everything is looked for, too: was it protected before?
    assert len({one.after.largest for one in found}) == 1 and {one.after.largest for one in found} != {0.0}


def test_what_is_kept_is_of_its_key_its_network_and_its_groups(tmp_path: Path) -> None:
    one, other = (Ledger.init(tmp_path / name, None) for name in ("a.db", "b.db"))
    structure = gv.seal("case14_ieee").structure
    for _ in range(2):
        found = [assets(ledger, name, structure, None, protection) for ledger in (None, one, other)
                 for name in ("x", "y") for protection in (LINES, ALL)]  # fmt: skip
        fresh = gv.seal("case14_ieee").structure
        for k, (ledger, name, protection) in enumerate(
            (ledger, name, protection)
            for ledger in (None, one, other)
            for name in ("x", "y")
            for protection in (LINES, ALL)
        ):
            wanted = assets(ledger, name, fresh, {1: 1}, protection)  # with an identity map nothing is kept
            assert (found[k].keys, found[k].groups, found[k].name) == (wanted.keys, wanted.groups, name)
        assert len(elements._kept[structure]) == KEPT  # one slider's worth
    assert assets(None, "x", structure).keys != assets(None, "x", gv.seal("case30_ieee").structure).keys


def test_accounts_are_the_same_when_they_are_kept(tmp_path: Path) -> None:
    ledger = Ledger.init(tmp_path / "a.db", 3.0)
    sealed = gv.seal("case14_ieee")
    plan = Plan(1.0, 0.1, 0.01, protect="all")
    ledger.charge(
        assets(ledger, sealed.name, sealed.structure, None, plan.protection), preview(sealed, plan, None).charges[0]
    )
    again = [
        preview(sealed, plan, ledger),
        preview(gv.seal("case14_ieee"), plan, ledger),
        preview(sealed, plan, ledger),
    ]
    for one in again[1:]:
        assert one.after.keys == again[0].after.keys and np.array_equal(one.after.spent, again[0].after.spent)
        assert np.array_equal(one.before.spent, again[0].before.spent) and np.array_equal(
            one.after.limit, again[0].after.limit
        )
    assert again[0].before.largest > 0


def test_the_nearest_accounts_are_those_of_all(tmp_path: Path) -> None:
    """By the names of elements, whatever the ledger calls them, and after what was spent before."""
    ledger, sealed = Ledger.init(tmp_path / "a.db", 3.0), gv.seal("case14_ieee")
    earlier, plan = Plan(0.5, 0.1, 0.01), Plan(1.0, 0.1, 0.01, protect="all")
    known = assets(ledger, sealed.name, sealed.structure, None, earlier.protection)
    ledger.charge(known, preview(sealed, earlier, None).charges[0])
    for book in (None, ledger):
        seen = preview(sealed, plan, book)
        rows = nearest(sealed.structure, seen, book)
        assert len(rows) == SHOWN and rows[0].after == seen.after.largest
        assert [one.after for one in rows] == sorted(seen.after.spent.tolist(), reverse=True)[:SHOWN]
        assert all(one.name.startswith("corridor ") for one in rows) and rows[0].name == "corridor 1–2"
        assert {one.before for one in rows} == {0.0 if book is None else seen.before.largest}
        assert {one.group for one in rows[:1]} == {"impedances and charging of lines"}


@pytest.mark.parametrize(("full", "words"), [(57, "Dots are buses"), (40, "Dots are 40 groups of")])
def test_the_caption_of_the_map_says_what_dots_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: int, words: str
) -> None:
    for module in (small_map, opened):
        monkeypatch.setattr(module, "FULL", full)
    with workbench(tmp_path) as browser:
        browser.desk.lay(name="case57_ieee")
        page = browser.get("/")
        assert words in page.words and page.text.count("<circle") == full
