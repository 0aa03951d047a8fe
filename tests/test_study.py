"""Studies: keys, the store, the runner on Dask, and what survives stops, crashes and full disks."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

pytest.importorskip("pyarrow", reason="the extra 'study' is not installed")
pytest.importorskip("distributed", reason="the extra 'study' is not installed")

import pyarrow as pa
from distributed import LocalCluster
from distributed.comm.core import CommClosedError
from pyarrow import parquet

import gridveil as gv
from gridveil.cli.main import app
from gridveil.errors import StudyError
from gridveil.study import runner as runner_module
from gridveil.study import store as store_module
from gridveil.study.catalogue import STUDIES
from gridveil.study.declare import Task
from gridveil.study.runner import AHEAD, run_study
from gridveil.study.store import Store, read_results
from tests.studies import COUNT, DIES, FAILS, KILLS, LINGERS, RUNNING, lost_once

# Dask warns of its own things; a file that we leave open is a failure
pytestmark = [
    pytest.mark.filterwarnings("default", "error::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("quick_workers"),
]
CASES = {"case5_pjm": "digest"}


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows without what a machine adds to them, in the order of their keys."""
    kept = [{k: v for k, v in row.items() if k not in ("entry", "task_seconds")} for row in table.to_pylist()]
    return sorted(kept, key=lambda row: (row["key"], str(row)))


def reopened(directory: Path) -> Store:
    """The store as the next run finds it, let go of again."""
    store = Store.open(directory, COUNT, CASES)
    store.close()
    return store


def results(directory: Path, name: str = "counting") -> pa.Table:
    return read_results(directory, {**STUDIES, "counting": COUNT})[name]


def test_keys_and_seeds_never_change() -> None:
    """A changed key or seed would make old results unusable; this value is from the first release of the study."""
    task = Task("costs", "case39_epri", (("mechanism", "log"), ("alpha", 0.1), ("beta", 0.01)), 3)
    assert task.key == "costs/case39_epri/mechanism=log/alpha=0.1/beta=0.01/draw=3"
    assert task.seed == 2443873418629873460


def test_keys_of_close_values_differ_and_equal_values_count_once() -> None:
    tasks = STUDIES["costs"].tasks(
        ["case5_pjm"], 1, {"alpha": [0.1, 0.10000001, 0.1], "mechanism": ["log"], "beta": [0.01]}
    )
    assert [task.key.split("/")[3] for task in tasks] == ["alpha=0.1", "alpha=0.10000001"]


def test_tasks_are_all_different_and_draws_come_first() -> None:
    for study in STUDIES.values():
        tasks = study.tasks(study.cases, 3, {})
        keys = [task.key for task in tasks]
        assert len(set(keys)) == len(keys)
        assert len({task.seed for task in tasks}) == len(keys)
        assert [task.draw for task in tasks] == sorted(task.draw for task in tasks)


def test_every_table_and_figure_of_the_paper_has_a_study() -> None:
    named = " ".join(study.paper for study in STUDIES.values())
    numbers = set(re.findall(r"\b\d+\b", named))
    assert numbers == {str(number) for number in range(1, 12)}
    assert "Table II" in named
    assert "Table III" in named


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=12), st.integers(1, 4))
def test_the_store_gives_back_the_last_run_of_each_task(runs: list[tuple[int, int]], often: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder), COUNT, CASES)
        last: dict[int, list[int]] = {}
        for number, (draw, size) in enumerate(runs):
            store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), draw), [{"buses": number}] * size, 0.1)
            last[draw] = [number] * size
            if number % often == 0:
                store.flush()
            if number % 3 == 2:
                store.close()
                store = Store.open(Path(folder), COUNT, CASES)  # as after a crash
        store.close()
        found: dict[int, list[int]] = {}
        for row in store.table().to_pylist():
            found.setdefault(row["draw"], []).append(row["buses"])
        assert found == last


def test_a_torn_journal_and_a_torn_part_lose_nothing_else(tmp_path: Path) -> None:
    store = Store.open(tmp_path, COUNT, CASES)
    for draw in range(3):
        store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), draw), [{"buses": 5}], 0.1)
    with store.journal.open("a") as stream:
        stream.write('[{"entry": 4, "key": "torn')
    store.close()
    (store.folder / "_part-000009.parquet.staging").write_bytes(b"PAR1 half")
    again = Store.open(tmp_path, COUNT, CASES)
    assert sorted(row["draw"] for row in again.table().to_pylist()) == [0, 1, 2]
    again.close()
    assert not list(store.folder.glob("*.staging"))


def test_a_crash_between_part_and_journal_counts_rows_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path, COUNT, CASES)
    store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), 0), [{"buses": 5}], 0.1)
    text = store.journal.read_text()
    store.flush()
    store.journal.write_text(text)
    store.close()
    assert results(tmp_path).num_rows == 1  # for a reader as for the next run
    assert reopened(tmp_path).table().num_rows == 1


def test_two_runs_do_not_share_a_directory(tmp_path: Path) -> None:
    first = Store.open(tmp_path, COUNT, CASES)
    with pytest.raises(StudyError, match="another process is running this study"):
        Store.open(tmp_path, COUNT, CASES)
    first.close()
    Store.open(tmp_path, COUNT, CASES).close()


def test_results_are_never_mixed(tmp_path: Path) -> None:
    Store.open(tmp_path, COUNT, CASES).close()
    with pytest.raises(StudyError, match="version '1', not '2'"):
        Store.open(tmp_path, dataclasses.replace(COUNT, version=2), CASES)
    with pytest.raises(StudyError, match="another network named case5_pjm"):
        Store.open(tmp_path, COUNT, {"case5_pjm": "other"})
    with pytest.raises(StudyError, match="inside of a results directory"):
        Store.open(tmp_path / "study=counting", COUNT, CASES)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(StudyError, match="holds other things"):
        Store.open(tmp_path, COUNT, CASES)
    with pytest.raises(StudyError, match="not a directory"):
        Store.open(tmp_path / "notes.txt", COUNT, CASES)
    with pytest.raises(StudyError, match="no results"):
        read_results(tmp_path / "absent", STUDIES)


def test_folders_are_what_their_names_say(tmp_path: Path) -> None:
    store = Store.open(tmp_path, COUNT, CASES)
    store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), 0), [{"buses": 5}], 0.1)
    store.flush()
    store.close()
    about = store.folder / "_study.json"
    text = about.read_text()
    for other, words in (('"gaps"', "other results than its name says"), ('["counting"]', "is damaged")):
        about.write_text(text.replace('"counting"', other))
        with pytest.raises(StudyError, match=words):
            results(tmp_path)
    about.unlink()
    with pytest.raises(StudyError, match=r"_study.json is gone"):
        Store.open(tmp_path, COUNT, CASES)


def test_damage_is_said(tmp_path: Path) -> None:
    store = Store.open(tmp_path, COUNT, CASES)
    store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), 0), [{"buses": 5}], 0.1)
    store.flush()
    store.close()
    part = next(store.folder.glob("part-*"))
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(StudyError, match=r"part-000001.parquet is damaged .*move it away"):
        Store.open(tmp_path, COUNT, CASES)
    part.unlink()
    row = '"entry": 1, "key": "a", "case": "case5_pjm", "draw": 0, "status": "ok", "alpha": 1.0'
    store.journal.write_text(f"[{{{row}}}]\nrubbish\n")
    with pytest.raises(StudyError, match=r"line 2, is damaged .*delete that line"):
        Store.open(tmp_path, COUNT, CASES)
    store.journal.write_text(f'[{{{row}, "task_seconds": "long"}}]\n')
    with pytest.raises(StudyError, match=r"a value of another type.*delete the damaged line"):
        Store.open(tmp_path, COUNT, CASES)
    store.journal.unlink()
    assert reopened(tmp_path).done() == set()
    (store.folder / "_study.json").write_text("{")
    with pytest.raises(StudyError, match=r"_study.json is damaged"):
        Store.open(tmp_path, COUNT, CASES)


def test_a_full_disk_is_said_and_what_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(tmp_path, COUNT, CASES)
    store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), 0), [{"buses": 5}], 0.1)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StudyError, match="No space left"):
            store.add(Task("counting", "case5_pjm", (("alpha", 1.0),), 1), [{"buses": 5}], 0.1)
        with pytest.raises(StudyError, match="No space left"):
            store.flush()
    store.close()
    assert not list(store.folder.glob("*.staging"))
    kept = {row["draw"] for row in reopened(tmp_path).table().to_pylist()}
    assert 0 in kept


def test_a_disk_that_fills_up_ends_a_run_with_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(parquet, "write_table", full)
        with pytest.raises(StudyError, match=r"No space left on device.*run the same command again"):
            run_study(COUNT, tmp_path, draws=1, workers=1)
    assert run_study(COUNT, tmp_path, draws=1, workers=1).done_before == 2


def test_a_cluster_may_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that join later get work, beyond what was handed out at the start."""
    monkeypatch.setattr(runner_module, "LOOK", 0.05)
    with in_threads() as cluster:
        timer = Timer(0.1, lambda: cluster.scale(8))
        timer.start()
        done = run_study(LINGERS, tmp_path, draws=40, scheduler=cluster.scheduler_address, insecure=True)
        timer.join()
    assert (done.run, done.failed) == (80, 0)
    assert RUNNING["most"] > AHEAD


def in_threads() -> Any:
    """A cluster of threads of this process: no process has to begin."""
    return LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)  # type: ignore[no-untyped-call]


def test_a_lost_scheduler_is_said_and_nothing_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Dask says it of a task that is gone, and of a connection; what else goes wrong here is ours, and not hidden."""
    with in_threads() as cluster:
        for number, (lost, raised, words) in enumerate(
            (
                (CancelledError("scheduler-connection-lost"), StudyError, r"no longer answers.*run the same command again"),
                (CommClosedError("in <TLS>"), StudyError, "no longer answers .CommClosedError.; what is done is on disk"),
                (KeyError("a bug"), KeyError, "a bug"),
            )
        ):  # fmt: skip
            answers = iter([*[runner_module._outcome] * (number + 1), failing(lost)])
            with monkeypatch.context() as patch:
                patch.setattr(runner_module, "_outcome", partial(answer, answers))
                with pytest.raises(raised, match=words):
                    run_study(COUNT, tmp_path, draws=5, scheduler=cluster.scheduler_address, insecure=True)
        made = run_study(COUNT, tmp_path, draws=5, scheduler=cluster.scheduler_address, insecure=True)
    assert (made.done_before, made.run, made.failed) == (1 + 2 + 3, 4, 0)


def answer(answers: Iterator[Any], future: Any) -> Any:
    return next(answers)(future)


def failing(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_network_that_was_on_dying_workers_takes_no_task_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tasks need it, and none of them has failed; the first time, Dask gives up the network."""
    monkeypatch.setattr(runner_module, "_itself", lost_once)
    monkeypatch.setitem(RUNNING, "lost", 0)
    with in_threads() as cluster:
        made = run_study(COUNT, tmp_path, draws=2, scheduler=cluster.scheduler_address, insecure=True)
    assert (made.run, made.failed, RUNNING["lost"]) == (4, 0, 1 + 4)


def test_workers_that_cannot_start_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.study.cluster.LocalCluster", failing(RuntimeError("Nanny failed to start.")))
    with pytest.raises(StudyError, match=r"workers cannot be started \(Nanny failed to start.\).*Run it again"):
        run_study(COUNT, tmp_path, draws=1)


def test_results_do_not_depend_on_workers_and_runs_continue(tmp_path: Path) -> None:
    one = run_study(COUNT, tmp_path / "one", draws=1, workers=1)
    assert (one.tasks, one.run, one.failed) == (2, 2, 0)
    more = run_study(COUNT, tmp_path / "one", draws=3, workers=2)
    assert (more.tasks, more.done_before, more.run) == (6, 2, 4)
    nothing = run_study(COUNT, tmp_path / "one", draws=3)
    assert nothing.run == 0
    run_study(COUNT, tmp_path / "two", draws=3, workers=2)
    assert rows(results(tmp_path / "one")) == rows(results(tmp_path / "two"))
    table = parquet.read_table(tmp_path / "one")  # as any reader of partitioned Parquet sees it
    assert set(table["study"].to_pylist()) == {"counting"}


def test_a_failing_task_is_recorded_and_stops_nothing(tmp_path: Path) -> None:
    made = run_study(FAILS, tmp_path, draws=2, workers=1)
    assert (made.run, made.failed) == (4, 2)
    found = results(tmp_path).to_pylist()
    failed = [row for row in found if row["status"] == "failed"]
    assert len(failed) == 2
    assert all(row["error"] == "GridError: two is too much" for row in failed)
    assert run_study(FAILS, tmp_path, draws=2, workers=1).run == 0
    again = run_study(COUNT, tmp_path, draws=2, workers=1, retry_failed=True)
    assert (again.run, again.failed) == (2, 0)
    assert {row["status"] for row in results(tmp_path).to_pylist()} == {"ok"}


def test_a_dying_worker_is_survived(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    made = run_study(DIES, tmp_path / "out", draws=2, workers=1, settings={"mark": (str(mark),)})
    assert mark.exists()
    assert (made.run, made.failed) == (2, 0)


def test_a_killer_takes_no_other_task_with_it(tmp_path: Path) -> None:
    made = run_study(KILLS, tmp_path, draws=2, workers=2)
    assert (made.run, made.failed) == (6, 2)
    found = results(tmp_path).to_pylist()
    assert {row["alpha"] for row in found if row["status"] == "failed"} == {2.0}
    assert "KilledWorker" in (made.first_error or "")


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def test_kill_and_continue(tmp_path: Path) -> None:
    """kill -9 in the middle: what was finished is there, and the same command does the rest."""
    command = [sys.executable, "-m", "gridveil.cli.main", "study", "runtimes", "--cases", "case5", "--draws", "6",
               "--workers", "1", "--set", "mechanism=log", "--out", str(tmp_path), "--quiet"]  # fmt: skip
    process = subprocess.Popen(command, start_new_session=True)
    journal = tmp_path / "study=runtimes" / "_journal.jsonl"
    wait_for(lambda: journal.exists() and journal.read_text().count("\n") >= 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = journal.read_text().count("\n")
    done = CliRunner().invoke(app, [*command[3:], "--json"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["done_before"] == left
    assert record["done_before"] + record["run"] == record["tasks"] == 18
    assert len(set(results(tmp_path, "runtimes")["key"].to_pylist())) == 18


def test_an_existing_cluster(tmp_path: Path) -> None:
    """A scheduler and two workers on loopback, as on a cluster."""
    info = tmp_path / "scheduler.json"
    common = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(info), "--idle-timeout", "120 seconds"]  # fmt: skip
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(info), "--nthreads", "1", "--no-dashboard", "--death-timeout", "60", "--no-nanny"]  # fmt: skip
    processes = [subprocess.Popen(start, **common)]  # type: ignore[call-overload]
    try:
        wait_for(lambda: info.exists() and info.read_text().rstrip().endswith("}"))  # it is not written at once
        address = json.loads(info.read_text())["address"]
        processes += [subprocess.Popen(worker, **common) for _ in range(2)]  # type: ignore[call-overload]
        from distributed import Client

        with Client(address, timeout="30s") as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=60)
        arguments = ["study", "costs", "--cases", "case5", "--draws", "1", "--set", "mechanism=log"]
        run = CliRunner().invoke
        there = run(app, [*arguments, "--scheduler", address, "--insecure", "--out", str(tmp_path / "a"), "--json"])
        assert there.exit_code == 0, there.output
        assert json.loads(there.stdout)["run"] == 8
        here = run(app, [*arguments, "--workers", "1", "--out", str(tmp_path / "b"), "--json"])
        assert here.exit_code == 0, here.output
        assert rows(results(tmp_path / "a", "costs")) == rows(results(tmp_path / "b", "costs"))
    finally:
        for process in reversed(processes):  # a worker without its scheduler takes its time
            process.terminate()
            process.wait()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", "--out", "X"], "there is no study 'nonsense'"),
        (["costs", "--out", "X", "--cases", "case999"], "case999"),
        (["costs", "--out", "X", "--cases", "case5,case5"], "two cases are named case5"),
        (["costs", "--out", "X", "--draws", "0"], "at least one draw"),
        (["costs", "--out", "X", "--set", "gamma=1"], "no setting 'gamma'"),
        (["costs", "--out", "X", "--set", "alpha=much"], "cannot be read"),
        (["costs", "--out", "X", "--set", "alpha="], "gives no value"),
        (["costs", "--out", "X", "--set", "alpha=nan"], "must be a positive, finite number"),
        (["costs", "--out", "X", "--set", "mechanism=log,foo"], "there is no mechanism 'foo'"),
        (["attacks", "--out", "X", "--set", "mechanism=laplace"], "no mechanism 'laplace' for 'attacks'"),
        (["costs", "--out", "X", "--set", "beta=2"], "would allow any cost"),
        (["attack-score", "--out", "X", "--set", "steps=40"], "give 31 or less"),
        (
            ["costs", "--out", "X", "--cases", "case5", "--scheduler", "tcp://127.0.0.1:9", "--insecure"],
            "no Dask scheduler answers",
        ),
    ],
)
def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str) -> None:
    monkeypatch.setattr("gridveil.study.cluster.PATIENCE", "100ms")
    done = CliRunner().invoke(app, ["study", *[str(tmp_path / "out") if one == "X" else one for one in arguments]])
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.stderr.split())


def test_results_go_to_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["--set", "mechanism=log", "--set", "alpha=0.1", "--set", "beta=0.01"]
    done = CliRunner().invoke(app, ["study", "costs", "--cases", "case5", "--draws", "1", "--workers", "1", *few])
    assert done.exit_code == 0, done.output
    assert "gridveil report results" in " ".join(done.stdout.split())
    assert rows(results(tmp_path / "results", "costs"))[0]["feasible"]


def test_the_list_of_studies() -> None:
    done = CliRunner().invoke(app, ["study", "--json"])
    assert [one["name"] for one in json.loads(done.stdout)["studies"]] == list(STUDIES)


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in ("scale", "interdiction")])
def test_every_study_gives_the_columns_it_declares(name: str) -> None:
    """One draw of each on 14 buses: every row has the declared columns, of the declared types."""
    study = STUDIES[name]
    chosen = {"mechanism": ["log"]} if "mechanism" in study.settings else {"alpha": [0.1]}
    settings = dict(study.tasks(["case14"], 1, chosen)[-1].settings)
    settings["alpha"] = 0.1
    made = study.work(gv.load("case14"), settings, 7)
    assert made
    for row in made:
        assert set(row) == set(study.columns)
        pa.Table.from_pylist([row], schema=pa.schema([(c, store_module._TYPES[k]) for c, k in study.columns.items()]))


def test_frontier_takes_the_attacker_who_tells_most() -> None:
    """On 14 buses, whose ratings are functions of impedance, that is who knows the formula."""
    (row,) = STUDIES["frontier"].work(gv.load("case14"), {"mechanism": "log", "alpha": 0.3, "epsilon": 1.0}, 7)
    assert row["channel"] == "rating provenance"
    assert 0 < row["reconstruction_error_pct"] < 3


def test_scale_is_measured_in_a_process_of_its_own() -> None:
    study = STUDIES["scale"]
    (row,) = study.work(gv.load("case14"), {"mechanism": "log", "alpha": 0.1}, 1)
    assert set(row) == set(study.columns)
    assert 0 <= row["opf_mb"] < 200
    assert 0 <= row["release_mb"] < 200
    assert row["release_seconds"] > row["opf_seconds"] > 0
