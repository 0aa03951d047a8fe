"""PGLib from 14 to 9,241 buses to other formats and back (`make sweep`); a full run is in docs/results/formats.md."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

import gridveil as gv
from gridveil.formats.compare import differences
from gridveil.formats.convert import convert
from gridveil.formats.losses import held
from gridveil.formats.read import read_any
from gridveil.formats.registry import by_name
from gridveil.formats.translate import LENDABLE

pytestmark = pytest.mark.sweep

SIZES = ("14_ieee", "39_epri", "118_ieee", "300_ieee", "1354_pegase", "2869_pegase", "9241_pegase")
ENDS = {"psse33": ".raw", "psse35": ".raw", "rawx": ".rawx"}


@pytest.mark.parametrize("name", SIZES)
def test_by_identity_and_by_the_optimal_cost(name: str, pglib: Path, tmp_path: Path) -> None:
    found = read_any(pglib / f"pglib_opf_case{name}.m")
    cost = gv.solve_opf(gv.load(found.case)).require().cost
    for form in map(by_name, ENDS):
        made, path = convert(found, form), tmp_path / f"{form.name}{ENDS[form.name]}"
        assert isinstance(made.main, bytes)
        path.write_bytes(made.main)
        for ending, data in made.beside.items():
            path.with_suffix(ending).write_bytes(data)
        assert differences(made.kept, form.read()(path, made.main)) == ()
        again = read_any(path)
        assert differences(held(found, [one for one in form.cannot_hold if one not in LENDABLE]), again) == ()
        assert gv.solve_opf(gv.load(again.case)).require().cost == pytest.approx(cost, rel=1e-9)


@pytest.mark.parametrize(("name", "seconds"), [("9241_pegase", 0.5), ("78484_epigrids", 5.0)])
def test_large_files_are_read_in_time(name: str, seconds: float, pglib: Path) -> None:
    made = convert(read_any(pglib / f"pglib_opf_case{name}.m"), by_name("psse33")).main
    assert isinstance(made, bytes)
    took = []
    for _ in range(3):
        start = process_time()
        by_name("psse33").read()(Path("x.raw"), made)
        took.append(process_time() - start)
    assert min(took) < seconds
