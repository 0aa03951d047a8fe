"""Attackers, budgets, scores, the facade, the command, the picture."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import gridveil as gv
from gridveil.attacks.attack import choose_lines
from gridveil.attacks.attackers import ATTACKERS
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch, level_means, public_lines
from gridveil.attacks.interdiction import interdict
from gridveil.attacks.scores import confidence, marginal_harm, similarity
from gridveil.attacks.transport import transport_interdiction
from gridveil.cli.main import app
from gridveil.errors import AttackError, ReportError
from gridveil.grid import LineParameters, Network, line_levels_kv
from gridveil.nlp.restoration import Ending, restore
from gridveil.nlp.rules import Rules
from gridveil.report.maps.layout import layout
from gridveil.report.maps.network_map import draw_attack

from .conftest import Bend


@pytest.fixture(scope="module")
def case14() -> gv.Target:
    return gv.Target(gv.load("case14_ieee"))


def noised(network: Network, seed: int) -> Network:
    """Something like a release: other line parameters on the same grid."""
    factor = np.exp(np.random.default_rng(seed).normal(0, 0.3, network.grid.n_line))
    return Network(network.grid, LineParameters(factor * network.lines.g, factor * network.lines.b, network.lines.bc))


# budgets


@pytest.mark.parametrize(
    ("n", "budget", "expected"),
    [(46, 5, 3), (46, 10, 5), (186, 10, 19), (30, 10, 3), (1000, 0.1, 1), (7, 100, 7), (3, 1e-9, 1), (100, 7, 7)],
)
def test_budgets_round_up(n: int, budget: float, expected: int) -> None:
    assert lines_in_budget(n, budget) == expected


@pytest.mark.parametrize("budget", [0, -1, 100.1, float("nan"), float("inf")])
def test_bad_budgets(budget: float) -> None:
    with pytest.raises(AttackError, match="above 0 and up to 100"):
        gv.attack("case14_ieee", budget=budget)


@pytest.mark.parametrize("count", [0, -1, 21, 1.5, float("nan"), True])
def test_bad_counts(count: int) -> None:
    with pytest.raises(AttackError, match="whole number from 1 to 20"):
        gv.attack("case14_ieee", count=count)


def test_a_budget_must_be_given_once() -> None:
    for both in ({}, {"budget": 5.0, "count": 2}):
        with pytest.raises(AttackError, match="either"):
            gv.attack("case14_ieee", **both)  # type: ignore[arg-type]


def test_other_bad_input(case14: gv.Target) -> None:
    with pytest.raises(AttackError, match="choose one of random, real"):
        gv.attack(case14, attacker="me", count=1)
    with pytest.raises(AttackError, match="give a released network"):
        gv.attack(case14, attacker="released", count=1)
    with pytest.raises(AttackError, match="choose one of switchable, literal"):
        gv.attack("case14_ieee", restoration="magic", count=1)
    with pytest.raises(AttackError, match="make another for 'literal'"):
        gv.attack(case14, restoration="literal", count=1)
    with pytest.raises(AttackError, match="41 lines, the real one 20"):
        gv.attack(case14, "case30_ieee", count=1)
    with pytest.raises(AttackError, match="from 0 on"):
        gv.attack(case14, attacker="random", seed=-1, count=1)
    real = case14.network
    ends = real.grid.lines.bus_from.copy()
    ends[3] = 7
    other = Network(replace(real.grid, lines=replace(real.grid.lines, bus_from=ends)), real.lines)
    with pytest.raises(AttackError, match="line 4 joins buses 2 and 4 in the real network, 8 and 4"):
        gv.attack(case14, other, attacker="released", count=1)


# attackers


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_every_attacker_cuts_its_budget(case14: gv.Target, attacker: str) -> None:
    made = gv.attack(case14, noised(case14.network, 1), attacker=attacker, budget=15, seed=3)
    assert len(set(made.lines.tolist())) == 3
    assert 0 <= made.restored_mw <= made.bound_mw + 1e-6 <= made.load_mw + 2e-6
    assert made.load_mw == pytest.approx(259.0)
    assert made.load_mw - made.restored_mw <= made.affected_mw + 1e-2
    assert made.status is Ending.OPTIMAL
    again = gv.attack("case14_ieee", noised(case14.network, 1), attacker=attacker, budget=15, seed=3)
    assert again.lines.tolist() == made.lines.tolist()


def test_flow_attacks_take_the_largest_flows(case14: gv.Target) -> None:
    point = gv.solve_opf("case14_ieee").require().point
    made = gv.attack(case14, count=4)
    flow = np.maximum(np.abs(point.pf), np.abs(point.pt))
    assert set(made.lines.tolist()) == set(np.argsort(-flow)[:4].tolist())
    assert made.similarity == 100
    seen = noised(case14.network, 2)
    released = gv.attack(case14, seen, attacker="released", count=4)
    assert set(released.lines.tolist()) == set(gv.attack(seen, count=4).lines.tolist())
    truth = gv.attack(case14, case14.network, attacker="released", count=4)
    assert truth.lines.tolist() == made.lines.tolist()


def test_parallel_lines_count_one_by_one_and_ties_go_to_the_first(tiny: Bend) -> None:
    twin = "	1	2	0.01	0.1	0.02	150	150	150	0	0	1	-30	30;\n"
    network = gv.load(tiny((twin, twin + twin)))
    order = by_flow(expected_dispatch(network))
    place = {line: k for k, line in enumerate(order.tolist())}
    assert place[1] == place[0] + 1
    assert restore(network, [0]).percent == pytest.approx(100, abs=1e-3)
    assert gv.attack(network, count=1, attacker="real").lines.tolist() == [order[0]]


def test_random_attacks_are_seeded(case14: gv.Target) -> None:
    picks = {tuple(gv.attack(case14, attacker="random", count=5, seed=s).lines.tolist()) for s in range(8)}
    assert len(picks) > 4


def test_public_knows_no_line(case14: gv.Target) -> None:
    """Other line parameters, the same public attack; and with a release, only its level means count."""
    other = gv.Target(noised(case14.network, 5))
    assert choose_lines(case14, "public", 4).tolist() == choose_lines(other, "public", 4).tolist()
    seen = noised(case14.network, 6)
    means = Network(seen.grid, level_means(seen.grid, seen.lines))
    assert choose_lines(case14, "public", 4, seen).tolist() == choose_lines(other, "public", 4, means).tolist()
    level = line_levels_kv(seen.grid)
    one = level == level[0]
    assert means.lines.b[one] == pytest.approx(seen.lines.b[one].mean())
    nowhere = replace(seen.grid, buses=replace(seen.grid.buses, base_kv=np.zeros(14)))
    assert public_lines(nowhere).impedance()[1] == pytest.approx(0.1)


def test_an_attacker_without_an_optimum_still_sees_flows(tiny: Bend) -> None:
    """Demand beyond all generation: AC-OPF is infeasible, the attacker looks at the best service instead."""
    network = gv.load(tiny(("2	1	90	30", "2	1	900	30")))
    assert gv.solve_opf(network).status is gv.Status.INFEASIBLE
    assert gv.attack(network, count=1).restored_percent < 40


# interdiction


@pytest.mark.parametrize("name", ["case5_pjm", "case14_ieee", "case30_ieee", "case39_epri"])
@pytest.mark.parametrize("rules", Rules)
def test_interdiction_is_never_weaker_than_the_flow_attack(name: str, rules: Rules) -> None:
    target = gv.Target(gv.load(name), rules)
    for count in (1, 2, 5):
        searched = interdict(target.network, count, target.restore, target.by_flow, evaluations=60)
        assert len(searched.lines) == count
        served = target.restore(searched.lines).served
        assert served <= target.restore(target.by_flow[:count]).served + 1e-9
        assert served == searched.served


def test_interdiction_finds_the_best_pair(case14: gv.Target) -> None:
    """Against all 190 pairs."""
    n = case14.network.grid.n_line
    best = min(case14.restore([i, j]).served for i in range(n) for j in range(i))
    found = interdict(case14.network, 2, case14.restore, case14.by_flow)
    assert found.served == pytest.approx(best, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["case5_pjm", "case14_ieee", "case30_ieee", "case39_epri"]), st.integers(1, 5))
def test_no_ac_state_serves_more_than_the_pipes(name: str, k: int) -> None:
    network = gv.load(name)
    lines, left = transport_interdiction(network.grid, k)
    assert len(lines) <= k
    assert restore(network, lines).served <= left + 1e-5


def test_transport_against_all_pairs(case14: gv.Target) -> None:
    """The value is the smallest maximum flow over all pairs, here by another program."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    grid = case14.network.grid
    load = np.round(1e4 * np.maximum(grid.buses.pd, 0)).astype(np.int32)
    own = np.zeros(14)
    np.add.at(own, grid.generators.bus, np.maximum(grid.generators.pmax, 0))

    def carried(cut: tuple[int, int]) -> int:
        kept = np.setdiff1d(np.arange(grid.n_line), cut)
        ends, rating = (grid.lines.bus_from[kept], grid.lines.bus_to[kept]), 1e4 * grid.lines.rating[kept]
        rows = np.concatenate([*ends, np.full(14, 14), np.arange(14)])
        columns = np.concatenate([ends[1], ends[0], np.arange(14), np.full(14, 15)])
        capacity = np.round(np.concatenate([rating, rating, 1e4 * own, load])).astype(np.int32)
        graph = coo_array((capacity, (rows, columns)), shape=(16, 16)).tocsr().astype(np.int32)
        return int(maximum_flow(graph, 14, 15).flow_value)

    best = min(carried((i, j)) for i in range(grid.n_line) for j in range(i))
    assert 1e4 * transport_interdiction(grid, 2)[1] == pytest.approx(best, abs=2)


# scores


def test_similarity_and_intervals() -> None:
    assert similarity([1, 2, 3, 4], [4, 2, 9, 7]) == 50
    mean, low, high = confidence([1.0, 2.0, 3.0])
    assert mean == 2
    assert high - mean == pytest.approx(mean - low) == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)  # t(0.975, 2)
    assert confidence([5.0])[1:] == (-np.inf, np.inf)
    harm = marginal_harm([40.0, 60.0], [50.0, 50.0])
    assert harm.mean == 0
    assert marginal_harm([40.0, 41.0], [50.0, 50.0]).low > 0
    for bad in ([], [float("nan")]):
        with pytest.raises(AttackError, match="at least one draw"):
            confidence(bad)
    with pytest.raises(AttackError, match="draw by draw"):
        marginal_harm([1.0], [1.0, 2.0])
    with pytest.raises(AttackError, match="similar to nothing"):
        similarity([], [1])


def test_equal_line_sets_are_restored_once(case14: gv.Target) -> None:
    first = case14.restore([1, 2])
    before = case14.restorations
    assert case14.restore(np.array([2, 1, 1])) is first
    assert case14.restorations == before


def test_load_affected(tiny: Bend) -> None:
    """Bus 2 alone loses its 90 MW at once and for good; cutting nothing of importance affects nothing."""
    target = gv.Target(gv.load(tiny()))
    assert target.affected([0, 2]) == pytest.approx(0.9, abs=1e-3)
    assert target.affected([]) == pytest.approx(0.0, abs=1e-3)
    # 1-3 and 2-3 cut: bus 3 has a machine of 80 MW, which made little before; it can be restored, but was affected
    dispatch = target.dispatch.pg[1]
    assert dispatch < 0.1
    assert target.affected([1, 2]) == pytest.approx(0.6 - dispatch, abs=2e-3)
    assert target.restore([1, 2]).percent == pytest.approx(100, abs=1e-3)


def test_the_paper_on_39_and_118_buses(nesta: Path) -> None:
    """0 % at 5 % of the lines (39 buses) and from 10 % (118), literally; 68 % of 39 at 10 % if machines may be off."""
    ieee39, ieee118 = nesta / "nesta_case39_epri.m", nesta / "nesta_case118_ieee.m"
    for file, budget in ((ieee39, 5), (ieee39, 10), (ieee118, 10)):
        made = gv.attack(file, budget=budget, restoration="literal")
        assert (made.restored_percent, made.status) == (0, Ending.INFEASIBLE)
    assert gv.attack(ieee118, budget=5, restoration="literal").restored_percent > 99.9
    assert gv.attack(ieee39, budget=10).restored_percent == pytest.approx(68.2, abs=0.1)


# the command and the picture

runner = CliRunner()


def test_command(tmp_path: Path) -> None:
    result = runner.invoke(
        app, ["attack", "case14_ieee", "--budget", "10", "--json", "--plot", str(tmp_path / "a.svg")]
    )
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    assert record["lines"] == [1, 2]
    assert record["line_ends"] == [[1, 2], [1, 5]]
    assert record["status"] == "optimal"
    assert sum(one["restored_mw"] for one in record["islands"]) == pytest.approx(record["load_restored_mw"])
    assert (tmp_path / "a.svg").read_text().count("<svg") == 1
    table = runner.invoke(
        app, ["attack", "case14_ieee", "--count", "2", "--attacker", "random", "--restoration", "literal"]
    )
    assert table.exit_code == 0
    assert "load restored" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "0"], "above 0"),
        (["--budget", "nan"], "above 0"),
        (["--count", "21"], "from 1 to 20"),
        ([], "either"),
        (["--budget", "5", "--attacker", "nobody"], "choose one of"),
        (["--budget", "5", "--restoration", "nobody"], "choose one of"),
        (["--budget", "5", "--attacker", "released"], "released network"),
        (["--budget", "5", "--released", "nowhere.m"], "nowhere.m"),
        (["--budget", "5", "--plot", "x.pdf"], ".svg or .png"),
        (["--budget", "5", "--plot", "/nowhere/x.svg"], "cannot write"),
    ],
)
def test_command_on_bad_input(arguments: list[str], words: str) -> None:
    result = runner.invoke(app, ["attack", "case14_ieee", *arguments, "--json"])
    assert result.exit_code == 2
    assert words in json.loads(result.stdout)["error"]


def test_pictures_are_the_same_every_time(tmp_path: Path, case14: gv.Target) -> None:
    for name in ("a.svg", "b.svg", "a.png"):
        draw_attack(case14.network, case14.restore([0, 1, 7]), tmp_path / name, "title")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_pictures_need_an_extra(monkeypatch: pytest.MonkeyPatch, case14: gv.Target) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ReportError, match=r"gridveil\[plot\]"):
        draw_attack(case14.network, case14.restore([0]), "a.svg")


def test_matplotlib_is_loaded_for_pictures_only() -> None:
    code = "import sys, gridveil.cli.main, gridveil.report.maps.network_map; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["case3_lmbd", "case14_ieee", "case39_epri", "case118_ieee"])
def test_layout_looks_like_the_network(name: str) -> None:
    """Joined buses are about one unit apart, no two are on one spot, and paper distances follow those in the network."""
    grid = gv.load(name).grid
    place = layout(grid)
    assert np.array_equal(place, layout(grid))
    length = np.linalg.norm(place[grid.lines.bus_from] - place[grid.lines.bus_to], axis=1)
    assert 0.6 < np.median(length) < 1.4
    apart = np.linalg.norm(place[:, None] - place, axis=2) + np.eye(grid.n_bus)
    assert apart.min() > 0.05
    assert np.ptp(place[:, 0]) >= np.ptp(place[:, 1]) * 0.8


def test_layout_of_odd_networks(tiny: Bend) -> None:
    from gridveil.grid.parts import part, without

    network = gv.load(tiny())
    apart = without(network, np.arange(3))
    assert np.isfinite(layout(apart.grid)).all()
    assert layout(part(apart, np.array([0])).grid).shape == (1, 2)
