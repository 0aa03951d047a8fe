"""Accounts by element and group: what they promise, against the losses that mechanisms really have.

Nothing here takes a formula of the ledger's. A mechanism is run on two worlds with a sampler that writes down what it is
asked for; the loss of a Laplace draw is the L1 distance of the two questions over its scale, and there are outcomes that
have it. The worlds differ in one element, in coordinates of its own.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.casefile.to_network import to_network
from gridveil.check.audit import audit
from gridveil.errors import LedgerError
from gridveil.grid import Network, corridors, structure_of
from gridveil.privacy.composition import Accounts, Assets, Charge, Within, accounts
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import Noise
from gridveil.publish import preview
from gridveil.publish.describe import BY_CLASS, BY_PLANT
from gridveil.publish.elements import assets, touched
from gridveil.publish.plan import Plan
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import joint, mechanism
from gridveil.sealed.split import split
from gridveil.wall.numbers import decode, encode, logs, rebuilt
from gridveil.wall.protection import EVERYTHING, Element, Group, Protection, Ratings, groups_of
from gridveil.wall.tables import table

from .conftest import PretendExact

# ---- by hand ----

GROUPS = {"c": ("lines", "ratings"), "d": ("lines", "ratings"), "l": ("loads",)}
alphas_st = st.dictionaries(
    st.sampled_from(["lines", "ratings", "loads"]), st.sampled_from([0.1, 0.3, 1.0]), min_size=1
)
charged_st = st.lists(
    st.tuples(st.lists(st.sampled_from("cdl"), min_size=1, max_size=4), alphas_st, st.sampled_from([0.25, 1.0]),
              st.sampled_from(["relative", "surcharge"])),
    min_size=1, max_size=6,
)  # fmt: skip


@given(charged_st)
def test_accounts_by_group_are_what_the_definition_says(
    made: list[tuple[list[str], dict[str, float], float, str]],
) -> None:
    """For each group of each asset the sum over the releases that protected it, each at the largest α of the group;
    for figures at the largest of all."""
    charged = [(Assets("", tuple(keys)), Charge(loss, min(alphas.values()), unit, unit, alphas))
               for keys, alphas, loss, unit in made]  # fmt: skip
    network = Assets("", tuple(GROUPS), tuple(GROUPS.values()))
    found = accounts(network, charged, [])
    assert list(zip(found.keys, found.groups, strict=True)) == [(key, group) for key in GROUPS for group in GROUPS[key]]
    counted = [(keys, group, alphas[group], loss, unit) for keys, alphas, loss, unit in made for group in alphas
               if any(group in GROUPS[key] for key in keys)]  # fmt: skip
    top = {(unit, group): max(a for _, g, a, _, u in counted if u == unit and (g == group or unit == "surcharge"))
           for _, group, _, _, unit in counted}  # fmt: skip
    for key, group, spent in zip(found.keys, found.groups, found.spent, strict=True):
        mine = [one for one in counted if one[1] == group and key in one[0]]
        want = sum(keys.count(key) * loss * top[unit, group] / alpha for keys, _, alpha, loss, unit in mine)
        assert spent == pytest.approx(want)
    whole = accounts(replace(network, groups=()), charged, [])
    assert whole.keys == tuple(GROUPS)  # who does not tell groups apart counts every charge, at its least α


def test_a_charge_says_its_least_change(tmp_path: Path) -> None:
    book = Ledger.init(tmp_path / "l.db")
    one = book.assets("n", ["x"], [("lines", "ratings")])
    with pytest.raises(LedgerError, match="not the least"):
        book.charge(one, Charge(1.0, 0.3, "relative", "joint", {"lines": 0.3, "ratings": 0.1}))
    with pytest.raises(LedgerError, match="both must be positive"):
        book.charge(one, Charge(1.0, 0.1, "relative", "joint", {"lines": float("nan"), "ratings": 0.1}))
    book.charge(one, Charge(1.0, 0.1, "relative", "joint", {"lines": 0.3, "ratings": 0.1}))
    entries = book.entries()
    assert [entry.kind for entry in entries] == ["limit", "network", "charge"]  # one draw is one entry
    assert entries[-1].details["groups"] == {"lines": 0.3, "ratings": 0.1}
    assert book.accounts(one).spent.tolist() == [1.0, 1.0]
    assert book.accounts(one).within == (Within("joint", 0.1, "relative", {"lines": 0.3, "ratings": 0.1}),)


def test_entries_of_earlier_versions_count_as_they_did(tmp_path: Path) -> None:
    """They have one α and no groups: a whole element is counted as before, and a group by what they left bare."""
    book = Ledger.init(tmp_path / "l.db", 100.0)
    key = book._chain.keyed
    bare = {"joint": ["loads", "limits", "costs"], "log": ["ratings", "loads", "limits", "costs"]}
    with book._chain.appending() as (connection, _):
        names = [key("asset", "corridor 1 2"), key("asset", "plant 3")]
        at = book._chain.append(
            connection, "network", {"name": "n", "base": None, "added": names, "removed": []}
        ).number
        for name, loss, alpha, unit, more in (
            ("log", 1.0, 0.1, "relative", {}),
            ("cost", 0.2, 0.0025, "surcharge", {}),
            ("joint", 0.5, 0.1, "relative", {"bare": bare["joint"]}),
            ("totals", 0.1, 0.0025, "total", {}),
        ):
            said = {"loss": loss, "alpha": alpha, "unit": unit, "mechanism": name, "network": at, **more}
            book._chain.append(connection, "charge", said)
    whole = book.accounts(book.assets("n", ["corridor 1 2", "plant 3"]))
    assert whole.spent.tolist() == pytest.approx([1.8, 1.8])  # as the versions that wrote them say
    found = book.accounts(book.assets("n", ["corridor 1 2"], [("lines", "ratings")]))
    assert found.spent.tolist() == pytest.approx([1.8, 0.6])  # log left ratings bare, and so did its question
    book.charge(book.assets("n", ["corridor 1 2"], [("lines",)]), Charge(1.0, 0.3, "relative", "log", {"lines": 0.3}))
    found = book.accounts(book.assets("n", ["corridor 1 2"], [("lines", "ratings")]))
    assert found.spent.tolist() == pytest.approx([1.0 + 3.0 + 1.5 + 0.3, 0.6])


def test_a_group_that_was_changed_in_an_entry_is_named(tmp_path: Path) -> None:
    book = Ledger.init(tmp_path / "l.db")
    one = book.assets("n", ["x"], [("lines", "ratings")])
    book.charge(one, Charge(1.0, 0.1, "relative", "joint", {"lines": 0.3, "ratings": 0.1}))
    with book._chain.reading() as connection:
        body = connection.execute("SELECT body FROM entries WHERE id = 3").fetchone()[0]
    for forged in (body.replace('"ratings": 0.1', '"ratings": 9.1'), body.replace('"lines": 0.3, ', "")):
        with closing(sqlite3.connect(book.path)) as connection, connection:
            connection.execute("DROP TRIGGER IF EXISTS entries_stay")
            connection.execute("UPDATE entries SET body = ? WHERE id = 3", (forged,))
        with pytest.raises(LedgerError, match=r"entry 3 of .* was changed"):
            book.entries()


CHARGING = """
import sys
from gridveil.privacy.composition import Charge
from gridveil.privacy.ledger import Ledger
book = Ledger.open(sys.argv[1])
one = book.assets("n", ["a", "b", "c"], [("lines", "ratings"), ("loads",), ("limits", "costs")])
alphas = {"lines": 0.3, "ratings": 0.1, "loads": 0.3, "limits": 0.3, "costs": 0.3}
print("ready", flush=True)
while True:
    book.charge(one, Charge(0.001, 0.1, "relative", "joint", alphas))
    print("charged", flush=True)
"""


def test_a_kill_leaves_no_part_of_a_charge(tmp_path: Path) -> None:
    """At random instants: every charge that was said is there, with all its groups; one more at most, and never a part
    of one. The environment's KILLS says how often."""
    path, order, said = tmp_path / "l.db", random.Random(15), 0
    Ledger.init(path, None)
    for _ in range(int(os.environ.get("KILLS", "6"))):
        with subprocess.Popen([sys.executable, "-c", CHARGING, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            sleep(order.uniform(0.0, 0.06))
            process.kill()
            said += process.stdout.read().count(b"charged")
        book = Ledger.open(path)
        entries = [entry.details for entry in book.verify() if entry.kind == "charge"]
        assert said <= len(entries) <= said + 1
        said = len(entries)
        assert all(sorted(one["groups"]) == ["costs", "limits", "lines", "loads", "ratings"] for one in entries)
        spent = book.accounts(book.assets("n", ["a", "b"], [("lines", "ratings"), ("loads",)])).spent
        assert spent.tolist() == pytest.approx([0.001 * said] * 3)
    assert said > 0


# ---- against the mechanisms ----


class Asked(Noise):
    """Answers with the question itself and keeps it, with the scale of the noise that was asked for."""

    private = False
    description = "none"

    def __init__(self) -> None:
        self.questions: list[FloatArray] = []

    def prepare(self) -> None:
        """It is ready."""

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        self.questions.append(values * epsilon / sensitivity)
        return values


def questions(world: Network, plan: Plan) -> list[FloatArray]:
    """What a release asks of a world, in units of its noise."""
    noise, sealed = Asked(), split(world)
    if plan.joint:
        joint.perturb(sealed, plan.protection, plan.epsilon_lines, noise)
    else:
        mechanism(plan.mechanism).perturb(sealed, plan.epsilon_lines, float(plan.alpha), noise)
    return noise.questions


def true_loss(one: Network, other: Network, plan: Plan) -> float:
    """The largest change of ln(odds) that any outcome of the draw has: the sampler's own scale, no ledger's word."""
    pairs = zip(questions(one, plan), questions(other, plan), strict=True)
    return sum(float(np.abs(a - b).sum()) for a, b in pairs)


def own_distances(one: Network, other: Network, plan: Plan) -> dict[str, float]:
    """By group, how far two worlds are apart in the coordinates of a release: relative, not in units of its α."""
    protection = plan.protection
    made = table(one, protection)
    change = np.abs(encode(made, logs(one)) - encode(made, logs(other)))
    groups = list(Group)
    return {str(group): float(change[made.group == groups.index(group)].sum()) for group in protection.groups}


PLANS = (
    Plan(1.0, 0.1, 0.01),
    Plan(0.7, 0.3, 0.01, cost="derived"),
    Plan(1.0, 0.3, 0.01, protect="all", alphas={"ratings": 0.1}, cost="derived", totals="derived"),
    Plan(0.5, 0.1, 0.01, protect="all", alphas={"costs": 1.0, "loads": 0.6}, cost="derived", totals="derived"),
    Plan(2.0, 0.2, 0.01, protect="lines,ratings", alphas={"ratings": 1.0}, ratings="with-impedance", cost="derived"),
    Plan(0.9, 0.2, 0.01, protect="loads,limits", alphas={"limits": 0.05}, cost="derived", totals="derived"),
    Plan(0.4, 0.5, 0.01, protect="limits,costs", alphas={"costs": 0.1}, cost="derived", totals="derived"),
)


def parallel() -> Network:
    """Five buses with a corridor of two lines of about one rating, and one of two of equal ones: twins of `log` alone,
    and of all."""
    case = gv.read_case("case5")
    branch = np.array(case.branch)
    first, second = branch[0].copy(), branch[1].copy()
    branch[:, 5] = np.where(branch[:, 5] == 0, 300.0, branch[:, 5])
    first[5], second[5] = 1.2 * branch[0, 5], branch[1, 5]
    first[2:5] *= 1.1
    return to_network(replace(case, branch=np.vstack([branch, first, second])))


WORLD = parallel()


def moved(world: Network, element: tuple[Element, int], change: Sequence[float], groups: set[Group]) -> Network | None:
    """The world in which an element's coordinates of these groups are other; `None` if it has none of them."""
    protection = Protection(dict.fromkeys(groups, 1.0))
    made, known = table(world, protection), logs(world)
    u, all_groups = encode(made, known), list(Group)
    kinds = {group: kind for kind in Element for group in groups_of(kind) if kind is not Element.COST_CLASS}
    own = [i for i in range(made.size) if (kinds[all_groups[made.group[i]]], int(made.element[i])) == element]
    if not own:
        return None
    u[own] += np.resize(np.array(change), len(own))
    return rebuilt(made, decode(made, u, known), world)


def key_of(element: tuple[Element, int], world: Network) -> str:
    structure, (kind, number) = structure_of(world.grid), element
    if kind is Element.CORRIDOR:
        line = int(np.flatnonzero(corridors(world.grid) == number)[0])
        ends = sorted(
            int(structure.buses.number[end[line]]) for end in (world.grid.lines.bus_from, world.grid.lines.bus_to)
        )
        return f"corridor {ends[0]} {ends[1]}"
    return f"{kind} {int(structure.buses.number[number])}"


def counted(book: Ledger, plans: Sequence[Plan]) -> Accounts:
    """A ledger's accounts of all groups after the draws of several plans, charged as a release charges them."""
    sealed = split(WORLD)
    for plan in plans:
        one = assets(book, "n", sealed.structure, None, plan.protection)
        book.charge(one, preview.charges(plan, plan.epsilon_lines)[0], binding=False)
    return book.accounts(assets(book, "n", sealed.structure, None, EVERYTHING))


def beyond(book: Ledger, plans: Sequence[Plan], element: tuple[Element, int], change: Sequence[float]) -> float:
    """By how much the losses of all draws together exceed what the ledger says of two worlds: never more than nothing.

    Worlds that a release tells apart by what it leaves as it is are no neighbours; such groups stay as they are.
    """
    found = counted(book, plans)
    hidden = {group for group in groups_of(element[0]) if all(group in plan.protection for plan in plans)}
    other = moved(WORLD, element, change, hidden) if hidden else None
    if other is None:
        return -np.inf
    loss = sum(true_loss(WORLD, other, plan) for plan in plans)
    key = book.assets("", [key_of(element, WORLD)]).keys[0]
    spent = {group: s for k, group, s in zip(found.keys, found.groups, found.spent.tolist(), strict=True) if k == key}
    assert set(spent) >= {str(one) for one in hidden}
    # the change in units of what each group is counted up to, by the largest of the releases' own distances
    apart = [own_distances(WORLD, other, plan) for plan in plans]
    reach = {str(group): max(said.groups.get(group, said.alpha) for said in found.within) for group in hidden}
    share = {group: max(one[group] for one in apart) / reach[group] for group in reach}
    by_parts = sum(share[group] * spent[group] for group in share)
    at_most = max(spent[group] for group in share) * sum(share.values())
    assert by_parts <= at_most * (1 + 1e-12)
    return float(loss - by_parts)


changes_st = st.lists(st.floats(-0.5, 0.5).map(lambda one: round(one, 3)), min_size=1, max_size=8).filter(any)
elements_st = st.one_of(
    st.tuples(st.just(Element.CORRIDOR), st.integers(0, 5)),
    st.tuples(st.just(Element.LOAD), st.integers(0, 4)),
    st.tuples(st.just(Element.PLANT), st.integers(0, 4)),
)


@given(st.lists(st.sampled_from(PLANS), min_size=1, max_size=4), elements_st, changes_st)
def test_no_account_is_below_the_true_loss(
    tmp_path_factory: pytest.TempPathFactory, plans: list[Plan], element: tuple[Element, int], change: list[float]
) -> None:
    book = Ledger.init(tmp_path_factory.mktemp("l") / "l.db", None)
    assert beyond(book, plans, element, change) <= 1e-9


def test_accounts_are_reached(tmp_path: Path) -> None:
    """Not only an upper bound: a change of one group alone loses all that its account says, whatever the releases."""
    plans = [PLANS[2], PLANS[3], PLANS[2]]
    for number, element in enumerate([(Element.LOAD, 1), (Element.CORRIDOR, 3)]):
        book = Ledger.init(tmp_path / f"{number}.db", None)
        assert beyond(book, plans, element, [0.1]) == pytest.approx(0.0, abs=1e-9)
    found = counted(Ledger.init(tmp_path / "l.db", None), [PLANS[2]])
    assert found.spent.tolist() == pytest.approx([1.0] * len(found.keys))  # by itself a release costs its ε everywhere
    after = counted(Ledger.init(tmp_path / "m.db", None), [PLANS[2], PLANS[2], PLANS[1]])
    by_group = dict(zip(after.groups, after.spent.tolist(), strict=True))
    assert by_group == pytest.approx({"lines": 2.7, "ratings": 2.0, "loads": 2.0, "limits": 2.0, "costs": 2.0})


@pytest.mark.parametrize(
    "wrong",
    [lambda alphas: dict.fromkeys(alphas, max(alphas.values())), lambda alphas: {"lines": min(alphas.values())},
     lambda alphas: {group: 2 * alpha for group, alpha in alphas.items()}],
    ids=["another kind's larger α", "lines alone", "twice the α"],
)  # fmt: skip
def test_a_charge_at_another_change_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: object) -> None:
    """Planted: the accounts of what such charges say lie below the true losses."""
    honest = preview.charges

    def planted(plan: Plan, loss: float) -> list[Charge]:
        first, *others = honest(plan, loss)
        alphas = wrong(first.groups)  # type: ignore[operator]
        return [first._replace(groups=alphas, alpha=min(alphas.values())), *others]

    monkeypatch.setattr(preview, "charges", planted)
    book = Ledger.init(tmp_path / "l.db", None)
    elements = [(Element.CORRIDOR, 2), (Element.LOAD, 1), (Element.PLANT, 0)]
    assert max(beyond(book, [PLANS[3], PLANS[3]], element, [0.1]) for element in elements) > 0.1


@given(st.integers(0, 5), changes_st)
def test_where_ratings_are_secret_lines_are_no_nearer_than_for_log(corridor: int, change: list[float]) -> None:
    """Twins by equal ratings are twins by about equal ones: `joint` never counts a change of lines as less than `log`
    does. Hence an account of both holds for changes up to so much by the distance of `joint`."""
    other = moved(WORLD, (Element.CORRIDOR, corridor), change, {Group.LINES})
    assert other is not None
    log, both = (own_distances(WORLD, other, plan)["lines"] for plan in (PLANS[0], PLANS[2]))
    assert log <= both + 1e-12


def test_twins_of_log_alone_are_farther_apart_for_joint() -> None:
    """Both lines ten per cent longer are one change for `log`, and two where their ratings are secret: which is why the
    claim is by each release's own distance, and no factor turns one into the other."""
    longer, turned = (moved(WORLD, (Element.CORRIDOR, 0), some, {Group.LINES, Group.RATINGS})
                      for some in ([0.1, 0.1] + [0.0] * 6, [0.1, -0.1] + [0.0] * 6))  # fmt: skip
    assert longer is not None and turned is not None
    assert own_distances(WORLD, longer, PLANS[0])["lines"] == pytest.approx(0.1)
    assert own_distances(WORLD, longer, PLANS[2])["lines"] == pytest.approx(0.2)
    assert own_distances(WORLD, turned, PLANS[0])["lines"] == pytest.approx(0.0)
    assert own_distances(WORLD, turned, PLANS[2])["lines"] == pytest.approx(0.2)


def test_classes_charge_every_plant_of_theirs(tmp_path: Path) -> None:
    """A change of a whole class is one of several plants: their accounts together are no less than its loss."""
    case = gv.read_case("case5")
    cost = np.array(case.gencost)
    cost[:] = cost[0]
    world = to_network(replace(case, gencost=cost))
    plans = [Plan(1.0, 0.3, 0.01, protect="limits,costs", alphas={"costs": 0.1}, cost="derived", totals="derived",
                  classes=classes) for classes in (True, False)]  # fmt: skip
    made, known = table(world, plans[0].protection), logs(world)
    u = encode(made, known)
    u[made.group == list(Group).index(Group.COSTS)] += 0.1
    other = rebuilt(made, decode(made, u, known), world)
    loss = sum(true_loss(world, other, plan) for plan in plans)
    book, structure = Ledger.init(tmp_path / "l.db", None), structure_of(world.grid)
    for plan in plans:
        network = assets(book, "n", structure, None, plan.protection)
        book.charge(network, preview.charges(plan, plan.epsilon_lines)[0], binding=False)
    found = book.accounts(assets(book, "n", structure))
    costs = [spent for group, spent in zip(found.groups, found.spent.tolist(), strict=True) if group == "costs"]
    assert len(costs) == len(set(world.grid.generators.bus.tolist())) and min(costs) == pytest.approx(2.0)
    number = int(np.count_nonzero(u - encode(made, known)))
    assert 0 < loss <= number * sum(costs)


def test_what_is_touched_has_every_group_of_its_kind() -> None:
    """A corridor without a rating has an account of it all the same: questions are charged to every group alike."""
    some = Protection({Group.LINES: 0.1, Group.RATINGS: 0.1, Group.COSTS: 0.1}, Ratings.OWN)
    found = touched(structure_of(gv.load("case14").grid), None, some)
    assert set(zip((name.split()[0] for name in found.names), found.groups, strict=True)) == {
        ("corridor", ("lines", "ratings")), ("plant", ("costs",)),
    }  # fmt: skip


# ---- what a manifest says of it ----

GOLDEN = Path(__file__).parent / "golden" / "gridveil-release-8" / "joint"
FORGED: dict[str, Callable[[Any], object]] = {
    "as it is": lambda joint: None,
    "less than this release's own": lambda joint: joint["groups"].update(ratings=0.05),
    "a group left out": lambda joint: joint["groups"].pop("loads"),
    "another least": lambda joint: joint.update(alpha=0.3),
    "another order": lambda joint: joint.update(groups=dict(reversed(joint["groups"].items()))),
    "one α in a list": lambda joint: joint.update(alpha=0.3, groups=dict.fromkeys(joint["groups"], 0.3)),
    "larger changes for the same loss": lambda joint: joint["groups"].update(loads=30.0),
    "no groups": lambda joint: joint.update(groups={}),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_a_manifest_says_of_groups_can_be_no_other(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(GOLDEN, tmp_path / "bundle"))
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    before = (folder / "manifest.json").read_bytes()
    FORGED[name](next(one for one in record["privacy"]["cumulative_within"] if one["mechanism"] == "joint"))
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    assert (text.encode() == before) is (name == "as it is")
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    assert gv.verify(folder, quick=True).passed is (name == "as it is")


def test_a_release_is_audited_with_the_groups_of_its_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry, the α of every group in it; a release whose entry has others is found."""
    book = Ledger.init(tmp_path / "l.db")
    plan = Plan(1.0, 0.3, 0.05, protect="all", alphas={"ratings": 0.1}, cost="derived", totals="derived")
    honest = preview.charges
    for number, wrong in enumerate((False, True)):
        if wrong:
            monkeypatch.setattr(
                "gridveil.publish.pipeline.charges",
                lambda plan, loss: [one._replace(groups={**one.groups, "loads": 0.6}) for one in honest(plan, loss)],
            )
        made = gv.release(gv.seal("case5"), plan, book, PretendExact(number), workshop=Workshop, confirmed=True)
        made.write(tmp_path / str(number))
        found = {one.question: one.passed for one in audit(tmp_path / str(number), book, gv.read_case("case5"))}
        assert found["charged as stated"] is not wrong, found
        assert wrong or found["totals of the ledger"]


def test_costs_by_class_and_by_plant_are_not_the_same_secret(tmp_path: Path) -> None:
    """Planted by the worlds: a class of which one plant has another curve is told by a release by class, and a change of
    a whole class loses its ε for each plant in one by plant. Later manifests of the other kind say it; of the same,
    nothing."""
    case = gv.read_case("case5")
    cost = np.array(case.gencost)
    cost[:] = cost[0]
    world = to_network(replace(case, gencost=cost))
    by_class, by_plant = (gv.Plan(1.0, 0.1, 0.05, protect="costs", cost="derived", totals="derived", classes=classes)
                          for classes in (True, False))  # fmt: skip
    made, known = table(world, by_plant.protection), logs(world)
    u = encode(made, known)
    all_of_class = rebuilt(made, decode(made, u + 0.1 * (made.pivot < 0), known), world)
    assert true_loss(world, all_of_class, by_class) == pytest.approx(1.0)
    assert true_loss(world, all_of_class, by_plant) > 2.0  # beyond what one account has: the condition is needed
    said = {}
    for first, second in ((by_class, by_plant), (by_plant, by_class), (by_class, by_class), (by_plant, by_plant)):
        book = Ledger.init(tmp_path / f"{first.classes}{second.classes}.db")
        for seed, plan in enumerate((first, second)):
            last = gv.release(split(world), plan, book, PretendExact(seed), workshop=Workshop, confirmed=True)
        said[first.classes, second.classes] = last.manifest.privacy.given_before
        bundle = last.write(tmp_path / f"{first.classes}{second.classes}")
        assert gv.verify(bundle, quick=True).passed
        found = {one.question: one for one in audit(bundle, book, replace(case, gencost=cost))}
        assert found["totals of the ledger"].passed
    assert said == {(True, False): [BY_CLASS], (False, True): [BY_PLANT], (True, True): [], (False, False): []}


WITH_Z = Plan(1.0, 0.1, 0.01, protect="lines,ratings", ratings="with-impedance", cost="derived")
BY_THEMSELVES = Plan(1.0, 0.1, 0.01, protect="lines,ratings", alphas={"ratings": 0.02}, cost="derived")


@pytest.mark.parametrize(
    ("earlier", "last"),
    [(WITH_Z, PLANS[0]), (PLANS[4], PLANS[0]), (WITH_Z, BY_THEMSELVES), (BY_THEMSELVES, WITH_Z), (WITH_Z, WITH_Z)],
)
def test_ratings_in_two_ways_are_counted_in_the_way_of_who_asks(tmp_path: Path, earlier: Plan, last: Plan) -> None:
    """An impedance that changes alone, in the last release's own coordinates: its account says no less than both
    releases lose; and, without the other way, less, which is what must not be."""
    structure, corridor = structure_of(WORLD.grid), (Element.CORRIDOR, 3)
    made, known = table(WORLD, last.protection), logs(WORLD)
    u, kind = encode(made, known), list(Group).index(Group.LINES)
    own = np.flatnonzero((made.group == kind) & (made.element == corridor[1]))[0]
    assert made.pivot[own] < 0  # ln|z|
    one, other = (
        rebuilt(made, decode(made, u + more * (np.arange(len(u)) == own), known), WORLD) for more in (0, 0.05)
    )
    loss = sum(true_loss(one, other, plan) for plan in (earlier, last))

    def said(book: Ledger, **forgotten: Any) -> float:
        for plan in (earlier, last):
            charge = preview.charges(plan, plan.epsilon_lines)[0]._replace(**forgotten)
            book.charge(assets(book, "n", structure, None, plan.protection), charge, binding=False)
        found = book.accounts(assets(book, "n", structure, None, last.protection))
        key = book.assets("", [key_of(corridor, WORLD)]).keys[0]
        at = next(i for i, one in enumerate(found.keys) if (one, found.groups[i]) == (key, "lines"))
        reach = max(one.groups.get("lines", one.alpha) for one in found.within)
        return float(found.spent[at] * 0.05 / reach)

    honest, planted = (
        said(Ledger.init(tmp_path / "l.db", None)),
        said(Ledger.init(tmp_path / "m.db", None), otherwise={}),
    )
    if earlier.ratings == last.ratings:  # the release's own distance has the ratings, in an account of theirs
        assert honest == planted
    else:
        assert loss == pytest.approx(honest)
        assert loss > 1.01 * planted


def test_no_account_is_below_the_true_loss_where_ratings_move_with_impedances(tmp_path: Path) -> None:
    for number, plans in enumerate(([PLANS[0], PLANS[4]], [PLANS[4], PLANS[2]], [PLANS[4]], [WITH_Z, BY_THEMSELVES])):
        for corridor in range(6):
            book = Ledger.init(tmp_path / f"{number}-{corridor}.db", None)
            assert beyond(book, plans, (Element.CORRIDOR, corridor), [0.1]) <= 1e-9
