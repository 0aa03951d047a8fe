"""What the mechanisms protect: one draw per corridor, signs kept, sensitivities as claimed, losses as proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridveil as gv
from gridveil.grid import LineKind, LineParameters, Network, circuits, corridors
from gridveil.privacy.noise import ExactNoise, SeededNoise
from gridveil.sealed.mechanisms import MECHANISMS, mechanism
from gridveil.sealed.split import Sealed, split
from gridveil.wall.changes import CHANGES, cost_of_changes
from gridveil.wall.coordinates import (
    coordinates,
    from_coordinates,
    group_mean,
    groups,
    log_structure,
    shifted,
    signs,
)
from gridveil.wall.draw import NoisyLines
from gridveil.wall.mechanisms import mechanism_words

from .audit import epsilon_lower_bound
from .conftest import Bend

RELEASED = ("log", "additive", "paper")


def odd_network(tiny: Bend) -> Network:
    """Parallel lines in both directions, r = 0, r < 0, x < 0, no charging, two levels."""
    return gv.load(
        tiny(
            ("	2	3	0.01	0.08",
             "	3	1	0.04	0.2	0.05	150	0	0	0	0	1	0	0;\n	3	1	0	0.3	0	0	0	0	0	0	1	0	0;\n"
             "	1	2	-0.01	0.1	0.02	0	0	0	0	0	1	0	0;\n	2	3	0.02	-0.1	0.01	0	0	0	0	0	1	0	0;\n"
             "	2	3	0.01	0.08"),
        )
    )  # fmt: skip


def perturb(network: Sealed, name: str, seed: int, alpha: float = 0.1) -> NoisyLines:
    return mechanism(name).perturb(network, 1.0, alpha, SeededNoise(seed))


@settings(max_examples=25, deadline=None)
@given(
    r=st.lists(st.floats(-1, 1).filter(lambda v: v == 0 or abs(v) > 1e-4), min_size=3, max_size=3),
    x=st.lists(st.floats(-1, 1).filter(lambda v: abs(v) > 1e-4), min_size=3, max_size=3),
    bc=st.lists(st.floats(-1, 1).filter(lambda v: v == 0 or abs(v) > 1e-6), min_size=3, max_size=3),
)
def test_coordinates_round_trip(r: list[float], x: list[float], bc: list[float]) -> None:
    lines = LineParameters.from_impedance(np.array(r), np.array(x), np.array(bc))
    again = from_coordinates(*coordinates(lines), *(one.astype(float) for one in signs(lines)))
    for name in ("g", "b", "bc"):
        assert getattr(again, name) == pytest.approx(getattr(lines, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_log_keeps_signs_and_corridors(tiny: Bend, seed: int, alpha: float) -> None:
    network = odd_network(tiny)
    noisy = perturb(split(network), "log", seed, alpha)
    for name in ("g", "b", "bc"):
        assert np.array_equal(np.sign(getattr(noisy, name)), np.sign(getattr(network.lines, name)))
        for group in np.unique(noisy.group):
            assert len(set(getattr(noisy, name)[noisy.group == group])) == 1
    # one draw per group of twins: corridor 1–3 has a lossy pair and a lossless line
    assert noisy.group[1] == noisy.group[2] != noisy.group[3]
    assert noisy.protected.all()


@pytest.mark.parametrize("name", ["additive", "paper"])
def test_additive_mechanisms_leave_what_they_say(tiny: Bend, name: str) -> None:
    network = odd_network(tiny)
    noisy = perturb(split(network), name, 0)
    negative = network.grid.lines.kind == LineKind.NEGATIVE_RESISTANCE
    lossless = network.grid.lines.kind == LineKind.LOSSLESS
    assert np.array_equal(~noisy.protected, negative)
    assert np.array_equal(mechanism_words(name).unprotected(network.grid), negative)
    assert np.array_equal(noisy.g[negative], network.lines.g[negative])
    assert np.all(noisy.g[lossless] == 0)
    assert np.all(noisy.b[lossless] != network.lines.b[lossless])
    assert np.array_equal(noisy.bc, network.lines.bc)


def test_additive_rounds_the_ratio_and_paper_does_not() -> None:
    network = split(gv.load("case39"))
    lines = network._open().lines
    lossy = network.structure.lines.kind == LineKind.LOSSY
    true = (lines.b / np.where(lossy, lines.g, 1))[lossy]
    rounded, exact = perturb(network, "additive", 1), perturb(network, "paper", 1)
    assert (exact.b / np.where(lossy, exact.g, 1))[lossy] == pytest.approx(true, rel=1e-9)
    ratio = (rounded.b / np.where(lossy, rounded.g, 1))[lossy]
    assert [f"{value:.1e}" for value in ratio] == [f"{value:.1e}" for value in true]
    assert ratio != pytest.approx(true, rel=1e-4)


def test_the_baseline_is_bare_noise() -> None:
    """Lap(α/ε) on g, the exact ratio, no means; and no release takes it."""
    network = split(gv.load("case39"))
    lines, noisy = network._open().lines, perturb(network, "laplace", 2)
    lossy = network.structure.lines.kind == LineKind.LOSSY
    assert noisy.mean_g is None
    assert (noisy.b[lossy] / noisy.g[lossy]) == pytest.approx(lines.b[lossy] / lines.g[lossy], rel=1e-9)
    assert np.mean(np.abs(noisy.g - lines.g)[lossy]) == pytest.approx(0.1, rel=0.5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 1))
def test_moving_one_corridor_moves_the_means_no_further(seed: int, alpha: float) -> None:
    """Members of a corridor move by α at most, each its own way: the mean does too, in L1 over the coordinates."""
    random = np.random.default_rng(seed)
    grid = gv.load("case118").grid
    group = groups(circuits(grid))
    moved = np.flatnonzero(corridors(grid) == corridors(grid)[random.integers(grid.n_line)])
    change = np.zeros((3, grid.n_line))
    steps = random.dirichlet(np.ones(3), len(moved)) * random.choice([-1, 1], (len(moved), 3)) * alpha
    change[:, moved] = steps.T
    total = sum(np.abs(group_mean(one, group)).sum() for one in change)
    assert total <= alpha * (1 + 1e-9)


def test_losses() -> None:
    """MECHANISM: the true loss of the paper's mechanism is up to 18.8ε on 39 buses and 62.7ε on 118."""
    for name, loss in (("case39", 18.8), ("case118", 62.7)):
        network = split(gv.load(name))
        assert mechanism("paper").loss(network, 1.0) == pytest.approx(loss, abs=0.05)
        assert mechanism("paper").loss(network, 0.5) == pytest.approx(loss / 2, abs=0.03)
        assert mechanism("log").loss(network, 0.7) == mechanism("additive").loss(network, 0.7) == 0.7


# ---- distances: what a change costs ----


def changed(network: Network, line: int, r: float = 1.0, x: float = 1.0, bc: float = 1.0) -> Network:
    """One line's r, x and charging times factors."""
    (r0, x0), factors = network.lines.impedance(), np.ones((3, network.grid.n_line))
    factors[:, line] = r, x, bc
    lines = LineParameters.from_impedance(r0 * factors[0], x0 * factors[1], network.lines.bc * factors[2])
    return Network(network.grid, lines)


@pytest.mark.parametrize(
    ("factors", "wanted"),
    [((1.1, 1.1, 1.1), 0.953), ((1.1, 1.1, 1.0), 1.906), ((1.0, 1.1, 1.0), 2.85), ((1.0, 0.9, 1.0), 3.15), ((0.9, 1.1, 0.9), 4.95)],
)  # fmt: skip
def test_what_changes_cost(factors: tuple[float, float, float], wanted: float) -> None:
    """MECHANISM §10, on a line of 39 buses (r/x is a tenth) and on the ordinary line of the pages."""
    network = gv.load("case39")
    apart = gv.distance(network, changed(network, 2, *factors), alpha=0.1)
    assert apart.changed == 1
    assert apart.total == pytest.approx(wanted, abs=0.03)
    words = dict(zip([one for _, one in CHANGES], cost_of_changes(0.1), strict=True))
    assert words[factors][1] == pytest.approx(wanted, abs=0.06)


def test_distances_are_those_of_the_queries(tiny: Bend) -> None:
    network = gv.load("case39")
    two = changed(changed(network, 2, 1.1, 1.1, 1.1), 7, 1.1, 1.1, 1.1)
    apart = gv.distance(network, two, alpha=0.1)
    assert apart.changed == 2 and apart.total == pytest.approx(2 * 0.953, abs=0.001)
    assert gv.distance(network, network).total == 0
    twins = gv.load("case118")  # one circuit of two lines that differ: both move, and what differs stays
    structure = log_structure(twins.grid, twins.lines)
    place = int(np.argmax(np.bincount(structure.group)))
    moved = Network(twins.grid, shifted(structure, twins.lines, [(place, 0.1)]))
    assert gv.distance(twins, moved, 0.1).total == pytest.approx(1.0)
    changed_lines = np.flatnonzero(~np.isclose(moved.lines.b, twins.lines.b, rtol=1e-9))
    assert changed_lines.tolist() == np.flatnonzero(structure.group == place).tolist() and len(changed_lines) == 2
    scaled = changed(network, 2, 0.5, 0.5, 1.0)  # twice the conductance, the ratio kept
    assert gv.distance(network, scaled, 0.5, "additive").total == pytest.approx(network.lines.g[2] / 0.5)
    # what a mechanism leaves open tells the two apart, whatever the noise
    assert gv.distance(network, changed(network, 2, bc=1.1), 0.5, "additive").total == np.inf
    assert gv.distance(network, changed(network, 2, x=1.1), 0.5, "paper").total == np.inf
    assert gv.distance(network, changed(network, 2, x=-1.0)).total == np.inf
    lossless = gv.load(tiny(("0.01	0.1	", "0	0.1	")))
    for method in ("log", "additive", "paper"):
        assert gv.distance(lossless, gv.load(tiny()), 0.1, method).total == np.inf
        assert gv.distance(gv.load(tiny()), lossless, 0.1, method).total == np.inf
    with pytest.raises(gv.GridError, match="differ in public data"):
        gv.distance(network, gv.load("case14"))


# ---- audits: what an attacker with all other lines known can tell ----


def adjacent(alpha: float, line: int) -> tuple[Sealed, Sealed]:
    """case5 and its neighbour: one line's g moved by α, its ratio kept."""
    network = gv.load("case5")
    g, b = network.lines.g.copy(), network.lines.b.copy()
    b[line] *= (g[line] + alpha) / g[line]
    g[line] += alpha
    return split(network), split(Network(network.grid, LineParameters(g, b, network.lines.bc)))


def audit(name: str, statistic: Callable[[NoisyLines], float], draws: int, alpha: float = 0.5) -> float:
    noise, line = SeededNoise(7), 0
    one, other = adjacent(alpha, line)
    method = MECHANISMS[name]
    return epsilon_lower_bound(
        lambda: statistic(method.perturb(one, 1.0, alpha, noise)),
        lambda: statistic(method.perturb(other, 1.0, alpha, noise)),
        draws,
    )


def test_additive_keeps_its_claim_and_the_audit_is_sharp() -> None:
    found = audit("additive", lambda noisy: noisy.g[0], 4000)
    assert 0.7 < found <= 1.0


def test_log_keeps_its_claim() -> None:
    network = gv.load("case5")
    r, x = network.lines.impedance()
    other_x, other_r = x.copy(), r.copy()
    other_x[0], other_r[0] = x[0] * np.exp(0.5), r[0] * np.exp(0.5)  # ln|z| moves by α, the other coordinates stay
    lines = LineParameters.from_impedance(other_r, other_x, network.lines.bc * other_x / x)
    noise, method = SeededNoise(3), mechanism("log")
    secrets = split(network), split(Network(network.grid, lines))

    def draw(secret: Sealed) -> float:
        noisy = method.perturb(secret, 1.0, 0.5, noise)
        return float(np.hypot(noisy.g[0], noisy.b[0]))

    assert 0.7 < epsilon_lower_bound(lambda: draw(secrets[0]), lambda: draw(secrets[1]), 4000) <= 1.0


def test_paper_breaks_the_claim_of_the_paper_but_not_its_true_loss() -> None:
    """The planted bug is the paper's own: Lap(3α/(n_v ε)) on the mean of b."""
    network = split(gv.load("case5"))
    found = audit("paper", lambda noisy: float(np.asarray(noisy.mean_b)[0]), 4000)
    assert found > 1.0
    assert found <= mechanism("paper").loss(network, 1.0)


def tampered(name: str, change: Callable[[Sealed, NoisyLines], NoisyLines], times: int = 1) -> float:
    """The audit of a mechanism with a planted bug."""
    noise, method = SeededNoise(11), MECHANISMS[name]
    one, other = adjacent(0.5, 0)

    def draw(network: Sealed) -> float:
        several = [change(network, method.perturb(network, 1.0, 0.5, noise)) for _ in range(times)]
        return float(np.mean([noisy.g[0] for noisy in several]))

    return epsilon_lower_bound(lambda: draw(one), lambda: draw(other), 1500)


def test_audit_finds_half_noise() -> None:
    def halve(network: Sealed, noisy: NoisyLines) -> NoisyLines:
        return replace(noisy, g=0.5 * (noisy.g + network._open().lines.g))

    assert tampered("additive", halve) > 1.2


def test_audit_finds_three_unaccounted_draws() -> None:
    assert tampered("additive", lambda _, noisy: noisy, times=3) > 1.05


def test_audit_finds_unnoised_means() -> None:
    def bare(network: Sealed, noisy: NoisyLines) -> NoisyLines:
        return replace(noisy, g=np.full(len(noisy.g), network._open().lines.g.mean()))

    assert tampered("additive", bare) > 3


def test_exact_noise_passes_the_audit_too() -> None:
    """Real noise: at this confidence, one run in a million finds more than 1; less than 0.7 is six deviations away."""
    noise, draws = ExactNoise(), 20_000
    one = iter(noise.laplace(np.zeros(draws), 1.0, 1.0).tolist())
    other = iter(noise.laplace(np.ones(draws), 1.0, 1.0).tolist())
    found = epsilon_lower_bound(lambda: next(one), lambda: next(other), draws, confidence=1 - 1e-6)
    assert 0.7 < found <= 1.0
