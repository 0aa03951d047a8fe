"""Parts of the repair by themselves: the box, the projection and its room, shrinkage against its formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import GridError, ReleaseError
from gridveil.grid import LineKind, LineParameters, Multipliers, Network, OperatingPoint, is_transformer
from gridveil.grid.physics import violations
from gridveil.nlp.opf import Near, opf_model, solve_opf
from gridveil.nlp.power_flow import Demand
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.bounds import parameter_box
from gridveil.repair.certify import certify
from gridveil.repair.estimate import Solved, estimate, mean_slopes
from gridveil.repair.projection import Aim, Cut, Effort, project, projection, starts
from gridveil.repair.repair import repair
from gridveil.repair.shrinkage import mean_shift, shrink, shrink_lines
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.coordinates import log_structure
from gridveil.wall.draw import Fidelity, NoisyLines, Snapshot

from .conftest import Bend, PretendExact


def noisy_tiny(network: Network) -> NoisyLines:
    """Three lines: the first two share a group, the third is not protected."""
    return NoisyLines(
        mechanism="by hand",
        group=np.array([0, 0, 1]),
        charging_group=np.array([0, 1, 2]),
        g=np.array([3.0, 3.0, 2.0]),
        b=np.array([-4.0, -4.0, -6.0]),
        bc=np.array([0.2, 0.5, 0.1]),
        protected=np.array([True, True, False]),
        charging_moves=True,
        relative=True,
        scale=0.1,
    )


def test_a_box_is_the_noisy_value_over_and_times_the_factor(tiny: Bend) -> None:
    network = gv.load(tiny())
    noisy = noisy_tiny(network)
    box = parameter_box(network.grid, noisy, 10.0)
    assert box.columns.tolist() == [[0, 0, 1], [2, 2, 3], [4, 5, 6]]
    assert box.values(box.low) == pytest.approx([0.3, 2.0, -0.4, -6.0, 0.02, 0.05, 0.1])
    assert box.values(box.high) == pytest.approx([30.0, 2.0, -40.0, -6.0, 2.0, 5.0, 0.1])
    assert box.values(box.target) == pytest.approx([3.0, 2.0, -4.0, -6.0, 0.2, 0.5, 0.1])
    # distances are logarithms; what two lines share counts twice
    assert box.weight[[0, 2, 4, 5]] == pytest.approx([2.0, 2.0, 1.0, 1.0])
    assert box.lines(box.target).b.tolist() == [-4.0, -4.0, -6.0]
    near = parameter_box(
        network.grid, noisy, 10.0, Network(network.grid, LineParameters(noisy.g * 100, noisy.b * 2, noisy.bc))
    )
    # what is not protected stays, and what lies outside is put at the end
    assert near.values(near.target) == pytest.approx([30.0, 2.0, -8.0, -6.0, 0.2, 0.5, 0.1])
    assert near.values(near.clip(near.target + 1.0))[2] == pytest.approx(-8.0 * math.e)
    assert near.values(near.clip(near.target - 9.0))[2] == pytest.approx(-0.4)


def test_stiffer_lines(tiny: Bend) -> None:
    """All admittances times a factor, charging over it; what is not protected stays once it is clipped."""
    network = gv.load(tiny())
    box = parameter_box(network.grid, noisy_tiny(network), 10.0)
    assert box.values(box.clip(box.stiffer(2.0))) == pytest.approx([6.0, 2.0, -8.0, -6.0, 0.1, 0.25, 0.1])
    assert box.values(box.clip(box.stiffer(100.0))) == pytest.approx([30.0, 2.0, -40.0, -6.0, 0.02, 0.05, 0.1])


def test_a_box_around_noisy_means(tiny: Bend) -> None:
    """Means of the level are the centre; what noise has put through zero comes back."""
    network = gv.load(tiny())
    noisy = replace(
        noisy_tiny(network),
        g=np.array([-1.0, -1.0, 2.0]),
        b=np.array([3.0, 3.0, -6.0]),
        charging_moves=False,
        relative=False,
        mean_g=np.full(3, 2.0),
        mean_b=np.full(3, -5.0),
    )
    box = parameter_box(network.grid, noisy, 4.0)
    assert box.values(box.low) == pytest.approx([0.5, 2.0, -1.25, -6.0, 0.2, 0.5, 0.1])
    assert box.values(box.high) == pytest.approx([8.0, 2.0, -20.0, -6.0, 0.2, 0.5, 0.1])
    assert box.values(box.target)[[0, 2]] == pytest.approx([0.5, -1.25])
    assert box.weight == pytest.approx([2.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0])


def test_a_box_keeps_the_kind_of_every_line(tiny: Bend) -> None:
    network = gv.load(tiny())
    kinds = np.array([LineKind.LOSSLESS, LineKind.NEGATIVE_RESISTANCE, LineKind.LOSSY])
    grid = replace(network.grid, lines=replace(network.grid.lines, kind=kinds))
    noisy = replace(
        noisy_tiny(network), group=np.arange(3), g=np.array([0.0, -3.0, 2.0]), protected=np.array([True, True, True])
    )
    box = parameter_box(grid, noisy, 10.0)
    assert box.values(box.low)[:3] == pytest.approx([0.0, -0.3, 0.2])
    assert box.values(box.high)[:3] == pytest.approx([0.0, -30.0, 20.0])


@pytest.mark.parametrize(("room", "share"), [(0.0, 1.1), (0.02, 1.1), (0.01, 0.97)])
def test_a_projection_keeps_its_conditions_and_its_room(room: float, share: float) -> None:
    """Cost within the aim, losses within their factor, cuts, box, and a share of every range free at both ends."""
    network = gv.load("case5")
    grid = network.grid
    point = gv.solve_opf(network).require().point
    noisy = mechanism("log").perturb(split(network), 1.0, 0.3, SeededNoise(2))
    box = parameter_box(grid, noisy, 50.0)
    lost = float(point.pg.sum() - grid.buses.pd.sum())
    snapshots = [Snapshot(grid.buses.pd, grid.buses.qd, share * point.cost, losses=lost)]
    cut = Cut(np.eye(len(box.target))[0], float(box.target[0]) + 0.05)
    model = projection(grid, box, snapshots, [cut], keep_losses=True)
    aim, fidelity = [Aim(0.004, 0.002)], Fidelity(0.01, loss_within=1.02)
    (first, *_) = starts(model, box, None, box.network(box.target))
    outcome = project(model, box, snapshots, fidelity, aim, first, Effort(room))
    assert outcome.status is gv.Status.OPTIMAL
    y, flow = outcome.x[model.parameters], model.flows[0]
    vm, pg, qg = (outcome.x[columns] for columns in (flow.vm, flow.pg, flow.qg))
    assert np.all((y >= box.low - 1e-7) & (y <= box.high + 1e-7))
    assert y[0] >= cut.floor - 1e-6
    cost = grid.cost_p.total(pg) / (share * point.cost)
    assert 0.996 - 1e-6 <= cost <= 1.002 + 1e-6
    assert share > 1 or cost == pytest.approx(1.002, abs=1e-4)  # cheaper than the network is: no more than is asked
    assert 1 / 1.02 - 1e-4 <= float(pg.sum() - grid.buses.pd.sum()) / lost <= 1.02 + 1e-4
    for value, low, high in (
        (vm, grid.buses.vmin, grid.buses.vmax),
        (pg, grid.generators.pmin, grid.generators.pmax),
        (qg, grid.generators.qmin, grid.generators.qmax),
    ):
        free = np.minimum(value - low, high - value) / (high - low)
        assert np.all(free >= room - 1e-6)
    assert outcome.objective == pytest.approx(float(box.weight @ (y - box.target) ** 2), rel=1e-6)


def test_where_projections_begin() -> None:
    network = gv.load("case5")
    grid = network.grid
    point = gv.solve_opf(network).require().point
    box = parameter_box(grid, mechanism("log").perturb(split(network), 1.0, 0.3, SeededNoise(2)), 50.0)
    snapshots = [Snapshot(grid.buses.pd, grid.buses.qd, point.cost)]
    model = projection(grid, box, snapshots, [], keep_losses=False)
    mine, other = box.target + 0.01, box.network(box.target + 0.2)
    begun = starts(model, box, (mine, [point]), other, [point])
    near, known, midway, target = begun
    flow = model.flows[0]
    for start, parameters in zip(begun, (mine, box.target + 0.1, box.target + 0.1, box.target), strict=True):
        assert start.x[model.parameters] == pytest.approx(np.where(box.low < box.high, parameters, box.target))
    for columns, value in ((flow.vm, point.vm), (flow.va, point.va), (flow.pg, point.pg), (flow.qg, point.qg)):
        assert near.x[columns] == pytest.approx(value) and known.x[columns] == pytest.approx(value)
    middle = 0.5 * (grid.generators.pmin + grid.generators.pmax)
    for flat in (midway, target):
        assert flat.x[flow.pg].tolist() == middle.tolist()
        assert np.all(flat.x[flow.va] == 0) and np.all(flat.x[flow.vm] == 1)
    assert [start.restored for start in begun] == [False, True, True, False]
    assert len(starts(model, box, None, other)) == 2


def test_shrinkage_follows_its_formula() -> None:
    """Spread beyond the noise is what values really differ by; at least what its own uncertainty allows."""
    values = np.random.default_rng(3).normal(2.0, 1.5, 50)
    ones = np.ones((50, 1))
    variance = float(values.var(ddof=1))
    guess, weight = shrink(values, 0.5, ones)
    assert weight == pytest.approx(np.full(50, (variance - 0.5) / variance))
    assert guess == pytest.approx(values.mean() + weight * (values - values.mean()))
    # all of it may be noise: as much may be real as cannot be told from it
    _, weight = shrink(values, 100.0, ones)
    least = 100.0 * np.sqrt(5.0 / 49) / 2.0
    assert weight == pytest.approx(np.full(50, least / (least + 100.0)))
    # a regressor that explains everything is believed, if there are values enough for it: eight a column
    slope = np.stack([np.ones(50), values], axis=1)
    assert shrink(values, 0.5, slope)[0] == pytest.approx(values)
    assert shrink(values[:15], 0.5, slope[:15])[0] == pytest.approx(shrink(values[:15], 0.5, slope[:15, :1])[0])
    alone = shrink(values[:1], 0.5, ones[:1])
    assert (alone[0].tolist(), alone[1].tolist()) == (values[:1].tolist(), [1.0])


def test_means_are_put_right_by_kind_and_not_beyond_reason() -> None:
    network = gv.load("case14")
    structure = log_structure(network.grid, network.lines)
    counts = [int(exists.sum()) for exists in structure.exists]
    shift = mean_shift(structure, np.full(sum(counts), 0.01))
    assert shift == pytest.approx(np.repeat([-0.01, 0.01, -0.01], counts))
    assert np.abs(mean_shift(structure, np.full(sum(counts), 9.0))).max() == pytest.approx(0.25)


def test_the_certificate_judges_the_point_that_is_written() -> None:
    """The network is well, and its own optimum too; a written point that is not one of it fails all the same."""
    network = gv.load("case5")
    grid = network.grid
    optimum = gv.solve_opf(network).require()
    point = optimum.point
    snapshots = [Snapshot(grid.buses.pd, grid.buses.qd, point.cost)]

    def failed(written: OperatingPoint | None, multipliers: list[Multipliers] | None = None) -> tuple[str, ...]:
        return certify(grid, network.lines, [written], snapshots, Fidelity(0.01), (), multipliers).failed

    assert failed(point) == failed(None) == failed(point, [optimum.end]) == failed(None, [optimum.end]) == ()
    for wrong in (replace(point, pg=point.pg + 0.01), replace(point, vm=point.vm - 0.001)):
        for multipliers in (None, [optimum.end]):
            assert "balance" in " ".join(failed(wrong, multipliers))


def test_a_solution_with_its_multipliers_needs_only_a_look() -> None:
    """What travels with a repaired point spares its certificate the solve; a wrong one is found out."""
    for name in ("case14", "case39", "case118"):
        network = gv.load(name)
        model, optimum = opf_model(network.grid), gv.solve_opf(network).require()
        again = solve_opf(model, network.lines, near=Near(optimum.point, optimum.end))
        assert again.iterations <= 3 < solve_opf(model, network.lines, near=Near(optimum.point)).iterations
        assert again.cost == pytest.approx(optimum.cost, rel=1e-8)
    other = gv.solve_opf("case14").end
    with pytest.raises(GridError, match="rows has shape"):
        solve_opf(model, network.lines, near=Near(optimum.point, other))
    wrong = replace(optimum.end, rows=-optimum.end.rows)
    found = solve_opf(model, network.lines, near=Near(optimum.point, wrong))
    assert found.cost == pytest.approx(optimum.cost, rel=1e-6) and found.iterations > 3


def test_the_spread_of_an_estimate_is_that_of_all_its_noise() -> None:
    """Every coordinate adds its variance; and half the distance of the two estimates is an error too."""
    network = gv.load("case14")
    grid = network.grid
    demand = Demand(grid.buses.pd, grid.buses.qd)
    noisy = mechanism("log").perturb(split(network), 1.0, 0.02, SeededNoise(1))
    model, by = opf_model(grid), shrink_lines(grid, noisy)
    solved = Solved(Network(grid, noisy.lines), [solve_opf(model, noisy.lines, demand).require()])
    found = estimate(model, noisy, [demand], solved, lambda: None, by, float("inf"))
    assert found.own is not None
    assert found.shrunk is not None
    assert found.shape is not None
    slopes = mean_slopes(model, noisy, solved)
    variance = float(np.sum((1 - by.odds) * 2 * noisy.scale**2 * slopes**2))
    assert found.spread == pytest.approx(np.sqrt(variance + 0.25 * (found.own - found.shrunk) ** 2))
    assert found.shrunk == pytest.approx(found.shape[0] + float(slopes @ by.moved))
    away = by.told + mean_shift(log_structure(grid, noisy.lines), (1 - by.odds) * noisy.scale**2)
    assert 0 < abs(float(slopes @ away)) < 0.02  # of ratings, and of the mean of the noise
    assert found.own - found.shape[0] == pytest.approx(float(slopes @ away))
    assert found.losses == pytest.approx((float(solved.optima[0].point.pg.sum() - demand.pd.sum()),))
    # where it is not sure enough the shrunk network is solved: here it has no dispatch
    unsure = estimate(model, noisy, [demand], solved, lambda: None, by, 0.0)
    assert (unsure.shrunk, unsure.own) == (None, found.own)
    assert unsure.spread == pytest.approx(np.sqrt(variance))
    alone = estimate(model, noisy, [demand], None, lambda: solved, by, 1.0)
    assert alone.own is None
    assert alone.shrunk == pytest.approx(found.shape[0])
    assert alone.spread == pytest.approx(np.sqrt(np.sum(by.weight * 2 * noisy.scale**2 * slopes**2)))
    assert estimate(model, noisy, [demand], None, lambda: None, by, 1.0).spread == float("inf")


def test_points_stand_in_the_order_of_the_snapshots() -> None:
    """The heaviest is solved first and equal ones once; whoever gave them gets each point at its own place."""
    network = gv.load("case5")
    grid = network.grid
    noisy = mechanism("log").perturb(split(network), 1.0, 1e-3, SeededNoise(0))
    snapshots, model = [], opf_model(grid)
    for step, share in enumerate((0.9, 1.0, 0.8, 0.9)):
        demand = Demand(share * grid.buses.pd, share * grid.buses.qd)
        snapshots.append(Snapshot(*demand, solve_opf(model, network.lines, demand).require().cost, step))
    found = repair(grid, noisy, snapshots, Fidelity(0.05))
    assert len(found.points) == 4
    for snapshot, point in zip(snapshots, found.points, strict=True):
        assert violations(grid, found.lines, point, (snapshot.pd, snapshot.qd)).largest <= 1e-5
    assert found.points[0] is found.points[3]


@pytest.mark.parametrize("method", ["additive", "log"])
def test_little_noise_leaves_little_to_shrink(method: str) -> None:
    network = gv.load("case14")
    noisy = mechanism(method).perturb(split(network), 1.0, 1e-4, SeededNoise(0))
    found = shrink_lines(network.grid, noisy)
    assert np.all(found.weight[found.odds == 0] > 0.99)
    assert found.lines.g == pytest.approx(noisy.g, rel=1e-2)
    assert found.lines.b == pytest.approx(noisy.b, rel=1e-2)


def test_shrunk_conductances_stay_away_from_zero() -> None:
    """Some values were noised through zero; none is drawn nearer to it than a twentieth of the middle one."""
    network = gv.load("case30")
    noisy = mechanism("additive").perturb(split(network), 1.0, 3.0, SeededNoise(0))
    assert np.any(noisy.g < 0)
    g = shrink_lines(network.grid, noisy).lines.g[network.grid.lines.kind == LineKind.LOSSY]
    assert g.min() == pytest.approx(0.05 * np.median(g))


def test_transformers_are_told_by_tap_shift_or_two_voltages(tiny: Bend) -> None:
    assert is_transformer(gv.load(tiny()).grid).tolist() == [False, True, False]
    shifted = gv.load(tiny(("0.98	2	1", "0	2	1"))).grid
    assert is_transformer(shifted).tolist() == [False, True, False]
    assert is_transformer(gv.load(tiny(("0.98	2	1", "0	0	1"))).grid).tolist() == [False] * 3
    stepped = replace(shifted, buses=replace(shifted.buses, base_kv=np.array([230.0, 110.0, 230.0])))
    assert is_transformer(stepped).tolist() == [True, True, True]


@pytest.mark.parametrize("source", ["private", "derived", "declared", "published"])
def test_a_currency_that_no_solver_can_count_in_is_refused(tmp_path: Path, source: str) -> None:
    """A thousandth of a cent in all: β of that is less than a solver leaves open. A cost of 1.5 is well."""
    network, book = gv.load("case14"), gv.Ledger.init(tmp_path / "l.db", 9.0)
    true = gv.solve_opf(network).cost

    def made_of(whole: float) -> None:
        rich = replace(network.grid, cost_p=network.grid.cost_p.over(true / whole))
        published = whole if source == "published" else None
        plan = gv.Plan(1.0, 0.01, 0.01, cost=source, published_cost=published)
        release(split(Network(rich, network.lines)), plan, book, PretendExact(1), Workshop, confirmed=True)

    with pytest.raises(ReleaseError, match="finer than a solver tells costs apart"):
        made_of(1e-5)
    assert not [one for one in book.entries() if one.kind == "charge"]
    made_of(1.5)
