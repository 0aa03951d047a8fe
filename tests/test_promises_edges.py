"""Edges of promises that whole releases seldom come to: forks of a ledger, links, widened boxes, aims, ends of solves."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import LedgerError, PrivacyError
from gridveil.grid import LineKind, LineParameters, Network
from gridveil.nlp import ipopt, ipopt_library
from gridveil.nlp.blocks import DistanceBlock
from gridveil.nlp.island import Rules, _spread, energise
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.problem import Layout, LinearTerms, build
from gridveil.nlp.restoration import Ending, capacity_bound, restore
from gridveil.nlp.solver import Bounds, SolverOptions, Start, Status
from gridveil.privacy.composition import Charge
from gridveil.privacy.keeping import backup
from gridveil.privacy.keeping import restore as put_back
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import SeededNoise
from gridveil.publish import archive
from gridveil.publish.elements import identities
from gridveil.publish.pipeline import release
from gridveil.repair import repair as mend
from gridveil.repair.bounds import parameter_box
from gridveil.repair.projection import Effort
from gridveil.repair.repair import repair
from gridveil.repair.shrinkage import shrink_lines
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.draw import Fidelity, NoisyLines, Repair, Snapshot

from .conftest import Bend

LINES = Charge(1.0, 0.1, "relative", "log")


# ---- ledgers ----


def test_a_fork_of_a_ledger_is_no_backup_of_it(tmp_path: Path) -> None:
    """The same key, and another last entry."""
    book = Ledger.init(tmp_path / "l.db")
    book.charge(book.assets("n", ["x"]), LINES)
    (tmp_path / "fork").mkdir()
    fork = tmp_path / "fork" / "l.db"
    backup(book, fork)
    other = Ledger.open(fork)
    for one, loss in ((book, 0.5), (other, 0.25), (other, 0.25)):
        one.charge(one.assets("n", ["x"]), LINES._replace(loss=loss))
    copy = tmp_path / "copy.db"
    backup(other, copy)
    with pytest.raises(LedgerError, match="their entries differ"):
        put_back(copy, book.path)
    assert len(book.entries()) == 4


def test_a_ledger_is_restored_where_nothing_was(tmp_path: Path) -> None:
    book, far = Ledger.init(tmp_path / "l.db"), tmp_path / "new" / "l.db"
    backup(book, tmp_path / "copy.db")
    before = os.umask(0o022)
    try:
        put_back(tmp_path / "copy.db", far)
    finally:
        os.umask(before)
    assert far.parent.stat().st_mode & 0o777 == 0o700
    assert len(Ledger.open(far).entries()) == 1
    assert sorted(one.name for one in far.parent.iterdir() if not one.name.endswith(("-wal", "-shm"))) == [
        "l.db",
        "l.db.key",
    ]


# ---- bundles ----


def test_members_with_more_than_a_release_writes_are_foreign() -> None:
    def found(**changes: Any) -> str:
        info = zipfile.ZipInfo("released.m")
        info.external_attr, info.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
        info.file_size = info.compress_size = 10
        for name, value in changes.items():
            setattr(info, name, value)
        return archive._foreign(info)

    assert found() == found(compress_type=zipfile.ZIP_STORED) == ""
    for change in ({"extra": b"x"}, {"comment": b"x"}, {"flag_bits": 1}, {"compress_type": zipfile.ZIP_LZMA}):
        assert found(**change) == "is packed as no release packs"
    assert found(external_attr=0o120777 << 16) == "is not a regular file"
    assert found(filename="other.m") == found(orig_filename="other.m") == "is no file of a bundle"


def test_files_are_opened_without_following_and_without_waiting(tmp_path: Path) -> None:
    """What was a file when it was listed may be a link or a pipe when it is opened."""
    (tmp_path / "file").write_bytes(b"12345")
    assert archive._bytes(tmp_path / "file", 5) == b"12345"
    assert archive._bytes(tmp_path / "file", 4) == "is larger than any release"
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="symbolic links"):
        archive._bytes(tmp_path / "link", 5)
    os.mkfifo(tmp_path / "pipe")
    code = f"from gridveil.publish.archive import _bytes; from pathlib import Path; print(_bytes(Path({str(tmp_path / 'pipe')!r}), 5))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True, text=True)
    assert done.stdout.strip() == "is not a regular file"


# ---- releases ----


def test_a_widened_box_is_the_one_that_is_certified(tmp_path: Path) -> None:
    """Admittances eight times those drawn: outside a factor of 1.5, inside one of 15."""

    class Far(Workshop):
        def repair(self, snapshots: Sequence[Snapshot]) -> Repair:
            lines = LineParameters(8 * self.noisy.g, 8 * self.noisy.b, self.noisy.bc)
            point = gv.solve_opf(Network(self.grid, lines)).require().point
            return Repair(lines, (point,), "projected", 0, self.widening, 1)

        widening = 10.0

    network = gv.load("case5")
    cost = gv.solve_opf(
        Network(network.grid, LineParameters(8 * network.lines.g, 8 * network.lines.b, network.lines.bc))
    ).cost
    plan = gv.Plan(1.0, 1e-4, 0.01, bound_factor=1.5, published_cost=cost)
    made = release(split(network), plan, noise=SeededNoise(1), workshop=Far)
    assert made.manifest.fidelity.bound_factor == 15.0
    Far.widening = 4.0
    with pytest.raises(gv.GridVeilError, match="fails its own certificate"):
        release(split(network), plan, noise=SeededNoise(1), workshop=Far)


def test_questions_are_asked_of_the_lines_that_were_renumbered(tmp_path: Path) -> None:
    book, case = Ledger.init(tmp_path / "l.db"), gv.read_case("case5")
    book.charge(book.assets("", identities(split(case).grid)), LINES)
    bus, gen, branch = case.bus.copy(), case.gen.copy(), case.branch.copy()
    for table, columns in ((bus, [0]), (gen, [0]), (branch, [0, 1])):
        table[:, columns] += 100
    moved = split(replace(case, bus=bus, gen=gen, branch=branch))
    with pytest.raises(PrivacyError, match="more than doubles"):
        release(moved, gv.Plan(1.5, 0.1, 0.01, cost="derived"), book, same_as={n + 100: n for n in range(1, 6)})
    assert len(book.entries()) == 3  # limit, network, charge


# ---- the repair ----


def test_a_process_that_is_left_alone_ends_with_its_owner() -> None:
    code = "from gridveil.repair.child import ChildWorkshop; shop = ChildWorkshop(); print(shop._process.pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True, text=True)
    assert int(done.stdout) > 0


def test_networks_of_lossless_lines_are_shrunk_too() -> None:
    network = gv.load("case30")
    kind = np.full(network.grid.n_line, LineKind.LOSSLESS)
    lossless = Network(
        replace(network.grid, lines=replace(network.grid.lines, kind=kind)),
        LineParameters(0 * network.lines.g, network.lines.b, network.lines.bc),
    )
    noisy = mechanism("additive").perturb(split(lossless), 1.0, 3.0, SeededNoise(0))
    found = shrink_lines(lossless.grid, noisy)
    assert np.all(found.weight < 1) and np.all(found.lines.g == 0) and np.all(found.lines.b < 0)
    true = network.lines.b
    assert np.abs(found.lines.b - true).mean() < np.abs(noisy.b - true).mean()


@pytest.fixture(scope="module")
def case14() -> tuple[Network, NoisyLines]:
    network = gv.load("case14")
    return network, mechanism("log").perturb(split(network), 1.0, 0.02, SeededNoise(3))


@pytest.mark.parametrize("away", [0.004, -0.004])
def test_a_cost_within_beta_is_still_brought_nearer_to_its_aim(case14: tuple[Network, NoisyLines], away: float) -> None:
    network, noisy = case14
    grid, model = network.grid, opf_model(network.grid)
    box = parameter_box(grid, noisy, 50.0)
    cost = solve_opf(model, box.lines(box.clip())).require().cost
    public = [Snapshot(grid.buses.pd, grid.buses.qd, cost * (1 + away), aim=0.05)]
    found = repair(grid, noisy, public, Fidelity(0.01))
    assert found.path == "steered"
    assert abs(found.points[0].cost / public[0].cost - 1) <= 0.0005 * (1 + 1e-6)
    usual = repair(grid, noisy, [replace(public[0], aim=1.0)], Fidelity(0.01))
    assert usual.path == "as drawn"


def test_what_is_too_dear_is_projected_again_at_a_lower_aim(
    case14: tuple[Network, NoisyLines], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, noisy = case14
    grid, model = network.grid, opf_model(network.grid)
    box = parameter_box(grid, noisy, 50.0)
    optimum = solve_opf(model, network.lines).require()
    public = [Snapshot(grid.buses.pd, grid.buses.qd, 100.0)]
    aims: list[float] = []
    script: list[float] = []

    def project(*arguments: Any) -> Any:
        aims.append(arguments[4][0].above)
        return SimpleNamespace(status=Status.OPTIMAL, x=box.clip())

    monkeypatch.setattr(mend, "projection", lambda *_: SimpleNamespace(parameters=slice(None)))
    monkeypatch.setattr(mend, "starts", lambda *_: [None])
    monkeypatch.setattr(mend, "project", project)
    monkeypatch.setattr(mend, "_optima", lambda *_: [replace(optimum, cost=script.pop(0))])

    def found(*costs: float) -> tuple[Repair | None, int]:
        aims.clear()
        script[:] = costs
        return mend._project_and_cut(model, box, public, Fidelity(0.01), None, [], 1.0, Effort(1, 0.0))

    made, tried = found(101.5, 100.9)
    assert made is not None and (made.path, made.projections, made.widening, tried) == ("projected", 2, 1.0, 2)
    assert aims == pytest.approx([0.0098, 0.0098 - 0.005 - 0.001])
    assert found(103.0) == (None, 1)  # no aim is low enough
    assert found(100.0)[1] == 1


# ---- solves ----


def test_a_problem_without_constraints_is_minimised() -> None:
    variables, rows = Layout(), Layout(start=1)
    columns = variables.add("x", 3)
    none = np.zeros(0, np.int64)
    problem = build(variables, rows, [DistanceBlock("d", columns, 0)], [LinearTerms(none, none, np.zeros(0))], 2.0)
    target, weight = np.array([1.0, -2.0, 9.0]), np.array([1.0, 2.0, 3.0])
    bounds = Bounds(np.full(3, -5.0), np.full(3, 5.0), np.zeros(0), np.zeros(0))
    found = ipopt.solve(problem.evaluator({"d": (target, weight)}), bounds, Start(np.zeros(3), 0.1), SolverOptions())
    assert found.status is Status.OPTIMAL
    assert found.x == pytest.approx([1.0, -2.0, 5.0], abs=1e-5)
    assert found.objective == pytest.approx(2.0 + 3.0 * 16.0, abs=1e-4)
    assert found.bound_upper[2] == pytest.approx(24.0, rel=1e-4)


def test_every_problem_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ipopt_library.load(ipopt_library.find_library(None))
    counts = {"CreateIpoptProblem": 0, "FreeIpoptProblem": 0}

    class Counting:
        def __getattr__(self, name: str) -> Any:
            if name in counts:
                counts[name] += 1
            return getattr(library, name)

    monkeypatch.setattr(ipopt, "load", lambda _: Counting())
    gv.solve_opf("case3")

    def stop(*_: object) -> None:
        raise KeyError("enough")

    network = gv.load("case3")
    with pytest.raises(KeyError, match="enough"):
        solve_opf(opf_model(network.grid), network.lines, progress=stop)
    assert counts == {"CreateIpoptProblem": 2, "FreeIpoptProblem": 2}


def test_an_island_is_solved_once_where_the_first_start_succeeds() -> None:
    network = gv.load("case14")
    found = energise(network, Rules.SWITCHABLE, SolverOptions())
    assert (found.status, found.attempts) == (Status.OPTIMAL, 1)


def test_ranges_without_zero_are_spread_within_them() -> None:
    assert _spread(2.0, np.array([0.5, 0.0]), np.array([1.0, 3.0])) == pytest.approx([1.0, 1.0])
    assert _spread(-2.0, np.array([-1.0, -3.0]), np.array([-0.5, 0.0])) == pytest.approx([-1.0, -1.0])


def test_what_could_be_served_is_no_less_than_the_capacity(tiny: Bend) -> None:
    """Narrow lines keep load from being served; that this is the optimum of one start is no proof of it."""
    network = gv.load(
        tiny(
            ("0.02	150	150	150	0	0	1", "0.02	20	20	20	0	0	1"),
            ("0.03	150", "0.03	20"),
            ("0.02	150", "0.02	20"),
        )
    )
    done = restore(network, [])
    (island,) = done.islands
    assert island.ending is Ending.OPTIMAL and island.served < 0.9 * island.load
    assert island.bound == done.bound == pytest.approx(capacity_bound(network))


def test_nothing_served_is_judged_as_nothing(tiny: Bend) -> None:
    network = gv.load(tiny(("50	-50	1	100	1	80", "50	25	1	100	1	80")))
    literal = restore(network, [1, 2], Rules.LITERAL)
    assert literal.ending is Ending.INFEASIBLE and literal.violations.largest == 0.0 and not np.any(literal.state.vm)
