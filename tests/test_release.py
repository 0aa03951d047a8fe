"""The release as a whole: nothing after the noise depends on the secret, nothing is half written, nothing is free."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.casefile.from_network import from_network
from gridveil.casefile.to_network import to_network
from gridveil.check.verdict import Verdict
from gridveil.cli.main import app
from gridveil.errors import LedgerError, PrivacyError, ReleaseError, RepairFailed, Spent
from gridveil.grid import LineParameters, Network, structure_of
from gridveil.privacy.composition import Charge
from gridveil.privacy.ledger import default_path
from gridveil.privacy.noise import ExactNoise, Noise, SeededNoise
from gridveil.publish.elements import identities
from gridveil.publish.manifest import Manifest
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.report.public import public_report
from gridveil.sealed.mechanisms import mechanism
from gridveil.sealed.split import split
from gridveil.wall.codec import from_json, to_json, to_plain
from gridveil.wall.draw import Repair, Snapshot

from .conftest import Bend, charged
from .forging import digests_fit, forge

PLAN = gv.Plan(epsilon=1.0, alpha=0.1, beta=0.01)
DECLARED = gv.Plan(epsilon=1.0, alpha=0.1, beta=0.01, cost="declared")
runner = CliRunner()


class FixedNoise(Noise):
    """The same outcome whatever the secret: what non-interference compares."""

    private = True
    description = ExactNoise().description

    def __init__(self, outcomes: list[FloatArray]) -> None:
        self.outcomes = list(outcomes)

    def prepare(self) -> None:
        pass

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        outcome = self.outcomes.pop(0)
        assert outcome.shape == values.shape
        return outcome


class Recording(SeededNoise):
    """Seeded noise that remembers what came out."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.outcomes: list[FloatArray] = []

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        self.outcomes.append(super().laplace(values, sensitivity, epsilon))
        return self.outcomes[-1]


def two_secrets(name: str) -> tuple[Network, Network]:
    """The same public network with other lines: impedances scaled, signs, ratios and charging kept."""
    network = gv.load(name)
    scale = np.where(np.arange(network.grid.n_line) % 2, 1.0, 2.0)  # powers of two: ratios stay the same to the bit
    lines = network.lines
    return network, Network(network.grid, LineParameters(lines.g / scale, lines.b / scale, lines.bc))


def leaky(truth: LineParameters) -> type[Workshop]:
    """A planted bug: a repair that moves one tenth of the way from the noisy to the true network."""

    class Leaking(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            made = super().repair(snapshots, patient=patient)
            mixed = LineParameters(*(0.9 * getattr(made.lines, n) + 0.1 * getattr(truth, n) for n in ("g", "b", "bc")))
            point = gv.solve_opf(Network(self.grid, mixed)).require().point
            return replace(made, network=Network(self.grid, mixed), points=(point,))

    return Leaking


def bundle_bytes(directory: Path) -> dict[str, bytes]:
    """The files of a bundle, without the head of the ledger: that has its own key, and tells the time."""
    files = {file.name: file.read_bytes() for file in sorted(directory.iterdir())}
    files["manifest.json"] = re.sub(rb'("ledger_head": )"[0-9a-f]{64}"', rb"\1null", files["manifest.json"])
    return files


@pytest.mark.parametrize("mechanism", ["log", "additive", "paper"])
@pytest.mark.parametrize(("name", "alpha"), [("case14", 0.1), ("case5", 1.0)])
def test_non_interference(tmp_path: Path, mechanism: str, name: str, alpha: float) -> None:
    """Two secrets, the same noisy values and public facts: every byte of the bundle is the same."""
    recorded = Recording(5)
    plan = gv.Plan(1.0, alpha, 0.05, mechanism, published_cost=gv.solve_opf(name).cost)
    release(split(gv.load(name)), plan, noise=recorded, workshop=Workshop)
    made = []
    for number, secret in enumerate(two_secrets(name)):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        result = release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop)
        made.append(bundle_bytes(result.write(tmp_path / f"out{number}")))
    assert made[0] == made[1]


def test_non_interference_finds_a_warm_start_from_the_truth(tmp_path: Path) -> None:
    """Planted bug: a repair that moves one tenth of the way from the noisy to the true network."""
    recorded = Recording(5)
    plan = gv.Plan(1.0, 0.1, 0.05, published_cost=gv.solve_opf("case14").cost)
    release(split(gv.load("case14")), plan, noise=recorded, workshop=Workshop)
    texts = []
    for number, secret in enumerate(two_secrets("case14")):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        texts.append(
            release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=leaky(secret.lines)).text
        )
    assert texts[0] != texts[1]


def test_a_real_release_end_to_end(tmp_path: Path) -> None:
    """Exact noise, child process, ledger, bundle, verification."""
    book = gv.Ledger.open(tmp_path / "ledger.db")
    made = gv.release(gv.seal("case14"), PLAN, ledger=book)
    target = made.write(tmp_path / "out")
    assert sorted(bundle_bytes(target)) == ["certificate.json", "manifest.json", "released.m"]
    certificate = gv.verify(target)
    assert certificate.passed, certificate.failed
    record = from_json((target / "manifest.json").read_bytes(), Manifest)
    assert to_plain(record) | {"sha256": {}} == to_plain(made.manifest)
    assert record.date == "2026-01-02" and (record.publisher, record.public_key) == (None, None)
    assert record.privacy.loss == record.privacy.cumulative_loss == 0.8  # the cost was not worth asking for
    assert [(one.mechanism, one.alpha) for one in record.privacy.cumulative_within or []] == [("log", 0.1)]
    assert (record.privacy.given, record.privacy.parts.cost and record.privacy.parts.cost.asked) == ([], False)
    assert [(one.kind, one.source) for one in record.public_inputs] == [("cost", "derived")]
    assert charged(book) == [0.8]
    again = gv.release(gv.seal("case14"), PLAN, ledger=book, confirmed=True)
    assert again.manifest.privacy.cumulative_loss == pytest.approx(1.6)
    assert not np.array_equal(again.lines.b, made.lines.b)


def test_a_release_at_a_smaller_alpha_is_counted_at_the_larger_one(tmp_path: Path) -> None:
    """And whoever leaves it out of the manifest, or counts it as if it were not, is found out."""
    book = gv.Ledger.open(tmp_path / "ledger.db")
    gv.release(gv.seal("case5_pjm"), DECLARED, ledger=book)
    made = gv.release(gv.seal("case5_pjm"), replace(DECLARED, alpha=0.05), ledger=book, confirmed=True)
    privacy = to_plain(made.manifest.privacy)
    assert (privacy["loss"], privacy["cumulative_loss"]) == (1.0, 3.0)
    assert [one["alpha"] for one in privacy["cumulative_within"]] == [0.1]
    target = made.write(tmp_path / "out")
    assert gv.verify(target).passed
    assert not _forged(target, "manifest.json", lambda m: m["privacy"].update(cumulative_loss=1.9)).passed
    less = [{**privacy["cumulative_within"][0], "alpha": 0.01}]
    assert not _forged(target, "manifest.json", lambda m: m["privacy"].update(cumulative_within=less)).passed
    assert not _forged(target, "manifest.json", lambda m: m["privacy"].update(cumulative_within=None)).passed


def test_a_release_says_what_earlier_ones_left_open(tmp_path: Path) -> None:
    """`paper` published ratios and charging, and its loss tells max|b/g|: `log` after it says so, and rounds the sum."""
    book = gv.Ledger.open(tmp_path / "ledger.db")
    secret = gv.seal("case14")
    loss = mechanism("paper").loss(secret, 1.0)
    book.charge(book.assets("", identities(secret.structure)), Charge(loss, 5.0, "conductance", "paper"))
    made = gv.release(secret, DECLARED, ledger=book)
    left = made.manifest.not_protected
    assert 3.0 < 1.0 + loss < (made.manifest.privacy.cumulative_loss or 0.0) == 3.1
    assert "the charging of every line, by an earlier release of this network" in left
    assert any("ratio of susceptance to conductance of every line, exactly, by an earlier" in one for one in left)
    assert "touches nothing that one of them left unprotected" in public_report(made)
    target = made.write(tmp_path / "out")
    assert gv.verify(target).passed
    assert not _forged(target, "manifest.json", lambda m: m.update(not_protected=left[:-1])).passed


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["privacy"].update(loss=0.001, cumulative_loss=0.001),
        lambda m: m["privacy"].update(alpha_unit="relative"),
        lambda m: m["privacy"].update(cumulative_loss=50.0, limit=1.0),
        lambda m: m["privacy"]["cumulative_within"][0].update(unit="something else"),
        lambda m: m["mechanism"].update(adjacency="Everything is protected."),
        lambda m: m["mechanism"].update(version=7),
        lambda m: m.update(not_protected=[]),
        lambda m: m["not_protected"].append("nothing else: everything is protected"),
        lambda m: m["privacy"].update(ledger_entries=[0]),
        lambda m: m["privacy"].update(ledger_entries=[1, 1]),
        lambda m: m["privacy"].update(noise="RESEARCH MODE: seeded generator"),
        lambda m: m["privacy"]["cumulative_within"].append(m["privacy"]["cumulative_within"][0]),
        lambda m: m["privacy"]["cumulative_within"][0].update(unit="surcharge"),
        lambda m: m["privacy"].update(given_before=["the moon"]),
        lambda m: m.update(scrubbed=["nothing"]),
        lambda m: m["repair"].update(path="as drawn", cuts=9),
        lambda m: m.update(attended=False),
        lambda m: m.update(warning="All is well."),
    ],
)
def test_verify_rejects_claims_that_the_mechanism_does_not_make(
    private_bundle: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    assert not _forged(private_bundle, "manifest.json", change).passed


@pytest.fixture
def private_bundle(tmp_path: Path) -> Path:
    plan = gv.Plan(epsilon=1.0, alpha=0.1, beta=0.01, mechanism="additive", cost="declared")
    made = gv.release(gv.seal("case5_pjm"), plan, ledger=gv.Ledger.open(tmp_path / "ledger.db"))
    target = made.write(tmp_path / "out")
    assert gv.verify(target).passed
    return target


def test_nothing_of_the_input_survives(tiny: Bend, tmp_path: Path) -> None:
    """Comments, names, solved state and other columns of the input are not in the released file."""
    marked = tiny(
        ("function mpc = tiny", "% SECRET COMMENT\nfunction mpc = SECRETNAME"),
        (
            "	2	1	90	30	0	0	1	1	0",
            "	2	1	90	30	0	0	77	1.0371	-4.321",
        ),
        append="mpc.bus_name = {'SECRET A'; 'SECRET B'; 'SECRET C'};\n",
    )
    made = release(split(marked), PLAN, noise=SeededNoise(0), workshop=Workshop)
    assert "SECRET" not in made.text
    assert "1.0371" not in made.text
    assert "77" not in [cell for line in made.text.splitlines() for cell in line.split("\t")]
    kept = release(split(marked), gv.Plan(1.0, 0.1, 0.01, keep_names=True), noise=SeededNoise(0), workshop=Workshop)
    assert "'SECRET B'" in kept.text


@pytest.mark.parametrize(("given", "said"), [(None, "none was given"), ("grid.ledger", "'grid.ledger' is none")])
def test_no_ledger_is_taken_without_a_word(
    given: str | None, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is spent, and no ledger is made: neither the user's own nor another."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(LedgerError, match=said) as refused:
        release(gv.seal("case5_pjm"), PLAN, given, workshop=Workshop)
    assert "ledger=gv.Ledger.open(path)" in str(refused.value) and 'ledger="default"' in str(refused.value)
    assert str(default_path()) in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_the_default_ledger_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = release(gv.seal("case5_pjm"), PLAN, "default", workshop=Workshop)
    assert made.manifest.privacy.differentially_private
    book = gv.Ledger.open()
    assert tmp_path in book.path.parents and sum(charged(book)) == pytest.approx(made.manifest.privacy.loss)


def test_golden_run_in_research_mode(tmp_path: Path) -> None:
    """Seed 1 on case5 with `log`, α = 0.01, far enough from the limits to be released as drawn."""
    made = release(
        split(gv.load("case14")), gv.Plan(1.0, 0.01, 0.01, cost="declared"), noise=SeededNoise(1), workshop=Workshop
    )
    assert made.manifest.privacy.differentially_private is False
    assert "NOT differentially private" in (made.manifest.warning or "")
    assert made.manifest.privacy.loss is None
    r, x = made.lines.impedance()
    assert (r[0], x[0], made.lines.bc[0]) == pytest.approx(GOLDEN, rel=1e-8)
    assert made.point.cost == pytest.approx(GOLDEN_COST, rel=1e-6)
    assert "seed" not in to_json(made.manifest).replace("seeded", "").replace("whoever knows the seed", "")


GOLDEN = (0.0192633352, 0.0592237522, 0.0538074978)
GOLDEN_COST = 2178.0700


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"alpha": -1}, "alpha"),
        ({"alpha": float("inf")}, "alpha"),
        ({"alpha": "0.1pu"}, "wrong unit"),
        ({"alpha": "10%", "mechanism": "paper"}, "wrong unit"),
        ({"alpha": "ten"}, "not a number"),
        ({"alpha": 40.0}, "relative"),
        ({"beta": 0}, "beta"),
        ({"beta": 1.0}, "beta"),
        ({"beta": 1e-4, "cost": "declared"}, "finer than a cost"),
        ({"cost": "guessed"}, "no source"),
        ({"cost": "derived", "published_cost": 5.0}, "contradict"),
        ({"cost": "published"}, "needs the cost"),
        ({"cost_share": 0.0}, "between 0 and 1"),
        ({"cost_share": 1.0}, "between 0 and 1"),
        ({"cost_sensitivity": 1.5}, "between 0 and 1"),
        ({"cost_sensitivity": float("nan")}, "between 0 and 1"),
        ({"declare_unused": True}, "without noise"),
        ({"cost": "declared", "unattended": True}, "unattended"),
        ({"target": "other"}, "no target"),
        ({"mechanism": "paper", "unattended": True}, "another mechanism"),
        ({"mechanism": "laplace"}, "no mechanism"),
        ({"bound_factor": 1}, "bound factor"),
        ({"published_cost": 0}, "published cost"),
        ({"loss_within": 0.5}, "factor above 1"),
    ],
)
def test_bad_plans(change: dict[str, Any], words: str) -> None:
    with pytest.raises((PrivacyError, ReleaseError), match=words):
        gv.Plan(**{"epsilon": 1.0, "alpha": 0.1, "beta": 0.01, **change})


def test_units_of_alpha() -> None:
    assert gv.Plan(1, "10%", 0.01).alpha == pytest.approx(0.1)
    assert gv.Plan(1, "0.2pu", 0.01, "additive").alpha == 0.2
    assert gv.Plan(1, "0.3", 0.01).alpha == 0.3


def test_nothing_is_charged_for_bad_networks(tiny: Bend, tmp_path: Path) -> None:
    book = gv.Ledger.open(tmp_path / "ledger.db")
    lossless = tiny(("0.01	0.1	", "0	0.1	"), ("0.02	0.12", "0	0.12"), ("0.01	0.08", "0	0.08"))
    with pytest.raises(ReleaseError, match="positive resistance"):
        release(split(lossless), PLAN, book)
    with pytest.raises(ReleaseError, match="nothing was charged"):
        release(split(tiny(("	2	1	90", "	2	1	900"))), PLAN, book)
    assert charged(book) == []


def test_failures_say_what_was_spent(tmp_path: Path) -> None:
    book = gv.Ledger.open(tmp_path / "ledger.db")

    class Hopeless(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            raise RepairFailed("no way")

    with pytest.raises(Spent, match=r"no way\. The privacy of this draw is spent all the same: ") as caught:
        release(split(gv.load("case5")), PLAN, book, workshop=Hopeless)
    assert caught.value.loss == sum(charged(book)) > 0
    assert caught.value.reason == "not repaired"
    assert book.entries()[-1].details == {
        "charge": caught.value.entries[0],
        "outcome": "failed",
        "reason": "not repaired",
    }

    class Wrong(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            made = super().repair(snapshots, patient=patient)
            doubled = LineParameters(2 * made.lines.g, 2 * made.lines.b, made.lines.bc)
            return replace(made, network=Network(self.grid, doubled))

    with pytest.raises(Spent, match="balance residual") as failed:
        release(split(gv.load("case5")), DECLARED, book, workshop=Wrong)
    assert (charged(book)[-1], failed.value.reason) == (1.0, "not certified")


KILL = """
import os, signal, sys
import gridveil as gv
from gridveil.publish import behind, bundle, pipeline
from gridveil.sealed.mechanisms.log import LogMechanism
from tests.conftest import PretendExact
pipeline.ExactNoise = lambda: PretendExact(3)  # one that can be repaired
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
place = sys.argv[3]
if place == "perturb":
    LogMechanism.perturb = die
elif place == "repair":
    pipeline.finished = die
elif place == "certify":
    behind.certify = die
elif place == "write":
    bundle.digest = die
book = gv.Ledger.open(sys.argv[1])
gv.release(gv.seal("case5"), gv.Plan(1.0, 0.1, 0.01), ledger=book).write(sys.argv[2])
"""


@pytest.mark.parametrize("place", ["perturb", "repair", "certify", "write"])
def test_a_kill_leaves_a_charge_and_no_release(tmp_path: Path, place: str) -> None:
    book, target = tmp_path / "ledger.db", tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", KILL, str(book), str(target), place], check=False, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == -signal.SIGKILL
    assert charged(gv.Ledger.open(book)) in ([[0.8]] if place == "perturb" else [[0.8], [0.8, 0.2]])
    assert not target.exists()


def test_a_full_disk_leaves_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = release(split(gv.load("case5")), PLAN, noise=SeededNoise(0), workshop=Workshop)
    made.write(tmp_path / "out")
    before = bundle_bytes(tmp_path / "out")

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ReleaseError, match="No space left"):
        made.write(tmp_path / "out", force=True)
    assert bundle_bytes(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_existing_and_unwritable_targets(tmp_path: Path) -> None:
    made = release(split(gv.load("case5")), PLAN, noise=SeededNoise(0), workshop=Workshop)
    made.write(tmp_path / "out")
    with pytest.raises(ReleaseError, match="--force"):
        made.write(tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match="not a directory"):
        made.write(tmp_path / "file", force=True)
    with pytest.raises(ReleaseError, match="cannot be written"):
        made.write(tmp_path / "file" / "below")


def spoil(directory: Path, name: str, old: str, new: str, *, update_digest: bool = False) -> None:
    path = directory / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    if update_digest:
        digests_fit(directory)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    result = release(split(gv.load("case14")), DECLARED, noise=SeededNoise(0), workshop=Workshop)
    return result.write(tmp_path / "bundle")


def test_verify_rejects_what_was_changed(made: Path) -> None:
    assert gv.verify(made).passed
    line = next(row for row in (made / "released.m").read_text().splitlines() if row.startswith("\t1\t2\t"))
    cells = line.split("\t")
    cells[4] = f"{float(cells[4]) * 1.01:.9g}"
    spoil(made, "released.m", line, "\t".join(cells))
    assert any("digest" in name for name in gv.verify(made).failed)
    spoil(made, "released.m", "function", "function", update_digest=True)
    assert any("balance" in name for name in gv.verify(made).failed)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [('"value": 2178.0', '"value": 2300.0', "no release has"), ('"attended": true', '"attended": 3', "schema"), ('"epsilon": 1.0,', "", "schema")],
)  # fmt: skip
def test_verify_rejects_other_manifests(made: Path, old: str, new: str, words: str) -> None:
    spoil(made, "manifest.json", old, new)
    assert any(words in name for name in gv.verify(made).failed)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("manifest.json", '"value": 2178.0', '"value": 0'),
        ("manifest.json", '"digits": 4', '"digits": 5'),
        ("manifest.json", '"unprotected_lines": []', '"unprotected_lines": [99]'),
        ("manifest.json", '"given": [\n', '"given": [\n"nothing",\n'),
        ("released.m", "\t1\t2\t", "\t1\t2\t0.1\t0.1\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0;\n\t1\t2\t"),
    ],
)
def test_verify_rejects_foreign_bundles(made: Path, name: str, old: str, new: str) -> None:
    spoil(made, name, old, new)
    assert any("no release has" in check for check in gv.verify(made).failed)


def _forged(made: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> Verdict:
    """The verdict on a bundle whose manifest or certificate was changed, with the digests made to fit."""
    forge(made, name, change)
    verdict = gv.verify(made)
    assert not any("not written as" in name for name in verdict.failed)  # found for what it says, not for its spaces
    return verdict


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["fidelity"].update(loss_within=1.5),
        lambda m: m["public_inputs"].insert(0, {**m["public_inputs"][0], "value": 9999.0}),
        lambda m: m["public_inputs"].append({**m["public_inputs"][0], "kind": "reactance of line 3"}),
        lambda m: m["public_inputs"].append({**m["public_inputs"][0], "kind": "unused_cost"}),
        lambda m: m["public_inputs"].append({**m["public_inputs"][0], "step": None}),
        lambda m: m["public_inputs"].clear(),
        lambda m: m["public_inputs"][0].update(source="derived"),
        lambda m: m["public_inputs"][0].update(source="private"),
        lambda m: m["public_inputs"][0].update(low=2000.0),
        lambda m: m["public_inputs"][0].update(digits=None),
        lambda m: m["public_inputs"][0].update(digits=-400),
        lambda m: m["public_inputs"][0].update(digits=10**400),
        lambda m: m["public_inputs"][0].update(value=10**400),
        lambda m: m["public_inputs"][0].update(value=float("nan")),
        lambda m: m["privacy"].update(given=[]),
        lambda m: m["privacy"].update(statement="Nobody learns anything."),
        lambda m: m["privacy"]["parts"]["lines"].update(epsilon=0.5),
        lambda m: m["fidelity"].update(beta=5),
        lambda m: m.update(unprotected_lines=list(range(1, 21))),
        lambda m: m["fidelity"].update(beta=1e-6),
        lambda m: m["privacy"].update(epsilon=-5.0),
        lambda m: m["privacy"].update(differentially_private=True),
        lambda m: m.update(warning=None),
        lambda m: m.update(warning="All is well."),
        lambda m: m["privacy"].update(noise="OpenDP"),
        lambda m: m["privacy"].update(loss=1.0, cumulative_loss=1.0),
    ],
)
def test_verify_rejects_forged_manifests(made: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    assert not _forged(made, "manifest.json", change).passed


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(checks=[]),
        lambda c: c.update(passed=False),
        lambda c: c["checks"][0].update(limit=1.0),
        lambda c: c["checks"][0].update(value="abc", kind=7),
        lambda c: c["checks"][0].update(passed=False),
        lambda c: c["checks"].append({"kind": "beauty", "value": 1.0, "limit": 2.0, "passed": True}),
        lambda c: c["checks"].append({"kind": "losses", "value": 1.0, "limit": 2.0, "passed": True}),
        lambda c: c["checks"].append(c["checks"][0]),
        lambda c: c["checks"][0].update(basis="word"),
        lambda c: c.update(unused_steps=[{"step": 2, "status": "optimal", "violation": 0.0, "cost": 1.0}]),
        lambda c: c.update(checks=3),
        lambda c: c["checks"].__setitem__(0, 5),
    ],
)
def test_verify_rejects_forged_certificates(made: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    verdict = _forged(made, "certificate.json", change)
    assert any("stored certificate" in name for name in verdict.failed)


def test_verify_rejects_files_it_does_not_know(made: Path) -> None:
    (made / "notes.txt").write_text("the true x of line 3 is ...")
    assert any("notes.txt" in name for name in gv.verify(made).failed)
    (made / "notes.txt").unlink()
    assert gv.verify(made).passed
    (made / "manifest.json").write_text("[" * 100_000)
    assert any("schema" in name for name in gv.verify(made).failed)


def test_force_replaces_releases_only(made: Path) -> None:
    again = release(split(gv.load("case14")), PLAN, noise=SeededNoise(1), workshop=Workshop)
    again.write(made, force=True)
    (made / "thesis.txt").write_text("years of work")
    with pytest.raises(ReleaseError, match=r"thesis.txt.*--force would delete"):
        again.write(made, force=True)
    assert (made / "thesis.txt").exists()


def test_verify_says_what_is_missing(made: Path, tmp_path: Path) -> None:
    (made / "certificate.json").write_text("{")
    assert any("stored certificate" in name for name in gv.verify(made).failed)
    with pytest.raises(ReleaseError, match="missing"):
        gv.verify(tmp_path)


def test_written_network_is_the_public_one() -> None:
    """Everything but the lines comes back from a released file: limits, costs, shunts, taps, to the last digit or two."""
    for name in ("case30", "case57"):
        network = gv.load(name)
        point = gv.solve_opf(network).point
        again = to_network(from_network("x", network.grid, network.lines, point)).grid
        for part in ("buses", "generators", "lines"):
            for field, value in vars(getattr(network.grid, part)).items():
                assert getattr(getattr(again, part), field) == pytest.approx(value, rel=1e-12), field
        assert again.cost_p.polynomial == pytest.approx(network.grid.cost_p.polynomial, rel=1e-12)


def test_written_piecewise_costs_come_back(tiny: Bend) -> None:
    cost = "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;"
    points = "	1	0	0	3	0	0	50	500	200	9500;\n	1	0	0	2	0	0	110	2200	0	0;"
    network = gv.load(tiny((cost, points)))
    again = to_network(from_network("x", network.grid, network.lines, gv.solve_opf(network).point)).grid
    for power in np.random.default_rng(0).uniform(-1, 3, (20, 2)):
        assert again.cost_p.total(power) == pytest.approx(network.grid.cost_p.total(power), rel=1e-9)


def run(*arguments: str, code: int = 0) -> Any:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result


def test_a_dry_run_counts_as_the_ledger_would(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    book = gv.Ledger.open(path)
    network = book.assets("case14", identities(structure_of(gv.load("case14").grid)))
    book.charge(network, Charge(1.0, 0.1, "relative", "log"))
    book.set_limit(network, 3.0)
    options = ["release", "case14", "--ledger", str(path), "--cost", "declared", "--dry-run"]
    dry = json.loads(run(*options, "--alpha", "0.01", "--json").stdout)
    assert (dry["loss"], dry["spent_before"], dry["refused"]) == (1.0, 1.0, True)
    assert dry["spent_after"] == pytest.approx(11.0)
    assert "would be refused" in run(*options, "--alpha", "0.01").stdout
    assert "refused" not in run(*options).stdout
    assert charged(book) == [1.0]


def test_command_line(tmp_path: Path) -> None:
    book, out = str(tmp_path / "l.db"), str(tmp_path / "out")
    dry = json.loads(run("release", "case14", "--dry-run", "--ledger", book, "--mechanism", "paper", "--json").stdout)
    assert dry["status"] == "dry_run"
    assert dry["loss"] > 1
    assert not Path(book).exists()
    assert "stays public" in run("release", "case14", "--dry-run", "--ledger", book).stdout
    run("release", "case14", "--ledger", book, "--out", out)
    run("release", "case14", "--ledger", book, "--out", out, code=2)
    assert json.loads(run("verify", out, "--json").stdout)["status"] == "verified"
    assert "what was recomputed holds" in " ".join(run("verify", out).stdout.split())
    leaks = json.loads(run("leakcheck", "case14", f"{out}/released.m", "--json", code=5).stdout)
    assert leaks["best_attacker"] == "rating provenance"
    run("ledger", "set-limit", "case14", "1.5", "--ledger", book)
    refused = run("release", "case14", "--ledger", book, "--out", out, "--force", code=2)
    assert "limit 1.5" in refused.stderr
    entries = json.loads(run("ledger", "export", "--ledger", book).stdout)["entries"]
    kinds = [entry["kind"] for entry in entries]
    # a limit of a case is one of all its elements, loads and plants too: another network than the charged corridors
    assert kinds == ["limit", "network", "charge", "draw", "outcome", "network", "limit"]
    assert "intact" in run("ledger", "verify", "--ledger", book).stdout
    assert "released" in run("ledger", "show", "--ledger", book).stdout
    run("ledger", "show", "--ledger", str(tmp_path / "none.db"), code=2)


def test_seeds_are_for_research_only(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert "--research only" in run("release", "case5", "--out", out, "--seed", "1", code=2).stderr.replace("\n", " ")
    record = json.loads(run("release", "case5", "--out", out, "--seed", "1", "--research", "--json").stdout)
    assert "NOT differentially private" in record["manifest"]["warning"]
    assert "RESEARCH MODE" in (tmp_path / "out" / "released.m").read_text()
