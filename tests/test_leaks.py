"""The leak check: planted leaks are found, attackers see public data only, and the verdict is about the best of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile.from_network import from_network
from gridveil.check.leaks import verdict as judge
from gridveil.check.leaks.attackers import ATTACKERS, KNOWS_OTHERS, Guess, guess_with_others, guesses, held_by
from gridveil.check.leaks.averaging import middle
from gridveil.check.leaks.cost import Others
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest, view
from gridveil.check.leaks.law import noise_error
from gridveil.check.leaks.leakcheck import leakcheck, reader_of
from gridveil.check.leaks.posterior import Noise, best_guess, under_prior
from gridveil.check.leaks.ratings import explain, likeliest_scale
from gridveil.check.leaks.verdict import Attacked, LeakReport, best_attack, examine
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.grid import LineParameters, Network
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split

runner = CliRunner()


def run(*arguments: str, code: int = 0) -> Any:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result


def drawn(network: Network, alpha: float, seed: int, name: str = "log", epsilon: float = 1.0) -> Reader:
    """A release as it is before any repair, with what its manifest would tell of the noise."""
    noisy = mechanism(name).perturb(split(network), epsilon, alpha, SeededNoise(seed))
    scale = (3.0 if name == "paper" else 1.0) * alpha / epsilon
    return Reader(Network(network.grid, LineParameters(noisy.g, noisy.b, noisy.bc)), name, scale)


def by_name(report: LeakReport) -> dict[str, Attacked]:
    return {one.name: one for one in report.attackers}


@pytest.mark.parametrize("name", ["case14", "case57_ieee"])
def test_ratings_made_from_impedance_are_read_backwards(name: str) -> None:
    """These networks have ratings from voltage limits and |z|. Columns over ratings were called clean before."""
    network = gv.load(name)
    reader = drawn(network, 0.3, 1)
    report = examine(network, [reader])
    assert report.verdict in ("weak", "leaks")
    assert report.best_attacker == "rating provenance"
    assert report.best_error < 0.02
    assert report.noise_error > 0.1
    held = view(reader)
    size = best_guess(explain(network.grid, held.seen, held.noise).size)
    within = np.abs(size - view(Reader(network)).seen.size) <= 0.01
    assert within.mean() >= (1.0 if name == "case14" else 0.85)


def test_both_formulas_are_told_apart() -> None:
    """118 buses: a quarter of the ratings is bound by |z|, the rest follows x/r; at α = 100 % the prior is beaten, too."""
    network = gv.load("case118_ieee")
    reader = drawn(network, 1.0, 2)
    held = view(reader)
    found = explain(network.grid, held.seen, held.noise)
    assert found.recipe.startswith("smaller of bound and statistical")
    assert found.share > 0.9
    assert best_attack(network, [reader]).x.median < 0.37


def test_ratings_of_our_own_made_by_the_formula() -> None:
    """Ratings of 39 buses replaced by bounds at 15°, of impedances that no library has."""
    network = gv.load("case39_epri")
    rng = np.random.default_rng(5)
    factor = np.exp(rng.normal(0.0, 0.5, network.grid.n_line))
    lines = LineParameters(network.lines.g * factor, network.lines.b * factor, network.lines.bc)
    v = network.grid.buses.vmax
    v_from, v_to = v[network.grid.lines.bus_from], v[network.grid.lines.bus_to]
    chord = np.sqrt(v_from**2 + v_to**2 - 2 * v_from * v_to * np.cos(np.deg2rad(15.0)))
    rating = np.ceil(100 * np.maximum(v_from, v_to) * chord * np.hypot(lines.g, lines.b)) / 100
    grid = replace(network.grid, lines=replace(network.grid.lines, rating=rating))
    report = examine(Network(grid, lines), [drawn(Network(grid, lines), 0.3, 3)])
    assert report.verdict == "leaks"
    assert report.best_attacker == "rating provenance"
    assert by_name(report)["rating provenance"].x.within_1_percent > 0.5


def test_a_release_without_a_rating_to_read_is_clean() -> None:
    """39 buses have ratings from elsewhere, at α = 10 % nobody gains anything; at ε = 1,000 there is nothing to gain."""
    network = gv.load("case39_epri")
    clean = examine(network, [drawn(network, 0.1, 1)])
    assert clean.verdict == "clean"
    assert clean.noise_error == pytest.approx(0.06, abs=0.02)
    bare = examine(network, [drawn(network, 0.1, 1, epsilon=1000.0)])
    assert bare.verdict == "leaks"
    assert "half of all reactances" in bare.reason


def test_exact_ratios_are_read_as_fractions() -> None:
    """The paper's mechanism keeps b/g exactly: with 4 or 5 decimals in r and x, most lines come back."""
    network = gv.load("case39_epri")
    made = release(split(network), gv.Plan(1.0, 0.1, 0.01, "paper"), noise=SeededNoise(1), workshop=Workshop)
    report = leakcheck(
        gv.read_case("case39_epri"), [from_network("x", made.network.grid, made.lines, made.point)], [made.manifest]
    )
    found = by_name(report)["ratios"].x
    assert report.verdict == "leaks"
    assert found.recovered > 0.5 * found.lines
    assert by_name(report)["released value"].x.recovered == 0


def test_charging_left_alone_tells_reactances() -> None:
    """`additive` leaves charging as it is: on 118 buses it tells x where the noise hides it."""
    network = gv.load("case118_ieee")
    report = by_name(examine(network, [drawn(network, 1.0, 0, "additive")]))
    assert report["charging"].x.median < 0.7 * report["released value"].x.median
    assert report["charging"].bc.median == 0.0


def test_several_releases_are_averaged() -> None:
    network = gv.load("case39_epri")
    one, nine = [drawn(network, 0.3, 0)], [drawn(network, 0.3, seed) for seed in range(9)]
    alone, together = examine(network, one), examine(network, nine)
    assert "averaging" not in by_name(alone)
    assert by_name(together)["averaging"].x.median < 0.5 * alone.best_error
    assert together.best_error <= by_name(together)["averaging"].x.median
    assert together.verdict == "weak"
    values, weights = np.array([[1.0], [2.0], [9.0]]), np.array([[1.0], [1.0], [1.0]])
    assert middle(values, weights) == [2.0]
    assert middle(values[:2], weights[:2]) == [1.5]
    assert middle(values, np.array([[1.0], [1.0], [9.0]])) == [9.0]


def test_attackers_cannot_see_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged against a wrong truth, every attacker says the same; who is told the other lines, of his own circuit."""
    network = gv.load("case14")
    cost = gv.solve_opf(network).cost
    reader = replace(drawn(network, 0.3, 4), cost=cost, cost_spread=0.0)
    wrong = np.where(np.arange(network.grid.n_line) == 3, 1.7, 1.0)
    false = Network(network.grid, LineParameters(network.lines.g * wrong, network.lines.b / wrong, network.lines.bc))
    said: list[dict[str, Guess]] = []

    def listen(name: str, words: str, truth: LineParameters, guess: Guess) -> Attacked:
        said[-1][name] = guess
        return original(name, words, truth, guess)

    original = judge._attacked
    monkeypatch.setattr(judge, "_attacked", listen)
    for truth in (network, false):
        said.append({})
        examine(truth, [reader])
    assert set(said[0]) == set(said[1]) > {"released value", "rating provenance", "engineering prior", KNOWS_OTHERS}
    for name in set(said[0]) - {KNOWS_OTHERS}:
        for parameter in ("g", "b", "bc"):
            np.testing.assert_array_equal(
                getattr(said[0][name].lines, parameter), getattr(said[1][name].lines, parameter), err_msg=name
            )
    assert said[0][KNOWS_OTHERS].lines.b[3] == pytest.approx(said[1][KNOWS_OTHERS].lines.b[3], rel=1e-6)
    assert said[0][KNOWS_OTHERS].lines.b[0] != said[1][KNOWS_OTHERS].lines.b[0]
    hidden = np.arange(network.grid.n_line) == 2
    around = Others(network.lines).around(hidden, reader.network.lines)
    assert around.b[2] == reader.network.lines.b[2]
    np.testing.assert_array_equal(around.b[~hidden], network.lines.b[~hidden])


def test_an_exact_cost_tells_the_one_unknown_line() -> None:
    """The cost is one equation: worth much to who knows all lines but one, and nothing if it has noise of its own."""
    network = gv.load("case39_epri")
    cost = gv.solve_opf(network).cost
    told = replace(drawn(network, 0.3, 1), cost=cost, cost_spread=0.0)
    report = by_name(examine(network, [told]))
    assert report[KNOWS_OTHERS].x.median < 0.8 * report["released value"].x.median
    vague = by_name(examine(network, [replace(told, cost_spread=0.0125)]))
    assert vague[KNOWS_OTHERS].x.median > 0.9 * vague["released value"].x.median
    assert guess_with_others(held_by([replace(told, cost=None)]), Others(network.lines)) is None


def test_luck_is_no_leak_but_a_pull_towards_the_truth_is() -> None:
    network = gv.load("case118_ieee")
    reader = drawn(network, 0.1, 1)
    law = noise_error(view(reader))
    assert law.middle == pytest.approx(0.068, abs=0.004)
    assert 0.75 < law.lucky / law.middle < 0.95
    held = held_by([reader])
    assert judge._noise(0.9 * law.middle, [reader], held) == pytest.approx(0.9 * law.middle)
    assert judge._noise(0.5 * law.middle, [reader], held) == law.lucky
    assert judge._noise(2.0 * law.middle, [reader], held) == law.middle
    assert judge._noise(0.04, [replace(reader, scale=None)], held) == 0.04


def test_the_noise_is_found_from_the_ratings_if_nobody_tells() -> None:
    network = gv.load("case14")
    assert likeliest_scale(drawn(network, 0.03, 2).network) == 0.03
    report = examine(network, [replace(drawn(network, 0.3, 2), scale=None, mechanism=None)])
    assert report.verdict == "weak"


def test_guesses_follow_noise_and_prior() -> None:
    """Without noise the released value stays; with much, the prior's mean; and a tilt errs on the small side."""
    seen, mean, spread = np.array([1.0, 1.0]), np.zeros(2), np.full(2, 0.1)
    guess = best_guess(under_prior(seen, Noise(np.array([1e-6, 100.0])), mean, spread, 1000.0))
    assert guess == pytest.approx([1.0, 0.0], abs=0.01)
    points = under_prior(seen, Noise(np.array([1.0, 1.0])), mean, np.full(2, 1.0), 1000.0)
    assert np.all(best_guess(points, tilt=1.0) < best_guess(points))
    # noise on a conductance: a small one, released, may well have been twice as large; a large one not so
    bent = best_guess(under_prior(seen, Noise(np.array([1e-6, 2.0]), 1), mean, np.full(2, 1.0), 1000.0))
    assert bent[0] == pytest.approx(1.0, abs=1e-3)
    assert 0.0 < bent[1] < 0.9


def planted(folder: Path, spoiler: str) -> str:
    network = gv.load("case14")
    lines = network.lines
    if spoiler == "state":
        lines = LineParameters(1.1 * lines.g, 1.07 * lines.b, 1.05 * lines.bc)
    gv.write(from_network("x", network.grid, lines, gv.solve_opf(network).point), folder / "x.m")
    return str(folder / "x.m")


@pytest.mark.parametrize(("spoiler", "words"), [("unchanged", "stands unchanged"), ("state", "solved state")])
def test_planted_leaks(tmp_path: Path, spoiler: str, words: str) -> None:
    record = json.loads(run("leakcheck", "case14", planted(tmp_path, spoiler), "--json", code=5).stdout)
    assert record["verdict"] == "leaks"
    assert words in record["reason"]
    if spoiler == "state":
        names = {one["name"]: one for one in record["attackers"]}
        assert names["solved state"]["x"]["median"] < names["released value"]["x"]["median"]


def test_the_state_of_the_original_is_recognised(tmp_path: Path) -> None:
    network = gv.load("case14")
    point = gv.solve_opf(network).point
    original = from_network("x", network.grid, network.lines, point)
    reader = drawn(network, 0.1, 1)
    shown = from_network("x", network.grid, reader.network.lines, point)
    assert leakcheck(original, [shown]).reason == "the solved state in the file is that of the original network"
    assert reader_of(shown).state is not None


def test_command_line(tmp_path: Path) -> None:
    """One release or several, a file or a directory; the last line is the verdict, alone."""
    network = gv.load("case14")
    for seed in (1, 2):
        made = release(split(network), gv.Plan(1.0, 0.3, 0.01), noise=SeededNoise(seed), workshop=Workshop)
        made.write(tmp_path / str(seed))
        assert reader_from_manifest(made.manifest)["scale"] == pytest.approx(0.3 / 0.8)
    text = run("leakcheck", "case14", str(tmp_path / "1"), code=5).stdout
    assert "INTERNAL" in text
    assert text.splitlines()[-1] in ("weak", "leaks")
    assert "where the noise alone would leave" in text.splitlines()[-2] or "reactances" in text.splitlines()[-2]
    record = json.loads(
        run("leakcheck", "case14", str(tmp_path / "1" / "released.m"), str(tmp_path / "2"), "--json", code=5).stdout
    )
    assert {"verdict", "best_attacker", "best_error", "noise_error", "attackers", "stamp"} <= set(record)
    names = [one["name"] for one in record["attackers"]]
    assert "averaging" in names
    assert set(names) <= {one.name for one in ATTACKERS} | {KNOWS_OTHERS}
    assert record["best_error"] == min(one["x"]["median"] for one in record["attackers"])
    assert {"median", "within_1_percent", "within_10_percent", "lines"} <= set(record["attackers"][0]["bc"])


def test_bad_input(tmp_path: Path) -> None:
    assert "right original" in run("leakcheck", "case14", "case5", code=2).stderr
    (tmp_path / "released.m").write_text(Path(str(gv.cases.path("case14"))).read_text())
    (tmp_path / "manifest.json").write_text("{")
    assert "manifest" in run("leakcheck", "case14", str(tmp_path), code=2).stderr
    with pytest.raises(ReleaseError, match="no release"):
        leakcheck(gv.read_case("case14"), [])
    assert "attacker" in run("leakcheck", "--help").stdout


def test_guesses_are_deterministic() -> None:
    reader = drawn(gv.load("case14"), 0.1, 1)
    first, again = guesses(held_by([reader])), guesses(held_by([reader]))
    for name, guess in first.items():
        np.testing.assert_array_equal(guess.lines.b, again[name].lines.b)


def test_a_network_may_be_the_original_of_a_leak_check() -> None:
    """What was loaded before is as good as its file, but for a solved state, which it has not."""
    made = gv.release(gv.seal("case14"), gv.Plan(1.0, 0.1, 0.01), noise=gv.SeededNoise(1))
    by_name, by_network = (gv.leakcheck(one, made) for one in ("case14", gv.load("case14")))
    assert by_name == by_network
