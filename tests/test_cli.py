"""The command line: one JSON object, documented exit codes, sentences instead of tracebacks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gridveil.cli.main import app

runner = CliRunner()


def run(*arguments: str, code: int = 0) -> Any:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_opf_json() -> None:
    record = json.loads(run("opf", "case14_ieee", "--json").stdout)
    assert record["status"] == "optimal"
    assert record["cost"] == pytest.approx(2178.08, abs=0.01)
    assert record["max_violation"] <= 1e-5
    assert record["iterations"] > 5
    assert 0 < record["seconds"] < 60
    assert "point" not in record


def test_opf_full_json() -> None:
    record = json.loads(run("opf", "case5", "--json", "--full").stdout)
    assert len(record["point"]["vm"]) == 5
    assert len(record["multipliers"]["balance_p"]) == 5


def test_opf_table() -> None:
    output = run("opf", "case5_pjm").stdout
    assert "17,551.89" in output
    assert "optimal" in output


def test_info() -> None:
    record = json.loads(run("info", "case118", "--json").stdout)
    assert (record["buses"], record["lines"], record["corridors"]) == (118, 186, 179)
    assert record["kinds"] == {"lossy": 177, "lossless": 9, "negative_resistance": 0}
    assert {level["kv"]: level["lines"] for level in record["levels"]} == {138: 165, 161: 1, 345: 20}
    assert {quirk["name"]: quirk["count"] for quirk in record["quirks"]}["lines parallel to another"] == 14
    assert "179 corridors" in run("info", "case118").stdout


def test_info_without_finite_capacity_is_valid_json(tiny_file: Callable[..., Path]) -> None:
    path = tiny_file(("1	200	0;", "1	Inf	0;"))
    record = json.loads(run("info", str(path), "--json").stdout)
    assert record["capacity_mw"] is None


def test_cases() -> None:
    record = json.loads(run("cases", "--json").stdout)
    assert [case["buses"] for case in record["cases"]] == [3, 5, 14, 30, 39, 57, 118]
    assert "case39_epri" in run("cases").stdout


def test_version() -> None:
    assert run("--version").stdout.startswith("gridveil 0.")


@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input(as_json: bool, tiny_file: Callable[..., Path]) -> None:
    path = tiny_file(append="mpc.bus(:, [3, 4]) = 0;\n")
    result = run("opf", str(path), *["--json"] * as_json, code=2)
    assert "savecase" in result.stderr.replace("\n", " ")
    if as_json:
        assert json.loads(result.stdout)["exit_code"] == 2


def test_infeasible(tiny_file: Callable[..., Path]) -> None:
    path = tiny_file(("	2	1	90", "	2	1	900"))
    record = json.loads(run("opf", str(path), "--json", code=3).stdout)
    assert record["status"] == "infeasible"
    assert record["cost"] is None
    assert "infeasible" in run("opf", str(path), code=3).stdout


def test_not_solved() -> None:
    assert (
        json.loads(run("opf", "case14", "--max-iterations", "2", "--json", code=4).stdout)["status"]
        == "iteration_limit"
    )


def test_usage() -> None:
    run("opf", code=2)
    run("opf", "case5", "--max-iterations", "0", code=2)


def test_internal_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("gridveil.nlp.opf.solve_opf", fail)
    result = run("opf", "case5", "--json", code=1)
    assert "internal failure, ZeroDivisionError in test_cli.py, line" in json.loads(result.stdout)["error"]
    assert "planted" not in result.output  # it might be a number of the network
    monkeypatch.setenv("GRIDVEIL_DEBUG", "1")
    assert isinstance(runner.invoke(app, ["opf", "case5"]).exception, ZeroDivisionError)


@pytest.mark.parametrize("arguments", [("--ipopt", "nowhere.so"), ("--linear-solver", "abacus")])
def test_bad_solvers(arguments: tuple[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridveil.cli.main", "opf", "case5", "--json", *arguments],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["exit_code"] == 2


@pytest.mark.parametrize("arguments", [("--max-seconds", "0"), ("--max-iterations", "4294967297")])
def test_bad_solver_options(arguments: tuple[str, str]) -> None:
    assert json.loads(run("opf", "case5", "--json", *arguments, code=2).stdout)["exit_code"] == 2


def test_names_that_look_like_markup(tiny_file: Callable[..., Path]) -> None:
    path = tiny_file().rename(tiny_file().parent / "x[red].m")
    for command in ("opf", "info"):
        assert "x[red].m" in run(command, str(path)).stdout.replace("\n", "")


def test_names_that_cannot_be_looked_at() -> None:
    run("opf", "x" * 5000, code=2)


def test_output_that_nobody_reads() -> None:
    code = "from gridveil.cli.main import main; import sys; sys.argv = ['gridveil', 'opf', 'case5', '--json']; main()"
    for target, code_wanted in (("/dev/full", 1), ("closed", 0)):
        shell = f'exec {sys.executable} -c "{code}" ' + (">&-" if target == "closed" else f">{target}")
        done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False)
        assert done.returncode == code_wanted
        assert b"Traceback" not in done.stderr


def test_modules_that_are_commands() -> None:
    """`python -m` runs them, and what is wrong is an exit code, in JSON for whoever asks for it."""
    for arguments, code in (
        (["gridveil", "--version"], 0),
        (["gridveil.cli.verify", "nowhere"], 2),
        (["gridveil.cli.verify", "nowhere", "--json"], 2),
        (["gridveil.cli.verify", "--json"], 2),
        (["gridveil.cli.verify", "--json", "--nope"], 2),
    ):
        done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, check=False)
        assert done.returncode == code, arguments
        assert "--json" not in arguments or json.loads(done.stdout)["exit_code"] == code


def test_facade_is_lazy() -> None:
    """Importing the package, or the grid alone, loads neither files, solvers nor the command line."""
    probe = (
        "import sys, gridveil, gridveil.grid;"
        "bad = [m for m in sys.modules if m.startswith(('gridveil.nlp', 'gridveil.casefile', 'gridveil.cli', 'gridveil.api'))];"
        "assert not bad, bad; assert gridveil.solve_opf; assert 'load' in dir(gridveil)"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)
