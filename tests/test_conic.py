"""Relaxations: forms against the physics, lifted AC points stay feasible, bounds are bounds, gaps as published."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridveil as gv
from gridveil import cases
from gridveil.conic import qc
from gridveil.conic.bound import project, proves_infeasible, safe_bound
from gridveil.conic.bus_pairs import bus_pairs, pair_forms
from gridveil.conic.clarabel import solve
from gridveil.conic.program import Builder, ConicProgram
from gridveil.conic.relaxation import Formulation, Limits, opf_program, solve_relaxation
from gridveil.conic.soc import relaxed_flow
from gridveil.grid import CostCurves, Grid, Network, line_flows
from tests.conftest import Bend

# (SOC, QC) of PGLib-OPF v23.07's BASELINE.md, in per cent, rounded up there
PUBLISHED = {
    "case3_lmbd": (1.32, 1.22),
    "case5_pjm": (14.55, 14.55),
    "case14_ieee": (0.11, 0.11),
    "case30_ieee": (18.84, 18.81),
    "case39_epri": (0.56, 0.55),
    "case57_ieee": (0.16, 0.16),
    "case118_ieee": (0.91, 0.79),
}
SMALL = ("case3_lmbd", "case5_pjm", "case14_ieee", "case30_ieee", "case39_epri")
FORMULATIONS: tuple[Formulation, ...] = ("soc", "qc", "qc-lambda")


def with_lines(grid: Grid, **changes: np.ndarray) -> Grid:
    return replace(grid, lines=replace(grid.lines, **changes))


def outside(program: ConicProgram, slack: np.ndarray) -> float:
    """How far a slack is outside of the program's cones."""
    worst, start = 0.0, 0
    for cone in program.cones:
        part = slack[start : start + cone.dimension * cone.count].reshape(cone.count, cone.dimension)
        start += part.size
        if cone.kind == "zero":
            worst = max(worst, float(np.abs(part).max(initial=0)))
        elif cone.kind == "nonnegative":
            worst = max(worst, float((-part).max(initial=0)))
        else:
            worst = max(worst, float((np.linalg.norm(part[:, 1:], axis=1) - part[:, 0]).max(initial=0)))
    return worst


def round_up(value: float) -> float:
    return math.ceil(100 * value - 1e-6) / 100


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["case5_pjm", "case118_ieee"]))
def test_pair_forms_are_the_physics(seed: int, name: str) -> None:
    """Random voltages, taps and directions; the 118 buses have parallel lines, more are made by moving ends."""
    random = np.random.default_rng(seed)
    grid, lines = gv.load(name)
    n = grid.n_line
    turn = random.random(n) < 0.3
    bus_from = np.where(turn, grid.lines.bus_to, grid.lines.bus_from)
    bus_to = np.where(turn, grid.lines.bus_from, grid.lines.bus_to)
    copied = random.integers(0, n, n // 3)  # onto the corridor of another line, in either direction
    bus_from[: len(copied)], bus_to[: len(copied)] = bus_to[copied], bus_from[copied]
    free = random.random(n) < 0.5
    tap = np.where(free, random.uniform(0.9, 1.1, n), 1.0)
    shift = np.where(free, random.uniform(-0.2, 0.2, n), 0.0)
    grid = with_lines(grid, bus_from=bus_from, bus_to=bus_to, tap=tap, shift=shift)
    voltage = random.uniform(0.9, 1.1, grid.n_bus) * np.exp(1j * random.uniform(-0.5, 0.5, grid.n_bus))
    s_from, s_to = line_flows(grid, lines, voltage)
    pairs = bus_pairs(grid)
    forms = pair_forms(grid, lines, pairs)
    first = s_from[pairs.first]
    inside = voltage[pairs.bus_from] / (tap * np.exp(1j * shift))[pairs.first]
    x = np.stack(
        [
            np.abs(voltage[pairs.bus_from]) ** 2,
            np.abs(voltage[pairs.bus_to]) ** 2,
            first.real,
            first.imag,
            np.abs(first / inside) ** 2,
        ]
    )
    size = np.abs(lines.g + 1j * lines.b)
    assert np.max(np.abs(np.sum(forms.s_from * x[:, pairs.of_line], axis=0) - s_from) / size) < 1e-10
    assert np.max(np.abs(np.sum(forms.s_to * x[:, pairs.of_line], axis=0) - s_to) / size) < 1e-10
    product = voltage[pairs.bus_from] * np.conj(voltage[pairs.bus_to])
    assert np.max(np.abs(np.sum(forms.product * x, axis=0) - product)) < 1e-10
    assert np.max(np.abs(np.sum(forms.drop * x, axis=0))) < 1e-10


@pytest.mark.parametrize("name", ["case3_lmbd", "case30_ieee", "case118_ieee"])
def test_an_ac_point_lies_in_the_relaxation(name: str) -> None:
    """Every row but the balance, which has no generation here, holds at the lifted AC optimum."""
    grid, lines = gv.load(name)
    point = gv.solve_opf(gv.Network(grid, lines)).require().point
    builder = Builder()
    flow = relaxed_flow(builder, grid, lines)
    qc.tighten(builder, grid, flow)
    program = builder.build()
    pairs, first = flow.pairs, flow.pairs.first
    scale = np.sqrt(flow.current_scale)
    current = (point.pf**2 + point.qf**2)[first] / (point.vm[pairs.bus_from] / grid.lines.tap[first]) ** 2
    delta = point.va[pairs.bus_from] - point.va[pairs.bus_to]
    centre, radius = 0.5 * (grid.buses.vmax + grid.buses.vmin), 0.5 * (grid.buses.vmax - grid.buses.vmin)
    x = np.concatenate(
        [
            point.vm**2, point.pf[first] / scale, point.qf[first] / scale, current / scale**2,
            (point.vm - centre) / radius, point.va, np.cos(delta), np.sin(delta), point.vm[pairs.bus_from] * point.vm[pairs.bus_to],
        ]
    )  # fmt: skip
    slack = program.rhs - program.A @ x
    balance = slice(len(pairs.first), len(pairs.first) + 2 * grid.n_bus)
    drawn = -slack[balance]
    expected = np.zeros(grid.n_bus, dtype=complex)
    np.add.at(expected, grid.lines.bus_from, point.pf + 1j * point.qf)
    np.add.at(expected, grid.lines.bus_to, point.pt + 1j * point.qt)
    assert np.abs(drawn).max() > 0.1
    assert np.allclose(-drawn, np.concatenate([expected.real, expected.imag]), atol=1e-8)
    slack[balance] = 0.0
    assert outside(program, slack) < 1e-5
    x[0] *= 0.8  # a point that is none is seen
    slack = program.rhs - program.A @ x
    slack[balance] = 0.0
    assert outside(program, slack) > 1e-2


@settings(max_examples=60, deadline=None)
@given(st.floats(-np.pi / 2, np.pi / 2), st.floats(-np.pi / 2, np.pi / 2), st.floats(0, 1))
def test_envelopes_hold_cosine_and_sine(one: float, two: float, where: float) -> None:
    low, high = min(one, two), max(one, two)
    delta = low + where * (high - low)
    builder = Builder()
    angle = builder.variables(np.array([low]), np.array([high]))
    qc._cosine_and_sine(builder, angle, np.array([low]), np.array([high]))
    program = builder.build()
    x = np.array([delta, np.cos(delta), np.sin(delta)])
    rounding = 1e-14 * (1 + np.abs(program.A).max() + np.abs(program.rhs).max())  # a narrow range has steep secants
    assert outside(program, program.rhs - program.A @ x) < rounding
    assert np.all(x >= program.lower - 1e-12)
    assert np.all(x <= program.upper + 1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.lists(st.floats(-2, 2), min_size=6, max_size=6))
def test_products_hold_the_product(shares: list[float], ends: list[float]) -> None:
    limits = [(np.array([min(pair)]), np.array([max(pair)])) for pair in zip(ends[::2], ends[1::2], strict=True)]
    x, y = (float(low[0] + share * (high[0] - low[0])) for (low, high), share in zip(limits[:2], shares, strict=False))
    builder = Builder()
    z, one, two = (builder.variables(np.array([-9.0]), np.array([9.0])) for _ in range(3))
    qc._mccormick(builder, z, one, two, limits[0], limits[1])
    program = builder.build()
    assert outside(program, program.rhs - program.A @ np.array([x * y, x, y])) < 1e-11


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_gaps(name: str) -> None:
    found = gv.gap(name)
    assert found.status == "optimal"
    assert found.soc_pct is not None
    assert found.qc_pct is not None
    assert (round_up(found.soc_pct), round_up(found.qc_pct)) == PUBLISHED[name]


def test_nesta_gaps(nesta: Path, baselines: Path) -> None:
    with (baselines / "nesta_baseline.csv").open() as stream:
        published = {row["case"]: row for row in csv.DictReader(stream)}
    files = sorted(nesta.glob("*.m"))
    assert len(files) == 18
    for file in files:
        found = gv.gap(file)
        assert found.soc_pct is not None
        assert found.qc_pct is not None
        assert round_up(found.soc_pct) == pytest.approx(float(published[file.stem]["soc_gap_pct"]), abs=0.021), file
        assert round_up(found.qc_pct) == pytest.approx(float(published[file.stem]["qc_gap_pct"]), abs=0.021), file


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SMALL), st.floats(0.3, 2.0))
def test_soc_below_qc_below_ac(seed: int, name: str, level: float) -> None:
    """Random demand, much of it more than the network can serve; one proof of infeasibility settles the others."""
    network = gv.load(name)
    buses = network.grid.buses
    share = level * np.random.default_rng(seed).uniform(0.8, 1.2, network.grid.n_bus)
    demand = gv.Demand(share * buses.pd, share * buses.qd)
    soc, hull = (gv.solve_opf(network, demand, formulation=form) for form in ("soc", "qc-lambda"))
    recursive = gv.solve_opf(network, demand, formulation="qc")
    assert {soc.status, recursive.status, hull.status} <= {"optimal", "infeasible"}
    assert soc.bound <= recursive.bound * (1 + 1e-5)
    assert recursive.bound <= hull.bound * (1 + 1e-5)
    ac = gv.solve_opf(network, demand, gv.SolverOptions(starts=1))
    if ac.status == "optimal":
        assert hull.bound <= ac.cost * (1 + 1e-6)
    if soc.status == "infeasible":
        assert recursive.status == hull.status == "infeasible"
        assert ac.status != "optimal"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 10), st.sampled_from(["soc", "qc"]))
def test_any_multipliers_give_a_bound(seed: int, noise: float, formulation: Formulation) -> None:
    grid, lines = gv.load("case5_pjm")
    program = opf_program(grid, lines, formulation, (grid.buses.pd, grid.buses.qd))
    z = solve(program, max_iterations=int(seed % 15) + 1).z
    z = z + noise * np.random.default_rng(seed).normal(size=len(z)) * np.max(np.abs(z))
    bound = safe_bound(program, z)
    assert np.isfinite(bound)
    assert bound <= 17551.90
    assert not proves_infeasible(program, z)
    near = project(program, z)
    assert outside(replace(program, cones=program.cones[1:]), near[program.cones[0].count :]) == 0.0
    assert np.allclose(project(program, near), near)


def test_a_loose_stop_is_called_so() -> None:
    early = solve_relaxation(*gv.load("case118_ieee"), "qc", limits=Limits(max_iterations=8))
    assert early.status == "iteration_limit"
    assert early.bound < 96450
    with pytest.raises(gv.SolveError, match="prove no more"):
        early.require()
    assert solve_relaxation(*gv.load("case118_ieee"), "soc", limits=Limits(max_seconds=1e-4)).status == "time_limit"


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_infeasible_is_proven(formulation: Formulation) -> None:
    for name in cases.names():
        network = gv.load(name)
        demand = gv.Demand(4 * network.grid.buses.pd, 4 * network.grid.buses.qd)
        found = gv.solve_opf(network, demand, formulation=formulation)
        assert found.status == "infeasible", name
        assert found.bound == math.inf


def test_gap_change() -> None:
    network = gv.load("case30_ieee")
    lines = gv.LineParameters(network.lines.g * 1.05, network.lines.b * 1.05, network.lines.bc)
    change = gv.gap_change(network, Network(network.grid, lines))
    assert change.soc_points is not None
    assert change.qc_points is not None
    assert change.original.soc_pct == pytest.approx(18.838, abs=1e-3)
    assert change.released.soc_pct == pytest.approx(18.838 + change.soc_points, abs=1e-3)
    assert abs(change.soc_points) > 1e-3
    same = gv.gap_change(network, network)
    assert same.soc_points == same.qc_points == 0.0
    demand = network.grid.buses.pd * 9
    grid = replace(network.grid, buses=replace(network.grid.buses, pd=demand))
    broken = gv.gap_change(network, Network(grid, network.lines))
    assert broken.released.status == "infeasible"
    assert broken.soc_points is None


# --- unusual and bad input ---------------------------------------------------------------------------------------


def bounds_of(network: Network) -> tuple[float, ...]:
    """All bounds, checked to be in order below the AC cost."""
    ac = gv.solve_opf(network).require().cost
    bounds = tuple(gv.solve_opf(network, formulation=form).require().bound for form in FORMULATIONS)
    for lower, upper in zip(bounds, (*bounds[1:], ac), strict=True):
        assert lower <= upper + 1e-5 * abs(ac)
    return bounds


def test_limits_that_are_not_there() -> None:
    grid, lines = gv.load("case30_ieee")
    none, n = np.full(grid.n_line, np.inf), grid.n_line
    tight = bounds_of(Network(grid, lines))
    wide = bounds_of(Network(with_lines(grid, angle_min=-none, angle_max=none, rating=none), lines))
    assert wide[0] <= tight[0] * (1 + 1e-6)
    half = with_lines(grid, angle_min=-none, rating=np.where(np.arange(n) % 2, grid.lines.rating, none))
    bounds_of(Network(half, lines))
    bounds_of(Network(with_lines(grid, angle_min=np.full(n, -2.0), angle_max=np.full(n, 2.0)), lines))
    free = replace(grid.generators, qmin=np.full(grid.n_generator, -np.inf), qmax=np.full(grid.n_generator, np.inf))
    bounds_of(Network(replace(grid, generators=free), lines))


def test_limits_that_are_points(tiny: Bend) -> None:
    grid, lines = gv.load(tiny())
    vmin, vmax = grid.buses.vmin.copy(), grid.buses.vmax.copy()
    vmin[0] = vmax[0] = 1.05
    generators = replace(grid.generators, pmin=np.array([0.5, 0.0]), pmax=np.array([0.5, 2.0]))
    fixed = replace(grid, buses=replace(grid.buses, vmin=vmin, vmax=vmax), generators=generators)
    bounds_of(Network(fixed, lines))
    va = gv.solve_opf(Network(grid, lines)).point.va
    delta = va[grid.lines.bus_from] - va[grid.lines.bus_to]
    for narrow in (0.5, 0.01, 1e-9):  # ranges on one side of zero
        ends = np.sort([delta * (1 - narrow), delta * (1 + narrow)], axis=0)
        bounds_of(Network(with_lines(grid, angle_min=ends[0], angle_max=ends[1]), lines))


def test_islands_and_a_bus_alone(tiny: Bend) -> None:
    bus = "	2	1	90	30	0	0	1	1	0	230	1	1.1	0.9;\n"
    extra = (bus, bus + f"	4	1	{0}	0	0	0	1	1	0	230	1	1.1	0.9;\n")
    alone = gv.load(tiny(extra))
    base = bounds_of(gv.load(tiny()))
    assert bounds_of(alone) == pytest.approx(base, rel=1e-5)
    starved = gv.load(tiny((bus, bus + "	4	1	7	0	0	0	1	1	0	230	1	1.1	0.9;\n")))
    for formulation in FORMULATIONS:
        assert gv.solve_opf(starved, formulation=formulation).status == "infeasible"
    cut = gv.load(
        tiny(
            ("	1	-30	30;\n	2	3", "	0	-30	30;\n	2	3"),
            ("150	150	150	0	0	1	-30", "150	150	150	0	0	0	-30"),
        )
    )
    assert gv.solve_opf(cut, formulation="soc").status == "infeasible"  # bus 1 alone; 150 MW on an 80 MW generator


def test_opposite_angle_limits_are_infeasible(tiny: Bend) -> None:
    line = "	1	2	0.01	0.1	0.02	150	150	150	0	0	1	-30	30;\n"
    twice = tiny(
        (
            line,
            line.replace("-30	30", "5	30") + line.replace("1	2", "2	1", 1).replace("-30	30", "5	30"),
        )
    )
    found = gv.solve_opf(twice, formulation="soc")
    assert found.status == "infeasible"
    assert "between buses 1 and 2" in found.detail


def test_a_bus_and_nothing_else(tmp_path: Path) -> None:
    """One bus, with and without room to move; every variable may be a number."""
    bus = "	1	3	{}	0	0	0	1	1	0	230	1	{}	{};"
    for demand, vmax, vmin, pmax, pmin, status in (
        (150, 1.1, 0.9, 200, 0, "optimal"),
        (150, 1.0, 1.0, 150, 150, "optimal"),
        (150, 1.0, 1.0, 140, 140, "infeasible"),
        (250, 1.1, 0.9, 200, 0, "infeasible"),
    ):
        text = "function mpc = one\nmpc.version = '2';\nmpc.baseMVA = 100;\nmpc.branch = [];\nmpc.bus = [\n"
        text += bus.format(demand, vmax, vmin) + f"\n];\nmpc.gen = [1 0 0 0 0 1 100 1 {pmax} {pmin}];\n"
        path = tmp_path / "one.m"
        path.write_text(text + "mpc.gencost = [2 0 0 3 0.02 10 5];\n")
        for formulation in FORMULATIONS:
            found = gv.solve_opf(path, formulation=formulation)
            assert found.status == status
            assert found.bound == pytest.approx(0.02 * 150**2 + 10 * 150 + 5 if status == "optimal" else math.inf)


def test_networks_that_cost_nothing() -> None:
    grid, lines = gv.load("case14_ieee")
    free = replace(grid, cost_p=CostCurves.zero(grid.n_generator))
    for formulation in FORMULATIONS:
        assert solve_relaxation(free, lines, formulation).require().bound == pytest.approx(0.0, abs=1e-9)
    assert gv.gap(Network(free, lines)).soc_pct in (None, pytest.approx(0.0))


def test_piecewise_costs() -> None:
    grid, lines = gv.load("case5_pjm")
    owner = np.repeat(np.arange(grid.n_generator), 2)
    slope = np.tile([1000.0, 3000.0], grid.n_generator)
    curves = CostCurves(np.zeros((grid.n_generator, 1)), owner, slope, np.tile([0.0, -2000.0], grid.n_generator))
    bounds_of(Network(replace(grid, cost_p=curves), lines))


@pytest.mark.parametrize(
    ("polynomial", "words"),
    [([0.0, 1.0, -2.0], "concave"), ([0.0, 1.0, 2.0, 0.5], "beyond the square")],
)
def test_costs_that_are_refused(polynomial: list[float], words: str) -> None:
    grid, lines = gv.load("case5_pjm")
    bent = replace(grid, cost_p=replace(grid.cost_p, polynomial=np.array([polynomial] * grid.n_generator)))
    with pytest.raises(gv.GridError, match=words):
        gv.solve_opf(Network(bent, lines), formulation="soc")


def test_input_that_is_refused() -> None:
    grid, lines = gv.load("case5_pjm")

    def refused(words: str, grid: Grid = grid, lines: gv.LineParameters = lines) -> None:
        for formulation in FORMULATIONS:
            with pytest.raises(gv.GridVeilError, match=words):
                solve_relaxation(grid, lines, formulation)

    g = lines.g.copy()
    g[2] = np.inf
    refused("line 3, from bus 1 to bus 5", lines=replace(lines, g=g))
    refused("voltage limits -1", replace(grid, buses=replace(grid.buses, vmin=np.full(5, -1.0))))
    refused("plain numbers", replace(grid, buses=replace(grid.buses, pd=np.full(5, np.nan))))
    refused("Inf or NaN where", replace(grid, buses=replace(grid.buses, gs=np.full(5, np.nan))))
    endless = np.full(grid.n_generator, np.inf)
    refused("any amount of active", replace(grid, generators=replace(grid.generators, pmin=-endless, pmax=endless)))
    with pytest.raises(gv.SolveError, match="no formulation 'sdp'"):
        solve_relaxation(grid, lines, "sdp")  # type: ignore[arg-type]
    with pytest.raises(gv.GridError, match="expected 5"):
        solve_relaxation(grid, lines, "soc", (np.zeros(4), np.zeros(5)))
