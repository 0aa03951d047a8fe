"""What a forger can do, and what `verify` says of it: found, or told to be nothing but a word."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from typer.testing import CliRunner

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.check.consistency import foreign_manifest
from gridveil.cli.main import app
from gridveil.errors import GridVeilError, ReleaseError
from gridveil.privacy.keeping import UNKNOWN
from gridveil.privacy.migration import EARLIER
from gridveil.privacy.noise import ExactNoise, Noise, SeededNoise
from gridveil.publish import bundle
from gridveil.publish.describe import EARLIER_CONDITIONS, known_conditions, noise_words, statement
from gridveil.publish.manifest import Manifest
from gridveil.publish.pipeline import release
from gridveil.publish.release import publisher
from gridveil.repair.workshop import Workshop
from gridveil.report.public import public_report
from gridveil.sealed.split import split
from gridveil.wall.codec import from_json, to_plain
from tests.conftest import PretendExact
from tests.forging import digests_fit, forge, forge_text, written

pytest.importorskip("jinja2", reason="the page of a bundle needs the extra 'verify'")
CASE = "case14"
PLAN = gv.Plan(1.0, 0.1, 0.01, published_cost=2200.0)


class NoNoise(Noise):
    """A liar's: it calls itself exact, and gives the original away."""

    private = True
    description = ExactNoise().description

    def prepare(self) -> None:
        pass

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        return values


def make(folder: Path, noise: Noise, plan: gv.Plan = PLAN, *, name: str = "out") -> Path:
    book = gv.Ledger.open(folder / f"{name}.db")
    made = release(split(gv.load(CASE)), plan, book, noise, workshop=Workshop)
    return made.write(folder / name, extra={"report.html": public_report(made)})


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("honest"), PretendExact(5))


@pytest.fixture(scope="module")
def research(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("research"), SeededNoise(5))


@pytest.fixture
def copy(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "copy"))


def page_fits(folder: Path) -> None:
    """A forger makes the page again, too."""
    from gridveil.report.public import page_again

    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    (folder / bundle.REPORT).write_text(page_again(files), encoding="utf-8")
    digests_fit(folder)


def told(folder: Path, *options: str, code: int = 0) -> tuple[dict[str, Any], str]:
    """What the command says, as JSON and in words."""
    record = CliRunner().invoke(app, ["verify", str(folder), "--json", *options])
    assert record.exit_code == code, record.output
    words = CliRunner().invoke(app, ["verify", str(folder), *options])
    assert words.exit_code == code, words.output
    return json.loads(record.stdout), " ".join(words.stdout.split())


def test_an_honest_bundle(honest: Path) -> None:
    """Three parts, in words; nobody is told that ε was checked."""
    record, words = told(honest)
    assert record["status"] == "verified" and record["not_checked"] == []
    for part in ("Recomputed by you", "The publisher's word", "Not checkable", "Signature"):
        assert part in words
    assert "unsigned: nobody knows who made this bundle" in words
    assert "That it is private was not checked: it is the word of whoever made this bundle" in words
    assert "every claim holds" not in words
    assert {"epsilon", "alpha", "mechanism", "noise", "spent", "ledger", "cost", "publisher", "date"} <= set(
        record["word"]
    )
    assert record["word"]["epsilon"] == "1 (1 for the lines)" and record["word"]["mechanism"] == "log, version 2"
    assert record["word"]["spent"] == "1 by this release, 1 in all, of a limit of 10"
    assert record["word"]["date"] == "2026-01-02"
    assert len(record["not_checkable"]) >= 2 and record["signature"]["state"] == "unsigned"
    assert {"balance", "limits", "cost", "values", "stored", "bytes", "report", "flows"} <= {
        one["kind"] for one in record["recomputed"]
    }


def zeroed(folder: Path) -> None:
    forge(folder, "certificate.json", lambda c: [one.update(value=0.0) for one in c["checks"]])


def another_optimum(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m["public_inputs"][0].update(value=2190.0))
    page_fits(folder)


def script(folder: Path) -> None:
    forge_text(folder, "report.html", "</body>", "<script>alert(1)</script></body>")


def another_page(folder: Path) -> None:
    forge_text(folder, "report.html", "A released power network", "A released power network, checked by the regulator")


def moved_buses(folder: Path) -> None:
    forge_text(folder, "report.html", '<circle cx="', '<circle cx="1')


def program(folder: Path) -> None:
    (folder / "README.exe").write_bytes(b"MZ")
    digests_fit(folder)


def reactances_in_comments(folder: Path) -> None:
    _, x = gv.load(CASE).lines.impedance()
    text = " ".join(map(str, x))
    forge_text(folder, "released.m", "function mpc = released\n", f"function mpc = released\n% {text}\n")


def reactances_in_a_field(folder: Path) -> None:
    path = folder / "released.m"
    path.write_text(path.read_text() + "\nmpc.true_x = [\n\t0.05917;\n];\n")
    digests_fit(folder)


def reactances_in_names(folder: Path) -> None:
    path = folder / "released.m"
    rows = "".join(f"\t'{value}';\n" for value in np.round(gv.load(CASE).lines.impedance()[1], 5)[:14])
    path.write_text(path.read_text() + "\nmpc.bus_name = {\n" + rows + "};\n")
    digests_fit(folder)


def reactances_in_unread_columns(folder: Path) -> None:
    """Ratings B of the branches: nothing reads them."""
    path = folder / "released.m"
    head, body = path.read_text().split("mpc.branch = [\n")
    rows = body.split("\n")
    cells = rows[0].split("\t")
    cells[7] = "0.05917"
    rows[0] = "\t".join(cells)
    path.write_text(head + "mpc.branch = [\n" + "\n".join(rows))
    digests_fit(folder)


def reactances_in_digits(folder: Path) -> None:
    """Nine digits are released; the tenth to the sixteenth would carry the rest."""
    path = folder / "released.m"
    head, body = path.read_text().split("mpc.branch = [\n")
    rows = body.split("\n")
    cells = rows[0].split("\t")
    cells[3] = repr(float(cells[3]) * (1 + 3e-10))
    rows[0] = "\t".join(cells)
    path.write_text(head + "mpc.branch = [\n" + "\n".join(rows))
    digests_fit(folder)


def name_of_the_function(folder: Path) -> None:
    forge_text(folder, "released.m", "function mpc = released\n", "function mpc = x_of_line_3_is_0_05917\n")


def doubled_key(folder: Path) -> None:
    """JSON readers take the last of two equal keys; nobody sees the first."""
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"attended": true,', '"attended": true,\n  "attended": true,', 1))


def spaces(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text() + " \t \t\t")


def unknown_field(folder: Path) -> None:
    forge(folder, "certificate.json", lambda c: c.update(reactances=[0.05917]))


def words_in_a_check(folder: Path) -> None:
    forge(folder, "certificate.json", lambda c: c["checks"][0].update(detail="checked by the regulator"))


def another_cost(folder: Path) -> None:
    forge(folder, "certificate.json", lambda c: c["used_steps"][0].update(cost=2200.0))


def half_relabelled(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m["privacy"].update(epsilon=0.01))


def no_calendar(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m.update(date="2026-02-30"))


def subdirectory(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "true.m").write_text("x")


def link(folder: Path) -> None:
    (folder / "released.m").rename(folder.parent / "elsewhere.m")
    (folder / "released.m").symlink_to(folder.parent / "elsewhere.m")


def odd_name(folder: Path) -> None:
    (folder / "released.m\n\x1b[31m").write_text("x")


def pipe(folder: Path) -> None:
    import os

    (folder / "report.html").unlink()
    os.mkfifo(folder / "report.html")


def words_in_the_noise(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m["privacy"].update(noise=m["privacy"]["noise"] + "; x = 0.05917 0.22304"))
    page_fits(folder)


def another_sampler(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m["privacy"].update(noise="OpenDP 9.9 discrete Gaussian, certified"))
    page_fits(folder)


def sentences_of_earlier_releases(folder: Path) -> None:
    """With the statement that such conditions would have."""

    def change(record: dict[str, Any]) -> None:
        record["privacy"]["given_before"] = ["the true x are 0.05917, 0.22304 and 0.19797"]
        typed = from_json(written(record), Manifest)
        record["privacy"]["statement"] = statement(typed.privacy.parts, typed.public_inputs, typed.privacy.given_before)

    forge(folder, "manifest.json", change)
    page_fits(folder)


def words_as_a_version(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m["software"].update(python="x-is-0.05917"))


def no_software(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m.update(software={}))


def another_order_of_software(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m.update(software=dict(reversed(m["software"].items()))))


def another_order_of_digests(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m.update(sha256=dict(reversed(m["sha256"].items()))))


def unseen_characters(folder: Path) -> None:
    who = {"name": "Grid of the Isles\u00ad\u061c\U000e0041", "contact": None, "licence": None}
    forge(folder, "manifest.json", lambda m: m.update(publisher=who))


def before_the_first_release(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m.update(date="0001-01-01"))
    page_fits(folder)


def in_the_future(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m.update(date="9999-12-31"))
    page_fits(folder)


def reactances_on_the_map(folder: Path) -> None:
    """The page of this very release, with its buses where the forger wants them."""
    with pytest.MonkeyPatch.context() as patch:
        _, x = gv.load(CASE).lines.impedance()
        places = np.round(1e4 * np.resize(x, (14, 2)) % 900)
        patch.setattr("gridveil.report.maps.loading_map.map_places", lambda grid: places)
        page_fits(folder)


def _bounds(folder: Path, value: float, limit: float) -> None:
    def change(certificate: dict[str, Any]) -> None:
        next(one for one in certificate["checks"] if one["kind"] == "bounds").update(value=value, limit=limit)

    forge(folder, "certificate.json", change)
    page_fits(folder)


def wide_bounds(folder: Path) -> None:
    _bounds(folder, 5e16, 1e17)


def digits_of_a_word(folder: Path) -> None:
    _bounds(folder, 3.1415926e-9, 1e-8)


def another_order_of_claims(folder: Path) -> None:
    forge(folder, "certificate.json", lambda c: c.update(checks=c["checks"][::-1]))
    page_fits(folder)


def claim_of_another_step(folder: Path) -> None:
    more = {"value": 0.05917, "limit": 0.22304, "step": 77}
    forge(folder, "certificate.json", lambda c: c["checks"].append({**c["checks"][2], **more}))


def no_used_steps(folder: Path) -> None:
    forge(folder, "certificate.json", lambda c: c.update(used_steps=[]))


FOUND: dict[Callable[[Path], None], str] = {
    words_in_the_noise: "foreign",
    another_sampler: "foreign",
    sentences_of_earlier_releases: "foreign",
    words_as_a_version: "manifest",
    no_software: "manifest",
    another_order_of_software: "manifest",
    another_order_of_digests: "manifest",
    unseen_characters: "manifest",
    before_the_first_release: "foreign",
    in_the_future: "foreign",
    reactances_on_the_map: "report",
    wide_bounds: "stored",
    digits_of_a_word: "stored",
    no_used_steps: "stored",
    another_order_of_claims: "stored",
    claim_of_another_step: "stored",
    zeroed: "values",
    another_optimum: "values",
    script: "report",
    another_page: "report",
    moved_buses: "report",
    program: "manifest",
    reactances_in_comments: "bytes",
    reactances_in_a_field: "bytes",
    reactances_in_names: "bytes",
    reactances_in_unread_columns: "foreign",
    reactances_in_digits: "foreign",
    name_of_the_function: "bytes",
    doubled_key: "manifest",
    spaces: "manifest",
    unknown_field: "bytes",
    words_in_a_check: "stored",
    another_cost: "values",
    half_relabelled: "foreign",
    no_calendar: "foreign",
    subdirectory: "files",
    link: "files",
    odd_name: "files",
    pipe: "files",
}


@pytest.mark.parametrize("forgery", FOUND, ids=lambda one: one.__name__)
def test_what_is_found(copy: Path, forgery: Callable[[Path], None]) -> None:
    """By the check it should be found by, and not by luck elsewhere."""
    forgery(copy)
    record, words = told(copy, code=5)
    failed = {one["kind"] for one in record["recomputed"] if not one["passed"]}
    assert FOUND[forgery] in failed, failed
    if forgery not in (another_optimum, another_cost):  # which only a solver finds
        assert not gv.verify(copy, quick=True).passed
    assert "NOT verified" in words and record["status"] == "rejected"
    assert "\x1b[31m" not in words


@pytest.mark.parametrize(
    "character",
    "\u00ad\u034f\u061c\u180e\u200b\u2028\u2029\u202e\u2800\u3164\ue000\ufe0f\U000e0041\U000e0100\u0378\u00a0\t",
)
def test_publishers_words_show_all_they_hold(character: str) -> None:
    """Whoever writes them is told before anything is charged."""
    for words in (f"Grid{character}Co", f"Grid Co{character}"):
        with pytest.raises(ReleaseError, match="nobody sees"):
            publisher("Grid Co", words)
    with pytest.raises(ReleaseError, match="nobody sees"):
        publisher("a\u0301\u0301\u0301")
    assert publisher("Vie\u0323\u0302t").name == "Vie\u0323\u0302t"
    assert publisher("Réseau 電力 Ltd. & Søn — Ω", "a@b.example").name.startswith("Réseau")


def test_a_page_maker_that_fails_has_not_made_this_page(honest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise IndexError("nobody foresaw this")

    monkeypatch.setattr("gridveil.report.public._steps", fail)
    record, _ = told(honest, code=5)
    assert [one["kind"] for one in record["recomputed"] if not one["passed"]] == ["report"]


def test_what_samplers_are_called_is_what_verify_expects() -> None:
    assert ExactNoise().description == noise_words(private=True, opendp=version("opendp"))
    assert SeededNoise(1).description == noise_words(private=False, opendp="1.0")
    assert EARLIER in EARLIER_CONDITIONS and UNKNOWN in EARLIER_CONDITIONS


def test_conditions_of_earlier_releases_are_a_list() -> None:
    """In its order, each once, and without how many steps; whatever else a ledger has counts as unsaid."""
    two = "optimal dispatch cost of 2 steps, declared to 4 digits, without noise"
    found = known_conditions(["an optimal power flow at every used step", two, two.replace("2", "31"), "the moon"])
    assert found == [two.replace("2", "several"), "an optimal power flow at every used step", EARLIER]


def epsilon_edited(folder: Path) -> None:
    """Everywhere, so that nothing contradicts it."""

    def change(record: dict[str, Any]) -> None:
        privacy = record["privacy"]
        privacy.update(epsilon=0.01, loss=0.01, cumulative_loss=0.01)
        privacy["parts"]["lines"].update(epsilon=0.01, loss=0.01)
        typed = from_json(written(record), Manifest)
        privacy["statement"] = statement(typed.privacy.parts, typed.public_inputs)

    forge(folder, "manifest.json", change)
    page_fits(folder)


def ledger_edited(folder: Path) -> None:
    forge(folder, "manifest.json", lambda m: m["privacy"].update(ledger_entries=[1], ledger_head="0" * 64))


@pytest.mark.parametrize("forgery", [epsilon_edited, ledger_edited], ids=lambda one: one.__name__)
def test_what_cannot_be_found_is_called_a_word(copy: Path, forgery: Callable[[Path], None]) -> None:
    """Whoever changes all of an unsigned bundle contradicts nobody; nothing that is said confirms him."""
    forgery(copy)
    record, words = told(copy)
    assert "private was not checked: it is the word of whoever made this bundle, and nobody knows who that is" in words
    assert "every claim holds" not in words
    if forgery is epsilon_edited:
        assert record["word"]["epsilon"].startswith("0.01")


def test_the_original_itself_under_a_small_epsilon(tmp_path: Path) -> None:
    """The worst of all: no noise. It is AC-feasible and at its own cost, and only a word says that it is private."""
    plan = gv.Plan(0.01, 0.03, 0.01, published_cost=gv.solve_opf(CASE).cost)
    folder = make(tmp_path, NoNoise(), plan)
    assert np.allclose(gv.load(folder / "released.m").lines.b, gv.load(CASE).lines.b, rtol=1e-8)
    record, words = told(folder)
    assert record["word"]["epsilon"].startswith("0.01")
    assert "was not checked" in words and "every claim holds" not in words
    assert any("with no noise at all" in one for one in record["not_checkable"])


def test_honest_research_is_not_private(research: Path) -> None:
    """Everything else is checked as well."""
    record, words = told(research, code=7)
    assert record["status"] == "not private" and all(one["passed"] for one in record["recomputed"])
    assert "NOT private" in words and record["word"]["spent"].startswith("nothing was charged")


def test_broken_research_is_broken(research: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(research, tmp_path / "copy"))
    zeroed(folder)
    told(folder, code=5)


def test_research_called_private(research: Path, tmp_path: Path) -> None:
    """Half of it is found; all of it, seed and comments and page, is a word like any other."""
    folder = Path(shutil.copytree(research, tmp_path / "copy"))
    forge(folder, "manifest.json", lambda m: m["privacy"].update(differentially_private=True))
    told(folder, code=5)

    def change(record: dict[str, Any]) -> None:
        record.update(warning=None)
        within = [{"mechanism": "log", "alpha": 0.1, "unit": "relative"}]
        record["privacy"].update(
            loss=1.0, cumulative_loss=1.0, cumulative_within=within, ledger_entries=[1], noise=ExactNoise().description
        )
        typed = from_json(written(record), Manifest)
        record["privacy"]["statement"] = statement(typed.privacy.parts, typed.public_inputs)

    forge(folder, "manifest.json", change)
    network = folder / "released.m"
    network.write_text("\n".join(line for line in network.read_text().split("\n") if "RESEARCH" not in line))
    page_fits(folder)
    record, words = told(folder)
    assert "was not checked" in words and record["signature"]["state"] == "unsigned"


@pytest.mark.parametrize(
    ("format_", "words"),
    [
        ("gridveil-release-4", "before 0.1.0"),
        ("gridveil-release-9", "GridVeil 0.9.1 wrote it"),
        ("gridveil-release-99", "GridVeil 0.9.1 wrote it"),
    ],
)
def test_other_formats(copy: Path, format_: str, words: str) -> None:
    forge(copy, "manifest.json", lambda m: (m.update(format=format_), m["software"].update(gridveil="0.9.1")))
    result = CliRunner().invoke(app, ["verify", str(copy), "--json"])
    assert result.exit_code == 8, result.output
    assert words in json.loads(result.stdout)["error"] and format_ in json.loads(result.stdout)["error"]
    forge(copy, "manifest.json", lambda m: m.update(software=["x"]))
    assert CliRunner().invoke(app, ["verify", str(copy)]).exit_code == 8


def test_what_is_no_format_is_a_fault(copy: Path) -> None:
    forge(copy, "manifest.json", lambda m: m.update(format="\x1b[31mtrust me"))
    record, _ = told(copy, code=5)
    assert record["recomputed"][0]["kind"] == "manifest"


def test_the_page_is_not_checked_without_its_library(honest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, and not counted as recomputed."""
    monkeypatch.setattr("gridveil.report.page.find_spec", lambda name: None)
    record, words = told(honest)
    assert "report" not in {one["kind"] for one in record["recomputed"]}
    assert "report.html" in record["not_checked"][0] and "do not trust the page" in words
    assert "1 more can be checked" in words


def test_quick_solves_nothing(honest: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And still finds a broken power flow, and values that the written point does not have."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("solved")

    monkeypatch.setattr("gridveil.nlp.ipopt.solve", fail)
    record, _ = told(honest, "--quick")
    assert "need a solver" in record["not_checked"][0]
    assert "cost" not in {one["kind"] for one in record["recomputed"]}
    forge(copy, "certificate.json", lambda c: c["checks"][1].update(value=1e-6))
    record, _ = told(copy, "--quick", code=5)
    assert {one["kind"] for one in record["recomputed"] if not one["passed"]} == {"values", "report"}


def test_the_manifest_is_in_the_answer(honest: Path) -> None:
    record, _ = told(honest)
    assert record["manifest"] == to_plain(from_json((honest / "manifest.json").read_bytes(), Manifest))


def test_no_order_can_be_chosen(tmp_path: Path) -> None:
    """Of public inputs, used steps and mechanisms: an order among many could say a secret."""
    profile = gv.make_profile("case5", 4, high=1.0)
    plan = gv.Plan(1.0, 0.1, 0.01, steps=2, published_cost=[1.0, 1.0], loss_within=50.0)
    costs = [gv.solve_opf("case5", gv.Demand(profile.pd[k], profile.qd[k])).cost for k in (0, 3)]
    plan = replace(plan, published_cost=costs, declare_unused=True)
    made = release(split(gv.load("case5")), plan, noise=SeededNoise(1), workshop=Workshop, profile=profile)
    kinds = [one.kind for one in made.manifest.public_inputs]
    assert kinds == sorted(kinds, key=["cost", "losses", "unused_cost"].index)
    grid, other = made.network.grid, made.manifest

    def faults(record: Any) -> list[str]:
        return foreign_manifest(grid, record, profile)

    assert faults(other) == []
    swapped = list(other.public_inputs)
    swapped[-1], swapped[-2] = swapped[-2], swapped[-1]
    assert any("another order" in one for one in faults(structs.replace(other, public_inputs=swapped)))
    turned = [*reversed(other.public_inputs[:2]), *other.public_inputs[2:]]
    assert any("order" in one for one in faults(structs.replace(other, public_inputs=turned)))


def test_what_no_manifest_can_hold_is_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that every reader would reject is not paid for."""
    for bad in ({"bound_factor": 1e20}, {"loss_within": 1e20}, {"published_cost": 1e19}, {"epsilon": 1e19}):
        with pytest.raises(GridVeilError):
            replace(gv.Plan(1.0, 0.1, 0.01), **bad)  # type: ignore[arg-type]
    book = gv.Ledger.init(tmp_path / "l.db", 5.0)
    with pytest.raises(GridVeilError, match=r"1e\+15"):
        book.set_limit(None, 1e308)

    class Early(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2019, 5, 6, tzinfo=tz)

    monkeypatch.setattr("gridveil.publish.record.datetime", Early)
    with pytest.raises(GridVeilError, match="this machine's clock says"):
        release(split(gv.load("case5")), gv.Plan(1.0, 0.1, 0.01), book, workshop=Workshop)
    assert not [one for one in book.entries() if one.kind == "charge"]
