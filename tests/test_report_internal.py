"""Pages of joint releases: the internal one has every number before and after, the public one the noise in words."""

from __future__ import annotations

import re
from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import examine
from gridveil.cli.main import app
from gridveil.errors import ReportError
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release
from gridveil.repair.workshop import Workshop
from gridveil.report.comparison import EDGES, before_after, histogram
from gridveil.report.internal import internal_page, write_internal
from gridveil.report.noised import noised
from gridveil.report.public import public_report
from gridveil.report.quantities import protected_numbers, spread
from gridveil.sealed.split import split
from gridveil.wall.protection import GROUP_WORDS, Group, Protection, Ratings

ALL = gv.Plan(1.0, 0.3, 0.01, protect="all", alphas={"ratings": 0.1})


@pytest.fixture(scope="module")
def made() -> Release:
    return release(split(gv.load("case14")), ALL, noise=SeededNoise(1), workshop=Workshop)


def test_numbers_stand_in_the_units_of_a_file() -> None:
    network = gv.load("case14")
    found = {one.quantity.name: one for one in protected_numbers(network, Protection(dict.fromkeys(Group, 0.1)))}
    case = gv.read_case("case14")
    loads = case.bus[:, 2]
    np.testing.assert_allclose(found["pd"].value, loads[loads != 0])
    assert found["pd"].name[0] == "bus 2"
    linear = case.gencost[:, 5]
    np.testing.assert_allclose(found["cost"].value, linear[linear != 0])
    assert found["cost"].quantity.unit == "$/MWh"
    np.testing.assert_allclose(found["rating"].value, case.branch[:, 5])
    assert found["rating"].name[0] == "line 1–2"
    assert found["pmax"].name[0] == "unit 1, bus 1"


def test_the_law_of_the_noise_is_told_as_it_is() -> None:
    """Shares of drawn noise within the stated factors, of numbers noised by themselves and as ratios."""
    rng = np.random.default_rng(1)
    one, two = 0.4 * rng.laplace(size=200_000), 0.4 * rng.laplace(size=200_000)
    for share in (0.5, 0.95):
        assert np.mean(np.abs(one) <= log(spread(0.4, 0.0, share))) == pytest.approx(share, abs=0.01)
        assert np.mean(np.abs(one + two) <= log(spread(0.4, 0.4, share))) == pytest.approx(share, abs=0.01)
        assert np.mean(np.abs(one + two / 4) <= log(spread(0.4, 0.1, share))) == pytest.approx(share, abs=0.01)
    assert spread(0.4, 0.0, 0.5) == pytest.approx(exp(0.4 * log(2)))


def test_the_public_page_says_what_was_noised_by_how_much(made: Release) -> None:
    page = public_report(made)
    for group in Group:
        assert GROUP_WORDS[group] in page
    table = page[page.index("What was changed, and by how much") : page.index("Exactly:")]
    assert "MW" in table and "Mvar" in table and "$/MWh" in table and "MVA" in table
    assert "ln" not in re.sub(r"<[^>]*>", " ", table).split()
    assert "<script" not in page
    rows = {one["words"]: one for one in noised(made.network, ALL.protection, ALL.epsilon_lines)}
    assert rows["ratings"]["alpha"] == "10 %" and rows["active loads"]["alpha"] == "30 %"
    factor = exp(0.3 / 0.7 * log(2))
    assert rows["active loads"]["half"] == f"−{100 * (1 - 1 / factor):.2g} to +{100 * (factor - 1):.2g} %"
    assert rows["reactive loads"]["most"] != rows["active loads"]["most"]
    impedance = replace(ALL, ratings=Ratings.WITH_IMPEDANCE)
    wider = {one["words"]: one for one in noised(made.network, impedance.protection, ALL.epsilon_lines)}
    assert wider["ratings"]["half"] != rows["ratings"]["half"]


def test_the_public_page_of_lines_alone_has_no_such_table() -> None:
    lines = release(split(gv.load("case14")), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(1), workshop=Workshop)
    assert "by how much" not in public_report(lines)


def test_the_internal_page_shows_every_group_and_is_stamped(made: Release) -> None:
    network = gv.load("case14")
    reader = Reader(made.network, state=made.point, **reader_from_manifest(made.manifest))
    report = examine(network, [reader])
    page = internal_page(network, made.network, ALL.protection, report)
    assert page == internal_page(network, made.network, ALL.protection, report)
    assert "INTERNAL" in page[: page.index("<header>")]
    for words in ("Active loads (MW)", "Largest outputs (MW)", "Marginal costs ($/MWh)", "Ratings (MVA)", "Impedances"):
        assert words in page
    assert page.count("<svg") == 2 * len(protected_numbers(network, ALL.protection)) + 1  # and the still map
    assert "round numbers" in page and "engineering prior" in page
    assert "94.2" in page  # a load of the original: that is what makes it internal
    assert "94.2" not in public_report(made)
    assert page.count("<script") == 2 and "default-src 'none'" in page  # the data of the map, and what draws it


def test_figures_count_every_number() -> None:
    before = np.array([1.0, 2.0, 4.0, 8.0])
    after = before * np.array([1.0, 1.2, 0.4, 9.0])
    assert before_after(before, after, "MW").count("<circle") == 4
    drawn = histogram(before, after)
    assert drawn.count("<rect") == len(EDGES) + 1
    assert sum(int(one) for one in re.findall(r">(\d+)</text>", drawn)) == 4
    assert "NaN" not in before_after(before[:1], before[:1], "")


def test_command_writes_the_page(tmp_path: Path, made: Release) -> None:
    made.write(tmp_path / "all")
    runner, page = CliRunner(), tmp_path / "page.html"
    asked = ["leakcheck", "case14", str(tmp_path / "all"), "--out", str(page)]
    assert runner.invoke(app, asked).exit_code in (0, 5)
    assert "Marginal costs" in page.read_text()
    assert runner.invoke(app, asked).exit_code == 2
    assert runner.invoke(app, [*asked, "--force"]).exit_code in (0, 5)
    assert runner.invoke(app, [*asked[:-1], str(tmp_path / "page.pdf")]).exit_code == 2


def test_the_internal_page_is_not_written_into_a_bundle(made: Release, tmp_path: Path) -> None:
    network = gv.load("case14")
    report = examine(network, [Reader(made.network, **reader_from_manifest(made.manifest))])
    where = made.write(tmp_path / "out")
    with pytest.raises(ReportError, match="lies in a bundle"):
        write_internal(where / "report.html", network, made.network, ALL.protection, report, force=True)
    assert not (where / "report.html").exists()
