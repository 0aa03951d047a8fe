"""`gridveil doctor`: what is there, what is wrong, what to do; and it leaves nothing behind."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gridveil.cli import doctor
from gridveil.cli.doctor import EXTRAS, LIBRARIES, LOOKS, Finding, State
from gridveil.cli.main import app
from gridveil.errors import LedgerError, ReleaseError
from gridveil.privacy.ledger import Ledger, default_path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody's ledger but the test's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def look(name: str) -> Finding:
    return doctor._examined(LOOKS[name])


def test_a_healthy_installation(home: Path) -> None:
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["status"] == "ok"
    found = record["findings"]
    assert [name.replace("_", " ") for name in found] == list(LOOKS)
    assert found["libraries"]["versions"]["numpy"] == version("numpy")
    assert found["solver"]["linear_solver"] == "mumps"
    assert found["solver"]["cost"] == pytest.approx(5812.64, abs=0.01)
    assert found["ledger"]["path"] == str(default_path())
    assert found["ledger"]["exists"] is False
    assert found["noise"]["map"] == pytest.approx(0.5, rel=1e-9)
    assert list(home.rglob("*")) == []  # to look for a ledger does not make one


def test_the_table_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = {"good": lambda: Finding(State.OK, "fine"), "bad": lambda: Finding(State.PROBLEM, "a[red]b", "mend it")}
    monkeypatch.setattr(doctor, "LOOKS", looks)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 5
    for words in ("good", "ok", "fine", "bad", "problem", "a[red]b", "mend it", "no release could be made"):
        assert words in result.stdout
    monkeypatch.setattr(doctor, "LOOKS", {"fair": lambda: Finding(State.NOTE, "so so")})
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "a release could be made" in result.stdout


def test_the_names_are_those_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

    def names(parts: list[str]) -> set[str]:
        plain = {part.split(">")[0].lower() for part in parts if not part.startswith("gridveil[")}
        within = [part[9:-1].split(",") for part in parts if part.startswith("gridveil[")]
        return plain.union(*(names(extras[one]) for group in within for one in group))

    extras = project["optional-dependencies"]
    assert set(LIBRARIES) == names(project["dependencies"])
    assert set(EXTRAS) == set(extras) - {"test", "bench", "dev", "docs"}
    for extra, parts in EXTRAS.items():
        assert set(parts) == names(extras[extra])


def test_what_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        if name in {"opendp", "plotly"}:
            raise PackageNotFoundError(name)
        # heavy, and not installed for tests
        return "1.0" if name in {"pandapower", "pypsa", "pypowsybl"} else version(name)

    monkeypatch.setattr("importlib.metadata.version", absent)
    libraries, extras = look("libraries"), look("extras")
    assert (libraries.state, libraries.advice) == (State.PROBLEM, "pip install opendp")
    assert (extras.state, extras.advice) == (
        State.OK,
        "if wanted: pip install 'gridveil[report]', or in a clone: pip install -e '.[report]'",
    )
    assert extras.found == "present: parquet, verify, frames, formats, cgmes, plot, workbench, study; absent: report"


def test_a_solver_that_does_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRIDVEIL_IPOPT", str(tmp_path / "none.so"))
    assert look("solver").state is State.PROBLEM
    assert "there is no Ipopt library at" in look("solver").found
    repair = look("repair process")
    assert repair.state is State.PROBLEM
    assert "there is no Ipopt library at" in repair.found


def test_a_case_in_the_working_directory_is_not_solved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "case3_lmbd").write_text("not a case")
    monkeypatch.chdir(tmp_path)
    assert look("solver").state is State.OK


class FakeLaw:
    """A library that states half of what is lost, and draws."""

    def map(self, _: float) -> float:
        return 0.25

    def __call__(self, values: list[float]) -> list[float]:
        return [value + 1.0 for value in values]


def test_noise_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    import opendp.prelude as dp

    with monkeypatch.context() as planted:
        planted.setattr(dp.m, "make_laplace", lambda *_, **__: FakeLaw())
        assert look("noise").state is State.PROBLEM
        assert "0.25 where 0.5 is right" in look("noise").found
    assert look("noise").state is State.OK
    monkeypatch.setattr("gridveil.privacy.noise.ExactNoise.laplace", lambda _, values, *__: values)
    assert look("noise").state is State.PROBLEM


def test_a_ledger_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked into, its permissions and its anchor too; and another one with --ledger."""
    Ledger.open()
    finding = look("ledger")
    assert (finding.state, finding.details["entries"]) == (State.OK, 1)
    apart = tmp_path / "safe"
    apart.mkdir()
    other = Ledger.init(tmp_path / "other.db", anchor=apart / "anchor")
    result = CliRunner().invoke(app, ["doctor", "--ledger", str(other.path), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["findings"]["ledger"]
    assert (found["path"], found["anchor"]) == (str(other.path), str(apart / "anchor"))
    with monkeypatch.context() as fixed:
        fixed.setattr("os.access", lambda place, _: Path(place) != apart)
        finding = doctor._ledger(other.path)
        assert finding.state is State.PROBLEM and f"{apart} cannot be written to" in finding.found
    other.path.chmod(0o666)
    finding = doctor._ledger(other.path)
    assert finding.state is State.PROBLEM and finding.advice.startswith(f"chmod 600 {other.path}")

    def broken(_: Any) -> Ledger:
        raise LedgerError("entry 2 was changed; restore the file from a backup")

    monkeypatch.setattr(Ledger, "read", broken)
    assert look("ledger") == Finding(State.PROBLEM, "entry 2 was changed; restore the file from a backup")


def test_a_ledger_that_cannot_be_used(home: Path) -> None:
    default_path().parent.mkdir()
    default_path().write_bytes(b"this is no database" * 100)
    assert look("ledger").state is State.PROBLEM
    default_path().rename(default_path().with_name("ledger.db.key"))
    before = sorted(home.rglob("*"))
    finding = look("ledger")
    assert finding.state is State.PROBLEM
    assert "is gone, but its key is there" in finding.found
    assert sorted(home.rglob("*")) == before


def test_a_place_where_no_ledger_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert look("ledger").advice == "name another place with --ledger"


def test_how_the_child_is_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    class Open:
        confined: tuple[str, ...] = ()

        def close(self) -> None:
            pass

    class Closed(Open):
        confined = ("landlock",)

    class Dead(Open):
        def __init__(self) -> None:
            raise ReleaseError("the repair process ended with code 3")

    states = {}
    for kind in (Open, Closed, Dead):
        monkeypatch.setattr("gridveil.repair.child.ChildWorkshop", kind)
        states[kind] = look("repair process").state
    assert states == {Open: State.NOTE, Closed: State.OK, Dead: State.PROBLEM}


def test_whatever_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bool:
        raise RuntimeError("boom")

    monkeypatch.setattr("gridveil.process.cores.cores_are_off", fail)
    assert look("core dumps").found == "RuntimeError: boom"
    monkeypatch.setattr("gridveil.process.cores.cores_are_off", lambda: False)
    assert look("core dumps").state is State.NOTE
