"""`gridveil convert`, and every command on a case in another format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.cli.main import app
from gridveil.formats.compare import differences
from gridveil.formats.read import read_any

runner = CliRunner()


def run(*arguments: str, code: int = 0) -> Any:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result


def test_there_and_back(tmp_path: Path) -> None:
    raw, again = tmp_path / "x.raw", tmp_path / "y.m"
    made = json.loads(run("convert", "case14", str(raw), "--json").stdout)
    assert [Path(one).name for one in made["files"]] == ["x.raw", "x.costs.csv", "x.limits.csv"]
    assert made["format"] == "psse33" and made["buses"] == 14
    assert made["losses"] == [
        "the generator costs: beside it, in *.costs.csv",
        "the angle limits of 20 branches: beside it, in *.limits.csv",
    ]
    back = json.loads(run("convert", str(raw), str(again), "--json").stdout)
    assert back["losses"] == [] and back["format"] == "m"
    assert differences(read_any(raw), read_any(again)) == ()
    assert "nothing was lost" in run("convert", str(raw), str(again), "--force").stdout
    shown = run("convert", "case118", str(tmp_path / "z.rawx"), "--to", "rawx").stdout
    assert "what was lost" in shown and "charging of 2 transformers" in shown


def test_every_command_takes_any_format(tmp_path: Path) -> None:
    raw = tmp_path / "x.raw"
    run("convert", "case5", str(raw), "--to", "psse35")
    one, other = (json.loads(run("opf", case, "--json").stdout) for case in ("case5", str(raw)))
    assert one["cost"] == pytest.approx(other["cost"], rel=1e-9)
    assert json.loads(run("info", str(raw), "--json").stdout)["buses"] == 5
    assert json.loads(run("gap", str(raw), "--json").stdout)["status"] == "optimal"
    assert run("profile", str(raw), "--out", str(tmp_path / "p.csv"), "--steps", "2").exit_code == 0
    assert gv.load(raw).grid.n_bus == 5
    one, other = (run("release", case, "--dry-run", "--json").stdout for case in ("case5", str(raw)))
    assert one.replace("case5", "CASE") == other.replace(str(raw), "CASE")


def test_ids_survive_a_matpower_file(tmp_path: Path) -> None:
    """In fields of their own, where they say more than the order of rows."""
    raw, m = tmp_path / "x.raw", tmp_path / "x.m"
    run("convert", "case5", str(raw))
    raw.write_text(raw.read_text().replace("\n1,'2',", "\n1,'G2',"))
    costs = raw.with_suffix(".costs.csv")
    costs.write_text(costs.read_text().replace("\n1,2,", "\n1,G2,"))
    run("convert", str(raw), str(m))
    assert "'G2';" in m.read_text()
    assert read_any(m).identity.machine == read_any(raw).identity.machine
    m.write_text(m.read_text().replace("'G2';", "'1';"))
    assert "two units of this bus have one id" in run("info", str(m), code=2).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("case5", "x.json"), "give --to, one of rawx, powermodels, egret, pandapower"),
        (("case5", "x"), "does not say which format it is to have"),
        (("case5", "x.xml"), "CGMES is not written"),
        (("case5", "x.uct"), "UCTE files are not written"),
        (("case5", "x.raw", "--to", "cgmes"), "CGMES is read, but not written; choose one of m, psse33"),
        (("case5", "x.raw", "--from", "raw"), "there is no format 'raw'"),
        (("case5", "taken.raw"), "exists; choose another name or give --force"),
        (("case5", "free.raw"), "free.costs.csv exists"),
        (("case5", "nowhere/x.raw"), "cannot be written"),
        (("nothing.raw", "x.m"), "there is no such file"),
    ],
)
def test_refused(arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.raw").write_text("mine")
    Path("free.costs.csv").write_text("mine")
    result = run("convert", *arguments, code=2)
    assert words in result.output.replace("\n", " ")
    assert {one.name for one in tmp_path.iterdir()} == {"taken.raw", "free.costs.csv"}
    assert Path("taken.raw").read_text() == Path("free.costs.csv").read_text() == "mine"


@pytest.mark.parametrize("form", ["m", "psse33", "psse35", "rawx"])
def test_a_network_of_one_bus(form: str, tmp_path: Path) -> None:
    """Without generators and lines, whose tables have no columns then."""
    one, other = tmp_path / "one.m", tmp_path / ("other.rawx" if form == "rawx" else "other.raw")
    one.write_text(
        "function mpc = one\nmpc.version = '2';\nmpc.baseMVA = 100;\nmpc.gen = [];\nmpc.branch = [];\nmpc.gencost = [];\n"
        "mpc.bus = [1 3 5 1 0 0 1 1 0 110 1 1.1 0.9];\n"
    )
    other = other.with_suffix(".m") if form == "m" else other
    run("convert", str(one), str(other), "--to", form)
    assert differences(read_any(one), read_any(other)) == ()
    assert gv.load(other).grid.n_bus == 1
