"""`gridveil gap` and `gridveil opf --formulation`: JSON, tables, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_cli import run


def test_gap_json() -> None:
    record = json.loads(run("gap", "case30_ieee", "--json").stdout)
    assert record["status"] == record["ac_status"] == record["soc_status"] == record["qc_status"] == "optimal"
    assert record["ac_cost"] == pytest.approx(8208.5, abs=0.1)
    assert record["soc_gap_pct"] == pytest.approx(18.838, abs=0.002)
    assert record["qc_gap_pct"] == pytest.approx(18.801, abs=0.002)
    assert record["soc_bound"] < record["qc_bound"] < record["ac_cost"]
    assert 100 * (1 - record["soc_bound"] / record["ac_cost"]) == pytest.approx(record["soc_gap_pct"])


def test_gap_table() -> None:
    output = run("gap", "case5_pjm").stdout
    assert "17,551.89" in output
    assert "14.5407 %" in output


def test_gap_of_an_infeasible_case(tiny_file: Callable[..., Path]) -> None:
    path = str(tiny_file(("	2	1	90", "	2	1	900")))
    record = json.loads(run("gap", path, "--json", code=3).stdout)
    assert record["status"] == record["soc_status"] == record["qc_status"] == "infeasible"
    assert record["ac_cost"] is record["soc_bound"] is record["qc_gap_pct"] is None
    assert "no dispatch is feasible" in run("gap", path, code=3).stdout


def test_opf_relaxed() -> None:
    bounds = []
    for formulation in ("soc", "qc", "qc-lambda"):
        record = json.loads(run("opf", "case30_ieee", "--formulation", formulation, "--json").stdout)
        assert (record["formulation"], record["status"]) == (formulation, "optimal")
        assert record["cost"] == record["bound"]
        bounds.append(record["bound"])
    assert bounds == sorted(bounds)
    assert "6,662.16" in run("opf", "case30_ieee", "--formulation", "soc").stdout


def test_opf_relaxed_that_fails(tiny_file: Callable[..., Path]) -> None:
    path = str(tiny_file(("	2	1	90", "	2	1	900")))
    record = json.loads(run("opf", path, "--formulation", "soc", "--json", code=3).stdout)
    assert (record["status"], record["bound"]) == ("infeasible", None)
    stopped = run("opf", "case14", "--formulation", "qc", "--max-iterations", "2", "--json", code=4).stdout
    assert json.loads(stopped)["status"] == "iteration_limit"
    unknown = json.loads(run("opf", "case14", "--formulation", "sdp", "--json", code=2).stdout)
    assert "there are ac, soc, qc, qc-lambda" in unknown["error"]
