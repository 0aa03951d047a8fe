"""A dataset of draws: what `gv.release_many` makes, once each whatever kills the run, in words and units of its own."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import gridveil as gv
from gridveil.cli.main import app
from gridveil.errors import ReleaseError, StudyError
from gridveil.study.planned import plans_of
from tests.conftest import Bend

TABLES = ("draws", "buses", "loads", "generators", "lines")
PLANS = [gv.Plan(1.0, 0.1, 0.01), gv.Plan(1.0, 0.3, 0.01)]
RUN = """
import sys
from gridveil.study import drawn
import gridveil as gv
drawn.SECONDS = 0.0
plans = [gv.Plan(1.0, 0.1, 0.01), gv.Plan(1.0, 0.3, 0.01)]
gv.write_draws("case5_pjm", plans, sys.argv[1], draws=int(sys.argv[2]), workers=int(sys.argv[3]))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> gv.Draws:
    return gv.write_draws("case14_ieee", PLANS, tmp_path_factory.mktemp("draws") / "made", draws=4)


def test_tables_are_the_draws_of_release_many(made: gv.Draws) -> None:
    every = {(one.plan.alpha, one.seed): one for one in gv.release_many(gv.seal("case14_ieee"), PLANS, range(4))}
    rows = made.frame()
    assert len(made) == len(rows) == 8 and rows["draw"].tolist() == list(range(1, 9))
    assert rows["seed"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]  # a run that is stopped has some draws of every plan
    for _, row in rows.iterrows():
        one = every[row["alpha"], row["seed"]]
        assert one.network is not None and one.point is not None
        frames, base = one.network.frames(), one.network.grid.base_mva
        lines = made.frame("lines", draws=[row["draw"]])
        for name in ("r_pu", "x_pu", "bc_pu", "rating_mva"):
            np.testing.assert_array_equal(lines[name], frames.lines[name])
        np.testing.assert_array_equal(lines["pf_mw"], one.point.pf * base)
        units = made.frame("generators", draws=[row["draw"]])
        np.testing.assert_array_equal(units["pg_mw"], one.point.pg * base)
        np.testing.assert_array_equal(units["c1"], frames.generators["c1"])
        buses = made.frame("buses", draws=[row["draw"]])
        np.testing.assert_array_equal(buses["vm_pu"], one.point.vm)
        loads = made.frame("loads", draws=[row["draw"]]).set_index("bus")["pd_mw"]
        assert loads.to_dict() == frames.buses["pd_mw"][frames.buses[["pd_mw", "qd_mvar"]].any(axis=1)].to_dict()
        assert row["cost_per_h"] == one.cost and row["certified"] and row["plan"] == 1 + (row["alpha"] == 0.3)
        assert set(lines["seed"]) == {row["seed"]} and set(lines["alpha"]) == {row["alpha"]}


def test_the_manifest_says_it_in_words_and_units(made: gv.Draws) -> None:
    text = json.loads((made.folder / "manifest.json").read_text())
    assert (text["research"], text["private"]) == (True, False) and "NOT PRIVATE" in text["statement"]
    assert [one["alpha"] for one in text["plans"]] == text["settings"]["alpha"] == [0.1, 0.3]
    assert text["seeds"] == {"first": 0, "last": 3} and text["draws"] == {"made": 8, "certified": 8}
    assert text["versions"]["gridveil"] == gv.__version__ and text["network"]["name"] == "case14_ieee"
    assert set(text["tables"]) == set(TABLES)
    for name in TABLES:
        columns = text["tables"][name]["columns"]
        schema = parquet.read_schema(next((made.folder / name).glob("part-*")))
        assert list(columns) == schema.names
        for field in schema:
            unit = (field.metadata or {}).get(b"unit", b"").decode()
            assert columns[field.name].get("unit", "") == unit
            ends = {"mw": "MW", "mvar": "Mvar", "mva": "MVA", "pu": "p.u.", "deg": "degree", "kv": "kV", "pct": "%"}
            assert unit == ends.get(field.name.rpartition("_")[2], unit)
    assert text["tables"]["generators"]["columns"]["c1"]["unit"] == "$/MWh"


def test_any_reader_of_parquet_can_read_it(made: gv.Draws) -> None:
    for name in TABLES:
        whole = parquet.read_table(made.folder / name)
        assert whole.num_rows == made.arrow(name).num_rows > 0


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_anywhere_it_goes_on(workers: int, tmp_path: Path) -> None:
    whole = gv.write_draws("case5_pjm", PLANS, tmp_path / "whole", draws=12)
    chance, place, kills = random.Random(workers), tmp_path / "killed", 0
    for attempt in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(place), "12", str(workers)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        grown = time.monotonic() + 120
        before = len(list(place.glob("draws/part-*")))
        while process.poll() is None and len(list(place.glob("draws/part-*"))) == before and time.monotonic() < grown:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.05))
        if attempt < 4:  # then it may end
            process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        kills += 1
        counted = gv.draws(place).frame() if (place / "manifest.json").exists() else None
        if counted is not None:  # what is counted is there, whole, whenever the kill came
            assert not counted[["plan", "seed"]].duplicated().any()
            numbers = counted["draw"].tolist()
            assert gv.draws(place).arrow("lines", draws=numbers).num_rows == 6 * len(numbers)
    else:
        pytest.fail("it never ended")
    assert kills >= 2
    again = gv.draws(place)
    for name in TABLES:
        assert again.arrow(name).sort_by([("draw", "ascending")]).equals(whole.arrow(name)), name
        assert {path.suffix for path in (place / name).iterdir()} == {".parquet"}


def test_what_a_kill_left_half_done_is_swept_away(made: gv.Draws, tmp_path: Path) -> None:
    place = tmp_path / "torn"
    shutil.copytree(made.folder, place)
    shutil.copy(place / "lines" / "part-000001.parquet", place / "lines" / "part-000002.parquet")  # no draws of it
    (place / "buses" / "_part-000002.parquet.staging").write_bytes(b"torn")
    assert gv.draws(place).arrow("lines").equals(made.arrow("lines"))
    again = gv.write_draws("case14_ieee", PLANS, place, draws=4)
    assert sorted(path.name for path in (place / "lines").iterdir()) == ["part-000001.parquet"]
    assert not list(place.glob("buses/*.staging")) and len(again) == 8


def test_more_draws_and_more_plans_are_added(tmp_path: Path) -> None:
    first = gv.write_draws("case5_pjm", PLANS[0], tmp_path / "grows", draws=2)
    assert len(first) == 2
    grown = gv.write_draws("case5_pjm", PLANS, tmp_path / "grows", draws=3)
    pairs = grown.frame()[["plan", "alpha", "seed"]].values.tolist()
    assert sorted(pairs) == [[1, 0.1, 0], [1, 0.1, 1], [1, 0.1, 2], [2, 0.3, 0], [2, 0.3, 1], [2, 0.3, 2]]
    assert grown.frame()["draw"].is_unique and grown.manifest.seeds == {"first": 0, "last": 2}


def test_groups_and_settings_are_columns(tmp_path: Path) -> None:
    plans = plans_of(["alpha=10%,20%", "alpha-loads=30%", "room=0.01"], "lines,loads")
    made = gv.write_draws("case14_ieee", plans, tmp_path / "joint", draws=2)
    rows = made.frame("loads")
    assert set(rows["alpha"]) == {0.1, 0.2} and set(rows["alpha_loads"]) == {0.3} and set(rows["room"]) == {0.01}
    assert set(rows["protect"]) == {"lines,loads"}
    true = gv.load("case14_ieee").frame("buses")["pd_mw"]
    assert not np.allclose(rows[rows["draw"] == 1]["pd_mw"], true[rows[rows["draw"] == 1]["bus"]])


def test_piecewise_costs_are_columns(tmp_path: Path) -> None:
    source = gv.load("case5_pjm")
    curves = source.grid.cost_p
    from dataclasses import replace

    bent = replace(
        curves, segment_generator=np.array([0, 0]), segment_slope=np.array([100.0, 300.0]),
        segment_intercept=np.array([0.0, -50.0]),
    )  # fmt: skip
    network = gv.Network(replace(source.grid, cost_p=bent), source.lines)
    units = gv.write_draws(network, PLANS[0], tmp_path / "bent", draws=1).frame("generators")
    assert units["segments"].tolist()[:2] == [2, 0]
    assert units[["slope1", "slope2", "intercept2"]].iloc[0].tolist() == [1.0, 3.0, -50.0]
    assert np.isnan(units["slope1"][1])


def test_a_draw_without_a_network_says_why(tmp_path: Path) -> None:
    plan = gv.Plan(1.0, 10.0, 1e-6, effort=10)
    made = gv.write_draws("case5_pjm", plan, tmp_path / "none", draws=1)
    (row,) = made.frame().to_dict("records")
    assert not row["certified"] and "effort" in row["detail"] and made.arrow("lines").num_rows == 0


def test_what_is_not_mixed(made: gv.Draws, tmp_path: Path, tiny: Bend) -> None:
    def refused(words: str, case: str = "case14_ieee", plan: gv.Plan = PLANS[0], out: Path = made.folder) -> None:
        with pytest.raises(StudyError, match=words):
            gv.write_draws(case, plan, out, draws=1)

    refused("has draws of another network", "case5_pjm")
    refused("other columns of settings \\(room\\)", plan=gv.Plan(1.0, 0.1, 0.01, room=0.02))
    (tmp_path / "notes.txt").write_text("mine")
    refused("holds other things \\(notes.txt\\)", out=tmp_path)
    refused("is not a directory", out=tmp_path / "notes.txt")
    old = tmp_path / "old"
    shutil.copytree(made.folder, old)
    text = (old / "manifest.json").read_text()
    (old / "manifest.json").write_text(text.replace('"gridveil": "', '"gridveil": "9.'))
    refused("was begun by version 9", out=old)
    (old / "manifest.json").write_text("{")
    refused("is damaged", out=old)
    with pytest.raises(StudyError, match="there are no draws in"):
        gv.draws(tmp_path / "nowhere")
    with pytest.raises(StudyError, match="there is no table 'line'"):
        made.frame("line")
    with pytest.raises(StudyError, match="at least one plan and one draw"):
        gv.write_draws("case5_pjm", PLANS, tmp_path / "new", draws=0)
    with pytest.raises(ReleaseError, match="there is no dispatch"):
        gv.write_draws(gv.load(tiny(("2\t1\t90", "2\t1\t9000"))), PLANS, tmp_path / "starved", draws=1)


def test_a_lost_part_and_a_second_run_are_sentences(made: gv.Draws, tmp_path: Path) -> None:
    place = tmp_path / "lost"
    shutil.copytree(made.folder, place)
    (place / "loads" / "part-000001.parquet").unlink()
    with pytest.raises(StudyError, match=r"is missing; remove .*draws/part-000001\.parquet"):
        gv.draws(place).frame("loads")
    (place / "draws" / "part-000001.parquet").unlink()
    assert len(gv.write_draws("case14_ieee", PLANS, place, draws=4)) == 8
    from gridveil.study.lock import locked

    stream = locked(place, "drawing")
    with pytest.raises(StudyError, match="another process is drawing in"):
        gv.write_draws("case14_ieee", PLANS, place, draws=4)
    stream.close()


def test_the_command(tmp_path: Path) -> None:
    out = str(tmp_path / "made")
    call = ["draws", "case5_pjm", "-n", "3", "--set", "alpha=0.1,0.3", "--out", out]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert "6 draws of 2 plan(s), 6 certified" in done.output and "NOT private" in done.output
    assert "6 draws: 2 plan(s), 3 seeds each" in done.output and "will take about" in done.output
    again = CliRunner().invoke(app, [*call, "--json"])
    assert json.loads(again.stdout) == {"status": "done", "out": out, "made": 6, "certified": 6, "plans": 2}
    for arguments, words in (
        (["--set", "alfa=1"], "there is no setting 'alfa' of draws; there are alpha, beta,"),
        (["--set", "epsilon=much"], "'epsilon=much' cannot be read; write epsilon=A,B with numbers"),
        (["--set", "alpha="], "'alpha=' gives no value; write alpha=A,B"),
        (["--set", "alpha=1", "--set", "alpha=2"], "the setting 'alpha' is given twice; write alpha=A,B"),
    ):
        wrong = CliRunner().invoke(app, ["draws", "case5_pjm", "--out", out, *arguments])
        assert wrong.exit_code == 2 and words in wrong.output
    hopeless = ["draws", "case5_pjm", "-n", "1", "--set", "alpha=10", "--set", "beta=1e-6", "--set", "effort=10"]
    failed = CliRunner().invoke(app, [*hopeless, "--out", str(tmp_path / "none")])
    assert failed.exit_code == 4 and "0 certified" in failed.output
