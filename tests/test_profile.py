"""Profiles: rules, files and their errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.casefile.profile import as_read_back, profile_text, read_csv_bytes, read_profile
from gridveil.errors import CaseFileError, GridError, ReleaseError
from gridveil.grid.profile import RULES, Profile, equally_spaced, make_profile

GRID = gv.load("case14").grid
LOADED = GRID.buses.pd != 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("per_bus", [True, False])
@given(steps=st.integers(1, 40), seed=st.integers(0, 2**32), low=st.floats(0, 1), width=st.floats(0, 1))
def test_rules_stay_within_their_range(
    rule: str, per_bus: bool, steps: int, seed: int, low: float, width: float
) -> None:
    made = make_profile(GRID, steps, rule, per_bus=per_bus, low=low, high=low + width, seed=seed)
    scale = made.pd[:, LOADED] / GRID.buses.pd[LOADED]
    assert made.step.tolist() == list(range(1, steps + 1))
    assert np.all((scale >= low - 1e-12) & (scale <= low + width + 1e-12))
    again = make_profile(GRID, steps, rule, per_bus=per_bus, low=low, high=low + width, seed=seed)
    assert np.array_equal(made.pd, again.pd)
    assert np.allclose(made.qd * GRID.buses.pd, made.pd * GRID.buses.qd)  # one scale for both
    if not per_bus:
        assert np.allclose(scale, scale[:, :1])


def test_rules_are_what_they_are_called() -> None:
    def scales(rule: str, per_bus: bool, steps: int = 8) -> FloatArray:
        made: FloatArray = make_profile(GRID, steps, rule, per_bus=per_bus).pd[:, LOADED] / GRID.buses.pd[LOADED]
        return made

    assert scales("ramp", False)[:, 0] == pytest.approx(np.linspace(0.8, 1.1, 8))
    both = make_profile(GRID, 8, "ramp").pd / np.where(LOADED, GRID.buses.pd, 1)
    assert both[0, 1] == pytest.approx(1.1)  # bus 2 falls while
    assert both[0, 2] == pytest.approx(0.8)  # bus 3 rises
    wave = scales("sine", False)[:, 0]
    assert (wave[0], wave[2], wave[6]) == pytest.approx((0.95, 1.1, 0.8))
    assert np.ptp(scales("sine", True)[0]) > 0.05
    other = make_profile(GRID, 8, "uniform", seed=1).pd
    assert not np.array_equal(other, make_profile(GRID, 8, "uniform", seed=2).pd)


@given(st.integers(1, 200), st.data())
def test_steps_are_equally_spaced(horizon: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, horizon))
    used = equally_spaced(horizon, count)
    assert len(set(used.tolist())) == count
    assert used[0] == 0
    if count > 1:
        assert used[-1] == horizon - 1
        assert np.ptp(np.diff(used)) <= 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_read_back(tmp_path: Path, suffix: str) -> None:
    made = make_profile(GRID, 5, seed=3)
    path = tmp_path / "p.csv"
    path.write_text(profile_text(GRID, made))
    if suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow.csv", reason="pyarrow is an extra")
        from pyarrow import parquet

        table = arrow.read_csv(path)
        path = tmp_path / "p.parquet"
        parquet.write_table(table, path)
    back = gv.read_profile(path, "case14")
    assert back.step.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(back.pd, made.pd, rtol=1e-15)
    np.testing.assert_allclose(back.qd, made.qd, rtol=1e-15)


@given(
    st.floats(1e-9, 1e6),
    st.sampled_from([1.0, 100.0, 1000.0, 0.1, 37.5]) | st.floats(1e-3, 1e5),
)
def test_what_is_read_back_is_written_and_read_as_it_is(load: float, base: float) -> None:
    grid = replace(GRID, base_mva=base)
    made = Profile(np.ones(1, np.int64), np.full((1, GRID.n_bus), load), np.full((1, GRID.n_bus), -load / 3))
    once = as_read_back(made, base)
    text = profile_text(grid, once)
    back = read_csv_bytes(Path("p.csv"), text.encode(), grid)
    assert np.array_equal(back.pd, once.pd) and np.array_equal(back.qd, once.qd)
    assert profile_text(grid, back) == text
    np.testing.assert_allclose(once.pd, made.pd, rtol=1e-15)


def test_made_profiles_are_not_what_is_read_back() -> None:
    """Why a release takes `as_read_back`: of 84 numbers of this profile nine have another last digit in a file."""
    made = make_profile(GRID, 3)
    back = read_csv_bytes(Path("p.csv"), profile_text(GRID, made).encode(), GRID)
    assert np.count_nonzero(back.pd != made.pd) + np.count_nonzero(back.qd != made.qd) == 9
    once = as_read_back(made, GRID.base_mva)
    assert np.array_equal(back.pd, once.pd) and np.array_equal(back.qd, once.qd)


def test_scales_missing_buses_and_order(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("scale,Step\n1.5,2\n\n0.5,1\n1,0\n")
    made = read_profile(path, GRID)
    assert made.step.tolist() == [0, 1, 2]
    assert np.array_equal(made.pd, np.array([[1.0], [0.5], [1.5]]) * GRID.buses.pd)
    path.write_text("step,bus,p_mw,q_mvar\n2,3,0,0\n1,2,50,-10\n")
    made = read_profile(path, GRID)
    assert made.pd[0, 1] == 0.5
    assert made.qd[0, 1] == -0.1
    assert made.pd[1, 2] == 0
    untouched = np.arange(14) != 1
    assert np.array_equal(made.pd[0, untouched], GRID.buses.pd[untouched])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("step,bus,p_mw,q_mvar\n1,99,1,1\n", r"line 2: step 1 names a bus .*bus 99"),
        ("step,bus,p_mw,q_mvar\n1,2,1,1\n3,2,1,1\n", "step 2 of 3 is missing"),
        ("step,bus,p_mw,q_mvar\n1,2,nan,1\n", r"line 2: step 1 has no finite p_mw \(bus 2\)"),
        ("step,bus,p_mw,q_mvar\n1,2,1,inf\n", "step 1 has no finite q_mvar"),
        ("step,bus,p_mw,q_mvar\n1,2,1,1\n1,2,3,1\n", r"line 3: step 1 comes twice \(bus 2\)"),
        ("step,bus,p_mw,q_mvar\n1,2,x,1\n", "line 2: p_mw is not a number"),
        ("step,bus,p_mw,q_mvar\n1,2,,1\n", "p_mw is not a number"),
        ("step,bus,p_mw,q_mvar\n1,2,1\n", "line 2: 3 values under 4 names"),
        ("step,bus,p_mw,q_mvar\n1.5,2,1,1\n", "line 2: the step is no whole number"),
        ("step,bus,p_mw,q_mvar\n1,2.5,1,1\n", "line 2: the bus is no whole number"),
        ("step,scale\n1,-0.5\n", "step 1 is no scale"),
        ("step,scale\n1,1\n2,nan\n", "line 3: step 2 is no scale"),
        ("step,scale\n1,1\n1,1.1\n", "line 3: step 1 comes twice"),
        ("step,scale\n5,1\n6,1\n", "the first step is 5"),
        ("step,scale\n", "there is no row"),
        ("step,power\n1,1\n", "the columns are not those of a profile"),
        ("", "the columns are not those of a profile"),
        ("step,scale,scale\n1,1,2\n", "the columns are not those of a profile"),
        ("step,scale\n1,1_0\n", "scale is not a number"),
        ("step,scale\n1e19,1\n", "the step is no whole number"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(CaseFileError, match=words):
        read_profile(path, GRID)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="no such file"):
        read_profile(tmp_path / "absent.csv", GRID)
    binary = tmp_path / "p.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(CaseFileError, match="cannot be read"):
        read_profile(binary, GRID)
    pytest.importorskip("pyarrow", reason="pyarrow is an extra")
    (tmp_path / "p.parquet").write_bytes(b"not parquet")
    with pytest.raises(CaseFileError, match="no readable Parquet"):
        read_profile(tmp_path / "p.parquet", GRID)


def test_bad_profiles() -> None:
    ones = np.ones((2, 14))
    with pytest.raises(GridError, match="no profile rule"):
        make_profile(GRID, 3, "square")
    with pytest.raises(GridError, match="empty"):
        make_profile(GRID, 0)
    with pytest.raises(GridError, match="seed"):
        make_profile(GRID, 3, seed=-1)
    with pytest.raises(GridError, match="low <= high"):
        make_profile(GRID, 3, low=1.2)
    with pytest.raises(GridError, match="step 2 is not finite"):
        Profile(np.array([1, 2]), np.vstack([ones[:1], np.full((1, 14), np.nan)]), ones)
    with pytest.raises(GridError, match="consecutive"):
        Profile(np.array([1, 3]), ones, ones)
    with pytest.raises(GridError, match="every step and bus"):
        Profile(np.array([1, 2]), ones, ones[:1])
    for steps in (5, 0, -1):
        with pytest.raises(ReleaseError, match="steps"):
            gv.Plan(1.0, 0.1, 0.01, steps=steps).used(4)
    with pytest.raises(ReleaseError, match="2 published costs for 3 used steps"):
        gv.Plan(1.0, 0.1, 0.01, published_cost=(1.0, 2.0), steps=3).used(4)
