"""What a notebook shows of every object: at most a few lines, and no number that may be secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gridveil as gv
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.wall.certificate import Certificate, Check, CheckKind

FEW = 4
"""Lines of at most 130 characters."""


@pytest.fixture(scope="module")
def made() -> gv.Release:
    return release(gv.seal("case39_epri"), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(7), workshop=Workshop)


def other_world(network: gv.Network) -> gv.Network:
    """The same structure with every number that can be protected another."""
    grid, lines = network
    units, curves = grid.generators, grid.cost_p
    return gv.Network(
        replace(
            grid,
            buses=replace(grid.buses, pd=1.37 * grid.buses.pd, qd=1.37 * grid.buses.qd),
            generators=replace(units, pmax=1.37 * units.pmax, qmax=1.37 * units.qmax, qmin=1.37 * units.qmin),
            lines=replace(grid.lines, rating=1.37 * grid.lines.rating),
            cost_p=replace(curves, polynomial=1.37 * curves.polynomial),
        ),
        gv.LineParameters(1.37 * lines.g, 1.37 * lines.b, 1.37 * lines.bc),
    )


def held(network: gv.Network) -> list[object]:
    """A network and all that it is made of."""
    grid, sealed = network.grid, split(network)
    structure = sealed.structure
    return [
        network, network.lines, grid, grid.buses, grid.generators, grid.lines, grid.cost_p, grid.cost_q,
        sealed, structure, structure.buses, structure.generators, structure.lines,
        gv.Demand(grid.buses.pd, grid.buses.qd), gv.make_profile(network, 24), gv.opf_model(grid),
    ]  # fmt: skip


def test_a_network_shows_none_of_its_numbers() -> None:
    network = gv.load("case39_epri")
    shown = [repr(one) for one in held(network)]
    assert shown == [repr(one) for one in held(other_world(network))]
    assert shown[0] == "Network(39 buses, 10 generators, 46 lines)"
    assert shown[3].startswith("Buses(39 × number, base_kv, pd, qd")
    assert all(len(one) < 150 for one in shown)


def test_a_release_is_a_few_lines(made: gv.Release) -> None:
    shown = repr(made).splitlines()
    assert len(shown) <= FEW and max(map(len, shown)) <= 130
    assert "39 buses, 10 generators, 46 lines" in shown[0] and f"cost {made.point.cost:,.2f}" in shown[0]
    assert "all hold" in shown[1] and "NOT private" in shown[2]
    assert len(repr(made.manifest)) < 130 and len(repr(made.certificate)) < 130


def test_a_certificate_names_what_fails() -> None:
    checks = (Check(CheckKind.COST, 0.2, 0.01, False), Check(CheckKind.LIMITS, 0.0, 1e-5, True))
    assert repr(Certificate(checks)) == "Certificate(2 checks, FAILED: cost)"


def test_solutions_gaps_and_attacks_are_a_line(made: gv.Release) -> None:
    network = gv.load("case39_epri")
    solution, gap, target = gv.solve_opf(network), gv.gap("case5_pjm"), gv.Target(network)
    attack = gv.attack(target, made.network, attacker="released", budget=10)
    answers = [
        solution, solution.point, solution.end, gap, gap.soc, gv.GapChange(gap, gap), target, attack,
        attack.restoration, attack.restoration.islands[0], gv.distance(network, made.network),
    ]  # fmt: skip
    for one in answers:
        assert "\n" not in repr(one) and len(repr(one)) < 250
    assert "optimal, cost 138,415.56" in repr(solution)
    assert repr(gap).startswith("Gap(AC cost 17,551.89, SOC 14.5")
    assert repr(attack).endswith("INTERNAL)") and f"{attack.restored_percent:.1f} %" in repr(attack)
    assert repr(target).endswith("INTERNAL)")


def test_what_is_asked_and_what_is_found_are_a_line(made: gv.Release, tmp_path: Path) -> None:
    """Where they rest on the original they say INTERNAL, and have none of its numbers."""
    network, key = gv.load("case39_epri"), gv.create_key(tmp_path / "k")
    verdict = gv.verify(made.write(tmp_path / "b"), quick=True)
    internal = [gv.leakcheck(network, made), gv.exposure("case5_pjm"), gv.StepComparison(1, True, "optimal", 9, 9, 0)]
    others = [verdict, gv.Plan(1, "10%", "1%"), gv.SeededNoise(7), gv.Ledger.open(tmp_path / "l"), key, gv.Goals()]
    for one in (*internal, *others, gv.solve_opf(network, formulation="soc")):
        assert "\n" not in repr(one) and len(repr(one)) < 200 and "array" not in repr(one)
    assert all(repr(one).endswith("INTERNAL)") for one in internal)
    assert repr(verdict) == f"Verdict({len(verdict.checks)} checks, all hold; NOT private; unsigned)"
    assert (
        repr(gv.Plan(1, "10%", "1%", steps=3)) == "Plan(epsilon=1, alpha=0.1, beta=0.01, steps=3, protect=('lines',))"
    )


def test_a_failed_solution_says_why() -> None:
    network = gv.load("case5_pjm")
    demand = gv.Demand(10 * network.grid.buses.pd, 10 * network.grid.buses.qd)
    shown = repr(gv.solve_opf(network, demand))
    assert shown.startswith("Solution(infeasible: ") and "cost" not in shown
