"""Piecewise costs in joint releases: breakpoints are rounded shares of pmax, and nothing else of them is met anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.casefile.from_network import from_network
from gridveil.casefile.to_network import to_network
from gridveil.check.audit import audit
from gridveil.check.verify import verify
from gridveil.cli.main import app
from gridveil.errors import GridError, ReleaseError
from gridveil.grid import CostCurves, Network, structure_of
from gridveil.grid.copper_plate import copper_plate_cost
from gridveil.privacy.noise import Noise, SeededNoise
from gridveil.publish import pipeline, worlds
from gridveil.publish.pipeline import release
from gridveil.publish.refuse import check_network
from gridveil.repair.moving import numbers, with_numbers
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import joint
from gridveil.sealed.shares import on_public_shares
from gridveil.sealed.split import Sealed, split
from gridveil.wall import shares as wall_shares
from gridveil.wall.cost_numbers import breakpoints, cost_numbers, meeting_at, stretched
from gridveil.wall.distance import distance
from gridveil.wall.draw import Drawn
from gridveil.wall.numbers import Table, encode, logs
from gridveil.wall.protection import Element, Group, Protection
from gridveil.wall.shares import on_shares, shares
from gridveil.wall.tables import table

from .conftest import Bend, PretendExact
from .test_joint import audited, other_secret
from .test_release import FixedNoise, Recording, bundle_bytes
from .test_sealed import met, same, shows

ALL = Protection(dict.fromkeys(Group, 0.1))
PLAN = gv.Plan(1.0, 0.2, 0.05, protect="all", unattended=True)
TRUE = (0.3127, 0.6689)
ALSO = (0.3098, 0.6702)
"""Shares that are the same when they are rounded."""
LIMITS = ("pmin", "pmax", "qmin", "qmax")


def bent(
    name: str, share: tuple[float, ...] = TRUE, rise: tuple[float, ...] = (0.8, 1.1, 1.7), at_zero: float = 0.05
) -> Network:
    """A case whose units with a pmax have piecewise costs, every second of them with a cost at zero."""
    grid, lines = gv.load(name)
    pmax = grid.generators.pmax
    unit = np.flatnonzero((pmax > 0) & np.isfinite(pmax))
    linear = np.maximum(grid.cost_p.polynomial[unit, 1], 1.0)
    segment, count = np.repeat(unit, len(rise)), len(unit)
    begin = np.where(np.arange(count) % 2, at_zero * linear * pmax[unit], 0.0)
    polynomial = grid.cost_p.polynomial.copy()
    polynomial[unit] = 0.0
    curves = CostCurves(polynomial, segment, np.outer(linear, rise).ravel(), np.repeat(begin, len(rise)))
    meet = np.outer(pmax[unit], (0.0, *share)).ravel()
    return Network(replace(grid, cost_p=meeting_at(curves, meet)), lines)


def other(network: Network, share: FloatArray, *groups: Group) -> Network:
    """Another secret of the same structure; its breakpoints are these shares of its own pmax."""
    made = other_secret(network, *(one for one in groups if one not in (Group.LIMITS, Group.COSTS)))
    grid, curves = made.grid, made.grid.cost_p
    if Group.LIMITS in groups:
        factor = np.where(grid.generators.bus % 2, 1.3, 1.7)
        grid = with_numbers(grid, {name: getattr(grid.generators, name) * factor for name in LIMITS})
    if Group.COSTS in groups:
        dearer = np.where(np.arange(len(curves.segment_slope)) % 3, 1.0, 1.07)
        curves = replace(
            curves,
            polynomial=1.3 * curves.polynomial,
            segment_slope=1.9 * dearer * curves.segment_slope,
            segment_intercept=1.1 * curves.segment_intercept,
        )
    pmax = grid.generators.pmax[curves.segment_generator]
    return Network(replace(grid, cost_p=meeting_at(curves, share * pmax)), made.lines)


def by_segment(network: Network, share: tuple[float, ...]) -> FloatArray:
    count = len(network.grid.cost_p.segment_slope) // (len(share) + 1)
    return np.tile((0.0, *share), count)


def bundles(tmp_path: Path, secrets: tuple[Network, ...], plan: gv.Plan) -> list[dict[str, bytes]]:
    """The bundles of secrets with the same outcomes of all noise."""
    recorded = Recording(5)
    release(split(secrets[0]), plan, noise=recorded, workshop=Workshop)
    made = []
    for number, secret in enumerate(secrets):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        result = release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop)
        made.append(bundle_bytes(result.write(tmp_path / f"out{number}")))
    return made


# ---- the curves ----


def test_curves_bend_at_rounded_shares_and_keep_their_slopes() -> None:
    network = bent("case5")
    taken = on_shares(network, ALL)
    assert shares(taken.grid).reshape(-1, 3).tolist() == [[0.0, 0.31, 0.67]] * network.grid.n_generator
    assert np.allclose(taken.grid.cost_p.segment_slope, network.grid.cost_p.segment_slope, rtol=1e-11)
    assert np.allclose(cost_numbers(taken.grid.cost_p), cost_numbers(network.grid.cost_p), rtol=1e-11)
    pmax = network.grid.generators.pmax[network.grid.cost_p.segment_generator]
    assert np.allclose(breakpoints(taken.grid.cost_p), by_segment(network, (0.31, 0.67)) * pmax)
    again = on_shares(taken, ALL)
    for name, values in vars(taken.grid.cost_p).items():
        assert np.array_equal(values, getattr(again.grid.cost_p, name)), name
    assert on_shares(network, Protection({Group.LINES: 0.1, Group.LOADS: 0.1})) is network
    plain = gv.load("case5")
    assert on_shares(plain, ALL) is plain


def test_the_middle_between_two_shares_is_rounded_alike_everywhere() -> None:
    """Five eighths of any pmax: what the last digit of the quotient decides would tell something of pmax."""
    network = bent("case118", (0.125, 0.625))
    seen = set[tuple[float, ...]]()
    for factor in (1.0, 1.1, 1.7, 0.3):
        grid = with_numbers(network.grid, {name: factor * getattr(network.grid.generators, name) for name in LIMITS})
        grid = replace(grid, cost_p=stretched(grid.cost_p, np.full(grid.n_generator, factor)))
        seen |= set(map(tuple, shares(grid).reshape(-1, 3).tolist()))
    assert seen == {(0.0, 0.13, 0.63)}


def test_equal_slopes_and_segments_without_width_are_one() -> None:
    network = bent("case5", (0.2, 0.501, 0.504), (1.0, 1.0 + 1e-9, 2.0, 3.0))
    taken = on_shares(network, ALL).grid
    assert shares(taken).reshape(-1, 2).tolist() == [[0.0, 0.5]] * taken.n_generator
    slopes = taken.cost_p.segment_slope.reshape(-1, 2)
    assert np.allclose(slopes[:, 1] / slopes[:, 0], 3.0)


def test_public_slopes_have_few_digits() -> None:
    """1234/37 tells 37: a slope with all its digits is a quotient that tells of which powers."""
    network = bent("case5", rise=(1234 / 37, 35.0, 36.0))
    taken = on_shares(network, Protection({Group.LIMITS: 0.1})).grid
    assert all(one == float(f"{one:.3e}") for one in taken.cost_p.segment_slope.tolist())
    assert np.allclose(taken.cost_p.segment_slope, network.grid.cost_p.segment_slope, rtol=5e-4)
    found = set[float]()
    for factor in np.linspace(0.9, 1.1, 200):  # 20.125 in the middle of two, however it was computed
        curves = network.grid.cost_p
        slope = np.repeat(20.125 * factor / factor, len(curves.segment_slope)) + np.tile([0.0, 1.0, 2.0], 5)
        world = replace(network.grid, cost_p=replace(curves, segment_slope=slope))
        found |= set(
            on_shares(Network(world, network.lines), Protection({Group.LIMITS: 0.1})).grid.cost_p.segment_slope[::3]
        )
    assert len(found) == 1


@pytest.mark.parametrize("at_zero", [0.00371, 1.234, 0.0])
def test_digits_of_a_public_cost_at_zero_do_not_tell_a_limit(at_zero: float) -> None:
    """They ended where slope·pmax has its last digit: 999 and 1001 MW were told apart."""
    found = []
    for pmax in (9.99, 10.01):
        network = gv.load("case5")
        limits, polynomial = network.grid.generators.pmax.copy(), network.grid.cost_p.polynomial.copy()
        limits[0], polynomial[0] = pmax, 0.0
        curves = CostCurves(polynomial, np.array([0, 0]), np.array([5e3, 1e4]), np.full(2, at_zero))
        grid = replace(with_numbers(network.grid, {"pmax": limits}), cost_p=meeting_at(curves, np.array([0, pmax / 2])))
        taken = on_shares(Network(grid, network.lines), Protection({Group.LIMITS: 0.1, Group.LINES: 0.1}))
        found.append(taken.grid.cost_p.segment_intercept[0])
    assert found[0] == found[1]


def test_what_is_left_of_nothing_is_nothing(tiny: Bend) -> None:
    """A curve through zero has no cost at zero, however its points were written."""
    cost = "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;"
    points = "	1	0	0	3	33.3	366.3	66.6	732.6	200	9500;\n	1	0	0	2	0.7	7.7	110	1210	0	0;"
    network = gv.load(tiny((cost, points)))
    assert np.any(network.grid.cost_p.segment_intercept[[0, 2]] != 0)
    assert on_shares(network, ALL).grid.cost_p.segment_intercept[[0, 2]].tolist() == [0.0, 0.0]


def test_stretched_curves_meet_farther_out() -> None:
    curves = bent("case5").grid.cost_p
    factor = np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    farther = stretched(curves, factor)
    assert np.allclose(breakpoints(farther), breakpoints(curves) * factor[curves.segment_generator])
    assert np.array_equal(farther.segment_intercept[:3], curves.segment_intercept[:3])
    assert np.allclose(cost_numbers(farther), cost_numbers(curves))


def test_the_structure_has_nothing_of_a_curve() -> None:
    """Neither slopes nor breakpoints, in whichever unit: two secrets have the same structure."""
    network = bent("case14")
    secret = other(network, by_segment(network, ALSO), *Group)
    assert same(structure_of(network.grid), structure_of(secret.grid))
    assert not shows(split(network), network, Group.COSTS)
    bends = breakpoints(network.grid.cost_p)
    seen = np.array(sorted(set(met(split(network)))))
    assert not np.isin(bends[bends != 0], seen).any()
    assert structure_of(network.grid).generators.piecewise.tolist() == [True, True, False, False, False]


# ---- the draw ----


@pytest.mark.parametrize("groups", [(Group.LIMITS,), (Group.COSTS,), tuple(Group)])
def test_drawn_curves_bend_at_shares_of_the_drawn_pmax(groups: tuple[Group, ...]) -> None:
    network = bent("case14", rise=(-0.5, 0.0, 1.7))  # signs are kept, and zeros
    for seed in range(20):
        grid = joint.perturb(split(network), Protection(dict.fromkeys(groups, 0.5)), 1.0, SeededNoise(seed)).grid
        assert np.allclose(
            breakpoints(grid.cost_p) / grid.generators.pmax[grid.cost_p.segment_generator],
            by_segment(network, (0.31, 0.67)),
            rtol=1e-9,
        )
        slope, true = grid.cost_p.segment_slope, network.grid.cost_p.segment_slope
        assert np.array_equal(np.sign(slope), np.sign(true))
        assert np.all(np.diff(slope.reshape(-1, 3)) > 0)
        if Group.COSTS not in groups:
            assert np.allclose(slope, true, rtol=5e-4) and not np.allclose(
                grid.generators.pmax, network.grid.generators.pmax
            )
        if Group.LIMITS not in groups:
            assert np.array_equal(grid.generators.pmax, network.grid.generators.pmax)
            assert not np.allclose(slope[slope != 0], true[true != 0], rtol=1e-3)
        again = to_network(from_network("x", grid, network.lines, gv.solve_opf(network).point)).grid
        for power in np.random.default_rng(seed).uniform(-0.5, 1.5, (5, grid.n_generator)) * grid.generators.pmax:
            assert again.cost_p.total(power) == pytest.approx(grid.cost_p.total(power), rel=1e-8)


def test_coordinates_of_a_piecewise_curve() -> None:
    """ln of the first slope that there is, the other slopes and the cost at zero over it; of two units, one has none."""
    network = bent("case14", rise=(-0.5, 0.0, 1.5), at_zero=-0.05)
    made = table(network, Protection({Group.COSTS: 0.1}))
    found = encode(made, logs(network))
    assert made.size == 5 and made.pivot.tolist().count(-1) == 2
    assert np.allclose(np.sort(found[made.pivot >= 0]), np.sort([np.log(3.0), np.log(3.0), _at_zero(network)]))
    assert sorted(made.sign.tolist()) == [-1.0, -1.0, -1.0, 1.0, 1.0]
    alike = Network(replace(network.grid, cost_p=_first_curve_for_all(network.grid.cost_p)), network.lines)
    shared = table(alike, Protection({Group.COSTS: 0.1}, classes=True))
    assert shared.size == 2


def _at_zero(network: Network) -> float:
    curves = network.grid.cost_p
    return float(np.log(abs(curves.segment_intercept[3] / curves.segment_slope[3])))


def _first_curve_for_all(curves: CostCurves) -> CostCurves:
    """The same slopes for every unit; breakpoints stay each unit's own."""
    count = len(curves.segment_slope) // 3
    made = replace(
        curves, segment_slope=np.tile(curves.segment_slope[:3], count), segment_intercept=0 * curves.segment_intercept
    )
    return meeting_at(made, breakpoints(curves))


def test_distances_of_piecewise_curves() -> None:
    network = bent("case5")
    curves, step = network.grid.cost_p, np.log(1.1) / 0.1
    share = by_segment(network, ALSO)
    assert distance(network, other(network, share), ALL) == {}  # they are the same when they are rounded
    with pytest.raises(GridError, match="breakpoints"):
        distance(network, other(network, by_segment(network, (0.3, 0.67))), ALL)
    with pytest.raises(GridError, match="breakpoints"):  # all digits are public where nothing of units is protected
        distance(network, other(network, share), Protection({Group.LOADS: 0.1}))
    larger = changed_unit(network, 1.1)
    assert distance(network, larger, ALL) == {(Element.PLANT, 0): pytest.approx(step)}
    dearer = Network(replace(network.grid, cost_p=changed_curve(curves, 1, 1.1)), network.lines)
    plant = int(network.grid.generators.bus[1])
    assert distance(network, dearer, ALL) == {(Element.PLANT, plant): pytest.approx(step)}
    with pytest.raises(GridError, match="costs"):
        distance(network, dearer, Protection({Group.LIMITS: 0.1}))
    fewer = Network(replace(network.grid, cost_p=bent("case5", (0.31,), (0.8, 1.1)).grid.cost_p), network.lines)
    with pytest.raises(GridError, match="structure"):
        distance(network, fewer, Protection({Group.LIMITS: 0.1}))
    reactive = Network(replace(network.grid, cost_q=network.grid.cost_p), network.lines)
    with pytest.raises(GridError, match="reactive"):
        distance(network, reactive, Protection({Group.LINES: 0.1}))


def changed_curve(curves: CostCurves, unit: int, factor: float) -> CostCurves:
    here = np.where(curves.segment_generator == unit, factor, 1.0)
    return replace(curves, segment_slope=here * curves.segment_slope, segment_intercept=here * curves.segment_intercept)


def changed_unit(network: Network, factor: float) -> Network:
    """The first unit larger by a factor, its breakpoints with it."""
    grid, first = network.grid, np.arange(network.grid.n_generator) == 0
    limits = {name: np.where(first, factor, 1.0) * getattr(grid.generators, name) for name in LIMITS}
    made = with_numbers(grid, limits)
    return Network(replace(made, cost_p=stretched(grid.cost_p, np.where(first, factor, 1.0))), network.lines)


# ---- audits ----


def test_audit_of_a_piecewise_curve() -> None:
    network = bent("case5", rise=(1.0, 4.0, 16.0))
    dearer = Network(
        replace(network.grid, cost_p=changed_curve(network.grid.cost_p, 1, float(np.exp(0.1)))), network.lines
    )
    assert sum(distance(network, dearer, ALL).values()) == pytest.approx(1.0)
    assert 0.4 < audited(network, dearer, Protection({Group.COSTS: 0.1})) <= 1.0


def test_audit_finds_a_ratio_that_is_noised_beside_the_slope_it_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: every slope has a noise of its own, so that a curve that moves as a whole is seen four times."""
    network = bent("case5", rise=(1.0, 4.0, 16.0))
    dearer = Network(
        replace(network.grid, cost_p=changed_curve(network.grid.cost_p, 1, float(np.exp(0.1)))), network.lines
    )
    honest = table

    def apart(secret: Network, protection: Protection) -> Table:
        made = honest(secret, protection)
        costs = made.group == list(Group).index(Group.COSTS)
        return replace(made, pivot=np.where(costs, -1, made.pivot), power=np.where(costs, 0.0, made.power))

    monkeypatch.setattr(joint, "table", apart)
    monkeypatch.setattr("tests.test_joint.table", apart)
    assert audited(network, dearer, Protection({Group.COSTS: 0.1})) > 1.0


def views(network: Network, larger: Network, draws: int = 3000) -> float:
    """A lower bound, with 99 %, of the loss by who looks at pmax and at every breakpoint of the first unit."""
    sides = []
    for side, secret in enumerate((network, larger)):
        sealed, noise, seen = split(secret), SeededNoise(21 + side), np.empty(draws)
        for draw in range(draws):
            grid = joint.perturb(sealed, Protection({Group.LIMITS: 0.1}), 1.0, noise).grid
            told = breakpoints(grid.cost_p)[1:3] / (0.31, 0.67)
            seen[draw] = np.log([grid.generators.pmax[0], *told]).mean()
        sides.append(seen)
    best = 0.0
    for at in np.quantile(np.concatenate(sides), np.linspace(0.05, 0.95, 19)):
        hits = [int(np.sum(one >= at)) for one in sides]
        low = stats.beta.ppf(0.005, hits[1], draws - hits[1] + 1) if hits[1] else 0.0
        high = stats.beta.ppf(0.995, hits[0] + 1, draws - hits[0]) if hits[0] < draws else 1.0
        best = max(best, float(np.log(max(low, 1e-12) / high)))
    return best


def test_audit_of_breakpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """They tell of a limit what its noisy value tells; with noise of their own (planted) they would tell it again."""
    network = bent("case5")
    larger = changed_unit(network, float(np.exp(0.1)))
    assert sum(distance(network, larger, ALL).values()) == pytest.approx(1.0)
    assert 0.4 < views(network, larger) <= 1.0
    honest, luck = joint.perturb, np.random.default_rng(3)

    def twice(secret: Sealed, protection: Protection, epsilon: float, noise: Noise) -> Drawn:
        grid, lines, outcome = honest(secret, protection, epsilon, noise)
        true = secret._open().grid.generators.pmax
        pmax = (true * np.exp(luck.laplace(0.0, 0.1, len(true))))[grid.cost_p.segment_generator]
        again = meeting_at(grid.cost_p, by_segment(network, (0.31, 0.67)) * pmax)
        return Drawn(replace(grid, cost_p=again), lines, outcome)

    monkeypatch.setattr(joint, "perturb", twice)
    assert views(network, larger) > 1.0


# ---- whole releases ----


@pytest.mark.parametrize(
    ("name", "protect"),
    [("case14", "all"), ("case5", "all"), ("case14", "limits,loads"), ("case14", "costs"), ("case30", "limits,costs")],
)
def test_non_interference_with_piecewise_costs(tmp_path: Path, name: str, protect: str) -> None:
    """Two secrets that differ in all that is protected, and in breakpoints by less than is rounded: the same bytes."""
    plan = replace(PLAN, protect=protect)
    network = bent(name)
    one, two = bundles(tmp_path, (network, other(network, by_segment(network, ALSO), *plan.protection.groups)), plan)
    assert one == two


@pytest.mark.parametrize("leak", ["shares", "powers", "totals", "digits"])
def test_non_interference_finds_breakpoints_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """Planted bugs: shares with all their digits, breakpoints in MW, those of the truth after the noise; and slopes with
    the digits of their points, where costs are public."""
    plan = replace(PLAN, protect="limits,loads" if leak == "digits" else "all")
    network = bent("case14")
    groups = plan.protection.groups
    secret = other(network, by_segment(network, ALSO if leak == "shares" else TRUE), *groups)
    if leak == "digits":
        few = secret.grid.cost_p
        secret = Network(
            replace(secret.grid, cost_p=replace(few, segment_slope=few.segment_slope * (1 + 1e-7))), secret.lines
        )
    one, two = bundles(tmp_path, (network, secret), plan)
    assert one == two
    if leak == "shares":
        monkeypatch.setattr(wall_shares, "DECIMALS", 12)
    if leak == "powers":
        monkeypatch.setattr(joint, "at_shares", lambda grid, share: grid)
    if leak == "digits":
        monkeypatch.setattr(wall_shares, "PUBLIC_DIGITS", 12)
    if leak == "totals":
        secrets, honest = list[Sealed](), pipeline.draw

        def remembered(sealed: Sealed, plan: gv.Plan, noise: Noise) -> Drawn:
            secrets.append(sealed)
            return honest(sealed, plan, noise)

        def kept(curves: CostCurves, factor: FloatArray) -> CostCurves:
            return meeting_at(curves, breakpoints(secrets[-1]._open().grid.cost_p))

        monkeypatch.setattr(pipeline, "draw", remembered)
        monkeypatch.setattr(worlds, "stretched", kept)
    one, two = bundles(tmp_path / "leaking", (network, secret), plan)
    assert one["released.m"] != two["released.m"]


def test_the_truth_is_asked_about_the_rounded_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that differ by less than is rounded have the same declared cost and totals; asked as they are (planted),
    they have not."""
    plan = gv.Plan(1.0, 0.1, 0.05, protect="limits,costs", cost="declared", totals="declared")
    one, two = (bent("case5", share) for share in ((0.3149, 0.6749), (0.3051, 0.6651)))

    def stated(network: Network) -> list[float]:
        made = release(split(network), plan, noise=SeededNoise(2), workshop=Workshop)
        return [fact.value for fact in made.manifest.public_inputs]

    assert stated(one) == stated(two)
    grid = on_public_shares(split(one), plan.protection)._open().grid
    merit = copper_plate_cost(grid, float(grid.buses.pd.sum()))
    assert any(value == pytest.approx(merit, rel=1e-3) for value in stated(one))
    monkeypatch.setattr(pipeline, "on_public_shares", lambda network, protection: network)
    assert stated(one) != stated(two)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("case14", {}),
        ("case5", {"protect": "limits"}),
        ("case30", {"protect": "costs,lines", "classes": True}),
        ("case14", {"protect": "limits,costs", "totals": "derived", "cost": "derived"}),
        ("case39", {"protect": "lines,loads"}),
        ("case5", {"totals": "declared", "cost": "declared"}),
    ],
)
def test_a_release_with_piecewise_costs_is_verified_and_audited(
    tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    network = bent(name)
    case = from_network(name, network.grid, network.lines, gv.solve_opf(network).require().point)
    book, plan = gv.Ledger.open(tmp_path / "l.db"), replace(PLAN, unattended=False, **changes)
    made = release(split(case), plan, book, PretendExact(3), workshop=Workshop)
    folder = made.write(tmp_path / "out")
    verdict = verify(folder)
    assert verdict.passed, verdict.failed
    found = audit(folder, book, case)
    assert all(one.passed for one in found), [(one.question, one.answer) for one in found if not one.passed]
    now, then, words = made.network.grid, network.grid, " | ".join(made.manifest.not_protected)
    if Group.LIMITS in plan.protection:
        told = breakpoints(now.cost_p)[1] / then.generators.pmax[now.cost_p.segment_generator[1]]
        assert not np.isclose(told, 0.31, rtol=1e-3)
    elif Group.COSTS in plan.protection:
        pmax = numbers(now, "pmax")[now.cost_p.segment_generator]
        assert np.allclose(breakpoints(now.cost_p) / pmax, by_segment(network, (0.31, 0.67)), atol=1e-6)
    else:
        assert np.allclose(breakpoints(now.cost_p), breakpoints(then.cost_p), rtol=1e-6)
    taken = Group.LIMITS in plan.protection or Group.COSTS in plan.protection
    assert ("breakpoints of piecewise costs, as shares of pmax to 2 decimals" in words) is taken
    assert ("to 4 digits" in words) is (taken and Group.COSTS not in plan.protection)
    if Group.COSTS not in plan.protection:
        assert np.allclose(now.cost_p.segment_slope, then.cost_p.segment_slope, rtol=5e-4)


def test_what_has_no_shares_is_refused() -> None:
    grid, lines = bent("case5")
    none = np.where(np.arange(grid.n_generator) == 2, 0.0, grid.generators.pmax)
    endless = np.where(np.arange(grid.n_generator) == 2, np.inf, grid.generators.pmax)
    curves = grid.cost_p
    free = replace(curves, segment_slope=0 * curves.segment_slope, segment_intercept=0 * curves.segment_intercept)
    refused: list[tuple[str, Any, str]] = [
        (
            "limits",
            with_numbers(grid, {"pmax": none, "pmin": np.minimum(none, grid.generators.pmin)}),
            "zero or infinite",
        ),
        ("costs", with_numbers(grid, {"pmax": endless}), "zero or infinite"),
        ("limits", replace(grid, cost_q=curves), "reactive power have breakpoints"),
        ("costs", replace(grid, cost_p=free), "no unit has a cost"),
    ]
    for group, wrong, words in refused:
        with pytest.raises(ReleaseError, match=words):
            check_network(replace(PLAN, protect=group), split(Network(wrong, lines)))
    check_network(replace(PLAN, protect="loads"), split(Network(with_numbers(grid, {"pmax": endless}), lines)))
    check_network(PLAN, split(Network(grid, lines)))
    with pytest.raises(GridError, match="cannot be shares"):
        on_shares(Network(with_numbers(grid, {"pmax": endless}), lines), ALL)


def test_the_command_line(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    cost = "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;"
    points = "	1	0	0	3	0	40	63	670	200	3500;\n	1	0	0	2	0	0	110	2200	0	0;"
    out = tmp_path / "out"
    ask = ["release", str(tiny_file((cost, points))), "--protect", "all", "--alpha", "10%", "--beta", "5%",
           "--out", str(out), "--research", "--seed", "2", "--json"]  # fmt: skip
    done = CliRunner().invoke(app, ask)
    assert done.exit_code == 0, done.output
    record = json.loads((out / "manifest.json").read_text())
    assert any("breakpoints" in one for one in record["not_protected"])
    assert CliRunner().invoke(app, ["verify", str(out)]).exit_code == 7  # research
    record["not_protected"] = [one for one in record["not_protected"] if "breakpoints" not in one]
    (out / "manifest.json").write_text(json.dumps(record))
    assert not verify(out, quick=True).passed
