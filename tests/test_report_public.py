"""The public report of a release: the same for two secrets, well-formed, inside the bundle and under its digests."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.cli.main import app
from gridveil.errors import ReleaseError, ReportError
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release
from gridveil.repair.workshop import Workshop
from gridveil.report.maps.layout import layout, place_buses
from gridveil.report.maps.loading_map import CLASSES, EDGES, loading, loading_class, loading_map
from gridveil.report.public import EDITION, page_again, public_report
from gridveil.report.words import budget
from gridveil.sealed.split import split
from tests.forging import forge
from tests.test_release import FixedNoise, Recording, bundle_bytes, leaky, two_secrets
from tests.test_report import read

pytest.importorskip("jinja2", reason="reports need the extra 'report'")


def research(case: str = "case14", steps: int | None = None, mechanism: str = "log") -> Release:
    from gridveil.privacy.noise import SeededNoise

    profile = None if steps is None else gv.make_profile(case, steps)
    plan = gv.Plan(1.0, 0.1, 0.05, mechanism, steps=None if steps is None else 2)
    return release(split(gv.load(case)), plan, noise=SeededNoise(3), workshop=Workshop, profile=profile)


@pytest.mark.parametrize("mechanism", ["log", "additive", "paper"])
def test_non_interference(tmp_path: Path, mechanism: str) -> None:
    """Two secrets, the same noisy values and published cost: every byte of bundle and report is the same."""
    recorded = Recording(5)
    plan = gv.Plan(1.0, 0.1, 0.05, mechanism, published_cost=gv.solve_opf("case14").cost)
    release(split(gv.load("case14")), plan, noise=recorded, workshop=Workshop)
    made = []
    for number, secret in enumerate(two_secrets("case14")):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        result = release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop)
        target = result.write(tmp_path / f"out{number}", extra={"report.html": public_report(result)})
        made.append(bundle_bytes(target))
        assert gv.verify(target).passed
    assert made[0] == made[1]
    assert len(made[0]["report.html"]) > 5000


def test_non_interference_over_steps(tmp_path: Path) -> None:
    """The true cost of the unused step differs between the two secrets; the report does not."""
    profile = gv.make_profile("case14", 3)
    network = gv.load("case14")
    costs = [gv.solve_opf(network, gv.Demand(profile.pd[i], profile.qd[i])).cost for i in (0, 2)]
    plan = gv.Plan(1.0, 0.1, 0.05, published_cost=costs, steps=2)
    recorded = Recording(5)
    release(split(network), plan, noise=recorded, workshop=Workshop, profile=profile)
    pages = []
    for number, secret in enumerate(two_secrets("case14")):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        pages.append(
            public_report(
                release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=Workshop, profile=profile)
            )
        )
    assert pages[0] == pages[1]


def test_the_comparison_can_tell(tmp_path: Path) -> None:
    """Planted bug: a repair that moves one tenth of the way to the truth shows in the report."""
    recorded = Recording(5)
    plan = gv.Plan(1.0, 0.1, 0.05, published_cost=gv.solve_opf("case14").cost)
    release(split(gv.load("case14")), plan, noise=recorded, workshop=Workshop)
    pages = []
    for number, secret in enumerate(two_secrets("case14")):
        book = gv.Ledger.open(tmp_path / f"{number}.db")
        pages.append(
            public_report(
                release(split(secret), plan, book, FixedNoise(recorded.outcomes), workshop=leaky(secret.lines))
            )
        )
    assert pages[0] != pages[1]


def test_what_a_report_says(tmp_path: Path) -> None:
    made = research(steps=3)
    page = tmp_path / "r.html"
    page.write_text(public_report(made), encoding="utf-8")
    reader = read(page)
    assert reader.faults == [] and reader.loads == [] and reader.handlers == []
    assert "script" not in reader.tags and page.stat().st_size < 200_000
    for one in (*made.manifest.not_protected, *made.manifest.scrubbed, made.manifest.mechanism.adjacency):
        assert one in reader.text
    assert "RESEARCH MODE" in reader.text and "Nothing is protected here" in reader.text
    assert "gridveil verify" in reader.text
    assert "the promise holds at 2 of them" in reader.text and reader.text.count("promised") >= 2
    assert "The power balance holds at every bus." in reader.text
    assert public_report(made) == public_report(made)


def test_the_true_loss_of_paper_is_stated(tmp_path: Path) -> None:
    book = gv.Ledger.open(tmp_path / "l.db")
    made = release(split(gv.load("case14")), gv.Plan(1.0, 0.1, 0.05, "paper", cost="declared"), book, workshop=Workshop)
    text = public_report(made)
    assert "PUBLIC" in text and "RESEARCH" not in text
    assert f"This release spent {made.manifest.privacy.loss:.6g}" in text
    assert "rather than ε" in text
    assert "a factor of" in budget(1.0, "log") and "a factor of" not in budget(1.0, "paper")


def test_loading_and_its_classes() -> None:
    made = research("case5")
    share = loading(made.network, made.point)
    flow = np.maximum(np.hypot(made.point.pf, made.point.qf), np.hypot(made.point.pt, made.point.qt))
    assert np.allclose(share * made.network.grid.lines.rating, flow)
    assert share.max() <= 1 + 1e-5
    assert loading_class(np.array([0.0, 0.25, 0.6, 0.89, 0.95, 1.0, np.nan])).tolist() == [0, 1, 2, 3, 4, 4, 5]
    assert len(CLASSES) == len(EDGES) + 2
    svg = loading_map(made.network, made.point)
    assert svg.count("<path") == 6 and svg.count("<circle") == 5 and "nan" not in svg and "inf" not in svg


def test_places_on_the_map_are_the_same_everywhere() -> None:
    """To the last bit, by arithmetic that IEEE 754 defines; a ring, whose symmetries every library breaks its own way."""
    digests = [
        sha256(layout(gv.load(name).grid).tobytes()).hexdigest()[:16] for name in ("case14_ieee", "case118_ieee")
    ]
    ring = np.arange(700)
    digests.append(sha256(place_buses(700, ring, (ring + 1) % 700).tobytes()).hexdigest()[:16])
    assert digests == PLACES
    code = "import sys, gridveil.report.public; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PLACES = ["583bcde0e57ac602", "4ac94ed4f98c7dc6", "c5fc7db4e0bbedc2"]


def test_verify_checks_the_report(tmp_path: Path) -> None:
    made = research()
    target = made.write(tmp_path / "out", extra={"report.html": public_report(made)})
    assert set(json.loads((target / "manifest.json").read_text())["sha256"]) == {
        "released.m",
        "certificate.json",
        "report.html",
    }
    assert gv.verify(target).passed
    page = target / "report.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("below 25", "above 25"), encoding="utf-8")
    assert "report.html" in gv.verify(target).failed[0]
    page.unlink()
    assert "report.html" in gv.verify(target).failed[0]
    planted = made.write(tmp_path / "planted")
    (planted / "report.html").write_text("trust me")
    assert "report.html" in gv.verify(planted).failed[0]


def test_a_page_is_made_again_in_its_edition() -> None:
    """The first edition of a page is that of the golden bundle; in it is nothing of the second, whose facts it has."""
    golden = Path(__file__).parent / "golden" / "gridveil-release-5" / "horizon"
    files = {path.name: path.read_bytes() for path in golden.iterdir()}
    first = page_again(files)
    assert first.encode() == files.pop("report.html") and "edition" not in first
    second = page_again(files)
    assert EDITION.decode() in second and read_text(first) in read_text(second)


def read_text(page: str) -> str:
    """What a page says, without its styles."""
    return page.partition("<body>")[2].replace(' class="cards"', "").partition("<tbody>")[0]


def test_a_manifest_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    target = research().write(tmp_path / "out")
    forge(target, "manifest.json", lambda m: m["sha256"].update({"../out/released.m": m["sha256"]["released.m"]}))
    assert "../out/released.m" in gv.verify(target).failed[0]


@pytest.mark.parametrize("name", ["released.m", "manifest.json", "../x.html", "a/b.html", "notes.html"])
def test_nothing_but_the_report_can_be_added(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReleaseError, match="cannot be added"):
        research().write(tmp_path / "out", extra={name: "x"})
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "out"
    made = CliRunner().invoke(app, ["release", "case5", "--research", "--report", "--out", str(target), "--json"])
    assert made.exit_code == 0, made.output
    assert (target / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert gv.verify(target).passed


def test_a_missing_extra_stops_before_anything_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.report.page.find_spec", lambda name: None)
    made = CliRunner().invoke(
        app, ["release", "case5", "--report", "--ledger", str(tmp_path / "l.db"), "--out", str(tmp_path / "out")]
    )
    assert made.exit_code == 2 and "gridveil[report]" in made.output.replace("\n", "")
    assert not (tmp_path / "l.db").exists() and not (tmp_path / "out").exists()


def test_a_release_is_written_even_if_its_report_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(made: Release) -> str:
        raise ReportError("no page today")

    monkeypatch.setattr("gridveil.report.public.public_report", failing)
    made = CliRunner().invoke(app, ["release", "case5", "--research", "--report", "--out", str(tmp_path / "out")])
    assert made.exit_code == 0 and "no page today" in made.stderr
    assert gv.verify(tmp_path / "out").passed
