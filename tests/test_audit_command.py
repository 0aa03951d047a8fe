"""`audit`: what an auditor with ledger and original finds, and what planted lies he finds out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.check.audit import Finding, audit, residuals
from gridveil.cli.main import app
from gridveil.errors import LedgerError, ReleaseError
from gridveil.privacy.ledger import Ledger
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split

from .conftest import PretendExact

PLAN = gv.Plan(1.0, 0.1, 0.01)


def make(tmp_path: Path, name: str, plan: gv.Plan = PLAN, noise: PretendExact | None = None) -> tuple[Path, Ledger]:
    book = gv.Ledger.init(tmp_path / "l.db", limit=100.0)
    made = release(split(gv.read_case(name)), plan, book, noise or PretendExact(4), Workshop)
    return made.write(tmp_path / "out"), book


def failed(found: list[Finding]) -> list[str]:
    return [one.question for one in found if not one.passed]


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("case14_ieee", PLAN),
        ("case30_ieee", PLAN),  # the cost is asked for
        ("case14_ieee", gv.Plan(1.0, 0.1, 0.01, cost="declared", loss_within=2.0)),
        ("case14_ieee", gv.Plan(1.0, 1.0, 0.05, "additive", cost="derived")),
        ("case14_ieee", gv.Plan(1.0, 0.5, 0.05, "paper", cost="derived")),
    ],
    ids=["unasked", "asked", "declared", "additive", "paper"],
)
def test_an_honest_release_is_found_to_be_one(tmp_path: Path, name: str, plan: gv.Plan) -> None:
    folder, book = make(tmp_path, name, plan)
    found = audit(folder, book, gv.read_case(name))
    assert failed(found) == []
    assert found[-1].answer == "byte for byte"
    asked = any(one.question == "noise on the cost" for one in found)
    assert asked is (name == "case30_ieee")


def test_another_original_is_found_out(tmp_path: Path) -> None:
    """All lines five times as long, where the noise is twelve per cent; or a network with other corridors."""
    folder, book = make(tmp_path, "case14_ieee")
    case = gv.read_case("case14_ieee")
    branch = case.branch.copy()
    branch[:, 2:5] *= 5
    assert "drawn from this original" in failed(audit(folder, book, replace(case, branch=branch)))
    assert "charged to the lines of this original" in failed(audit(folder, book, gv.read_case("case30_ieee")))


class TooLittle(PretendExact):
    """Planted bug: a fifth of the noise that is stated."""

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        return values + (super().laplace(values, sensitivity, epsilon) - values) / 5


class TwoValued(PretendExact):
    """Planted bug: noise of the right size and another law."""

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        return values + np.where(np.arange(values.size) % 2, 1.0, -1.0) * sensitivity / epsilon


@pytest.mark.parametrize(
    ("noise", "found"), [(TooLittle(1), "drawn from this original"), (TwoValued(1), "Laplace noise")]
)
def test_wrong_noise_is_found_out(tmp_path: Path, noise: PretendExact, found: str) -> None:
    folder, book = make(tmp_path, "case30_ieee", gv.Plan(1.0, 0.1, 0.05, cost="derived"), noise)
    assert found in failed(audit(folder, book, gv.read_case("case30_ieee")))


def test_a_release_of_another_draw_is_found_out(tmp_path: Path) -> None:
    """Planted lie: the ledger has one draw, and the bundle was made of another."""
    book, case = gv.Ledger.open(tmp_path / "l.db"), gv.read_case("case14_ieee")
    one, other = (release(split(case), PLAN, book, PretendExact(seed), Workshop, confirmed=True) for seed in (1, 2))
    folder = replace(one, text=other.text).write(tmp_path / "out")
    assert failed(audit(folder, book, case)) == ["made from this draw"]
    record = json.loads((folder / "manifest.json").read_text())
    record["privacy"]["ledger_head"] = "0" * 64
    (folder / "manifest.json").write_text(json.dumps(record))
    assert "the ledger's head at that entry" in failed(audit(folder, book, case))
    record["privacy"]["ledger_entries"] = [77]
    (folder / "manifest.json").write_text(json.dumps(record))
    assert failed(audit(folder, book, case)) == ["charged as stated"]


def test_residuals_are_the_noise_that_was_drawn() -> None:
    network = gv.load("case14")
    for name, alpha in (("log", 0.1), ("additive", 1.0)):
        noisy = mechanism(name).perturb(split(network), 1.0, alpha, PretendExact(9))
        found = residuals(network.grid, network.lines, noisy)
        assert found is not None
        drawn = np.random.default_rng(9).laplace(size=len(found))
        assert np.allclose(np.sort(found), np.sort(drawn), atol=1e-9)


def test_the_command(tmp_path: Path) -> None:
    folder, book = make(tmp_path, "case14_ieee")
    options = ["audit", str(folder), "--ledger", str(book.path), "--original", "case14_ieee"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    assert "INTERNAL" in done.stdout and "does not show" in done.stdout
    record = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert record["status"] == "audited" and len(record["findings"]) == 6
    assert CliRunner().invoke(app, [*options[:-1], "case30_ieee"]).exit_code == 5
    assert CliRunner().invoke(app, [*options[:3], str(tmp_path / "no.db"), *options[4:]]).exit_code == 2


def test_what_cannot_be_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, book = make(tmp_path, "case14_ieee")
    made = release(gv.seal("case5"), PLAN, noise=gv.SeededNoise(1), workshop=Workshop)
    with pytest.raises(ReleaseError, match="charged to no ledger"):
        audit(made.write(tmp_path / "research"), book, gv.read_case("case5"))
    history = book.history()
    bare = replace(history, entries=[entry for entry in history.entries if entry.kind != "draw"])
    monkeypatch.setattr(Ledger, "history", lambda _: bare)
    with pytest.raises(LedgerError, match="has kept no draw"):
        audit(folder, book, gv.read_case("case14_ieee"))


def test_a_zip_is_audited_as_its_directory_is_and_what_is_no_bundle_is_said(tmp_path: Path) -> None:
    book, case = gv.Ledger.open(tmp_path / "l.db"), gv.read_case("case14_ieee")
    made = release(split(case), PLAN, book, PretendExact(4), Workshop)
    assert failed(audit(made.write(tmp_path / "x.zip"), book, case)) == []
    with pytest.raises(ReleaseError, match="cannot be read as a bundle"):
        audit(tmp_path / "none", book, case)


def test_a_draw_that_makes_no_release_is_an_answer(tmp_path: Path) -> None:
    """Loads of another original that no network near the draw can serve."""
    folder, book = make(tmp_path, "case14_ieee")
    case = gv.read_case("case14_ieee")
    bus = case.bus.copy()
    bus[:, 2:4] *= 1.45
    found = audit(folder, book, replace(case, bus=bus))
    assert failed(found) == ["made from this draw"]


def test_a_horizon_is_audited(tmp_path: Path) -> None:
    book, case = gv.Ledger.open(tmp_path / "l.db"), gv.read_case("case5")
    profile = gv.make_profile("case5", 4)
    plan = gv.Plan(1.0, 0.1, 0.02, steps=2, cost="declared", declare_unused=True)
    made = release(split(case), plan, book, PretendExact(4), Workshop, profile)
    assert failed(audit(made.write(tmp_path / "out"), book, case)) == []
