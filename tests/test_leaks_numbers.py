"""The leak check beside lines: each attacker on a network in which his leak is planted, and on one in which it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.check.leaks import groups as judge
from gridveil.check.leaks.groups import QuantityReport, examine_groups
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.numbers import NUMBER_ATTACKERS, number_guesses, numbers_held_by
from gridveil.check.leaks.verdict import examine
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.grid.cost import CostCurves
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.moving import with_numbers
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.wall.numbers import decode, encode, logs, rebuilt, with_limits
from gridveil.wall.protection import Group, Protection, Ratings
from gridveil.wall.tables import table

runner = CliRunner()
ALL = tuple(Group)


def drawn(network: Network, alpha: float | dict[Group, float], seed: int, groups: tuple[Group, ...] = ALL) -> Reader:
    """A joint draw before any repair, with what its manifest would tell."""
    alphas = alpha if isinstance(alpha, dict) else dict.fromkeys(groups, alpha)
    protection = Protection(alphas)
    made, found = table(network, protection), logs(network)
    noise = np.random.default_rng(seed).laplace(size=made.size) * made.alpha(protection)
    noisy = scaled(network, rebuilt(made, decode(made, encode(made, found) + noise, found), network), protection)
    return Reader(noisy, "joint", protection.alpha.get(Group.LINES, 1e-9), protection=protection, epsilon=1.0)


def scaled(true: Network, noisy: Network, protection: Protection) -> Network:
    """Loads and limits of units scaled to the true totals, as those of releases are."""
    grid, units = noisy.grid, noisy.grid.generators
    if Group.LOADS in protection:
        factor = np.where(grid.buses.pd > 0, true.grid.buses.pd.sum() / grid.buses.pd.sum(), 1.0)
        grid = with_numbers(grid, {"pd": factor * grid.buses.pd, "qd": factor * grid.buses.qd})
    if Group.LIMITS in protection:
        factor = np.where(units.pmax > 0, true.grid.generators.pmax.sum() / units.pmax.sum(), 1.0)
        grid = with_limits(grid, {name: factor * getattr(units, name) for name in ("pmax", "pmin", "qmax", "qmin")})
    return Network(grid, noisy.lines)


def found(network: Network, *readers: Reader) -> dict[str, QuantityReport]:
    return {one.name: one for group in examine_groups(network, readers) for one in group.quantities}


def error(report: QuantityReport, name: str) -> float:
    return report.errors[name].median


def with_loads(network: Network, change: Callable[[FloatArray], FloatArray]) -> Network:
    """All loads of the network by a rule; q is whatever it was."""
    pd = np.where(network.grid.buses.pd > 0, change(network.grid.buses.pd), network.grid.buses.pd)
    return Network(with_numbers(network.grid, {"pd": pd}), network.lines)


def with_costs(network: Network, linear: FloatArray, quadratic: FloatArray) -> Network:
    """Curves of two coefficients."""
    polynomial = np.column_stack([np.zeros(len(linear)), linear, quadratic])
    curves = network.grid.cost_p
    made = CostCurves(polynomial, curves.segment_generator, curves.segment_slope, curves.segment_intercept)
    return Network(replace(network.grid, cost_p=made), network.lines)


def anything(count: int, seed: int = 3) -> FloatArray:
    """Sizes that nobody could guess."""
    return np.exp(np.random.default_rng(seed).normal(0.0, 1.0, count))


@pytest.fixture(scope="module")
def big() -> Network:
    """118 buses with loads, limits, costs and ratings of no pattern at all."""
    network = gv.load("case118_ieee")
    grid, n, g = network.grid, network.grid.n_bus, network.grid.n_generator
    wild = with_numbers(grid, {
        "pd": np.where(grid.buses.pd > 0, anything(n, 1), grid.buses.pd),
        "qd": np.where(grid.buses.qd > 0, anything(n, 2), grid.buses.qd),
        "rating": anything(grid.n_line, 4),
    })  # fmt: skip
    wild = with_limits(
        wild,
        {"pmax": 2 * anything(g, 5), "pmin": np.zeros(g), "qmax": anything(g, 6), "qmin": -anything(g, 7)},
    )
    return with_costs(Network(wild, network.lines), 1000 * anything(g, 8), 10 * anything(g, 9))


def test_where_nothing_is_planted_nobody_gains_much(big: Network) -> None:
    verdicts = []
    for seed in range(4):
        for name, one in found(big, drawn(big, 0.3, seed)).items():
            verdicts.append(one.verdict)
            assert one.best_error > 0.7 * one.noise_error, (name, one.reason)
            for attacker in ("equal values", "equal units", "round numbers"):
                assert error(one, attacker) == pytest.approx(error(one, "totals")), (name, attacker)
    assert verdicts.count("clean") > 0.9 * len(verdicts)  # the rest is luck: the best of eight, of 54 numbers


def test_numbers_that_stand_as_they_were_are_found(big: Network) -> None:
    reader = drawn(big, 0.3, 1)
    bare = with_numbers(reader.network.grid, {"pd": big.grid.buses.pd})
    report = found(big, replace(reader, network=Network(bare, reader.network.lines)))
    assert report["pd"].verdict == "leaks"
    assert "unchanged" in report["pd"].reason
    assert report["pmax"].verdict == "clean"


def test_several_releases_are_averaged(big: Network) -> None:
    one, nine = found(big, drawn(big, 0.3, 0)), found(big, *(drawn(big, 0.3, seed) for seed in range(9)))
    for name in ("pd", "qd", "pmax", "cost", "rating"):
        assert "averaging" not in one[name].errors
        assert error(nine[name], "averaging") < 0.6 * one[name].best_error
        assert nine[name].verdict == "weak"


def test_a_second_release_that_protects_less_tells_the_rest(big: Network) -> None:
    """Who protects loads once and publishes them later has protected nothing."""
    later = drawn(big, {Group.LINES: 0.3, Group.LIMITS: 0.3}, 5)
    report = found(big, drawn(big, 0.3, 1), later)
    assert report["pd"].verdict == report["cost"].verdict == "leaks"
    assert report["qmax"].verdict != "leaks"


def test_equal_costs_are_pooled(big: Network) -> None:
    """Units with one of three linear costs, and quadratic ones of their own; classes were not declared."""
    g = big.grid.n_generator
    linear = np.array([310.0, 940.0, 2870.0])[np.arange(g) % 3]
    planted = with_costs(big, linear, np.zeros(g))
    report = found(planted, drawn(planted, 0.15, 2))["cost"]
    assert error(report, "equal values") < 0.5 * error(report, "released value")
    assert report.verdict in ("weak", "leaks")


def test_equal_curves_are_pooled_as_a_whole(big: Network) -> None:
    """Six curves, near to each other in every coefficient: only all coefficients together tell them apart."""
    kind = np.arange(big.grid.n_generator) % 6
    linear = 1013 * np.array([1.0, 1.0, 2.2, 2.2, 4.9, 4.9])[kind]
    planted = with_costs(big, linear, 11.7 * np.array([1.0, 4.0, 1.0, 4.0, 1.0, 4.0])[kind])
    report = found(planted, drawn(planted, 0.15, 2))["cost"]
    assert error(report, "equal units") < 0.5 * error(report, "released value")
    assert report.best_attacker == "equal units"


def test_common_power_factors_are_found(big: Network) -> None:
    grid = big.grid
    ratio = np.where(np.arange(grid.n_bus) % 3 == 0, 0.1, 0.5)
    qd = np.where((grid.buses.pd > 0) & (grid.buses.qd > 0), ratio * grid.buses.pd, 0.0)
    planted = Network(with_numbers(grid, {"qd": qd}), big.lines)
    report = found(planted, drawn(planted, 0.2, 4))["qd"]
    assert error(report, "equal values") < 0.8 * error(report, "released value")
    assert report.verdict == "weak"


def test_round_numbers_are_recovered(big: Network) -> None:
    """Loads of 50, 100, 200 or 500 MW at α = 10 %: the likeliest round number is mostly the true one."""
    rng = np.random.default_rng(1)
    planted = with_loads(big, lambda pd: rng.choice([0.5, 1.0, 2.0, 5.0], size=len(pd)))
    planted = Network(with_numbers(planted.grid, {"qd": np.zeros(big.grid.n_bus)}), big.lines)
    report = found(planted, drawn(planted, 0.1, 3))["pd"]
    assert report.verdict == "leaks"
    assert report.errors["round numbers"].recovered > 0.7 * report.numbers
    assert report.errors["released value"].recovered == 0


def test_costs_with_few_digits_are_recovered(big: Network) -> None:
    """20, 30 or 50 $/MWh, in the unit of a file."""
    g, base = big.grid.n_generator, big.grid.base_mva
    linear = base * np.random.default_rng(2).choice([10.0, 20.0, 30.0, 50.0, 80.0], size=g)
    planted = with_costs(big, linear, 10 * anything(g, 9))
    report = found(planted, drawn(planted, 0.05, 3))["cost"]
    assert report.errors["round numbers"].recovered > 0.3 * report.numbers
    assert report.verdict == "leaks"


def test_what_is_usual_tells_where_numbers_hardly_differ(big: Network) -> None:
    rng = np.random.default_rng(4)
    planted = with_loads(big, lambda pd: np.exp(rng.normal(0.0, 0.05, len(pd))))
    report = found(planted, drawn(planted, 0.5, 3))["pd"]
    assert error(report, "usual values") < 0.5 * error(report, "released value")
    assert report.verdict == "weak"


def test_neighbours_tell_ratings_by_impedances_and_outputs_by_ratings(big: Network) -> None:
    """Ratings made from impedances that are released with hardly any noise; capacities of units at a single line."""
    z = np.exp(logs(big)["z"])
    alphas = {Group.LINES: 0.01, Group.RATINGS: 0.5}
    planted = Network(with_numbers(big.grid, {"rating": 0.3 / z}), big.lines)
    report = found(planted, drawn(planted, alphas, 1))["rating"]
    assert error(report, "neighbours") < 0.5 * error(report, "released value")
    assert error(report, "usual values") > 1.5 * error(report, "neighbours")
    assert found(big, drawn(big, alphas, 1))["rating"].verdict == "clean"
    around = np.zeros(big.grid.n_bus)
    for ends in (big.grid.lines.bus_from, big.grid.lines.bus_to):
        np.add.at(around, ends, big.grid.lines.rating)
    limits = {"pmax": around[big.grid.generators.bus], "qmax": anything(big.grid.n_generator, 6)}
    told = Network(with_limits(big.grid, limits), big.lines)
    report = found(told, drawn(told, 0.5, 1, (Group.LIMITS,)))["pmax"]
    assert report.best_attacker == "neighbours"
    assert error(report, "neighbours") < 0.6 * error(report, "released value")


def test_scaling_to_totals_is_taken_back(big: Network) -> None:
    """Noise makes sums too large; scaled to the true total, every load is too small by as much."""
    held = numbers_held_by([drawn(big, 0.6, 1)])
    rows = held.one.table.rows("pd")
    true = logs(big)["pd"][held.one.table.member[rows]]
    off = [float(np.median(one.rows[rows] - true)) for one in (held.one, held.unscaled)]
    assert off[0] < -0.25
    assert abs(off[1]) < 0.5 * abs(off[0])
    small = numbers_held_by([drawn(big, 0.01, 1)])
    np.testing.assert_allclose(small.one.rows, small.unscaled.rows, atol=1e-3)


def test_every_attacker_speaks_of_every_number_and_sees_no_truth(big: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, said = drawn(big, 0.3, 1), list[dict[str, FloatArray]]()
    wrong = with_loads(big, lambda pd: 1.7 * pd)

    def listen(held: Any) -> dict[str, FloatArray]:
        said.append(number_guesses(held))
        return said[-1]

    monkeypatch.setattr(judge, "number_guesses", listen)
    for truth in (big, wrong):
        examine_groups(truth, [reader])
    assert set(said[0]) == {one.name for one in NUMBER_ATTACKERS} - {"averaging"}
    for name, rows in said[0].items():
        assert np.all(np.isfinite(rows)), name
        np.testing.assert_array_equal(rows, said[1][name], err_msg=name)


def test_ratings_that_move_with_impedances(big: Network) -> None:
    """In the other coordinate, too, every number is said, and the noise is that of both."""
    protection = Protection({Group.LINES: 0.3, Group.RATINGS: 0.3}, Ratings.WITH_IMPEDANCE)
    made, known = table(big, protection), logs(big)
    noise = np.random.default_rng(1).laplace(size=made.size) * made.alpha(protection)
    noisy = rebuilt(made, decode(made, encode(made, known) + noise, known), big)
    report = found(big, Reader(noisy, "joint", 0.3, protection=protection))["rating"]
    assert report.verdict == "clean"
    assert report.noise_error > 1.3 * found(big, drawn(big, 0.3, 1))["rating"].noise_error


def test_whole_releases_and_the_command(tmp_path: Path) -> None:
    """Lines first, then every group; who protects lines alone is told what he always was."""
    network = gv.load("case14")
    for name, protect in (("lines", "lines"), ("all", "all"), ("loads", "loads,limits")):
        plan = gv.Plan(1.0, 0.3, 0.01, protect=protect)
        made = release(split(network), plan, noise=SeededNoise(1), workshop=Workshop)
        made.write(tmp_path / name)
        reader = Reader(made.network, state=made.point, **reader_from_manifest(made.manifest))
        report = examine(network, [reader])
        assert bool(report.attackers) == (Group.LINES in plan.protection)
        assert [one.group for one in report.groups] == [one for one in plan.protection.groups if one != Group.LINES]
    result = runner.invoke(app, ["leakcheck", "case14", str(tmp_path / "lines"), "--json"])
    assert "groups" not in json.loads(result.stdout)
    result = runner.invoke(app, ["leakcheck", "case14", str(tmp_path / "loads"), "--json"])
    record = json.loads(result.stdout)
    assert record["attackers"] == []
    assert {"noise_error", "best_error", "verdict", "errors"} <= set(record["groups"][0]["quantities"][0])
    text = runner.invoke(app, ["leakcheck", "case14", str(tmp_path / "all")], env={"COLUMNS": "140"}).stdout
    assert "INTERNAL" in text
    for word in ("pmax", "round numbers", "engineering prior", "the noise"):
        assert word in text
    assert text.splitlines()[-1] in ("clean", "weak", "leaks")


def test_a_file_without_its_manifest_says_what_was_not_judged(tmp_path: Path) -> None:
    plan = gv.Plan(1.0, 0.3, 0.01, protect="loads,limits")
    release(split(gv.load("case14")), plan, noise=SeededNoise(1), workshop=Workshop).write(tmp_path / "some")
    alone = tmp_path / "alone.m"
    alone.write_bytes((tmp_path / "some" / "released.m").read_bytes())
    result = runner.invoke(app, ["leakcheck", "case14", str(alone)])
    assert "not judged, since no manifest says how: loads, limits of units" in " ".join(result.stdout.split())
    record = json.loads(runner.invoke(app, ["leakcheck", "case14", str(tmp_path / "some"), "--json"]).stdout)
    assert "unjudged" not in record


def test_another_networks_units_are_refused(big: Network) -> None:
    reader = drawn(big, 0.3, 1)
    units = reader.network.grid.generators
    moved = replace(units, bus=np.roll(units.bus, 1))
    with pytest.raises(ReleaseError, match="right original"):
        examine_groups(
            big, [replace(reader, network=Network(replace(reader.network.grid, generators=moved), big.lines))]
        )
