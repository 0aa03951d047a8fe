"""Reading: every quirk seen in public files, and the same numbers whichever way they are parsed."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.casefile import Case, numbers, read
from gridveil.casefile.quirks import quirks
from gridveil.casefile.scan import Assignment, Source
from gridveil.casefile.to_network import to_network
from gridveil.grid import LineKind

from .conftest import TINY, Bend


def same_tables(one: Case, other: Case) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("bus", "gen", "branch", "gencost")
    )


def test_plain_file(tiny: Bend) -> None:
    case = tiny()
    assert case.name == "tiny"
    assert case.base_mva == 100
    assert case.bus.shape == (3, 13)
    assert case.gen.shape == (2, 10)
    assert case.branch.shape == (3, 13)
    assert case.branch[1].tolist() == [1, 3, 0.02, 0.12, 0.03, 150, 150, 150, 0.98, 2, 1, -30, 30]
    assert not case.bus.flags.writeable


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mpc.bus = [\n", "mpc.bus = [ % the buses ]\n% between rows 1 2 3\n\n"),
        ("1.1	0.9;\n	2	1	90", "1.1	0.9 % no semicolon [\n	2	1	90"),
        ("	2	0	0	3	0.02	10	5;\n	2	0", "	2	0	0	3	0.02	10	5;	2	0"),
        ("	2	0	0	3	0.02	10	5;", "2, 0, 0, 3, 0.02, 10, 5;"),
        ("	2	0	0	3	0.02	10	5;", "	2	0	0 ...\n	3	0.02	10	5;"),
        ("	2	0	0	3	0.02	10	5;", "	+2	0.	.0	3e0	2.0E-02	1e+1	5;"),
        ("	2	0	0	3	0.02	10	5;\n", "	2	0	0	3	0.02	10	5;;\r\n"),
        ("mpc.bus = [", "mpc.bus=["),
        ("mpc.baseMVA = 100;", "mpc.baseMVA = 1e2  % MVA"),
        ("mpc.baseMVA = 100;", "mpc.baseMVA = [100];"),
        ("mpc.version = '2';", 'mpc.version = "2";'),
        ("mpc.version = '2';", "%{\nmpc.bus = [ nonsense\n%}\nmpc.version = '2';"),
        ("function mpc = tiny", "\ufeff% Gr\u00f6\u00dfe \u2713\nfunction mpc = tiny % caf\u00e9"),
        ("function mpc = tiny", "fixed = 0;\nfunction_like = 3;\n"),
        ("mpc.version = '2';", "%{\r\nmpc.version = '1';\r\n %}\r\nmpc.version = '2';\r\n"),
        ("mpc.version = '2';", "%{\n%{\n%}\nmpc.version = '1';\n%}\nmpc.version = '2';"),
        ("function mpc = tiny\n", "function mpc = ...  ]\n  tiny(a, ...\n b); "),
        ("mpc.baseMVA = 100;\n", "mpc.baseMVA = 100; % a\r"),
        ("mpc.bus = [\n", "mpc.bus = [ ... ] not the end\n"),
    ],
)
def test_same_numbers_in_other_clothes(tiny: Bend, tmp_path: Path, old: str, new: str) -> None:
    reference = tiny()
    assert same_tables(tiny((old, new)), reference)


def test_struct_of_another_name(tiny_file: object, tmp_path: Path) -> None:
    path = tmp_path / "other.m"
    path.write_text(TINY.replace("mpc", "grid"), encoding="utf-8")
    assert read(path).bus.shape == (3, 13)


def test_switched_off_block_is_skipped(tiny: Bend) -> None:
    block = "if fixed\n  if true\n mpc.bus(1, 2) = 7;\n end\nend\n"
    assert same_tables(tiny(("mpc.version", "fixed = 0;\nmpc.version"), append=block), tiny())


@pytest.mark.parametrize("ending", ["end\n", "return;\n", "return\nend", "end % of the function"])
def test_last_words(tiny: Bend, ending: str) -> None:
    assert same_tables(tiny(append=ending), tiny())


def test_inf_and_nan(tiny: Bend) -> None:
    case = tiny(("100	-100", "Inf	-inf"), ("	3	0	0	50", "	3	NaN	nan	50"))
    assert case.gen[0, 3] == np.inf
    assert case.gen[0, 4] == -np.inf
    assert np.isnan(case.gen[1, 1])
    grid = to_network(case).grid
    assert grid.generators.qmax[0] == np.inf


def test_extras_are_kept(tiny: Bend) -> None:
    text = "mpc.bus_name = {\n\t'O''Brien % 1';\n\t'K\u00f6ln ]';\n\t\"c}\";\n};\nmpc.areas = [1 1];\nmpc.note = 'x';\nmpc.k = 3;\n"
    case = tiny(append=text)
    assert case.extras["bus_name"] == (("O'Brien % 1",), ("K\u00f6ln ]",), ("c}",))
    assert np.array_equal(np.asarray(case.extras["areas"]), [[1.0, 1.0]])
    assert case.extras["note"] == "x"
    assert {quirk.name for quirk in quirks(case)} == {
        "phase shifters", "field bus_name", "field areas", "field note", "field k",
    }  # fmt: skip


def test_wide_tables(tiny: Bend) -> None:
    zeros = "\t0" * 15
    case = tiny(
        (
            "	1	0	0	100	-100	1	100	1	200	0;",
            f"	1	0	0	100	-100	1	100	1	200	0{zeros};",
        ),
        (
            "	3	0	0	50	-50	1	100	1	80	0;",
            f"	3	0	0	50	-50	1	100	1	80	0{zeros};",
        ),
    )
    assert case.gen.shape == (2, 25)


def test_branch_without_angle_columns(tiny: Bend) -> None:
    lines = to_network(tiny(*[("	1	-30	30;", "	1;")] * 3)).grid.lines
    assert np.all(np.isinf(lines.angle_min))
    assert np.all(np.isinf(lines.angle_max))


def test_out_of_service_isolated_and_renumbered(tiny: Bend) -> None:
    case = tiny(
        ("	3	2	60	20	0	5	1	1	0	230	1	1.1	0.9;\n", "	3	2	60	20	0	5	1	1	0	230	1	1.1	0.9;\n	70	4	5	5	0	0	1	1	0	0	1	1.1	0.9;\n"),
        ("	2	3	0.01	0.08	0.02	150	150	150	0	0	1", "	2	3	0.01	0.08	0.02	150	150	150	0	0	0"),
        ("	1	3	0.02", "	70	3	0	0	0	0	0	0	0	0	1	0	0;\n	1	3	0.02"),
    )  # fmt: skip
    grid, lines = to_network(case)
    assert (grid.n_bus, grid.n_line) == (3, 2)
    assert lines.g.shape == (2,)
    found = {quirk.name: quirk.count for quirk in quirks(case)}
    assert found["isolated buses"] == 1
    assert found["lines out of service"] == 2


def test_line_conventions(tiny: Bend) -> None:
    case = tiny(
        (
            "0.01	0.1	0.02	150	150	150	0	0	1	-30	30",
            "0	0.1	0.02	0	0	0	0	0	1	0	0",
        ),
        (
            "0.02	0.12	0.03	150	150	150	0.98	2	1	-30	30",
            "-0.02	0.12	0.03	Inf	0	0	0.98	-2	1	-360	360",
        ),
        (
            "0.01	0.08	0.02	150	150	150	0	0	1	-30	30",
            "0.01	-0.08	0.02	50	0	0	0	0	1	-20	360",
        ),
    )
    grid, lines = to_network(case)
    assert grid.lines.kind.tolist() == [LineKind.LOSSLESS, LineKind.NEGATIVE_RESISTANCE, LineKind.LOSSY]
    assert grid.lines.rating.tolist() == [np.inf, np.inf, 0.5]
    assert grid.lines.tap.tolist() == [1, 0.98, 1]
    assert grid.lines.shift[1] == pytest.approx(-2 * np.pi / 180)
    assert np.isinf(grid.lines.angle_min[:2]).all()
    assert grid.lines.angle_min[2] == pytest.approx(-20 * np.pi / 180)
    assert np.isinf(grid.lines.angle_max[2])
    assert lines.g[0] == 0
    assert lines.b[0] == pytest.approx(-10)
    # by hand: 0.01/(0.01² + 0.08²) and +0.08/(…)
    assert lines.g[2] == pytest.approx(0.01 / 0.0065)
    assert lines.b[2] == pytest.approx(0.08 / 0.0065)
    names = {quirk.name for quirk in quirks(case)}
    assert {"lines with r = 0", "lines with r < 0", "lines with x < 0", "lines without a rating"} <= names


def test_costs_in_per_unit(tiny: Bend) -> None:
    case = tiny(
        ("	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;",
         "	2	0	0	4	0.001	0.02	10	5	0	0;\n	1	0	0	3	0	0	40	400	80	1600;\n"
         "	2	0	0	2	3	1	0	0	0	0;\n	2	0	0	1	7	0	0	0	0	0;"),
    )  # fmt: skip
    grid = to_network(case).grid
    # 0.5 p.u. = 50 MW: 0.001·50³ + 0.02·50² + 10·50 + 5 = 680; the second at 60 MW: 400 + 30·20 = 1000
    assert grid.cost_p.total(np.array([0.5, 0.6])) == pytest.approx(680 + 1000)
    # reactive: 3·10 + 1 and the constant 7
    assert grid.cost_q.total(np.array([0.1, 0.3])) == pytest.approx(31 + 7)
    assert {"piecewise-linear costs", "reactive costs"} <= {quirk.name for quirk in quirks(case)}


def test_case_without_costs_is_read_and_said(tiny: Bend) -> None:
    cost = TINY[TINY.index("mpc.gencost") : TINY.index("mpc.branch")]
    case = tiny((cost, ""))
    assert to_network(case).grid.cost_p.total(np.array([1.0, 2.0])) == 0
    assert "no generator costs" in {quirk.name for quirk in quirks(case)}


TOKENS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, width=32).map(lambda value: f"{value:g}"),
    st.integers(-(10**12), 10**12).map(str),
    st.sampled_from(
        ["Inf", "-Inf", "NaN", "1.", ".5", "-.5e-3", "1E5", "1e+05", "+3", "00012", "-0", "1e400", "4.9e-324"]
    ),
)


def as_source(body: str) -> tuple[Source, Assignment]:
    raw = body.encode()
    return Source(Path("x.m"), raw), Assignment("bus", "matrix", 0, len(raw))


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(TOKENS, min_size=n, max_size=n), min_size=1, max_size=6)),
       st.sampled_from(["\t", " ", ", ", "  ,"]), st.sampled_from([";\n", "\n", ";", " ; % c\n"]))  # fmt: skip
def test_tables_parse_as_python_does(rows: list[list[str]], between: str, after: str) -> None:
    source, item = as_source("".join(between.join(row) + after for row in rows))
    expected = [[float(token) for token in row] for row in rows]
    for small in (0, 1 << 15):  # with the fast parser, and without
        with patch.object(numbers, "_SMALL", small), patch.object(numbers, "_TINY", small):
            assert np.array_equal(numbers.parse_matrix(source, item), np.array(expected), equal_nan=True)


@given(st.text(alphabet="0123456789+-.eE \t\n;,", max_size=60))
def test_fast_way_never_reads_what_the_careful_way_refuses(body: str) -> None:
    """The fast parser may decline; where it does not, it must agree with the careful one."""
    for small in (0, 1 << 15):
        with patch.object(numbers, "_SMALL", small):
            fast = numbers._parse_regular(body.encode())
        if fast is not None:
            careful = numbers._parse_cells(*as_source(body))
            assert np.array_equal(fast, careful)
            assert np.array_equal(np.signbit(fast), np.signbit(careful))


def test_large_table_is_cut_at_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_PIECE", 7)
    monkeypatch.setattr(numbers, "_TINY", 0)
    source, item = as_source("1 2 3;\n4 5 6; 7 8 9\n\n  % note\n10 11 12")
    assert numbers.parse_matrix(source, item).tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]


@pytest.mark.parametrize(
    "body", ["1 2; 3 4; 5 6; 7 8;", "1 2; 3 4 % ; 9 9; 9 9; 9 9;\n5 6; 7 8", "1 2; 3 4 ... ; 9 9; 9 9;\n; 5 6; 7 8"]
)
def test_a_long_line_is_cut_at_rows(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """... which comments and continuations do not begin."""
    monkeypatch.setattr(numbers, "_TINY", 0)
    for size in range(1, len(body)):
        monkeypatch.setattr(numbers, "_PIECE", size)
        assert numbers.parse_matrix(*as_source(body)).tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_reading_imports_no_solver() -> None:
    assert "casadi" not in sys.modules
