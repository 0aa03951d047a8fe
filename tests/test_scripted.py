"""Studies and checks from Python, by the facade's names."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridveil as gv

pytest.importorskip("distributed", reason="the extra 'study' is not installed")

from gridveil.study.catalogue import STUDIES

from .fake_results import fill


def test_results_are_a_frame_or_a_table(tmp_path: Path) -> None:
    fill(tmp_path, STUDIES["costs"])
    frame, table = gv.results(tmp_path), gv.results(tmp_path, "costs", arrow=True)
    assert list(frame.columns) == table.column_names and len(frame) == table.num_rows > 0
    with pytest.raises(gv.StudyError, match=r"no results of 'gaps' in .*; there are those of costs"):
        gv.results(tmp_path, "gaps")
    fill(tmp_path, STUDIES["gaps"])
    with pytest.raises(gv.StudyError, match=r"several studies in .*; name one of costs, gaps"):
        gv.results(tmp_path)


def test_a_study_is_known_by_its_name(tmp_path: Path) -> None:
    assert list(gv.studies()) == list(STUDIES)
    with pytest.raises(gv.StudyError, match="there is no study 'nothing'"):
        gv.run_study("nothing", tmp_path)
    assert not list(tmp_path.iterdir())


def test_leakcheck_takes_what_is_at_hand(tmp_path: Path) -> None:
    made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, 0.1, 0.01), noise=gv.SeededNoise(3))
    folder, archive = made.write(tmp_path / "bundle"), made.write(tmp_path / "bundle.zip")
    reports = [gv.leakcheck("case14_ieee", one) for one in (made, folder, str(archive), folder / "released.m")]
    assert {one.best_error for one in reports} == {reports[0].best_error}
    bare = gv.leakcheck(gv.read_case("case14_ieee"), gv.read_case(folder / "released.m"))
    assert bare.noise_error > 0
    with pytest.raises(gv.ReleaseError, match="there is no release to check"):
        gv.leakcheck("case14_ieee")
