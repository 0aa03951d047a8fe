"""The repair: what it returns keeps every promise, what it cannot do it says, and it never needs the truth."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import RepairFailed, WallBreach
from gridveil.grid import LineKind, LineParameters, Network
from gridveil.nlp import opf
from gridveil.nlp.sensitivity import cost_gradient
from gridveil.privacy.noise import SeededNoise
from gridveil.repair import bench as bench_module
from gridveil.repair.bounds import parameter_box
from gridveil.repair.certify import bounds_check, certify
from gridveil.repair.child import ChildWorkshop, Task
from gridveil.repair.cost_slopes import cuts
from gridveil.repair.repair import repair
from gridveil.repair.trial import rounded
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.codec import pack, unpack
from gridveil.wall.draw import Fidelity, NoisyLines, Snapshot
from gridveil.wall.facts import FactKind, declared, significant


def stated(network: Network, *, losses: bool = False) -> list[Snapshot]:
    """The network's own demand with its true cost, and losses, to four digits."""
    point = gv.solve_opf(network).require().point
    cost = declared(FactKind.COST, 1, point.cost)
    lost = declared(FactKind.LOSSES, 1, float(point.pg.sum() - network.grid.buses.pd.sum())).value
    demand = network.grid.buses.pd, network.grid.buses.qd
    return [Snapshot(*demand, cost.value, 1, cost.slack, lost if losses else None)]


def drawn(name: str, method: str, alpha: float, seed: int) -> tuple[Network, NoisyLines, list[Snapshot]]:
    network = gv.load(name)
    return network, mechanism(method).perturb(split(network), 1.0, alpha, SeededNoise(seed)), stated(network)


@pytest.mark.parametrize(
    ("name", "method", "alpha", "seed"),
    [
        ("case5", "log", 0.1, 0),
        ("case5", "log", 0.3, 2),
        ("case14", "additive", 1.0, 0),
        ("case14", "paper", 1.0, 1),
        ("case30", "log", 0.1, 1),
        ("case30", "paper", 0.1, 2),
        ("case39", "log", 1.0, 0),
        ("case57", "log", 0.3, 3),
    ],
)
def test_promises_hold(name: str, method: str, alpha: float, seed: int) -> None:
    network, noisy, facts = drawn(name, method, alpha, seed)
    grid, fidelity = network.grid, Fidelity(0.01)
    result = repair(grid, noisy, facts, fidelity)
    alone = tuple(np.flatnonzero(~noisy.protected).tolist())
    assert certify(grid, result.lines, result.points, facts, fidelity, alone).failed == ()
    assert bounds_check(grid, result.network, noisy, 50 * result.widening).passed
    # towards the true, unrounded cost too
    true = gv.solve_opf(network).cost
    assert abs(gv.solve_opf(Network(grid, result.lines)).cost / true - 1) <= 0.01
    assert np.all(result.lines.g[grid.lines.kind == LineKind.LOSSY] > 0)
    for group in np.unique(noisy.group):
        members = noisy.group == group
        assert np.ptp(result.lines.g[members]) == np.ptp(result.lines.b[members]) == 0


def test_a_faithful_draw_is_released_as_it_is() -> None:
    network, noisy, facts = drawn("case39", "log", 0.01, 0)
    result = repair(network.grid, noisy, facts, Fidelity(0.01))
    assert result.path == "as drawn"
    assert result.lines.b == pytest.approx(noisy.b, rel=1e-8)


def test_cuts_are_needed_and_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """case30 at α = 0.1: the network as drawn is feasible and more than 1 % too cheap. Without steps, cuts mend it."""
    network, noisy, facts = drawn("case30", "log", 0.1, 0)
    monkeypatch.setattr(bench_module, "QUICK_STEPS", 0)
    cheap = gv.solve_opf(Network(network.grid, LineParameters(noisy.g, noisy.b, noisy.bc))).require()
    assert cheap.cost < 0.99 * facts[0].cost
    result = repair(network.grid, noisy, facts, Fidelity(0.01))
    assert result.cuts >= 1
    assert gv.solve_opf(Network(network.grid, result.lines)).cost > 0.99 * facts[0].cost


def no_cuts_at_first(cuts: Callable[..., Any]) -> Callable[..., Any]:
    """The network as drawn yields no cut; later calls do."""
    seen: list[int] = []

    def later(*arguments: Any) -> Any:
        seen.append(1)
        return cuts(*arguments) if len(seen) > 1 else []

    return later


def test_steering_works_without_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    network, noisy, facts = drawn("case30", "log", 0.1, 0)
    monkeypatch.setattr(bench_module, "MOST_ROUNDS", 1)
    monkeypatch.setattr(bench_module, "QUICK_STEPS", 0)
    monkeypatch.setattr(bench_module, "cuts", no_cuts_at_first(cuts))
    result = repair(network.grid, noisy, facts, Fidelity(0.01))
    assert abs(gv.solve_opf(Network(network.grid, result.lines)).cost / facts[0].cost - 1) <= 0.01


def test_where_no_projection_ends_stiffer_lines_lead_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """57 buses, α = 1: neither network has a dispatch, and no projection is let end; a stiffer network is brought to
    the cost by steps."""
    network, noisy, facts = drawn("case57", "log", 1.0, 4)
    failed = SimpleNamespace(status=gv.Status.ITERATION_LIMIT)
    monkeypatch.setattr(bench_module, "project", lambda *_: failed)
    result = repair(network.grid, noisy, facts, Fidelity(0.05))
    assert result.path == "projected"
    assert abs(gv.solve_opf(Network(network.grid, result.lines)).cost / facts[0].cost - 1) <= 0.05


def test_cost_gradient_against_finite_differences() -> None:
    network = gv.load("case5")
    model = opf.opf_model(network.grid)
    lines = network.lines
    gradient = cost_gradient(network.grid, lines, opf.solve_opf(model, lines).require())
    for which, name in enumerate(("g", "b", "bc")):
        for line in range(network.grid.n_line):
            costs = []
            for sign in (1, -1):
                parts = {key: getattr(lines, key).copy() for key in ("g", "b", "bc")}
                parts[name][line] += sign * 1e-3
                costs.append(opf.solve_opf(model, LineParameters(**parts)).require().cost)
            assert gradient[which, line] == pytest.approx((costs[0] - costs[1]) / 2e-3, abs=0.3)


def test_losses_are_kept_on_request() -> None:
    network = gv.load("case14")
    secret = split(network)
    facts = stated(network, losses=True)
    assert facts[0].losses is not None
    noisy = mechanism("log").perturb(secret, 1.0, 1.0, SeededNoise(4))
    result = repair(network.grid, noisy, facts, Fidelity(0.01, loss_within=1.05))
    lost = float(result.points[0].pg.sum() - network.grid.buses.pd.sum())
    assert 1 / 1.05 <= lost / facts[0].losses <= 1.05


def test_impossible_is_said() -> None:
    network, noisy, facts = drawn("case5", "log", 0.1, 0)
    snapshot = facts[0]
    dear = [Snapshot(snapshot.pd, snapshot.qd, 50 * snapshot.cost)]
    with pytest.raises(RepairFailed, match="try a smaller alpha or a larger beta"):
        repair(network.grid, noisy, dear, Fidelity(0.01))
    with pytest.raises(RepairFailed, match="finer than the rounding"):
        repair(network.grid, noisy, facts, Fidelity(1e-4))


def test_boxes_come_from_noisy_data() -> None:
    network, noisy, _ = drawn("case118", "paper", 1.0, 0)
    box = parameter_box(network.grid, noisy, 50.0)
    lossy = network.grid.lines.kind == LineKind.LOSSY
    g = box.columns[0][lossy]
    assert np.all(box.base[g] > 0)
    assert np.all(box.high[g] == np.log(50)) and np.all(box.low[g] == -np.log(50))
    lossless = box.columns[0][network.grid.lines.kind == LineKind.LOSSLESS]
    assert np.all(box.base[lossless] == 0)
    assert np.all(box.high[lossless] == 0) and np.all(box.low[lossless] == 0)
    b = box.columns[1]
    assert np.all(box.base[b][network.lines.b < 0] < 0)


def test_child_process_gives_the_same_answer() -> None:
    network, noisy, facts = drawn("case5", "log", 0.3, 2)
    here = repair(network.grid, noisy, facts, Fidelity(0.01))
    demand = gv.Demand(facts[0].pd, facts[0].qd)
    with closing(ChildWorkshop().begin(network.grid, noisy, Fidelity(0.01))) as shop:
        assert shop.estimate([demand]) == Workshop().begin(network.grid, noisy, Fidelity(0.01)).estimate([demand])
        there = shop.repair(facts)
    assert np.array_equal(here.lines.b, there.lines.b)
    assert np.array_equal(here.points[0].vm, there.points[0].vm)
    snapshot = facts[0]
    dear = [Snapshot(snapshot.pd, snapshot.qd, 50 * snapshot.cost)]
    with (
        pytest.raises(RepairFailed, match="no AC-feasible network"),
        closing(ChildWorkshop().begin(network.grid, noisy, Fidelity(0.01))) as shop,
    ):
        shop.repair(dear)


def test_wire_is_exact_and_refuses_secrets() -> None:
    network, noisy, facts = drawn("case14", "paper", 1.0, 1)
    again = unpack(pack(Task(network.grid, noisy, Fidelity(0.01))), Task)
    assert np.array_equal(again.noisy.g, noisy.g)
    assert np.array_equal(again.grid.lines.rating, network.grid.lines.rating)
    assert unpack(pack(facts), list[Snapshot])[0].cost == facts[0].cost
    with pytest.raises(WallBreach, match="may not cross the wall"):
        pack({"network": split(network)})


def test_rounding() -> None:
    assert significant(138415.56, 4) == 138400.0
    assert significant(-0.00123456, 2) == -0.0012
    lines = rounded(gv.load("case39")).lines
    x = lines.impedance()[1]
    assert [float(f"{value:.8e}") for value in x] == pytest.approx(x, rel=1e-12)


def test_planted_bugs_fail_the_certificate() -> None:
    """A network with a wrong sign, unequal parallel lines, a wrong cost or a foreign point is not certified."""
    network, noisy, facts = drawn("case118", "log", 0.01, 0)
    grid, fidelity = network.grid, Fidelity(0.01)
    result = repair(grid, noisy, facts, fidelity)

    def failed(lines: LineParameters, cost: float = 1.0) -> str:
        snapshot = facts[0]
        other = [replace(snapshot, cost=cost * snapshot.cost)]
        return " ".join(certify(grid, lines, result.points, other, fidelity).failed)

    g = result.lines.g.copy()
    g[0] = -g[0]
    assert "wrong sign" in failed(replace(result.lines, g=g))
    twin = int(np.flatnonzero(np.bincount(noisy.group)[noisy.group] > 1)[0])
    b = result.lines.b.copy()
    b[twin] *= 1.001
    assert "corridor" in failed(replace(result.lines, b=b))
    assert "balance" in failed(replace(result.lines, b=b))
    assert "re-optimised" in failed(result.lines, cost=1.02)
    assert not bounds_check(grid, Network(grid, replace(result.lines, b=200 * result.lines.b)), noisy, 50.0).passed
