"""Errors say where and what is wrong, and never show what stands there: logs are read by many."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile import read
from gridveil.casefile.profile import read_profile
from gridveil.cli.main import app
from gridveil.errors import CaseFileError

from .conftest import TINY

SECRET = "271828"
TABLE = TINY[TINY.index("mpc.branch = [") :]
ROWS = [row.strip("\t;").split("\t") for row in TABLE.splitlines()[1:-1]]
WRONG = [
    "0.271828x", "x0.271828", "271828", "-271828", "271828.1.1", "271828e999", "0.271828-1", "271828i", "'0.271828'",
    '"0.271828', "0.271828]", "[0.271828]", "0.271828 0.271828", "0.271828;", "0.271828,,1", "{0.271828}", "0.271828 = 1",
    "x.y = 0.271828", "0.271828 % 271828\n", "0.271828 ... 271828\n1", "271828*2", "a271828", "271828/0", "1;\n271828",
    "1];\n0.271828 [", "1];\nmpc.branch(2, 4) = 0.271828;\nmpc.y = [1", "0.271828\n", "\u00e9271828", "(271828)",
]  # fmt: skip


def faults() -> list[str]:
    """The tiny case with every cell of its lines spoilt in every way, or gone, with all others secret."""
    texts = []
    for row in range(len(ROWS)):
        for column in range(len(ROWS[0])):
            for wrong in WRONG:
                cells = [list(one) for one in ROWS]
                cells[row][column] = wrong
                texts.append("\n".join("\t".join(one) + ";" for one in cells))
            # a row that has lost a cell: what follows stands under another's name
            cells = [[*one[:2], f"0.{SECRET}", f"{SECRET}", f"{SECRET}.5", *one[5:]] for one in ROWS]
            del cells[row][column]
            texts.append("\n".join("\t".join(one) + ";" for one in cells))
            texts.append("\n".join("\t".join([*one[:column], *one[column + 1 :], "0"]) + ";" for one in cells))
    head = TINY[: TINY.index("mpc.branch = [")]
    return [f"{head}mpc.branch = [\n{text}\n];\n" for text in texts]


def test_no_cell_of_a_line_is_shown(tmp_path: Path) -> None:
    path, said = tmp_path / "x.m", set()
    for text in faults():
        path.write_text(text, encoding="utf-8")
        try:
            read(path)
        except CaseFileError as error:
            assert SECRET not in str(error), text
            said.add(error.problem)
    assert len(said) > 30  # many different faults were met
    assert "r in branch is not a number" in said
    assert any("tbus names a bus that is not in mpc.bus" in one for one in said)


@pytest.mark.parametrize(
    "statement",
    [
        "mpc.branch(3, 4) = 0.271828;", "x = 0.271828 * 2;", "271828", "0.271828 0.5;", "mpc.z = 271828 1;",
        "mpc.version = '271828';", "mpc.c = {x271828};", "mpc.c = {271828 x271828};", "mpc.a = '271828", "if 271828\nend",
        "function mpc = x271828(271828", "271828 = [1", "mpc.271828 = [1", "mpc.baseMVA = '271828';",
    ],
)  # fmt: skip
def test_no_statement_is_shown(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "x.m"
    text = TINY.replace("mpc.version = '2';\n", "") if "version" in statement else TINY
    path.write_text((text.replace("mpc.baseMVA = 100;\n", "") if "baseMVA" in statement else text) + statement + "\n")
    with pytest.raises(CaseFileError) as caught:
        read(path)
    assert SECRET not in str(caught.value)
    done = CliRunner().invoke(app, ["info", str(path)])
    assert done.exit_code == 2
    assert SECRET not in done.output


@pytest.mark.parametrize(
    "text",
    [
        "271828,1\n", "step,271828\n1,1\n", "271828,271828\n", "step,scale\n1,271828x\n", "step,scale\n271828x,1\n",
        "step,scale\n1,-271828\n", "step,scale\n1.271828,1\n", "step,bus,p_mw,q_mvar\n1,1.271828,1,1\n",
        "step,bus,p_mw,q_mvar\n1,1,271828x,1\n", "step,scale\n1,1,271828\n",
    ],
)  # fmt: skip
def test_no_text_of_a_wrong_profile_is_shown(tmp_path: Path, text: str) -> None:
    """Who gives the case in place of its profile finds no line of it in the log."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(CaseFileError) as caught:
        read_profile(path, gv.load("case5").grid)
    assert SECRET not in str(caught.value)


def test_no_cell_of_a_wrong_parquet_is_shown(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"step": [1], "scale": ["x271828"]}), path)
    with pytest.raises(CaseFileError) as caught:
        read_profile(path, gv.load("case5").grid)
    assert SECRET not in str(caught.value)


def test_an_unforeseen_error_shows_its_place_only(
    tiny_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["gridveil.casefile.read"], "check_case", lambda *_: float(f"x{SECRET}"))
    done = CliRunner().invoke(app, ["info", str(tiny_file())])
    assert done.exit_code == 1
    assert "ValueError in" in done.stderr
    assert SECRET not in done.output
