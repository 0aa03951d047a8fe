"""`audit`: what an auditor with ledger and original finds, and what planted lies he finds out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.check.audit import GOES_ON, audit
from gridveil.check.finding import Finding
from gridveil.check.redraw import redraw
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import Noise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.mechanisms.base import Mechanism
from gridveil.sealed.split import Sealed, split
from gridveil.wall.draw import NoisyLines

from .conftest import PretendExact
from .forging import forge

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
    assert "made from this draw" in failed(audit(folder, book, case))
    record = json.loads((folder / "manifest.json").read_text())
    record["privacy"]["ledger_head"] = "0" * 64
    (folder / "manifest.json").write_text(json.dumps(record))
    assert "the ledger's head at that entry" in failed(audit(folder, book, case))
    record["privacy"]["ledger_entries"] = [77]
    (folder / "manifest.json").write_text(json.dumps(record))
    assert failed(audit(folder, book, case))[1:] == ["charged as stated"]


def test_residuals_are_the_noise_that_was_drawn() -> None:
    network = gv.load("case14")
    for name, alpha in (("log", 0.1), ("additive", 1.0), ("paper", 0.1)):
        noisy = mechanism(name).perturb(split(network), 1.0, alpha, PretendExact(9))
        found = redraw(split(network), noisy, name, 1.0, alpha)
        drawn = np.random.default_rng(9).laplace(size=len(found.lines) + len(found.means))
        assert np.allclose([*found.lines, *found.means], drawn, atol=1e-9) and found.other == ()
        assert (found.means.size > 0) is (name == "paper")
        assert redraw(split(network), noisy, name, 2.0, alpha).other == ("scale",)


def test_the_command(tmp_path: Path) -> None:
    folder, book = make(tmp_path, "case14_ieee")
    options = ["audit", str(folder), "--ledger", str(book.path), "--original", "case14_ieee"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    assert "INTERNAL" in done.stdout and "does not show" in done.stdout
    record = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert record["status"] == "audited" and len(record["findings"]) == 13
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
    found = audit(folder, book, gv.read_case("case14_ieee"))
    assert failed(found) == [GOES_ON] and "has kept no draw" in found[-1].answer and len(found) > 5


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


class Cheat:
    """A mechanism whose draws are another's, changed on the way."""

    def __init__(self, name: str, change: Callable[[Mechanism, Sealed, float, float, Noise], NoisyLines]) -> None:
        self._honest, self._change = mechanism(name), change

    def loss(self, network: Sealed, epsilon: float) -> float:
        return self._honest.loss(network, epsilon)

    def perturb(self, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
        return self._change(self._honest, network, epsilon, alpha, noise)


def hardly_any(honest: Mechanism, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
    """A hundred-thousandth of the noise, which the draw says itself."""
    return honest.perturb(network, 1e5 * epsilon, alpha, noise)


def hushed(honest: Mechanism, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
    """... and which it does not say."""
    return replace(hardly_any(honest, network, epsilon, alpha, noise), scale=alpha / epsilon)


def unprotected(honest: Mechanism, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
    """Ten lines as they are, which the draw says are not protected."""
    noisy, lines = honest.perturb(network, epsilon, alpha, noise), network._open().lines
    bare = np.arange(len(noisy.g)) < 10
    g, b = np.where(bare, lines.g, noisy.g), np.where(bare, lines.b, noisy.b)
    return replace(noisy, protected=noisy.protected & ~bare, g=g, b=b)


def true_ratios(honest: Mechanism, network: Sealed, epsilon: float, alpha: float, noise: Noise) -> NoisyLines:
    """b/g with all its digits, where two are public."""
    noisy, lines = honest.perturb(network, epsilon, alpha, noise), network._open().lines
    lossy = lines.g > 0
    return replace(noisy, b=np.where(lossy, noisy.g * lines.b / np.where(lossy, lines.g, 1.0), noisy.b))


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("log", hardly_any, {"drawn by the stated mechanism", "drawn from this original"}),
        ("paper", hardly_any, {"drawn by the stated mechanism", "drawn from this original", "noise on the means"}),
        ("log", hushed, {"drawn from this original"}),
        ("additive", unprotected, {"drawn by the stated mechanism"}),
        ("additive", true_ratios, {"drawn by the stated mechanism"}),
    ],
)
def test_draws_that_only_say_they_are_noisy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Any, found: set[str]
) -> None:
    monkeypatch.setattr("gridveil.publish.pipeline.mechanism", lambda name: Cheat(name, change))
    plan = gv.Plan(1.0, 0.1 if name == "log" else 0.5, 0.05, name, cost="derived")
    folder, book = make(tmp_path, "case14_ieee", plan)
    answers = audit(folder, book, gv.read_case("case14_ieee"))
    assert found <= set(failed(answers)) and answers[-1].answer == "byte for byte"


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("cumulative_loss", {"cumulative_loss": 1.0}),
        ("cumulative_within", {"cumulative_within": [{"mechanism": "log", "alpha": 0.2, "unit": "relative"}]}),
        ("limit", {"limit": None}),
        ("given_before", {"given_before": []}),
    ],
)
def test_totals_are_those_of_the_ledger(tmp_path: Path, field: str, change: dict[str, Any]) -> None:
    """A second release, whose totals are made to look like those of a first."""
    plan = gv.Plan(1.0, 0.1, 0.01, cost="declared")
    _, book = make(tmp_path, "case5", plan)
    case = gv.read_case("case5")
    made = release(split(case), plan, book, PretendExact(8), Workshop)
    folder = made.write(tmp_path / "second")
    assert failed(audit(folder, book, case)) == []
    forge(folder, "manifest.json", lambda m: m["privacy"].update(change))
    found = audit(folder, book, case)
    assert "totals of the ledger" in failed(found)
    assert next(one for one in found if one.question == "totals of the ledger").answer.endswith(f": {field}")


def test_another_plan_than_the_kept_one(tmp_path: Path) -> None:
    folder, book = make(tmp_path, "case5", gv.Plan(1.0, 0.1, 0.01, cost="declared"))
    forge(folder, "manifest.json", lambda m: m["fidelity"].update(beta=0.02, target="shrunk"))
    found = audit(folder, book, gv.read_case("case5"))
    assert next(one for one in found if one.question == "drawn by the stated plan").answer == "another beta, target"


def test_files_that_are_not_the_manifests(tmp_path: Path) -> None:
    folder, book = make(tmp_path, "case5", gv.Plan(1.0, 0.1, 0.01, cost="declared"))
    (folder / "README.exe").write_bytes(b"MZ")
    found = audit(folder, book, gv.read_case("case5"))
    assert failed(found) == ["a bundle that verifies"] and "README.exe" in found[0].answer
    (folder / "manifest.json").write_text("{}")
    assert len(audit(folder, book, gv.read_case("case5"))) == 1


@pytest.mark.parametrize("change", ["UPDATE papers SET content = x'00'", "DELETE FROM papers"])
def test_what_was_found_is_shown_whatever_comes_then(tmp_path: Path, change: str) -> None:
    folder, book = make(tmp_path, "case5", gv.Plan(1.0, 0.1, 0.01, cost="declared"))
    with closing(sqlite3.connect(book.path)) as connection, connection:
        connection.execute(change)
    options = ["audit", str(folder), "--ledger", str(book.path), "--original", "case5", "--json"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 5, done.output
    findings = json.loads(done.stdout)["findings"]
    assert len(findings) > 5 and "was changed or removed" in findings[-1]["answer"]
    other = gv.Ledger.init(tmp_path / "other.db")
    release(split(gv.read_case("case14_ieee")), PLAN, other, PretendExact(1), Workshop)
    done = CliRunner().invoke(app, [*options[:3], str(other.path), *options[4:]])
    assert done.exit_code == 5 and len(json.loads(done.stdout)["findings"]) > 1


def test_a_draw_that_is_no_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, book = make(tmp_path, "case5", gv.Plan(1.0, 0.1, 0.01, cost="declared"))
    monkeypatch.setattr(Ledger, "paper", lambda *_: b"nothing of the kind")
    found = audit(folder, book, gv.read_case("case5"))
    assert failed(found) == [GOES_ON] and "is no draw" in found[-1].answer


def test_a_horizon_is_audited(tmp_path: Path) -> None:
    book, case = gv.Ledger.open(tmp_path / "l.db"), gv.read_case("case5")
    profile = gv.make_profile("case5", 4)
    plan = gv.Plan(1.0, 0.1, 0.02, steps=2, cost="declared", declare_unused=True)
    made = release(split(case), plan, book, PretendExact(4), Workshop, profile)
    assert failed(audit(made.write(tmp_path / "out"), book, case)) == []


@pytest.mark.parametrize("name", ["case5", "case14", "case39"])
def test_a_made_profile_is_audited(tmp_path: Path, name: str) -> None:
    """Last digits of a made profile are lost in a file: whatever is repaired with them cannot be made again."""
    book, case = gv.Ledger.open(tmp_path / "l.db"), gv.read_case(name)
    plan = gv.Plan(1.0, 0.05, 0.02, steps=2)
    for number in range(2):
        profile = gv.make_profile(name, 3, seed=number)
        made = release(split(case), plan, book, PretendExact(number), Workshop, profile, confirmed=True)
        assert failed(audit(made.write(tmp_path / f"out{number}"), book, case)) == []


class Sparing(PretendExact):
    """Leaves some coordinates as they are."""

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        found = super().laplace(values, sensitivity, epsilon)
        found[: len(found) // 10] = values[: len(found) // 10]
        return found


def test_coordinates_without_noise_are_found(tmp_path: Path) -> None:
    """A tenth of them hardly moves any statistic of all; that one is exactly where it was says it at once."""
    folder, book = make(tmp_path, "case14_ieee", noise=Sparing(4))
    found = audit(folder, book, gv.read_case("case14_ieee"))
    assert failed(found) == ["noise on every coordinate"]


def test_a_certificate_that_is_not_that_of_the_network_is_found(tmp_path: Path) -> None:
    folder, book = make(tmp_path, "case14_ieee")

    def lie(record: dict[str, Any]) -> None:
        record["used_steps"][0]["cost"] *= 1.0001

    forge(folder, "certificate.json", lie)
    assert failed(audit(folder, book, gv.read_case("case14_ieee")))[:1] == ["a bundle that verifies"]


def test_one_draw_and_one_end_for_a_charge(tmp_path: Path) -> None:
    folder, book = make(tmp_path, "case14_ieee")
    charge = next(one.number for one in book.entries() if one.kind == "charge")
    book.record_outcome(charge, "failed", "interrupted")
    assert failed(audit(folder, book, gv.read_case("case14_ieee"))) == ["ended as a release"]
    book.record_draw(charge, b"another")
    found = audit(folder, book, gv.read_case("case14_ieee"))
    assert failed(found) == ["ended as a release", GOES_ON] and "several draws" in found[-1].answer
