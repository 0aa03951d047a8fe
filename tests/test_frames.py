"""Frames have the numbers of the file, in its units; a comparison says that it is internal; pandas stays out till then."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.errors import GridError, GridVeilError
from gridveil.internal import INTERNAL
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from tests.conftest import Bend

GROUPS = ("lines", "ratings", "loads", "limits", "costs")


def test_frames_are_the_tables_of_the_file() -> None:
    case = gv.read_case("case39_epri")
    frames = gv.frames(case)
    assert frames.buses.index.name == "bus" and frames.buses.index.tolist() == case.bus[:, c.BUS_NUMBER].tolist()
    for table, rows, pairs in (
        (
            frames.buses,
            case.bus,
            {"pd_mw": c.PD, "qd_mvar": c.QD, "bs_mvar": c.BS, "vmin_pu": c.VMIN, "base_kv": c.BASE_KV},
        ),
        (
            frames.generators,
            case.gen,
            {"bus": c.GEN_BUS, "pmax_mw": c.PMAX, "pmin_mw": c.PMIN, "qmin_mvar": c.QMIN, "qmax_mvar": c.QMAX},
        ),
        (
            frames.lines,
            case.branch,
            {
                "from_bus": c.FROM,
                "to_bus": c.TO,
                "r_pu": c.R,
                "x_pu": c.X,
                "bc_pu": c.B,
                "rating_mva": c.RATE_A,
                "angle_max_deg": c.ANGLE_MAX,
            },
        ),
    ):
        for name, column in pairs.items():
            np.testing.assert_allclose(table[name], rows[:, column], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(frames.generators["c1"], case.gencost[:, c.COST_FIRST + 1], rtol=1e-12)
    assert repr(frames) == "Frames(buses: 39 rows, generators: 10, lines: 46)"


def test_names_units_and_missing_limits(tiny: Bend) -> None:
    case = tiny(
        ("2\t3\t0.01\t0.08\t0.02\t150", "2\t3\t0.01\t0.08\t0.02\t0"),
        append="mpc.bus_name = {\n'north';\n'east';\n'south';\n};\n",
    )
    frames = gv.frames(case)
    assert frames.buses["name"].tolist() == ["north", "east", "south"]
    assert "name" not in gv.frames(gv.load(case)).buses
    assert frames.lines["rating_mva"].tolist() == [150, 150, np.inf]
    np.testing.assert_allclose(frames.lines.loc[2, ["tap", "shift_deg"]].astype(float), [0.98, 2])
    assert frames.lines["kind"].tolist() == ["lossy"] * 3
    np.testing.assert_allclose(frames.generators[["c0", "c1", "c2"]], [[5, 10, 0.02], [0, 20, 0.01]], rtol=1e-12)


def test_a_solution_as_frames() -> None:
    solution = gv.solve_opf("case39_epri").require()
    network = gv.frames("case39_epri")
    buses, units, lines = (solution.frame(name) for name in ("buses", "generators", "lines"))
    assert solution.frame().equals(buses) and buses.index.equals(network.buses.index)
    lost = lines["pf_mw"].sum() + lines["pt_mw"].sum()
    assert units["pg_mw"].sum() == pytest.approx(network.buses["pd_mw"].sum() + lost, rel=1e-6)
    assert (units["pg_mw"] * network.generators["c1"]).sum() == pytest.approx(solution.cost, rel=1e-9)
    assert lines["loading_pct"].between(0, 100.001).all() and lines["loading_pct"].max() > 99
    more = gv.load("case39_epri").grid.buses.pd.copy()
    more[3] += 1e-3  # a tenth of a MW at the fourth bus
    dearer = gv.solve_opf("case39_epri", gv.Demand(more, gv.load("case39_epri").grid.buses.qd)).cost
    assert (dearer - solution.cost) / 0.1 == pytest.approx(buses["price"].iloc[3], rel=0.01)
    with pytest.raises(GridError, match="there is no frame 'branches'; there are buses, generators, lines"):
        solution.frame("branches")


def test_a_comparison_is_internal_and_exact() -> None:
    network = gv.load("case14_ieee")
    plan = gv.Plan(1.0, 0.1, 0.05, protect="all")
    made = release(gv.seal("case14_ieee"), plan, noise=SeededNoise(2), workshop=Workshop)
    found = made.compare(network)
    same = gv.compare("case14_ieee", made)
    assert INTERNAL in repr(found) and found.stamp == INTERNAL
    for group in GROUPS:
        table = getattr(found, group)
        assert table.attrs["stamp"] == INTERNAL and table.equals(getattr(same, group))
        assert len(table) and (table["change"].abs() > 1e-6).any(), group
    x = found.lines[found.lines["quantity"] == "x_pu"]
    before, after = network.lines.impedance()[1], made.lines.impedance()[1]
    np.testing.assert_allclose(x["change"], after / before - 1, rtol=1e-9)
    np.testing.assert_allclose(x["after"], after)
    assert x["from_bus"].tolist() == network.grid.buses.number[network.grid.lines.bus_from].tolist()
    assert found.loads.loc[2, "quantity"].tolist() == ["pd_mw", "qd_mvar"]
    # what neither has is no row: bus 1 has no load
    assert 1 not in found.loads.index


def test_what_a_plan_leaves_public_has_not_changed() -> None:
    made = release(gv.seal("case14_ieee"), gv.Plan(1.0, 0.1, 0.05), noise=SeededNoise(2), workshop=Workshop)
    found = gv.compare("case14_ieee", made)
    for group in GROUPS[1:]:
        assert (getattr(found, group)["change"].abs().fillna(0) < 1e-9).all()


def test_piecewise_costs_are_compared_by_their_slopes(tiny: Bend) -> None:
    case = tiny(("2\t0\t0\t3\t0.02\t10\t5", "1\t0\t0\t3\t0\t0\t100\t1000\t200\t3000"),
                ("2\t0\t0\t3\t0.01\t20\t0;", "2\t0\t0\t3\t0.01\t20\t0\t0\t0\t0;"))  # fmt: skip
    costs = gv.compare(case, case).costs
    assert costs.loc[1, ["quantity", "before"]].to_numpy().tolist() == [["slope1", 10.0], ["slope2", 20.0]]
    assert (costs["change"] == 0).all()


def test_other_networks_are_refused() -> None:
    with pytest.raises(GridError, match="different buses; compare a release with the network it was made of"):
        gv.compare("case14_ieee", "case30_ieee")


def test_frames_of_a_release_have_its_point() -> None:
    made = release(gv.seal("case5_pjm"), gv.Plan(1.0, 0.1, 0.05), noise=SeededNoise(2), workshop=Workshop)
    frames = gv.frames(made)
    np.testing.assert_allclose(frames.generators["pg_mw"], made.point.pg * 100)
    assert {"pd_mw", "vm_pu", "va_deg"} <= set(frames.buses) and list(frames.lines).count("from_bus") == 1


def test_pandas_is_loaded_for_frames_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "import sys, gridveil as gv; gv.solve_opf('case5_pjm'); gv.frames; gv.compare; print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(GridVeilError, match=r"needs the library pandas.*pip install 'gridveil\[frames\]'"):
        gv.frames("case5_pjm")


def test_networks_and_releases_have_frames_of_their_own() -> None:
    network = gv.load("case14_ieee")
    assert network.frame("lines").equals(gv.frames(network).lines)
    made = gv.release(gv.seal(network), gv.Plan(1.0, 0.1, 0.01), noise=gv.SeededNoise(1))
    assert {"x_pu", "pf_mw", "loading_pct"} <= set(made.frame("lines").columns)
    assert made.frame().equals(gv.frames(made).buses)
    with pytest.raises(gv.GridError, match="there is no frame 'nodes'"):
        network.frame("nodes")
