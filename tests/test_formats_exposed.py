"""What of branches and loads stands in public shunts: it is counted, said before the charge, and has to be agreed to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.cli.main import app
from gridveil.formats import egret, powermodels
from gridveil.formats.imported import numbered
from gridveil.formats.read import read_any
from gridveil.formats.tables import STUBS, WARDED, Pi, Tables

from .raw_files import BUSES, LINES, LOADS, raw33, two

PLAIN_LINES = LINES.replace("0.001,0.002,0.003,-0.004", "0,0,0,0")
PLAIN_LOADS = LOADS.replace("1.5,-0.5", "0,0")
PLAIN_TWO = two(1, 1, mag=(0.0, 0.0)) + two(1, 1, mag=(0.0, 0.0)).replace("1,2,0,'1 '", "2,3,0,'1 '")


def raw(folder: Path, transformers: str = PLAIN_TWO, lines: str = PLAIN_LINES, loads: str = PLAIN_LOADS) -> Path:
    file = folder / "x.raw"
    file.write_text(raw33(transformers, lines=lines, loads=loads))
    return file


def said(file: Path) -> list[tuple[str, str]]:
    return [(one.group, one.sentence.split(" stand as ")[0]) for one in read_any(file).exposed]


def test_what_a_raw_file_puts_into_shunts(tmp_path: Path) -> None:
    assert said(raw(tmp_path)) == []
    parts = "conductance, unequal charging or magnetising of"
    assert said(raw(tmp_path, lines=LINES)) == [("lines", f"{parts} 1 branch")]
    assert said(raw(tmp_path, two(1, 1), LINES)) == [("lines", f"{parts} 2 branches")]
    assert said(raw(tmp_path, loads=LOADS)) == [("loads", "constant admittances of 1 load")]


def test_a_line_to_a_bus_out_of_service_leaves_nothing(tmp_path: Path) -> None:
    """It is out of service with its bus, and so is what it would put on the other."""
    gone = "1,9,'1 ',0.01,0.1,0.04,0,0,0,0.5,0.5,0.5,0.5,1\n"
    plain, file = read_any(raw(tmp_path)), tmp_path / "y.raw"
    file.write_text(raw33(PLAIN_TWO, buses=BUSES + "9,'X',132.0,4\n", lines=PLAIN_LINES + gone, loads=PLAIN_LOADS))
    found = read_any(file)
    assert found.exposed == () and found.case.bus[0, c.GS] == plain.case.bus[0, c.GS]


def test_other_formats() -> None:
    case = gv.read_case("case5")
    data: dict[str, Any] = json.loads(powermodels.write(case, numbered(case)))
    assert powermodels.read(Path("x"), json.dumps(data).encode()).exposed == ()
    data["branch"]["1"]["g_fr"] = 0.25
    assert [one.group for one in powermodels.read(Path("x"), json.dumps(data).encode()).exposed] == ["lines"]
    assert egret.read(Path("x"), egret.write(case, numbered(case))).exposed == ()


def test_stubs_and_wards() -> None:
    tables = Tables(Path("x"), 100.0)
    tables.bus(1, 110.0, 0.9, 1.1, c.REFERENCE_BUS)
    tables.bus(2, 110.0, 0.9, 1.1)
    tables.branch("line", (1, 2), "1", Pi(0.01, 0.1, 0j, 0j), 0.0)
    tables.notes[STUBS] += 2
    tables.notes[WARDED] += 1
    found = tables.imported("x").exposed
    assert [one.group for one in found] == ["lines", "loads"]
    assert "2 branches that are open at one end stand as shunts" in found[0].sentence
    assert "1 ward stand as shunts" in found[1].sentence and "give them as constant power" in found[1].sentence


@pytest.mark.parametrize("yes", [False, True])
def test_the_command_asks(yes: bool, tmp_path: Path) -> None:
    out, book = tmp_path / "out", tmp_path / "l.db"
    options = ["--missing-cost", "20", "--beta", "0.05", "--out", str(out), "--ledger", str(book)]
    common = ["release", str(raw(tmp_path, loads=LOADS)), *options, "--protect", "lines,loads"]
    made = CliRunner().invoke(app, [*common, *["--yes"] * yes])
    words = " ".join(made.stderr.split())
    assert "constant admittances of 1 load stand as shunts of buses, which are published as they are" in words
    assert out.exists() == yes and made.exit_code == (0 if yes else 2), made.output
    assert any(entry.kind == "charge" for entry in gv.Ledger.open(book).entries()) == yes


@pytest.mark.parametrize(("loads", "protect"), [(PLAIN_LOADS, "lines,loads"), (LOADS, "lines")])
def test_a_plain_file_is_not_asked_about(loads: str, protect: str, tmp_path: Path) -> None:
    """Nor is one whose exposed parts belong to a group that is public anyway."""
    options = ["--missing-cost", "20", "--beta", "0.05", "--protect", protect, "--ledger", str(tmp_path / "l.db")]
    common = ["release", str(raw(tmp_path, loads=loads)), *options]
    seen = CliRunner().invoke(app, [*common, "--dry-run", "--json"])
    assert seen.exit_code == 0 and json.loads(seen.stdout)["questions"] == [], seen.output
    made = CliRunner().invoke(app, [*common, "--out", str(tmp_path / "out")])
    assert made.exit_code == 0 and "shunts" not in made.stderr, made.output
