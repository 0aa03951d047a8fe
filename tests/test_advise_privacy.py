"""What may stand in: no draw whose noise can be taken off, no version of the secret; and a draw of it is charged once."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.advice import stand_in
from gridveil.advice.journal import Journal, begun_as
from gridveil.casefile import Case
from gridveil.casefile.to_network import to_network
from gridveil.casefile.write import to_text
from gridveil.cli.main import app
from gridveil.errors import ReleaseError, StudyError
from gridveil.grid import Structure, structure_of

from .conftest import PretendExact

SECRET = "case14_ieee"


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["advise", *map(str, arguments)])


def drawn(path: Path, **plan: Any) -> Path:
    """A bundle that was made with noise that counts as private."""
    book = gv.Ledger.init(path.with_name(f"{path.name}.ledger"))
    made = gv.release(gv.seal(SECRET), gv.Plan(1.0, 0.1, 0.01, cost="derived", **plan), book, PretendExact(1))
    return made.write(path)


# ---- bundles ----


def test_a_research_bundle_is_no_stand_in(tmp_path: Path) -> None:
    """Whoever has the seed takes its noise off: such a draw of the secret is the secret."""
    made = gv.release(gv.seal(SECRET), gv.Plan(100.0, 0.001, 0.01), noise=gv.SeededNoise(1))
    with pytest.raises(ReleaseError, match="research mode"):
        stand_in.given(made.write(tmp_path / "b"), gv.seal(SECRET).structure)
    with pytest.raises(ReleaseError, match="research mode"):
        stand_in.given(made.write(tmp_path / "b.zip"), gv.seal(SECRET).structure)


def test_a_directory_that_is_no_release_is_no_stand_in(tmp_path: Path) -> None:
    """The true network, named as a release would name its own, is not taken for one."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "released.m").write_text(to_text(gv.read_case(SECRET)))
    with pytest.raises(ReleaseError, match=r"manifest\.json is missing"):
        stand_in.given(tmp_path / "b", gv.seal(SECRET).structure)


def test_a_bundle_with_another_network_in_it_is_no_stand_in(tmp_path: Path) -> None:
    bundle = drawn(tmp_path / "b")
    (bundle / "released.m").write_text(to_text(gv.read_case(SECRET)))
    with pytest.raises(ReleaseError, match="no bundle that can stand in"):
        stand_in.given(bundle, gv.seal(SECRET).structure)


@pytest.mark.parametrize("name", ["b", "b.zip"])
def test_a_private_bundle_stands_in_and_says_what_of_it_is_true(tmp_path: Path, name: str) -> None:
    found = stand_in.given(drawn(tmp_path / name), gv.seal(SECRET).structure)
    assert "loads, limits of units and generation costs are the true ones" in found.words
    assert found.name == stand_in.RELEASED
    whole = stand_in.given(drawn(tmp_path / f"all-{name}", protect="all", totals="derived"), gv.seal(SECRET).structure)
    assert "true" not in whole.words


def test_seeded_noise_makes_no_charged_stand_in(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="seeded noise"):
        stand_in.charged(gv.seal(SECRET), 1.0, gv.Ledger.init(tmp_path / "l"), noise=gv.SeededNoise(1))


def test_trials_on_a_draw_go_on_by_its_bundle(tmp_path: Path) -> None:
    """Whether it was drawn just now or is read again, and wherever it was put, it is the same stand-in."""
    book = gv.Ledger.init(tmp_path / "l")
    one = stand_in.charged(gv.seal(SECRET), 1.0, book, noise=PretendExact(1), keep=tmp_path / "b")
    again = stand_in.given((tmp_path / "b").rename(tmp_path / "elsewhere"), gv.seal(SECRET).structure)
    assert begun_as([one], {}) == begun_as([again], {})


# ---- versions of the secret ----


def without_a_line(case: Case) -> Case:
    return replace(case, branch=case.branch[:-1])


def without_a_unit(case: Case) -> Case:
    return replace(case, gen=case.gen[:-1], gencost=case.gencost[:-1])


def with_a_bus(case: Case) -> Case:
    """One more, at the end of a line of its own."""
    bus, branch = case.bus[-1].copy(), case.branch[-1].copy()
    bus[0] = branch[1] = case.bus[:, 0].max() + 1
    return replace(case, bus=np.vstack([case.bus, bus]), branch=np.vstack([case.branch, branch]))


def renumbered(case: Case) -> Case:
    """And without a unit, so that not even their numbers are the same."""
    bus, branch, gen = case.bus.copy(), case.branch.copy(), case.gen.copy()
    bus[:, 0] += 1000
    branch[:, :2] += 1000
    gen[:, 0] += 1000
    return without_a_unit(replace(case, bus=bus, branch=branch, gen=gen))


def structure(case: Case) -> Structure:
    return structure_of(to_network(case).grid)


@pytest.mark.parametrize("other", [without_a_line, without_a_unit, with_a_bus, renumbered])
@pytest.mark.parametrize("name", ["case14_ieee", "case39_epri", "case118_ieee"])
def test_a_version_of_the_secret_does_not_stand_in_for_it(tmp_path: Path, name: str, other: Any) -> None:
    case = gv.read_case(name)
    file = tmp_path / "copy.m"
    file.write_text(to_text(other(case)))
    with pytest.raises(ReleaseError, match="looks like the network itself"):
        stand_in.given(file, structure(case))
    assert name not in [one.name for one in stand_in.nearest(structure(other(case)))]


def test_other_networks_resemble_nothing() -> None:
    names = ("case5_pjm", "case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
    found = {name: structure(gv.read_case(name)) for name in names}
    alike = [(a, b) for a in names for b in names if stand_in.resembles(found[a], found[b])]
    assert alike == [(name, name) for name in names]


# ---- charged once, and not for nothing ----

WITH = ("case14_ieee", "--stand-in-epsilon", "1", "--yes")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--minutes", "0"], "cannot try anything"),
        (["--minutes", "nan"], "cannot try anything"),
        (["--cost", "published"], "needs the cost"),
        (["--out", "TRIALS"], "--stand-in-out DIR too"),
        (["--out", "TRIALS", "--stand-in-out", "new"], "trials of another draw"),
        (["--stand-in-out", "OLD"], "charges nothing"),
    ],
)
def test_what_would_be_refused_after_the_charge_is_refused_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("TRIALS").write_text("{}\n")
    Path("OLD").mkdir()
    found = run(*WITH, "--ledger", "l.db", *more)
    assert found.exit_code == 2
    assert said in found.output.replace("\n", " ")
    assert not Path("l.db").exists()


def test_a_file_of_something_else_is_not_cut_off(tmp_path: Path) -> None:
    """A file without a line break looks like a torn line, and may be anything, such as a ledger's key."""
    file, one = tmp_path / "key", stand_in.StandIn("a", gv.load("case5_pjm"), "a small one")
    for text in (b"secret", b'{"format": "gridveil-advice-2"', b'{"a": 1}'):
        file.write_bytes(text)
        with pytest.raises(StudyError, match="no file of trials"):
            Journal(file, begun_as([one], {}))
        assert file.read_bytes() == text
    file.write_bytes(b'{"format": "gridv')  # a beginning that was torn
    assert Journal(file, begun_as([one], {})).rows == []
    file.write_bytes(file.read_bytes() + b'{"task": 3}\n')
    with pytest.raises(StudyError, match="lines that are no trials"):
        Journal(file, begun_as([one], {}))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_who_stops_goes_on_without_another_charge(tmp_path: Path) -> None:
    """Ctrl-C while trying: the draw and the trials are there, and the same again charges nothing."""
    first = [sys.executable, "-m", "gridveil.cli.main", "advise", SECRET, "--ledger", "l.db", "--out", "t", "--json",
             "--workers", "1", "--protect", "lines"]  # fmt: skip
    with subprocess.Popen(
        [*first, "--stand-in-epsilon", "1", "--stand-in-out", "d", "--minutes", "5"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        for _ in range(600):
            if (tmp_path / "t").exists() and (tmp_path / "t").read_bytes().count(b"\n") > 1:
                break
            sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) != 0
    had = (tmp_path / "t").read_bytes()
    subprocess.run(
        [*first, "--stand-in", "d", "--minutes", "0.1"], check=False, cwd=tmp_path, capture_output=True, timeout=120
    )
    assert (tmp_path / "t").read_bytes().startswith(had)
    charges = [one for one in gv.Ledger.read(tmp_path / "l.db").entries() if one.kind == "charge"]
    assert [one.details["loss"] for one in charges] == [1.0]
