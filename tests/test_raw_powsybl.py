"""Our reading of RAW files against that of pypowsybl, and pypowsybl's reading of files that we wrote."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from gridveil.formats.convert import convert
from gridveil.formats.find import import_case
from gridveil.formats.imported import Imported
from gridveil.formats.read import read_any
from gridveil.formats.registry import by_name

from .powsybl import Powsybl, our_demand, our_units, ours
from .raw_files import CW, CZ, LOADS, raw33, three, two

pytestmark = pytest.mark.skipif(find_spec("pypowsybl") is None, reason="pypowsybl is not installed")

# neither file has a path from bus 3 to the rest but this
TO_THREE = (
    "2,3,0,'1 ',1,1,1,0,0,2,'            ',1,1,1.0\n0.01,0.1,100.0\n"
    "1.0,0.0,0.0,0.0,0.0,0.0,0,0,1.1,0.9,1.1,0.9,33,0,0.0,0.0,0.0\n1.0,0.0\n"
)
# the format has YQ negative for inductive loads, as we read it and MATPOWER; pypowsybl adds it to the demand
NO_YQ = LOADS.replace("1.5,-0.5", "1.5,0.0")
ANDES = (
    "ieee14/ieee14", "ieee14/ieee14_ieeevc", "ieee39/ieee39", "kundur/kundur", "nordic44/N44_BC", "npcc/npcc",
    "wecc/wecc", "wscc9/wscc9", "wscc9/wscc9_3wxfr",
)  # fmt: skip


def agree(path: Path, found: Imported) -> None:
    """Admittances, demand at nominal voltage and units are the same to 1e-9."""
    other = Powsybl(path, found.case.base_mva)
    matrix = other.matrix()
    demand, units = other.injections()
    mine = ours(found.case, other.buses)
    # pypowsybl leaves constant admittances in loads: where a bus has one they differ by just that
    power = our_demand(found.case, other.buses) - demand
    away = np.abs(np.diag(mine - matrix) + np.conj(power))
    mine[np.diag_indices(len(mine))] += np.conj(power)
    assert np.max(away) < 1e-9 * np.max(np.abs(matrix))
    assert np.max(np.abs(mine - matrix)) < 1e-9 * np.max(np.abs(matrix))
    own = our_units(found.case, found.identity.machine)
    assert set(own) == set(units)
    assert all(np.allclose(own[name], units[name], rtol=1e-9, atol=1e-12) for name in own)


@pytest.mark.parametrize("name", ANDES)
def test_files_of_andes(name: str, tmp_path: Path) -> None:
    spec = find_spec("andes")
    if spec is None or spec.origin is None:
        pytest.skip("andes is not installed")
    text = (Path(spec.origin).parent / "cases" / f"{name}.raw").read_text()
    # pypowsybl puts regulating taps on their nearest step, which is not where the file has them
    text = re.sub(r"(5000\.00,) 1,(   5301,)", r"\1 0,\2", text)
    path = tmp_path / "x.raw"
    path.write_text(text)
    agree(path, read_any(path))


@pytest.mark.parametrize("cw", CW)
@pytest.mark.parametrize("cz", CZ)
@pytest.mark.parametrize("windings", [2, 3])
def test_every_code(cw: int, cz: int, windings: int, tmp_path: Path) -> None:
    path = tmp_path / "x.raw"
    path.write_text(raw33(two(cw, cz) + TO_THREE if windings == 2 else three(cw, cz), loads=NO_YQ))
    agree(path, read_any(path))


@pytest.mark.parametrize(
    "transformers",
    [two(1, 1, 2) + TO_THREE, two(3, 2, 2) + TO_THREE, two(1, 1, 1, 30.0) + TO_THREE]
    + [three(1, 1, stat) + two(1, 1) + TO_THREE for stat in (2, 3, 4)],
    ids=["magnetising in W", "the same by nominal voltage", "a shift", "winding 2 out", "winding 3 out", "winding 1 out"],
)  # fmt: skip
def test_magnetising_shifts_and_windings_out_of_service(transformers: str, tmp_path: Path) -> None:
    path = tmp_path / "x.raw"
    path.write_text(raw33(transformers, loads=NO_YQ))
    agree(path, read_any(path))


@pytest.mark.parametrize("form", ["psse33", "psse35", "rawx"])
@pytest.mark.parametrize("name", ["case14", "case39", "case118"])
def test_files_that_we_wrote(form: str, name: str, tmp_path: Path) -> None:
    found = import_case(name)
    made = convert(found, by_name(form)).main
    assert isinstance(made, bytes)
    path = tmp_path / ("x.rawx" if form == "rawx" else "x.raw")
    path.write_bytes(made)
    agree(path, found)
