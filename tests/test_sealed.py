"""What is secret is so by its type: a sealed network shows its structure, and no number of any group to anyone."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.errors import WallBreach
from gridveil.grid import Network, Structure, structure_of
from gridveil.grid.profile import Profile, scaled
from gridveil.privacy.noise import SeededNoise
from gridveil.publish import pipeline
from gridveil.repair.child import ChildWorkshop
from gridveil.sealed.facts import Truth
from gridveil.sealed.horizon import public_horizon
from gridveil.sealed.mechanisms import joint, mechanism
from gridveil.sealed.split import Sealed, split
from gridveil.wall.codec import pack, to_json, to_plain, unpack
from gridveil.wall.cost_numbers import cost_numbers
from gridveil.wall.draw import Fidelity
from gridveil.wall.horizon import Shape
from gridveil.wall.protection import EVERYTHING, Group, Protection

from .test_joint import bundles, other_secret

PACKAGE = Path(gv.__file__).parent
GRID_GROUPS = [group for group in Group if group is not Group.LINES]
MARK = 1.2345678901
"""Makes every number one that nobody else has."""


def numbers_of(network: Network, group: Group) -> FloatArray:
    """The finite numbers of a group, other than zero."""
    grid, lines = network
    units = grid.generators
    found = {
        Group.LINES: [lines.g, lines.b, lines.bc],
        Group.RATINGS: [grid.lines.rating],
        Group.LOADS: [grid.buses.pd, grid.buses.qd],
        Group.LIMITS: [units.pmin, units.pmax, units.qmin, units.qmax],
        Group.COSTS: [cost_numbers(grid.cost_p)],
    }[group]
    values: FloatArray = np.concatenate(found)
    return np.asarray(values[np.isfinite(values) & (values != 0)])


def marked() -> Network:
    """A network in which every number that may be protected is unmistakable."""
    grid, lines = gv.load("case14")
    made = {name: MARK * getattr(grid.buses, name) for name in ("pd", "qd")}
    units = {name: MARK * getattr(grid.generators, name) for name in ("pmin", "pmax", "qmin", "qmax")}
    return Network(
        replace(
            grid,
            buses=replace(grid.buses, **made),
            generators=replace(grid.generators, **units),
            lines=replace(grid.lines, rating=MARK * grid.lines.rating),
            cost_p=grid.cost_p.over(1 / MARK),
        ),
        gv.LineParameters(MARK * lines.g, MARK * lines.b, MARK * lines.bc),
    )


def met(thing: Any, depth: int = 5) -> Iterator[float]:
    """Every number that a walk over attributes, entries and arrays comes to, as a debugger or a serialiser walks."""
    if isinstance(thing, float | int | np.number):
        yield float(thing)
    elif isinstance(thing, np.ndarray):
        yield from thing.astype(float).ravel().tolist()
    elif isinstance(thing, tuple | list):
        yield from chain.from_iterable(met(one, depth - 1) for one in thing)
    elif depth and not (callable(thing) or isinstance(thing, str | bytes | type)):
        for name in dir(thing):
            if not name.startswith("__"):
                yield from met(getattr(thing, name), depth - 1)


def shows(thing: Any, network: Network, group: Group) -> bool:
    seen = np.array(sorted(set(met(thing))))
    return bool(np.isin(numbers_of(network, group), seen).any())


# ---- structure ----


def same(one: Structure, other: Structure) -> bool:
    parts: list[tuple[Any, Any]] = [
        (one.buses, other.buses),
        (one.generators, other.generators),
        (one.lines, other.lines),
    ]
    return one.base_mva == other.base_mva and all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name))
        for a, b in parts
        for field in dataclasses.fields(a)
    )


@pytest.mark.parametrize("group", list(Group))
def test_structure_has_no_number_of_any_group(group: Group) -> None:
    network = gv.load("case14")
    assert same(structure_of(network.grid), structure_of(other_secret(network, group).grid))
    assert not shows(structure_of(marked().grid), marked(), group)


def test_structure_that_had_a_number_would_be_found() -> None:
    """Planted bug: numbers of each group in the place of their signs."""
    network, other = marked(), other_secret(marked(), *Group)

    def leaking(grid: gv.Grid, group: Group) -> Structure:
        made = structure_of(grid)
        if group is Group.RATINGS:
            return replace(made, lines=replace(made.lines, tap=grid.lines.rating))
        if group is Group.LOADS:
            return replace(made, buses=replace(made.buses, qd_sign=grid.buses.qd))
        if group is Group.LIMITS:
            return replace(made, generators=replace(made.generators, pmax_sign=grid.generators.pmax))
        return replace(made, generators=replace(made.generators, cost_sign=grid.cost_p.polynomial))

    for group in GRID_GROUPS:
        assert not same(leaking(network.grid, group), leaking(other.grid, group)), group
        assert shows(leaking(network.grid, group), network, group), group


@pytest.mark.parametrize("name", ["case5", "case14", "case30", "case118"])
def test_noise_never_changes_the_structure(name: str) -> None:
    network = gv.load(name)
    for seed in range(3):
        drawn = joint.perturb(split(network), EVERYTHING, 1.0, SeededNoise(seed))
        assert same(structure_of(drawn.grid), structure_of(network.grid))


def test_structure_counts_and_tells_what_there_is(tiny: Callable[..., gv.Case]) -> None:
    case = tiny(
        ("	2	1	90	30", "	2	1	-90	0"),
        ("0.12	0.03	150", "0.12	0.03	0"),
        ("100	1	80	0;", "100	1	Inf	-5;"),
    )
    found = split(case).structure
    assert repr(found) == "Structure(3 buses, 2 generators, 3 lines)"
    assert found.buses.pd_sign.tolist() == [0, -1, 1] and found.buses.qd_sign.tolist() == [0, 0, 1]
    assert found.lines.rated.tolist() == [True, False, True]
    assert found.generators.pmax_sign.tolist() == [1, np.inf] and found.generators.pmin_sign.tolist() == [0, -1]
    assert found.generators.cost_sign.tolist() == [[1, 1, 1], [0, 1, 1]]
    assert not found.generators.piecewise.any() and not found.generators.reactive.any()
    assert found.buses.bs.tolist() == [0, 0, 0.05] and found.lines.tap.tolist() == [1, 0.98, 1]
    with pytest.raises(ValueError, match="read-only"):
        found.buses.pd_sign[0] = 1


# ---- the door ----


def test_a_sealed_network_counts_what_is_public_of_it() -> None:
    assert repr(split(gv.load("case118"))) == "Sealed(118 buses, 186 lines, 9 of them lossless)"


@pytest.mark.parametrize("group", list(Group))
def test_no_number_of_a_sealed_network_is_met(group: Group) -> None:
    network = marked()
    sealed = split(network)
    assert not shows(sealed, network, group)
    words = " ".join([repr(sealed), str(sealed), f"{sealed}", str(inspect.getmembers(sealed)), str(dir(sealed))])
    assert not [one for one in numbers_of(network, group).tolist() if f"{abs(one):.4g}" in words]
    # planted bugs: an open grid, open lines, and a network in a list are met
    for leaking in ({"grid": network.grid, "lines": network.lines}, {"kept": [network]}):
        assert shows(SimpleNamespace(structure=sealed.structure, **leaking), network, group)


REFUSED: tuple[Callable[[Any], object], ...] = (
    *(lambda one, protocol=protocol: pickle.dumps(one, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
    copy.copy,
    copy.deepcopy,
    list,
    tuple,
    lambda one: one == one,  # noqa: PLR0124
    lambda one: one != split(gv.load("case5")),
    lambda one: one < one,  # noqa: PLR0124
    lambda one: one in [0, 1],
    np.asarray,
    lambda one: one.__getstate__(),
    lambda one: one.__replace__(),
    pack,
    lambda one: pack({"network": one}),
    lambda one: pack([one.structure, one]),
)


@pytest.mark.parametrize("act", REFUSED)
def test_a_sealed_network_is_refused_by_whatever_would_take_it_along(act: Callable[[Any], object]) -> None:
    with pytest.raises(WallBreach):
        act(split(gv.load("case5")))


@pytest.mark.parametrize(
    "act",
    [vars, dataclasses.asdict, dataclasses.astuple, dataclasses.fields, dataclasses.replace, to_json, to_plain, len,
     *([copy.replace] if sys.version_info >= (3, 13) else [])],  # type: ignore[attr-defined,unused-ignore]
)  # fmt: skip
def test_a_sealed_network_is_nothing_that_helpers_know(act: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, WallBreach)):
        act(split(gv.load("case5")))


def test_no_child_process_is_given_a_sealed_network() -> None:
    """In the place of a grid, of noisy lines, or of what is to be kept: no byte of it leaves."""
    network = gv.load("case5")
    sealed: Any = split(network)
    noisy: Any = mechanism("log").perturb(sealed, 1.0, 0.1, SeededNoise(1))
    with closing(ChildWorkshop()) as shop:
        for given in (
            (sealed, noisy, Fidelity(0.01)),
            (network.grid, sealed, Fidelity(0.01)),
            (network.grid, noisy, sealed),
        ):
            with pytest.raises(WallBreach, match="Sealed may not cross the wall"):
                shop.begin(*given)
    with pytest.raises(WallBreach, match="may not cross the wall"):
        unpack(pack({}), type(sealed))


def test_a_sealed_network_has_no_grid_and_no_lines() -> None:
    sealed = split(gv.load("case5"))
    public = {name for name in dir(sealed) if not name.startswith("_")}
    assert public == {"structure", "labels", "name", "public_grid"}
    assert len({sealed, sealed}) == 1
    with pytest.raises(AttributeError):
        sealed.grid = gv.load("case5").grid  # type: ignore[attr-defined]


# ---- what is public under a plan ----


@pytest.mark.parametrize("count", range(1, 6))
def test_the_grid_is_public_only_where_none_of_its_groups_is_protected(count: int) -> None:
    network = gv.load("case14")
    for groups in combinations(Group, count):
        protection = Protection(dict.fromkeys(groups, 0.1))
        if groups == (Group.LINES,):
            assert split(network).public_grid(protection) is network.grid
            continue
        with pytest.raises(WallBreach, match="are protected; ask for the structure"):
            split(network).public_grid(protection)


def test_a_joint_draw_taken_for_one_of_lines_would_not_bring_the_true_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    network, joint_plan, lines = (
        split(gv.load("case5")),
        gv.Plan(1.0, 0.1, 0.05, protect="loads,costs"),
        gv.Plan(1, 0.1, 0.05),
    )
    monkeypatch.setattr(gv.Plan, "joint", False)  # planted bug
    monkeypatch.setattr(pipeline, "mechanism", lambda name: mechanism("log"))
    assert pipeline.draw(network, lines, SeededNoise(1)).grid is network._open().grid
    with pytest.raises(WallBreach, match="loads, generation costs are protected"):
        pipeline.draw(network, joint_plan, SeededNoise(1))


@pytest.mark.parametrize("group", list(Group))
def test_what_is_asked_of_the_truth_says_no_more_than_it_answers(group: Group) -> None:
    network = marked()
    truth = Truth(split(network), Shape(np.array([1]), np.ones((1, 14)), np.ones((1, 14))), [0])
    truth.require_optima()
    assert not [one for one in numbers_of(network, group).tolist() if f"{abs(one):.4g}" in repr(truth)]
    for act in (pickle.dumps, copy.deepcopy, pack):
        with pytest.raises(WallBreach):
            act(truth)


@pytest.mark.parametrize("public", [False, True])
def test_of_protected_loads_a_horizon_has_its_shape_alone(public: bool) -> None:
    network = gv.load("case5")  # few loads, many steps: unrounded, the last digits of some scales would differ
    other = other_secret(network, Group.LOADS)
    scales = np.linspace(0.7, 1.1, 200)[:, None] * (np.linspace(0.95, 1.05, 5) if public else np.ones(5))
    found = list[bytes]()
    for protection, kind in ((Protection({Group.LOADS: 0.1}), Shape), (Protection({Group.COSTS: 0.1}), Profile)):
        for one in (network, other):
            for profile in (scaled(one.grid, scales), None):
                made = public_horizon(split(one), protection, profile, shape_public=public)
                assert type(made) is kind
                found.append(pack(made))
    assert found[0] == found[2] and found[1] == found[3]  # the shapes of two secrets
    assert found[4] != found[6] and found[5] != found[7]  # demands, where they are public, are those of the network


def test_demands_that_crossed_the_wall_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the operator's own profile behind the wall, where loads are protected."""

    def leaking(network: Sealed, protection: Protection, profile: Profile, *, shape_public: bool) -> Profile:
        return profile

    plan = gv.Plan(1.0, 0.1, 0.2, protect="loads,lines", steps=2, cost="derived", totals="derived")
    scales = np.array([0.8, 0.913, 1.0])
    monkeypatch.setattr(pipeline, "public_horizon", leaking)
    one, other = bundles(tmp_path, (Group.LOADS,), plan, profile=lambda network: scaled(network.grid, scales))
    assert one["profile.csv"] != other["profile.csv"]


def test_a_profile_is_made_of_a_case_and_not_of_a_sealed_network(tmp_path: Path) -> None:
    sealed: Any = split(gv.load("case5"))
    (tmp_path / "p.csv").write_text("step,scale\n1,1\n")
    with pytest.raises(WallBreach, match="give the case that was sealed"):
        gv.make_profile(sealed, 3)
    with pytest.raises(WallBreach, match="give the case that was sealed"):
        gv.read_profile(tmp_path / "p.csv", sealed)


# ---- who opens it ----


def openings(source: str) -> list[str]:
    """Where a program opens a sealed network, or reaches behind its door by another name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
        own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Ledger"
        if isinstance(name, str) and not own and (name == "_open" or "_Sealed__" in name):
            found.append(ast.unparse(node))
    return found


OPEN = ("sealed", "study")
INTERNAL = {"check/redraw.py"}
"""Internal checks that compare with the truth."""


def test_only_the_sealed_room_studies_and_internal_checks_open_it() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    opening = {name for name, source in files.items() if openings(source)}
    assert {name for name in opening if name.split("/")[0] not in OPEN} == INTERNAL
    assert "sealed/split.py" not in opening and "sealed/mechanisms/joint.py" in opening and len(files) > 200


@pytest.mark.parametrize(
    "planted",
    ["def peek(network):\n    return network._open().grid", "door = getattr(network, '_open')", "x._Sealed__numbers()"],
)
def test_whoever_else_opened_it_would_be_found(planted: str) -> None:
    assert openings(planted)
    assert not openings("book = Ledger._open(path)\nwith open(path) as file: pass")
