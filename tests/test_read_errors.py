"""Bad input: one `CaseFileError` per fault, with the file, the right line, and a sentence that says what to do."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gridveil import cases
from gridveil.casefile import Case, read
from gridveil.casefile.to_network import to_network
from gridveil.errors import CaseFileError

from .conftest import TINY


def line_of(text: str) -> int:
    return TINY[: TINY.index(text)].count("\n") + 1


GEN_1 = "	1	0	0	100	-100	1	100	1	200	0;"
COST_1 = "	2	0	0	3	0.02	10	5;"
LINE_2 = "	1	3	0.02	0.12	0.03	150	150	150	0.98	2	1	-30	30;"
END = TINY.count("\n") + 1

FAULTS: dict[str, tuple[tuple[str, str], str, int | None, str]] = {
    # name: (replacement, appended text, line, part of the message)
    "no version": (("mpc.version = '2';", ""), "", None, "version"),
    "version 1": (("'2'", "'1'"), "", 2, "mpc.version is not '2'"),
    "version-1 function": (("function mpc =", "function [baseMVA, bus, gen, branch] ="), "", 1, "one struct"),
    "no base": (("mpc.baseMVA = 100;", ""), "", None, "baseMVA"),
    "zero base": (("mpc.baseMVA = 100;", "mpc.baseMVA = 0;"), "", 3, "positive"),
    "huge base": (("mpc.baseMVA = 100;", "mpc.baseMVA = 1e308;"), "", 3, "beyond 1e+09"),
    "tiny base": (("mpc.baseMVA = 100;", "mpc.baseMVA = 1e-300;"), "", 3, "beyond 1e+09"),
    "computed base": (("mpc.baseMVA = 100;", "mpc.baseMVA = 50/3;"), "", 3, "not a literal"),
    "no bus table": (("mpc.bus =", "mpc.buses ="), "", None, "mpc.bus is missing"),
    "bus table as text": (("mpc.bus = [", "mpc.bus = 'x';\nmpc.b = ["), "", 4, "not a table"),
    "empty bus table": (("mpc.bus = [", "mpc.bus = [];\nmpc.b = ["), "", 4, "no rows"),
    "assigned twice": (("mpc.gen = [", "mpc.gen = [];\nmpc.gen = ["), "", line_of("mpc.gen = [") + 1, "twice"),
    "trailing statement": (("", ""), "mpc.bus(:, 3) = mpc.bus(:, 3) * 2;\n", END, "executes nothing"),
    "function call": (("", ""), "define_constants;\n", END, "executes nothing"),
    "scaled table": (("];\nmpc.gen ", "] * 2;\nmpc.gen "), "", line_of("mpc.bus = ["), "executes nothing"),
    "transposed table": (("];\nmpc.gen ", "]';\nmpc.gen "), "", line_of("mpc.bus = ["), "executes nothing"),
    "live if block": (("mpc.version", "fixed = 1;\nmpc.version"), "if fixed\n mpc.bus(1,1) = 2;\nend\n", END + 1, "executes nothing"),
    "if without end": (("mpc.version", "fixed = 0;\nmpc.version"), "if fixed\n mpc.bus(1,1) = 2;\n", END + 1, "no 'end'"),
    "else of a dead block": (("mpc.version", "fixed = 0;\nmpc.version"), "if fixed\n x = 1;\nelse\n mpc.x = 2;\nend\n", END + 1, "executes nothing"),
    "end on the line of its if": (("mpc.version", "fixed = 0;\nmpc.version"), "if fixed\n if a, x = 1; end\nend\n", END + 1, "executes nothing"),
    "code after return": (("", ""), "return;\nmpc.x = 3;\n", END, "executes nothing"),
    "code after the function's name": (("= tiny", "= tiny + 1"), "", 1, "executes nothing"),
    "open block comment": (("", ""), "%{\nmpc.x = 3;\n", END, "never ends"),
    "truncated table": (("	2	3	0.01	0.08	0.02	150	150	150	0	0	1	-30	30;\n];\n", "	2	3	0.01"), "", line_of("mpc.branch"), "truncated"),
    "table not closed": (("];\nmpc.gen ", "\nmpc.gen "), "", line_of("mpc.gen "), "close bus"),
    "non-numeric cell": ((GEN_1, GEN_1.replace("200", "2oo")), "", line_of(GEN_1), "Pmax in gen is not a number"),
    "sum in a cell": ((GEN_1, GEN_1.replace("200", "1-2")), "", line_of(GEN_1), "Pmax in gen is not a number"),
    "ragged row": ((LINE_2, LINE_2.replace("	30;", ";")), "", line_of(LINE_2), "12 columns where the first has 13"),
    "empty cell": ((GEN_1, GEN_1.replace("	1	0", "	1,,0", 1)), "", line_of(GEN_1), "empty"),
    "one angle limit": (("	1	-30	30;\n	1	3	0.02	0.12	0.03	150	150	150	0.98	2	1	-30	30;\n	2	3	0.01	0.08	0.02	150	150	150	0	0	1	-30	30;", "	1	-30;"), "", line_of("mpc.branch") + 1, "12 columns"),
    "isolated everywhere": (("	1	3	0	0	0	0	1	1	0	230	1	1.1	0.9;\n	2	1	90	30	0	0	1	1	0	230	1	1.1	0.9;\n	3	2", "	3	4"), "", 4, "isolated"),
    "upside-down infinity": ((GEN_1, GEN_1.replace("200	0", "Inf	Inf")), "", line_of(GEN_1), "Pmin is Inf"),
    "vanishing impedance": ((LINE_2, LINE_2.replace("0.02	0.12", "0	1e-200")), "", line_of(LINE_2), "not a finite number"),
    "ragged names": (("", ""), "mpc.bus_name = {\n'a', 'b'; 'c'\n};\n", END, "differ in length"),
    "narrow bus table": (("mpc.bus = [", "mpc.bus = [1 2 3];\nmpc.b = ["), "", 4, "3 columns"),
    "wide gen table": ((GEN_1 + "\n	3	0	0	50	-50	1	100	1	80	0;", GEN_1[:-1] + "\t0" * 32), "", line_of(GEN_1), "42 columns"),
    "duplicate bus": (("	2	1	90", "	1	1	90"), "", line_of("	2	1	90"), "twice"),
    "fractional bus": (("	2	1	90", "	2.5	1	90"), "", line_of("	2	1	90"), "positive integer"),
    "bus type": (("	2	1	90", "	2	5	90"), "", line_of("	2	1	90"), "type"),
    "NaN demand": (("	2	1	90", "	2	1	NaN"), "", line_of("	2	1	90"), "Pd is Inf or NaN"),
    "voltage limits": (("	2	1	90	30	0	0	1	1	0	230	1	1.1	0.9", "	2	1	90	30	0	0	1	1	0	230	1	0.9	1.1"), "", line_of("	2	1	90"), "Vmin is above Vmax"),
    "generator at no bus": ((GEN_1, GEN_1.replace("	1	0", "	9	0", 1)), "", line_of(GEN_1), "bus names a bus that is not in mpc.bus"),
    "generator limits": ((GEN_1, GEN_1.replace("200	0", "200	300")), "", line_of(GEN_1), "Pmin is above Pmax"),
    "NaN limit": ((GEN_1, GEN_1.replace("200	0", "NaN	0")), "", line_of(GEN_1), "NaN"),
    "line to no bus": ((LINE_2, LINE_2.replace("	1	3", "	1	4", 1)), "", line_of(LINE_2), "tbus names a bus that is not in mpc.bus"),
    "loop": ((LINE_2, LINE_2.replace("	1	3", "	1	1", 1)), "", line_of(LINE_2), "itself"),
    "zero impedance": ((LINE_2, LINE_2.replace("0.02	0.12", "0	0")), "", line_of(LINE_2), "r = x = 0"),
    "infinite reactance": ((LINE_2, LINE_2.replace("0.12", "Inf")), "", line_of(LINE_2), "x is Inf or NaN"),
    "negative tap": ((LINE_2, LINE_2.replace("0.98", "-0.98")), "", line_of(LINE_2), "tap"),
    "negative rating": ((LINE_2, LINE_2.replace("	150", "	-150", 1)), "", line_of(LINE_2), "rateA"),
    "angle limits": ((LINE_2, LINE_2.replace("-30	30", "30	-30")), "", line_of(LINE_2), "angmin is above angmax"),
    "cost rows": ((COST_1 + "\n", ""), "", line_of("mpc.gencost"), "1 rows for 2 generators"),
    "cost model": ((COST_1, COST_1.replace("	2", "	3", 1)), "", line_of(COST_1), "model"),
    "cost count": ((COST_1, COST_1.replace("	3	0.02", "	9	0.02")), "", line_of(COST_1), "fewer cost columns"),
    "infinite cost": ((COST_1, COST_1.replace("10", "Inf")), "", line_of(COST_1), "Inf or NaN"),
    "huge cost": ((COST_1, COST_1.replace("10", "1e308")), "", line_of(COST_1), "beyond 1e+100"),
    "non-convex cost": (
        (COST_1 + "\n	2	0	0	3	0.01	20	0;", "	1	0	0	3	0	0	50	1000	100	1500;\n	2	0	0	3	0.01	20	0	0	0	0;"),
        "", line_of(COST_1), "not convex",
    ),
    "unsorted cost": (
        (COST_1 + "\n	2	0	0	3	0.01	20	0;", "	1	0	0	2	50	0	0	1000;\n	2	0	0	3	0.01	20	0	0;"),
        "", line_of(COST_1), "do not increase",
    ),
    "DC line": (("", ""), "mpc.dcline = [\n1 2 1 10 9 0 0 1 1 0 10 -5 5 -5 5 0 0;\n];\n", END + 1, "DC line"),
    "user constraint": (("", ""), "mpc.A = [1 2 3];\n", END, "adds terms"),
    "loose cell": (("", ""), "mpc.bus_name = {\n'a'; b;\n};\n", END + 1, "neither a string nor a number"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str, tiny_file: Callable[..., Path]) -> None:
    replacement, appended, line, part = FAULTS[fault]
    path = tiny_file(replacement, append=appended)
    with pytest.raises(CaseFileError) as caught:
        read(path)
    assert part in str(caught.value)
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    assert caught.value.advice


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="no such file"):
        read(tmp_path / "absent.m")


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("content", "part"), [(b"\xff\xfe\x00", "UTF-8"), (b"a\0b", "NUL"), (b"", "version"), (b"%PDF-1.7", "version")]
)
def test_not_a_case(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "x.m"
    path.write_bytes(content)
    with pytest.raises(CaseFileError, match=part):
        read(path)


def test_faults_out_of_service_are_forgiven(tiny_file: Callable[..., Path]) -> None:
    broken = "	1	3	0	0	NaN	-1	0	0	0	0	0	30	-30;"
    assert len(read(tiny_file((LINE_2, broken))).branch) == 3


FRAGMENTS = [
    "0", "-", ".", "e", "NaN", "Inf", "1e9", "-1", ";", ";;", "\n", "\t", " ", ",", "%", "[", "]", "{", "}", "'", '"', "(",
    ")", "=", "...", "mpc.", "mpc.bus", "mpc.x = 3;", "end", "if", "\r", "\u00e9", "\0", "1 2 3;", "4",
]  # fmt: skip


def mutate(text: str, random_source: random.Random) -> str:
    """One to five random edits: insert, delete, swap lines, duplicate lines, replace a stretch."""
    for _ in range(random_source.randint(1, 5)):
        at = random_source.randrange(len(text) + 1)
        length = random_source.choice([0, 0, 1, 1, 2, 5, 40])
        kind = random_source.randrange(4)
        if kind == 0:
            text = text[:at] + random_source.choice(FRAGMENTS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + length :]
        elif kind == 2:
            text = text[:at] + random_source.choice(FRAGMENTS) + text[at + length :]
        else:
            lines = text.split("\n")
            i, j = random_source.randrange(len(lines)), random_source.randrange(len(lines))
            lines[i], lines[j] = (lines[j], lines[i]) if at % 2 else (lines[j], lines[j])
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("seed", range(8))
def test_fuzz(tmp_path: Path, seed: int) -> None:
    """Random edits of valid files end in a case that makes a network, or in a `CaseFileError`; nothing else."""
    source = random.Random(seed)
    texts = [TINY, (cases.path("case5") or Path()).read_text(encoding="utf-8")]
    path = tmp_path / "fuzz.m"
    read_well = 0
    for _ in range(400):
        path.write_bytes(mutate(source.choice(texts), source).encode("utf-8"))
        try:
            case = read(path)
        except CaseFileError as error:
            assert error.advice
        else:
            assert isinstance(case, Case)
            to_network(case)
            read_well += 1
    assert 0 < read_well < 400
