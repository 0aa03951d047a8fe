"""Writing: what is written reads back bit for bit, and a file appears whole or not at all."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridveil import cases
from gridveil.casefile import read, write
from gridveil.casefile.write import number_text

from .conftest import Bend

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


def bits(array: np.ndarray) -> bytes:
    return np.where(np.isnan(array), np.nan, array).tobytes()


@given(ANY_FLOAT)
def test_number_text_is_exact(value: float) -> None:
    assert bits(np.array(float(number_text(value)))) == bits(np.array(value))


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, (3, 3), elements=st.floats(allow_nan=False, allow_infinity=False)),
    arrays(np.float64, (2, 2), elements=ANY_FLOAT),
)
def test_round_trip_is_bit_for_bit(loads: np.ndarray, free: np.ndarray) -> None:
    """Arbitrary numbers wherever the checks allow them: demand, shunts, and columns that nothing reads."""
    case = read(cases.path("case3") or "")
    bus, gen = case.bus.copy(), case.gen.copy()
    bus[:, 2:5] = loads
    gen[:2, 1:3] = free
    changed = replace(case, bus=bus, gen=gen)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.m"
        write(changed, path)
        again = read(path)
    for name in ("bus", "gen", "branch", "gencost"):
        assert bits(getattr(again, name)) == bits(getattr(changed, name))


def test_extras_round_trip(tiny: Bend, tmp_path: Path) -> None:
    case = tiny(append="mpc.bus_name = {'O''Brien', 3; 'b', Inf};\nmpc.note = 'it''s';\nmpc.areas = [1 2; 3 4];\n")
    write(case, tmp_path / "again.m", notes=("a note",))
    again = read(tmp_path / "again.m")
    assert again.extras["bus_name"] == (("O'Brien", 3.0), ("b", float("inf")))
    assert again.extras["note"] == "it's"
    assert np.array_equal(np.asarray(again.extras["areas"]), [[1, 2], [3, 4]])
    assert (tmp_path / "again.m").read_text().startswith("%   a note\n")


def test_case_without_costs_and_odd_names(tiny: Bend, tmp_path: Path) -> None:
    case = replace(tiny(append="mpc.A = [];\n"), gencost=np.empty((0, 0)), name="3 \u00fc%b")
    write(case, tmp_path / "again.m")
    again = read(tmp_path / "again.m")
    assert again.name == "case_3___b"
    assert len(again.gencost) == 0


def test_a_failed_write_leaves_nothing(tiny: Bend, tmp_path: Path) -> None:
    case, target = tiny(), tmp_path / "out"
    target.mkdir()
    (target / "old.m").write_text("old")
    with patch("os.fsync", side_effect=OSError("disk full")), pytest.raises(OSError, match="disk full"):
        write(case, target / "old.m")
    assert [path.name for path in target.iterdir()] == ["old.m"]
    assert (target / "old.m").read_text() == "old"
