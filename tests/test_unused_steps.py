"""A year of steps: those without a promise are solved from their neighbours, by whoever has a hand free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.grid.profile import Profile, checked_steps
from gridveil.nlp import opf
from gridveil.process.start import isolated
from gridveil.repair import step_workers, unused
from gridveil.repair.step_workers import in_processes
from gridveil.repair.unused import CHUNK, Chunk, Solved, alone, report_unused, solve_chunk

NETWORK = gv.load("case14")


@pytest.fixture(scope="module")
def year() -> Profile:
    return gv.make_profile(NETWORK, 130, "sine", low=0.7, high=1.05, seed=2)


@pytest.fixture(scope="module")
def cold(year: Profile) -> list[opf.Solution]:
    model = opf.opf_model(NETWORK.grid)
    return [opf.solve_opf(model, NETWORK.lines, gv.Demand(pd, qd)) for pd, qd in zip(year.pd, year.qd, strict=True)]


def test_which_steps_are_reported(year: Profile) -> None:
    used = [1, 65, 130]
    every = checked_steps(year, used, None)
    assert every == [step for step in range(1, 131) if step not in used] == checked_steps(year, used, 500)
    assert checked_steps(year, used, 3) == [2, 66, 129] and checked_steps(year, used, 0) == []
    assert checked_steps(year, list(range(1, 131)), 5) == []


def test_a_neighbour_is_a_better_start_than_none(
    year: Profile, cold: list[opf.Solution], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same optima as from flat starts, in at most 0.4 of the iterations; one flat start in every chunk."""
    solved: list[tuple[bool, int]] = []

    def watched(model: Any, lines: Any, demand: Any, **how: Any) -> opf.Solution:
        found = opf.solve_opf(model, lines, demand, **how)
        solved.append((how["near"] is None, found.iterations))
        return found

    monkeypatch.setattr(unused, "solve_opf", watched)
    told: list[int] = []
    found = report_unused(*NETWORK, year, year.step.tolist(), {5: 8000.0}, told=told.append)
    assert [one.step for one in found] == year.step.tolist()
    assert [one.cost for one in found] == pytest.approx([one.cost for one in cold], rel=1e-7)
    assert {one.status for one in found} == {"optimal"} and max(one.violation or 0 for one in found) < 1e-5
    assert sum(flat for flat, _ in solved) == 3 == -(-130 // CHUNK) and told == [50, 100, 130]
    assert sum(count for _, count in solved) <= 0.4 * sum(one.iterations for one in cold)
    assert found[4].away == pytest.approx(abs(cold[4].cost - 8000.0) / 8000.0) and found[5].away is None


def test_after_a_step_without_a_dispatch_the_next_starts_flat(year: Profile) -> None:
    pd = year.pd[:4] * np.array([1.0, 1.2, 9.0, 1.1])[:, None]
    chunk = Chunk(NETWORK.grid, NETWORK.lines, year.step[:4], pd, year.qd[:4], (None,) * 4)
    found = solve_chunk(chunk)
    assert [one.status == "optimal" for one in found] == [True, True, False, True]
    assert found[2].away is None


@pytest.mark.parametrize("workers", [2, 3])
def test_processes_find_what_one_finds(year: Profile, workers: int) -> None:
    steps = year.step.tolist()
    here, there = (report_unused(*NETWORK, year, steps, {}, hands) for hands in (alone, in_processes(workers)))
    assert here == there


def test_a_process_that_dies_loses_no_step(year: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one that cannot be started: what they leave is solved here."""
    expected = report_unused(*NETWORK, year, year.step.tolist(), {})

    def dying(*given: Any, **how: Any) -> Any:
        process = isolated(*given, **how)
        process.kill()
        return process

    def missing(*given: Any, **how: Any) -> Any:
        raise OSError("no more processes")

    for broken in (dying, missing):
        monkeypatch.setattr(step_workers, "isolated", broken)
        assert report_unused(*NETWORK, year, year.step.tolist(), {}, in_processes(2)) == expected
    with pytest.raises(ReleaseError, match="0 workers"):
        in_processes(0)


def test_no_more_is_in_memory_than_a_few_chunks(year: Profile) -> None:
    """Chunks are made when somebody takes them up."""
    alive: list[int] = []

    def hands(chunks: Iterable[Chunk]) -> Iterator[Solved]:
        for chunk in chunks:
            alive.append(len(chunk.step))
            yield tuple(
                replace(one, step=step) for one, step in zip([BLANK] * CHUNK, chunk.step.tolist(), strict=False)
            )
            assert len(alive) <= 3

    assert len(report_unused(*NETWORK, year, year.step.tolist(), {}, hands)) == 130
    assert alive == [50, 50, 30]


BLANK = solve_chunk(
    Chunk(NETWORK.grid, NETWORK.lines, np.array([1]), NETWORK.grid.buses.pd[None], NETWORK.grid.buses.qd[None], (None,))
)[0]


def test_a_release_of_a_long_horizon(tmp_path: Path) -> None:
    """All unused steps or a stated sample, by command line; `verify` solves the same ones."""
    profile = tmp_path / "p.csv"
    run = CliRunner().invoke
    assert run(app, ["profile", "case5", "--steps", "60", "--out", str(profile), "--high", "1.0"]).exit_code == 0
    common = ["release", "case5", "--profile", str(profile), "--steps", "3", "--research", "--cost", "derived"]
    for name, more, count in (
        ("all", ["--workers", "2"], 57),
        ("some", ["--check-steps", "10"], 10),
        ("none", ["--check-steps", "0"], 0),
    ):
        done = run(app, [*common, "--out", str(tmp_path / name), *more])
        assert done.exit_code == 0, done.output
        verdict = gv.verify(tmp_path / name, workers=2)
        assert verdict.passed and len(verdict.unused) == count
        assert verdict.record is not None and verdict.record.horizon is not None
        assert verdict.record.horizon.checked == count
    assert run(app, [*common, "--out", str(tmp_path / "x"), "--check-steps", "-1"]).exit_code == 2
    assert run(app, [*common, "--out", str(tmp_path / "x"), "--scheduler", "tcp://127.0.0.1:9"]).exit_code == 2
    assert not (tmp_path / "x").exists()
