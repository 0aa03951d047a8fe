"""PSS/E RAW and RAWX: what a file says becomes the numbers it means; written files read back to the same numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.formats.compare import differences
from gridveil.formats.convert import convert
from gridveil.formats.find import import_case
from gridveil.formats.imported import Imported
from gridveil.formats.losses import held
from gridveil.formats.read import read_any
from gridveil.formats.registry import by_name

from .raw_files import BUSES, CW, CZ, ENDING, LINES, raw33, three, two

FORMS = ("psse33", "psse35", "rawx")


def read_text(text: str, folder: Path, name: str = "x.raw") -> Imported:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_any(path)


def row_of(found: Imported, *ends: int) -> np.ndarray:
    rows = [row for row in found.case.branch if row[0] == ends[0] and row[1] == ends[1]]
    return np.asarray(rows[0])


def bus_of(found: Imported, number: int) -> np.ndarray:
    return np.asarray(found.case.bus[found.case.bus[:, 0] == number][0])


def test_a_small_file_by_hand(tmp_path: Path) -> None:
    """Loads in service, admittance loads as shunts, line shunts, switched and fixed shunts, magnetising."""
    found = read_text(raw33(two(1, 1)), tmp_path)
    assert bus_of(found, 2)[[c.PD, c.QD, c.GS, c.BS]].tolist() == [20, 5, 1.5, -0.5]
    assert bus_of(found, 3)[[c.PD, c.QD, c.GS, c.BS]].tolist() == [10, 2, 0.5, 7]
    # GI, BI of the line in service and MAG1, MAG2 of the transformer; GJ, BJ and the switched shunt
    np.testing.assert_allclose(bus_of(found, 1)[[c.GS, c.BS]], [0.1 + 0.1, 0.2 - 1.0], rtol=1e-12)
    np.testing.assert_allclose(bus_of(found, 4)[[c.GS, c.BS]], [0.3, -0.4 + 12.5], rtol=1e-12)
    assert found.identity.circuit == ("1", "2", "1")
    assert found.identity.machine == ("1", "A")
    assert found.identity.bus_names is not None and found.identity.bus_names[1] == "TWO, A/B"
    assert found.case.branch[:2, c.BRANCH_STATUS].tolist() == [1, 0]
    assert found.case.branch[0, [c.RATE_A, c.ANGLE_MIN, c.ANGLE_MAX]].tolist() == [100, -360, 360]
    units = found.case.gen[:, [c.GEN_BUS, c.PG, c.QMAX, c.QMIN, c.VG, c.MBASE, c.GEN_STATUS, c.PMAX, c.PMIN]]
    assert units[0].tolist() == [1, 40, 60, -50, 1.02, 150, 1, 120, 5]
    assert len(found.losses) == 1 and "no generator costs" in found.losses[0]


@pytest.mark.parametrize("cw", CW)
@pytest.mark.parametrize("cz", CZ)
def test_codes_of_transformers(cw: int, cz: int, tmp_path: Path) -> None:
    """By the two-port: taps t1, t2 in per unit, and an impedance in per unit of the system between them."""
    row = row_of(read_text(raw33(two(cw, cz)), tmp_path), 1, 2)
    (v1, n1), (v2, n2), _ = CW[cw]
    t1, t2 = {1: (v1, v2), 2: (v1 / 132, v2 / 33), 3: (v1 * n1 / 132, v2 * n2 / 33)}[cw]
    r, x, base = CZ[cz]
    if cz == 3:
        r = r / 1e6 / base
        x = (x**2 - r**2) ** 0.5
    z = (r + 1j * x) * (100 / base if cz > 1 else 1)
    np.testing.assert_allclose(row[c.RATIO], t1 / t2, rtol=1e-12)
    np.testing.assert_allclose(row[c.R] + 1j * row[c.X], z * t2**2, rtol=1e-12)


def test_magnetising_current_in_watts(tmp_path: Path) -> None:
    found = read_text(raw33(two(1, 2, cm=2), lines=LINES.splitlines()[1] + "\n"), tmp_path)
    exciting = 0.012 * 60.0
    np.testing.assert_allclose(bus_of(found, 1)[[c.GS, c.BS]], [0.05, -((exciting**2 - 0.05**2) ** 0.5)], rtol=1e-12)


@pytest.mark.parametrize(("stat", "out"), [(1, None), (2, 2), (3, 3), (4, 1)])
def test_three_windings_make_a_star(stat: int, out: int | None, tmp_path: Path) -> None:
    found = read_text(raw33(three(1, 1, stat) + two(1, 1)), tmp_path)
    star = found.case.bus[-1]
    assert star[[c.BUS_NUMBER, c.BUS_TYPE, c.PD, c.BS, c.VM]].tolist() == [11, 1, 0, 0, 1.01]
    legs = found.case.branch[found.case.branch[:, c.TO] == 11]
    assert [int(row[c.FROM]) for row in legs if row[c.BRANCH_STATUS] == 0] == ([] if out is None else [out])
    r, x, _ = CZ[1]
    z12, z23, z31 = r + 1j * x, 1.2 * r + 1.5j * x, 0.9 * r + 1.8j * x
    expected = [(z12 + z31 - z23) / 2, (z12 + z23 - z31) / 2, (z31 + z23 - z12) / 2]
    np.testing.assert_allclose(legs[:, c.R] + 1j * legs[:, c.X], expected, rtol=1e-12)
    np.testing.assert_allclose(legs[:, c.RATIO], [1.05, 0.98, 1.01], rtol=1e-12)
    assert legs[:, c.RATE_A].tolist() == [70, 60, 20]
    # magnetising stands at the first winding, and goes with it
    assert np.isclose(bus_of(found, 1)[c.GS], 0.2 + (0.05 if stat != 4 else 0.0), rtol=1e-12)


def test_stars_are_numbered_by_identity(tmp_path: Path) -> None:
    """Neither the order of the file nor what is out of service in it moves a star."""
    one = read_text(raw33(three(1, 1, name="1") + three(1, 2, name="2") + two(1, 1)), tmp_path)
    turned = raw33(three(1, 2, name="2") + two(1, 1) + three(1, 3, 0, name="0") + three(1, 1, name="1"))
    other = read_text(turned.replace(BUSES, BUSES + "99,'GONE',132.0,4\n"), tmp_path, "y.raw")
    kept = replace(other, case=replace(other.case, bus=other.case.bus[other.case.bus[:, 0] != 99]))
    assert differences(one, kept) == ()
    assert any("out of service: left out" in note for note in other.notes)


def test_omitted_fields_take_their_defaults(tmp_path: Path) -> None:
    text = raw33(
        "1,2\n,0.1\n\n\n",
        buses="1,,132.0,3\n2\n4,'X',132,2\n",
        loads="2,,,,,5.0\n",
        shunts="",
        units="1\n4,'1',10\n",
        lines="1,4,,0.01,0.1\n",
        ending=ENDING.replace("4,0,0,1,1.5,0.5,0,100.0,' ',12.5,1,12.5\n", ""),
    )
    found = read_text(text, tmp_path)
    assert found.case.bus[1].tolist() == [2, 1, 5, 0, 0, 0, 1, 1, 0, 0, 1, 1.1, 0.9]
    assert found.case.gen[0, :10].tolist() == [1, 0, 0, 9999, -9999, 1, 100, 1, 9999, -9999]
    assert row_of(found, 1, 2)[[c.R, c.X, c.RATIO, c.SHIFT, c.BRANCH_STATUS]].tolist() == [0, 0.1, 1, 0, 1]
    assert row_of(found, 1, 4)[[c.R, c.X, c.RATIO, c.BRANCH_STATUS]].tolist() == [0.01, 0.1, 0, 1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1,'1 ',40.0,0.0,", "1 ,  '1 ' , 4.0D1, 0.0 , "),
        ("2,'1 ',1,1,1,20.0,", "2,\"1 \",1,1,1,2.0E+1,"),
        ("3,'1 ',1,0.5,7.0", "3,'1 ',1,0.5,7.0 / a comment, with 'a quote"),
        ("3,'1 ',1,0.5,7.0", "3 '1 ' 1 0.5 7.0"),
        ("0 / END OF BUS DATA, BEGIN LOAD DATA", "0"),
        ("0 / END OF BUS DATA, BEGIN LOAD DATA", "@! a comment\n0 / END OF BUS DATA"),
        ("\nQ\n", "\n"),
        ("4,0,0,1,1.5", "\n   \n4,0,0,1,1.5"),
        ("\n", "\r\n"),
        ("0, 100.00, 33,", ", 100.00, 33.0,"),
    ],
)  # fmt: skip
def test_writings_of_the_same_file(old: str, new: str, tmp_path: Path) -> None:
    text = raw33(two(1, 1) + three(2, 3))
    assert old in text
    path = tmp_path / "y.raw"
    path.write_bytes(text.replace(old, new).encode())
    assert differences(read_text(text, tmp_path), read_any(path)) == ()


def test_names_in_another_code_page(tmp_path: Path) -> None:
    path = tmp_path / "x.raw"
    path.write_bytes(raw33(two(1, 1)).replace("THREE", "TR\u00c9S").encode("latin-1"))
    found = read_any(path)
    assert any("Latin-1" in note for note in found.notes)
    assert found.identity.bus_names is not None and found.identity.bus_names[2] == "TR\u00c9S"


def test_revisions_have_other_columns(tmp_path: Path) -> None:
    """34 and 35: twelve ratings, nodes, switching devices, generation behind loads, substations at the end."""
    lines = "1,4,'1 ',0.01,0.1,0.04,'NAME',100.0,1,2,3,4,5,6,7,8,9,10,11,0.001,0.002,0.003,-0.004,1,1,0.0,1,1.0\n"
    switches = "3,2,'S1',0.0002,50.0,0,0,0,0,0,0,0,0,0,0,0,1,1,2,2,'BREAKER'\n"
    winding = "1.05,132.0,5.0,70.0,1,2,3,4,5,6,7,8,9,10,11,0,0,0,1.1,0.9,1.1,0.9,33,0,0.0,0.0,0.0"
    transformers = (
        f"1,2,0,'1 ',1,1,1,0,0,2,'T',1,1,1.0,0,1.0,0,1.0,0,1.0,'YNyn0',0\n0.004,0.08,100\n{winding}\n0.98,33\n"
    )
    unit = "1,'1 ',40.0,0.0,60.0,-50.0,1.02,0,0,150.0,0.0,1.0,0.0,0.0,1.0,1,100.0,120.0,5.0,0,1,1.0\n"
    text = raw33(
        transformers, head="@!IC\n0,100.0,35,0,1,60.0 / v35", lines=lines, units=unit,
        loads="2,'1 ',1,1,1,20.0,5.0,0,0,0,0,1,1,0,4.0,1.0,1,'RES'\n3,'1 ',1,1,1,10.0,2.0,0,0,0,0,1,1,0,9.0,9.0,0,''\n",
        ending=ENDING.replace("4,0,0,1,1.5,0.5,0,100.0,' ',12.5,1,12.5", "4,'1',0,0,1,1.5,0.5,0,0,100.0,' ',12.5,1,1,12.5")
        .replace("0 / END OF INDUCTION MACHINE DATA\n", "0 / END OF INDUCTION MACHINE DATA, BEGIN SUBSTATION DATA\n1,'SUB'\n0 / nodes\n0 /\n"),
    )  # fmt: skip
    text = text.replace(
        "AND 'ANOTHER\n", "AND 'ANOTHER\nGENERAL, THRSHZ=0.0001\nRATING, 1, 'A'\n0 / END OF SYSTEM-WIDE DATA\n"
    )
    begin = (
        "0 / END OF BRANCH DATA, BEGIN SYSTEM SWITCHING DEVICE DATA\n"
        + switches
        + "0 / END OF SYSTEM SWITCHING DEVICE DATA"
    )
    found = read_text(text.replace("0 / END OF BRANCH DATA", begin), tmp_path)
    assert bus_of(found, 2)[[c.PD, c.QD]].tolist() == [16, 4]
    assert bus_of(found, 3)[[c.PD, c.QD]].tolist() == [10, 2]
    assert np.isclose(bus_of(found, 4)[c.BS], 12.1)
    assert row_of(found, 1, 4)[[c.RATE_A, c.RATE_B, c.RATE_C, c.BRANCH_STATUS]].tolist() == [100, 1, 2, 1]
    assert row_of(found, 3, 2)[[c.R, c.X, c.RATE_A]].tolist() == [0, 0.0002, 50]
    assert row_of(found, 1, 2)[[c.SHIFT, c.RATE_A, c.RATE_B]].tolist() == [5, 70, 1]
    assert found.case.gen[0, [c.MBASE, c.PMAX, c.PMIN]].tolist() == [150, 120, 5]
    notes = " ".join(found.notes)
    for words in ("generation behind 1 load", "1 closed switching device", "substations"):
        assert words in notes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["case3", "case5", "case14", "case30", "case39", "case57", "case118"])
def test_there_and_back(form: str, name: str, tmp_path: Path) -> None:
    """With the files of costs and limits beside it nothing is lost."""
    found = import_case(name)
    made = convert(found, by_name(form))
    path = tmp_path / ("x.rawx" if form == "rawx" else "x.raw")
    assert isinstance(made.main, bytes)
    path.write_bytes(made.main)
    assert differences(made.kept, by_name(form).read()(path, made.main)) == ()
    for ending, data in made.beside.items():
        path.with_suffix(ending).write_bytes(data)
    again = read_any(path)
    assert again.losses == ()
    assert differences(held(found, ["extra columns"]), again) == ()
    before, after = gv.solve_opf(gv.load(found.case)), gv.solve_opf(gv.load(again.case))
    assert abs(before.cost / after.cost - 1) < 1e-9
