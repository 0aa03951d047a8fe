"""Costs and limits that a format lacks: lent by files, matched by keys and never by rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.casefile.write import to_text
from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats.lend_write import costs_csv, limits_csv
from gridveil.formats.read import read_any

from .conftest import TINY
from .raw_files import UNITS, raw33, three, two

THIRD = "4,'B ',0.0,0.0,30.0,-30.0,1.0,0,100.0,0.0,0.25,0.0,0.0,1.0,1,100.0,80.0,0.0,1,1.0\n"
OUT = THIRD.replace("'B '", "'C '").replace(",1.0,1,100.0,80.0", ",1.0,0,100.0,80.0")
TEXT = raw33(two(1, 1) + three(1, 1), units=UNITS + THIRD + OUT)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "grid.raw"
    path.write_text(TEXT)
    return path


def test_costs_beside_the_case_by_key(raw: Path) -> None:
    """In any order, with polynomials and points in one file; units out of service need none."""
    raw.with_suffix(".costs.csv").write_text(
        "# money per hour\nbus, id, p_mw, cost\n4,B,10,100\n4,B,0,0\n4,B,20,250\n\nbus,ID,c2,c1,c0\n4, 'A' ,0.1,2,3\n1,1,0,20,0\n"
    )
    found = read_any(raw)
    assert found.losses == () and found.invented_cost is None
    assert found.case.gencost.tolist() == [
        [2, 0, 0, 3, 0, 20, 0, 0, 0, 0], [2, 0, 0, 3, 0.1, 2, 3, 0, 0, 0],
        [1, 0, 0, 3, 0, 0, 10, 100, 20, 250], [2, 0, 0, 3, 0, 0, 0, 0, 0, 0],
    ]  # fmt: skip
    again = costs_csv(found.case, found.identity)
    assert again is not None
    raw.with_suffix(".costs.csv").write_bytes(again)
    assert np.array_equal(read_any(raw).case.gencost, found.case.gencost)


def test_a_name_with_two_ends_finds_its_costs(raw: Path) -> None:
    raw.rename(raw.with_name("grid.psse33.raw"))
    raw.with_name("grid.costs.csv").write_text("bus,id,c2,c1,c0\n1,1,0,20,0\n4,A,0,1,0\n4,B,0,1,0\n")
    assert read_any(raw.with_name("grid.psse33.raw")).losses == ()


def test_missing_costs_are_listed_or_invented(raw: Path, tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("bus,id,c2,c1,c0\n1,1,0,20,0\n")
    with pytest.raises(CaseFileError, match=r"no cost of 2 units in service \(bus/id: 4/A, 4/B\)"):
        read_any(raw, costs=file)
    found = read_any(raw, costs=file, missing_cost=33.0)
    assert found.invented_cost == 33 and found.case.gencost[:, 5].tolist() == [20, 33, 33, 33]
    assert any("2 units without a cost: given 33 per MWh" in note for note in found.notes)
    assert read_any(raw, missing_cost=0.0).case.gencost.shape == (4, 7)
    assert read_any(raw).losses[0].startswith("the format has no generator costs")
    file.write_text("bus,id,c2,c1,c0\n1,1,0,20,0\n4,A,0,1,0\n4,B,0,1,0\n")
    assert read_any(raw, costs=file, missing_cost=33.0).invented_cost is None  # it was not needed
    with pytest.raises(GridVeilError, match="--missing-cost is not a number"):
        read_any(raw, missing_cost=float("nan"))


def test_costs_of_a_matpower_file(tmp_path: Path) -> None:
    """Units of one bus count from 1; where both have one at a bus it is that one, whatever its id."""
    raw, lender = tmp_path / "x.raw", tmp_path / "lender.m"
    raw.write_text(raw33(two(1, 1) + three(1, 1), units=UNITS + THIRD.replace("'B '", "'2 '")))
    case = read_any(raw, missing_cost=1.0).case
    for ids, words in ((("1", "A", "2"), "4/A"), (("1", "1", "2"), None)):
        cost = np.array([[2, 0, 0, 2, 11.0, 0], [2, 0, 0, 2, 12.0, 0], [2, 0, 0, 2, 13.0, 0]])
        lender.write_text(to_text(gv.Case("x", 100.0, case.bus, case.gen, case.branch, cost)))
        raw.write_text(raw.read_text().replace("4,'A '", f"4,'{ids[1]} '"))
        if words:
            with pytest.raises(CaseFileError, match=words):
                read_any(raw, costs=lender)
        else:
            assert read_any(raw, costs=lender).case.gencost[:, 4].tolist() == [11, 12, 13]
    one = tmp_path / "one.raw"
    one.write_text(raw33(two(1, 1) + three(1, 1)))
    lender.write_text(to_text(gv.Case("x", 100.0, case.bus, case.gen[:2], case.branch, np.vstack([cost[:2]] * 2))))
    found = read_any(one, costs=lender)
    assert found.case.gencost[:, 4].tolist() == [11, 12]
    assert "the costs of reactive power were not lent" in found.notes


COSTS = {
    "no header": ("1,1,0,20,0\n", 1, "none of the headers"),
    "nothing": ("", None, "the file is empty"),
    "a short row": ("bus,id,c2,c1,c0\n1,1,0,20\n", 2, "4 cells under a header of 5"),
    "no number": ("bus,id,c2,c1,c0\n1,1,0,20,x\n", 2, "c0 is not a number"),
    "an infinite cost": ("bus,id,c2,c1,c0\n1,1,0,inf,0\n", 2, "c1 is not a number"),
    "a bus of a half": ("bus,id,c2,c1,c0\n1.5,1,0,20,0\n", 2, "not the number of a bus"),
    "an unknown unit": ("bus,id,c2,c1,c0\n1,9,0,20,0\n", 2, "the case has no such unit"),
    "a unit twice": ("bus,id,c2,c1,c0\n1,1,0,20,0\n1,1,0,20,0\n", 3, "has a cost already"),
    "a unit in both ways": ("bus,id,c2,c1,c0\n1,1,0,20,0\nbus,id,p_mw,cost\n1,1,0,0\n", 4, "has a cost already"),
    "the other way round": ("bus,id,p_mw,cost\n1,1,0,0\nbus,id,c2,c1,c0\n1,1,0,20,0\n", 4, "has a cost already"),
    "one point": ("bus,id,p_mw,cost\n1,1,0,0\n", 2, "needs two points"),
    "a curve that is not convex": (
        "bus,id,p_mw,cost\n1,1,0,0\n1,1,10,100\n1,1,20,150\nbus,id,c2,c1,c0\n4,A,0,1,0\n4,B,0,1,0\n", None, "not convex"
    ),
    "a huge cost": ("bus,id,c2,c1,c0\n1,1,0,1e101,0\n4,A,0,1,0\n4,B,0,1,0\n", None, "beyond 1e+100"),
    "not UTF-8": ("bus,id,c2,c1,c0 \xe9\n", None, "not UTF-8"),
    "a quote": ('bus,id,c2,c1,c0\n1,"1\n', 2, "1 cells under"),
}  # fmt: skip


@pytest.mark.parametrize("name", COSTS)
def test_refused_costs(name: str, raw: Path, tmp_path: Path) -> None:
    text, line, words = COSTS[name]
    file = tmp_path / "bad.csv"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(CaseFileError) as caught:
        read_any(raw, costs=file)
    if name != "a quote":
        assert words in caught.value.problem and caught.value.line == line and caught.value.path == file


def test_other_files_of_costs(raw: Path, tmp_path: Path) -> None:
    for name, text, words in (
        ("x.rop", "0", "ROP"),
        ("no.csv", None, "there is no such file"),
        ("x.m", TINY[: TINY.index("mpc.gencost")] + TINY[TINY.index("mpc.branch") :], "no gencost"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(CaseFileError, match=words):
            read_any(raw, costs=tmp_path / name)


def test_limits_by_key(raw: Path) -> None:
    """A branch that is named from its other end has its limits turned round."""
    raw.with_suffix(".limits.csv").write_text(
        "bus,vmin,vmax\n3,0.95,1.05\nfrom,to,ckt,angmin,angmax\n4,1,1,-10,20\n1,2,1,-30,30\n"
    )
    found = read_any(raw)
    assert found.case.bus[2, [c.VMIN, c.VMAX]].tolist() == [0.95, 1.05]
    assert found.case.branch[0, [c.ANGLE_MIN, c.ANGLE_MAX]].tolist() == [-20, 10]
    written = limits_csv(found.case, found.identity, charging=False)
    assert written == b"from,to,ckt,angmin,angmax\n1,4,1,-20,10\n1,2,1,-30,30\n"
    raw.with_suffix(".limits.csv").unlink()
    assert limits_csv(read_any(raw).case, found.identity, charging=True) is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("bus,vmin,vmax\n77,0.9,1.1\n", 2, "no such bus"),
        ("bus,vmin,vmax\n1,0.9,1.1\n1,0.9,1.1\n", 3, "stands here already"),
        ("bus,vmin,vmax\n1,1.2,1.1\n", None, "Vmin is above Vmax"),
        ("from,to,ckt,angmin,angmax\n1,4,7,-30,30\n", 2, "no such branch"),
        ("from,to,ckt,b\n1,4,1,0.1\n", 2, "this is a line"),
        ("from,to,ckt,b\n1,2,1,0.1\n2,1,1,0.1\n", 3, "stands here already"),
        ("from,to,ckt,angmin,angmax\n1,4,1,30,-30\n", None, "angmin is above angmax (branch 1-4, id 1)"),
    ],
)
def test_refused_limits(text: str, line: int | None, words: str, raw: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(CaseFileError) as caught:
        read_any(raw, limits=file)
    assert words in caught.value.problem and caught.value.line == line


def test_a_matpower_case_keeps_its_own_costs(tmp_path: Path) -> None:
    """Files beside it are for formats that lack them; an option is always heard."""
    path = tmp_path / "x.m"
    path.write_text(TINY)
    path.with_suffix(".costs.csv").write_text("bus,id,c2,c1,c0\n1,1,0,7,0\n3,1,0,8,0\n")
    path.with_suffix(".limits.csv").write_text("bus,vmin,vmax\n1,0.99,1.01\n")
    assert read_any(path).case.gencost[:, 5].tolist() == [10, 20]
    assert read_any(path).case.bus[0, c.VMAX] == 1.1
    lent = read_any(path, costs=path.with_suffix(".costs.csv"), limits=path.with_suffix(".limits.csv"))
    assert lent.case.gencost[:, 5].tolist() == [7, 8]
    assert lent.case.bus[0, c.VMAX] == 1.01
